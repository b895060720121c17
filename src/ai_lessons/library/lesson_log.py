"""Lessons of another tool: `lessons.jsonl`, an append-only log in which the latest entry of an id wins."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from ulid import ULID

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem, UsageError
from ai_lessons.knowledge import drafts, layout, markdown, patterns
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Pattern, Status
from ai_lessons.library.checking import checked, project_name
from ai_lessons.library.importing import told_of
from ai_lessons.library.lesson_writing import CONFIDENCE
from ai_lessons.library.reports import Imported
from ai_lessons.repository import outside
from ai_lessons.repository.store import Change, blob_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ai_lessons.knowledge.entries import Entry, Light
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import Parts

LIMIT = 64 * 1024 * 1024
"""Bytes of a log that we read."""

_STATUS = {"active": Status.ACTIVE, "promoted": Status.PROMOTED, "deleted": Status.WRONG, "wrong": Status.WRONG}
_SAME = ("created", "when", "action", "do", "because", "scope")
"""What of the first entry of an id makes our id of it, so that a log that has grown is known again."""


class LoggedLesson(NamedTuple):
    """One lesson of a log: `first` is its first entry, `last` all its entries laid over each other in their order."""

    line: int
    first: Mapping[str, Any]
    last: Mapping[str, Any]


def read_log(text: str) -> tuple[list[LoggedLesson], list[tuple[int, str]]]:
    """The lessons of a log in the order in which they came, and the lines that are none: (line from 1, reason)."""
    rows: dict[str, LoggedLesson] = {}
    damaged = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            damaged.append((number, "not JSON"))
            continue
        known = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(known, str | int) or not str(known).strip():
            damaged.append((number, "no entry with an id"))
            continue
        before = rows.get(str(known))
        rows[str(known)] = (
            LoggedLesson(before.line, before.first, {**before.last, **entry})
            if before
            else LoggedLesson(number, entry, entry)
        )
    return list(rows.values()), damaged


def import_log(library: Library, file: Path) -> Imported:
    """The lessons of a `lessons.jsonl`, each as its last entry has it, in one commit. Twice adds nothing.

    Raises:
        NotFound: no such file. InvalidEntry: it cannot be read, or no line of it is a lesson.
    """
    parts = library.primary
    rows, damaged = read_log(_text(file))
    skipped = [(f"{file}:{number}", reason) for number, reason in damaged]
    planned: dict[str, tuple[Entry, bytes]] = {}
    for number, row in enumerate(rows, 1):
        parts.options.progress("reading", number, len(rows))
        try:
            entry, data = _entry(row)
        except AiLessonsError as error:
            skipped.append((f"{file}:{row.line}", error.message))
        else:
            planned[entry.id] = entry, data
    if not planned and skipped:
        problems = [Problem(str(file), reason, int(place.rpartition(":")[2])) for place, reason in skipped[:20]]
        raise InvalidEntry(problems, hint="a log has one lesson a line, as JSON with id, when, do and because")
    there = parts.current().many(planned)
    fresh = {one: planned[one] for one in planned if one not in there}
    changes = [Change(entry.path, data, expect=None) for entry, data in fresh.values()]
    settled = [change for light in there.values() if (change := _settled(parts, light, planned[light.id][0]))]
    notes = (f"wrong or promoted by now, and known before: {len(settled)}",) if settled else ()
    if not changes and not settled:
        return Imported((), len(planned), tuple(skipped), None)
    first = next(iter(fresh.values()))[0] if len(fresh) == 1 and not settled else None
    what = f"Add lesson: {first.title}" if first else f"Import {len(fresh) + len(settled)} lessons"
    parts.keep_edits([change.path for change in settled])
    applied = parts.write(what, [*changes, *settled], [("Entry", first.id)] if first else [])
    written = parts.written(list(fresh), applied, parsed={entry.path: (data, entry) for entry, data in fresh.values()})
    unchanged = len(there) - len(settled)
    return Imported(written, unchanged, tuple(skipped), applied.commit, (*notes, *told_of(applied)))


def _settled(parts: Parts, light: Light, entry: Entry) -> Change | None:
    """The change of a lesson that is active here, and wrong or promoted in the log by now. Nothing is made active."""
    if entry.status is Status.ACTIVE or light.details.get("status") != Status.ACTIVE:
        return None
    told = {key: entry.fields[key] for key in ("status", "reason", "promoted_to") if key in entry.fields}
    there, old = parts.load(light.id)
    new = markdown.edit(old, told).encode()
    return Change(there.path, new, expect=blob_id(old.encode()))


def _text(file: Path) -> str:
    """The text of a log. Bytes that are no UTF-8 damage their line alone."""
    try:
        data = outside.read(file, LIMIT)[0]
    except NotFound as error:
        error.hint = "name the file that holds the old lessons: lesson import FILE"
        raise
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _entry(row: LoggedLesson) -> tuple[Entry, bytes]:
    """The lesson as our file states it.

    Raises:
        AiLessonsError: a part of the pattern is missing, or something in it cannot be kept.
    """
    last = row.last
    status = _STATUS.get(str(last.get("status") or "active"))
    if status is None:
        raise UsageError(f"no status {last['status']!r}")
    pattern = _pattern(last)
    created = _moment(row.first.get("created") or last.get("created"))
    origin = "user" if last.get("from") == "user" else "ai"
    fields = drafts.lesson_fields(
        _id(row.first, created), drafts.stamp(created), title=patterns.title_of(pattern), confidence=CONFIDENCE[origin],
        origin=origin, when=pattern.when, do=None if pattern.negative else pattern.action,
        dont=pattern.action if pattern.negative else None, because=pattern.because,
    )  # fmt: skip
    fields["status"] = status.value
    for key in ("reason", "promoted_to"):
        if last.get(key):
            fields[key] = " ".join(str(last[key]).split())
    project = project_name(str(last.get("scope") or GLOBAL_PROJECT))
    path = layout.lesson_path(project, fields["title"], fields["id"], fields["created"])
    data = markdown.render(fields, "").encode()
    return checked(path, data), data


def _pattern(entry: Mapping[str, Any]) -> Pattern:
    """From its parts, or from the one text that some logs have."""
    if isinstance(entry.get("pattern"), str) and not entry.get("when"):
        return patterns.parse(entry["pattern"])
    parts = {key: str(entry[key]) for key in ("when", "do", "dont", "because") if entry.get(key) is not None}
    action = parts.get("dont", parts.get("do"))
    negative = "dont" in parts or str(entry.get("action")) in {"dont", "don't", "do not"}
    do, dont = (None, action) if negative else (action, None)
    return patterns.build(parts.get("when"), do, dont, parts.get("because"))


def _moment(said: object) -> datetime:
    """The moment that a log names, in UTC where it does not say."""
    try:
        found = datetime.fromisoformat(str(said))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"created {said!r} is not a date") from error


def _id(first: Mapping[str, Any], created: datetime) -> str:
    """A ULID that two clones that import the same log agree on."""
    said = json.dumps([str(first.get("id")), *(first.get(key) for key in _SAME)], sort_keys=True, default=str)
    moment = max(int(created.timestamp() * 1000), 0)
    return str(ULID.from_bytes(moment.to_bytes(6, "big") + sha256(said.encode("utf-8", "surrogatepass")).digest()[:10]))
