"""What was read in transcripts, without secrets, so that a file that did not change is not read again.

Kept in the state folder, with what was decided about drafts and which sessions taught entries.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app.quoting import HIDDEN, cleaned, quoted
from ai_lessons.errors import StorageFailed
from ai_lessons.features.harvest import records, statements
from ai_lessons.features.harvest.calls import Difference, Happened, happened
from ai_lessons.features.harvest.sessions import project_of, sessions
from ai_lessons.features.harvest.statements import Statement
from ai_lessons.git import files as git_files
from ai_lessons.git.files import translated
from ai_lessons.model.events import clean_session
from ai_lessons.search import terms

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from ai_lessons.model.transcripts import Step, Transcript

# Counts up when what is read of a transcript changes, so that every one is read once more
READER = 14
_FILE = "seen.json"
# Words of a command that worked, characters of a word and of a line that are kept
_WORDS, _WORD, _LINE = 6, 60, 300


class Moment(NamedTuple):
    """A prompt (its words) or an edit (the file) in a session, at which an entry may be told."""

    session: str
    project: str
    at: str
    sort: str
    text: str


class TranscriptContents(NamedTuple):
    """What a transcript held, without secrets: commands, statements and moments.

    `read` and `unread` count its records of a form that is known or not.
    """

    read: int
    unread: int
    happened: list[Happened]
    stated: list[Statement]
    moments: list[Moment]


def contents_of(
    played: Iterable[Transcript], project: str = "", code: Path | None = None
) -> TranscriptContents:
    """What these sessions hold.

    Of the project in the folder `code` or, without one, of the one that each worked in.
    """
    name_of = cache(project_of)
    contents = TranscriptContents(0, 0, [], [], [])
    for session in played:
        name = project or name_of(session.first_cwd)
        session.session = clean_session(cleaned(session.session))
        session.file = " ".join(cleaned(session.file).splitlines())
        people = _people_in(session, code)
        for call in happened(session.steps, session.session, name, session.host, session.file):
            contents.happened.append(_masked(call))
        contents.stated.extend(statements.statements_of(session, name, people))
        for step in session.steps:
            text = _told_at(step, session.first_cwd, people)
            if text is not None:
                contents.moments.append(Moment(session.session, name, step.at, step.sort, text))
        contents = contents._replace(
            read=contents.read + session.known, unread=contents.unread + session.unknown
        )
    return contents


def _people_in(session: Transcript, code: Path | None) -> re.Pattern[str] | None:
    """The people of the code, whose names are left out of what was said, if anything was."""
    if not any(step.sort == "said" for step in session.steps):
        return None
    if code:
        return statements.people_at(code)
    if session.first_cwd:
        return statements.people_at(Path(session.first_cwd))
    return None


def _told_at(step: Step, folder: str, people: re.Pattern[str] | None) -> str | None:
    """The file of an edit, or the words of what a person states; None: no moment to tell at."""
    if step.sort == "edit":
        return step.text.removeprefix(f"{folder}/")
    if step.sort == "said" and statements.is_stated(step.text):
        return " ".join(terms.asked_for(quoted(step.text, people)))
    return None


def _masked(call: Happened) -> Happened:
    """Without secrets; of a command that worked only its first words are kept."""
    if not call.failed:
        words = []
        for word in call.words[:_WORDS]:
            words.append(word if len(word) <= _WORD else HIDDEN)
        return call._replace(words=tuple(words))
    words = cleaned("\n".join(call.words)).split("\n")
    return call._replace(
        words=tuple(words),
        output=cleaned(call.output),
        done=cleaned(call.done[:_LINE]),
        folder=cleaned(call.folder),
    )


class Memory:
    """What was seen in transcripts, by file, and what was decided about candidates.

    Also which sessions taught entries.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, Any] = {}
        self.decided: dict[str, str] = {}
        self.taught: dict[str, list[str]] = {}
        stored = git_files.read_json(folder / _FILE)
        if stored:
            self.decided = stored["decided"]
            self.taught = stored.get("taught", {})
            if stored["reader"] == READER:
                self._files = stored["files"]

    def seen(self, file: Path, status: os.stat_result) -> TranscriptContents:
        """What a file holds; it is read again only if it has changed.

        Raises StorageFailed: it is too large.
        """
        name = str(file)
        if self.has(file, status):
            return _remembered(self._files[name])
        stamp = [status.st_size, status.st_mtime_ns]
        try:
            contents = contents_of(sessions(file))
        except records.TranscriptTooLarge as error:
            self._files[name] = [*stamp, error.message]
            raise
        self._files[name] = [*stamp, *contents]
        return contents

    def has(self, file: Path, status: os.stat_result) -> bool:
        """Whether a file was read as it is."""
        size, changed, *_ = self._files.get(str(file)) or (-1, -1)
        return (size, changed) == (status.st_size, status.st_mtime_ns)

    def save(self) -> None:
        """Put it on the disk, whole or not at all, for this user's eyes only."""
        with translated(str(self._folder), writing=True):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = {}
        for file, contents in self._files.items():
            if os.path.exists(file):
                files[file] = contents
        data = {"reader": READER, "decided": self.decided, "taught": self.taught, "files": files}
        git_files.write_json(self._folder / _FILE, data)


def _remembered(kept: list[Any]) -> TranscriptContents:
    """The contents of a file as they were kept. Raises StorageFailed: it is too large."""
    # Values that are remembered of a transcript that is too large: the last says so
    if len(kept) == 3:
        raise StorageFailed(kept[-1])
    _, _, read, unread, calls, stated, moments = kept
    return TranscriptContents(
        read,
        unread,
        [_call_of(row) for row in calls],
        [_statement_of(row) for row in stated],
        [Moment._make(row) for row in moments],
    )


def _call_of(row: list[Any]) -> Happened:
    """A call with tuples, where JSON has lists."""
    call = Happened._make(row)
    return call._replace(
        words=tuple(call.words),
        ways=tuple(Difference._make(way) for way in call.ways),
        edits=tuple(call.edits),
    )


def _statement_of(row: list[Any]) -> Statement:
    statement = Statement._make(row)
    return statement._replace(files=tuple(statement.files), before=tuple(statement.before))
