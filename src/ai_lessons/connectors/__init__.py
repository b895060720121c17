"""Other people's tools: agent hosts, manifests of packages, archives.

No job of ours and nothing about approval. A tool is a row of a table, and a function where it needs
one; begin with `agent_hosts`. Imports `model`, and `git` for files outside the
repository and for running programs.
"""
