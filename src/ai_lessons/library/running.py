"""Running a script: which file, whether it is trusted, how it is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import EXIT_INTERRUPTED, NotFound, Refused, UsageError
from ai_lessons.knowledge.entries import Kind
from ai_lessons.learning.events import SCRIPT_FAILED, SCRIPT_OK, Event
from ai_lessons.repository import outside
from ai_lessons.repository.running import captured, scripts
from ai_lessons.repository.running.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ai_lessons.knowledge.entries import Entry, Light
    from ai_lessons.library.parts import Parts


class Ran(NamedTuple):
    """A script that was run without a terminal: its exit code, and what it printed, long output without its middle.

    `omitted` counts the bytes that are left out.
    """

    entry: Light
    code: int
    timed_out: bool
    stdout: str
    stderr: str
    omitted: int


def run_script(parts: Parts, light: Light, args: Sequence[str], *, cwd: Path | None, timeout: float | None) -> int:
    """See `Recall.run`."""
    code = scripts.run(_allowed(parts, light, args), cwd=cwd or parts.options.cwd, timeout=timeout)
    _note(parts, light, code)
    return code


def run_captured(
    parts: Parts,
    light: Light,
    args: Sequence[str],
    *,
    cwd: Path | None,
    timeout: float | None,
    interrupted: Callable[[], None],
) -> Ran:
    """See `Recall.run_captured`."""
    argv = _allowed(parts, light, args)
    done = captured.run(argv, cwd=cwd or parts.options.cwd, timeout=timeout, interrupted=interrupted)
    _note(parts, light, done.code)
    return Ran(light, done.code, done.timed_out, done.stdout, done.stderr, done.stdout_omitted + done.stderr_omitted)


def _note(parts: Parts, light: Light, code: int) -> None:
    """Write down how the run ended; one that somebody broke off says nothing about the script."""
    if code != EXIT_INTERRUPTED:
        parts.usages.record_if_possible([Event("", "", SCRIPT_FAILED if code else SCRIPT_OK, light.id)])


def _allowed(parts: Parts, light: Light, args: Sequence[str]) -> list[str]:
    """The argument vector that runs the script, once it may run on this machine.

    Raises:
        Refused: it may not. UsageError: not a script.
    """
    if light.kind is not Kind.SCRIPT:
        raise UsageError(f"{light.handle} is a {light.kind}: only scripts can be run")
    entry, _ = parts.load(light.id)
    file, data = _content(parts, entry)
    by = interpreter_of(entry)
    known = Trust(parts.options.state_dir)
    if not known.knows(data, by):
        ask = parts.options.ask_trust
        if ask is None or not ask(str(file), data.decode("utf-8", "replace")):
            named = light.path if parts.store.exists(light.path) else file
            raise Refused(
                f"{named} has never been run on this machine with this content",
                hint=f"read it (`ai-lessons recall show {light.handle}`), "
                f"then allow it: ai-lessons admin trust-script {light.handle}",
            )
        known.add(entry.path, data, by)
    return scripts.command(file, args, interpreter=by)


def interpreter_of(entry: Entry) -> str:
    """The interpreter that the side file names: it decides what runs as much as the code does. Empty if none."""
    return str(entry.fields.get("interpreter") or "")


def trust(parts: Parts, light: Light) -> str:
    """Remember the script's content as allowed; the path of its file."""
    entry, _ = parts.load(light.id)
    file, data = _content(parts, entry)
    Trust(parts.options.state_dir).add(entry.path, data, interpreter_of(entry))
    return str(file)


def _content(parts: Parts, entry: Entry) -> tuple[Path, bytes]:
    """Where the runnable file is, and its bytes.

    Raises:
        NotFound: it is gone.
    """
    if parts.store.exists(entry.path):
        return parts.store.root / entry.path, parts.store.read(entry.path)
    where = entry.fields.get("path")
    if not where:
        raise NotFound("script file", entry.path)
    file = outside.expanded(str(where))
    return file, outside.read(file)[0]
