"""The libraries that calls of agents work on, for many threads."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

from ai_lessons.app import daemon_client
from ai_lessons.app.options import Limits, no_progress
from ai_lessons.app.reusable_library import ReusableLibrary
from ai_lessons.app.workspace import Library
from ai_lessons.errors import AiLessonsError
from ai_lessons.interfaces import library_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ai_lessons.app.options import Options, Progress
    from ai_lessons.settings import Settings

T = TypeVar("T")
# How many libraries are held open for jobs that read
KEPT = 4

LOG = logging.getLogger(__name__)
NO_LIMITS = Limits()
# Seconds between two notes of progress, and two looks whether a waiting call is still wanted
PAUSE = 0.1


class Stopping(BaseException):
    """The server ends: a call that takes long gives up.

    No error of a tool, so nothing catches it.
    """


def no_note(_what: str, _code: int) -> None:
    """Notes of a server that does not know who calls."""


class SessionPool:
    """Libraries on the repository that the settings name, for many threads.

    `load` gives the settings of the caller. `limits`: the files callers may name. `note` is told of
    each call of a tool: its name, and 0 or the exit code of its error.
    """

    def __init__(
        self,
        load: Callable[[], Settings],
        *,
        session: str | None = None,
        limits: Limits = NO_LIMITS,
        note: Callable[[str, int], None] = no_note,
    ) -> None:
        self._load, self._session, self._limits, self.note = load, session, limits, note
        self._program = daemon_client.program()
        self._kept: dict[tuple[Path, Options], ReusableLibrary] = {}
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._stopping = threading.Event()
        self._calls: set[object] = set()

    @property
    def settings(self) -> Settings:
        """The user's settings as they are now.

        A server outlives branches, tiers and edits of `config.toml`.
        """
        return self._load()

    def read(self, job: Callable[[Library], T]) -> T:
        """Do a job that reads; others that read wait."""
        with self._at_work(), self._turn(self._reading):
            repo, chosen = self._arguments()
            # who reads makes no difference, what they read does
            return self._held(repo, chosen._replace(author=None)).do(job)

    def _held(self, repo: Path, chosen: Options) -> ReusableLibrary:
        """The library of these settings, the last few of which are held open."""
        key = (repo, chosen)
        library = self._kept.pop(key, None)
        if library is None:
            library = ReusableLibrary(lambda: Library(repo, chosen))
        self._kept[key] = library
        while len(self._kept) > KEPT:
            self._kept.pop(next(iter(self._kept))).close()
        return library

    def write(self, job: Callable[[Library], T], *, agent: str, progress: Progress) -> T:
        """Do a job that writes, in the name of `agent` unless the user's settings name one.

        One at a time.
        """
        with self._at_work(), self._turn(self._writing), self._fresh(agent, progress) as library:
            return job(library)

    def run(
        self,
        job: Callable[[Library], T],
        *,
        agent: str,
        trusts: Callable[[str, str], bool] | None = None,
        progress: Progress = no_progress,
    ) -> T:
        """Do a job that may take long and shares nothing with others.

        Running a script, playing transcripts.

        `trusts` asks the person at the client; not over HTTP, where it may be any person.
        """
        if not self._session:
            trusts = None
        with self._at_work(), self._fresh(agent, progress, trusts) as library:
            return job(library)

    def still(self) -> None:
        """Raise if the call of this thread is not to go on.

        The server ends, or its client has cancelled it.
        """
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
        """Close what is kept open."""
        with self._reading:
            for library in self._kept.values():
                library.close()
            self._kept.clear()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        call = object()
        self._calls.add(call)
        try:
            with self.naming_upgrades():
                yield
        finally:
            self._calls.discard(call)

    @contextmanager
    def naming_upgrades(self) -> Iterator[None]:
        """Raises AiLessonsError.

        A call failed because the files of the program are not those that it began with.
        """
        try:
            yield
        except AiLessonsError:
            raise
        except Exception as error:
            try:
                changed = daemon_client.program() != self._program
            except OSError:
                changed = True
            if not changed:
                raise
            LOG.exception("the program was replaced")
            message = "ai-lessons was upgraded or removed while this server ran, so it cannot go on"
            raise AiLessonsError(
                message, hint="restart this server, then repeat the call"
            ) from error

    def _arguments(self) -> tuple[Path, Options]:
        loaded = self.settings
        chosen = library_options(loaded)
        return loaded.repo, chosen._replace(
            session=chosen.session or self._session, limits=self._limits
        )

    def _fresh(
        self, agent: str, progress: Progress, trusts: Callable[[str, str], bool] | None = None
    ) -> Library:
        repo, loaded = self._arguments()
        return Library(
            repo, loaded._replace(agent=loaded.agent or agent, progress=progress, ask_trust=trusts)
        )

    @contextmanager
    def _turn(self, lock: threading.Lock) -> Iterator[None]:
        while not lock.acquire(timeout=PAUSE):
            self.still()
        try:
            yield
        finally:
            lock.release()
