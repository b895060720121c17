"""Lessons proposed from transcripts of agent hosts, and what stored entries would have changed in those sessions."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import UTC
from functools import cache, partial
from glob import escape
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app, telling
from ai_lessons.app import quotes as app_quotes
from ai_lessons.app import secrets
from ai_lessons.app.answers import LessonDraft, PastSessions, RuleDraft, Suggested, Written
from ai_lessons.app.quotes import HIDDEN, Quote, Statement, cleaned
from ai_lessons.connectors import agent_hosts
from ai_lessons.errors import AiLessonsError, NotFound, StorageFailed, UsageError
from ai_lessons.git import external_files, transcript_files
from ai_lessons.git import files as git_files
from ai_lessons.git.files import translated
from ai_lessons.learning.selection import carried_out
from ai_lessons.learning.statistics import clean_session
from ai_lessons.model import command_forms, expression, lessons, simple_commands
from ai_lessons.model import command_patterns as commands
from ai_lessons.model import failures as model_failures
from ai_lessons.model.anchors import anchors_of, commands_of
from ai_lessons.model.check_forms import checks_of
from ai_lessons.model.command_forms import named_commands
from ai_lessons.model.command_patterns import (
    LEAST_SESSIONS,
    CommandPattern,
    Difference,
    Happened,
    Seen,
)
from ai_lessons.model.entries import GLOBAL_PROJECT, LESSONS, EntrySummary, Filter, Kind
from ai_lessons.model.failures import READER
from ai_lessons.model.layout import any_match, check_path
from ai_lessons.model.rule_checks import InvalidPattern
from ai_lessons.model.simple_commands import base_name
from ai_lessons.model.texts import one_line
from ai_lessons.model.transcripts import Transcript
from ai_lessons.search import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from ai_lessons.app.answers import Context, Pending
    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.model import Where
    from ai_lessons.model.command_checks import CommandCheck
    from ai_lessons.model.done_checks import DoneCheck
    from ai_lessons.model.failures import Shape


# Files of a draft that were edited after its failure, the most frequent first
MOST_EDITED = 2
# Failures of a project that are drafted
PER_PROJECT = 5
# Characters of a title
_TITLE = 100
PATTERN, FAILURE, STATED = "pattern", "failure", "stated"
# As `draft` writes it
_QUOTED_SESSION = expression(r"\bsession ([\w.:@/+-]+)\)")
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
        one_line(title, _TITLE), when, do, because, "\n".join(blocks), (), pattern.seen, pattern.done,
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
    for group in app_quotes.grouped(stated):
        first, sessions = group[-1], len({row.session for row in group})
        quotes = tuple(
            Quote(row.session, row.at, row.text, row.pasted, row.before, row.files) for row in group
        )
        files = Counter(file for row in group for file in row.files)
        yield HarvestedLesson(
            _id(first.text), STATED, first.project, one_line(first.text, _TITLE), "", "",
            f"said in {commands.count(sessions, 'session')}", "", (), Seen(sessions=sessions), (), _evidence(group),
            edited=tuple(file for file, _ in files.most_common(MOST_EDITED)), quotes=quotes,
            sure=app_quotes.is_sure(group),
        )  # fmt: skip


def _attempt(command: str) -> str:
    """What a command line tries, in short: its first attempt, else its program."""
    return next(iter(simple_commands.attempts(command)), "") or " ".join(
        simple_commands.programs(command)[:1]
    )


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
        met += sum(any(_same(shape, other) for other in shapes[program]) for program, shape in new)
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


def _same(shape: Shape, other: Shape) -> bool:
    return model_failures.alike(shape, other, {}) >= model_failures.SAME


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
    sources = cache(partial(_sources, opened, _Memory(options.state_dir / FOLDER).taught))
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
    notes = (*_named(unread_files), *opened.reading.notes())
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
    """The sessions that an entry came from.

    Those of its draft, those that it quotes, those in which it was written.
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
    """Go through the commands of one session.

    The figures, the failures without help, the ids of what is told.
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


FOLDER, FILE, NEXT_STEP = "harvest", "seen.json", "next.json"
# Words of a command that worked, characters of a word and of a line that are kept
_WORDS, _WORD, _LINE = 6, 60, 300
# Stands in a draft for what only a person can say
_UNKNOWN = HIDDEN
_DRAFT = expression(
    r"\A\s*# (?P<title>[^\n]+)\n+(?P<pattern>WHEN .*?(?=\n\n|\Z))?(?P<body>.*)\Z", re.DOTALL
)


class Harvest(NamedTuple):
    """Candidates for lessons, what the transcripts hold and the candidates change, and how much of them was read.

    `unsure` candidates are left to an agent to judge. `known` and `unknown` count records of a form that is known or
    not.
    """

    candidates: tuple[HarvestedLesson, ...]
    unsure: int
    effect: Effect
    transcripts: int
    known: int
    unknown: int
    notes: tuple[str, ...]


def _of_this_machine(
    repo: Reading,
    memory: _Memory,
    files: Sequence[tuple[Path, os.stat_result]],
    unread: dict[str, list[Path]],
) -> list[TranscriptContents]:
    """What transcripts hold; those that cannot be read are noted in `unread` by the reason."""
    contents = []
    try:
        for file, status in repo.options.each("reading transcripts", files):
            try:
                contents.append(memory.seen(file, status))
            except AiLessonsError as error:
                # the others can be read
                unread.setdefault(error.message, []).append(file)
    finally:
        # what was read before Ctrl-C need not be read again
        memory.save()
    return contents


def harvest(
    opened: Library, where: Where, folder: str = "", *, since: datetime | None = None, project: str = "",
    team: str = "", ref: str = "", every: bool = False,
) -> Harvest:  # fmt: skip
    """What happened in the sessions of agents that could become a lesson.

    Of all hosts, in `folder`, or of a `team`.

    A team keeps them at a `ref` of its code; without one, where Entire does. Left out: what a
    stored entry is about, and what was kept or turned down for ever. A transcript on this machine
    that did not change is not read again. A person is shown what is sure, an agent `every`
    candidate. Raises NotFound: no such folder, ref.
    """
    repo = opened.reading
    memory = _Memory(repo.options.state_dir / FOLDER)
    seen, unread_files = list[TranscriptContents](), dict[str, list[Path]]()
    if team:
        place = external_files.typed(external_files.expanded(team), repo.options.cwd)
        seen += _of_team(place, ref, unread_files)
    else:
        files = transcripts(where, repo.options.cwd, folder, since)
        seen += _of_this_machine(repo, memory, files, unread_files)
    # a day begins where the person is
    if since:
        first = f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
    else:
        first = ""
    events = _each_once(
        event for transcript in seen for event in transcript.happened if event.at >= first
    )
    stated = []
    for transcript in seen:
        for row in transcript.stated:
            if row.at >= first:
                stated.append(row)
    candidates = drafts(events, stated, _stored_already(repo, memory.decided))
    if not (folder or since or team):
        _keep_for_hooks(repo.options.state_dir, candidates)
    chosen = []
    for candidate in candidates:
        if not project or external_files.same_name(candidate.project, project):
            chosen.append(candidate)
    shown = tuple(candidate for candidate in chosen if every or candidate.sure)
    effect, notes = measured(in_sessions(events), shown), (*_named(unread_files), *repo.notes())
    read, unread = sum(each.read for each in seen), sum(each.unread for each in seen)
    return Harvest(shown, len(chosen) - len(shown), effect, len(seen), read, unread, notes)


def _each_once(events: Iterable[Happened]) -> list[Happened]:
    """Each event once, in their order, also where two transcripts hold it."""
    # a time to the millisecond is that of one event; one to the second may be that of two sessions
    once = {(event.at, event.words, "." in event.at or event.session): event for event in events}
    return sorted(once.values(), key=lambda event: event.at)


def _keep_for_hooks(state_dir: Path, candidates: Sequence[HarvestedLesson]) -> None:
    """Write down what hooks tell of drafts.

    What worked after a failure, and what an agent was kept from doing.
    """
    helping = (each for each in candidates if each.do and each.content)
    rows = (
        (x.id, x.project, x.when, "\n".join(_output_lines(x)), x.do, x.seen.sessions)
        for x in helping
    )
    git_files.write_json(state_dir / FOLDER / NEXT_STEP, list(rows))
    walls = (
        (x.project, x.when, f"{x.when}. {x.because[:1].upper()}{x.because[1:]}")
        for x in candidates
        if x.wall
    )
    git_files.write_json(state_dir / telling.walls.WALLS, list(walls))


def _of_team(folder: Path, ref: str, unread: dict[str, list[Path]]) -> Iterator[TranscriptContents]:
    """What the sessions hold that a team keeps at a ref of its code; the project is that code's."""
    from ai_lessons.git import checkpoints

    project = next(iter(external_files.names_of(folder)), "")
    for name, place, data in checkpoints.transcripts(folder, ref):
        records = transcript_files.records_in(data)
        try:
            yield _contents(_sessions(records, Transcript(name, "", place)), project, folder)
        except AiLessonsError as error:
            # the others can be read
            unread.setdefault(error.message, []).append(Path(" ".join(cleaned(place).splitlines())))


