"""The local page: what is known, as pages of a server on this machine, and as a site of files."""
