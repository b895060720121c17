"""SQLite databases of other programs, read within bounds.

Their tables only, nothing that they define is run.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.git.files import READ_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Work(NamedTuple):
    """A connection is cut off after `times` times `steps` steps of SQLite's machine.

    Full table scans take far fewer.
    """

    steps: int = 1_000_000
    times: int = 2_000


MOST_WORK = Work()

_SETTINGS = (
    "trusted_schema = OFF",
    "query_only = ON",
    "cell_size_check = ON",
    "temp_store = MEMORY",
)


@contextmanager
def foreign(file: Path) -> Iterator[sqlite3.Connection]:
    """A database that is only read.

    A query raises sqlite3.Error: the file is none, or it asks for too much work.
    """
    left = [MOST_WORK.times]

    def is_over() -> bool:
        left[0] -= 1
        return left[0] < 0

    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as db:
        db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        db.set_progress_handler(is_over, MOST_WORK.steps)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, READ_LIMIT)
        for setting in _SETTINGS:
            db.execute(f"PRAGMA {setting}")
        yield db


def tables(db: sqlite3.Connection) -> dict[str, tuple[str, dict[str, str]]]:
    """The tables by their name in small letters.

    Their quoted name, and that of each column that is stored.

    A view, a virtual table and a computed column can be without end; they are left out.
    """
    plain = dict[str, tuple[str, dict[str, str]]]()
    for name, sql in db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    ).fetchall():
        if str(sql).upper().lstrip().startswith("CREATE VIRTUAL"):
            continue
        rows = db.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (name,)).fetchall()
        stored = []
        for column, hidden in rows:
            # what `table_xinfo` says of a column that is neither hidden nor computed
            if hidden == 0:
                stored.append(column)
        plain[str(name).lower()] = (
            _quoted(name),
            {column.lower(): _quoted(column) for column in stored},
        )
    return plain


def _quoted(name: str) -> str:
    sign = str(name).replace('"', '""')
    return f'"{sign}"'
