"""Where the tools get their library: opened when a call first needs it, and again when the repository was replaced.

Reads share one library, because a search keeps the index and the model in memory. A write opens one of its own, which
costs milliseconds: so it carries its own agent and progress, and a long import keeps no reader waiting.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.from_thread

from ai_lessons.doors.cli.command_context import options
from ai_lessons.library.answers import Progress, silent
from ai_lessons.library.kept import Kept
from ai_lessons.library.opened import Library
from ai_lessons.library.options import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server.mcpserver import Context

    from ai_lessons.library.options import Options
    from ai_lessons.settings import Settings

T = TypeVar("T")

NO_LIMITS = Limits()

WAITING = 0.1
"""Seconds between two looks whether a call that waits for its turn is still wanted."""

UNNAMED = "mcp"
"""The agent's name for a client that gives none."""

EVERY = 0.1
"""Seconds between two notes of progress: a client draws a bar, it does not read them."""

LAST_CHANCE = "writing"
"""The work of this name is the commit: a call that was cancelled before it leaves nothing, after it everything."""


def wanted() -> None:
    """Raise if the client has cancelled the call that this thread works for."""
    anyio.from_thread.check_cancelled()


def client_name(ctx: Context[Any, Any]) -> str:
    """The name that the client gave itself."""
    params = ctx.session.client_params
    return (params.client_info.name.strip() if params else "") or UNNAMED


class Stopping(BaseException):
    """The server ends: a call that takes long gives up. No error of a tool, so nothing catches it."""


class SessionPool:
    """Libraries on the repository that the settings name. Safe for use from many threads.

    `session` names the agent's session where the settings do not: what was told and how it did belong together.
    `limits` says which files of this machine callers may name. `still_wanted` raises if a call was cancelled.
    """

    def __init__(
        self,
        load: Callable[[], Settings],
        *,
        session: str | None = None,
        limits: Limits = NO_LIMITS,
        still_wanted: Callable[[], None] = wanted,
    ) -> None:
        self._load, self._session, self._limits = load, session, limits
        self._wanted = still_wanted
        self._settings: Settings | None = None
        self._kept = Kept(lambda: Library(self.settings.repo, self._options()))
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._stopping = threading.Event()
        self._busy = 0
        self._idle = threading.Condition()

    @property
    def settings(self) -> Settings:
        """The user's settings; while they cannot be read, every call tries again.

        Raises:
            UsageError, NotFound, StorageFailed: as `settings.load`.
        """
        if self._settings is None:
            self._settings = self._load()
        return self._settings

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
        with self._at_work(), self._fresh(agent) as library:
            return job(library)

    def still(self) -> None:
        """Raise if the call of this thread is not to go on: the server ends, or its client has cancelled it."""
        if self._stopping.is_set():
            raise Stopping
        self._wanted()

    def stop(self, patience: float) -> None:
        """Ask all that runs to end, and wait for it `patience` seconds."""
        self._stopping.set()
        deadline = time.monotonic() + patience
        with self._idle:
            while self._busy and (left := deadline - time.monotonic()) > 0:
                self._idle.wait(left)

    def close(self) -> None:
        """Let go of what is kept open."""
        with self._reading:
            self._kept.close()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._idle:
            self._busy += 1
        try:
            yield
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def _options(self) -> Options:
        given = options(self.settings)
        return given._replace(session=given.session or self._session, limits=self._limits)

    @contextmanager
    def _fresh(self, agent: str, progress: Progress = silent) -> Iterator[Library]:
        given = self._options()
        given = given._replace(agent=given.agent or agent, progress=progress)
        with Library(self.settings.repo, given) as library:
            yield library

    @contextmanager
    def _turn(self, lock: threading.Lock) -> Iterator[None]:
        while not lock.acquire(timeout=WAITING):
            self.still()
        try:
            yield
        finally:
            lock.release()


class Reported:
    """Progress of the library's as notes to the client. One bar for all phases of a job, which never goes back."""

    def __init__(self, ctx: Context[Any, Any]) -> None:
        self._ctx = ctx
        self._phase, self._before, self._done = ("", 0), 0, 0
        self._last = 0.0
        self._committing = False

    def show(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what`. Raises if the call was cancelled, and nothing is written yet."""
        if self._committing:
            return
        wanted()
        self._committing = what == LAST_CHANCE
        if (what, total) != self._phase:
            self._phase, self._before = (what, total), self._before + self._done
        self._done = done
        if total and (done == total or time.monotonic() - self._last >= EVERY):
            self._last = time.monotonic()
            so_far, whole = self._before + done, self._before + total
            anyio.from_thread.run(self._ctx.report_progress, so_far, whole, f"{what} {done}/{total}")
