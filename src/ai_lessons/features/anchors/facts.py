"""What an entry states in `about`: as the catalog keeps it, and as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.features.anchors.anchors import MOST, Anchor, anchors_of, commands_of, faults
from ai_lessons.model.entries import ABOUT
from ai_lessons.model.names import COMMANDS, PACKAGES, PLACES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ai_lessons.app.workspace import Reading
    from ai_lessons.model.entries import Entry, EntrySummary

NAME = "anchors"

_TEXT = {"type": "string"}
SCHEMA = {
    "type": "array",
    "maxItems": MOST,
    "items": {
        "type": "object",
        "properties": dict.fromkeys(("code", "package", "seen", "in"), _TEXT),
        "oneOf": [{"required": ["code"]}, {"required": ["package"]}],
        "additionalProperties": False,
    },
}


def of_entry(entry: Entry) -> Mapping[str, Any]:
    """The value of `about`, where something in it can be read, and what that names."""
    stated = entry.fields[ABOUT]
    places, packages = list[str](), list[str]()
    for anchor in anchors_of(stated):
        if anchor.package:
            packages.append(str(anchor))
        else:
            places.append(str(anchor))
    names = {PLACES: places, PACKAGES: packages, COMMANDS: list(commands_of(stated))}
    facts: dict[str, Any] = {}
    for sort, texts in names.items():
        # the catalog looks for the key of a sort in its text
        if texts:
            facts[sort] = texts
    if facts:
        facts[ABOUT] = stated
    return facts


def problems(entry: Entry) -> Iterator[tuple[str, str]]:
    """What is wrong with the value of `about`."""
    for fault in faults(entry.fields[ABOUT]):
        yield ABOUT, fault


def anchors_in(summary: EntrySummary) -> tuple[Anchor, ...]:
    """The anchors that an entry states."""
    facts = (summary.facts or {}).get(NAME, {})
    return anchors_of(facts.get(ABOUT))


def anchors_by_entry(reading: Reading) -> Iterator[tuple[str, tuple[Anchor, ...]]]:
    """The ids of entries that state anchors, with these. The catalog is up to date."""
    for entry_id, facts in reading.catalog.facts(NAME).items():
        stated = anchors_of(facts[ABOUT])
        if stated:
            yield entry_id, stated


def with_facts(reading: Reading, summaries: Iterable[EntrySummary]) -> list[EntrySummary]:
    """Those of some entries that state anything."""
    ids = reading.catalog.facts(NAME)
    return [summary for summary in summaries if summary.id in ids]


def in_words(stated: object) -> list[str]:
    """What an entry speaks of, commands in backticks."""
    words = []
    for anchor in anchors_of(stated):
        words.append(str(anchor))
    for command in commands_of(stated):
        words.append(f"`{command}`")
    return words
