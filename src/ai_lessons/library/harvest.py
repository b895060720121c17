"""Lessons proposed from the transcripts that agent hosts keep. Nothing is stored but what a person said yes to."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from functools import cache
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import library
from ai_lessons.errors import AiLessonsError, NotFound, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import failures, patterns
from ai_lessons.knowledge.command_patterns import (
    Difference,
    Happened,
    called,
    count,
    fits,
    happened,
    is_general,
    named_forms,
    when_and_does,
)
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.layout import check_path
from ai_lessons.knowledge.lesson_drafts import Candidate, Effect, Remark, drafts, in_sessions, measured, remarks_of
from ai_lessons.knowledge.transcripts import READER, Transcript
from ai_lessons.library import secret_scan
from ai_lessons.library.reports import LessonDraft, Written
from ai_lessons.repository import agent_hosts, outside
from ai_lessons.repository.files import read_file, translated, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from ai_lessons.library.opened import Library, Reading
    from ai_lessons.repository.agent_hosts import Where

FOLDER, FILE, NEXT = "harvest", "seen.json", "next.json"
_WORDS, _WORD, _LINE = 6, 60, 300  # Words of a command that worked, characters of a word and of a line that are kept
_MEMORY_LIMIT = 1 << 29
_UNKNOWN = "…"  # Stands in a draft for what only a person can say
_DRAFT = re.compile(r"\A\s*# (?P<title>[^\n]+)\n+(?P<pattern>WHEN .*?(?=\n\n|\Z))?(?P<body>.*)\Z", re.DOTALL)


class Harvest(NamedTuple):
    """Candidates for lessons, what the transcripts hold and the candidates change, and how much of them was read.

    `known` and `unknown` count records of a form that is known or not.
    """

    candidates: tuple[Candidate, ...]
    effect: Effect
    transcripts: int
    known: int
    unknown: int
    notes: tuple[str, ...]


def harvest(
    opened: Library, where: Where, folder: str = "", *, since: datetime | None = None, project: str = ""
) -> Harvest:
    """What happened in the sessions of agents that could become a lesson: of all hosts, or in `folder`.

    Left out: what a stored lesson is about, and what was kept or turned down for ever. A transcript that did not
    change is not read again. Raises NotFound: no such folder.
    """
    repo = opened.reading
    memory = _Memory(repo.options.state_dir / FOLDER)
    files = transcripts(where, repo.options.cwd, folder, since)
    seen = list[Seen]()
    notes = list[str]()
    try:
        for file, status in repo.options.each("reading transcripts", files):
            try:
                seen.append(memory.seen(file, status))
            except AiLessonsError as error:  # the others can be read
                notes.append(f"{file}: {error.message}")
    finally:  # what was read before Ctrl-C need not be read again
        memory.save()
    first = f"{since:%Y-%m-%d}" if since else ""
    # a time to the millisecond is that of one event; one to the second may be that of two sessions
    events = (event for transcript in seen for event in transcript.happened if event.at >= first)
    commands = {(event.at, event.words, "." in event.at or event.session): event for event in events}
    every = sorted(commands.values(), key=lambda event: event.at)
    remarks = [remark for transcript in seen for remark in transcript.remarks if remark.at >= first]
    candidates = drafts(every, remarks, _stored_already(repo, memory.decided))
    if not folder and not since:
        rows = [
            (each.id, each.when, "\n".join(_output_lines(each)), each.do, each.seen.sessions)
            for each in candidates
            if each.do and each.content
        ]
        _save_next(repo.options.state_dir / FOLDER, rows)
    chosen = tuple(each for each in candidates if not project or outside.same_name(each.project, project))
    effect, every_note = measured(in_sessions(every), chosen), (*notes, *repo.notes())
    unread = sum(transcript.unread for transcript in seen)
    return Harvest(chosen, effect, len(seen), sum(transcript.read for transcript in seen), unread, every_note)


def _output_lines(candidate: Candidate) -> list[str]:
    """The lines of a candidate's text that are no fence and no command."""
    return [line for line in candidate.content.splitlines() if line and line[0] not in "~$"]


def _stored_already(repo: Reading, decided: Mapping[str, str]) -> Callable[[Candidate], bool]:
    """A test whether a candidate says what a stored lesson says, or was decided about."""
    catalog = repo.current()
    lessons = catalog.select(Filter(kinds=frozenset({Kind.LESSON})))
    stated = [str(lesson.details.get("pattern") or "") for lesson in lessons]
    forms = {form for text in stated for form in named_forms(when_and_does(text)[0])}
    texts = [*stated, *catalog.openings(lesson.id for lesson in lessons).values()]
    stored_shapes = [shape for _, shape in catalog.failures()]

    def is_stored(candidate: Candidate) -> bool:
        if candidate.id in decided:
            return True
        if candidate.sort == "pattern":
            return not forms.isdisjoint(named_forms(candidate.when))
        if candidate.sort == "correction" and any(candidate.do in text for text in texts):
            return True
        shapes = map(failures.shape, _output_lines(candidate))
        return any(failures.alike(shape, other, {}) >= failures.SAME for shape in shapes for other in stored_shapes)

    return is_stored


