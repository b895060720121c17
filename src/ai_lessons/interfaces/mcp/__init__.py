"""The MCP server: tools, resources and prompts for agents, the same jobs as the command line."""
