"""The helper that stays in memory: libraries held open for the next commands of one user. Started by a search.

`python -m ai_lessons.doors.warm_helper ADDRESS`, with a first question on standard input. One thread does the jobs, one
after the other; a second one, which gives way to everything else, computes vectors that are missing. It never writes
entries, events or git, and ends by itself: see `Helper.over`.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn

from ai_lessons.library import warm
from ai_lessons.library.answers import silent
from ai_lessons.library.kept import Kept
from ai_lessons.library.model import Embedders, GivingWay
from ai_lessons.library.opened import Library
from ai_lessons.library.options import Options
from ai_lessons.library.warm_jobs import JOBS

if TYPE_CHECKING:
    from collections.abc import Hashable
    from concurrent.futures import Future


IDLE = 600.0
"""Seconds without a question after which it ends."""

MOST_MEMORY = 400 << 20
"""Bytes; above it the least used repository is let go, and if none is left it ends."""

LOOK = 2.0
"""Seconds between two looks whether it should go on."""

PATIENCE = 5.0
"""Seconds for whoever asks to say what."""

LONGEST = 60.0
"""Seconds without progress after which a job counts as hung, and those who wait for it are left to themselves."""

CROWD = 256
"""Callers whose connection may wait to be taken."""


class Helper:
    """One helper, listening at `place`."""

    def __init__(self, place: Path) -> None:
        self._place, self._program = place, place.name
        self._began = self._used = time.monotonic()
        self.requests = 0
        self.kept: dict[Hashable, tuple[Path, Kept]] = {}
        """By repository and options, the least used first."""
        self._jobs = ThreadPoolExecutor(1)
        self._caller: Options | None = None
        self._step: tuple[str, int, int] | None = None
        self._moved = 0.0
        self._quiet = threading.Event()
        self._quiet.set()
        self._models: dict[Hashable, Embedders] = {}
        self._incomplete: SimpleQueue[tuple[Path, Options]] = SimpleQueue()
        self._filling = False

    def run(self, listener: socket.socket, first: bytes) -> None:
        """Answer until it is over. `first` is a question whose answer nobody waits for."""
        own = self._place.stat().st_ino
        listener.settimeout(LOOK)
        if first:
            self._jobs.submit(self._do, first)
        threading.Thread(target=self._fill, daemon=True).start()
        looked = 0.0
        while (soon := time.monotonic() < looked + LOOK) or not self.over(own):
            looked = looked if soon else time.monotonic()
            with suppress(TimeoutError):
                threading.Thread(target=self._serve, args=(listener.accept()[0],), daemon=True).start()

    def over(self, own: int) -> bool:
        """Whether it is idle, its program or its socket is not what it was, or it takes too much memory."""
        try:
            other = self._place.stat().st_ino != own or warm.program() != self._program
        except OSError:
            other = True
        if not other and memory() > MOST_MEMORY:
            if not self.kept:
                return True
            self._jobs.submit(self._let_go)
        return other or time.monotonic() > self._used + IDLE

    def close(self) -> None:
        """Let go of everything, where the process goes on."""
        self._jobs.shutdown()
        while self.kept:
            self._let_go()

    def _let_go(self) -> None:
        if self.kept:
            self.kept.pop(next(iter(self.kept)))[1].close()

    def _serve(self, line: socket.socket) -> None:
        """One question. Who does not wait for the answer is forgotten."""
        with line, suppress(OSError):
            line.settimeout(PATIENCE)
            if not warm.ours(line):
                return
            kind, data = warm.receive(line)
            warm.send(line, warm.WORKING)
            if kind == warm.STATUS:
                warm.send(line, warm.ANSWER, warm.packed(self.state()))
                return
            job = self._jobs.submit(self._do, data)
            try:
                while not self._done(line, job):
                    step, self._step = self._step, None
                    warm.send(line, warm.WORKING, warm.packed(step) if step else b"")
            finally:
                job.cancel()

    def _done(self, line: socket.socket, job: Future[tuple[int, bytes]]) -> bool:
        """Send the answer if it comes before the next sign of life is due; also over where the job hangs."""
        try:
            kind, data = job.result(warm.BEAT)
        except TimeoutError:
            return bool(self._moved and time.monotonic() > self._moved + LONGEST)
        warm.send(line, kind, data)
        return True

    def state(self) -> warm.HelperState:
        """What it tells of itself."""
        places = tuple(dict.fromkeys(str(root) for root, _ in list(self.kept.values())))
        seconds = int(time.monotonic() - self._began)
        return warm.HelperState(os.getpid(), "warm", seconds, memory() >> 20, self.requests, places)

    def _do(self, data: bytes) -> tuple[int, bytes]:
        """One job; whatever goes wrong, whoever asked finds out by doing it."""
        self._quiet.clear()
        self.requests += 1
        self._moved = time.monotonic()
        try:
            root, travelled, asks, name, asked, how = warm.unpacked(data)
            options = Options(**travelled, ask_keys=_refuse if asks else None, progress=self._progress)

            def job(opened: Library) -> Any:
                opened.asked_by(options)
                found = JOBS[name]()(opened, *asked, **how)
                if opened.missing and not self._filling:
                    self._filling = True
                    self._incomplete.put((root, options))
                return found

            answer = self._library(root, options).do(job)
            return warm.ANSWER, warm.packed(answer)
        except Exception:  # noqa: BLE001  # the same error comes where it is shown, or none
            return warm.ALONE, b""
        finally:
            self._moved, self._used = 0.0, time.monotonic()
            self._quiet.set()

    def _library(self, root: Path, options: Options) -> Kept:
        """The library of this repository and these options, whoever asks."""
        places = options.places
        knows = any(one.name == places.belongs_to for one in places.known)
        whoever = options._replace(cwd=root, agent=None, agent_by="", session=None)
        key = (root, whoever._replace(places=places._replace(known=(), file="")), knows)
        found = self.kept.pop(key, None) or (root, Kept(lambda: self._opened(root, options)))
        self.kept[key] = found
        return found[1]

    def _progress(self, what: str, done: int, total: int) -> None:
        self._step, self._moved = (what, done, total), time.monotonic()

    def _opened(self, root: Path, options: Options, *, gives_way: bool = False) -> Library:
        """A library that shares its models with the others; one thread computes at a time, on one core."""
        of = (options.cache_dir, options.model_dir, options.offline)
        models = self._models.setdefault(of, Embedders(options, threads=1))
        opened = Library(root, options)
        opened.embedders = GivingWay(options, models, self._gate) if gives_way else models
        return opened

    def _gate(self) -> None:
        """Wait while a question is answered."""
        self._quiet.wait()
        self._used = time.monotonic()

    def _fill(self) -> None:
        """Compute missing vectors, of one repository after the other."""
        if sys.platform == "linux":  # elsewhere the whole process would give way
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        while True:
            root, options = self._incomplete.get()
            with suppress(Exception), self._opened(root, options._replace(progress=silent), gives_way=True) as opened:
                for one in opened.reading.every:
                    one.indexing.complete()
            self._filling = False


def _refuse(_question: str, _keys: list[str]) -> bool:
    """Only the caller can ask its user."""
    raise warm.Alone


def memory() -> int:
    """Bytes that this process takes; where only the most it ever took is known, that."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> NoReturn:
    """Serve at the address that is the first argument, unless another process does."""
    place = Path(sys.argv[1])
    first = sys.stdin.buffer.read()
    lock = place.with_suffix(warm.LOCK)
    os.umask(0o077)
    sys.setswitchinterval(0.001)  # a greeting must not wait for a job
    try:
        with warm.claimed(lock) as free, socket.socket(socket.AF_UNIX) as listener:
            if free and warm.private(place.parent):
                lock.write_text(str(os.getpid()), "ascii")
                listen(listener, place)
                Helper(place).run(listener, first)
                place.unlink(missing_ok=True)
    finally:
        os._exit(0)  # without waiting for a job that hangs


def listen(listener: socket.socket, place: Path) -> None:
    """Listen there, for this user alone. Raises OSError: no socket can be there; for some time nobody tries again."""
    try:
        place.unlink(missing_ok=True)
        listener.bind(str(place))
        place.chmod(0o600)
        listener.listen(CROWD)
    except OSError:
        later = time.time() + warm.NEVER
        os.utime(place.with_suffix(warm.LOCK), (later, later))
        raise


if __name__ == "__main__":
    main()
