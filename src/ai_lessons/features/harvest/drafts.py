"""Drafts of lessons from what happened in sessions. Pure.

Takes commands and statements that were read; `memory` reads them, `jobs` stores what is kept.
`draft_texts` has the text that a person edits. Begin with `drafts`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.harvest import effects, patterns, statements
from ai_lessons.features.harvest.counts import LEAST_SESSIONS, CallCounts
from ai_lessons.features.harvest.effects import Effect
from ai_lessons.features.harvest.statements import Quote, Statement
from ai_lessons.model import expression
from ai_lessons.model.entries import GLOBAL_PROJECT
from ai_lessons.model.plain import count
from ai_lessons.model.simple_commands import base_name
from ai_lessons.model.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ai_lessons.features.harvest.calls import Happened
    from ai_lessons.features.harvest.patterns import CommandPattern

PATTERN, FAILURE, STATED = "pattern", "failure", "stated"
# Files of a draft that were edited after its failure, the most frequent first
MOST_EDITED = 2
# Reviews in which a short remark was made before it is taken for more than that
AGAIN_AND_AGAIN = 3
# Quotes of reviewers that a draft keeps, the newest: a sentence may stand in hundreds of reviews
MOST_OF_REVIEWS = 10
# Characters of a title
TITLE_LENGTH = 100
_NUMBERED = expression(r"\([^()]*[#!]\d+\)\s*\Z")
# what a shell says of a program that is not installed: a fact of the machine
_MISSING = expression(r"(?i)(?:command )?not found\b|is not recognized as")


class DraftEvidence(NamedTuple):
    """A place in a transcript: `place` is file:line."""

    host: str
    session: str
    place: str
    date: str


class HarvestedLesson(NamedTuple):
    """A draft of a lesson, what it rests on, and where that was seen, newest first.

    `sort`: pattern (a command that fails more often than not), failure, or stated: then `quotes`
    has what a person said, and the writer says the rest. `do` is empty where only a person can say
    what helps; `done` has what was run after it and worked, also what may destroy; `edited` the
    files that were edited then, time and again. `warned`, `helped` and `told` say what the draft
    would have changed in the sessions after those that it could be learned from: failures that it
    would have been told before and at, and how often it would have been told. `wall`: nobody got
    past it. `sure`: a person is shown it; an agent judges the others.
    """

    id: str
    sort: str
    project: str
    title: str
    when: str
    do: str
    because: str
    content: str
    applies_to: tuple[str, ...]
    seen: CallCounts
    done: tuple[str, ...]
    evidence: tuple[DraftEvidence, ...]
    warned: int = 0
    helped: int = 0
    told: int = 0
    edited: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    wall: bool = False
    sure: bool = False

    @property
    def sessions(self) -> int:
        """In how many sessions it was seen."""
        return self.seen.sessions

    @property
    def where_said(self) -> str:
        """In how many sessions, or reviews, it was said."""
        of_review = any(quote.link for quote in self.quotes)
        return count(self.sessions, "review" if of_review else "session")

    @property
    def effect(self) -> Effect:
        """What it would have changed."""
        return Effect(warned=self.warned, helped=self.helped, told=self.told)

    @property
    def output_lines(self) -> list[str]:
        """The lines of its text that are no fence and no command."""
        lines: list[str] = []
        for line in self.content.splitlines():
            if line and line[0] not in "~$":
                lines.append(line)
        return lines


def drafts(
    happened: Iterable[Happened],
    stated: Iterable[Statement],
    is_stored: Callable[[HarvestedLesson], bool],
) -> list[HarvestedLesson]:
    """One for each pattern that is not stored.

    Those first that would have changed most, then by sessions and age. Of failures those few of a
    project that were met in most sessions.
    """
    calls = sorted(happened, key=lambda call: call.at)
    made = list(_of_patterns(calls, is_stored))
    for draft in _of_statements(stated):
        if not is_stored(draft):
            made.append(draft)
    made.sort(key=lambda draft: draft.evidence[0].date, reverse=True)
    made.sort(key=_importance)
    return list(_with_few_failures(made))


def _importance(draft: HarvestedLesson) -> tuple[int, bool, bool, int]:
    """A key that sorts drafts, the most important first."""
    changed = draft.warned + draft.helped
    return -changed, draft.sort == FAILURE, not draft.sure, -draft.sessions


def _with_few_failures(ordered: Iterable[HarvestedLesson]) -> Iterator[HarvestedLesson]:
    """Of the failures of each project only the first."""
    counts = Counter[str]()
    for draft in ordered:
        if draft.sort == FAILURE:
            counts[draft.project] += 1
            # Failures of a project that are drafted
            if counts[draft.project] > 5:
                continue
        yield draft


# --- what failed ---


def _of_patterns(
    calls: Sequence[Happened], is_stored: Callable[[HarvestedLesson], bool]
) -> Iterator[HarvestedLesson]:
    """One draft for each pattern of calls, which are in order of time."""
    by_program: dict[str, list[Happened]] = defaultdict(list)
    for call in calls:
        by_program[base_name(call.words[0])].append(call)
    for pattern in patterns.learn(calls):
        draft = _of_pattern(pattern)
        if is_stored(draft):
            continue
        if patterns.is_wall(pattern, calls):
            since = pattern.examples[-1].at[:10]
            because = f"{draft.because} since {since}, and nobody got past it"
            draft = draft._replace(because=because, wall=True)
        of_its_programs: list[Happened] = []
        for program in {form.words[0] for form in pattern.forms}:
            of_its_programs += by_program[program]
        change = effects.of_pattern(pattern, of_its_programs)
        yield draft._replace(
            sure=bool(draft.do) or draft.wall,
            warned=change.warned,
            helped=change.helped,
            told=change.told,
        )


def _of_pattern(pattern: CommandPattern) -> HarvestedLesson:
    text = patterns.texts(pattern)
    form = pattern.forms[0]
    content = ""
    for line in pattern.messages:
        content += f"~~~\n$ {form}\n{line}\n~~~\n\n"
    if pattern.before:
        sort = PATTERN
    else:
        sort = FAILURE
    return HarvestedLesson(
        id=_id_of_pattern(pattern),
        sort=sort,
        project=_project_of(pattern),
        title=one_line(text.title, TITLE_LENGTH),
        when=text.when,
        do=text.do,
        because=text.because,
        content=content.removesuffix("\n"),
        applies_to=(),
        seen=pattern.seen,
        done=pattern.done,
        evidence=_evidence(pattern.examples),
        edited=_edited_again(pattern.examples),
    )


def _id_of_pattern(pattern: CommandPattern) -> str:
    """The same for the same failure of the same command in another harvest."""
    form = pattern.forms[0]
    names = [str(form), form.inside]
    if not pattern.before:
        names += pattern.messages[:1]
    return _id("\n".join(names))


def _project_of(pattern: CommandPattern) -> str:
    """Where a pattern holds: in its project, or everywhere on this machine."""
    projects = {call.project for call in pattern.examples}
    if len(projects) > 1 or any(_MISSING.search(line) for line in pattern.messages):
        return GLOBAL_PROJECT
    return projects.pop()


def _edited_again(examples: Iterable[Happened]) -> tuple[str, ...]:
    """The files that were edited after failures in several sessions."""
    sessions: dict[str, set[str]] = defaultdict(set)
    for call in examples:
        for file in call.edits:
            sessions[file].add(call.session)
    times = Counter({file: len(names) for file, names in sessions.items()})
    again = []
    for file, number in times.most_common(MOST_EDITED):
        if number >= LEAST_SESSIONS:
            again.append(file)
    return tuple(again)


def _id(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _evidence(examples: Iterable[Happened] | Iterable[Statement]) -> tuple[DraftEvidence, ...]:
    places: dict[DraftEvidence, None] = {}
    for example in examples:
        place = DraftEvidence(example.host, example.session, example.place, example.at[:10])
        places[place] = None
    return tuple(places)


# --- what was said ---


def of_reviews(
    stated: Iterable[Statement], is_stored: Callable[[HarvestedLesson], bool]
) -> list[HarvestedLesson]:
    """One for each thing that reviewers said and that is not stored, what most of them say first.

    What is said in so few words that it may be about one change has to be said again and again.
    """
    made = []
    for group in statements.grouped(stated):
        draft = _of_group(group)
        if not any(row.holds for row in group) and draft.sessions < AGAIN_AND_AGAIN:
            continue
        quotes = []
        for quote, row in zip(draft.quotes[:MOST_OF_REVIEWS], group, strict=False):
            quotes.append(quote._replace(link=row.place))
        # a subject that ends with the number of a request is how a forge says that it was merged
        title = draft.title
        while numbered := _NUMBERED.search(title):
            title = title[: numbered.start()].rstrip()
        draft = draft._replace(
            title=title or draft.title,
            because=f"said in {count(draft.sessions, 'review')}",
            quotes=tuple(quotes),
            sure=draft.sessions > 1,
        )
        if not is_stored(draft):
            made.append(draft)
    made.sort(key=_importance)
    return made


def _of_statements(stated: Iterable[Statement]) -> Iterator[HarvestedLesson]:
    """One draft for each thing that was said, with all its quotes, the newest first."""
    for group in statements.grouped(stated):
        yield _of_group(group)._replace(sure=statements.is_sure(group))


def _of_group(group: Sequence[Statement]) -> HarvestedLesson:
    """What was said several times, or once."""
    first = group[-1]
    sessions = len({row.session for row in group})
    quotes = []
    files = Counter[str]()
    for row in group:
        quotes.append(Quote(row.session, row.at, row.text, row.pasted, row.before, row.files))
        files.update(row.files)
    return HarvestedLesson(
        id=_id(first.text),
        sort=STATED,
        project=first.project,
        title=one_line(first.text, TITLE_LENGTH),
        when="",
        do="",
        because=f"said in {count(sessions, 'session')}",
        content="",
        applies_to=(),
        seen=CallCounts(sessions=sessions),
        done=(),
        evidence=_evidence(group),
        edited=tuple(file for file, _ in files.most_common(MOST_EDITED)),
        quotes=tuple(quotes),
    )
