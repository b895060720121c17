"""How sure a lesson is that came from elsewhere, as its file states it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model.entries import BEGINS, Kind
from ai_lessons.model.lessons import claimed_of, start_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.entries import Entry, EntrySummary

CLAIMED = "claimed"


def of_entry(entry: Entry) -> Mapping[str, float]:
    """Where the confidence of a promoted lesson begins, and how sure the author of an import was; 0 to 1."""
    if entry.kind is not Kind.LESSON:
        return {}
    facts = {}
    begins, claimed = start_of(entry.fields.get("source")), claimed_of(entry.fields)
    if begins is not None:
        facts[BEGINS] = begins
    if claimed is not None:
        facts[CLAIMED] = claimed
    return facts


def fact(summary: EntrySummary, name: str) -> float | None:
    """One of these facts, None where the file states none, or nothing proves it."""
    facts: Mapping[str, Any] = (summary.facts or {}).get("learning", {})
    number = facts.get(name)
    if isinstance(number, int | float):
        return float(number)
    return None
