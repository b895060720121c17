"""The helper that stays in memory, from the side of its callers.

Its jobs, a question to it, its start and end.
"""

from __future__ import annotations

import copyreg
import fcntl
import os
import pickle
import signal
import socket
import struct
import sys
import time
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from hashlib import sha256
from importlib import import_module
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ai_lessons.app.options import Options
    from ai_lessons.app.workspace import Library
    from ai_lessons.model.events import Event


class Patience(NamedTuple):
    """How long, in seconds, one waits for the helper."""

    # Seconds in which a helper has to take a question
    greeting: float = 0.05
    # Seconds in which a helper that has just been started should take a job for later
    patience: float = 1.0
    # Seconds that a server waits for the helper it starts, which imports LanceDB and the model first
    coming: float = 10.0
    # Seconds between two signs of life while it works
    beat: float = 0.05
    # Seconds without a sign of life until it is left. On a machine whose cores are all taken a sign
    # comes late, and working alone would load it more
    lifeless: float = 0.5


PATIENT = Patience()


JOB, HOOK, STATUS, LATER, WORKING, ANSWER = b"jhslwa"
LOCK = ".lock"
PACKAGE = Path(__file__).parents[1]
_HEAD = struct.Struct("!BI")
_PLAIN = frozenset(
    (("builtins", "dict"), ("pathlib", "PosixPath"), ("pathlib._local", "PosixPath"))
)
_NOT_OURS = (
    struct.error,
    pickle.PickleError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    TypeError,
    ValueError,
)

# By name a module and its function; nothing else is called in a helper.
# Each is loaded when it is asked for.
JOBS: Mapping[str, tuple[str, str]] = {
    "search": ("app.search", "search"),
    "context": ("telling.context", "find_context"),
    "at_the_start": ("telling.start", "at_the_start"),
    "at_a_prompt": ("telling.offers", "at_a_prompt"),
    "before_a_tool": ("telling.offers", "before_a_tool"),
    "at_a_failure": ("telling.offers", "at_a_failure"),
    "rules_here": ("app.rules_here", "rules_here"),
    "near_copies": ("app.repetitions", "near_copies"),
    "record": ("app.workspace", "Library.record"),
    "prepare": ("app.gathering", "prepare"),
}

# Options that do not travel.
# What only the caller can do, and what a server holds back from its own callers.
_CALLERS_OWN = frozenset(
    ("ask_trust", "ask_keys", "ask_source", "progress", "now", "limits", "warm", "author")
)


def job(name: str) -> Callable[..., Any]:
    """The function of a job. Raises KeyError: there is no job of this name."""
    module, function = JOBS[name]
    function_of: Callable[..., Any] = attrgetter(function)(import_module(f"ai_lessons.{module}"))
    return function_of


class DaemonUnavailable(Exception):
    """No helper answers this; it can be done without one."""


class HelperState(NamedTuple):
    """One helper. `state`: warm, silent (it does not answer) or stopped.

    `megabytes` of memory, `seconds` of age.
    """

    pid: int
    state: str
    seconds: int = 0
    megabytes: int = 0
    requests: int = 0
    repositories: tuple[str, ...] = ()


