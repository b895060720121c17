"""Questions to the index, by words and by vectors, while other processes write to it."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ai_lessons.errors import StorageFailed
from ai_lessons.search.conditions import condition
from ai_lessons.search.index_tables import Tables
from ai_lessons.search.model_files import first_line
from ai_lessons.search.rows import Candidates, Match
from ai_lessons.search.table import LANCE_ERRORS, cosines, hit_order
from ai_lessons.search.tokens import question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ai_lessons.model.entries import Filter
    from ai_lessons.search.database import RefreshState
    from ai_lessons.search.embedding import Embedder
    from ai_lessons.search.missing_vectors import MissingVectors
    from ai_lessons.search.table import Passages

    Hits = tuple[Match, ...]
    Version = tuple[int, int]

NO_VERSION = (0, 0)

# Passages that are kept with their vectors, in 18 MB.
# Comparing 10,000 takes 1 ms, asking the table 16 ms. From object storage more: every row that an
# answer reads there costs milliseconds (a process of 100,000 takes 600 MB).
MOST_KEPT, MOST_FROM_STORAGE = 12_000, 100_000

# Filters of which is remembered what they let pass, eight bytes a passage
FILTERS = 16


class IndexDamaged(StorageFailed):
    """The table cannot be read. The next refresh rebuilds it."""


class TableQuery:
    """Asks the tables at `uri`. Vectors of another model than that of `filler` are not asked.

    A search looks once which table is in use and of which version it is, and asks that. With
    `text_alone` no vectors are asked for. One thread at a time.
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
            raise StorageFailed(
                f"the index at {self._uri} cannot be opened: {first_line(error)}"
            ) from error

    def inspect(self) -> tuple[Passages | None, Version]:
        """The table in use now, and which version of it. Raises LANCE_ERRORS, and as `newest`."""
        table = self.newest()
        version = NO_VERSION
        if table:
            version = (table.number, table.version)
        self._seen = table, version
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
            number = 0
            if table:
                number = table.count()
            self._count = version, number
        return self._count[1]

    def begin(self, text: str, passing: Filter, depth: int) -> Callable[[], Candidates]:
        """`Index.candidates` of the table that the last refresh saw, in two steps.

        The search by text begins now; the returned function waits for it and searches by vector.
        """
        asked, where = question(text), condition(passing)
        if not asked:
            return lambda: Candidates(depth=depth)
        # at most one search by text that has begun; a second answer begins its own
        begun: list[Callable[[], Hits]] = []
        if self._seen:
            table, version = self._seen
            if table:
                begun.append(self._by_text(table, version, asked, where, depth))

        def answer() -> Candidates:
            table, version = self.last_seen()
            if table is None:
                return Candidates(depth=depth)
            embedder, note = self._embedder(table)
            by_vector: Hits = ()
            if embedder:
                # while the search by text, which has begun, goes on
                by_vector = self._near(table, version, asked, embedder, where, depth)
            if not begun:
                begun.append(self._by_text(table, version, asked, where, depth))
            by_text = begun.pop()()
            if passing.phrases:
                by_text = table.holding(by_text, where, depth)
            if embedder is None:
                return Candidates(by_text, by_vector, depth, note)
            read = embedder.reads(asked)
            return Candidates(by_text, by_vector, depth, note, embedder.name, read)

        def answer_again() -> Candidates:
            with suppress(*LANCE_ERRORS):
                # a rebuild or a clean-up by another process took an older version's files
                candidates = answer()
                # a table that is being removed finds no text, without an error, while its rows are
                # still there
                if candidates.text or not self._replaced():
                    return candidates
            self.forget()
            try:
                return answer()
            except LANCE_ERRORS as error:
                self._state.report_damage(f"it could not be read ({first_line(error)})")
                raise IndexDamaged(
                    f"the index at {self._uri} is damaged: {first_line(error)}"
                ) from error

        return answer_again

    def _replaced(self) -> bool:
        """Whether another table is in use by now than the one that was asked."""
        table, _ = self._seen or (None, NO_VERSION)
        return table is not None and self.tables.newest() is not table

    def _embedder(self, table: Passages) -> tuple[Embedder | None, str]:
        """The embedder for questions to this table, or why there is none.

        Vectors of different models never compare.
        """
        if table.model != self._filler.model:
            models = f"of {table.model}, not of {self._filler.model}"
            return None, f"full text only: the vectors here are {models}"
        embedder = None
        if not self.text_alone:
            # a question waits for no download
            embedder = self._filler.embedder(fetch=False)
        if embedder:
            return embedder, ""
        return None, self._filler.no_model

    def _by_text(
        self, table: Passages, version: Version, asked: str, where: str, depth: int
    ) -> Callable[[], Hits]:
        kept = self._memory.vectors(table, version, asked)
        if kept is None or len(kept.hits) < self.passages():
            return table.by_text(asked, where, depth)
        begun = table.rows_by_text(asked, where, depth)
        return lambda: kept.matches(begun())

    def _near(
        self,
        table: Passages,
        version: Version,
        asked: str,
        embedder: Embedder,
        where: str,
        depth: int,
    ) -> Hits:
        vector = list(map(float, embedder.embed_query(asked)))
        kept = self._memory.vectors(table, version, asked)
        if kept is None:
            return table.by_vector(vector, where, depth)
        return kept.by_vector(vector, depth, where, table.rows)


class Vectors:
    """Many passages.

    Their vectors as lines of `matrix` (float32), one for each of the rows of a table.

    `hits` holds entry id, ordinal, heading, text and section of each.
    """

    def __init__(
        self, rows: Sequence[int], matrix: Any, hits: Sequence[tuple[str, int, str, str, int]]
    ) -> None:
        self._places = {row: place for place, row in enumerate(rows)}
        # a vector of zeros must not divide by 0
        self._matrix, self._lengths = matrix, np.maximum(np.linalg.norm(matrix, axis=1), 1e-30)
        self.hits = hits
        self._passing: dict[str, Any] = {}

    def matches(self, rows: Iterable[tuple[int, float]]) -> Hits:
        """Passages by row and score, best first.

        Rows that others have just written are left out.
        """
        places = [(self._places[row], score) for row, score in rows if row in self._places]
        return self._sorted(places)

    def by_vector(
        self,
        vector: Sequence[float],
        depth: int,
        where: str,
        passing: Callable[[str], Sequence[int]],
    ) -> Hits:
        """Passages by cosine similarity, best first.

        `passing` gives the rows that the filter `where` lets pass.
        """
        asked = np.asarray(vector, dtype=np.float32)
        # one thread: BLAS would take all cores, and wait for those that have other work
        scores = np.einsum("ij,j->i", self._matrix, asked) / self._lengths
        if where:
            places = self._let_pass(where, passing)
        else:
            places = np.arange(len(scores))
        if len(places) > depth:
            places = places[np.argpartition(-scores[places], depth)[:depth]]
        # exactly, as the table has it: a sum in another order differs in its last digits
        exact = cosines(self._matrix[places], vector)
        return self._sorted(zip(map(int, places), exact, strict=True))

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
            most = MOST_KEPT
            if self._away:
                most = MOST_FROM_STORAGE
            kept = table.all_vectors(most)
            vectors = None
            if kept:
                vectors = Vectors(*kept)
            # also that there are too many: it is not asked again
            self._vectors = version, vectors
        if self._vectors:
            return self._vectors[1]
        return None
