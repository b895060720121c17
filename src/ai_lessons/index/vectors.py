"""The embedding cache: one vector per (model, text), so that no text is embedded twice on a machine.

A SQLite file that may be deleted at any time. It never computes a vector and does not know what one means: values
are bytes as `pack` makes them (little-endian float16, 2 x dimensions bytes).
"""

from __future__ import annotations

import hashlib
import sqlite3
from typing import TYPE_CHECKING, Self

from ai_lessons.errors import StorageFailed
from ai_lessons.index.wal import use_wal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from ai_lessons.index.pinned import Vector

SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
PATIENCE = 30.0
"""Seconds to wait for another process that writes."""

ASK_AT_ONCE = 500
"""Keys per query; SQLite allows 999 parameters in its oldest builds."""


def vector_key(model: str, text: str) -> str:
    """SHA-256 (hex) of the model's name, a zero byte and the text."""
    return hashlib.sha256(f"{model}\0{text}".encode()).hexdigest()


def pack(vector: Vector) -> bytes:
    """A vector as the cache keeps it: little-endian float16, 2 x dimensions bytes."""
    return vector.astype("<f2").tobytes()


class VectorCache:
    """Vectors by key, in one file shared by all repositories of a user. Safe with many processes and threads.

    A damaged file is replaced by an empty one; `rebuilt` then says so in one line. Raises StorageFailed where the
    file cannot be made or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self.rebuilt = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self._rows("SELECT count(*) FROM vectors")[0][0])

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The vectors that are known among `keys`."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, bytes] = {}
        for start in range(0, len(wanted), ASK_AT_ONCE):
            part = [bytes.fromhex(key) for key in wanted[start : start + ASK_AT_ONCE]]
            marks = ",".join("?" * len(part))
            rows = self._rows(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)  # noqa: S608 - only marks
            found.update((key.hex(), vector) for key, vector in rows)
        return found

    def put(self, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Remember vectors, in one transaction. Knowing one already is fine."""
        rows = [(bytes.fromhex(key), vector) for key, vector in vectors]
        try:
            self._insert(rows)
        except sqlite3.DatabaseError as error:
            self._start_again(error)
            self._insert(rows)

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _insert(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        with self._open() as connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    def _rows(self, sql: str, values: Sequence[bytes] = ()) -> list[tuple[bytes, bytes]]:
        try:
            return self._open().execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            self._start_again(error)
            return self._open().execute(sql, values).fetchall()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                connection = sqlite3.connect(self._path, timeout=PATIENCE, check_same_thread=False)
            except (OSError, sqlite3.OperationalError) as error:
                raise StorageFailed(f"the embedding cache {self._path} cannot be opened: {error}") from error
            self._connection = connection
            # Losing the last vectors in a power cut costs a second of embedding; waiting for the disk costs more.
            use_wal(connection, PATIENCE)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(SCHEMA)
        return self._connection

    def _start_again(self, error: sqlite3.DatabaseError) -> None:
        """Replace a damaged file; anything else (locked, full, read-only) is the caller's trouble."""
        self.close()
        if isinstance(error, sqlite3.OperationalError):
            raise StorageFailed(f"the embedding cache {self._path} cannot be used: {error}") from error
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self.rebuilt = f"the embedding cache was damaged ({error}) and starts empty"
