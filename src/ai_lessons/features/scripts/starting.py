"""Starts the file of a script: by which program, with which environment, within its time.

What a pull can bring decides nothing here: neither an interpreter nor a search path of the
environment may lead into the repository or the working folder.
"""

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
from ai_lessons.features.scripts.beside import HERE
from ai_lessons.git import external_files, processes
from ai_lessons.git.files import translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

_BY_SUFFIX = {
    ".sh": "sh",
    ".bash": "bash",
    ".zsh": "zsh",
    ".py": "python3",
    ".rb": "ruby",
    ".pl": "perl",
    ".js": "node",
}
# Variables with paths, separated by `:`, from which programs load code
_SEARCHED = (
    *("PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE"),
    *("PERL5LIB", "PERLLIB", "RUBYLIB", "NODE_PATH"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "ZDOTDIR"),
)
# Variables with options, which may load code, too
_SWITCHES = ("PERL5OPT", "RUBYOPT", "NODE_OPTIONS")
# Signals that the terminal sends to a whole process group
_KEYS = (signal.SIGINT, signal.SIGQUIT)

# --- the environment ---


def environment(root: Path) -> dict[str, str]:
    """The caller's environment without search paths in `root` or relative to the working folder."""
    env = dict(os.environ)
    for name in env.keys() & set(_SEARCHED):
        env[name] = _without_pulled_paths(env[name], root)
        if not env[name]:
            del env[name]
    for name in env.keys() & set(_SWITCHES):
        names_a_pulled_file = HERE.search(env[name]) or str(root) in env[name]
        if names_a_pulled_file or not env[name]:
            del env[name]
    return env


def _without_pulled_paths(value: str, root: Path) -> str:
    kept = []
    for path in value.split(":"):
        if os.path.isabs(path) and not external_files.leads_into(path, root):
            kept.append(path)
    return ":".join(kept)


@contextmanager
def copied(script: Path, files: Mapping[str, bytes], place: Path) -> Iterator[Path]:
    """A script's folder with `files` alone (by path in it), below `place`, for the block.

    Raises StorageFailed.
    """
    with translated(str(place), writing=True):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = tempfile.TemporaryDirectory(prefix="run-", dir=place, ignore_cleanup_errors=True)
    with made as folder:
        for name, data in files.items():
            file = Path(folder, name)
            mode = 0o600
            if os.access(script.parent / name, os.X_OK):
                mode = 0o700
            with translated(str(file), writing=True):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
                file.chmod(mode)
        yield Path(folder, script.name)


# --- the program ---


def command(
    file: Path,
    arguments: Sequence[str] = (),
    *,
    interpreter: str = "",
    copy: Path | None = None,
    root: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> list[str]:
    """The argument vector that runs `file`.

    By `interpreter`, else its shebang, else its suffix, else by itself. A shebang counts even if
    the file is not executable. Raises NotFound: no such file or interpreter. Refused: nothing says
    how to run it, or the interpreter is a file of the repository or of the working folder.
    """
    if not file.is_file():
        raise NotFound("script", str(file))
    with translated(str(file)), file.open("rb") as opened:
        # the kernel reads no more of a shebang (BINPRM_BUF_SIZE of Linux)
        first_line = opened.read(256).split(b"\n", 1)[0]
    by = interpreter.split() or shebang(first_line)
    if not by:
        by = _BY_SUFFIX.get(file.suffix.lower(), "").split()
    if by:
        _refuse_pulled_interpreter(by, file, root)
        _demand_interpreter(by, file, env)
    elif not os.access(file, os.X_OK):
        hint = "give it a shebang line, or name an `interpreter` in the Markdown file beside it"
        raise Refused(f"nothing says how to run {file}", hint=hint)
    return [*by, str(copy or file), *arguments]


def shebang(line: bytes) -> list[str]:
    """The interpreter of a `#!` line and its one argument, unsplit as the kernel passes it.

    Empty for other lines.
    """
    if not line.startswith(b"#!"):
        return []
    words = line[2:].strip().split(None, 1)
    return [os.fsdecode(word) for word in words]


def _refuse_pulled_interpreter(by: Sequence[str], file: Path, root: Path | None) -> None:
    """Raises Refused: a path in it is relative, or leads into the repository."""
    words = " ".join(by).split()
    for word in words:
        if "/" not in word or word.startswith("-"):
            continue
        is_pulled = root is not None and external_files.leads_into(word, root)
        if not os.path.isabs(word) or is_pulled:
            raise Refused(
                f"{file.name} names an interpreter that a pull can bring: {' '.join(words)}",
                hint="name a program by its name alone, or by its full path outside the repository",
            )


def _demand_interpreter(by: Sequence[str], file: Path, env: Mapping[str, str] | None) -> None:
    """Raises NotFound: the program is not on this machine."""
    program = _program_of(" ".join(by).split())
    path = (env or os.environ).get("PATH")
    if shutil.which(program, path=path) is None:
        hint = f"{file.name} needs it: install {program}, or change its first line"
        raise NotFound("interpreter", program, hint=hint)


def _program_of(words: Sequence[str]) -> str:
    """The program that runs, which may stand behind `env` with its options and variables."""
    if os.path.basename(words[0]) != "env":
        return words[0]
    for word in words[1:]:
        if not word.startswith("-") and "=" not in word:
            return word
    return "env"


# --- the process ---


def run_script_file(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
    env: Mapping[str, str] | None = None,
) -> int:
    """Run a command with our streams; its exit code, 128 + n for signal n.

    It is ended after `timeout` seconds. Raises as `processes.start`.
    """
    # At a terminal it is in our process group, so that Ctrl-C and Ctrl-Z reach both. Elsewhere it
    # has a group of its own, to which our signals are sent on, and which can be ended with all that
    # it started.
    own_group = timeout is not None or not os.isatty(0)
    with _forwarding(own_group=own_group) as forward_to:
        child = processes.start(argv, cwd=cwd, env=env, own_group=own_group)
        forward_to(child)
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            processes.end(child)
            return processes.TIMED_OUT
    if code >= 0:
        return code
    return 128 - code


@contextmanager
def _forwarding(*, own_group: bool) -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Forward signals to a child; yields the function that takes the child."""
    if threading.current_thread() is not threading.main_thread():
        # only the main thread may set what a signal does
        yield lambda _child: None
        return
    children: list[subprocess.Popen[bytes]] = []
    waiting: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if not children:
            waiting.append(number)
        elif own_group:
            processes.signal_group(children[0].pid, number)
        elif number not in _KEYS:
            children[0].send_signal(number)

    def forward_to(child: subprocess.Popen[bytes]) -> None:
        children.append(child)
        while waiting:
            child.send_signal(waiting.pop(0))

    before = {}
    for number in (*_KEYS, signal.SIGTERM, signal.SIGHUP):
        before[number] = signal.signal(number, pass_on)
    try:
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        # those that came before there was a child are ours
        for early in waiting:
            signal.raise_signal(early)