# Bytes of transcripts that were not read before and are read for the evidence of a proposal
AT_A_DECISION = 50 << 20


def past(opened: Library, where: Where, proposal: Pending) -> PastSessions | None:
    """What the sessions of this machine say for a proposal.

    None without any, and where it is no rule or lesson.

    It would have been told at an edit of what it names, before a command that it names, and at a
    prompt with half of the words of its title, which says it again. A rule with checks of commands,
    or of what was done, speaks where they do. Counted apart are the sessions that it quotes, or
    else the first one that said it.
    """
    entry = app.proposals.entry_of(
        proposal.path, {x.path: x.new.encode() for x in proposal.files if x.new is not None}
    )
    if entry is None or entry.kind not in {Kind.RULE, Kind.LESSON}:
        return None
    checks = app.played_checks.playable(checks_of(entry.fields))
    seen = _read_at_a_decision(opened, where)
    words, project, about = {*terms.terms(entry.title)}, entry.project, entry.fields.get("about")
    globs = [*proposal.applies_to, *(anchor.path for anchor in anchors_of(about) if anchor.path)]
    forms = command_forms.named_forms(
        f"{entry.title} " + " ".join(f"`{x}`" for x in commands_of(about))
    )
    here = _projects_like(project, seen)
    rows = _moments_in(here, seen)
    again = [
        x
        for x in rows
        if x.sort == "said" and 2 * len(words.intersection(x.text.split())) >= max(len(words), 3)
    ]
    edits = [x for x in rows if x.sort == "edit" and any_match(globs, [x.text])]
    ran = {
        call.session
        for each in seen
        for call in each.happened
        if call.project in here and call.fits(forms)
    }
    played = _played(opened, where, checks, project) if checks else {}
    if checks:
        ran = {name for name, speaks in played.items() if speaks}
    every = {x.session for x in rows} | played.keys()
    apart = {name for name in every if f"session {name}" in entry.body} or {
        x.session for x in again[:1]
    }
    reached = ({x.session for x in (*again, *edits)} | ran) - apart
    repeated, edited = (len({x.session for x in what} - apart) for what in (again, edits))
    if not every:
        return None
    characters = len(reached) * len(entry.title + entry.body)
    figures = (
        len(every - apart),
        len(reached),
        repeated,
        edited,
        len(ran - apart),
        characters,
        len(apart),
    )
    return PastSessions(*figures, len(played.keys() - apart))


