"""Runs a script with the caller's terminal, and ends all of it when its time is over.

Decides how to start a file (its shebang, its suffix, a named interpreter), nothing else: whether it may run at all
is for `trust` and the caller to say. Does not capture output.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, Refused, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import FrameType

TIMED_OUT = 124
"""Exit code of a script that was stopped because its time was over, as timeout(1) has it."""

GRACE = 3.0
"""Seconds between the request to end and the kill."""

_BY_SUFFIX = {
    ".sh": "sh",
    ".bash": "bash",
    ".zsh": "zsh",
    ".py": "python3",
    ".rb": "ruby",
    ".pl": "perl",
    ".js": "node",
}
_SHEBANG_BYTES = 256
_POLL = 0.02
_STDIN, _STDOUT = 0, 1
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def command(file: Path, arguments: Sequence[str] = (), *, interpreter: str = "") -> list[str]:
    """The argument vector that runs `file`: by `interpreter`, else its shebang, else its suffix, else by itself.

    A shebang is followed even where the file is not executable, as after a checkout on a system without that bit.

    Raises:
        NotFound: no such file, or its interpreter is not installed. Refused: nothing says how to run it.
    """
    if not file.is_file():
        raise NotFound("script", str(file))
    by = interpreter.split() or shebang(_first_line(file)) or _BY_SUFFIX.get(file.suffix.lower(), "").split()
    if by:
        _demand_interpreter(by, file)
    elif not os.access(file, os.X_OK):
        raise Refused(
            f"nothing says how to run {file}",
            hint="give it a shebang line, or name an `interpreter` in the Markdown file beside it",
        )
    return [*by, str(file), *arguments]


def shebang(line: bytes) -> list[str]:
    """The interpreter of a `#!` line and its one argument, unsplit as the kernel passes it; empty for other lines."""
    if not line.startswith(b"#!"):
        return []
    return [os.fsdecode(word) for word in line[2:].strip().split(None, 1)]


def _first_line(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(_SHEBANG_BYTES).split(b"\n", 1)[0]
    except OSError as error:
        raise StorageFailed(f"{file} cannot be read: {error.strerror}") from error


def _demand_interpreter(by: Sequence[str], file: Path) -> None:
    words = " ".join(by).split()
    if os.path.basename(words[0]) == "env":
        program = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "env")
    else:
        program = words[0]
    if shutil.which(program) is None:
        raise NotFound(
            "interpreter", program, hint=f"{file.name} needs it: install {program}, or change its first line"
        )


def run(argv: Sequence[str], *, cwd: Path | None = None, timeout: float | None = None) -> int:
    """Run a command in a process group of its own and wait for it; its exit code, 128 + n where signal n ended it.

    Standard input, output and error are the caller's. On a terminal the command is in the foreground: Ctrl-C and
    Ctrl-Z go to it. Signals that reach us instead are passed on. After `timeout` seconds the whole group is asked to
    end, killed `GRACE` seconds later, and 124 is returned. Waits for the command itself, not for what it left behind.

    Raises:
        NotFound: no such folder or program. StorageFailed: the system could not start it.
    """
    if cwd is not None and not cwd.is_dir():
        raise NotFound("folder", str(cwd))
    with _forwarding() as forward_to:
        try:
            child = subprocess.Popen(argv, cwd=cwd, process_group=0)
        except FileNotFoundError as error:
            raise NotFound("program", argv[0]) from error
        except OSError as error:
            raise StorageFailed(f"{argv[0]} could not be started: {error.strerror}") from error
        forward_to(child.pid)
        deadline = None if timeout is None else time.monotonic() + timeout
        with _foreground(child.pid) as give:
            return _wait(child, deadline, give)


def _wait(child: subprocess.Popen[bytes], deadline: float | None, give: Callable[[int], None] | None) -> int:
    """Wait for the child, through stops where it has our terminal (`give`); at the deadline end its group."""
    options = os.WUNTRACED if give else 0
    while True:
        try:
            status = _wait_once(child.pid, options, deadline)
        except TimeoutError:
            end(child)
            return TIMED_OUT
        if give and os.WIFSTOPPED(status):
            _stop_too(child.pid, give)
            continue
        child.returncode = os.waitstatus_to_exitcode(status)  # reaped here, so Popen must not wait again
        return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _wait_once(pid: int, options: int, deadline: float | None) -> int:
    if deadline is None:
        return os.waitpid(pid, options)[1]
    while True:
        done, status = os.waitpid(pid, options | os.WNOHANG)
        if done:
            return status
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        time.sleep(min(_POLL, left))


def _stop_too(pid: int, give: Callable[[int], None]) -> None:
    """Ctrl-Z stopped the command: give the terminal back to the shell, and go on with it when we are continued."""
    give(os.getpgrp())
    os.kill(os.getpid(), signal.SIGSTOP)
    give(pid)
    _signal(pid, signal.SIGCONT)


def end(child: subprocess.Popen[bytes]) -> None:
    """Ask the child's whole process group to end, and kill it `GRACE` seconds later. Returns when the child is gone."""
    _signal(child.pid, signal.SIGTERM)
    _signal(child.pid, signal.SIGCONT)  # a stopped process would never see the request
    with suppress(subprocess.TimeoutExpired):
        child.wait(GRACE)
    # its children may have outlived it; the number stays theirs as long as one of them lives
    _signal(child.pid, signal.SIGKILL)
    child.wait()


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


@contextmanager
def _foreground(group: int) -> Iterator[Callable[[int], None] | None]:
    """Give our terminal to the group and take it back in the end; yields the giving, or None without a terminal.

    Only where both ends are the terminal: in `… | less` the pager needs it, and would be stopped.
    """
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
    _signal(group, signal.SIGCONT)  # it may have tried to read before the terminal was its own
    try:
        yield give
    finally:
        give(ours)


@contextmanager
def _forwarding() -> Iterator[Callable[[int], None]]:
    """Pass signals that are sent to us on to a group; yields the naming of that group.

    Those that come before it has a name wait for it, and are ours after all where it never gets one. Only the main
    thread can do this; in others signals are left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda _group: None
        return
    groups: list[int] = []
    waiting: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if groups:
            _signal(groups[0], number)
        else:
            waiting.append(number)

    def forward_to(group: int) -> None:
        groups.append(group)
        while waiting:
            _signal(group, waiting.pop(0))

    before = {number: signal.signal(number, pass_on) for number in _FORWARDED}
    try:
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for early in waiting:
            signal.raise_signal(early)