class DaemonClient:
    """Jobs for one caller.

    `open_library` gives a library for what is done here; it is called at most once.

    A server, whose library is `held` open, waits for a helper that it starts: many servers share
    one index in memory. In the helper itself, which is `warm`, everything is at hand. A caller that
    is `alone` has found no helper, and asks none again; `missed` says whether there was something
    to ask.
    """

    def __init__(
        self,
        root: Path,
        options: Options,
        open_library: Callable[[], Library],
        *,
        held: bool = False,
        warm: bool = False,
        alone: bool = False,
    ) -> None:
        self.root, self.options, self._open_library, self._held = root, options, open_library, held
        self._warm, self._alone, self.missed = warm, alone, False

    @cached_property
    def library(self) -> Library:
        """The library for what is done here."""
        return self._open_library()

    def __call__(self, name: str, *asked: object, **how: object) -> Any:
        """The answer of a job: of the helper, else worked out here.

        Where that took the index, a helper is started.

        Raises:
            AiLessonsError: as the job.
        """
        if self._alone:
            return self.here(name, *asked, **how)
        request = self._request(name, asked, how)
        if self._place:
            with suppress(DaemonUnavailable):
                return ask(self._place, request)
            if self._held and self.library.waits_for_helper:
                with suppress(DaemonUnavailable):
                    return self._from_started(self._place, request)
                self.library.waits_for_helper = False
        answer = self.here(name, *asked, **how)
        if self._place and self.library.has_index:
            start(self._place, request)
        return answer

    def _from_started(self, place: Path, request: object) -> Any:
        """The answer of a helper that is started for it.

        Raises DaemonUnavailable: it does not come.
        """
        start(place, request)
        end = time.monotonic() + PATIENT.coming
        while time.monotonic() < end:
            time.sleep(PATIENT.beat)
            with suppress(DaemonUnavailable):
                return ask(place, request)
        raise DaemonUnavailable

    def here(self, name: str, *asked: object, **how: object) -> Any:
        """The answer of a job, worked out here. Raises as the job."""
        return job(name)(self.library, *asked, **how)

    def if_warm(self, name: str, *asked: object) -> Any:
        """The answer of a job that a helper or this server has at hand.

        None: then a helper is started for the next.
        """
        return self.begin_if_warm(name, *asked)()

    def begin_if_warm(self, name: str, *asked: object) -> Callable[[], Any]:
        """As `if_warm`, which what comes back ends.

        The helper works while the caller does something else.
        """
        if self._warm or (self._held and self.library.has_index):
            return partial(self.here, name, *asked)
        self.missed = True
        if not self._place or self._alone:
            return lambda: None
        place, request = self._place, self._request(name, asked, {})
        steps = in_steps(place, request)
        with suppress(DaemonUnavailable):
            next(steps)

        def answer() -> Any:
            with suppress(DaemonUnavailable, StopIteration):
                return next(steps)
            start(place, request)
            return None

        return answer

    def start_helper(self, name: str, *asked: object) -> None:
        """Start a helper with this job, without waiting."""
        if self._place:
            start(self._place, self._request(name, asked, {}))

    def record(self, happened: Iterable[Event]) -> None:
        """Write events down, by the helper if there is one."""
        # the ids are made here: where the helper wrote them and its answer was lost, writing them
        # again counts once
        self("record", app.events.stamped(happened, self.options.now()))

    @cached_property
    def _place(self) -> Path | None:
        """The address of a helper of this program; None where there shall be or can be none."""
        with suppress(OSError):
            return self.options.warm and self.options.warm / program()
        return None

    def _request(
        self, name: str, asked: tuple[object, ...], how: Mapping[str, object]
    ) -> tuple[object, ...]:
        return (
            self.root,
            travelling(self.options),
            self.options.ask_keys is not None,
            name,
            asked,
            how,
        )


def travelling(options: Options) -> dict[str, Any]:
    """The options that a helper needs to know."""
    by_key: dict[str, Any] = {}
    for key, value in options._asdict().items():
        if key not in _CALLERS_OWN:
            by_key[key] = value
    return by_key


def program() -> str:
    """Names this program and its Python.

    Another version, an edited file or another interpreter has another name.

    Raises OSError: the program's files cannot be looked at.
    """
    files = (os.path.join(folder, name) for folder, _, names in os.walk(PACKAGE) for name in names)
    stats = sorted(
        (status.st_mtime_ns, status.st_size)
        for status in (os.stat(file) for file in files if file.endswith(".py"))
    )
    return sha256(
        f"{sys.executable} {sys.version} {PACKAGE} {stats}".encode("utf-8", "replace")
    ).hexdigest()[:16]


def private(folder: Path) -> bool:
    """Whether the folder is this user's, and no other user's to look into."""
    status = folder.lstat()
    return status.st_mode & 0o170077 == 0o040000 and status.st_uid == os.geteuid()


def ours(line: socket.socket) -> bool:
    """Whether this user is at the other end."""
    if sys.platform == "linux":
        _, user, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    else:
        # LOCAL_PEERCRED of macOS and the BSDs: a struct xucred, whose second word is the user
        _, user = struct.unpack_from("2I", line.getsockopt(0, 1, 76))
    return bool(user == os.geteuid())