def _projects_like(project: str, seen: Sequence[TranscriptContents]) -> set[str]:
    """The names under which sessions know the project of an entry; all of them for a global one."""
    like = set()
    for transcript in seen:
        for moment in transcript.moments:
            name = moment.project
            if project in {name, GLOBAL_PROJECT} or external_files.same_name(project, name):
                like.add(name)
    return like


def _moments_in(projects: Collection[str], seen: Sequence[TranscriptContents]) -> list[Moment]:
    """What happened in these projects, each moment once, the oldest first."""
    moments = set()
    for transcript in seen:
        for moment in transcript.moments:
            if moment.project in projects:
                moments.add(moment)
    return sorted(moments, key=lambda moment: moment.at)


def _played(
    opened: Library, where: Where, checks: Sequence[CommandCheck | DoneCheck], project: str
) -> dict[str, bool]:
    """By session of the project whether a check would have spoken.

    Of the newest as many as a reviewer has time for.
    """
    left, by_session = AT_A_DECISION, dict[str, bool]()
    name_of = cache(project_of)
    for file, status in transcripts(where, opened.options.cwd, ""):
        left -= status.st_size
        if left < 0:
            break
        with suppress(AiLessonsError, InvalidPattern):
            # one that cannot be read is no evidence
            for transcript in sessions(file):
                name = name_of(transcript.first_cwd)
                if project not in {name, GLOBAL_PROJECT} and not external_files.same_name(
                    project, name
                ):
                    continue
                session = clean_session(cleaned(transcript.session))
                speaks = app.played_checks.would_speak(checks, transcript)
                by_session[session] = by_session.get(session, False) or speaks
    return by_session


