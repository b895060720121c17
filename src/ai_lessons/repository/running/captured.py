"""Runs a script for a caller without a terminal: its output kept up to a size, an end on request.

How a file is started is for `scripts`, whether it may run for `trust`. Standard input, output and error of this
process are not touched: a protocol may run over them.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.repository.running import scripts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import IO

KEPT = 20_000
"""Bytes kept of each stream: the first half and the last half of them."""

LINGER = 0.5
"""Seconds to go on reading after the command has ended, because something that it left behind holds its output."""

_POLL = 0.05
_CHUNK = 65_536


class Captured(NamedTuple):
    """How a command ended, and the beginning and end of what it printed; `…_omitted` counts bytes left out between."""

    code: int
    timed_out: bool
    stdout: str
    stderr: str
    stdout_omitted: int = 0
    stderr_omitted: int = 0


class _Ends:
    """The beginning and the end of a stream, in bounded memory."""

    def __init__(self, size: int) -> None:
        self._half = max(size // 2, 1)
        self._head, self._tail = bytearray(), bytearray()
        self._seen = 0

    def add(self, data: bytes) -> None:
        """Take what came next."""
        self._seen += len(data)
        room = self._half - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        del self._tail[: -self._half]

    @property
    def omitted(self) -> int:
        """Bytes between the two."""
        return self._seen - len(self._head) - len(self._tail)

    @property
    def text(self) -> str:
        """Both, with a line between them where something is left out."""
        between = f"\n… {self.omitted} bytes left out …\n".encode() if self.omitted else b""
        return (bytes(self._head) + between + bytes(self._tail)).decode("utf-8", "replace")


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
    env: Mapping[str, str] | None = None,
    interrupted: Callable[[], None] = lambda: None,
    kept: int = KEPT,
) -> Captured:
    """Run a command in a process group of its own; its exit code (128 + n where signal n ended it) and output.

    It reads the end of its input at once.

    After `timeout` seconds the whole group is ended and the code is 124, as with `scripts.run`. `interrupted` is
    called again and again and may raise: then the group is ended, too. Waits for the command itself, not for what it
    left behind.

    Raises:
        NotFound: no such folder or program. StorageFailed: the system could not start it.
    """
    if cwd is not None and not cwd.is_dir():
        raise NotFound("folder", str(cwd))
    try:
        child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            process_group=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except FileNotFoundError as error:
        raise NotFound("program", argv[0]) from error
    except OSError as error:
        raise StorageFailed(f"{argv[0]} could not be started: {error.strerror}") from error
    with child:
        return _watched(child, timeout, interrupted, kept)


def _watched(
    child: subprocess.Popen[bytes], timeout: float | None, interrupted: Callable[[], None], kept: int
) -> Captured:
    out, err = _Ends(kept), _Ends(kept)
    deadline = None if timeout is None else time.monotonic() + timeout
    ended: float | None = None
    timed_out = False
    with selectors.DefaultSelector() as ready:
        for stream, ends in zip(filter(None, (child.stdout, child.stderr)), (out, err), strict=True):
            os.set_blocking(stream.fileno(), False)
            ready.register(stream, selectors.EVENT_READ, ends)
        while ended is None or (ready.get_map() and time.monotonic() - ended < LINGER):
            _read(ready)
            if ended is None and child.poll() is not None:
                ended = time.monotonic()
            elif ended is None and (timed_out := deadline is not None and time.monotonic() > deadline):
                scripts.end(child)
                ended = time.monotonic()
            elif ended is None:
                _still_wanted(child, interrupted)
    code = scripts.TIMED_OUT if timed_out else child.returncode if child.returncode >= 0 else 128 - child.returncode
    return Captured(code, timed_out, out.text, err.text, out.omitted, err.omitted)


def _read(ready: selectors.BaseSelector) -> None:
    """What is there now, of each stream at most one chunk; without open streams only the moment that a look takes."""
    if not ready.get_map():
        time.sleep(_POLL)
        return
    for key, _ in ready.select(_POLL):
        data = _chunk(key.fileobj)  # type: ignore[arg-type]  # only what was registered above: pipes
        if data == b"":
            ready.unregister(key.fileobj)
        elif data:
            key.data.add(data)


def _chunk(stream: IO[bytes]) -> bytes | None:
    """Some bytes; empty at the end of the stream, None if there is nothing yet."""
    try:
        return os.read(stream.fileno(), _CHUNK)
    except BlockingIOError:
        return None


def _still_wanted(child: subprocess.Popen[bytes], interrupted: Callable[[], None]) -> None:
    try:
        interrupted()
    except BaseException:
        scripts.end(child)
        raise
