"""Runs a script: which file, whether it is trusted, within its time, with the caller's terminal."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.open_repository import CODE, HERE, neighbours
from ai_lessons.app.trust import Trust, fingerprint, remember_sources
from ai_lessons.errors import EXIT_INTERRUPTED, NotFound, Refused, UsageError
from ai_lessons.git import external_files, processes
from ai_lessons.git.files import translated
from ai_lessons.learning.statistics import SCRIPT_FAILED, SCRIPT_OK, Event
from ai_lessons.model.entries import Entry, EntrySummary, Kind, json_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from ai_lessons.app.workspace import Library, RepositorySession

_BY_SUFFIX = {
    ".sh": "sh", ".bash": "bash", ".zsh": "zsh", ".py": "python3", ".rb": "ruby", ".pl": "perl", ".js": "node",
}  # fmt: skip
_SEARCHED = (
    "PATH", "PYTHONPATH", "PERL5LIB", "PERLLIB", "RUBYLIB", "NODE_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "BASH_ENV", "ENV", "ZDOTDIR", "PYTHONHOME", "PYTHONUSERBASE",
)  # fmt: skip
"""Variables with paths, separated by `:`, from which programs load code."""

_SWITCHES = ("PERL5OPT", "RUBYOPT", "NODE_OPTIONS")
# Signals that the terminal sends to a whole process group
_KEYS = (signal.SIGINT, signal.SIGQUIT)


def environment(root: Path) -> dict[str, str]:
    """The caller's environment without search paths in `root` or relative to the working folder."""
    env = dict(os.environ)
    for name in env.keys() & set(_SEARCHED):
        paths = (
            path
            for path in env[name].split(":")
            if os.path.isabs(path) and not external_files.leads_into(path, root)
        )
        env[name] = ":".join(paths)
    for name in env.keys() & set(_SWITCHES):
        if HERE.search(env[name]) or str(root) in env[name]:
            env[name] = ""
    return {
        name: value for name, value in env.items() if value or name not in {*_SEARCHED, *_SWITCHES}
    }


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
    """The argument vector that runs `file`.

    By `interpreter`, else its shebang, else its suffix, else by itself.

    A shebang counts even if the file is not executable. Raises NotFound: no such file or
    interpreter. Refused: nothing says how to run it, or the interpreter is a file of the repository
    or of the working folder.
    """
    if not file.is_file():
        raise NotFound("script", str(file))
    with translated(str(file)), file.open("rb") as opened:
        # the kernel reads no more of a shebang (BINPRM_BUF_SIZE of Linux)
        line = opened.read(256).split(b"\n", 1)[0]
    by = interpreter.split() or shebang(line) or _BY_SUFFIX.get(file.suffix.lower(), "").split()
    if by:
        _demand_interpreter(by, file, root, env)
    elif not os.access(file, os.X_OK):
        hint = "give it a shebang line, or name an `interpreter` in the Markdown file beside it"
        raise Refused(f"nothing says how to run {file}", hint=hint)
    return [*by, str(copy or file), *arguments]


def shebang(line: bytes) -> list[str]:
    """The interpreter of a `#!` line and its one argument, unsplit as the kernel passes it.

    Empty for other lines.
    """
    if line.startswith(b"#!"):
        return [os.fsdecode(word) for word in line[2:].strip().split(None, 1)]
    return []


def _demand_interpreter(
    by: Sequence[str], file: Path, root: Path | None, env: Mapping[str, str] | None
) -> None:
    words = " ".join(by).split()
    if os.path.basename(words[0]) == "env":
        program = next(
            (word for word in words[1:] if not word.startswith("-") and "=" not in word), "env"
        )
    else:
        program = words[0]
    paths = []
    for word in words:
        if "/" in word and not word.startswith("-"):
            paths.append(word)
    if any(
        not os.path.isabs(word) or (root and external_files.leads_into(word, root))
        for word in paths
    ):
        hint = "name a program by its name alone, or by its full path outside the repository"
        raise Refused(
            f"{file.name} names an interpreter that a pull can bring: {' '.join(words)}", hint=hint
        )
    if shutil.which(program, path=(env or os.environ).get("PATH")) is None:
        raise NotFound(
            "interpreter",
            program,
            hint=f"{file.name} needs it: install {program}, or change its first line",
        )


