"""The MCP server, as Claude Desktop starts it from a bundle."""

from ai_lessons.interfaces.mcp import main

if __name__ == "__main__":
    main()