def _read_at_a_decision(opened: Library, where: Where) -> list[TranscriptContents]:
    """The transcripts that were read before, and of the others as many as a reviewer has time for."""
    memory, left, seen = (
        _Memory(opened.options.state_dir / FOLDER),
        AT_A_DECISION,
        list[TranscriptContents](),
    )
    for file, status in transcripts(where, opened.options.cwd, ""):
        left -= 0 if memory.has(file, status) else status.st_size
        with suppress(AiLessonsError):
            # one that cannot be read is no evidence
            if left > 0:
                seen += [memory.seen(file, status)]
    memory.save()
    return seen


def _named(unread: Mapping[str, Sequence[Path]]) -> Iterator[str]:
    """A note for each reason why files were not read, with one of them."""
    for reason, (first, *further) in unread.items():
        yield f"{first}{f' and {len(further):,} more' if further else ''}: {reason}"


def _output_lines(candidate: HarvestedLesson) -> list[str]:
    """The lines of a candidate's text that are no fence and no command."""
    lines: list[str] = []
    for line in candidate.content.splitlines():
        if line and line[0] not in "~$":
            lines.append(line)
    return lines


def _stored_already(repo: Reading, decided: Mapping[str, str]) -> Callable[[HarvestedLesson], bool]:
    """A test whether a candidate says what a stored lesson says, or was decided about."""
    catalog = repo.current()
    lessons = catalog.select(Filter(kinds=LESSONS))
    stated = []
    for lesson in lessons:
        stated.append(lesson.pattern)
    forms = set()
    for text in stated:
        for form in command_forms.forms_of(text):
            forms.add(form)
    every = catalog.select(Filter(kinds=frozenset({Kind.LESSON, Kind.RULE})))
    openings = catalog.openings(entry.id for entry in every)
    texts = [*stated, *(f"{entry.title}\n{openings.get(entry.id, '')}" for entry in every)]
    stored_shapes = []
    for _, shape in catalog.failures():
        stored_shapes.append(shape)

    def is_stored(candidate: HarvestedLesson) -> bool:
        if candidate.id in decided:
            return True
        if candidate.sort == PATTERN:
            return not forms.isdisjoint(command_forms.named_forms(candidate.when))
        if candidate.sort == STATED:
            return any(quote.text[:_TITLE] in text for quote in candidate.quotes for text in texts)
        shapes = map(model_failures.shape, _output_lines(candidate))
        return any(_same(shape, other) for shape in shapes for other in stored_shapes)

    return is_stored


def keep(
    opened: Library,
    candidate: HarvestedLesson,
    origin: str,
    edit: Callable[[str, str], str | None] | None = None,
) -> Written | None:
    """Add a candidate as it is, or what `edit(draft, suffix)` leaves; None: nothing.

    Raises UsageError: a part of the lesson is missing.
    """
    text = draft(candidate)
    if edit:
        edited = edit(text, ".md")
    else:
        edited = text
    lesson = drafted(text if edited is None else edited)
    if lesson is None:
        return None
    seen = None
    if candidate.seen.calls:
        seen = candidate.seen._asdict()
    programs = []
    for form in command_forms.named_forms(candidate.when):
        programs.append(form.words[0])
    about = app.anchors.of_session(opened.primary, candidate.edited, programs, candidate.project)
    lesson = lesson._replace(
        about=about, project=candidate.project, applies_to=candidate.applies_to
    )
    if candidate.quotes:
        source = "observed"
    else:
        source = "tested"
    written = app.editing.add_lesson(
        opened, lesson._replace(origin=origin, source=source, seen=seen)
    )
    decide(opened, candidate, "kept", written.id)
    return written


