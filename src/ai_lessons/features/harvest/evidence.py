"""What past sessions say for a proposal: where its rule would have been told."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from ai_lessons import app
from ai_lessons.app.answers import PastSessions
from ai_lessons.app.quoting import cleaned
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.harvest.hooks import FOLDER
from ai_lessons.features.harvest.memory import Memory, Moment, TranscriptContents
from ai_lessons.features.harvest.sessions import project_of, sessions, transcripts
from ai_lessons.git import external_files
from ai_lessons.learning.statistics import clean_session
from ai_lessons.model import command_forms
from ai_lessons.model.anchors import anchors_of, commands_of
from ai_lessons.model.entries import GLOBAL_PROJECT, Kind
from ai_lessons.model.layout import any_match
from ai_lessons.search import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ai_lessons.app.answers import Pending
    from ai_lessons.app.effects import Speaks
    from ai_lessons.app.workspace import Library
    from ai_lessons.model import Where

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
    entry = app.proposal_context.entry_of(
        proposal.path, {x.path: x.new.encode() for x in proposal.files if x.new is not None}
    )
    if entry is None or entry.kind not in {Kind.RULE, Kind.LESSON}:
        return None
    judges = app.effects.in_sessions(entry)
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
    played = _played(opened, where, judges, project) if judges else {}
    if judges:
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
    opened: Library, where: Where, judges: Sequence[Speaks], project: str
) -> dict[str, bool]:
    """By session of the project whether the entry would have spoken.

    Reads the newest ones, as many as a reviewer has time for.
    """
    left, by_session = AT_A_DECISION, dict[str, bool]()
    name_of = cache(project_of)
    for file, status in transcripts(where, opened.options.cwd, ""):
        left -= status.st_size
        if left < 0:
            break
        with suppress(AiLessonsError):
            # one that cannot be read is no evidence
            for transcript in sessions(file):
                name = name_of(transcript.first_cwd)
                if project not in {name, GLOBAL_PROJECT} and not external_files.same_name(
                    project, name
                ):
                    continue
                session = clean_session(cleaned(transcript.session))
                verdicts = [judge(transcript) for judge in judges]
                if any(verdict is not None for verdict in verdicts):
                    by_session[session] = by_session.get(session, False) or any(verdicts)
    return by_session


def _read_at_a_decision(opened: Library, where: Where) -> list[TranscriptContents]:
    """The transcripts that were read before, and of the others as many as a reviewer has time for."""
    memory, left, seen = (
        Memory(opened.options.state_dir / FOLDER),
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