def keep(
    opened: Library, candidate: Candidate, origin: str, edit: Callable[[str, str], str | None] | None = None
) -> Written | None:
    """Add a candidate as it is, or what `edit(draft, suffix)` leaves; None: nothing.

    Raises UsageError: a part of the lesson is missing.
    """
    text = draft(candidate)
    edited = edit(text, ".md") if edit else text
    lesson = drafted(text if edited is None else edited)
    if lesson is None:
        return None
    seen = candidate.seen._asdict() if candidate.seen.calls else None
    lesson = lesson._replace(
        project=candidate.project, applies_to=candidate.applies_to, origin=origin, source="tested", seen=seen
    )
    written = library.editing.add_lesson(opened, lesson)
    decide(opened, candidate, "kept")
    return written


def keep_these(opened: Library, harvested: Harvest, names: Sequence[str], origin: str) -> list[Written]:
    """Add the candidates of these ids, or (`all`) each that says what helps; what is stored by then is left out.

    Raises Refused: an agent asks. NotFound: no such candidate. UsageError: it does not say what helps.
    """
    opened.options.refuse_agents("keep what was harvested", "ai-lessons contribute harvest --keep ID")
    by_id = {candidate.id: candidate for candidate in harvested.candidates}
    if unknown := [name for name in names if name not in {*by_id, "all"}]:
        raise NotFound("candidate", unknown[0], hint="ai-lessons contribute harvest names them")
    chosen = [by_id[name] for name in names if name != "all"]
    if "all" in names:
        chosen = [candidate for candidate in harvested.candidates if candidate.do]
    return [written for candidate in chosen if (written := keep(opened, candidate, origin))]


def decide(opened: Library, candidate: Candidate, how: str) -> None:
    """Do not propose it again: it was `kept`, or is `never` wanted."""
    memory = _Memory(opened.options.state_dir / FOLDER)
    memory.decided[candidate.id] = how
    memory.save()
    folder = opened.options.state_dir / FOLDER
    _save_next(folder, [row for row in _next(folder) if row[0] != candidate.id])


def ran_next(state_dir: Path, error: str, cwd: str = "") -> str:
    """What ran next, and worked, after a failure like this one (`$ command`, then its output) in transcripts."""
    command, output = failures.parted(error)
    shape = failures.shape(output)
    calls = called(command, cwd)
    rows = [row for row in _next(state_dir / FOLDER) if is_general(row[3]) and fits(named_forms(row[1]), calls)]
    shapes = [tuple(map(failures.shape, row[2].split("\n"))) for row in rows]
    weights = failures.rarity([line for lines in shapes for line in lines])
    near = (
        (max(failures.alike(shape, line, weights) for line in lines), row[4], row[3])
        for lines, row in zip(shapes, rows, strict=True)
    )
    much, sessions, then = max(near, default=(0.0, 0, ""))
    if failures.chance(much) < failures.BAR:
        return ""
    return f"ran next, and worked, in {count(sessions, 'session')}: {then}"


def draft(candidate: Candidate) -> str:
    """A candidate as the text that a person edits: title, pattern, what happened."""
    pattern = f"WHEN {candidate.when}\n-> DO {candidate.do or _UNKNOWN}\n-> BECAUSE {candidate.because}"
    return f"# {candidate.title}\n\n{pattern}\n\n{candidate.content}"


def drafted(text: str) -> LessonDraft | None:
    """The lesson that an edited draft says; None: it is empty. Raises UsageError: a part is missing."""
    if not text.strip():
        return None
    match = _DRAFT.match(text)
    if not match:
        raise UsageError("the draft does not begin with its title", hint="first line: # TITLE")
    title, body = match["title"].strip(), match["body"].strip()
    if not match["pattern"]:
        return LessonDraft(title, body)
    pattern = patterns.parse(" ".join(match["pattern"].split()))
    if _UNKNOWN in {pattern.when, pattern.action, pattern.because}:
        raise UsageError("the draft does not say yet what to do", hint=f"write it in the place of {_UNKNOWN} after DO")
    do, dont = (None, pattern.action) if pattern.negative else (pattern.action, None)
    return LessonDraft(title, body, when=pattern.when, do=do, dont=dont, because=pattern.because)


