"""The program `ai-lessons-mcp`: the same library for agents, over MCP. Not built yet."""

from __future__ import annotations

import sys

from ai_lessons.doors.not_yet import not_yet


def main() -> None:
    """Say what to use instead and leave."""
    instead = 'ai-lessons recall search "…" --json'
    sys.exit(not_yet("ai-lessons-mcp", "Serve a knowledge repository to agents over MCP.", instead))
