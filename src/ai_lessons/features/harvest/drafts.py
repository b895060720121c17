"""Drafts of lessons from what happened in sessions, and the text that a person edits.

Takes commands and statements that were read; `harvest_memory` reads them, `harvest` stores what is
kept. Begin with `drafts`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.answers import LessonDraft
from ai_lessons.app.quoting import HIDDEN
from ai_lessons.errors import UsageError
from ai_lessons.features.harvest import statements
from ai_lessons.features.harvest.statements import Quote, Statement
from ai_lessons.model import command_patterns as commands
from ai_lessons.model import expression, lessons
from ai_lessons.model import failures as model_failures
from ai_lessons.model.command_patterns import LEAST_SESSIONS, CommandPattern, Happened, Seen
from ai_lessons.model.entries import GLOBAL_PROJECT
from ai_lessons.model.simple_commands import base_name
from ai_lessons.model.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ai_lessons.model.failures import Shape

# Files of a draft that were edited after its failure, the most frequent first
MOST_EDITED = 2
# Failures of a project that are drafted
PER_PROJECT = 5
# Characters of a title
TITLE_LENGTH = 100


PATTERN, FAILURE, STATED = "pattern", "failure", "stated"


_MISSING = expression(r"(?i)(?:command )?not found\b|is not recognized as")


class Evidence(NamedTuple):
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
    seen: Seen
    done: tuple[str, ...]
    evidence: tuple[Evidence, ...]
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


class Effect(NamedTuple):
    """What transcripts hold and what lessons change in them.

    `met` of the `failures` are of a kind that an earlier session met; `told` counts tellings.
    """

    sessions: int = 0
    failures: int = 0
    met: int = 0
    warned: int = 0
    helped: int = 0
    told: int = 0


def drafts(
    happened: Sequence[Happened],
    stated: Iterable[Statement],
    is_stored: Callable[[HarvestedLesson], bool],
) -> list[HarvestedLesson]:
    """One for each pattern that is not stored, those first that would have changed most, then by sessions and age.

    Of failures those few of a project that were met in most sessions.
    """
    ordered = sorted(happened, key=lambda call: call.at)
    drafted = [(_of_pattern(pattern), pattern) for pattern in commands.learn(ordered)]
    drafted = [(draft, pattern) for draft, pattern in drafted if not is_stored(draft)]
    by_program: dict[str, list[Happened]] = defaultdict(list)
    for call in ordered if any(pattern.before for _, pattern in drafted) else ():
        by_program[base_name(call.words[0])].append(call)
    made = []
    for draft, pattern in drafted:
        programs = set()
        for form in pattern.forms:
            programs.add(form.words[0])
        if commands.is_wall(pattern, ordered):
            because = (
                f"{draft.because} since {pattern.examples[-1].at[:10]}, and nobody got past it"
            )
            draft = draft._replace(because=because, wall=True)  # noqa: PLW2901
        draft = draft._replace(sure=bool(draft.do) or draft.wall)  # noqa: PLW2901
        made.append(
            _would_change(draft, pattern, [call for name in programs for call in by_program[name]])
        )
    made += [draft for draft in _of_statements(stated) if not is_stored(draft)]
    made.sort(key=lambda draft: draft.evidence[0].date, reverse=True)
    made.sort(
        key=lambda draft: (
            -(draft.warned + draft.helped),
            draft.sort == FAILURE,
            not draft.sure,
            -draft.sessions,
        )
    )
    counts, few = Counter[str](), list[HarvestedLesson]()
    for draft in made:
        counts[draft.project] += draft.sort == FAILURE
        if draft.sort != FAILURE or counts[draft.project] <= PER_PROJECT:
            few += [draft]
    return few


def in_sessions(happened: Iterable[Happened]) -> list[list[Happened]]:
    """The calls by session, in the order of their first ones."""
    sessions: dict[str, list[Happened]] = defaultdict(list)
    for call in happened:
        sessions[call.session].append(call)
    return list(sessions.values())


def _of_pattern(pattern: CommandPattern) -> HarvestedLesson:
    title, when, do, because = commands.texts(pattern)
    projects = set()
    for call in pattern.examples:
        projects.add(call.project)
    machine = len(projects) > 1 or any(_MISSING.search(line) for line in pattern.messages)
    edits = Counter(
        file
        for file, _ in {(file, call.session) for call in pattern.examples for file in call.edits}
    )
    edited = tuple(
        file for file, times in edits.most_common(MOST_EDITED) if times >= LEAST_SESSIONS
    )
    blocks = (f"~~~\n$ {pattern.forms[0]}\n{line}\n~~~\n" for line in pattern.messages)
    first = pattern.forms[0]
    name = "\n".join([str(first), first.inside, *([] if pattern.before else pattern.messages[:1])])
    return HarvestedLesson(
        _id(name),
        PATTERN if pattern.before else FAILURE,
        GLOBAL_PROJECT if machine else next(iter(projects)),
        one_line(title, TITLE_LENGTH), when, do, because, "\n".join(blocks), (), pattern.seen, pattern.done,
        _evidence(pattern.examples), edited=edited,
    )  # fmt: skip


def _id(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _evidence(examples: Iterable[Happened] | Iterable[Statement]) -> tuple[Evidence, ...]:
    return tuple(
        dict.fromkeys(
            Evidence(each.host, each.session, each.place, each.at[:10]) for each in examples
        )
    )


def _of_statements(stated: Iterable[Statement]) -> Iterator[HarvestedLesson]:
    """One draft for each thing that was said, with all its quotes, the newest first."""
    for group in statements.grouped(stated):
        first, sessions = group[-1], len({row.session for row in group})
        quotes = tuple(
            Quote(row.session, row.at, row.text, row.pasted, row.before, row.files) for row in group
        )
        files = Counter(file for row in group for file in row.files)
        yield HarvestedLesson(
            _id(first.text), STATED, first.project, one_line(first.text, TITLE_LENGTH), "", "",
            f"said in {commands.count(sessions, 'session')}", "", (), Seen(sessions=sessions), (), _evidence(group),
            edited=tuple(file for file, _ in files.most_common(MOST_EDITED)), quotes=quotes,
            sure=statements.is_sure(group),
        )  # fmt: skip


# --- what lessons change ---


def _would_change(
    draft: HarvestedLesson, pattern: CommandPattern, calls: Sequence[Happened]
) -> HarvestedLesson:
    """The draft with its effect, if shown once before a command and once at a failure in later sessions."""
    if pattern.does is None:
        return draft
    examples = in_sessions(sorted(pattern.examples, key=lambda call: call.at))
    # those before teach it
    late = []
    for session in examples[LEAST_SESSIONS:]:
        late.append(session[0].session)
    if not pattern.before:
        helped = sum(pattern.does in session[0].ways for session in examples[LEAST_SESSIONS:])
        return draft._replace(helped=helped, told=len(late))
    failed = []
    for session in examples[LEAST_SESSIONS:]:
        failed.append(sum(call.failed for call in session))
    if len(examples) >= LEAST_SESSIONS:
        first = examples[LEAST_SESSIONS - 1][0].at
    else:
        first = ""
    passed = {
        call.session for call in calls if call.at > first and call.fits(pattern.forms)
    }.difference(late)
    return draft._replace(warned=sum(failed), told=2 * len(late) + len(passed))


def measured(
    sessions: Sequence[Sequence[Happened]], candidates: Sequence[HarvestedLesson]
) -> Effect:
    """The figures of transcripts, and the sum of the effects of drafts."""
    shapes: dict[str, list[Shape]] = defaultdict(list)
    failed = met = 0
    for session in sessions:
        calls = []
        for call in session:
            if call.failed:
                calls.append(call)
        new = [
            (call.words[0], model_failures.shape(model_failures.headline(call.output)))
            for call in calls
        ]
        failed += len(new)
        met += sum(
            any(is_same_failure(shape, other) for other in shapes[program])
            for program, shape in new
        )
        for program, shape in new:
            if shape not in shapes[program]:
                shapes[program] = [*shapes[program], shape][-model_failures.COMPARED :]
    warned, helped = (
        sum(draft.warned for draft in candidates),
        sum(draft.helped for draft in candidates),
    )
    return Effect(
        len(sessions), failed, met, warned, helped, sum(draft.told for draft in candidates)
    )


def is_same_failure(shape: Shape, other: Shape) -> bool:
    """Whether two failures are of one kind, as the numbers of their words say."""
    return model_failures.alike(shape, other, {}) >= model_failures.SAME


# Stands in a draft for what only a person can say
UNKNOWN = HIDDEN
_DRAFT = expression(
    r"\A\s*# (?P<title>[^\n]+)\n+(?P<pattern>WHEN .*?(?=\n\n|\Z))?(?P<body>.*)\Z", re.DOTALL
)


def output_lines(candidate: HarvestedLesson) -> list[str]:
    """The lines of a candidate's text that are no fence and no command."""
    lines: list[str] = []
    for line in candidate.content.splitlines():
        if line and line[0] not in "~$":
            lines.append(line)
    return lines


