"""The hooks of git, on the client and on a server."""
