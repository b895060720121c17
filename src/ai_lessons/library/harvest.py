"""Lessons proposed from the transcripts that agent hosts keep. Nothing is stored but what a person said yes to."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import library
from ai_lessons.errors import AiLessonsError, NotFound, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import failures, patterns
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.episodes import Candidate, Episode, candidates, episodes, program_of
from ai_lessons.knowledge.layout import check_path
from ai_lessons.knowledge.transcripts import READER, Transcript
from ai_lessons.library import secret_scan
from ai_lessons.library.reports import LessonDraft, Written
from ai_lessons.repository import agent_hosts, outside
from ai_lessons.repository.files import read_file, translated, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from ai_lessons.library.opened import Library
    from ai_lessons.repository.agent_hosts import Where

FOLDER, FILE, NEXT = "harvest", "seen.json", "next.json"
_MEMORY_LIMIT = 1 << 29
_UNKNOWN = "…"  # Stands in a draft for what only a person can say
_DRAFT = re.compile(r"\A\s*# (?P<title>[^\n]+)\n+(?P<pattern>WHEN .*?(?=\n\n|\Z))?(?P<body>.*)\Z", re.DOTALL)


class Harvest(NamedTuple):
    """Candidates for lessons, and where they were looked for: transcripts, records of a form that is known or not."""

    candidates: tuple[Candidate, ...]
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
    files = outside.transcripts(_globs(where, repo.options.cwd, folder))
    if since:
        files = [(file, status) for file, status in files if status.st_mtime >= since.timestamp()]
    every, known, unknown, notes = list[Episode](), 0, 0, list[str]()
    try:
        for file, status in repo.options.each("reading transcripts", files):
            try:
                seen = memory.seen(file, status)
            except AiLessonsError as error:  # the others can be read
                notes.append(f"{file}: {error.message}")
            else:
                every += seen.episodes
                known, unknown = known + seen.known, unknown + seen.unknown
    finally:  # what was read before Ctrl-C need not be read again
        memory.save()
    found = [one for one in every if not since or one.at >= f"{since:%Y-%m-%d}"]
    projects = {cwd: _project(cwd) for cwd in {one.cwd for one in found}}
    catalog = repo.current()
    lessons = catalog.select(Filter(kinds=frozenset({Kind.LESSON})))
    texts = [
        *(str(one.details.get("pattern") or "") for one in lessons),
        *catalog.openings(one.id for one in lessons).values(),
    ]
    stored = [words for _, words in catalog.failures()]
    proposed = [one for one in candidates(found, stored, texts, projects) if one.id not in memory.decided]
    if not folder and not since:
        worked = (one for one in proposed if one.sort == "fixed" and one.content)
        _save_next(repo.options.state_dir / FOLDER, map(_next_of, worked))
    chosen = tuple(one for one in proposed if not project or outside.same_name(one.project, project))
    return Harvest(chosen, len(files) - len(notes), known, unknown, (*notes, *repo.notes()))


def keep(opened: Library, one: Candidate, edit: Callable[[str, str], str | None], origin: str) -> Written | None:
    """Add what `edit(draft, suffix)` leaves; None: nothing. Raises UsageError: a part of the lesson is missing."""
    text = draft(one)
    edited = edit(text, ".md")
    lesson = drafted(text if edited is None else edited)
    if lesson is None:
        return None
    lesson = lesson._replace(project=one.project, applies_to=one.applies_to, origin=origin, source="tested")
    written = library.editing.add_lesson(opened, lesson)
    decide(opened, one, "kept")
    return written


def decide(opened: Library, one: Candidate, how: str) -> None:
    """Do not propose it again: it was `kept`, or is `never` wanted."""
    memory = _Memory(opened.options.state_dir / FOLDER)
    memory.decided[one.id] = how
    memory.save()
    folder = opened.options.state_dir / FOLDER
    _save_next(folder, [row for row in _next(folder) if row[0] != one.id])


def ran_next(state_dir: Path, error: str) -> str:
    """What ran next, and worked, after a failure like this one (`$ command`, then its output) in transcripts."""
    command, _, output = error.removeprefix("$ ").partition("\n")
    said, program = failures.shape(output), program_of(command)
    kept = [row[2:] for row in _next(state_dir / FOLDER) if row[1] == program]
    rows = [(failures.shape(failed), sessions, then) for failed, then, sessions in kept]
    weights = failures.rarity([shape for shape, _, _ in rows])
    near = ((failures.alike(said, shape, weights), sessions, then) for shape, sessions, then in rows)
    much, sessions, then = max(near, default=(0.0, 0, ""))
    if failures.chance(much) < failures.BAR:
        return ""
    return f"ran next, and worked, in {sessions} session{'s'[: sessions > 1]}: {then}"


def draft(one: Candidate) -> str:
    """A candidate as the text that a person edits: title, pattern, what happened."""
    said = f"WHEN {one.when}\n-> DO {one.do or _UNKNOWN}\n-> BECAUSE {one.because}"
    return f"# {one.title}\n\n{said}\n\n{one.content}"


def drafted(text: str) -> LessonDraft | None:
    """The lesson that an edited draft says; None: it is empty. Raises UsageError: a part is missing."""
    if not text.strip():
        return None
    found = _DRAFT.match(text)
    if not found:
        raise UsageError("the draft does not begin with its title", hint="first line: # TITLE")
    title, body = found["title"].strip(), found["body"].strip()
    if not found["pattern"]:
        return LessonDraft(title, body)
    pattern = patterns.parse(" ".join(found["pattern"].split()))
    if _UNKNOWN in {pattern.when, pattern.action, pattern.because}:
        raise UsageError("the draft does not say yet what to do", hint=f"write it in the place of {_UNKNOWN} after DO")
    do, dont = (None, pattern.action) if pattern.negative else (pattern.action, None)
    return LessonDraft(title, body, when=pattern.when, do=do, dont=dont, because=pattern.because)


def _globs(where: Where, cwd: Path, folder: str) -> list[tuple[Path, str]]:
    if not folder:
        return agent_hosts.transcripts(where)
    place = outside.typed(outside.expanded(folder), cwd)
    if not place.exists():
        raise NotFound("folder of transcripts", folder, hint="without a folder those of this user's agents are read")
    if place.is_file():
        file = outside.kept(place)
        return [(file.parent, escape(file.name))]
    return [(place, "**/*.json"), (place, "**/*.jsonl"), (place, "**/opencode.db")]


def _sessions(file: Path) -> Iterator[Transcript]:
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


def _masked(one: Episode) -> Episode:
    command, output, then = map(secret_scan.masked, (one.command, one.output, one.then))
    return one._replace(command=command, output=output, then=then)


def _project(cwd: str) -> str:
    """The name of the project in which an agent worked; empty where it can be none."""
    names = outside.names_of(Path(cwd)) if os.path.isdir(cwd) else []
    for name in (*names, cwd.rstrip("/").rpartition("/")[2]):
        with suppress(AiLessonsError):
            check_path(name)
            return name
    return ""


Next = tuple[str, str, str, str, int]
"""What hooks may tell: a candidate's id, program and output of the failure, what worked then, in how many sessions."""


