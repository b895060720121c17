"""Vectors of passages: a cache by (model, text) for the whole machine, and filling in the missing ones."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from ai_lessons.index.database import Database, Schema
from ai_lessons.index.model_files import ModelUnavailable
from ai_lessons.index.refresh_state import EMBED, WRITE, RefreshState

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.index.embedding import Embedder, Vector
    from ai_lessons.index.model_sources import Progress
    from ai_lessons.index.rows import IndexRefresh
    from ai_lessons.index.table import Passages

T = TypeVar("T")

SCHEMA = Schema(
    "embedding cache", "CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;", version=0
)
ASK_AT_ONCE = 500  # Keys per query; SQLite allows 999 parameters in its oldest builds

TEXTS_AT_ONCE = 32  # Texts between two looks at the clock, and lost at most when a process is killed
VECTORS_AT_ONCE = 1024  # Vectors per commit: each moves its rows out of the full-text index until the next tidying
PATIENCE = 30.0  # Seconds to wait for the short write lock where giving up would waste work


def pack(vector: Vector) -> bytes:
    """A vector as the cache keeps it: little-endian float16, 2 x dimensions bytes."""
    return vector.astype("<f2").tobytes()


class VectorCache(Database):
    """Vectors by key, in one file shared by all repositories of a user. Safe with many processes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, SCHEMA)

    def __len__(self) -> int:
        return self.ask(lambda db: int(db.execute("SELECT count(*) FROM vectors").fetchone()[0]))

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The cached vectors among `keys`."""
        vectors: dict[str, bytes] = {}
        for part in slices([bytes.fromhex(key) for key in dict.fromkeys(keys)], ASK_AT_ONCE):
            marks = ",".join("?" * len(part))
            rows = self._rows(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)  # noqa: S608 - only marks
            vectors.update((key.hex(), vector) for key, vector in rows)
        return vectors

    def put(self, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Add vectors, in one transaction; those of known keys stay."""
        rows = [(bytes.fromhex(key), vector) for key, vector in vectors]

        def insert(_: sqlite3.Connection) -> None:
            with self.transaction() as db:
                db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

        self.ask(insert)


class MissingVectors:
    """Embedder of one model, cache and table brought together. `no_model` says why there is no embedder, if so."""

    def __init__(
        self,
        model: str,
        vectors: VectorCache,
        state: RefreshState,
        embedder: Callable[[str], Embedder],
    ) -> None:
        self.model, self._vectors, self._state = model, vectors, state
        self._make_embedder = embedder
        self._embedder: Embedder | None = None
        self.no_model = ""

    def fill(
        self, done: IndexRefresh, progress: Progress, seconds: float | None, current: Callable[[], Passages | None]
    ) -> IndexRefresh:
        """Fill in vectors until none is missing or the time is over. Holds no write lock while it computes.

        `current` gives the table that is to be filled; it may be another one from one batch to the next.
        """
        deadline = float("inf") if seconds is None else time.monotonic() + seconds
        with self._state.locked(EMBED, 0.0) as locked:
            embedded, missing = 0, done.missing  # of this pass; done.embedded came with the rows
            while locked and missing and (table := current()):
                rows = table.without_vector(VECTORS_AT_ONCE)
                vectors = self._compute(rows, deadline, progress, embedded, done.missing)
                if not vectors or not self._store(table, vectors, current):
                    break
                before, missing = missing, table.missing()
                embedded += before - missing
                if len(vectors) < len(rows) or missing >= before:
                    break
        return done._replace(embedded=done.embedded + embedded, missing=missing)

    def _compute(
        self, rows: Sequence[tuple[str, str, str]], deadline: float, progress: Progress, before: int, total: int
    ) -> list[tuple[str, str, bytes]]:
        """(row id, text key, vector) of the rows whose vector is in the cache or could be computed in time."""
        vectors = self._vectors.get(key for _, key, _ in rows)
        texts = {key: text for _, key, text in rows if key not in vectors}
        for part in slices(sorted(texts, key=lambda key: len(texts[key])), TEXTS_AT_ONCE):
            if time.monotonic() >= deadline or self.embedder() is None:
                break
            vectors |= self.embed({key: texts[key] for key in part})
            progress("Embedding", before + len(vectors), total)
        return [(row, key, vectors[key]) for row, key, _ in rows if key in vectors]

    def embed(self, texts: Mapping[str, str]) -> dict[str, bytes]:
        """Vectors by key, also put into the cache; none if there is no embedder."""
        if self._embedder is None or not texts:
            return {}
        vectors = dict(zip(texts, map(pack, self._embedder.embed(list(texts.values()))), strict=True))
        self._vectors.put(vectors.items())
        return vectors

    def _store(
        self, table: Passages, vectors: Sequence[tuple[str, str, bytes]], current: Callable[[], Passages | None]
    ) -> bool:
        with self._state.locked(WRITE, PATIENCE) as locked:
            newest = current()
            if not locked or newest is None or newest.number != table.number:
                return False
            before = table.version
            table.set_vectors(vectors)
            missing = table.missing()
            # The full-text index covers every row again before this is called complete.
            table.tidy(thorough=not missing and len(vectors) > TEXTS_AT_ONCE)
            self._state.advance(table.number, before, table.version, missing)
        return True

    def embedder(self) -> Embedder | None:
        """The embedder, or None with the reason in `no_model`. A failure is asked again: it may be mended."""
        if self._embedder is None:
            try:
                self._embedder = self._make_embedder(self.model)
                self.no_model = ""
            except ModelUnavailable as error:
                self.no_model = f"full text only: {error.message}"
        return self._embedder


def slices(values: Sequence[T], length: int) -> Iterator[Sequence[T]]:
    """The values in parts of at most `length`."""
    return (values[start : start + length] for start in range(0, len(values), length))
