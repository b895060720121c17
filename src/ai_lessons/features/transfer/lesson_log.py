"""The log of another tool: an append-only `lessons.jsonl`, in which the latest entry of an id wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.app.write_checks import noting
from ai_lessons.errors import UsageError
from ai_lessons.features.transfer.arriving import Bundle, Item, made, made_id, moment
from ai_lessons.model import frontmatter, lessons
from ai_lessons.model.entries import Kind, Status
from ai_lessons.model.layout import project_name
from ai_lessons.model.lessons import CONFIDENCE, place_of
from ai_lessons.model.texts import json_object

if TYPE_CHECKING:
    from ai_lessons.model.entries import Pattern

Row = dict[str, Any]

_STATUS = {
    "active": Status.ACTIVE,
    "promoted": Status.PROMOTED,
    "deleted": Status.WRONG,
    "wrong": Status.WRONG,
}
# The keys of the first row of an id of which we make ours: a log that has grown gives the same
# entries again
_SAME = ("created", "when", "action", "do", "because", "scope")


def read_log(text: str, name: str) -> Bundle:
    """The lessons of a log in the order in which they came; lines that are none are damaged."""
    # by id: the line of the first entry, that entry, and all of them laid over each other
    rows: dict[str, tuple[int, Row, Row]] = {}
    damaged: list[tuple[str, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        entry = json_object(line)
        entry_key = entry.get("id")
        if not isinstance(entry_key, str | int) or not str(entry_key).strip():
            damaged.append((f"{name}:{number}", "no JSON object with an id"))
            continue
        start, first, last = rows.get(str(entry_key), (number, entry, {}))
        rows[str(entry_key)] = (start, first, {**last, **entry})
    items = []
    for number, first, last in rows.values():
        where = f"{name}:{number}"
        with noting(where, damaged):
            items.append(_logged(where, first, last))
    return Bundle(items, damaged)


def _logged(where: str, first: Row, last: Row) -> Item:
    """One lesson: its first entry, and all its entries laid over each other."""
    status = _STATUS.get(str(last.get("status") or "active"))
    if status is None:
        raise UsageError(f"no status {last['status']!r}")
    pattern = _pattern(last)
    stated_date = first.get("created") or last.get("created")
    created = moment(stated_date)
    if created is None:
        raise UsageError(f"created {stated_date!r} is not a date")
    origin = "ai"
    if last.get("from") == "user":
        origin = "user"
    at = place_of(str(last.get("scope") or ""))
    same = [first.get(key) for key in _SAME]
    fields = frontmatter.lesson_fields(
        made_id(str(first.get("id")), *same, created=created),
        frontmatter.stamp(created),
        title=lessons.title_of(pattern),
        scope=at.stated,
        confidence=CONFIDENCE[origin],
        origin=origin,
        status=status.value,
        **pattern.parts,
    )
    for key in ("reason", "promoted_to"):
        if last.get(key):
            fields[key] = " ".join(str(last[key]).split())
    return made(where, Kind.LESSON, project_name(at.project), "", fields)


def _pattern(last: Row) -> Pattern:
    """When, what and why. Raises UsageError: one of the three is missing."""
    if isinstance(last.get("pattern"), str) and not last.get("when"):
        # the one text that some logs have
        return lessons.parse(last["pattern"])
    parts = {}
    for key in ("when", "do", "dont", "because"):
        if last.get(key) is not None:
            parts[key] = str(last[key])
    action = parts.get("dont", parts.get("do"))
    if "dont" in parts or str(last.get("action")) in {"dont", "don't", "do not"}:
        return lessons.build(parts.get("when"), None, action, parts.get("because"))
    return lessons.build(parts.get("when"), action, None, parts.get("because"))
