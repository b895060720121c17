"""Asks the table of passages in use by text and by vector. Vectors of few passages are kept in memory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ai_lessons.errors import StorageFailed
from ai_lessons.index.model_sources import first_line
from ai_lessons.index.rows import Candidates, Match, PassageFilter, condition, question
from ai_lessons.index.table import LANCE_ERRORS, Passages, cosines, hit_order
from ai_lessons.index.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ai_lessons.index.embedding import Embedder
    from ai_lessons.index.refresh_state import RefreshState
    from ai_lessons.index.vectors import MissingVectors

    Hits = tuple[Match, ...]
    Version = tuple[int, int]  # which table, and which version of it

NO_VERSION = (0, 0)

MOST_KEPT, MOST_FROM_STORAGE = 12_000, 100_000
"""Passages that are kept with their vectors, in 18 MB: comparing 10,000 takes 1 ms, asking the table 16 ms. From object
storage more: every row that an answer reads there costs milliseconds (a process of 100,000 takes 600 MB)."""

FILTERS = 16  # Filters of which is remembered what they let pass, eight bytes a passage

_LEAST = 1e-30


class IndexDamaged(StorageFailed):
    """The table cannot be read. The next refresh rebuilds it."""


class TableQuery:
    """Asks the tables at `uri`. Vectors of another model than that of `filler` are not asked.

    A search looks once which table is in use and of which version it is, and asks that. With `text_alone` no vectors
    are asked for. One thread at a time.
    """

    def __init__(self, uri: str, filler: MissingVectors, state: RefreshState) -> None:
        self._uri, self._filler, self._state = uri, filler, state
        self._seen: tuple[Passages | None, Version] | None = None
        self._memory = VectorMemory(away="://" in uri)
        self._count: tuple[Version, int] | None = None
        self.text_alone = False

    @cached_property
    def tables(self) -> Tables:
        """The tables, opened."""
        return Tables(self._uri)

    def newest(self) -> Passages | None:
        """The table in use. Raises StorageFailed: the place cannot be read."""
        try:
            return self.tables.newest()
        except LANCE_ERRORS as error:
            raise StorageFailed(f"the index at {self._uri} cannot be opened: {first_line(error)}") from error

    def inspect(self) -> tuple[Passages | None, Version]:
        """The table in use now, and which version of it. Raises LANCE_ERRORS, and as `newest`."""
        table = self.newest()
        self._seen = table, (table.number, table.version) if table else NO_VERSION
        return self._seen

    def last_seen(self) -> tuple[Passages | None, Version]:
        """The table and version of the last inspection, if it is still valid."""
        return self._seen or self.inspect()

    def forget_seen(self) -> None:
        """The next question inspects the tables again."""
        self._seen = None

    def forget(self) -> None:
        """Open the tables anew at the next question: their files may be gone."""
        self.__dict__.pop("tables", None)
        self.forget_seen()

    def passages(self) -> int:
        """How many passages there are."""
        table, version = self.last_seen()
        if self._count is None or self._count[0] != version:
            self._count = version, table.count() if table else 0
        return self._count[1]

    def begin(self, text: str, passage_filter: PassageFilter, depth: int) -> Callable[[], Candidates]:
        """`Index.candidates` of the table that the last refresh saw, in two steps.

        The search by text begins now; the returned function waits for it and searches by vector.
        """
        asked, where = question(text), condition(passage_filter)
        table, version = self._seen if asked and self._seen else (None, NO_VERSION)
        begun = [self._by_text(table, version, asked, where, depth)] if table else []

        def answer() -> Candidates:
            table, version = self.last_seen() if asked else (None, NO_VERSION)
            if table is None:
                return Candidates(depth=depth)
            embedder, note = self._embedder(table)
            by_vector = self._near(table, version, asked, embedder, where, depth) if embedder else ()
            by_text = (begun.pop() if begun else self._by_text(table, version, asked, where, depth))()
            if passage_filter.phrases:
                by_text = table.holding(by_text, where, depth)
            return Candidates(by_text, by_vector, depth, note, embedder.name if embedder else "")

        def answer_again() -> Candidates:
            try:
                return answer()
            except LANCE_ERRORS:
                # A rebuild or a clean-up by another process took the files of an older version away.
                self.forget()
            try:
                return answer()
            except LANCE_ERRORS as error:
                self._state.report_damage(f"it could not be read ({first_line(error)})")
                raise IndexDamaged(f"the index at {self._uri} is damaged: {first_line(error)}") from error

        return answer_again

    def _embedder(self, table: Passages) -> tuple[Embedder | None, str]:
        """The embedder for questions to this table, or why there is none. Vectors of different models never compare."""
        if table.model != self._filler.model:
            return None, f"full text only: the vectors here are of {table.model}, not of {self._filler.model}"
        embedder = None if self.text_alone else self._filler.embedder()
        return embedder, "" if embedder else self._filler.no_model

    def _by_text(self, table: Passages, version: Version, asked: str, where: str, depth: int) -> Callable[[], Hits]:
        kept = self._memory.vectors(table, version, asked)
        if kept is None or len(kept.hits) < self.passages():
            return table.by_text(asked, where, depth)
        begun = table.rows_by_text(asked, where, depth)
        return lambda: kept.matches(begun())

    def _near(self, table: Passages, version: Version, asked: str, embedder: Embedder, where: str, depth: int) -> Hits:
        vector = [float(x) for x in embedder.embed_query(asked)]
        kept = self._memory.vectors(table, version, asked)
        if kept is None:
            return table.by_vector(vector, where, depth)
        return kept.by_vector(vector, depth, where, table.rows)


class Vectors:
    """Many passages: their vectors as lines of `matrix` (float32), one for each of the rows of a table.

    `hits` holds entry id, ordinal, heading, text and section of each.
    """

    def __init__(self, rows: Sequence[int], matrix: Any, hits: Sequence[tuple[str, int, str, str, int]]) -> None:
        self._places = {row: place for place, row in enumerate(rows)}
        self._matrix, self._lengths = matrix, np.maximum(np.linalg.norm(matrix, axis=1), _LEAST)
        self.hits = hits
        self._passing: dict[str, Any] = {}

    def matches(self, rows: Iterable[tuple[int, float]]) -> Hits:
        """Passages by row and score, best first; rows that others have just written are left out."""
        return self._sorted((self._places[row], score) for row, score in rows if row in self._places)

    def by_vector(
        self, vector: Sequence[float], depth: int, where: str, passing: Callable[[str], Sequence[int]]
    ) -> Hits:
        """Passages by cosine similarity, best first. `passing` gives the rows that the filter `where` lets pass."""
        # one thread: BLAS would take all cores, and wait for those that have other work
        scores = np.einsum("ij,j->i", self._matrix, np.asarray(vector, dtype=np.float32)) / self._lengths
        places = self._let_pass(where, passing) if where else np.arange(len(scores))
        if len(places) > depth:
            places = places[np.argpartition(-scores[places], depth)[:depth]]
        return self._sorted(zip(map(int, places), cosines(self._matrix[places], vector), strict=True))

    def _sorted(self, places: Iterable[tuple[int, float]]) -> Hits:
        hits = []
        for place, score in places:
            entry, ordinal, heading, text, section = self.hits[place]
            hits.append(Match(entry, ordinal, score, heading, text, section))
        return tuple(sorted(hits, key=hit_order))

    def _let_pass(self, where: str, passing: Callable[[str], Sequence[int]]) -> Any:
        if where not in self._passing:
            if len(self._passing) >= FILTERS:
                self._passing.clear()
            places = [self._places[row] for row in passing(where) if row in self._places]
            self._passing[where] = np.array(places, dtype=np.intp)
        return self._passing[where]


class VectorMemory:
    """The vectors of a table, read at the second question to one version of it.

    A process that asks once, or writes between any two questions, does not read every vector.
    """

    def __init__(self, *, away: bool) -> None:
        """`away`: the table lies in object storage."""
        self._away = away
        self._first: tuple[Version, str] | None = None
        self._vectors: tuple[Version, Vectors | None] | None = None

    def vectors(self, table: Passages, version: Version, asked: str) -> Vectors | None:
        """The vectors of this version; None at the first question, or where there are too many."""
        if self._first is None or self._first[0] != version:
            self._first, self._vectors = (version, asked), None
        if self._vectors is None and asked != self._first[1]:
            kept = table.all_vectors(MOST_FROM_STORAGE if self._away else MOST_KEPT)
            self._vectors = version, Vectors(*kept) if kept else None
        return self._vectors[1] if self._vectors else None
