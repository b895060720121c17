"""The helper that stays in memory, as those see it who ask: its address, a question to it, its start.

Frozen values travel over a Unix socket, between processes of one user. Whoever finds no helper, or finds it silent,
does the work alone and says nothing. What a helper does is in `doors.warm_helper`, which jobs in `warm_jobs`.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import socket
import struct
import sys
import time
from contextlib import contextmanager, suppress
from enum import Enum
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.library.answers import silent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.library.answers import Progress

GREETING = 0.05
"""Seconds in which a helper has to take a question."""

BEAT, SILENT = 0.05, 0.5
"""Seconds between two signs of life while it works, and without one until it is left: on a machine whose cores are all
taken a sign comes late, and working alone would load it more."""

STARTING = 2.0
"""Seconds after a start in which no other is tried, so that a hundred commands at once do not start a hundred."""

NEVER = 3600.0
"""The same for a folder that can hold no socket."""

PIPE = 60_000
"""Bytes that a pipe takes at once; a longer first question would have to be waited for."""

JOB, STATUS, WORKING, ANSWER, ALONE = b"jswan"
LOCK = ".lock"
MOST_BYTES = 64 << 20
_HEAD = struct.Struct("!BI")
_PACKAGE = Path(__file__).parents[1]
_PLAIN = frozenset((("builtins", "dict"), ("pathlib", "PosixPath"), ("pathlib._local", "PosixPath")))
_NOT_OURS = (pickle.PickleError, AttributeError, EOFError, ImportError, LookupError, TypeError, ValueError)
"""What pickle raises where something cannot travel."""


class Alone(Exception):
    """No helper answers this; it can be done without one."""


class HelperState(NamedTuple):
    """One helper. `state`: warm, silent (it does not answer), or stopped; `megabytes` of memory, `seconds` of age."""

    pid: int
    state: str
    seconds: int = 0
    megabytes: int = 0
    requests: int = 0
    repositories: tuple[str, ...] = ()


class Helpers(NamedTuple):
    """The helpers of this user. `state`: warm, none, or off where none will be started."""

    state: str
    helpers: tuple[HelperState, ...] = ()


def program() -> str:
    """Names this program and its Python: another version, an edited file or another interpreter has another name.

    Raises:
        OSError: the program's files cannot be looked at.
    """
    found, folders = [sys.executable, sys.version], [str(_PACKAGE)]
    while folders:
        with os.scandir(folders.pop()) as every:
            for one in every:
                if one.name.endswith(".py"):
                    status = one.stat()
                    found.append(f"{one.path} {status.st_mtime_ns} {status.st_size}")
                elif "." not in one.name and not one.name.startswith("_") and one.is_dir():
                    folders.append(one.path)
    return sha256("\n".join(sorted(found)).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def private(folder: Path) -> bool:
    """Whether the folder is this user's, and nobody else's to look into."""
    status = folder.lstat()
    return status.st_mode & 0o170077 == 0o040000 and status.st_uid == os.geteuid()


def ours(line: socket.socket) -> bool:
    """Whether this user is at the other end."""
    if sys.platform == "linux":
        _, user, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    else:  # LOCAL_PEERCRED of macOS and the BSDs: a struct xucred, whose second word is the user
        _, user = struct.unpack_from("2I", line.getsockopt(0, 1, 76))
    return bool(user == os.geteuid())


class _Writer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, MappingProxyType):
            return dict, (dict(value),)
        return (type(value), (value.value,)) if isinstance(value, Enum) else NotImplemented


class _Reader(pickle.Unpickler):
    """Makes values of our own types and of plain ones, and calls nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("ai_lessons.") or (module, name) in _PLAIN:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is nothing that travels")


def packed(value: object) -> bytes:
    """A value as it travels."""
    file = BytesIO()
    _Writer(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def unpacked(data: bytes) -> Any:
    """The value that travelled. Raises whatever pickle does where it is none of ours."""
    return _Reader(BytesIO(data)).load()


def send(line: socket.socket, kind: int, data: bytes = b"") -> None:
    """One message. Raises OSError."""
    line.sendall(_HEAD.pack(kind, len(data)) + data)


def receive(line: socket.socket) -> tuple[int, bytes]:
    """One message. Raises OSError: none came in the time of the socket, or no whole one."""
    kind, length = _HEAD.unpack(_exactly(line, _HEAD.size))
    if length > MOST_BYTES:
        raise OSError("too long")
    return kind, _exactly(line, length)


def _exactly(line: socket.socket, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        part = line.recv(min(length - len(found), 1 << 20))
        if not part:
            raise OSError("ended")
        found += part
    return bytes(found)


def address(folder: Path) -> Path:
    """Where the helper of this program listens. Raises OSError."""
    return folder / program()


def ask(place: Path, request: object, progress: Progress = silent, kind: int = JOB) -> Any:
    """What the helper at this address answers.

    Raises:
        Alone: there is none, it is silent, or it could not do it.
    """
    try:
        if not private(place.parent):
            raise Alone
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(GREETING)
            line.connect(str(place))
            if not ours(line):
                raise Alone
            send(line, kind, packed(request))
            return _answer(line, progress)
    except (OSError, *_NOT_OURS) as error:
        raise Alone from error


def _answer(line: socket.socket, progress: Progress) -> Any:
    while True:
        kind, data = receive(line)
        if kind == ANSWER:
            return unpacked(data)
        if kind != WORKING:
            raise Alone
        if data:
            progress(*unpacked(data))
        line.settimeout(SILENT)


@contextmanager
def claimed(lock: Path) -> Iterator[bool]:
    """Hold the lock of a helper; False where another process does. Raises OSError."""
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        free = True
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            free = False
        yield free
    finally:
        os.close(fd)


def start(folder: Path, request: object) -> None:
    """Start a helper, with a first question, and do not wait for it. Where that is not possible, nothing happens.

    It runs with our interpreter, in `/`, and imports nothing from where we stand.
    """
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        place = address(folder)
        lock, now = place.with_suffix(LOCK), time.time()
        tried = lock.stat().st_mtime if lock.exists() else 0.0
        if not sys.executable or not private(folder) or tried - NEVER < now < tried + STARTING:
            return
        with claimed(lock) as free:
            os.utime(lock)
        data = packed(request)
        if free and len(data) < PIPE:
            from ai_lessons.repository import programs

            argv = [sys.executable, "-P", "-m", "ai_lessons.doors.warm_helper", str(place)]
            programs.leave_running(argv, env=None, cwd=Path("/"), stdin=data)
