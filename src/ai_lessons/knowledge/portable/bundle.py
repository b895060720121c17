"""What comes in from elsewhere, as files that are not written yet: the shape that every reader of a format gives."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from ulid import ULID

from ai_lessons.knowledge.checks import TITLE_LENGTH
from ai_lessons.knowledge.entries import HANDLE_LENGTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORDS = {"very-low": 0.1, "low": 0.3, "medium": 0.5, "high": 0.7, "very-high": 0.9}
"""The author's word on a lesson as the probability that other tools keep in its place."""

EPOCH = "1970-01-01T00:00:00Z"


class Item(NamedTuple):
    """One entry that comes in: the bytes of its file, and of a script's side file. `where` names it in its source."""

    where: str
    path: str
    data: bytes
    side: bytes | None = None
    executable: bool = False


class Moved(NamedTuple):
    """A parameter as another tool kept it: `position` (0 to 1) after so many observations. `at` is ISO 8601."""

    name: str
    position: float
    observations: int
    at: str


class Bundle(NamedTuple):
    """What a source holds: entries, and what of it cannot be read, as (where, reason).

    `tallies` are counts by word of what happened to an entry, with `last_used` (ISO 8601 or empty), by its id; `events`
    are whole events as JSON objects, which say the same more exactly.
    """

    items: Sequence[Item] = ()
    damaged: Sequence[tuple[str, str]] = ()
    tallies: Mapping[str, Mapping[str, Any]] = {}
    events: Sequence[Mapping[str, Any]] = ()
    moved: Sequence[Moved] = ()


def made_id(*said: object, created: datetime | None = None) -> str:
    """A ULID that every clone that imports the same thing agrees on; of time zero where it names no date."""
    text = json.dumps(said, sort_keys=True, default=str)
    moment = max(int(created.timestamp() * 1000), 0) if created else 0
    return str(ULID.from_bytes(moment.to_bytes(6, "big") + sha256(text.encode("utf-8", "surrogatepass")).digest()[:10]))


def moment(said: object) -> datetime | None:
    """A date or time as other tools write it, in UTC where it does not say; None for anything else."""
    if isinstance(said, datetime):
        said = said.isoformat()
    try:
        found = datetime.fromisoformat(str(said).strip().replace(" UTC", "Z"))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def word_of(confidence: object) -> str:
    """The author's word that is nearest to a probability, or the word itself."""
    if isinstance(confidence, str) and confidence.strip().lower() in WORDS:
        return confidence.strip().lower()
    try:
        number = float(str(confidence))
    except ValueError:
        return "medium"
    return "medium" if isnan(number) else min(WORDS, key=lambda word: abs(WORDS[word] - number))


def one_line(text: object, limit: int = TITLE_LENGTH) -> str:
    """A title: one line without control characters, cut between words where it is too long."""
    words = "".join(c if c.isprintable() else " " for c in str(text)).split()
    line = " ".join(words)
    if len(line) <= limit:
        return line
    return line[: limit - 1].rpartition(" ")[0].rstrip(" ,;:") + "…" if " " in line[: limit - 1] else line[:limit]


def beside(path: str, entry_id: str) -> str:
    """Another name for an entry whose place is taken."""
    folder, _, name = path.rpartition("/")
    stem, dot, suffix = name.partition(".")
    end = f"-{entry_id[-HANDLE_LENGTH:].lower()}"
    return f"{folder}/{stem}{end}{dot}{suffix}" if folder else f"{stem}{end}{dot}{suffix}"