def keep_these(
    opened: Library, harvested: Harvest, names: Sequence[str], origin: str
) -> list[Written]:
    """Add the candidates of these ids, or (`all`) each that says what helps.

    What is stored by then is left out.

    Raises Refused: an agent asks. NotFound: no such candidate. UsageError: it does not say what
    helps.
    """
    opened.options.refuse_agents(
        "keep what was harvested", "ai-lessons contribute harvest --keep ID"
    )
    by_id = {}
    for candidate in harvested.candidates:
        by_id[candidate.id] = candidate
    if unknown := [name for name in names if name not in {*by_id, "all"}]:
        raise NotFound("candidate", unknown[0], hint="ai-lessons contribute harvest names them")
    chosen = []
    for name in names:
        if name != "all":
            chosen.append(by_id[name])
    if "all" in names:
        # all of them are sure
        chosen = []
        for candidate in harvested.candidates:
            if candidate.do:
                chosen.append(candidate)
    return [written for candidate in chosen if (written := keep(opened, candidate, origin))]


def propose(opened: Library, harvested: Harvest, names: Sequence[str]) -> list[Suggested]:
    """Propose as rules the statements of these ids, or (`all`) each that a person made in several sessions.

    What is proposed already is left out. Raises NotFound: no such candidate.
    """
    by_id = {candidate.id: candidate for candidate in harvested.candidates if candidate.quotes}
    if unknown := [name for name in names if name not in {*by_id, "all"}]:
        raise NotFound("statement", unknown[0], hint="ai-lessons contribute harvest names them")
    chosen = []
    for x in by_id.values():
        if x.id in names or ("all" in names and x.sure and x.sessions > 1):
            chosen.append(x)
    waiting = set()
    for proposal in app.review.pending_rules(opened):
        waiting.add(proposal.title)
    made = []
    for candidate in chosen:
        if candidate.title in waiting:
            continue
        _, _, quotes = draft(candidate).partition("\n\n")
        about = app.anchors.of_session(opened.primary, candidate.edited, (), candidate.project)
        why = f"{candidate.because}, last on {candidate.quotes[0].at[:10]}; drafted from transcripts: give it a title"
        rule = RuleDraft(
            candidate.title, why, quotes, project=candidate.project, about=about or None
        )
        made.append(app.proposals.suggest_rule(opened, rule))
    return made


def decide(opened: Library, candidate: HarvestedLesson, how: str, entry_id: str = "") -> None:
    """Do not propose it again: it was `kept` as an entry, or is `never` wanted."""
    folder = opened.options.state_dir / FOLDER
    memory = _Memory(folder)
    memory.decided[candidate.id] = how
    if entry_id:
        memory.taught[entry_id] = sorted({place.session for place in candidate.evidence})
    memory.save()
    git_files.write_json(
        folder / NEXT_STEP, [row for row in _next(folder) if row[0] != candidate.id]
    )


def ran_next(state_dir: Path, error: str, cwd: str = "") -> str:
    """What ran next, and worked, after a failure like this one (`$ command`, then its output) in transcripts."""
    command, output = model_failures.parted(error)
    shape = model_failures.shape(output)
    calls = command_forms.called(command, cwd)
    general = (row for row in _next(state_dir / FOLDER) if commands.is_general(row[4]))
    if cwd:
        names = [GLOBAL_PROJECT, *external_files.names_of(Path(cwd)), Path(cwd).name]
    else:
        names = [GLOBAL_PROJECT]
    here = (row for row in general if any(external_files.same_name(row[1], name) for name in names))
    rows = []
    for row in here:
        if command_forms.fits(command_forms.named_forms(row[2]), calls):
            rows.append(row)
    shapes = [tuple(map(model_failures.shape, row[3].split("\n"))) for row in rows]
    weights = model_failures.rarity([line for lines in shapes for line in lines])
    near = (
        (max(model_failures.alike(shape, line, weights) for line in lines), row[5], row[4])
        for lines, row in zip(shapes, rows, strict=True)
    )
    much, sessions, then = max(near, default=(0.0, 0, ""))
    if model_failures.chance(much) < model_failures.BAR:
        return ""
    return (
        f"after this failure ran next, and worked, in {commands.count(sessions, 'session')}: {then}"
    )