def transcripts(
    where: Where, cwd: Path, folder: str, since: datetime | None = None
) -> list[tuple[Path, os.stat_result]]:
    """The transcripts of all hosts, or those in `folder`. Raises NotFound: no such folder."""
    if folder:
        place = outside.typed(outside.expanded(folder), cwd)
        if not place.exists():
            hint = "without a folder those of this user's agents are read"
            raise NotFound("folder of transcripts", folder, hint=hint)
        globs = [(place, pattern) for pattern in ("**/*.json", "**/*.jsonl", "**/opencode.db")]
        if place.is_file():
            file = outside.kept(place)
            globs = [(file.parent, escape(file.name))]
    else:
        globs = agent_hosts.transcripts(where)
    files = outside.transcripts(globs)
    return [(file, status) for file, status in files if since is None or status.st_mtime >= since.timestamp()]


def sessions(file: Path) -> Iterator[Transcript]:
    """The sessions in a file; each begins as its name and the place of its file say."""
    root = outside.beginning(file.parents[1] / ".project_root").strip()  # of most hosts it is in the records
    now = Transcript(file.stem, root, str(file))
    for line, record in outside.records(file):
        session = record.get("session") if isinstance(record, dict) else None
        if isinstance(session, str) and session != now.session:  # of a file with many
            yield now.closed()
            now = Transcript(session, root, str(file))
        now.take(line, record)
    yield now.closed()


def _masked(command: Happened) -> Happened:
    """Without secrets; of a command that worked only its first words are kept."""
    if not command.failed:
        return command._replace(
            words=tuple(word if len(word) <= _WORD else _UNKNOWN for word in command.words[:_WORDS])
        )
    words, output, done = map(secret_scan.masked, ("\n".join(command.words), command.output, command.done[:_LINE]))
    return command._replace(words=tuple(words.split("\n")), output=output, done=done)


def project_of(cwd: str) -> str:
    """The name of the project in which an agent worked; empty where it can be none."""
    names = outside.names_of(Path(cwd)) if os.path.isdir(cwd) else []
    for name in (*names, cwd.rstrip("/").rpartition("/")[2]):
        with suppress(AiLessonsError):
            check_path(name)
            return name
    return ""


Next = tuple[str, str, str, str, int]
"""What hooks may tell: a candidate's id, its WHEN, lines of the failure, what worked then, in how many sessions."""


def _next(folder: Path) -> list[Next]:
    with suppress(AiLessonsError, ValueError, TypeError):  # mostly, because nothing was harvested
        return [(str(a), str(b), str(c), str(d), int(e)) for a, b, c, d, e in json.loads(read_file(folder, NEXT)[0])]
    return []


def _save_next(folder: Path, rows: Iterable[Next]) -> None:
    write_file(folder, NEXT, json.dumps(list(rows)).encode(), durable=False)


class Seen(NamedTuple):
    """What a transcript held: records of a form that is known or not, commands and remarks, without secrets."""

    read: int
    unread: int
    happened: list[Happened]
    remarks: list[Remark]


def _remembered(row: list[Any]) -> Happened:
    words, folder, failed, output, ways, *place = row
    return Happened(tuple(words), folder, failed, output, tuple(map(Difference._make, ways)), *place)


class _Memory:
    """What was seen in transcripts, by file; and what was decided about candidates."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, Any] = {}
        self.decided: dict[str, str] = {}
        # it is not there, or of another version
        with suppress(AiLessonsError, ValueError, KeyError, AttributeError, TypeError):
            stored = json.loads(read_file(folder, FILE, _MEMORY_LIMIT)[0])
            self.decided = {str(candidate_id): str(how) for candidate_id, how in stored["decided"].items()}
            self._files = stored["files"] if stored["reader"] == READER else {}

    def seen(self, file: Path, status: os.stat_result) -> Seen:
        """What a file holds; it is read again only if it has changed."""
        row = self._files.get(str(file))
        if row and row[:2] == [status.st_size, status.st_mtime_ns]:
            commands, remarks = row[4:]
            return Seen(row[2], row[3], list(map(_remembered, commands)), list(map(Remark._make, remarks)))
        name_of = cache(project_of)
        seen = Seen(0, 0, [], [])
        for session in sessions(file):
            project = name_of(session.first_cwd)
            events = happened(session.steps, session.session, project, session.host, session.file)
            seen.happened.extend(map(_masked, events))
            for remark in remarks_of(session, project):
                text, command = map(secret_scan.masked, (remark.text, remark.command))
                seen.remarks.append(remark._replace(text=text, command=command))
            seen = seen._replace(read=seen.read + session.known, unread=seen.unread + session.unknown)
        self._files[str(file)] = [status.st_size, status.st_mtime_ns, *seen]
        return seen

    def save(self) -> None:
        """Put it on the disk, whole or not at all, for this user's eyes only."""
        with translated(str(self._folder), writing=True):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = {file: seen for file, seen in self._files.items() if os.path.exists(file)}
        data = {"reader": READER, "decided": self.decided, "files": files}
        write_file(self._folder, FILE, json.dumps(data).encode(), durable=False)
