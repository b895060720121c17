"""Programs that we start, each in a session of its own and within its time; and which scripts this user trusts."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.git.files import append_lines, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

OWN = ("ai-lessons", "lesson", "ai-lessons-mcp")


def own(name: str) -> str:
    """The absolute path of one of our programs, for others to call it by.

    It lies beside the one that runs now, or beside our interpreter. Links are kept: an upgrade leaves the link of pipx,
    uv or a package manager, and may take away what it leads to. Raises NotFound: neither has it.
    """
    called = sys.argv[0] if os.path.basename(sys.argv[0]) in OWN else sys.executable
    folders = [os.path.dirname(os.path.abspath(called)), os.path.dirname(sys.executable)]
    path = shutil.which(name, path=os.pathsep.join(folders))
    if path is None:
        raise NotFound("program", name, hint="install the package: pipx install ai-lessons")
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

    `terminal`: it stays in our session and may ask the user; called with its standard error, from another thread.
    Raises subprocess.TimeoutExpired: it did not end in time and was killed with its children. OSError: no start.
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
            # also where the program itself has ended: as long as one of its children lives, the number stays theirs
            if terminal:
                process.terminate()  # git ends its own children when it is asked to
            else:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def _listen(pipe: IO[bytes], *receivers: Callable[[bytes], object]) -> threading.Thread:
    """Give each piece of the output to the receivers, in another thread, which closes the pipe at its end."""

    def listen() -> None:
        with pipe:
            while piece := os.read(pipe.fileno(), _CHUNK):
                for receive in receivers:
                    receive(piece)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    return thread


def leave_running(argv: Sequence[str], *, env: Mapping[str, str] | None, cwd: Path, stdin: bytes = b"") -> None:
    """Start a program without output that goes on after us; `stdin` is all its input. Raises OSError."""
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, start_new_session=True
    )
    if process.stdin:
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(stdin)
    threading.Thread(target=process.wait, daemon=True).start()  # or it stays as a zombie until we end


KEPT = 20_000  # Bytes kept of each stream: the first half and the last half of them
LINGER = 0.5  # Seconds to go on reading after the end, because something left behind may hold the output
_LOOK = 0.05
_CHUNK = 65_536
TIMED_OUT = 124  # Exit code of a script that was stopped because its time was over, as timeout(1) has it
GRACE = 3.0  # Seconds between the request to end and the kill


def start(
    argv: Sequence[str], *, cwd: Path | None, env: Mapping[str, str] | None, own_group: bool = True, **streams: int
) -> subprocess.Popen[bytes]:
    """Start a command, in a process group of its own or ours. Raises NotFound (folder, program), StorageFailed."""
    if cwd is not None and not cwd.is_dir():
        raise NotFound("folder", str(cwd))
    try:
        return subprocess.Popen(argv, cwd=cwd, env=env, process_group=0 if own_group else None, **streams)  # type: ignore[call-overload,no-any-return]  # streams
    except FileNotFoundError as error:
        raise NotFound("program", argv[0]) from error
    except OSError as error:
        raise StorageFailed(f"{argv[0]} could not be started: {error.strerror}") from error


class Captured(NamedTuple):
    """How a command ended, and the beginning and end of what it printed; `omitted` counts the bytes left out."""

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
        between = f"\n… {self.omitted} bytes left out …\n".encode() if self.omitted else b""
        return (bytes(self._head) + between + bytes(self._tail)).decode("utf-8", "replace")


def run_captured(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
    env: Mapping[str, str] | None = None,
    interrupted: Callable[[], None] = lambda: None,
) -> Captured:
    """Exit code (128 + n for signal n) and output of a command without input. Raises NotFound, StorageFailed."""
    pipe = subprocess.PIPE
    child = start(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    began, timed_out = time.monotonic(), False
    excerpts = {stream: _Excerpt(KEPT) for stream in (child.stdout, child.stderr) if stream}
    readers = [_listen(stream, excerpt.add) for stream, excerpt in excerpts.items()]
    child.stdout = child.stderr = None  # their readers close them
    with ExitStack() as unwanted:
        unwanted.callback(end, child)
        while child.poll() is None and not timed_out:
            interrupted()
            with suppress(subprocess.TimeoutExpired):
                child.wait(_LOOK)
            timed_out = timeout is not None and time.monotonic() - began > timeout and child.poll() is None
        if not timed_out:
            unwanted.pop_all()
    ended = time.monotonic()
    for reader in readers:  # what it left behind may hold the output for longer
        reader.join(max(ended + LINGER - time.monotonic(), 0))
    code = TIMED_OUT if timed_out else child.returncode if child.returncode >= 0 else 128 - child.returncode
    out, err = excerpts.values()
    return Captured(code, timed_out, out.text, err.text, out.omitted + err.omitted)


def end(child: subprocess.Popen[bytes]) -> None:
    """Ask the child's whole process group to end, and kill it `GRACE` seconds later. Returns when the child is gone."""
    signal_group(child.pid, signal.SIGTERM)
    signal_group(child.pid, signal.SIGCONT)  # a stopped process would never see the request
    with suppress(subprocess.TimeoutExpired):
        child.wait(GRACE)
    # its children may have outlived it; the number stays theirs as long as one of them lives
    signal_group(child.pid, signal.SIGKILL)
    child.wait()


