"""The entry point of agent hosts.

The helper answers if there is one, so that few modules are imported.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from ai_lessons import settings
from ai_lessons.app import daemon_client
from ai_lessons.errors import AiLessonsError

if TYPE_CHECKING:
    from collections.abc import Callable

# bytes of an event: the whole text of a file that is written may be in it
MOST_INPUT = 64 << 20
# Most seconds that a host waits.
# Without a helper, the start of a session may read every file of the repository.
PATIENCE, PATIENCE_TO_BEGIN = 2, 10
# bytes of an event in which its name is
BEGINNING = 4096
LOG = "agent-hooks.log"
# as features that count hooks call one
OPERATION = "hook"
# an event of our own: does the installed hook run?
CHECK = b'{"hook_event_name": "ai-lessons-check"}'


def main(without_helper: Callable[[bytes, float], str]) -> None:
    """Answer the event on standard input.

    The exit code is 0 also after an error, which goes to the log.
    """
    answer = None
    try:
        # a host that is gone may leave the pipe open to another process
        signal.signal(signal.SIGALRM, _no_event)
        signal.alarm(PATIENCE_TO_BEGIN)
        data, began = sys.stdin.buffer.read(MOST_INPUT), time.monotonic()
        signal.alarm(0)
        answer = None
        if data != CHECK:
            answer = _of_helper(data, began)
        if answer is None:
            text = without_helper(data, began)
        else:
            text = answer
        if text:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # whatever it is, the host goes on
        log(f"{type(error).__name__}: {error}")
        os._exit(0)
    if answer is not None:
        # nothing is open, and an orderly exit of Python takes as long as the question did
        os._exit(0)


def log(text: str) -> None:
    """Add a line to the log, which shows why a hook was silent.

    Ignores a log that cannot be written.
    """
    with suppress(OSError, AiLessonsError, ValueError):
        file = settings.folders(os.environ).state / LOG
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # a log of 100 kB begins anew
        full = file.exists() and file.stat().st_size > 100_000
        mode = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if full else os.O_APPEND)
        with open(
            os.open(file, mode, 0o600), "w", encoding="utf-8", errors="backslashreplace"
        ) as out:
            out.write(
                f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text!r}"[:1000] + "\n"
            )


def _no_event(*_: object) -> None:
    log("no event came in time")
    os._exit(0)


def _give_up(began: float, *_: object) -> None:
    note_timeout(began)
    log("the helper did not answer in time")
    os._exit(0)


def note_timeout(began: float) -> None:
    """Let a hook that ends without an answer be counted, where hooks are."""
    from ai_lessons.interfaces.measures import measured

    with measured(OPERATION, os.environ, began) as figures:
        if figures is not None:
            figures["outcome"] = "timeout"


def begins(data: bytes) -> bool:
    """Whether an event is the start of a session, which tells most and may wait longest.

    The words of all hosts for it are alike; to be mistaken costs some seconds on a busy machine.
    """
    named = data[:BEGINNING].lower()
    return b"sessionstart" in named or b"subagentstart" in named


def _of_helper(data: bytes, began: float) -> str | None:
    """The helper's answer to the event; None: there is no helper, or it cannot answer this one.

    `began`: when the host began to wait, on the monotonic clock.
    """
    if os.environ.get("AI_LESSONS_WARM", "1").lower() in settings.FALSE:
        return None
    before = signal.signal(signal.SIGALRM, partial(_give_up, began))
    signal.alarm(PATIENCE_TO_BEGIN if begins(data) else PATIENCE)
    try:
        if folder := settings.warm_folder(os.environ, settings.folders(os.environ).state):
            asked = data, dict(os.environ), os.getcwd(), began
            return str(
                daemon_client.ask(folder / daemon_client.program(), asked, daemon_client.HOOK)
            )
    except (daemon_client.DaemonUnavailable, AiLessonsError, OSError):
        # answered here, where a lasting error is met
        return None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return None
