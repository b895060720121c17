"""Opening the small databases of this room, which several processes make and use at once."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def closed_on_error(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """The connection while it is made ready; it is closed where that fails."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def use_wal(connection: sqlite3.Connection, patience: float) -> None:
    """Switch to write-ahead logging, waiting up to `patience` seconds for others.

    SQLite does not wait by itself when two connections switch at once.

    Raises:
        sqlite3.OperationalError: it is still locked, or cannot be written.
    """
    give_up = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return
