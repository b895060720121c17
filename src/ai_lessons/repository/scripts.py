"""Runs a script with the caller's terminal and ends its process group in time. Does not decide whether it may run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, Refused
from ai_lessons.repository import programs
from ai_lessons.repository.files import translated
from ai_lessons.repository.trust import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

_BY_SUFFIX = {
    ".sh": "sh", ".bash": "bash", ".zsh": "zsh", ".py": "python3", ".rb": "ruby", ".pl": "perl", ".js": "node",
}  # fmt: skip
_SEARCHED = (
    "PATH", "PYTHONPATH", "PERL5LIB", "PERLLIB", "RUBYLIB", "NODE_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "BASH_ENV", "ENV", "ZDOTDIR", "PYTHONHOME", "PYTHONUSERBASE",
)  # fmt: skip
"""Variables with paths, separated by `:`, from which programs load code."""

_SWITCHES = ("PERL5OPT", "RUBYOPT", "NODE_OPTIONS")
_SHEBANG_BYTES = 256
_KEYS = (signal.SIGINT, signal.SIGQUIT)  # Signals that the terminal sends to a whole process group


def environment(root: Path) -> dict[str, str]:
    """The caller's environment without search paths in `root` or relative to the working folder."""
    env = dict(os.environ)
    for name in env.keys() & set(_SEARCHED):
        paths = (path for path in env[name].split(":") if os.path.isabs(path) and not _inside(path, root))
        env[name] = ":".join(paths)
    for name in env.keys() & set(_SWITCHES):
        if HERE.search(env[name]) or str(root) in env[name]:
            env[name] = ""
    return {name: value for name, value in env.items() if value or name not in {*_SEARCHED, *_SWITCHES}}


def _inside(path: str, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


@contextmanager
def copied(script: Path, files: Mapping[str, bytes], place: Path) -> Iterator[Path]:
    """A script's folder with `files` alone (by path in it), below `place`, for the block. Raises StorageFailed."""
    with translated(str(place), writing=True):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = tempfile.TemporaryDirectory(prefix="run-", dir=place, ignore_cleanup_errors=True)
    with made as folder:
        for name, data in files.items():
            file = Path(folder, name)
            with translated(str(file), writing=True):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
                file.chmod(0o700 if os.access(script.parent / name, os.X_OK) else 0o600)
        yield Path(folder, script.name)


def command(
    file: Path,
    arguments: Sequence[str] = (),
    *,
    interpreter: str = "",
    copy: Path | None = None,
    root: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> list[str]:
    """The argument vector that runs `file`: by `interpreter`, else its shebang, else its suffix, else by itself.

    A shebang counts even if the file is not executable. Raises NotFound: no such file or interpreter. Refused: nothing
    says how to run it, or the interpreter is a file of the repository or of the working folder.
    """
    if not file.is_file():
        raise NotFound("script", str(file))
    with translated(str(file)), file.open("rb") as opened:
        line = opened.read(_SHEBANG_BYTES).split(b"\n", 1)[0]
    by = interpreter.split() or shebang(line) or _BY_SUFFIX.get(file.suffix.lower(), "").split()
    if by:
        _demand_interpreter(by, file, root, env)
    elif not os.access(file, os.X_OK):
        raise Refused(
            f"nothing says how to run {file}",
            hint="give it a shebang line, or name an `interpreter` in the Markdown file beside it",
        )
    return [*by, str(copy or file), *arguments]


def shebang(line: bytes) -> list[str]:
    """The interpreter of a `#!` line and its one argument, unsplit as the kernel passes it; empty for other lines."""
    return [os.fsdecode(word) for word in line[2:].strip().split(None, 1)] if line.startswith(b"#!") else []


def _demand_interpreter(by: Sequence[str], file: Path, root: Path | None, env: Mapping[str, str] | None) -> None:
    words = " ".join(by).split()
    if os.path.basename(words[0]) == "env":
        program = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "env")
    else:
        program = words[0]
    paths = [word for word in words if "/" in word and not word.startswith("-")]
    if any(not os.path.isabs(word) or (root and _inside(word, root)) for word in paths):
        raise Refused(
            f"{file.name} names an interpreter that a pull can bring: {' '.join(words)}",
            hint="name a program by its name alone, or by its full path outside the repository",
        )
    if shutil.which(program, path=(env or os.environ).get("PATH")) is None:
        raise NotFound(
            "interpreter", program, hint=f"{file.name} needs it: install {program}, or change its first line"
        )


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
    env: Mapping[str, str] | None = None,
) -> int:
    """Run a command with our streams; its exit code, 128 + n for signal n. Raises as `programs.start`.

    At a terminal it is in our process group, so that Ctrl-C and Ctrl-Z reach both. Elsewhere, and with a `timeout` (in
    seconds), it has a group of its own, which gets the signals that are sent to us and is ended in time.
    """
    own_group = timeout is not None or not os.isatty(0)
    with _forwarding(own_group=own_group) as forward_to:
        child = programs.start(argv, cwd=cwd, env=env, own_group=own_group)
        forward_to(child)
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            programs.end(child)
            return programs.TIMED_OUT
    return code if code >= 0 else 128 - code


@contextmanager
def _forwarding(*, own_group: bool) -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Forward signals to a child; yields the function that takes the child."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda _child: None
        return
    children: list[subprocess.Popen[bytes]] = []
    waiting: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if not children:
            waiting.append(number)
        elif own_group:
            programs.signal_group(children[0].pid, number)
        elif number not in _KEYS:
            children[0].send_signal(number)

    def forward_to(child: subprocess.Popen[bytes]) -> None:
        children.append(child)
        while waiting:
            child.send_signal(waiting.pop(0))

    before = {number: signal.signal(number, pass_on) for number in (*_KEYS, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for early in waiting:
            signal.raise_signal(early)
