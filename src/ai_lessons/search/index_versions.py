"""What a text left in the tables of an index, in every version that lies there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import StorageFailed
from ai_lessons.search.conditions import one_of, quoted
from ai_lessons.search.connections import connect
from ai_lessons.search.model_files import first_line
from ai_lessons.search.table import LANCE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Sequence

# Columns that hold words of an entry as they are written
_TEXTS = ("title", "heading", "text")
_MOST_TABLES = 10_000


class IndexVersions(NamedTuple):
    """How many versions of tables there are, and in how many of them it stands.

    `keys`: of the texts whose vectors these rows have.
    """

    every: int = 0
    holding: int = 0
    keys: frozenset[str] = frozenset()


def versions_holding(uri: str, texts: Sequence[str], entry: str = "") -> IndexVersions:
    """The versions of all tables at a folder or address whose rows hold a text, or are of an entry.

    Raises StorageFailed: they cannot be read.
    """
    if "://" not in uri and not os.path.isdir(uri):
        return IndexVersions()
    where = _condition(texts, entry)
    every = holding = 0
    keys: set[str] = set()
    try:
        database, _ = connect(uri)
        for name in database.list_tables(limit=_MOST_TABLES).tables:
            table = database.open_table(name)
            if "entry_id" not in table.schema.names:
                # the sign of a process that writes
                continue
            for version in table.list_versions():
                table.checkout(version["version"])
                number = int(table.count_rows(where))
                every += 1
                if number:
                    holding += 1
                    rows = table.search().where(where).select(["text_key"]).limit(number)
                    keys.update(rows.to_arrow().column("text_key").to_pylist())
    except LANCE_ERRORS as error:
        raise StorageFailed(f"the index at {uri} cannot be read: {first_line(error)}") from error
    return IndexVersions(every, holding, frozenset(keys))


def _condition(texts: Sequence[str], entry: str) -> str:
    """A condition that holds for no row if there are no texts and no entry."""
    conditions = ["false"]
    if entry:
        conditions.append(one_of("entry_id", [entry]))
    for text in texts:
        for column in _TEXTS:
            conditions.append(f"contains({column}, {quoted(text)})")
    return " OR ".join(conditions)