def _next_of(one: Candidate) -> Next:
    _, command, *output, _ = one.content.splitlines()
    return one.id, program_of(command.removeprefix("$ ")), "\n".join(output), one.do, one.sessions


def _next(folder: Path) -> list[Next]:
    with suppress(AiLessonsError, ValueError, TypeError):  # mostly, because nothing was harvested
        return [(str(a), str(b), str(c), str(d), int(e)) for a, b, c, d, e in json.loads(read_file(folder, NEXT)[0])]
    return []


def _save_next(folder: Path, rows: Iterable[Next]) -> None:
    write_file(folder, NEXT, json.dumps(list(rows)).encode(), durable=False)


class Seen(NamedTuple):
    """What a transcript held: records of a form that is known or not, and what happened, without secrets."""

    known: int
    unknown: int
    episodes: list[Episode]


class _Memory:
    """What was seen in transcripts, by file; and what was decided about candidates."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, Any] = {}
        self.decided: dict[str, str] = {}
        # it is not there, or of another version
        with suppress(AiLessonsError, ValueError, KeyError, AttributeError, TypeError):
            known = json.loads(read_file(folder, FILE, _MEMORY_LIMIT)[0])
            self.decided = {str(one): str(how) for one, how in known["decided"].items()}
            self._files = known["files"] if known["reader"] == READER else {}

    def seen(self, file: Path, status: os.stat_result) -> Seen:
        """What a file holds; it is read again only if it has changed."""
        row = self._files.get(str(file))
        if row and row[:2] == [status.st_size, status.st_mtime_ns]:
            return Seen(row[2], row[3], [Episode._make(one) for one in row[4]])
        every = list(_sessions(file))
        found = [_masked(one) for transcript in every for one in episodes(transcript)]
        seen = Seen(sum(one.known for one in every), sum(one.unknown for one in every), found)
        self._files[str(file)] = [status.st_size, status.st_mtime_ns, *seen]
        return seen

    def save(self) -> None:
        """Put it on the disk, whole or not at all, for this user's eyes only."""
        with translated(str(self._folder), writing=True):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = {file: seen for file, seen in self._files.items() if os.path.exists(file)}
        data = {"reader": READER, "decided": self.decided, "files": files}
        write_file(self._folder, FILE, json.dumps(data).encode(), durable=False)
