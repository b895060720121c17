"""The MCP server: tools, resources and prompts for agents, on the same library as the command line."""