def signal_group(group: int, number: int) -> None:
    """Send a signal to a process group, which may be gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


CODE = frozenset((".py", ".js", ".cjs", ".mjs", ".json", ".pl", ".pm", ".rb", ".sh", ".bash", ".zsh"))
_LOADS = re.compile(r"^.*\b(?:import|from|use|do|require|require_relative|load|source)\b.*$", re.MULTILINE)
_OF_A_FOLDER = frozenset(("__init__.py", "index.js", "package.json"))
HERE = re.compile(
    r"(?<![\w./])\.(?:/|[\"'\s]|$)|-I\s*\.|\*\.\w|\s-[cm]\s|\"\"|''|\b(?:getcwd|cwd|PWD|pwd)\b", re.MULTILINE
)  # How a script names its working folder


def fingerprint(data: bytes, interpreter: str = "") -> str:
    """The mark of a script: the hash of its bytes, and the interpreter that its side file names."""
    return f"{sha256(data).hexdigest()} {interpreter}".rstrip()


class Trust:
    """A list of marks in a folder that no pull writes to. Safe with several processes: a line is added by one write."""

    def __init__(self, state_dir: Path, kind: str = "script") -> None:
        """Each `kind` of marks has a list of its own."""
        self._kind, self._file = kind, state_dir / f"trusted-{kind}s.jsonl"

    def add(self, path: str, data: bytes, interpreter: str = "") -> None:
        """Trust one text; see `add_all`."""
        self.add_all([(path, fingerprint(data, interpreter))])

    def add_all(self, scripts: Iterable[tuple[str, str]]) -> None:
        """Trust texts from now on: (path for people, mark) each. Raises StorageFailed: no place for it."""
        trusted = self.marks()
        new = {mark: path for path, mark in scripts if mark not in trusted}
        if not new:
            return
        lines = "".join(json.dumps({self._kind: mark, "path": path}) + "\n" for mark, path in new.items())
        with translated(str(self._file), writing=True):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            append_lines(self._file, lines.encode(), private=True)

    def knows(self, data: bytes, interpreter: str = "") -> bool:
        """True if exactly this text is trusted. Raises StorageFailed: the list cannot be read."""
        return fingerprint(data, interpreter) in self.marks()

    def marks(self) -> frozenset[str]:
        """All marks in the list. Raises StorageFailed: the list exists and cannot be read."""
        with translated(str(self._file)):
            text = self._file.read_text(errors="replace") if self._file.exists() else ""
        marks = set()
        for line in text.split("\n"):
            with suppress(ValueError, KeyError, TypeError):  # a damaged line trusts nothing
                marks.add(json.loads(line)[self._kind])
        return frozenset(mark for mark in marks if isinstance(mark, str))


def neighbours(
    script: Path, text: str, read: Callable[[Path], bytes], *, whole: bool = False, in_place: bool = False
) -> dict[str, bytes]:
    """Files below a script's folder that its text names, and those that these name; by path."""
    contents: dict[str, bytes] = {}
    while True:
        words = frozenset(re.findall(r"[\w-]+", " ".join(_LOADS.findall(text)))) - sys.stdlib_module_names
        words |= sys.stdlib_module_names if in_place else frozenset()
        new = [
            name
            for name in _below(script.parent, None if whole else text)
            if name not in contents
            and name != script.name
            and ((whole and not name.endswith(".md")) or _is_named(Path(name), text, words))
        ]
        if not new:
            return contents
        contents |= {name: read(script.parent / name) for name in new}
        text = "\n".join([text, *(contents[name].decode("utf-8", "replace") for name in new)])


def _is_named(path: Path, text: str, words: frozenset[str]) -> bool:
    if (path.name in _OF_A_FOLDER and len(path.parts) > 1) or (path.suffix in CODE and path.stem in words):
        return True
    before = r"(?<![\w.-])" if "." in path.name else "/"  # a name such as `test` is also a word of many languages
    return re.search(rf"{before}{re.escape(path.name)}(?![\w-])", text) is not None


def _below(folder: Path, text: str | None) -> Iterator[str]:
    """Files and links in folders that the text names; in all folders where it is None."""
    for place, folders, names in os.walk(folder):
        names += [name for name in folders if Path(place, name).is_symlink()]
        folders[:] = [name for name in folders if name != ".git" and (text is None or name in text)]
        yield from (Path(place, name).relative_to(folder).as_posix() for name in sorted(names))
