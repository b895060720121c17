"""The hook of agent hosts, as they call it: the helper answers if there is one, so that next to nothing is loaded."""

from __future__ import annotations

import os
import signal
import sys

from ai_lessons import settings
from ai_lessons.errors import AiLessonsError
from ai_lessons.library import warm

MOST_INPUT = 64 << 20  # bytes of an event: the whole text of a file that is written may be in it
PATIENCE, PATIENCE_TO_BEGIN = 2, 10  # seconds after which the host is not kept waiting any more; as in `agent_hook`


def main() -> None:
    """Answer the event on standard input, and end well whatever happens."""
    data = sys.stdin.buffer.read(MOST_INPUT)
    said = _of_helper(data)
    alone = said is None
    if said is None:
        from ai_lessons.doors import agent_hook

        said = agent_hook.run(data=data)
    if said:
        sys.stdout.write(said + "\n")
    if not alone:
        sys.stdout.flush()
        os._exit(0)  # nothing is open, and to take Python down in order would take as long as to ask


def _of_helper(data: bytes) -> str | None:
    """What the helper says to the event; None: there is none, or it leaves this one to us."""
    if os.environ.get("AI_LESSONS_WARM", "1").lower() in settings.FALSE:  # the helper would find that out, too
        return None
    before = signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.alarm(PATIENCE_TO_BEGIN if b'"SessionStart"' in data else PATIENCE)
    try:
        if folder := settings.warm_folder(os.environ, settings.folders(os.environ).state):
            asked = data, dict(os.environ), os.getcwd()
            return str(warm.ask(folder / warm.program(), asked, warm.HOOK))
    except (warm.Alone, AiLessonsError, OSError):  # then it is done here, and what is wrong is met there
        return None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return None
