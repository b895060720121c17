"""Where the tools get their library: opened when a call first needs it, and again when the repository was replaced.

Reads share one library, because a search keeps the index and the model in memory. A write opens one of its own, which
costs milliseconds: so it carries its own agent and progress, and a long import keeps no reader waiting.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from ai_lessons.doors.opening import options
from ai_lessons.errors import AiLessonsError, StorageFailed
from ai_lessons.library.options import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ai_lessons.library.answers import Progress
    from ai_lessons.library.opened import Library
    from ai_lessons.library.options import Options
    from ai_lessons.settings import Settings

T = TypeVar("T")

NO_LIMITS = Limits()

WAITING = 0.1
"""Seconds between two looks whether a call that waits for its turn is still wanted."""


class Stopping(BaseException):
    """The server ends: a call that takes long gives up. No error of a tool, so nothing catches it."""


class SessionPool:
    """Libraries on the repository that the settings name. Safe for use from many threads.

    `session` names the agent's session where the settings do not: what was told and how it did belong together.
    `limits` says which files of this machine callers may name.
    """

    def __init__(self, load: Callable[[], Settings], *, session: str | None = None, limits: Limits = NO_LIMITS) -> None:
        self._load, self._session, self._limits = load, session, limits
        self._settings: Settings | None = None
        self._kept: Library | None = None
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

    def read(self, job: Callable[[Library], T], wanted: Callable[[], None]) -> T:
        """Do a job that reads. Others that read wait, unless `wanted` raises because the call was cancelled."""
        with self._at_work(), _turn(self._reading, lambda: self.still(wanted)):
            try:
                return job(self._open())
            except BaseException as error:
                # what is kept open may be what is broken: the next call begins afresh
                if not isinstance(error, AiLessonsError) or isinstance(error, StorageFailed):
                    self._forget()
                raise

    def write(
        self,
        job: Callable[[Library], T],
        wanted: Callable[[], None],
        *,
        agent: str,
        progress: Progress,
    ) -> T:
        """Do a job that writes, in the name of `agent` unless the user's settings name one. One at a time."""
        with (
            self._at_work(),
            _turn(self._writing, lambda: self.still(wanted)),
            self._fresh(agent, progress) as library,
        ):
            return job(library)

    def run(self, job: Callable[[Library], T], *, agent: str) -> T:
        """Do a job that may take long and shares nothing with others: running a script."""
        with self._at_work(), self._fresh(agent) as library:
            return job(library)

    def still(self, wanted: Callable[[], None]) -> None:
        """Raise if a call is not to go on: the server ends, or `wanted` says so by raising."""
        if self._stopping.is_set():
            raise Stopping
        wanted()

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
            self._forget()

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

    def _open(self) -> Library:
        if self._kept is not None and self._kept.replaced:
            self._forget()
        if self._kept is None:
            from ai_lessons.library.opened import Library

            self._kept = Library(self.settings.repo, self._options())
        return self._kept

    def _forget(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    def _options(self, progress: Progress | None = None) -> Options:
        given = options(self.settings, progress=progress)
        return given._replace(session=given.session or self._session, limits=self._limits)

    @contextmanager
    def _fresh(self, agent: str, progress: Progress | None = None) -> Iterator[Library]:
        from ai_lessons.library.opened import Library

        given = self._options(progress)
        with Library(self.settings.repo, given._replace(agent=given.agent or agent)) as library:
            yield library


@contextmanager
def _turn(lock: threading.Lock, still: Callable[[], None]) -> Iterator[None]:
    while not lock.acquire(timeout=WAITING):
        still()
    try:
        yield
    finally:
        lock.release()
