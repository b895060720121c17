"""The answer of a program that is installed before it is built."""

from __future__ import annotations

import sys


def not_yet(program: str, summary: str, instead: str) -> int:
    """Answer `--help` and `--version`; for anything else say what to use meanwhile. Returns the exit code."""
    given = sys.argv[1:]
    if "--version" in given:
        from ai_lessons.doors.opening import version

        print(f"{program} {version()}")
        return 0
    if "--help" in given or "-h" in given:
        print(f"Usage: {program}\n\n  {summary}\n\n  Not available in this version. Use instead:\n    {instead}")
        return 0
    print(f"error: {program} is not yet available in this version\nhint: use {instead}", file=sys.stderr)
    return 1
