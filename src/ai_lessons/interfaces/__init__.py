"""How people and agents call us: command lines, MCP, hooks, the page. Parse, call one job of `app`, render.

No job is done here. Begin with `cli` and one of its groups, then `text` (answers as text). Imports `app` and below.
"""
