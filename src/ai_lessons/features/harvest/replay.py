"""What stored entries would have changed in past sessions: they are played again, and nothing is written."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import telling
from ai_lessons.app import secrets
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.harvest.hooks import FOLDER
from ai_lessons.features.harvest.memory import Memory
from ai_lessons.features.harvest.sessions import sessions, transcripts, unread_notes
from ai_lessons.learning.selection import carried_out
from ai_lessons.model import command_forms, expression, simple_commands
from ai_lessons.model import command_patterns as commands
from ai_lessons.model import failures as model_failures
from ai_lessons.model.command_forms import named_commands
from ai_lessons.model.entries import EntrySummary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from ai_lessons.app.answers import Context
    from ai_lessons.app.workspace import Library
    from ai_lessons.model import Where
    from ai_lessons.model.transcripts import Transcript

# As `draft` writes it
_QUOTED_SESSION = expression(r"\bsession ([\w.:@/+-]+)\)")


def _attempt(command: str) -> str:
    """What a command line tries, in short: its first attempt, else its program."""
    return next(iter(simple_commands.attempts(command)), "") or " ".join(
        simple_commands.programs(command)[:1]
    )


# Failures that nothing helps with that are named
NAMED = 20


class Unhelped(NamedTuple):
    """A failure at which nothing would have been told, and how often it happened."""

    failure: str
    times: int


class Replay(NamedTuple):
    """What would have been told in `sessions` with so many `calls` and `failures`.

    `before`: tellings before a command, `before_right` of them before one that failed; `warned`:
    failures of a command of which that session had been told before. `at_failures`: failures at
    which something would have been told, `at_failures_right` of them rightly. `helped`: failures
    that were warned of or helped at. `characters` of all that would have been told; `unhelped`: the
    commonest failures at and before which nothing would have been told. Sessions from which an
    entry came that they would be told count in the three figures before it, and in nothing else.
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
    sessions_apart: int
    failures_apart: int
    helped_apart: int
    unhelped: tuple[Unhelped, ...]
    notes: tuple[str, ...] = ()


def replay(
    opened: Library, where: Where, folder: str = "", *, since: datetime | None = None
) -> Replay:
    """Play what is stored now against the transcripts of all hosts, or those in `folder`.

    Raises NotFound: no such folder.
    """
    options = opened.reading.options
    counts, unhelped, unread_files = (
        Counter[str](),
        dict[str, list[_Failure]](),
        dict[str, list[Path]](),
    )
    files = transcripts(where, options.cwd, folder, since)
    sources = cache(partial(_sources, opened, Memory(options.state_dir / FOLDER).taught))
    for file, _ in options.each("replaying transcripts", files):
        try:
            played = list(sessions(file))
        except AiLessonsError as error:
            # the others can be read
            unread_files.setdefault(error.message, []).append(file)
            continue
        for transcript in played:
            figures, missing, shown = _play(opened, transcript)
            if any(transcript.session in sources(entry_id) for entry_id in shown):
                counts.update({f"{name}_apart": number for name, number in figures.items()})
                continue
            counts += figures
            for text, failure in missing:
                unhelped.setdefault(text, []).append(failure)
    numbers = (counts[name] for name in Replay._fields[: Replay._fields.index("unhelped")])
    notes = (*unread_notes(unread_files), *opened.reading.notes())
    return Replay._make([*numbers, tuple(_commonest(opened, unhelped)), notes])


def _commonest(opened: Library, unhelped: Mapping[str, Sequence[_Failure]]) -> Iterator[Unhelped]:
    """The commonest failures that nothing helps with, by their text."""
    # live, a helper compares them by meaning, too: of the many that are played only those are that
    # would be named
    likely = sorted(unhelped.items(), key=lambda row: -len(row[1]))[: 2 * NAMED]
    named = [
        row
        for row in likely
        if not telling.offers.at_a_failure(opened, row[1][0][0], (), row[1][0][1]).entries
    ]
    for text, times in named[:NAMED]:
        yield Unhelped(secrets.masked(text), len(times))


def _sources(opened: Library, taught: Mapping[str, Sequence[str]], entry_id: str) -> frozenset[str]:
    """The sessions that an entry came from: its draft's, those it quotes, those that wrote it.

    An entry that is told to the session that taught it would prove nothing.
    """
    repo = opened.reading.of(entry_id)
    entry, _ = repo.load(entry_id)
    written = (revision.trailers.get("Session", "") for revision in repo.history.log(entry.path))
    return frozenset((*taught.get(entry_id, ()), *_QUOTED_SESSION.findall(entry.body), *written))


_Failure = tuple[str, tuple[str, str]]
"""A command with its output, and the folders that it was called in and that the session began in."""


def _play(
    opened: Library, transcript: Transcript
) -> tuple[Counter[str], list[tuple[str, _Failure]], set[str]]:
    """Go through the commands of one session as hooks would have.

    Returns the figures, the failures without help, and the ids of what is told.
    """
    counts, unhelped = Counter(sessions=1), list[tuple[str, _Failure]]()
    steps = [
        step for step in transcript.steps if step.sort == "command" and step.failed is not None
    ]
    warnings, helped = dict[str, EntrySummary](), set[str]()
    for at, step in enumerate(steps):
        folders = step.cwd, transcript.first_cwd
        result = telling.offers.before_a_tool(opened, (), step.text, folders, {*helped, *warnings})
        warnings |= {summary.id: summary for summary in result.entries}
        before = bool(result.entries)
        counts.update(
            calls=1,
            before=before,
            before_right=before and bool(step.failed),
            characters=_length(result),
        )
        if not step.failed:
            continue
        error = f"$ {step.text}\n{step.output}"
        call = commands.blamed_call(error, step.cwd)
        warned = any(
            command_forms.fits(named_commands(summary), call) for summary in warnings.values()
        )
        result = telling.offers.at_a_failure(opened, error, helped, folders, words=True)
        helped |= {summary.id for summary in result.entries}
        does = []
        for summary in result.entries:
            does.append(summary.pattern or result.texts.get(summary.id, ""))
        # the way out is looked for among the next five commands that worked: later ones do
        # something else
        worked = [later.text for later in steps[at + 1 :] if later.failed is False][:5]
        right = any(carried_out(what, line, step.text) for what in does for line in worked)
        counts.update(
            failures=1, at_failures=bool(does), at_failures_right=right, warned=warned, helped=warned or right,
            characters=_length(result),
        )  # fmt: skip
        if not (warned or does or result.ran_next):
            text = f"{_attempt(step.text)}: {model_failures.headline(step.output)}"[:200]
            unhelped.append((text, (error, folders)))
    return counts, unhelped, {*helped, *warnings}


def _length(result: Context) -> int:
    """Characters of the entries that are told."""
    return sum(len(f"{x.title} {x.pattern or result.texts.get(x.id, '')}") for x in result.entries)