def draft(candidate: HarvestedLesson) -> str:
    """A candidate as the text that a person edits.

    Title, pattern, what happened, or what was said.
    """
    if candidate.quotes:
        rows = (
            f"> {quote.text}\n> ({quote.at[:10]}, session {quote.session})"
            for quote in candidate.quotes
        )
        return f"# {candidate.title}\n\n" + "\n\n".join(rows) + "\n"
    pattern = (
        f"WHEN {candidate.when}\n-> DO {candidate.do or _UNKNOWN}\n-> BECAUSE {candidate.because}"
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
    if _UNKNOWN in {pattern.when, pattern.action, pattern.because}:
        raise UsageError(
            "the draft does not say yet what to do",
            hint=f"write it in the place of {_UNKNOWN} after DO",
        )
    do, dont = (None, pattern.action) if pattern.negative else (pattern.action, None)
    return LessonDraft(title, body, when=pattern.when, do=do, dont=dont, because=pattern.because)


def transcripts(
    where: Where, cwd: Path, folder: str, since: datetime | None = None
) -> list[tuple[Path, os.stat_result]]:
    """The transcripts of all hosts, or those in `folder`. Raises NotFound: no such folder."""
    if folder:
        place = external_files.typed(external_files.expanded(folder), cwd)
        if not place.exists():
            hint = "without a folder those of this user's agents are read"
            raise NotFound("folder of transcripts", folder, hint=hint)
        globs = []
        for pattern in ("**/*.json", "**/*.jsonl", "**/*.jsonl.zst", "**/opencode.db"):
            globs.append((place, pattern))
        if place.is_file():
            file = external_files.kept(place)
            globs = [(file.parent, escape(file.name))]
    else:
        globs = agent_hosts.transcripts(where)
    files = external_files.transcripts(globs)
    return [
        (file, status)
        for file, status in files
        if since is None or status.st_mtime >= since.timestamp()
    ]


def sessions(file: Path) -> Iterator[Transcript]:
    """The sessions in a file; each begins as its name and the place of its file say."""
    # most hosts say it in the records
    root = external_files.beginning(file.parents[1] / ".project_root").strip()
    yield from _sessions(transcript_files.records(file), Transcript(file.stem, root, str(file)))


def _sessions(records: Iterable[tuple[int, Any]], now: Transcript) -> Iterator[Transcript]:
    root, file = now.cwd, now.file
    for line, record in records:
        session = None
        if isinstance(record, dict):
            session = record.get("session")
        if isinstance(session, str) and session != now.session:
            # a file may hold many sessions
            yield now.closed()
            now = Transcript(session, root, file)
        now.take(line, record)
    yield now.closed()


def _masked(command: Happened) -> Happened:
    """Without secrets; of a command that worked only its first words are kept."""
    if not command.failed:
        short = (word if len(word) <= _WORD else _UNKNOWN for word in command.words[:_WORDS])
        return command._replace(words=tuple(short))
    every = "\n".join(command.words), command.output, command.done[:_LINE], command.folder
    words, output, done, folder = map(cleaned, every)
    return command._replace(words=tuple(words.split("\n")), output=output, done=done, folder=folder)


def project_of(cwd: str) -> str:
    """The name of the project in which an agent worked; empty where it can be none."""
    if os.path.isdir(cwd):
        names = external_files.names_of(Path(cwd))
    else:
        names = []
    for name in (*names, cwd.rstrip("/").rpartition("/")[2]):
        with suppress(AiLessonsError):
            check_path(name)
            return name
    return ""


Next = tuple[str, str, str, str, str, int]
"""What hooks may tell.

A candidate's id, project and WHEN, lines of the failure, what worked then, and how often.
"""


def _next(folder: Path) -> list[Next]:
    rows = git_files.read_json(folder / NEXT_STEP)
    # a row of an earlier version has no project
    if isinstance(rows, list):
        return [(a, b, c, d, e, n) for a, b, c, d, e, *n_ in rows for n in n_]
    return []


class Moment(NamedTuple):
    """A prompt (its words) or an edit (the file) in a session, at which an entry may be told."""

    session: str
    project: str
    at: str
    sort: str
    text: str


class TranscriptContents(NamedTuple):
    """What a transcript held.

    Records of a form that is known or not, commands and statements, without secrets.
    """

    read: int
    unread: int
    happened: list[Happened]
    stated: list[Statement]
    moments: list[Moment]


def _contents(
    played: Iterable[Transcript], project: str = "", code: Path | None = None
) -> TranscriptContents:
    """What these sessions hold, of the project in the folder `code` or, without one, of the one that each worked in."""
    name_of = cache(project_of)
    seen = TranscriptContents(0, 0, [], [], [])
    for session in played:
        name = project or name_of(session.first_cwd)
        session.session = clean_session(cleaned(session.session))
        session.file = " ".join(cleaned(session.file).splitlines())
        events = commands.happened(session.steps, session.session, name, session.host, session.file)
        seen.happened.extend(map(_masked, events))
        speaks = any(step.sort == "said" for step in session.steps)
        people = None
        if speaks and (code or session.first_cwd):
            people = app_quotes.people_at(code or Path(session.first_cwd))
        seen.stated.extend(app_quotes.statements_of(session, name, people))
        for step in session.steps:
            if step.sort == "edit" or (step.sort == "said" and lessons.stated(step.text)):
                text = step.text.removeprefix(f"{session.first_cwd}/")
                if step.sort != "edit":
                    text = " ".join(terms.asked_for(app_quotes.quoted(step.text, people)))
                seen.moments.append(Moment(session.session, name, step.at, step.sort, text))
        seen = seen._replace(read=seen.read + session.known, unread=seen.unread + session.unknown)
    return seen


def _remembered(row: list[Any]) -> Happened:
    words, folder, failed, output, ways, done, session, project, place, at, host, edits = row
    where = session, project, place, at, host, tuple(edits)
    return Happened(
        tuple(words), folder, failed, output, tuple(map(Difference._make, ways)), done, *where
    )


# Values that are remembered of a transcript that is too large: the last says so
_FAULTY = 3


class _Memory:
    """What was seen in transcripts, by file; what was decided about candidates.

    And which sessions taught entries.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, Any] = {}
        self.decided: dict[str, str] = {}
        self.taught: dict[str, list[str]] = {}
        if stored := git_files.read_json(folder / FILE):
            self.decided, self.taught = stored["decided"], stored.get("taught", {})
            if stored["reader"] == READER:
                self._files = stored["files"]
            else:
                self._files = {}

    def seen(self, file: Path, status: os.stat_result) -> TranscriptContents:
        """What a file holds; it is read again only if it has changed."""
        if self.has(file, status):
            if len(self._files[str(file)]) == _FAULTY:
                raise StorageFailed(self._files[str(file)][-1])
            read, unread, events, stated, moments = self._files[str(file)][2:]
            rows = []
            for row in stated:
                rows.append(Statement._make(row))
            rows = [row._replace(files=tuple(row.files), before=tuple(row.before)) for row in rows]
            return TranscriptContents(
                read, unread, [*map(_remembered, events)], rows, [*map(Moment._make, moments)]
            )
        try:
            seen = _contents(sessions(file))
        except transcript_files.TranscriptTooLarge as error:
            self._files[str(file)] = [status.st_size, status.st_mtime_ns, error.message]
            raise
        self._files[str(file)] = [status.st_size, status.st_mtime_ns, *seen]
        return seen

    def has(self, file: Path, status: os.stat_result) -> bool:
        """Whether a file was read as it is."""
        size, changed, *_ = self._files.get(str(file)) or (-1, -1)
        return (size, changed) == (status.st_size, status.st_mtime_ns)

    def save(self) -> None:
        """Put it on the disk, whole or not at all, for this user's eyes only."""
        with translated(str(self._folder), writing=True):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = {}
        for file, seen in self._files.items():
            if os.path.exists(file):
                files[file] = seen
        data = {"reader": READER, "decided": self.decided, "taught": self.taught, "files": files}
        git_files.write_json(self._folder / FILE, data)