class _Unpickler(pickle.Unpickler):
    """Makes values of our own types and of plain ones, and calls nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("ai_lessons.") or (module, name) in _PLAIN:
            cls = super().find_class(module, name)
            if isinstance(cls, type) and cls.__module__ == module:
                return cls
        raise pickle.UnpicklingError(f"{module}.{name} is nothing that travels")


copyreg.pickle(MappingProxyType, lambda proxy: (dict, (dict(proxy),)))  # type: ignore[arg-type,return-value]  # a copy


def unpacked(data: bytes) -> Any:
    """The value that travelled. Raises what pickle raises where it is none of ours."""
    return _Unpickler(BytesIO(data)).load()


def send(line: socket.socket, kind: int, value: object = None) -> None:
    """One message. Raises OSError."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    line.sendall(_HEAD.pack(kind, len(data)) + data)


def receive(stream: IO[bytes]) -> tuple[int, bytes]:
    """One message.

    Raises OSError: none came in the time of the socket. struct.error: no whole one.
    """
    kind, length = _HEAD.unpack(stream.read(_HEAD.size))
    return kind, stream.read(length)


def ask(place: Path, request: object, kind: int = JOB) -> Any:
    """What the helper at this address answers.

    Raises:
        DaemonUnavailable: there is none, it is silent, or it could not do it.
    """
    steps = in_steps(place, request, kind)
    next(steps)
    return next(steps)


def in_steps(place: Path, request: object, kind: int = JOB) -> Iterator[Any]:
    """Put the question, then wait for the answer; either step raises what `ask` raises."""
    try:
        if not private(place.parent):
            raise DaemonUnavailable
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENT.greeting)
            line.connect(str(place))
            if not ours(line):
                raise DaemonUnavailable
            send(line, kind, request)
            yield None
            stream = line.makefile("rb")
            while (message := receive(stream))[0] == WORKING:
                line.settimeout(PATIENT.lifeless)
            yield unpacked(message[1])
    except (OSError, *_NOT_OURS) as error:
        raise DaemonUnavailable from error


@contextmanager
def claimed(lock: Path) -> Iterator[bool]:
    """Hold the lock of a helper; False where another process does. Raises OSError."""
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    free = True
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            free = False
        yield free
    finally:
        os.close(fd)


def start(place: Path, request: object) -> bool:
    """Start a helper at this address, with a first question, without waiting.

    False: one is there or just coming.

    Where it cannot be, nothing happens. It runs with our interpreter, in `/`, and imports nothing
    from where we stand.
    """
    with suppress(OSError, *_NOT_OURS):
        folder, lock = place.parent, place.with_suffix(LOCK)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not private(folder):
            return True
        # For ten seconds after a start no other is tried: a hundred commands at once must not start
        # a hundred.
        if lock.exists() and time.time() < lock.stat().st_mtime + 10.0:
            return False
        with claimed(lock) as free:
            os.utime(lock)
        if not free:
            return False
        from ai_lessons.git import processes

        argv = [sys.executable, "-P", "-m", "ai_lessons.interfaces.daemon", str(place)]
        processes.leave_running(argv, env=None, cwd=Path("/"), stdin=pickle.dumps(request))
    return True


def have_done(root: Path, options: Options, name: str) -> None:
    """Let the helper do a job, without waiting for it; where none runs, one is started with it."""
    if options.warm is None:
        return
    with suppress(OSError):
        place = options.warm / program()
        request: tuple[object, ...] = (root, travelling(options), False, name, (), {})
        end = time.monotonic() + PATIENT.patience
        while True:
            with suppress(DaemonUnavailable):
                ask(place, request, LATER)
                return
            if start(place, request) or time.monotonic() > end:
                return
            time.sleep(PATIENT.beat)


def helpers(options: Options, *, stop: bool = False) -> tuple[HelperState, ...]:
    """The helpers of this user that run, of whatever version.

    With `stop` they are ended, also one that hangs.
    """
    folder, states = options.warm or options.state_dir / "warm", []
    for lock in sorted(folder.glob("*" + LOCK)) if folder.is_dir() and private(folder) else ():
        with claimed(lock) as free:
            pid = lock.read_text("utf-8")
        if free or not pid.isdecimal():
            continue
        try:
            state = ask(lock.with_suffix(""), None, STATUS)
        except DaemonUnavailable:
            state = HelperState(int(pid), "silent")
        if stop:
            with suppress(ProcessLookupError):
                # what it writes, the next refresh finds right or makes anew
                os.kill(state.pid, signal.SIGKILL)
            state = state._replace(state="stopped")
        states.append(state)
    return tuple(states)
