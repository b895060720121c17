"""What an entry names beside its globs of files, as features read it from their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons import extensions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.model.entries import Entry

# Commands, as they are typed
COMMANDS = "commands"
# Places in code: a path, perhaps with a symbol behind `::`
CODE = "code"


def names_of(entry: Entry) -> dict[str, list[str]]:
    """What an entry names, by sort: `COMMANDS`, `CODE`, and what a feature calls otherwise."""
    names: dict[str, list[str]] = {}
    for _, names_in in extensions.concerning("names", entry.fields):
        stated: Mapping[str, Sequence[str]] = names_in(entry)
        for sort, texts in stated.items():
            if texts:
                names.setdefault(sort, []).extend(texts)
    return names
