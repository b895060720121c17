"""The program `ai-lessons-mcp`: the same library for agents, over MCP. Cheap to import; the server is in `mcp`."""

from __future__ import annotations

import sys

from ai_lessons.doors.cli import ending
from ai_lessons.doors.cli.call import Call
from ai_lessons.doors.cli.mcp import PROGRAM, mcp
from ai_lessons.doors.opening import version


def main() -> None:
    """Run the program and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run the program on these arguments and return its exit code."""
    if "--version" in args:
        print(f"{PROGRAM} {version()}")
        return 0
    return ending.run(lambda: mcp.main(args, PROGRAM, standalone_mode=False, obj=Call()), args)
