"""The cache of vectors, and what fills in those that a table lacks.

Cache, packs of other clones, else the model.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ai_lessons.search.database import EMBED, WRITE, Database, Schema
from ai_lessons.search.model_files import ModelUnavailable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.search.database import RefreshState
    from ai_lessons.search.embedding import Embedder, Vector
    from ai_lessons.search.model_files import Progress
    from ai_lessons.search.rows import IndexRefresh
    from ai_lessons.search.shared_vectors import SharedVectors
    from ai_lessons.search.table import Passages

    Current = Callable[[], Passages | None]
    # Row id, text key, entry id
    Lacking = tuple[str, str, str]

T = TypeVar("T")


class Batches(NamedTuple):
    """Texts that are embedded, and keys that are looked up, at a time."""

    # Texts between two looks at the clock, and lost at most when a process is killed
    texts_at_once: int = 32
    # Vectors of one commit that need not be computed
    known_at_once: int = 4096


AT_ONCE = Batches()

# Of packs that a search looks into itself: 10,000 passages, in a tenth of a second
AT_ONCE_BYTES = 4 << 20
# Computed vectors of one commit, each as many as all before it.
# So the first, which are wanted most, are soon found by meaning. A commit moves its rows out of the
# full-text index until the next tidying, and before each it is looked anew what is wanted first. Up
# to `FEW` are one commit: the parts of the text index that more of them leave break ties anew.
FEW, FEWEST, MOST = 256, 64, 2048


SCHEMA = Schema(
    "embedding cache",
    "CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;",
    version=0,
)


class VectorCache(Database):
    """Vectors by key, in one file shared by all repositories of a user.

    Safe with many processes.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, SCHEMA)

    def __len__(self) -> int:
        return self.ask(lambda db: int(db.execute("SELECT count(*) FROM vectors").fetchone()[0]))

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The cached vectors among `keys`."""
        vectors: dict[str, bytes] = {}
        # Keys per query; SQLite allows 999 parameters in its oldest builds
        for part in slices([bytes.fromhex(key) for key in dict.fromkeys(keys)], 500):
            marks = ",".join("?" * len(part))
            rows = self.rows(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)  # noqa: S608 - only marks
            vectors.update((key.hex(), vector) for key, vector in rows)
        return vectors

    def put(self, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Add vectors, in one transaction; those of known keys stay."""
        rows = []
        for key, vector in vectors:
            rows.append((bytes.fromhex(key), vector))

        def insert(_: sqlite3.Connection) -> None:
            with self.transaction() as db:
                db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

        self.ask(insert)

    def forget(self, keys: Iterable[str]) -> None:
        """Remove vectors, so that the file holds nothing of them any more."""
        rows = []
        for key in keys:
            rows.append((bytes.fromhex(key),))

        def remove(_: sqlite3.Connection) -> None:
            with self.transaction() as db:
                db.executemany("DELETE FROM vectors WHERE key = ?", rows)

        self.ask(remove)
        # what was removed stays in the free pages of the file and in its log until then
        self.ask(lambda db: db.execute("VACUUM"))
        self.ask(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))


def slices(values: Sequence[T], length: int) -> Iterator[Sequence[T]]:
    """The values in parts of at most `length`."""
    return (values[start : start + length] for start in range(0, len(values), length))


def pack(vector: Vector) -> bytes:
    """A vector as the cache keeps it: little-endian float16, 2 x dimensions bytes."""
    return vector.astype("<f2").tobytes()


