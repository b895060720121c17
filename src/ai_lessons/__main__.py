"""The program `ai-lessons`.

An agent host calls its hook before every tool: that one loads no other command.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

HOOK = ("admin", "agent-hook")


def main() -> None:
    """Run the program.

    Called by an agent host it ends with 0: hosts take other codes for a refusal.
    """
    by_host = HOOK in pairwise(sys.argv) and not (sys.stdin and sys.stdin.isatty())
    try:
        if by_host and tuple(sys.argv[1:]) == HOOK:
            from ai_lessons.interfaces import hook

            hook.main(_hear)
        else:
            from ai_lessons.interfaces import cli

            cli.main()
    except SystemExit:
        if not by_host:
            raise


def _hear(data: bytes, began: float) -> str:
    from ai_lessons.interfaces import agent_hook

    return agent_hook.run(data=data, began=began)


if __name__ == "__main__":
    # `python -m` puts the caller's folder first, and a project cloned there may hold a `click`
    if not sys.flags.safe_path and sys.path[0] != os.path.dirname(
        os.path.dirname(os.path.abspath(__file__))
    ):
        del sys.path[0]
    main()
