"""The hook of agent hosts, as they call it: the helper answers if there is one, so that next to nothing is loaded."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ai_lessons import settings
from ai_lessons.errors import AiLessonsError
from ai_lessons.library import warm

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_INPUT = 64 << 20  # bytes of an event: the whole text of a file that is written may be in it
PATIENCE, PATIENCE_TO_BEGIN = 2, 10
"""Seconds after which a host is not kept waiting any more. Where there can be no helper, a session begins with a look
at every file of the repository, perhaps."""
LOG = "agent-hooks.log"
LOG_LIMIT = 100_000  # bytes; a longer log begins anew
CHECK = b'{"hook_event_name": "ai-lessons-check"}'  # an event of our own: does the installed hook run?


def main(without_helper: Callable[[bytes, float], str]) -> None:
    """Answer the event on standard input, and end well whatever happens: what went wrong is in the log."""
    alone = True
    try:
        data, began = sys.stdin.buffer.read(MOST_INPUT), time.monotonic()
        said = None if data == CHECK else _of_helper(data)
        alone = said is None
        if said is None:
            said = without_helper(data, began)
        if said:
            sys.stdout.write(said + "\n")
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001  # whatever it is, the host goes on
        log(f"{type(error).__name__}: {error}")
        os._exit(0)
    if not alone:
        os._exit(0)  # nothing is open, and to take Python down in order would take as long as to ask


def log(text: str) -> None:
    """Add a line for people who wonder why a hook is silent, where that is possible."""
    with suppress(OSError, AiLessonsError, ValueError):
        file = settings.folders(os.environ).state / LOG
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        full = file.exists() and file.stat().st_size > LOG_LIMIT
        mode = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if full else os.O_APPEND)
        with open(os.open(file, mode, 0o600), "w", encoding="utf-8", errors="backslashreplace") as out:
            out.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text!r}"[:1000] + "\n")


def _give_up(*_: object) -> None:
    log("the helper did not answer in time")
    os._exit(0)


def _of_helper(data: bytes) -> str | None:
    """What the helper says to the event; None: there is none, or it leaves this one to us."""
    if os.environ.get("AI_LESSONS_WARM", "1").lower() in settings.FALSE:  # the helper would find that out, too
        return None
    before = signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(PATIENCE)
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
