"""Runs a script that may run on this machine, and lets a person trust one."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.trust import (
    Trust,
    file_of_script,
    fingerprint,
    interpreter_of,
    remember_sources,
)
from ai_lessons.errors import EXIT_INTERRUPTED, Refused, UsageError
from ai_lessons.features.scripts import starting
from ai_lessons.features.scripts.beside import files_beside
from ai_lessons.git import processes
from ai_lessons.model.entries import Entry, EntrySummary, Kind, json_fields
from ai_lessons.model.events import SCRIPT_FAILED, SCRIPT_OK, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ai_lessons.app.workspace import Library, RepositorySession

# --- what is there of a script ---


class ScriptFiles(NamedTuple):
    """What runs of a script: its `file`, the program that its description names, and texts by their path.

    `texts` has the file itself, by its name, and what is beside it.
    """

    file: Path
    interpreter: str
    texts: Mapping[str, bytes]

    @property
    def beside(self) -> list[str]:
        """What it may use beside it, by path in its folder."""
        return sorted(self.texts.keys() - {self.file.name})

    def mark(self, name: str) -> str:
        """The mark of one of the texts; what runs the script counts for itself alone."""
        by = ""
        if name == self.file.name:
            by = self.interpreter
        return fingerprint(self.texts[name], by)

    def new(self, trusted: frozenset[str]) -> list[str]:
        """The texts that are not trusted yet, the script first."""
        names = [self.file.name, *self.beside]
        return [name for name in names if self.mark(name) not in trusted]

    def question(self, new: Sequence[str]) -> tuple[str, str]:
        """What is asked about, and all the text that is new."""
        beside = [name for name in new if name != self.file.name]
        texts = {}
        for name in new:
            texts[name] = self.texts[name].decode("utf-8", "replace")
        if not beside:
            return str(self.file), texts[self.file.name]
        blocks = [f"--- {name}\n{text}" for name, text in texts.items()]
        return f"{self.file}, with {', '.join(beside)} beside it,", "\n".join(blocks)


def _files_of(
    repo: RepositorySession, summary: EntrySummary, where: Path | None
) -> tuple[Entry, ScriptFiles]:
    """A script, and what runs of it in the folder `where` (None: its own)."""
    entry, _ = repo.load(summary.id)
    file, data = file_of_script(repo.store, entry)
    texts = files_beside(repo, entry, file, data, where or file.parent)
    return entry, ScriptFiles(file, interpreter_of(entry), texts | {file.name: data})


# --- it is run ---


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
    """Run a script with the caller's terminal and return its exit code.

    That is 124 where it took longer than `timeout` seconds. Raises Refused: its content was never
    added or run on this machine and no person could be asked. NotFound: not a script, or its file
    or interpreter is gone.
    """
    repo, summary = library.holding(ref)
    with _allowed(repo, summary, args, cwd) as (argv, where, env):
        code = starting.run_script_file(argv, cwd=where, env=env, timeout=timeout)
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
    if code == EXIT_INTERRUPTED:
        return
    outcome = SCRIPT_OK
    if code:
        outcome = SCRIPT_FAILED
    repo.events.record_if_possible([Event("", "", outcome, summary.id)])


@contextmanager
def _allowed(
    repo: RepositorySession, summary: EntrySummary, args: Sequence[str], cwd: Path | None
) -> Iterator[tuple[list[str], Path, dict[str, str]]]:
    """What runs the script, once it may run on this machine.

    Raises Refused: it may not. UsageError: not a script.
    """
    if summary.kind is not Kind.SCRIPT:
        raise UsageError(
            f"{summary.handle} is a {summary.kind}: only scripts can be run",
            hint="ai-lessons list --type script",
        )
    where, root = cwd or repo.options.cwd, repo.store.root
    _, script = _files_of(repo, summary, where)
    _demand_trust(repo, summary, script)
    env = starting.environment(root)
    place: AbstractContextManager[Path | None] = nullcontext()
    if script.file.is_relative_to(root):
        # what a pull brings while it runs is not what was trusted
        running = repo.options.state_dir / "running"
        place = starting.copied(script.file, script.texts, running)
    with place as copy:
        argv = starting.command(
            script.file, args, interpreter=script.interpreter, copy=copy, root=root, env=env
        )
        yield argv, where, env


def _demand_trust(repo: RepositorySession, summary: EntrySummary, script: ScriptFiles) -> None:
    """Ask, where a person can be asked, whether all these texts may run.

    Raises Refused: one of them may not.
    """
    new = script.new(Trust(repo.options.state_dir).marks())
    if not new:
        return
    ask = repo.options.ask_trust
    if ask is not None and ask(*script.question(new)):
        _trust(repo, summary, [(name, script.mark(name)) for name in new])
        return
    named = str(script.file)
    if repo.store.exists(summary.path):
        named = summary.path
    what = f"may use {', '.join(new)} beside it, which was never allowed"
    if script.file.name in new:
        what = "has never been run"
    raise Refused(
        f"{named} {what} on this machine with this content",
        hint=f"this shows the text, and allows it: ai-lessons admin trust-script {summary.handle}",
    )


# --- it is trusted ---


def _trust(
    repo: RepositorySession, summary: EntrySummary, marks: Sequence[tuple[str, str]]
) -> None:
    """Trust these texts of a script; one that is kept where it is may be read there from now on."""
    Trust(repo.options.state_dir).add_all(marks)
    if summary.elsewhere and not repo.store.exists(summary.path):
        remember_sources(repo.store.state_dir, [(summary.id, summary.elsewhere)])


def trust_script(
    library: Library, ref: str, agreed: Callable[[str, str], bool] = lambda _path, _text: True
) -> tuple[str, ...]:
    """Allow this machine to run the script and what it names beside it, as they are now.

    Their paths, its first. `agreed` is asked with the paths and the text of what was not trusted
    yet: what it is shown is what is trusted. Raises UsageError: not a script. Refused: an agent is
    calling, or `agreed` says no.
    """
    repo = library.primary
    repo.options.refuse_agents("trust a script", f"ai-lessons admin trust-script {ref}")
    repo.current()
    summary = repo.resolve(ref)
    if summary.kind is not Kind.SCRIPT:
        raise UsageError(f"{summary.handle} is a {summary.kind}, not a script")
    entry, script = _files_of(repo, summary, None)
    new = script.new(Trust(repo.options.state_dir).marks())
    if new and not agreed(*script.question(new)):
        raise Refused(f"{script.file} is not trusted")
    marks = [(entry.path, script.mark(script.file.name))]
    paths = [str(script.file)]
    for name in script.beside:
        marks.append((name, script.mark(name)))
        paths.append(str(script.file.parent / name))
    _trust(repo, summary, marks)
    return tuple(paths)
