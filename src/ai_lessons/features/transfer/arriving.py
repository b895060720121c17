"""What another tool's files hold, on its way to become entries: items, what became of each part, ids, and dates.

Pure.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ulid import ULID

from ai_lessons.model import frontmatter, layout, lessons, markdown
from ai_lessons.model.checks import FACTS_OF_HISTORY
from ai_lessons.model.entries import RELEASED, Kind, ulid
from ai_lessons.model.yaml_edit import REMOVE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ai_lessons.model.entries import Entry


class Item(NamedTuple):
    """An imported entry: the bytes of its file, and of a script's side file.

    `where` names it in its source.
    """

    where: str
    path: str
    data: bytes
    side: bytes | None = None
    executable: bool = False


# The outcome for a part of a source.
ADDED, QUEUED, KNOWN, JOINED, SKIPPED, OTHER = FATES = (
    "imported", "proposed", "here already", "joined", "skipped", "not recognised",
)  # fmt: skip


class Bundle(NamedTuple):
    """What a source holds.

    Entries, what of it cannot be read, as (where, reason), and events as JSON objects.

    `left` are parts that bring nothing of their own, as (where, one of `FATES`, what of it).
    `notes` are for people. `stating` are the files of instructions for agents that rules came from.
    `counted` is what another tool counted of entries, by id, and `params` of parameters, by name.
    """

    items: Sequence[Item] = ()
    damaged: Sequence[tuple[str, str]] = ()
    events: Sequence[Mapping[str, Any]] = ()
    left: Sequence[tuple[str, str, str]] = ()
    notes: Sequence[str] = ()
    stating: Sequence[Path] = ()
    counted: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    params: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


def made_id(*parts: object, created: datetime | None = None) -> str:
    """A ULID that depends on `parts` and `created` alone."""
    # two clones that import the same file must not make two entries of it
    text = json.dumps(parts, sort_keys=True, default=str)
    time = 0
    if created:
        time = max(int(created.timestamp() * 1000), 0)
    return ulid(time, sha256(text.encode("utf-8", "surrogatepass")).digest()[:10])


def made(where: str, kind: Kind, project: str, body: str, fields: dict[str, Any]) -> Item:
    """A new lesson or rule as the file that it becomes."""
    path = layout.new_path(kind, project, fields["title"], fields["id"], fields["created"])
    text = markdown.render(fields, frontmatter.body_of(body))
    return Item(where, path, text.encode())


def moment(value: object) -> datetime | None:
    """A date or time of another tool, UTC by default; None for anything else."""
    if isinstance(value, datetime):
        value = value.isoformat()
    try:
        time = datetime.fromisoformat(str(value).strip().replace(" UTC", "Z"))
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        return time.astimezone(UTC)
    except (ValueError, OverflowError):
        # the first and the last day of all years have no time in some zones
        return None


def created_of(entry: Entry) -> str:
    """When an entry was created, by its frontmatter or its id."""
    stated = moment(entry.fields.get("created"))
    return frontmatter.stamp(stated or ULID.from_str(entry.id).datetime)


# --- how sure somebody was ---

# Confidence words as the probabilities that other tools use.
WORDS = {"very-low": 0.1, "low": 0.3, "medium": 0.5, "high": 0.7, "very-high": 0.9}

# What an entry of others may state of itself: nobody here has seen it hold
MODEST = ("very-low", "low", "medium")
# Keys by which an author says how an entry stands, which holds where it was said
_STANDING = ("from", "firm", *FACTS_OF_HISTORY, "reviewed", RELEASED)


def word_of(confidence: object) -> str:
    """The confidence word nearest to a probability, or the word itself."""
    if isinstance(confidence, str) and confidence.strip().lower() in WORDS:
        return confidence.strip().lower()
    try:
        number = float(str(confidence))
    except ValueError:
        return "medium"
    if isnan(number):
        return "medium"
    return min(WORDS, key=lambda word: abs(WORDS[word] - number))


def sure_of(confidence: object) -> dict[str, Any]:
    """What an import keeps of a confidence that is a number, because a word says less.

    Nothing for a word.
    """
    try:
        number = float(str(confidence))
    except ValueError:
        return {}
    if 0 <= number <= 1:
        return {lessons.IMPORTED: {"confidence": repr(number)}}
    return {}


def as_imported(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The changes by which an entry of others has no standing here.

    What its author said of that is kept apart, below `imported`.
    """
    moved = {}
    for key in _STANDING:
        if fields.get(key) not in (None, "", "ai"):
            moved[key] = fields[key]
    changes: dict[str, Any] = dict.fromkeys(moved, REMOVE)
    if "from" in moved:
        changes["from"] = "ai"
    before: dict[str, Any] = {}
    kept = fields.get(lessons.IMPORTED)
    if isinstance(kept, dict):
        before = dict(kept)
    stated = fields.get("confidence")
    if isinstance(stated, str | int | float) and stated not in MODEST:
        moved["confidence"] = before.get("confidence", stated)
        nearest = word_of(stated)
        if nearest not in MODEST:
            nearest = "medium"
        changes["confidence"] = nearest
    if lessons.start_of(fields.get("source")) is not None or fields.get("seen"):
        # its own numbers hold where they were counted
        moved["counted"] = True
    new = before | moved
    if new != before:
        changes[lessons.IMPORTED] = new
    return changes
