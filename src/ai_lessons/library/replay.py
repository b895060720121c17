"""What the stored entries change in sessions that were: what hooks would have told in them, and how often rightly.

Each session is gone through in its order with the questions that the hooks ask, from words alone. Nothing is written
down. Of a telling before a command it is right that the command then failed; of one at a failure, that one of the next
commands that worked is what the entry says to do.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import library
from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge import failures
from ai_lessons.knowledge.command_patterns import blamed_call, fits
from ai_lessons.learning.outcomes import carried_out
from ai_lessons.library import secret_scan
from ai_lessons.library.contexts import named_commands

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.transcripts import Step, Transcript
    from ai_lessons.library.answers import Context
    from ai_lessons.library.opened import Library
    from ai_lessons.repository.agent_hosts import Where

NEXT = 5  # Commands that worked after a failure, among which the way out is looked for
NAMED = 20  # Failures that nothing helps with that are named


COUNTED = (
    "sessions", "calls", "failures", "before", "before_right", "warned", "at_failures", "at_failures_right", "helped",
    "characters",
)  # fmt: skip


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
            sessions = list(library.harvest.sessions(file))
        except AiLessonsError as error:  # the others can be read
            notes.append(f"{file}: {error.message}")
            continue
        for transcript in sessions:
            _Session(opened, transcript, counts, unhelped).play()
    most = tuple(Unhelped(secret_scan.masked(text), times) for text, times in unhelped.most_common(NAMED))
    return Replay._make([*(counts[name] for name in COUNTED), most, (*notes, *opened.reading.notes())])


class _Session:
    """One session while it is played; what happens is counted in `counts` and `unhelped`."""

    def __init__(self, opened: Library, of: Transcript, counts: Counter[str], unhelped: Counter[str]) -> None:
        self._opened, self._first, self._counts, self._unhelped = opened, of.first_cwd, counts, unhelped
        self._steps = [step for step in of.steps if step.sort == "command" and step.failed is not None]
        self._before: dict[str, Light] = {}
        self._told: set[str] = set()

    def play(self) -> None:
        """Go through all commands."""
        self._counts["sessions"] += 1
        for at, step in enumerate(self._steps):
            self._call(step)
            if step.failed:
                self._failure(step, [later.text for later in self._steps[at + 1 :] if later.failed is False][:NEXT])

    def _call(self, step: Step) -> None:
        self._counts["calls"] += 1
        shown_ids = {*self._told, *self._before}
        result = library.telling.before_a_tool(self._opened, (), (), step.text, (step.cwd, self._first), shown_ids)
        self._before |= {light.id: light for light in result.entries}
        self._counts["before"] += bool(result.entries)
        self._counts["before_right"] += bool(result.entries and step.failed)
        self._counts["characters"] += _length(result)

    def _failure(self, step: Step, worked: Sequence[str]) -> None:
        error, folders = f"$ {step.text}\n{step.output}", (step.cwd, self._first)
        call = blamed_call(error, step.cwd)
        warned = any(fits(named_commands(light), call) for light in self._before.values())
        result = library.telling.at_a_failure(self._opened, error, self._told, folders, words=True)
        self._told |= {light.id for light in result.entries}
        does = [str(light.details.get("pattern") or result.texts.get(light.id, "")) for light in result.entries]
        does += [result.ran_next] if result.ran_next else []
        right = any(carried_out(what, line, step.text) for what in does for line in worked)
        self._counts.update(
            failures=1, at_failures=bool(does), at_failures_right=right, warned=warned, helped=warned or right,
            characters=_length(result),
        )  # fmt: skip
        if not (warned or right):
            attempt = next(iter(failures.attempts(step.text)), "") or " ".join(failures.programs(step.text)[:1])
            self._unhelped[f"{attempt}: {failures.headline(step.output)}"[:200]] += 1


def _length(result: Context) -> int:
    """Characters of the entries that are told."""
    texts = (
        f"{light.title} {light.details.get('pattern') or result.texts.get(light.id, '')}" for light in result.entries
    )
    return sum(map(len, texts)) + len(result.ran_next)
