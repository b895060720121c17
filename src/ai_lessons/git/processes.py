"""Programs that we start, each in a session of its own.

Neither it nor what it started outlives its time.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from ai_lessons.errors import NotFound, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


OWN = ("ai-lessons", "lesson", "ai-lessons-mcp")


def program_path(name: str) -> str:
    """The absolute path of one of our programs, for others to call it by.

    It lies beside the one that runs now, or beside our interpreter. Raises NotFound: neither has
    it.
    """
    # not resolved: an upgrade leaves the link of pipx, uv or a package manager, and may take away
    # what it leads to
    if os.path.basename(sys.argv[0]) in OWN:
        called = sys.argv[0]
    else:
        called = sys.executable
    folders = [os.path.dirname(os.path.abspath(called)), os.path.dirname(sys.executable)]
    path = shutil.which(name, path=os.pathsep.join(folders))
    if path is None:
        raise NotFound("program", name, hint="install the package, in its sources: pipx install .")
    return path


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float,
    cwd: Path | None = None,
    stdin: bytes | None = b"",
    terminal: Callable[[bytes], object] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Exit code and output of a program; `timeout` in seconds, `stdin` None: ours.

    `terminal`: it stays in our session and may ask the user; called with its standard error, from
    another thread. Raises subprocess.TimeoutExpired: it did not end in time and was killed with its
    children. OSError: no start.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=None if stdin is None else pipe,
        stdout=pipe,
        stderr=pipe,
        start_new_session=terminal is None,
    ) as process:
        pieces: list[bytes] = []
        reader = None
        try:
            if terminal and process.stderr:
                # `communicate` reads it no longer
                reader, process.stderr = _listen(process.stderr, pieces.append, terminal), None
            out, err = process.communicate(stdin, timeout)
            if reader:
                reader.join(timeout)
                err = b"".join(pieces)
        except BaseException:
            # whatever it is, Ctrl-C too: nobody would be left to end the program
            _end(process, own_group=terminal is None)
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def _end(process: subprocess.Popen[bytes], *, own_group: bool) -> None:
    """End a program with its children."""
    if not own_group:
        # git ends its own children when it is asked to
        process.terminate()
        return
    # also where the program itself has ended: as long as one of its children lives, the number
    # stays theirs
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _listen(pipe: IO[bytes], *receivers: Callable[[bytes], object]) -> threading.Thread:
    """Give each piece of the output to the receivers, in another thread.

    It closes the pipe at its end.
    """

    def listen() -> None:
        with pipe:
            while piece := os.read(pipe.fileno(), 65_536):
                for receive in receivers:
                    receive(piece)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    return thread


def leave_running(
    argv: Sequence[str], *, env: Mapping[str, str] | None, cwd: Path, stdin: bytes = b""
) -> None:
    """Start a program without output that goes on after us; `stdin` is all its input.

    Raises OSError.
    """
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=nothing,
        stderr=nothing,
        start_new_session=True,
    )
    if process.stdin:
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(stdin)
    # or it stays as a zombie until we end
    threading.Thread(target=process.wait, daemon=True).start()


# Bytes kept of each stream: the first half and the last half of them
KEPT = 20_000
# Exit code of a script that was stopped because its time was over, as timeout(1) has it
TIMED_OUT = 124
# Seconds that a program has to clean up once it is asked to end
GRACE = 3.0


def start(
    argv: Sequence[str],
    *,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    own_group: bool = True,
    **streams: int,
) -> subprocess.Popen[bytes]:
    """Start a command, in a process group of its own or ours.

    Raises NotFound (folder, program), StorageFailed.
    """
    if cwd is not None and not cwd.is_dir():
        raise NotFound("folder", str(cwd))
    try:
        process_group = None
        if own_group:
            process_group = 0
        return subprocess.Popen(argv, cwd=cwd, env=env, process_group=process_group, **streams)  # type: ignore[call-overload,no-any-return]  # streams
    except FileNotFoundError as error:
        raise NotFound("program", argv[0]) from error
    except OSError as error:
        raise StorageFailed(f"{argv[0]} could not be started: {error.strerror}") from error


class Captured(NamedTuple):
    """How a command ended, and the beginning and end of what it printed.

    `omitted` counts the bytes left out.
    """

    code: int
    timed_out: bool
    stdout: str
    stderr: str
    omitted: int = 0


class _Excerpt:
    """The beginning and the end of a stream, in bounded memory."""

    def __init__(self, size: int) -> None:
        self._half = max(size // 2, 1)
        self._head, self._tail = bytearray(), bytearray()
        self._seen = 0

    def add(self, data: bytes) -> None:
        self._seen += len(data)
        room = self._half - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        del self._tail[: -self._half]

    @property
    def omitted(self) -> int:
        return self._seen - len(self._head) - len(self._tail)

    @property
    def text(self) -> str:
        if self.omitted:
            between = f"\n… {self.omitted} bytes left out …\n".encode()
        else:
            between = b""
        return (bytes(self._head) + between + bytes(self._tail)).decode("utf-8", "replace")


def run_captured(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
    env: Mapping[str, str] | None = None,
    interrupted: Callable[[], None] = lambda: None,
) -> Captured:
    """Exit code (128 + n for signal n) and output of a command without input.

    Raises NotFound, StorageFailed.
    """
    pipe = subprocess.PIPE
    child = start(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    began, timed_out = time.monotonic(), False
    excerpts = {}
    for stream in (child.stdout, child.stderr):
        if stream:
            excerpts[stream] = _Excerpt(KEPT)
    readers = [_listen(stream, excerpt.add) for stream, excerpt in excerpts.items()]
    # their readers close them
    child.stdout = child.stderr = None
    with ExitStack() as unwanted:
        unwanted.callback(end, child)
        while child.poll() is None and not timed_out:
            interrupted()
            with suppress(subprocess.TimeoutExpired):
                # `interrupted` raises when the person gives up, so it is called often
                child.wait(0.05)
            timed_out = (
                timeout is not None and time.monotonic() - began > timeout and child.poll() is None
            )
        if not timed_out:
            unwanted.pop_all()
    ended = time.monotonic()
    for reader in readers:
        # go on reading for half a second: something left behind may hold the output open
        reader.join(max(ended + 0.5 - time.monotonic(), 0))
    if timed_out:
        code = TIMED_OUT
    elif child.returncode >= 0:
        code = child.returncode
    else:
        code = 128 - child.returncode
    out, err = excerpts.values()
    return Captured(code, timed_out, out.text, err.text, out.omitted + err.omitted)


def end(child: subprocess.Popen[bytes]) -> None:
    """Ask the child's whole process group to end, and kill it `GRACE` seconds later.

    Returns when the child is gone.
    """
    signal_group(child.pid, signal.SIGTERM)
    # a stopped process would never see the request
    signal_group(child.pid, signal.SIGCONT)
    with suppress(subprocess.TimeoutExpired):
        # the caller waits for it, too
        child.wait(GRACE)
    # its children may have outlived it; the number stays theirs as long as one of them lives
    signal_group(child.pid, signal.SIGKILL)
    child.wait()


def signal_group(group: int, number: int) -> None:
    """Send a signal to a process group, which may be gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
