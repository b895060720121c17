"""Runs a script with the caller's terminal, and ends all of it in time; whether it may run, `trust` and callers say."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, Refused
from ai_lessons.repository import programs
from ai_lessons.repository.files import translated
from ai_lessons.repository.trust import HERE

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

_BY_SUFFIX = {
    ".sh": "sh", ".bash": "bash", ".zsh": "zsh", ".py": "python3", ".rb": "ruby", ".pl": "perl", ".js": "node",
}  # fmt: skip
_SEARCHED = (
    "PATH", "PYTHONPATH", "PERL5LIB", "PERLLIB", "RUBYLIB", "NODE_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "BASH_ENV", "ENV", "ZDOTDIR", "PYTHONHOME", "PYTHONUSERBASE",
)  # fmt: skip
"""Variables that name folders or files of which programs run something: paths with `:` between them."""

_SWITCHES = ("PERL5OPT", "RUBYOPT", "NODE_OPTIONS")
_SHEBANG_BYTES = 256
_POLL = 0.02
_STDIN, _STDOUT = 0, 1
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def environment(root: Path) -> dict[str, str]:
    """The caller's environment, in which no search path names a folder of `root`, or one relative to where we stand."""
    kept = dict(os.environ)
    for name in kept.keys() & set(_SEARCHED):
        kept[name] = ":".join(one for one in kept[name].split(":") if os.path.isabs(one) and not _inside(one, root))
    for name in kept.keys() & set(_SWITCHES):
        if HERE.search(kept[name]) or str(root) in kept[name]:
            kept[name] = ""
    return {name: value for name, value in kept.items() if value or name not in {*_SEARCHED, *_SWITCHES}}


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
    says how to run it, or the interpreter is a file of the repository or of the folder in which one stands.
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
    """Run a command in a group of its own, our streams its; its exit code, 128 + n for signal n. Raises as `start`."""
    with _forwarding() as forward_to:
        child = programs.start(argv, cwd=cwd, env=env)
        forward_to(child.pid)
        with _foreground(child.pid) as give:
            return _wait(child, timeout, give)


def _wait(child: subprocess.Popen[bytes], timeout: float | None, give: Callable[[int], None] | None) -> int:
    """Wait for the child, through stops where it has our terminal (`give`); after `timeout` seconds end its group."""
    until = time.monotonic() + (timeout or 0)
    options = (os.WUNTRACED if give else 0) | (0 if timeout is None else os.WNOHANG)
    while True:
        done, status = os.waitpid(child.pid, options)
        if not done and time.monotonic() >= until:
            programs.end(child)
            return programs.TIMED_OUT
        if not done:
            time.sleep(_POLL)
        elif give and os.WIFSTOPPED(status):
            # Ctrl-Z: give the terminal back to the shell, and go on with the command when we are continued
            give(os.getpgrp())
            os.kill(os.getpid(), signal.SIGSTOP)
            give(child.pid)
            programs.signal_group(child.pid, signal.SIGCONT)
        else:
            child.returncode = os.waitstatus_to_exitcode(status)  # reaped here, so Popen must not wait again
            return child.returncode if child.returncode >= 0 else 128 - child.returncode


@contextmanager
def _foreground(group: int) -> Iterator[Callable[[int], None] | None]:
    """Give our terminal to the group and take it back in the end; yields the giving; None unless both ends are it."""
    ours = os.getpgrp()
    if not (os.isatty(_STDIN) and os.isatty(_STDOUT) and os.tcgetpgrp(_STDIN) == ours):
        yield None
        return

    def give(to: int) -> None:
        # a process in the background is stopped when it does this, unless it blocks that signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            with suppress(OSError):
                os.tcsetpgrp(_STDIN, to)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    give(group)
    programs.signal_group(group, signal.SIGCONT)  # it may have tried to read before the terminal was its own
    try:
        yield give
    finally:
        give(ours)


@contextmanager
def _forwarding() -> Iterator[Callable[[int], None]]:
    """Pass signals that are sent to us on to a group; yields the naming of that group."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda _group: None
        return
    groups: list[int] = []
    waiting: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if groups:
            programs.signal_group(groups[0], number)
        else:
            waiting.append(number)

    def forward_to(group: int) -> None:
        groups.append(group)
        while waiting:
            programs.signal_group(group, waiting.pop(0))

    before = {number: signal.signal(number, pass_on) for number in _FORWARDED}
    try:
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for early in waiting:
            signal.raise_signal(early)
