"""What an entry names beside its globs of files, as features keep it among their facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons import extensions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ai_lessons.model.entries import Entry, EntrySummary

# Keys of facts, each a list of texts. Commands are as they are typed.
COMMANDS = "commands"
# A place is a path, perhaps with a symbol behind `::`
PLACES = "places"
PACKAGES = "packages"


def names_of(entry: Entry) -> dict[str, list[str]]:
    """What an entry names, by sort, as its file states it."""
    facts = [facts_of(entry) for _, facts_of in extensions.concerning("facts", entry.fields)]
    return _names_in(facts)


def names_of_summary(summary: EntrySummary) -> dict[str, list[str]]:
    """What an entry names, by sort, as the catalog has it."""
    return _names_in((summary.facts or {}).values())


def _names_in(facts_of_features: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for facts in facts_of_features:
        for sort in (PLACES, PACKAGES, COMMANDS):
            if sort in facts:
                names.setdefault(sort, []).extend(facts[sort])
    return names