class MissingVectors:
    """Embedder of one model, cache, packs and table brought together.

    `no_model` says why there is no embedder, if so.

    `at_hand`: whether the embedder needs no download. `order`: ids of entries whose passages come
    first.
    """

    def __init__(
        self,
        model: str,
        vectors: VectorCache,
        state: RefreshState,
        embedder: Callable[[str], Embedder],
        *,
        shared: SharedVectors,
        order: Callable[[], Sequence[str]] = tuple,
        at_hand: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self.model, self.vectors, self._state, self.shared = model, vectors, state, shared
        self._make_embedder, self._order, self._at_hand = embedder, order, at_hand
        self._embedder: Embedder | None = None
        self.no_model = ""
        # Another process was embedding at the last try
        self.elsewhere = False

    def fill(
        self,
        done: IndexRefresh,
        progress: Progress,
        seconds: float | None,
        current: Current,
        *,
        hurried: bool = False,
    ) -> IndexRefresh:
        """Fill in vectors until none is missing or the time is over.

        Holds no write lock while it computes.

        `current` gives the table that is to be filled; it may be another one from one batch to the
        next. `hurried`: many packs are left for a caller with more time.
        """
        began = time.monotonic()
        if seconds is None:
            deadline = float("inf")
        else:
            deadline = began + seconds
        with self._state.locked(EMBED, 0.0) as locked:
            self.elsewhere = not locked and not self._state.trouble
            if not locked:
                return done
            missing = self._fill_in_known(
                done.missing, current, fetch=seconds is None, hurried=hurried
            )
            # in this pass; done.embedded came with the rows
            total, came = missing, done.missing - missing
            if missing and time.monotonic() < deadline:
                self._state.note_progress(missing, 0, 0.0)
            while missing and time.monotonic() < deadline and (table := current()):
                rows = self._next(table, total - missing, missing)

                def show(computed: int, so_far: int = total - missing) -> None:
                    progress("Embedding", so_far + computed, total)
                    self._state.note_progress(
                        total - so_far - computed, so_far + computed, time.monotonic() - began
                    )

                vectors = self._compute(table, rows, deadline, show, fetch=seconds is None)
                if not vectors or not self._store(table, vectors, current):
                    break
                before, missing = missing, table.missing()
                if len(vectors) < len(rows) or missing >= before:
                    break
            self._state.note_progress(0, 0, 0.0)
        return done._replace(embedded=done.embedded + came + total - missing, missing=missing)

    def _fill_in_known(self, missing: int, current: Current, *, fetch: bool, hurried: bool) -> int:
        """Fill in what the cache has, then what packs have; how many are missing after that."""
        table = None
        if missing:
            table = current()
        if table is None:
            return missing
        rows = table.lacking()
        for part in slices(rows, AT_ONCE.known_at_once):
            self._store_known(table, part, self.vectors.get(key for _, key, _ in part), current)
        packs = self.shared.size()
        if packs and not (hurried and packs > AT_ONCE_BYTES):
            self._fill_in_shared(table, current, fetch=fetch)
        return table.missing()

    def _fill_in_shared(self, table: Passages, current: Current, *, fetch: bool) -> None:
        rows = table.lacking()
        row_of = {key: row for row, key, _ in rows}

        def texts(keys: Sequence[str]) -> Mapping[str, str]:
            by_row = table.embedded_texts([row_of[key] for key in keys])
            texts = {}
            for key in keys:
                if row_of[key] in by_row:
                    texts[key] = by_row[row_of[key]]
            return texts

        for vectors in self.shared.take(row_of, texts, lambda: self.embedder(fetch=fetch)):
            self.vectors.put(vectors.items())
            self._store_known(table, [row for row in rows if row[1] in vectors], vectors, current)

    def _store_known(
        self,
        table: Passages,
        rows: Sequence[Lacking],
        vectors: Mapping[str, bytes],
        current: Current,
    ) -> None:
        filled = []
        for row, key, _ in rows:
            if key in vectors:
                filled.append((row, key, vectors[key]))
        for part in slices(filled, AT_ONCE.known_at_once):
            if not self._store(table, part, current):
                break

    def _next(self, table: Passages, computed: int, missing: int) -> list[Lacking]:
        """The rows to compute after so many: of what is searched, then of the newest entries."""
        first = {}
        for place, entry in enumerate(dict.fromkeys((*self._state.asked_for(), *self._order()))):
            first[entry] = place
        rows = sorted(table.lacking(), key=lambda row: first.get(row[2], len(first)))
        if computed + missing <= FEW:
            return rows
        return rows[: min(max(computed, FEWEST), MOST)]

    def _compute(
        self,
        table: Passages,
        rows: Sequence[Lacking],
        deadline: float,
        show: Callable[[int], None],
        *,
        fetch: bool,
    ) -> list[tuple[str, str, bytes]]:
        """(row id, text key, vector) of the rows whose vector is in the cache or could be computed in time."""
        vectors = self.vectors.get(key for _, key, _ in rows)
        to_compute = {}
        for row, key, _ in rows:
            if key not in vectors:
                to_compute[key] = row
        texts = table.embedded_texts(list(to_compute.values()))
        for part in slices(list(to_compute), AT_ONCE.texts_at_once):
            if time.monotonic() >= deadline or self.embedder(fetch=fetch) is None:
                break
            vectors |= self.embed(
                {key: texts[to_compute[key]] for key in part if to_compute[key] in texts}
            )
            show(len(vectors))
        results: list[tuple[str, str, bytes]] = []
        for row, key, _ in rows:
            if key in vectors:
                results.append((row, key, vectors[key]))
        return results

    def embed(self, texts: Mapping[str, str]) -> dict[str, bytes]:
        """Vectors by key, also put into the cache; none if there is no embedder."""
        if self._embedder is None or not texts:
            return {}
        vectors = dict(
            zip(texts, map(pack, self._embedder.embed(list(texts.values()))), strict=True)
        )
        self.vectors.put(vectors.items())
        return vectors

    def _store(
        self, table: Passages, vectors: Sequence[tuple[str, str, bytes]], current: Current
    ) -> bool:
        # giving up would waste the vectors that are computed: the lock is held for moments
        with self._state.locked(WRITE, 30.0) as locked:
            newest = current()
            if not locked or newest is None or newest.number != table.number:
                return False
            before = table.version
            table.set_vectors(vectors)
            missing = table.missing()
            # The full-text index covers every row again before this is called complete.
            table.tidy(thorough=not missing and len(vectors) > AT_ONCE.texts_at_once)
            self._state.advance(table.number, before, table.version, missing)
        return True

    def embedder(self, *, fetch: bool = True) -> Embedder | None:
        """The embedder, or None with the reason in `no_model`.

        A failure is asked again: it may be mended.

        Without `fetch` one that has to be downloaded first is none.
        """
        if self._embedder is None:
            if not fetch and not self._at_hand(self.model):
                self.no_model = f"full text only: {self.model} is not here yet, and is fetched in the background"
                return None
            try:
                self._embedder = self._make_embedder(self.model)
                self.no_model = ""
            except ModelUnavailable as error:
                self.no_model = f"full text only: {error.message}"
        return self._embedder
