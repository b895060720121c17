"""What an entry states in `about`: as the catalog keeps it, and as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.features.anchors.anchors import MOST, Anchor, anchors_of, commands_of, faults
from ai_lessons.model.entries import ABOUT
from ai_lessons.model.names import CODE, COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.app.workspace import Reading
    from ai_lessons.model.entries import Entry

PACKAGES = "packages"

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
    """The value of `about`, where something in it can be read."""
    stated = entry.fields[ABOUT]
    if anchors_of(stated) or commands_of(stated):
        return {ABOUT: stated}
    return {}


def names(entry: Entry) -> Mapping[str, list[str]]:
    """The places, packages and commands that an entry names in `about`."""
    stated = entry.fields[ABOUT]
    code, packages = list[str](), list[str]()
    for anchor in anchors_of(stated):
        if anchor.package:
            packages.append(str(anchor))
        else:
            code.append(str(anchor))
    return {CODE: code, PACKAGES: packages, COMMANDS: list(commands_of(stated))}


def problems(entry: Entry) -> Iterator[tuple[str, str]]:
    """What is wrong with the value of `about`."""
    for fault in faults(entry.fields[ABOUT]):
        yield ABOUT, fault


def anchors_by_entry(reading: Reading) -> dict[str, tuple[Anchor, ...]]:
    """The anchors of the entries that state any, by id. The catalog is up to date."""
    anchors = {}
    for entry_id, facts in reading.catalog.facts("anchors").items():
        stated = anchors_of(facts[ABOUT])
        if stated:
            anchors[entry_id] = stated
    return anchors


def commands_by_entry(reading: Reading) -> dict[str, tuple[str, ...]]:
    """The commands of the entries that state any, by id."""
    commands = {}
    for entry_id, facts in reading.catalog.facts("anchors").items():
        stated = commands_of(facts[ABOUT])
        if stated:
            commands[entry_id] = stated
    return commands


def in_words(stated: object) -> list[str]:
    """What an entry speaks of, commands in backticks."""
    words = []
    for anchor in anchors_of(stated):
        words.append(str(anchor))
    for command in commands_of(stated):
        words.append(f"`{command}`")
    return words
