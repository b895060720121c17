"""What was read in transcripts, without secrets, so that a file that did not change is not read again.

Kept in the state folder, with what was decided about drafts and which sessions taught entries.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app.quoting import cleaned, quoted
from ai_lessons.errors import StorageFailed
from ai_lessons.features.harvest import records, statements
from ai_lessons.features.harvest.drafts import UNKNOWN
from ai_lessons.features.harvest.sessions import project_of, sessions
from ai_lessons.features.harvest.statements import Statement
from ai_lessons.git import files as git_files
from ai_lessons.git.files import translated
from ai_lessons.learning.statistics import clean_session
from ai_lessons.model import command_patterns as commands
from ai_lessons.model import lessons
from ai_lessons.model.command_patterns import Difference, Happened
from ai_lessons.model.failures import READER
from ai_lessons.search import terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.model.transcripts import Transcript

FILE = "seen.json"


# Words of a command that worked, characters of a word and of a line that are kept
_WORDS, _WORD, _LINE = 6, 60, 300


def _masked(command: Happened) -> Happened:
    """Without secrets; of a command that worked only its first words are kept."""
    if not command.failed:
        short = (word if len(word) <= _WORD else UNKNOWN for word in command.words[:_WORDS])
        return command._replace(words=tuple(short))
    every = "\n".join(command.words), command.output, command.done[:_LINE], command.folder
    words, output, done, folder = map(cleaned, every)
    return command._replace(words=tuple(words.split("\n")), output=output, done=done, folder=folder)


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
            people = statements.people_at(code or Path(session.first_cwd))
        seen.stated.extend(statements.statements_of(session, name, people))
        for step in session.steps:
            if step.sort == "edit" or (step.sort == "said" and lessons.stated(step.text)):
                text = step.text.removeprefix(f"{session.first_cwd}/")
                if step.sort != "edit":
                    text = " ".join(terms.asked_for(quoted(step.text, people)))
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


class Memory:
    """What was seen in transcripts, by file, and what was decided about candidates.

    Also which sessions taught entries.
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
            seen = contents_of(sessions(file))
        except records.TranscriptTooLarge as error:
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
