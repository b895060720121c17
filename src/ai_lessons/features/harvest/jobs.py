"""Lessons proposed from transcripts of agent hosts, and what becomes of each proposal. Begin with `harvest`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ai_lessons import app
from ai_lessons.app.quoting import cleaned
from ai_lessons.app.written import RuleDraft, Suggested, Written
from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.features.harvest import counts, draft_texts, next_steps, records, walls
from ai_lessons.features.harvest.drafts import (
    PATTERN,
    STATED,
    TITLE_LENGTH,
    HarvestedLesson,
    drafts,
)
from ai_lessons.features.harvest.effects import Effect, in_sessions, is_same_failure, measured
from ai_lessons.features.harvest.memory import Memory, TranscriptContents, contents_of
from ai_lessons.features.harvest.sessions import sessions_in, transcripts, unread_notes
from ai_lessons.git import external_files
from ai_lessons.model import command_forms, failures
from ai_lessons.model.entries import LESSONS, Filter, Kind
from ai_lessons.model.transcripts import Transcript

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.features.harvest.calls import Happened
    from ai_lessons.features.harvest.statements import Statement
    from ai_lessons.model import Where

ALL = "all"
_NAMES_THEM = "ai-lessons contribute harvest names them"


def first_moment(since: datetime | None) -> str:
    """A day or moment as transcripts and forges write it; empty for none."""
    if since is None:
        return ""
    # a day begins where the person is
    return f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


class Source(NamedTuple):
    """Which sessions are read: those of all hosts, of `folder`, or of a `team`.

    A team keeps them at a `ref` of its code; without one, where Entire does. `since`: only what
    happened from then on.
    """

    folder: str = ""
    team: str = ""
    ref: str = ""
    since: datetime | None = None

    @property
    def first(self) -> str:
        """The first moment that counts, as transcripts write it; empty for any."""
        return first_moment(self.since)


ALL_HOSTS = Source()


class Harvested(Protocol):
    """What was harvested, of sessions or reviews."""

    @property
    def candidates(self) -> tuple[HarvestedLesson, ...]:
        """What could become an entry."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""


class Harvest(NamedTuple):
    """Candidates for lessons, what the transcripts hold and the candidates change, and how much of them was read.

    `unsure` candidates are left to an agent to judge. `known` and `unknown` count records of a form
    that is known or not.
    """

    candidates: tuple[HarvestedLesson, ...]
    unsure: int
    effect: Effect
    transcripts: int
    known: int
    unknown: int
    notes: tuple[str, ...]


def harvest(
    library: Library,
    where: Where,
    source: Source = ALL_HOSTS,
    *,
    project: str = "",
    every: bool = False,
) -> Harvest:
    """What could become a lesson in sessions.

    Left out: what a stored entry is about, and what was kept or turned down for ever. A person is
    shown what is sure, an agent `every` candidate. Raises NotFound: no such folder, ref.
    """
    repo = library.reading
    memory = Memory(repo.options.state_dir / walls.FOLDER)
    unread_files: dict[str, list[Path]] = {}
    contents = _contents(repo, where, source, memory, unread_files)
    events = _events(contents, source.first)
    stored = Stored(repo, memory.decided)
    candidates = drafts(events, _statements(contents, source.first), stored.holds)
    if source == ALL_HOSTS:
        _keep_for_hooks(repo.options.state_dir, candidates)
    chosen = []
    for candidate in candidates:
        if not project or external_files.same_name(candidate.project, project):
            chosen.append(candidate)
    shown = []
    for candidate in chosen:
        if every or candidate.sure:
            shown.append(candidate)
    return Harvest(
        candidates=tuple(shown),
        unsure=len(chosen) - len(shown),
        effect=measured(in_sessions(events), [draft.effect for draft in shown]),
        transcripts=len(contents),
        known=sum(transcript.read for transcript in contents),
        unknown=sum(transcript.unread for transcript in contents),
        notes=(*unread_notes(unread_files), *repo.notes()),
    )


# --- what was read ---


def _contents(
    repo: Reading,
    where: Where,
    source: Source,
    memory: Memory,
    unread: dict[str, list[Path]],
) -> list[TranscriptContents]:
    """What the transcripts hold; those that cannot be read are noted in `unread` by the reason.

    One on this machine that did not change is not read again.
    """
    if source.team:
        team = external_files.typed(external_files.expanded(source.team), repo.options.cwd)
        return list(_of_team(team, source.ref, unread))
    files = transcripts(where, repo.options.cwd, source.folder, source.since)
    return _of_this_machine(repo, memory, files, unread)


