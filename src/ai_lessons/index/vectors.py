"""The embedding cache: one vector per (model, text), so that no text is embedded twice on a machine."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Self

from ai_lessons.index.database import Database, Schema

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ai_lessons.index.pinned import Vector

SCHEMA = Schema(
    "embedding cache", "CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;", version=0
)
ASK_AT_ONCE = 500  # Keys per query; SQLite allows 999 parameters in its oldest builds


def vector_key(model: str, text: str) -> str:
    """SHA-256 (hex) of the model's name, a zero byte and the text."""
    return hashlib.sha256(f"{model}\0{text}".encode()).hexdigest()


def pack(vector: Vector) -> bytes:
    """A vector as the cache keeps it: little-endian float16, 2 x dimensions bytes."""
    return vector.astype("<f2").tobytes()


def cosines(rows: Any, asked: Sequence[float]) -> list[float]:
    """The similarity of each row of a matrix: to the last digit the same, however the rows were found."""
    exact = rows.astype("float64")
    lengths = ((exact * exact).sum(axis=1) * sum(x * x for x in asked)) ** 0.5
    found: list[float] = (exact.dot(asked) / lengths.clip(1e-30)).round(9).tolist()
    return found


class VectorCache:
    """Vectors by key, in one file shared by all repositories of a user. Safe with many processes."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._database.ask(lambda db: int(db.execute("SELECT count(*) FROM vectors").fetchone()[0]))

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The vectors that are known among `keys`."""
        wanted = [bytes.fromhex(key) for key in dict.fromkeys(keys)]
        found: dict[str, bytes] = {}

        def look(db: sqlite3.Connection) -> None:
            for start in range(0, len(wanted), ASK_AT_ONCE):
                part = wanted[start : start + ASK_AT_ONCE]
                marks = ",".join("?" * len(part))
                rows = db.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)  # noqa: S608 - only marks
                found.update((key.hex(), vector) for key, vector in rows)

        self._database.ask(look)
        return found

    def put(self, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Remember vectors, in one transaction. Knowing one already is fine."""
        rows = [(bytes.fromhex(key), vector) for key, vector in vectors]

        def insert(_: sqlite3.Connection) -> None:
            with self._database.transaction() as db:
                db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

        self._database.ask(insert)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
