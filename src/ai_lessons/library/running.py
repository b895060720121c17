"""Running a script: which file, whether it is trusted, how it is started."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import EXIT_INTERRUPTED, NotFound, Refused, UsageError
from ai_lessons.knowledge.entries import Entry, Kind, Light
from ai_lessons.knowledge.json_fields import json_fields
from ai_lessons.learning.events import SCRIPT_FAILED, SCRIPT_OK, Event
from ai_lessons.repository import outside, programs, scripts
from ai_lessons.repository.trust import CODE, HERE, Trust, fingerprint, neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession


@json_fields("handle", "exit_code", "timed_out", "stdout", "stderr", "omitted_bytes")
class Ran(NamedTuple):
    """A script that was run without a terminal, how it ended and what it printed, without `omitted_bytes` of it."""

    entry: Light
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
    library: Library, ref: str, args: Sequence[str], *, cwd: Path | None = None, timeout: float | None = None
) -> int:
    """Run a script with the caller's terminal and return its exit code (124: timed out after `timeout` seconds).

    Raises Refused: its content was never added or run on this machine and no person could be asked. NotFound: not a
    script, or its file or interpreter is gone.
    """
    repo, light = library.holding(ref)
    with _allowed(repo, light, args, cwd) as (argv, where, env):
        code = scripts.run(argv, cwd=where, env=env, timeout=timeout)
    _note(repo, light, code)
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

    `interrupted` is called again and again while it runs; what it raises ends the script and goes on.
    Raises as `run` does.
    """
    repo, light = library.holding(ref)
    with _allowed(repo, light, args, cwd) as (argv, where, env):
        done = programs.run_captured(argv, cwd=where, env=env, timeout=timeout, interrupted=interrupted)
    _note(repo, light, done.code)
    return Ran(light, *done)


def _note(repo: RepositorySession, light: Light, code: int) -> None:
    """Write down how the run ended; one that was broken off says nothing about the script."""
    if code != EXIT_INTERRUPTED:
        repo.usages.record_if_possible([Event("", "", SCRIPT_FAILED if code else SCRIPT_OK, light.id)])


@contextmanager
def _allowed(
    repo: RepositorySession, light: Light, args: Sequence[str], cwd: Path | None
) -> Iterator[tuple[list[str], Path, dict[str, str]]]:
    """What runs the script, once it may run on this machine. Raises Refused: it may not. UsageError: not a script."""
    if light.kind is not Kind.SCRIPT:
        raise UsageError(
            f"{light.handle} is a {light.kind}: only scripts can be run", hint="ai-lessons list --type script"
        )
    entry, _ = repo.load(light.id)
    by, where, root = interpreter_of(entry), cwd or repo.options.cwd, repo.store.root
    file, data = content(repo, entry)
    beside = _beside(repo, entry, file, data, where)
    _demand_trust(repo, light, file, beside | {file.name: data}, by)
    env, running = scripts.environment(root), repo.options.state_dir / "running"
    inside = file.is_relative_to(root)
    with scripts.copied(file, beside | {file.name: data}, running) if inside else nullcontext() as copy:
        yield scripts.command(file, args, interpreter=by, copy=copy, root=root, env=env), where, env


def _demand_trust(repo: RepositorySession, light: Light, file: Path, files: Mapping[str, bytes], by: str) -> None:
    """Ask, where a person can be asked, whether all these texts may run. Raises Refused: one of them may not."""
    trust = Trust(repo.options.state_dir)
    new = [name for name, data in files.items() if not trust.knows(data, by if name == file.name else "")]
    if not new:
        return
    ask = repo.options.ask_trust
    beside = [name for name in sorted(new) if name != file.name]
    if ask is not None and ask(*_question(file, files, beside, changed=file.name in new)):
        trust.add_all((name, fingerprint(files[name], by if name == file.name else "")) for name in new)
        return
    named = light.path if repo.store.exists(light.path) else str(file)
    if file.name in new:
        raise Refused(
            f"{named} has never been run on this machine with this content",
            hint=f"read it (`ai-lessons recall show {light.handle}`), "
            f"then allow it: ai-lessons admin trust-script {light.handle}",
        )
    raise Refused(
        f"{named} may use files beside it that were not allowed on this machine with this content: {', '.join(new)}",
        hint=f"read them, then allow them and the script: ai-lessons admin trust-script {light.handle}",
    )


def _question(file: Path, files: Mapping[str, bytes], beside: Sequence[str], *, changed: bool) -> tuple[str, str]:
    """What is asked about, and all the text that is new."""
    shown = [file.name, *beside] if changed else beside
    texts = {name: files[name].decode("utf-8", "replace") for name in shown}
    if not beside:
        return str(file), texts[file.name]
    return f"{file}, with {', '.join(beside)} beside it,", "\n".join(f"--- {name}\n{texts[name]}" for name in shown)


def _beside(repo: RepositorySession, entry: Entry, file: Path, data: bytes, where: Path) -> dict[str, bytes]:
    """What the script may load or read of its folder: what its text names, and all of it where it is run there."""
    text = f"{data.decode('utf-8', 'replace')}\n{interpreter_of(entry)}"
    root = repo.store.root
    if file.is_relative_to(root):
        runs_there = Path(os.path.realpath(where)).is_relative_to(os.path.realpath(file.parent))
        whole = runs_there and HERE.search(text) is not None
        return neighbours(file, text, lambda path: repo.store.read(path.relative_to(root).as_posix()), whole=whole)

    def code(path: Path) -> bytes:
        return outside.read(path)[0] if path.suffix in CODE and path.is_file() else b""

    files = neighbours(file, text, code, in_place=True)
    return {name: data for name, data in files.items() if data}


def interpreter_of(entry: Entry) -> str:
    """The interpreter that the side file names: it decides what runs as much as the code does. Empty if none."""
    return str(entry.fields.get("interpreter") or "")


def trust_script(library: Library, ref: str) -> tuple[str, ...]:
    """Allow this machine to run the script and what it names beside it, as they are now; their paths, its first.

    Raises UsageError: not a script. Refused: an agent is calling.
    """
    repo = library.primary
    repo.options.refuse_agents("trust a script", f"ai-lessons admin trust-script {ref}")
    repo.current()
    light = repo.resolve(ref)
    if light.kind is not Kind.SCRIPT:
        raise UsageError(f"{light.handle} is a {light.kind}, not a script")
    entry, _ = repo.load(light.id)
    file, data = content(repo, entry)
    beside = _beside(repo, entry, file, data, file.parent)
    marks = [(entry.path, fingerprint(data, interpreter_of(entry)))]
    Trust(repo.options.state_dir).add_all([*marks, *((name, fingerprint(beside[name])) for name in beside)])
    return (str(file), *(str(file.parent / name) for name in sorted(beside)))


def content(repo: RepositorySession, entry: Entry) -> tuple[Path, bytes]:
    """Where the runnable file is, and its bytes. Raises NotFound: it is gone."""
    if repo.store.exists(entry.path):
        return repo.store.root / entry.path, repo.store.read(entry.path)
    where = entry.fields.get("path")
    if not where:
        back = "bring it back with git, or delete what is left: ai-lessons contribute delete ID"
        raise NotFound("script file", entry.path, hint=back)
    file = outside.expanded(str(where))
    return file, outside.read(file)[0]