def _of_this_machine(
    repo: Reading,
    memory: Memory,
    files: Sequence[tuple[Path, os.stat_result]],
    unread: dict[str, list[Path]],
) -> list[TranscriptContents]:
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


def _of_team(folder: Path, ref: str, unread: dict[str, list[Path]]) -> Iterator[TranscriptContents]:
    """What the sessions hold that a team keeps at a ref of its code; the project is that code's."""
    # this machine's own transcripts lie in no git
    from ai_lessons.features.harvest import checkpoints

    project = next(iter(external_files.names_of(folder)), "")
    for name, place, data in checkpoints.transcripts(folder, ref):
        sessions = sessions_in(records.records_in(data), Transcript(name, "", place))
        try:
            yield contents_of(sessions, project, folder)
        except AiLessonsError as error:
            # the others can be read
            named = Path(" ".join(cleaned(place).splitlines()))
            unread.setdefault(error.message, []).append(named)


def _events(contents: Iterable[TranscriptContents], first: str) -> list[Happened]:
    """Each event from the first moment on once, in order, also where two transcripts hold it."""
    events: dict[object, Happened] = {}
    for transcript in contents:
        for event in transcript.happened:
            if event.at < first:
                continue
            # a time to the millisecond is that of one event; one to the second may be that of two
            # sessions
            when = "." in event.at or event.session
            events[event.at, event.words, when] = event
    return sorted(events.values(), key=lambda event: event.at)


def _statements(contents: Iterable[TranscriptContents], first: str) -> Iterator[Statement]:
    """What was said from the first moment on."""
    for transcript in contents:
        for statement in transcript.stated:
            if statement.at >= first:
                yield statement


def _keep_for_hooks(state_dir: Path, candidates: Iterable[HarvestedLesson]) -> None:
    """Write down what hooks tell of drafts: what worked after a failure, and the walls.

    A wall is what an agent was kept from doing, and nobody got past.
    """
    steps = []
    met = []
    for draft in candidates:
        if draft.do and draft.content:
            lines = "\n".join(draft.output_lines)
            steps.append(
                next_steps.NextStep(
                    draft.id, draft.project, draft.when, lines, draft.do, draft.seen.sessions
                )
            )
        if draft.wall:
            because = f"{draft.because[:1].upper()}{draft.because[1:]}"
            met.append(walls.Wall(draft.project, draft.when, f"{draft.when}. {because}"))
    next_steps.write_next_steps(state_dir, steps)
    walls.write_walls(state_dir, met)


class Stored:
    """What stored entries say already, and what was decided about candidates."""

    def __init__(self, repo: Reading, decided: Mapping[str, str]) -> None:
        self._decided = decided
        catalog = repo.current()
        # the texts in which a statement would stand
        self._texts: list[str] = []
        self._forms: set[command_forms.Form] = set()
        for lesson in catalog.select(Filter(kinds=LESSONS)):
            self._texts.append(lesson.stated.pattern)
            self._forms.update(command_forms.forms_of(lesson.stated.pattern))
        entries = catalog.select(Filter(kinds=frozenset({Kind.LESSON, Kind.RULE})))
        openings = catalog.openings(entry.id for entry in entries)
        for entry in entries:
            self._texts.append(f"{entry.title}\n{openings.get(entry.id, '')}")
        self._failures = [shape for _, shape in catalog.failures()]

    def holds(self, candidate: HarvestedLesson) -> bool:
        """Whether a candidate says what a stored lesson says, or was decided about."""
        if candidate.id in self._decided:
            return True
        if candidate.sort == PATTERN:
            named = command_forms.named_forms(candidate.when)
            return not self._forms.isdisjoint(named)
        if candidate.sort == STATED:
            return any(map(self._states, [quote.text for quote in candidate.quotes]))
        return any(map(self._keeps, candidate.output_lines))

    def _states(self, quote: str) -> bool:
        beginning = quote[:TITLE_LENGTH]
        return any(beginning in text for text in self._texts)

    def _keeps(self, output: str) -> bool:
        shape = failures.shape(output)
        return any(is_same_failure(shape, other) for other in self._failures)


