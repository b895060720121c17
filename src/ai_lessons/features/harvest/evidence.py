"""What past sessions say for a proposal: where its rule would have been told."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app
from ai_lessons.app.quoting import cleaned
from ai_lessons.app.written import PastSessions
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.harvest.memory import Memory, Moment, TranscriptContents
from ai_lessons.features.harvest.sessions import project_of, sessions, transcripts
from ai_lessons.features.harvest.walls import FOLDER
from ai_lessons.git import external_files
from ai_lessons.model import command_forms
from ai_lessons.model.entries import GLOBAL_PROJECT, Entry, Kind
from ai_lessons.model.events import clean_session
from ai_lessons.model.layout import any_match
from ai_lessons.model.names import COMMANDS, PLACES, names_of
from ai_lessons.search import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ai_lessons.app.effects import Speaks
    from ai_lessons.app.workspace import Library
    from ai_lessons.app.written import Pending
    from ai_lessons.model import Where
    from ai_lessons.model.command_forms import Form

# Bytes of transcripts that were not read before and are read for the evidence of a proposal
AT_A_DECISION = 50 << 20


class _Past(NamedTuple):
    """Sessions in which something about a proposal happened, by name."""

    every: set[str]
    said: set[str]
    edited: set[str]
    ran: set[str]
    # in which features played what it states
    checked: set[str]
    # from which it came
    apart: set[str]


def past(library: Library, where: Where, proposal: Pending) -> PastSessions | None:
    """What the sessions of this machine say for a proposal.

    None without any, and where it is no rule or lesson.

    It would have been told at an edit of what it names, before a command that it names, and at a
    prompt with half of the words of its title, which says it again. A rule with checks of commands,
    or of what was done, speaks where they do. Counted apart are the sessions that it quotes, or
    else the first one that said it.
    """
    entry = _entry_of(proposal)
    if entry is None or entry.kind not in {Kind.RULE, Kind.LESSON}:
        return None
    names = _sessions_about(library, where, entry, proposal.applies_to)
    if not names.every:
        return None
    reached = (names.said | names.edited | names.ran) - names.apart
    return PastSessions(
        sessions=len(names.every - names.apart),
        told=len(reached),
        said=len(names.said - names.apart),
        edits=len(names.edited - names.apart),
        commands=len(names.ran - names.apart),
        characters=len(reached) * len(entry.title + entry.body),
        apart=len(names.apart),
        checked=len(names.checked - names.apart),
    )


def _entry_of(proposal: Pending) -> Entry | None:
    """The entry as it would read."""
    texts = {}
    for file in proposal.files:
        if file.new is not None:
            texts[file.path] = file.new.encode()
    return app.proposal_context.entry_of(proposal.path, texts)


def _sessions_about(
    library: Library, where: Where, entry: Entry, applies_to: Iterable[str]
) -> _Past:
    contents = _read_at_a_decision(library, where)
    projects = _projects_like(entry.project, contents)
    moments = _moments_in(projects, contents)
    repeating = [moment.session for moment in moments if _says_again(entry.title, moment)]
    globs = _globs_of(entry, applies_to)
    edited = set()
    for moment in moments:
        if moment.sort == "edit" and any_match(globs, [moment.text]):
            edited.add(moment.session)
    every = {moment.session for moment in moments}
    judges = app.effects.in_sessions(entry)
    checked: set[str] = set()
    if judges:
        played = _played(library, where, judges, entry.project)
        checked = set(played)
        ran = {session for session, speaks in played.items() if speaks}
        every |= checked
    else:
        ran = _ran(_forms_of(entry), projects, contents)
    quoted = {session for session in every if f"session {session}" in entry.body}
    return _Past(every, set(repeating), edited, ran, checked, apart=quoted or set(repeating[:1]))


def _says_again(title: str, moment: Moment) -> bool:
    """Whether a prompt has half of the words of a title."""
    if moment.sort != "said":
        return False
    words = set(terms.terms(title))
    common = words.intersection(moment.text.split())
    # A prompt says a title again that has half of its words; of a short one so many words count
    return 2 * len(common) >= max(len(words), 3)


def _globs_of(entry: Entry, applies_to: Iterable[str]) -> list[str]:
    """The files that an entry names."""
    globs = list(applies_to)
    for place in names_of(entry).get(PLACES, ()):
        globs.append(place.partition("::")[0])
    return globs


def _forms_of(entry: Entry) -> tuple[Form, ...]:
    """The commands that an entry names."""
    commands = [f"`{command}`" for command in names_of(entry).get(COMMANDS, ())]
    return command_forms.named_forms(" ".join([entry.title, *commands]))


def _ran(
    forms: Sequence[Form], projects: Collection[str], contents: Iterable[TranscriptContents]
) -> set[str]:
    """The sessions of these projects that ran a command of one of the forms."""
    ran = set()
    for transcript in contents:
        for call in transcript.happened:
            if call.project in projects and call.fits(forms):
                ran.add(call.session)
    return ran


def _projects_like(project: str, contents: Iterable[TranscriptContents]) -> set[str]:
    """The names under which sessions know the project of an entry; all of them for a global one."""
    like = set()
    for transcript in contents:
        for moment in transcript.moments:
            if _is_project(project, moment.project):
                like.add(moment.project)
    return like


def _is_project(project: str, name: str) -> bool:
    """Whether an entry of a project is about a session of the project of this name."""
    return project in {name, GLOBAL_PROJECT} or external_files.same_name(project, name)


def _moments_in(projects: Collection[str], contents: Iterable[TranscriptContents]) -> list[Moment]:
    """What happened in these projects, each moment once, the oldest first."""
    moments = set()
    for transcript in contents:
        for moment in transcript.moments:
            if moment.project in projects:
                moments.add(moment)
    return sorted(moments, key=lambda moment: moment.at)


def _played(
    library: Library, where: Where, judges: Sequence[Speaks], project: str
) -> dict[str, bool]:
    """By session of the project whether the entry would have spoken.

    Reads the newest ones, as many as a reviewer has time for.
    """
    name_of = cache(project_of)
    by_session: dict[str, bool] = {}
    left = AT_A_DECISION
    for file, status in transcripts(where, library.options.cwd, ""):
        left -= status.st_size
        if left < 0:
            break
        # one that cannot be read is no evidence
        with suppress(AiLessonsError):
            for transcript in sessions(file):
                if not _is_project(project, name_of(transcript.first_cwd)):
                    continue
                session = clean_session(cleaned(transcript.session))
                verdicts = [judge(transcript) for judge in judges]
                if any(verdict is not None for verdict in verdicts):
                    by_session[session] = by_session.get(session, False) or any(verdicts)
    return by_session


def _read_at_a_decision(library: Library, where: Where) -> list[TranscriptContents]:
    """The transcripts that were read before, and of the others as many as a reviewer has time for."""
    memory = Memory(library.options.state_dir / FOLDER)
    contents = []
    left = AT_A_DECISION
    for file, status in transcripts(where, library.options.cwd, ""):
        if not memory.has(file, status):
            left -= status.st_size
        # one that cannot be read is no evidence
        with suppress(AiLessonsError):
            if left > 0:
                contents.append(memory.seen(file, status))
    memory.save()
    return contents
