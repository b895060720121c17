"""The program `ai-lessons`. An agent host calls its hook before every tool: that one loads no other command."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the program."""
    if sys.argv[1:] == ["admin", "agent-hook"] and sys.stdin and not sys.stdin.isatty():
        from ai_lessons.interfaces import hook

        hook.main(_hear)
    else:
        from ai_lessons.interfaces import cli

        cli.main()


def _hear(data: bytes, began: float) -> str:
    from ai_lessons.interfaces import agent_hook

    return agent_hook.run(data=data, began=began)


if __name__ == "__main__":
    # `python -m` puts the caller's folder first, and a project cloned there may hold a `click`
    if not sys.flags.safe_path and sys.path[0] != os.path.dirname(os.path.dirname(os.path.abspath(__file__))):
        del sys.path[0]
    main()