# --- what becomes of a candidate ---


def keep(
    library: Library,
    candidate: HarvestedLesson,
    origin: str,
    edit: Callable[[str, str], str | None] | None = None,
) -> Written | None:
    """Add a candidate as it is, or what `edit(draft, suffix)` leaves; None: nothing.

    Raises UsageError: a part of the lesson is missing.
    """
    text = draft_texts.text_of(candidate)
    edited = None
    if edit:
        edited = edit(text, ".md")
    # None: the person left it as it was
    lesson = draft_texts.lesson_of(text if edited is None else edited)
    if lesson is None:
        return None
    further = {}
    if candidate.seen.calls:
        further[counts.KEY] = candidate.seen._asdict()
    source = "tested"
    if candidate.quotes:
        source = "observed"
    programs = [form.words[0] for form in command_forms.named_forms(candidate.when)]
    written = app.editing.add_lesson(
        library,
        lesson._replace(
            options={"edited": candidate.edited, "programs": programs},
            project=candidate.project,
            applies_to=candidate.applies_to,
            origin=origin,
            source=source,
            further=further,
        ),
    )
    decide(library, candidate, "kept", written.id)
    return written


def keep_these(
    library: Library, harvested: Harvested, names: Sequence[str], origin: str
) -> list[Written]:
    """Add the candidates of these ids, or (`all`) each that says what helps.

    Raises Refused: an agent asks. NotFound: no such candidate. UsageError: it does not say what
    helps.
    """
    library.options.refuse_agents(
        "keep what was harvested", "ai-lessons contribute harvest --keep ID"
    )
    by_id = {candidate.id: candidate for candidate in harvested.candidates}
    _refuse_unknown("candidate", names, by_id)
    if ALL in names:
        # all of them are sure
        chosen = [candidate for candidate in harvested.candidates if candidate.do]
    else:
        chosen = [by_id[name] for name in names]
    kept = []
    for candidate in chosen:
        written = keep(library, candidate, origin)
        if written:
            kept.append(written)
    return kept


def _refuse_unknown(what: str, names: Iterable[str], known_ids: Iterable[str]) -> None:
    """Raises NotFound: one of the names is none of these ids, nor `all`."""
    allowed = {*known_ids, ALL}
    for name in names:
        if name not in allowed:
            raise NotFound(what, name, hint=_NAMES_THEM)


def propose(library: Library, harvested: Harvested, names: Sequence[str]) -> list[Suggested]:
    """Propose as rules the statements of these ids, or (`all`) each that people made in several sessions or reviews.

    What is proposed already is left out. Raises NotFound: no such candidate.
    """
    said_by_people = [candidate for candidate in harvested.candidates if candidate.quotes]
    _refuse_unknown("statement", names, [candidate.id for candidate in said_by_people])
    waiting = {proposal.title for proposal in app.pending_rules.pending_rules(library)}
    made = []
    for candidate in said_by_people:
        said_again = candidate.sure and candidate.sessions > 1
        is_chosen = candidate.id in names or (ALL in names and said_again)
        if is_chosen and candidate.title not in waiting:
            made.append(app.proposals.suggest_rule(library, _rule_of(candidate)))
    return made


def _rule_of(candidate: HarvestedLesson) -> RuleDraft:
    """The rule that a statement would be, with the quotes as its text."""
    newest = candidate.quotes[0]
    source = "reviews" if newest.link else "transcripts"
    why = f"{candidate.because}, last on {newest.at[:10]}; drafted from {source}: give it a title"
    return RuleDraft(
        candidate.title,
        why,
        draft_texts.quotes_of(candidate),
        project=candidate.project,
        options={"edited": candidate.edited},
    )


def decide(library: Library, candidate: HarvestedLesson, how: str, entry_id: str = "") -> None:
    """Do not propose it again: it was `kept` as an entry, or is `never` wanted."""
    state_dir = library.options.state_dir
    memory = Memory(state_dir / walls.FOLDER)
    memory.decided[candidate.id] = how
    if entry_id:
        sessions = {place.session for place in candidate.evidence}
        memory.taught[entry_id] = sorted(sessions)
    memory.save()
    steps = [step for step in next_steps.next_steps(state_dir) if step.id != candidate.id]
    next_steps.write_next_steps(state_dir, steps)
