"""Replay of past sessions: what hooks would have told in them, and how often rightly.

Each session gets the questions that the hooks ask, by full text alone; nothing is stored. A hint before a command was
right if the command then failed; a hint at a failure, if one of the next commands that worked does what the entry says.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import library
from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge import failures
from ai_lessons.knowledge.command_patterns import blamed_call, fits
from ai_lessons.knowledge.entries import Light
from ai_lessons.learning.outcomes import carried_out
from ai_lessons.library import secret_scan
from ai_lessons.library.contexts import named_commands

if TYPE_CHECKING:
    from datetime import datetime

    from ai_lessons.knowledge.transcripts import Transcript
    from ai_lessons.library.answers import Context
    from ai_lessons.library.opened import Library
    from ai_lessons.repository.agent_hosts import Where

NEXT = 5  # Commands that worked after a failure, among which the way out is looked for
NAMED = 20  # Failures that nothing helps with that are named


class Unhelped(NamedTuple):
    """A failure that nothing stored helps with, and how often it happened."""

    failure: str
    times: int


class Replay(NamedTuple):
    """What would have been told in `sessions` with so many `calls` and `failures`.

    `before`: tellings before a command, `before_right` of them before one that failed; `warned`: failures of a command
    of which that session had been told before. `at_failures`: failures at which something would have been told,
    `at_failures_right` of them rightly. `helped`: failures that were warned of or helped at. `characters` of all that
    would have been told; `unhelped`: the commonest failures without help.
    """

    sessions: int
    calls: int
    failures: int
    before: int
    before_right: int
    warned: int
    at_failures: int
    at_failures_right: int
    helped: int
    characters: int
    unhelped: tuple[Unhelped, ...]
    notes: tuple[str, ...] = ()


def replay(opened: Library, where: Where, folder: str = "", *, since: datetime | None = None) -> Replay:
    """Play what is stored now against the transcripts of all hosts, or those in `folder`.

    Raises NotFound: no such folder.
    """
    options = opened.reading.options
    counts, unhelped, notes = Counter[str](), Counter[str](), list[str]()
    files = library.harvest.transcripts(where, options.cwd, folder, since)
    for file, _ in options.each("replaying transcripts", files):
        try:
            played = list(library.harvest.sessions(file))
        except AiLessonsError as error:  # the others can be read
            notes.append(f"{file}: {error.message}")
            continue
        for transcript in played:
            _play(opened, transcript, counts, unhelped)
    most = tuple(Unhelped(secret_scan.masked(text), times) for text, times in unhelped.most_common(NAMED))
    numbers = (counts[name] for name in Replay._fields[: Replay._fields.index("unhelped")])
    return Replay._make([*numbers, most, (*notes, *opened.reading.notes())])


def _play(opened: Library, transcript: Transcript, counts: Counter[str], unhelped: Counter[str]) -> None:
    """Go through the commands of one session."""
    counts["sessions"] += 1
    steps = [step for step in transcript.steps if step.sort == "command" and step.failed is not None]
    warnings, helped = dict[str, Light](), set[str]()
    for at, step in enumerate(steps):
        folders = (step.cwd, transcript.first_cwd)
        result = library.telling.before_a_tool(opened, (), (), step.text, folders, {*helped, *warnings})
        warnings |= {light.id: light for light in result.entries}
        before = bool(result.entries)
        counts.update(calls=1, before=before, before_right=before and bool(step.failed), characters=_length(result))
        if not step.failed:
            continue
        error = f"$ {step.text}\n{step.output}"
        call = blamed_call(error, step.cwd)
        warned = any(fits(named_commands(light), call) for light in warnings.values())
        result = library.telling.at_a_failure(opened, error, helped, folders, words=True)
        helped |= {light.id for light in result.entries}
        does = [str(light.details.get("pattern") or result.texts.get(light.id, "")) for light in result.entries]
        does += [result.ran_next] if result.ran_next else []
        worked = [later.text for later in steps[at + 1 :] if later.failed is False][:NEXT]
        right = any(carried_out(what, line, step.text) for what in does for line in worked)
        counts.update(
            failures=1, at_failures=bool(does), at_failures_right=right, warned=warned, helped=warned or right,
            characters=_length(result),
        )  # fmt: skip
        if not (warned or right):
            attempt = next(iter(failures.attempts(step.text)), "") or " ".join(failures.programs(step.text)[:1])
            unhelped[f"{attempt}: {failures.headline(step.output)}"[:200]] += 1


def _length(result: Context) -> int:
    """Characters of the entries that are told."""
    texts = (
        f"{light.title} {light.details.get('pattern') or result.texts.get(light.id, '')}" for light in result.entries
    )
    return sum(map(len, texts)) + len(result.ran_next)