def run_script_file(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
    env: Mapping[str, str] | None = None,
) -> int:
    """Run a command with our streams; its exit code, 128 + n for signal n.

    Raises as `processes.start`.

    It is ended after `timeout` seconds.
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

    before = {
        number: signal.signal(number, pass_on) for number in (*_KEYS, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for early in waiting:
            signal.raise_signal(early)


@json_fields("handle", "exit_code", "timed_out", "stdout", "stderr", "omitted_bytes")
class Ran(NamedTuple):
    """A script that was run without a terminal, how it ended and what it printed, without `omitted_bytes` of it."""

    entry: EntrySummary
    exit_code: int
    timed_out: bool
    stdout: str
    stderr: str
    omitted_bytes: int = 0

    @property
    def handle(self) -> str:
        """The handle of the script."""
        return self.entry.handle


def run(
    library: Library,
    ref: str,
    args: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
) -> int:
    """Run a script with the caller's terminal and return its exit code (124.

    Timed out after `timeout` seconds).

    Raises Refused: its content was never added or run on this machine and no person could be asked.
    NotFound: not a script, or its file or interpreter is gone.
    """
    repo, summary = library.holding(ref)
    with _allowed(repo, summary, args, cwd) as (argv, where, env):
        code = run_script_file(argv, cwd=where, env=env, timeout=timeout)
    _note(repo, summary, code)
    return code


def run_captured(
    library: Library,
    ref: str,
    args: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
    interrupted: Callable[[], None] = lambda: None,
) -> Ran:
    """Run a script without a terminal: nothing to read, its output is in the answer.

    `interrupted` is called again and again while it runs; what it raises ends the script and goes
    on. Raises as `run` does.
    """
    repo, summary = library.holding(ref)
    with _allowed(repo, summary, args, cwd) as (argv, where, env):
        done = processes.run_captured(
            argv, cwd=where, env=env, timeout=timeout, interrupted=interrupted
        )
    _note(repo, summary, done.code)
    return Ran(summary, *done)


def _note(repo: RepositorySession, summary: EntrySummary, code: int) -> None:
    """Write down how the run ended; one that was broken off says nothing about the script."""
    if code != EXIT_INTERRUPTED:
        repo.usages.record_if_possible(
            [Event("", "", SCRIPT_FAILED if code else SCRIPT_OK, summary.id)]
        )


@contextmanager
def _allowed(
    repo: RepositorySession, summary: EntrySummary, args: Sequence[str], cwd: Path | None
) -> Iterator[tuple[list[str], Path, dict[str, str]]]:
    """What runs the script, once it may run on this machine. Raises Refused: it may not.

    UsageError: not a script.
    """
    if summary.kind is not Kind.SCRIPT:
        raise UsageError(
            f"{summary.handle} is a {summary.kind}: only scripts can be run",
            hint="ai-lessons list --type script",
        )
    entry, _ = repo.load(summary.id)
    by, where, root = interpreter_of(entry), cwd or repo.options.cwd, repo.store.root
    file, data = content(repo, entry)
    beside = _beside(repo, entry, file, data, where)
    _demand_trust(repo, summary, file, beside | {file.name: data}, by)
    env, running = environment(root), repo.options.state_dir / "running"
    inside = file.is_relative_to(root)
    with copied(file, beside | {file.name: data}, running) if inside else nullcontext() as copy:
        yield command(file, args, interpreter=by, copy=copy, root=root, env=env), where, env


def _demand_trust(
    repo: RepositorySession, summary: EntrySummary, file: Path, files: Mapping[str, bytes], by: str
) -> None:
    """Ask, where a person can be asked, whether all these texts may run.

    Raises Refused: one of them may not.
    """
    trust = Trust(repo.options.state_dir)
    new = []
    for name, data in files.items():
        if not trust.knows(data, by if name == file.name else ""):
            new.append(name)
    if not new:
        return
    ask = repo.options.ask_trust
    beside = [name for name in sorted(new) if name != file.name]
    if ask is not None and ask(*_question(file, files, beside, changed=file.name in new)):
        _trust(
            repo,
            summary,
            [(name, fingerprint(files[name], by if name == file.name else "")) for name in new],
        )
        return
    if repo.store.exists(summary.path):
        named = summary.path
    else:
        named = str(file)
    beside_it = f"may use {', '.join(new)} beside it, which was never allowed"
    if file.name in new:
        what = "has never been run"
    else:
        what = beside_it
    raise Refused(
        f"{named} {what} on this machine with this content",
        hint=f"this shows the text, and allows it: ai-lessons admin trust-script {summary.handle}",
    )


def _trust(
    repo: RepositorySession, summary: EntrySummary, marks: Sequence[tuple[str, str]]
) -> None:
    """Trust these texts of a script; one that is kept where it is may be read there from now on."""
    Trust(repo.options.state_dir).add_all(marks)
    if summary.script_path and not repo.store.exists(summary.path):
        remember_sources(repo.store.state_dir, [(summary.id, summary.script_path)])


def _question(
    file: Path, files: Mapping[str, bytes], beside: Sequence[str], *, changed: bool
) -> tuple[str, str]:
    """What is asked about, and all the text that is new."""
    shown = [file.name, *beside] if changed else beside
    texts = {name: files[name].decode("utf-8", "replace") for name in shown}
    if not beside:
        return str(file), texts[file.name]
    return f"{file}, with {', '.join(beside)} beside it,", "\n".join(
        f"--- {name}\n{texts[name]}" for name in shown
    )


def _beside(
    repo: RepositorySession, entry: Entry, file: Path, data: bytes, where: Path
) -> dict[str, bytes]:
    """What the script may load or read of its folder.

    What its text names, and all of it where it is run there.
    """
    text = f"{data.decode('utf-8', 'replace')}\n{interpreter_of(entry)}"
    root = repo.store.root
    if file.is_relative_to(root):
        runs_there = Path(os.path.realpath(where)).is_relative_to(os.path.realpath(file.parent))
        whole = runs_there and HERE.search(text) is not None
        return neighbours(
            file, text, lambda path: repo.store.read(path.relative_to(root).as_posix()), whole=whole
        )

    def code(path: Path) -> bytes:
        if path.suffix in CODE and path.is_file():
            return external_files.read(path)[0]
        return b""

    files = neighbours(file, text, code, in_place=True)
    return {name: data for name, data in files.items() if data}


def interpreter_of(entry: Entry) -> str:
    """The interpreter that the side file names: it decides what runs as much as the code does.

    Empty if none.
    """
    return str(entry.fields.get("interpreter") or "")


def trust_script(
    library: Library, ref: str, agreed: Callable[[str, str], bool] = lambda _path, _text: True
) -> tuple[str, ...]:
    """Allow this machine to run the script and what it names beside it, as they are now.

    Their paths, its first.

    `agreed` is asked with the paths and the text of what was not trusted yet: what it is shown is
    what is trusted. Raises UsageError: not a script. Refused: an agent is calling, or `agreed` says
    no.
    """
    repo = library.primary
    repo.options.refuse_agents("trust a script", f"ai-lessons admin trust-script {ref}")
    repo.current()
    summary = repo.resolve(ref)
    if summary.kind is not Kind.SCRIPT:
        raise UsageError(f"{summary.handle} is a {summary.kind}, not a script")
    entry, _ = repo.load(summary.id)
    file, data = content(repo, entry)
    beside = _beside(repo, entry, file, data, file.parent)
    trust, by = Trust(repo.options.state_dir), interpreter_of(entry)
    new_beside = []
    for name in sorted(beside):
        if not trust.knows(beside[name]):
            new_beside.append(name)
    changed = not trust.knows(data, by)
    if changed or new_beside:
        question = _question(file, beside | {file.name: data}, new_beside, changed=changed)
        if not agreed(*question):
            raise Refused(f"{file} is not trusted")
    marks = [
        (entry.path, fingerprint(data, by)),
        *((name, fingerprint(beside[name])) for name in beside),
    ]
    _trust(repo, summary, marks)
    return (str(file), *(str(file.parent / name) for name in sorted(beside)))


def content(repo: RepositorySession, entry: Entry) -> tuple[Path, bytes]:
    """Where the runnable file is, and its bytes. Raises NotFound: it is gone."""
    if repo.store.exists(entry.path):
        return repo.store.root / entry.path, repo.store.read(entry.path)
    where = entry.fields.get("path")
    if not where:
        back = "bring it back with git, or delete what is left: ai-lessons contribute delete ID"
        raise NotFound("script file", entry.path, hint=back)
    file = external_files.expanded(str(where))
    return file, external_files.read(file)[0]
