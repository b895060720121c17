"""Lessons proposed from transcripts of agent hosts, and what stored entries would have changed in those sessions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app
from ai_lessons.app.answers import RuleDraft, Suggested, Written
from ai_lessons.app.quoting import cleaned
from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.features.harvest import records
from ai_lessons.features.harvest.drafts import (
    PATTERN,
    STATED,
    TITLE_LENGTH,
    Effect,
    HarvestedLesson,
    draft,
    drafted,
    drafts,
    in_sessions,
    is_same_failure,
    measured,
    output_lines,
)
from ai_lessons.features.harvest.hooks import FOLDER, NEXT_STEP, WALLS, next_steps
from ai_lessons.features.harvest.memory import Memory, TranscriptContents, contents_of
from ai_lessons.features.harvest.sessions import sessions_in, transcripts, unread_notes
from ai_lessons.git import external_files
from ai_lessons.git import files as git_files
from ai_lessons.model import command_forms
from ai_lessons.model import failures as model_failures
from ai_lessons.model.entries import LESSONS, Filter, Kind
from ai_lessons.model.transcripts import Transcript

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.model import Where
    from ai_lessons.model.command_patterns import Happened


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
    memory: Memory,
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
        if self.since is None:
            return ""
        # a day begins where the person is
        return f"{self.since.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


ALL_HOSTS = Source()


def harvest(
    opened: Library,
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
    repo = opened.reading
    memory = Memory(repo.options.state_dir / FOLDER)
    unread_files: dict[str, list[Path]] = {}
    contents = _contents(repo, where, source, memory, unread_files)
    events = _each_once(contents, source.first)
    stated = []
    for transcript in contents:
        for statement in transcript.stated:
            if statement.at >= source.first:
                stated.append(statement)
    candidates = drafts(events, stated, _stored_already(repo, memory.decided))
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
        effect=measured(in_sessions(events), shown),
        transcripts=len(contents),
        known=sum(transcript.read for transcript in contents),
        unknown=sum(transcript.unread for transcript in contents),
        notes=(*unread_notes(unread_files), *repo.notes()),
    )


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


def _each_once(contents: Iterable[TranscriptContents], first: str) -> list[Happened]:
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


def _keep_for_hooks(state_dir: Path, candidates: Sequence[HarvestedLesson]) -> None:
    """Write down what hooks tell of drafts: what worked after a failure, and the walls.

    A wall is what an agent was kept from doing, and nobody got past.
    """
    helping = (each for each in candidates if each.do and each.content)
    rows = (
        (x.id, x.project, x.when, "\n".join(output_lines(x)), x.do, x.seen.sessions)
        for x in helping
    )
    git_files.write_json(state_dir / FOLDER / NEXT_STEP, list(rows))
    walls = (
        (x.project, x.when, f"{x.when}. {x.because[:1].upper()}{x.because[1:]}")
        for x in candidates
        if x.wall
    )
    git_files.write_json(state_dir / FOLDER / WALLS, list(walls))


def _of_team(folder: Path, ref: str, unread: dict[str, list[Path]]) -> Iterator[TranscriptContents]:
    """What the sessions hold that a team keeps at a ref of its code; the project is that code's."""
    from ai_lessons.features.harvest import checkpoints

    project = next(iter(external_files.names_of(folder)), "")
    for name, place, data in checkpoints.transcripts(folder, ref):
        rows = records.records_in(data)
        try:
            yield contents_of(sessions_in(rows, Transcript(name, "", place)), project, folder)
        except AiLessonsError as error:
            # the others can be read
            unread.setdefault(error.message, []).append(Path(" ".join(cleaned(place).splitlines())))


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
            return any(
                quote.text[:TITLE_LENGTH] in text for quote in candidate.quotes for text in texts
            )
        shapes = map(model_failures.shape, output_lines(candidate))
        return any(is_same_failure(shape, other) for shape in shapes for other in stored_shapes)

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
    about = app.anchor_writing.of_session(
        opened.primary, candidate.edited, programs, candidate.project
    )
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
    for proposal in app.pending_rules.pending_rules(opened):
        waiting.add(proposal.title)
    made = []
    for candidate in chosen:
        if candidate.title in waiting:
            continue
        _, _, quotes = draft(candidate).partition("\n\n")
        about = app.anchor_writing.of_session(
            opened.primary, candidate.edited, (), candidate.project
        )
        why = f"{candidate.because}, last on {candidate.quotes[0].at[:10]}; drafted from transcripts: give it a title"
        rule = RuleDraft(
            candidate.title, why, quotes, project=candidate.project, about=about or None
        )
        made.append(app.proposals.suggest_rule(opened, rule))
    return made


def decide(opened: Library, candidate: HarvestedLesson, how: str, entry_id: str = "") -> None:
    """Do not propose it again: it was `kept` as an entry, or is `never` wanted."""
    folder = opened.options.state_dir / FOLDER
    memory = Memory(folder)
    memory.decided[candidate.id] = how
    if entry_id:
        memory.taught[entry_id] = sorted({place.session for place in candidate.evidence})
    memory.save()
    git_files.write_json(
        folder / NEXT_STEP, [row for row in next_steps(folder) if row[0] != candidate.id]
    )
