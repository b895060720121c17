"""The transcripts that agent hosts keep on this machine, and the sessions in each."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.connectors import agent_hosts
from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.features.harvest import records as transcript_records
from ai_lessons.git import external_files
from ai_lessons.model.layout import check_path
from ai_lessons.model.transcripts import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from ai_lessons.model import Where


def unread_notes(unread: Mapping[str, Sequence[Path]]) -> Iterator[str]:
    """A note for each reason why files were not read, with one of them."""
    for reason, (first, *further) in unread.items():
        how_many = ""
        if further:
            how_many = f" and {len(further):,} more"
        yield f"{first}{how_many}: {reason}"


def transcripts(
    where: Where, cwd: Path, folder: str, since: datetime | None = None
) -> list[tuple[Path, os.stat_result]]:
    """The transcripts of all hosts, or those in `folder`, the newest first.

    Raises NotFound: no such folder.
    """
    if folder:
        globs = _in_folder(external_files.typed(external_files.expanded(folder), cwd), folder)
    else:
        globs = agent_hosts.transcripts(where)
    first = 0.0
    if since:
        first = since.timestamp()
    files = {}
    for file, status in _matching(globs):
        if stat.S_ISREG(status.st_mode) and status.st_mtime >= first:
            files[file] = status
    return sorted(files.items(), key=lambda row: row[1].st_mtime, reverse=True)


def _matching(globs: Iterable[tuple[Path, str]]) -> Iterator[tuple[Path, os.stat_result]]:
    """The files that globs below folders match, and their status."""
    for place, pattern in globs:
        for file in external_files.matches(place, pattern.split("/"), hidden=True):
            try:
                status = os.stat(file)
            except OSError:
                # gone since the glob
                continue
            yield file, status


def _in_folder(place: Path, named: str) -> list[tuple[Path, str]]:
    """Where transcripts are in a folder, or the one that is named. Raises NotFound."""
    if not place.exists():
        hint = "without a folder those of this user's agents are read"
        raise NotFound("folder of transcripts", named, hint=hint)
    if place.is_file():
        file = external_files.kept(place)
        return [(file.parent, escape(file.name))]
    globs = []
    for pattern in ("*.json", "*.jsonl", "*.jsonl.zst", *agent_hosts.databases()):
        globs.append((place, f"**/{pattern}"))
    return globs


def sessions(file: Path) -> Iterator[Transcript]:
    """The sessions in a file; each begins as its name and the place of its file say."""
    # most hosts say it in the records
    root = external_files.beginning(file.parents[1] / ".project_root").strip()
    begun = Transcript(file.stem, root, str(file))
    yield from sessions_in(transcript_records.records(file), begun)


def sessions_in(records: Iterable[tuple[int, Any]], begun: Transcript) -> Iterator[Transcript]:
    """The sessions in these records, by line; the first begins as `begun` says."""
    root, file = begun.cwd, begun.file
    current = begun
    for line, record in records:
        session = None
        if isinstance(record, dict):
            session = record.get("session")
        if isinstance(session, str) and session != current.session:
            # a file may hold many sessions
            yield current.closed()
            current = Transcript(session, root, file)
        current.take(line, record)
    yield current.closed()


def project_of(cwd: str) -> str:
    """The name of the project in which an agent worked; empty where it can be none."""
    names = []
    if os.path.isdir(cwd):
        names = external_files.names_of(Path(cwd))
    # the folder may be gone, or on another machine
    last = cwd.rstrip("/").rpartition("/")[2]
    for name in (*names, last):
        with suppress(AiLessonsError):
            check_path(name)
            return name
    return ""
