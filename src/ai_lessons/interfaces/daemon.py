"""The helper that stays in memory: libraries held open for the next commands of one user.

Started by a search.

`python -m ai_lessons.interfaces.daemon ADDRESS`, with a first question on standard input. One
thread does the jobs, one after the other; another, which gives way to everything, computes vectors
that are missing. It writes no entries and nothing of git; of hooks, which it answers whole, what
was told and seen. It ends by itself: see `Helper.over`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ai_lessons import settings
from ai_lessons.app import daemon_client
from ai_lessons.app.options import Options
from ai_lessons.app.reusable_library import ReusableLibrary
from ai_lessons.app.search_index import Embedders
from ai_lessons.app.workspace import Library
from ai_lessons.interfaces import agent_hook, hook, library_options
from ai_lessons.interfaces.measures import measured

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

T = TypeVar("T")
# Bytes beyond its libraries and models, of which two and a model alone take 400 MB.
# Above it the least used repository is closed, and if none is left it ends; while it computes
# vectors, only above the second.
MOST_HELD, MOST_FILLING = 400 << 20, 2 << 30


class Helper:
    """One helper, listening at `place`."""

    # every two seconds it looks whether it should go on
    def __init__(self, place: Path, listener: socket.socket, look: float = 2.0) -> None:
        """Listen, for this user alone, and look so often whether to go on.

        Raises OSError: no socket can be there.
        """
        place.unlink(missing_ok=True)
        listener.bind(str(place))
        place.chmod(0o600)
        listener.listen(256)
        listener.settimeout(look)
        # after ten minutes without a question it ends
        self.look, self.idle, self.most_held, self.most_filling = (
            look,
            600.0,
            MOST_HELD,
            MOST_FILLING,
        )
        # Bytes that libraries and models take
        self.base = 0
        self._place, self._listener, self._own = place, listener, place.stat().st_ino
        self._began = self._used = time.monotonic()
        self.requests = 0
        self.kept: dict[Hashable, tuple[Path, ReusableLibrary]] = {}
        """By repository and options, the least used first."""
        self.jobs = ThreadPoolExecutor(1)
        self._models: dict[Hashable, Embedders] = {}
        self._quiet, self._filler, self._fills = threading.Event(), 0, False
        self._quiet.set()
        self._incomplete: SimpleQueue[tuple[Path, Options]] = SimpleQueue()

    def run(self, first: bytes = b"") -> None:
        """Answer until it is over. `first` is a question whose answer no caller waits for."""
        if first:
            self.jobs.submit(self._do, first)
        threading.Thread(target=self._fill, daemon=True).start()
        looked = 0.0
        while (soon := time.monotonic() < looked + self.look) or not self.over():
            if not soon:
                looked = time.monotonic()
            with suppress(TimeoutError):
                threading.Thread(
                    target=self._serve, args=(self._listener.accept()[0],), daemon=True
                ).start()

    def over(self) -> bool:
        """Whether it is idle, its program or its socket is not what it was, or it takes too much memory."""
        try:
            other = (
                self._place.stat().st_ino != self._own
                or daemon_client.program() != self._place.name
            )
        except OSError:
            other = True
        held = memory() - self.base
        if held > self.most_held:
            other = other or (not self.kept and (not self._fills or held > self.most_filling))
            self.jobs.submit(self.close_least_used)
        return other or time.monotonic() > self._used + self.idle

    def close_least_used(self) -> None:
        """Close the least used library."""
        if self.kept:
            self.kept.pop(next(iter(self.kept)))[1].close()

    def _serve(self, line: socket.socket) -> None:
        """Answer one question. A caller who has gone meanwhile is forgotten."""
        with line, suppress(Exception):
            # whatever goes wrong, the caller finds out by doing it
            line.settimeout(daemon_client.PATIENT.lifeless)
            if not daemon_client.ours(line):
                return
            kind, data = daemon_client.receive(line.makefile("rb"))
            daemon_client.send(line, daemon_client.WORKING)
            if kind == daemon_client.STATUS:
                daemon_client.send(line, daemon_client.ANSWER, self._state())
                return
            if kind == daemon_client.LATER:
                self.jobs.submit(self._do, data)
                daemon_client.send(line, daemon_client.ANSWER)
                return
            if kind == daemon_client.HOOK:
                do = self._hear
            else:
                do = self._do
            job, began = self.jobs.submit(do, data), time.monotonic()
            try:
                # a job that takes a minute hangs: the caller who waits for it does it without the
                # helper
                while (
                    not wait([job], daemon_client.PATIENT.beat).done
                    and time.monotonic() < began + 60.0
                ):
                    # a hook has two seconds: where other work keeps its job from beginning, it does
                    # without the helper
                    if (
                        kind == daemon_client.HOOK
                        and time.monotonic() > began + 0.1
                        and job.cancel()
                    ):
                        return
                    daemon_client.send(line, daemon_client.WORKING)
                daemon_client.send(line, daemon_client.ANSWER, job.result(0))
            finally:
                job.cancel()

    def _state(self) -> daemon_client.HelperState:
        places = tuple(dict.fromkeys(str(root) for root, _ in list(self.kept.values())))
        seconds = int(time.monotonic() - self._began)
        return daemon_client.HelperState(
            os.getpid(), "warm", seconds, memory() >> 20, self.requests, places
        )

    def _do(self, data: bytes) -> Any:
        """One job."""
        root, travelled, asks, name, asked, how = daemon_client.unpacked(data)
        ask_keys = None
        if asks:
            ask_keys = _refuse
        options = Options(**travelled, ask_keys=ask_keys)
        return self._with(
            root, options, lambda library: daemon_client.job(name)(library, *asked, **how)
        )

    def _hear(self, data: bytes) -> str:
        """One event of an agent host.

        What the hook would answer, with the environment that it was called in.
        """
        event_text, environ, cwd, began = daemon_client.unpacked(data)
        event = agent_hook.parse(event_text, Path(cwd), environ.get(agent_hook.AGENT_VARIABLE, ""))
        if event is None:
            return ""
        chosen = settings.load(environ, event.cwd)
        if chosen.warm is None:
            # the settings, which only we have read, say that there shall be no helper
            raise daemon_client.DaemonUnavailable

        def asking(library: Library, caller_options: Options) -> daemon_client.DaemonClient:
            return daemon_client.DaemonClient(
                chosen.repo, caller_options._replace(warm=None), lambda: library, warm=True
            )

        options = Options(
            **daemon_client.travelling(library_options(chosen)._replace(session=event.session))
        )
        # one clock for all processes of a machine; where this fails, the hook does it and counts it
        with measured(hook.OPERATION, environ, began, failures=False) as figures:
            noted = agent_hook.note_event(figures, event)
            return self._with(
                chosen.repo,
                options,
                lambda library: agent_hook.respond(
                    event, chosen, environ, partial(asking, library), noted
                ),
            )

    def _with(self, root: Path, options: Options, job: Callable[[Library], T]) -> T:
        """Do a job on the library of this repository, for a caller with these options."""
        self._quiet.clear()
        self.requests += 1
        try:

            def do(library: Library) -> T:
                library.asked_by(options)
                result = job(library)
                if library.missing and self._incomplete.empty():
                    self._incomplete.put((root, options))
                return result

            return self._library(root, options).do(do)
        finally:
            self._used = time.monotonic()
            self._quiet.set()

    def _library(self, root: Path, options: Options) -> ReusableLibrary:
        """The library of this repository and these options, whichever caller asks."""
        places = options.places
        knows = any(place.name == places.belongs_to for place in places.known)
        any_caller = options._replace(cwd=root, agent=None, agent_by="", session=None)
        key = (
            os.path.realpath(root),
            root,
            any_caller._replace(places=places._replace(known=(), file="")),
            knows,
        )
        if key not in self.kept:
            self.kept[key] = root, ReusableLibrary(lambda: self._opened(root, options))
        self.kept[key] = entry = self.kept.pop(key)
        return entry[1]

    def _opened(self, root: Path, options: Options) -> Library:
        """A library that shares its models with the others; each thread computes on one core."""
        library = Library(root, options)
        of = (options.cache_dir, options.model_dir, options.offline)
        library.embedders = self._models.setdefault(
            of, Embedders(options, threads=1, before=self._gate, weighed=self._weighed)
        )
        return library

    @contextmanager
    def _weighed(self) -> Iterator[None]:
        """What is loaded meanwhile is no part of what is held."""
        before = memory()
        yield
        self.base += max(memory() - before, 0)

    def _gate(self) -> None:
        """Let the thread that computes missing vectors wait while a question is answered."""
        if threading.get_native_id() == self._filler:
            self._quiet.wait()
            self._used = time.monotonic()

    def _fill(self) -> None:
        """Compute missing vectors, of one repository after the other."""
        self._filler = threading.get_native_id()
        if sys.platform == "linux":
            # on other systems this would slow the whole process, not the thread
            # at 19, the least, it would get next to nothing beside a build that takes all cores
            os.setpriority(os.PRIO_PROCESS, self._filler, 10)
        while True:
            root, options = self._incomplete.get()
            self._fills = True
            with suppress(Exception), self._opened(root, options) as library:
                for repo in library.reading.every:
                    repo.indexing.complete()
            self._fills, self._used = False, time.monotonic()


def _refuse(_question: str, _keys: list[str]) -> bool:
    """Only the caller can ask its user."""
    raise daemon_client.DaemonUnavailable


def memory() -> int:
    """Bytes that this process takes; where only the most it ever took is known, that."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> NoReturn:
    """Serve at the address that is the first argument, unless another process does."""
    place, first = Path(sys.argv[1]), sys.stdin.buffer.read()
    os.umask(0o077)
    with suppress(AttributeError):
        # other libraries of C have no arenas
        # M_ARENA_MAX of glibc: with an arena for each thread 100 MB more stay in use at 10,000
        # entries
        ctypes.CDLL(None).mallopt(-8, 1)
    # a greeting must not wait for a job
    sys.setswitchinterval(0.001)
    try:
        # who looks whether a helper is there holds its lock for a moment
        until = time.monotonic() + 1.0
        while not _served(place, first) and time.monotonic() < until:
            time.sleep(0.02)
    finally:
        # without waiting for a job that hangs
        os._exit(0)


def _served(place: Path, first: bytes) -> bool:
    """Serve at this address until it is over; False where another process holds its lock."""
    lock = place.with_suffix(daemon_client.LOCK)
    with daemon_client.claimed(lock) as free, socket.socket(socket.AF_UNIX) as listener:
        if not free:
            return False
        if daemon_client.private(place.parent):
            lock.write_text(str(os.getpid()), "ascii")
            helper = Helper(place, listener)
            helper.base = memory()
            helper.run(first)
            place.unlink(missing_ok=True)
    return True


if __name__ == "__main__":
    main()
