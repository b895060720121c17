"""The jobs that a helper does for others, and how they are asked for: of the helper where one is warm, else done here.

All of them only read. What is to be written down about an answer, whoever asked writes.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ai_lessons import library
from ai_lessons.library import warm
from ai_lessons.library.warm import Helpers, HelperState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ai_lessons.library.opened import Library
    from ai_lessons.library.options import Options

ENDING = 2.0
"""Seconds that a helper has to end when it is asked to."""

JOBS: Mapping[str, Callable[[], Callable[..., Any]]] = {
    "search": lambda: library.searching.search,
    "search_lessons": lambda: library.searching.search_lessons,
    "context": lambda: library.contexts.known,
    "at_the_start": lambda: library.agent_questions.at_the_start,
    "before_a_tool": lambda: library.agent_questions.before_a_tool,
}
"""By name; nothing else is called in a helper. Each is loaded when it is asked for."""

_CALLERS_OWN = frozenset(("ask_trust", "ask_keys", "ask_source", "progress", "now", "limits", "warm"))
"""Options that do not travel: what only the caller can do, and what a server holds back from its own callers."""


class Asking:
    """Jobs for one caller. `opened` gives a library for what is done here; called at most once.

    A library that is `held` open anyway answers itself, and leaves to a helper only the vectors that are missing.
    """

    def __init__(self, root: Path, options: Options, opened: Callable[[], Library], *, held: bool = False) -> None:
        self.root, self.options, self._opened, self._held = root, options, opened, held

    @cached_property
    def library(self) -> Library:
        """The library for what is done here."""
        return self._opened()

    def __call__(self, name: str, *asked: object, **how: object) -> Any:
        """The answer of a job: of the helper, else worked out here. Where that took the index, a helper is started.

        Raises:
            AiLessonsError: as the job.
        """
        options = self.options
        if options.warm is None:
            return JOBS[name]()(self.library, *asked, **how)
        travels = {key: value for key, value in options._asdict().items() if key not in _CALLERS_OWN}
        request = (self.root, travels, options.ask_keys is not None, name, asked, how)
        if not self._held:
            with suppress(warm.Alone, OSError):
                return warm.ask(warm.address(options.warm), request, options.progress)
        answer = JOBS[name]()(self.library, *asked, **how)
        if self.library.missing if self._held else self.library.has_index:
            warm.start(options.warm, request)
        return answer


def helpers(options: Options) -> Helpers:
    """The helpers of this user that run, of whatever version of the program."""
    found = tuple(state for _, state in _running(options))
    return Helpers("warm" if found else "none" if options.warm else "off", found)


def stop(options: Options) -> Helpers:
    """End all helpers of this user, also one that hangs; those that ran. The next search that needs one starts it."""
    found = list(_running(options))
    for lock, state in found:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.kill(state.pid, number)
            if _ended(lock):
                break
    return helpers(options)._replace(helpers=tuple(state._replace(state="stopped") for _, state in found))


def _ended(lock: Path) -> bool:
    until = time.monotonic() + ENDING
    while time.monotonic() < until:
        with warm.claimed(lock) as free:
            if free:
                return True
        time.sleep(0.02)
    return False


def _running(options: Options) -> Iterator[tuple[Path, HelperState]]:
    """The lock of each helper, and what it says of itself; there may be one although none is wanted any more."""
    folder = options.warm or options.state_dir / "warm"
    for lock in sorted(folder.glob("*" + warm.LOCK)) if folder.is_dir() and warm.private(folder) else ():
        with warm.claimed(lock) as free:
            pid = lock.read_text("utf-8")
        if free or not pid.isdecimal():
            continue
        try:
            yield lock, warm.ask(lock.with_suffix(""), None, kind=warm.STATUS)
        except warm.Alone:
            yield lock, HelperState(int(pid), "silent")
