"""WHO is asking: command lines and servers. Parse, one library call, render."""
