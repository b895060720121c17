"""Exports of mem0, as JSON or JSON lines: each memory a lesson."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ai_lessons.app.write_checks import noting
from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.features.transfer.arriving import JOINED, Bundle, Item, moment
from ai_lessons.features.transfer.notes import remembered
from ai_lessons.model import lessons

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ai_lessons.model.lessons import ScopePlace

_TEXT = ("memory", "text", "content", "data")
_READ = frozenset((*_TEXT, "id", "user_id", "categories", "created_at", "hash", "score"))


def memories(text: str, name: str, project: str | None, now: datetime) -> Bundle:
    """The memories of an export as lessons.

    Those of a user keep him as their scope.

    Raises InvalidEntry: not such an export.
    """
    items: list[Item] = []
    damaged: list[tuple[str, str]] = []
    like: list[tuple[str, str, str]] = []
    # where the same was remembered first, by the words and whose they are
    first: dict[tuple[str, str], str] = {}
    other_keys: dict[str, None] = {}
    for number, record in enumerate(_records(text, name), 1):
        where = f"{name}: memory {number}"
        content = _content(record)
        if not content:
            damaged.append((where, "it says nothing"))
            continue
        for key, value in record.items():
            if key not in _READ and value:
                other_keys[key] = None
        with noting(where, damaged):
            user = _user(record)
            place = lessons.place_of(user or project)
            words = " ".join(content.split())
            before = first.setdefault((words, user), where)
            if before == where:
                items.append(_memory(where, record, content, user, place, now))
            else:
                like.append((where, JOINED, before))
    notes = []
    if other_keys:
        notes.append(f"{name}: keys that are not taken over: {', '.join(other_keys)}")
    return Bundle(items, damaged, left=like, notes=notes)


def _content(record: object) -> str:
    """What a memory says; empty where it says nothing."""
    if not isinstance(record, dict):
        return ""
    for key in _TEXT:
        text = record.get(key)
        if isinstance(text, str) and text.strip():
            return text
    return ""


def _user(record: Mapping[str, Any]) -> str:
    """Whose memory it is, as a scope; empty where nobody is named whom a scope can name."""
    if not record.get("user_id"):
        return ""
    user = f"{lessons.USER}:{record['user_id']}"
    if lessons.is_scope(user):
        return user
    return ""


def _memory(
    where: str,
    record: Mapping[str, Any],
    content: str,
    user: str,
    place: ScopePlace,
    now: datetime,
) -> Item:
    tags = []
    if isinstance(record.get("categories"), list):
        tags = list(map(str, record["categories"]))
    return remembered(
        where,
        content.strip().split("\n")[0],
        content,
        place.project,
        moment(record.get("created_at")) or now,
        of=user,
        scope=place.stated,
        tags=tags,
    )


def _records(text: str, name: str) -> list[Any]:
    """The memories in an export: a list, or an object that has one.

    Raises InvalidEntry: it is neither.
    """
    try:
        records = _parsed(text)
    except (ValueError, RecursionError) as error:
        raise InvalidEntry([Problem(name, "neither JSON nor JSON lines")]) from error
    for key in ("results", "memories"):
        if isinstance(records, dict):
            records = records.get(key, records)
    if not isinstance(records, list):
        raise InvalidEntry([Problem(name, "no list of memories")])
    return records


def _parsed(text: str) -> Any:
    """JSON, else a list of the JSON in each line. Raises ValueError, RecursionError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return [json.loads(row) for row in text.split("\n") if row.strip()]