def draft(candidate: HarvestedLesson) -> str:
    """A candidate as the text that a person edits: title, pattern and what happened.

    A statement has its quotes in their place.
    """
    if candidate.quotes:
        rows = (
            f"> {quote.text}\n> ({quote.at[:10]}, session {quote.session})"
            for quote in candidate.quotes
        )
        return f"# {candidate.title}\n\n" + "\n\n".join(rows) + "\n"
    pattern = (
        f"WHEN {candidate.when}\n-> DO {candidate.do or UNKNOWN}\n-> BECAUSE {candidate.because}"
    )
    return f"# {candidate.title}\n\n{pattern}\n\n{candidate.content}"


def drafted(text: str) -> LessonDraft | None:
    """The lesson that an edited draft says; None: it is empty.

    Raises UsageError: a part is missing.
    """
    if not text.strip():
        return None
    match = _DRAFT.match(text)
    if not match:
        raise UsageError("the draft does not begin with its title", hint="first line: # TITLE")
    title, body = match["title"].strip(), match["body"].strip()
    if not match["pattern"]:
        return LessonDraft(title, body)
    pattern = lessons.parse(" ".join(match["pattern"].split()))
    if UNKNOWN in {pattern.when, pattern.action, pattern.because}:
        raise UsageError(
            "the draft does not say yet what to do",
            hint=f"write it in the place of {UNKNOWN} after DO",
        )
    do, dont = (None, pattern.action) if pattern.negative else (pattern.action, None)
    return LessonDraft(title, body, when=pattern.when, do=do, dont=dont, because=pattern.because)
