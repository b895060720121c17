"""Where the tools get their library: reads share one, index and model in memory, while a write opens its own."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.from_thread

from ai_lessons.doors.from_settings import options
from ai_lessons.library.opened import Kept, Library
from ai_lessons.library.options import Limits, Options, Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server.mcpserver import Context

    from ai_lessons.settings import Settings

T = TypeVar("T")

NO_LIMITS = Limits()
PAUSE = 0.1  # Seconds between two notes of progress, and two looks whether a waiting call is still wanted
LAST_CHANCE = "writing"  # The work of this name is the commit: a call cancelled before it leaves nothing


def client_name(ctx: Context[Any, Any]) -> str:
    """The name that the client gave itself, or `mcp`."""
    params = ctx.session.client_params
    return (params.client_info.name.strip() if params else "") or "mcp"


class Stopping(BaseException):
    """The server ends: a call that takes long gives up. No error of a tool, so nothing catches it."""


class SessionPool:
    """Libraries on the repository that the settings name, for many threads; `limits`: the files callers may name."""

    def __init__(self, load: Callable[[], Settings], *, session: str | None = None, limits: Limits = NO_LIMITS) -> None:
        self._load, self._session, self._limits = load, session, limits
        self._kept = Kept(lambda: Library(self.settings.repo, self._options()))
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._stopping = threading.Event()
        self._calls: set[object] = set()

    @cached_property
    def settings(self) -> Settings:
        """The user's settings; while they cannot be read, every call tries again."""
        return self._load()

    def read(self, job: Callable[[Library], T]) -> T:
        """Do a job that reads; others that read wait."""
        with self._at_work(), self._turn(self._reading):
            return self._kept.do(job)

    def write(self, job: Callable[[Library], T], *, agent: str, progress: Progress) -> T:
        """Do a job that writes, in the name of `agent` unless the user's settings name one. One at a time."""
        with self._at_work(), self._turn(self._writing), self._fresh(agent, progress) as library:
            return job(library)

    def run(self, job: Callable[[Library], T], *, agent: str) -> T:
        """Do a job that may take long and shares nothing with others: running a script."""
        with self._at_work(), self._fresh(agent, silent) as library:
            return job(library)

    def still(self) -> None:
        """Raise if the call of this thread is not to go on: the server ends, or its client has cancelled it."""
        if self._stopping.is_set():
            raise Stopping
        anyio.from_thread.check_cancelled()

    def stop(self, patience: float) -> None:
        """Ask all that runs to end, and wait for it `patience` seconds."""
        self._stopping.set()
        deadline = time.monotonic() + patience
        while self._calls and time.monotonic() < deadline:
            time.sleep(PAUSE / 10)

    def close(self) -> None:
        """Let go of what is kept open."""
        with self._reading:
            self._kept.close()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        call = object()
        self._calls.add(call)
        try:
            yield
        finally:
            self._calls.discard(call)

    def _options(self) -> Options:
        loaded = options(self.settings)
        return loaded._replace(session=loaded.session or self._session, limits=self._limits)

    def _fresh(self, agent: str, progress: Progress) -> Library:
        loaded = self._options()
        return Library(self.settings.repo, loaded._replace(agent=loaded.agent or agent, progress=progress))

    @contextmanager
    def _turn(self, lock: threading.Lock) -> Iterator[None]:
        while not lock.acquire(timeout=PAUSE):
            self.still()
        try:
            yield
        finally:
            lock.release()


class Reported:
    """Progress of the library's as notes to the client. One bar for all phases of a job, which never goes back."""

    def __init__(self, ctx: Context[Any, Any]) -> None:
        self._ctx = ctx
        self._phase, self._before, self._done, self._last = ("", 0), 0, 0, 0.0
        self._committing = False

    def show(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what`. Raises if the call was cancelled, and nothing is written yet."""
        if self._committing:
            return
        anyio.from_thread.check_cancelled()
        self._committing = what == LAST_CHANCE
        if (what, total) != self._phase:
            self._phase, self._before = (what, total), self._before + self._done
        self._done = done
        if total and (done == total or time.monotonic() - self._last >= PAUSE):
            self._last = time.monotonic()
            so_far, whole = self._before + done, self._before + total
            anyio.from_thread.run(self._ctx.report_progress, so_far, whole, f"{what} {done}/{total}")
