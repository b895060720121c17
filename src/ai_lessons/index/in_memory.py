"""Passages that are kept in memory: comparing every one costs less than asking a database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ai_lessons.index.ranking import QUERY_WORD, RawHit, stem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ai_lessons.index.table import Passages

COLUMNS = ("entry_id", "ordinal", "title", "heading", "text", "vector")

MOST_RULES = 300
"""Passages of rules that are compared in memory: two questions to the table less in every search."""

MOST_VECTORS = 12_000
"""Passages whose vectors are kept, in 18 MB: comparing them takes less than a twentieth of asking the table."""

FILTERS = 16
"""Filters of which is remembered what they let pass, eight bytes a passage."""

Version: TypeAlias = tuple[int, int]
"""Which table, and which version of it."""

_LEAST = 1e-30


class Few:
    """Passages as rows with `COLUMNS`; a row whose vector is None is found by its words alone."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._hits = [RawHit(row["entry_id"], row["ordinal"], 0.0, row["heading"], row["text"]) for row in rows]
        self._texts = [f"{row['title']} {row['heading']} {row['text']}".casefold() for row in rows]
        known = [row for row in rows if row["vector"] is not None]
        matrix = np.array([row["vector"] for row in known], dtype=np.float32, ndmin=2)
        hits = [(row["entry_id"], row["ordinal"], row["heading"], row["text"]) for row in known]
        self._vectors = Vectors((), matrix, hits) if known else None

    def by_words(self, question: str, depth: int) -> tuple[RawHit, ...]:
        """Passages that hold words of the question, those with most first; their number is the score."""
        words = {stem(word) for word in QUERY_WORD.findall(question.casefold())}
        counts = (sum(word in text for word in words) for text in self._texts)
        found = [replace(hit, score=float(count)) for hit, count in zip(self._hits, counts, strict=True) if count]
        return tuple(sorted(found, key=_by_score)[:depth])

    def by_vector(self, vector: Sequence[float], depth: int) -> tuple[RawHit, ...]:
        """Passages by cosine similarity, best first."""
        return self._vectors.by_vector(vector, depth) if self._vectors else ()


class Vectors:
    """The vectors of many passages as rows of `matrix` (float32, not zero), one for each of the row ids.

    `hits` says of each entry id, ordinal, heading and text.
    """

    def __init__(self, ids: Sequence[str], matrix: Any, hits: Sequence[tuple[str, int, str, str]]) -> None:
        self._places = {row: place for place, row in enumerate(ids)}
        self._matrix = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), _LEAST)
        self._hits = hits
        self._passing: dict[str, Any] = {}

    def by_vector(
        self,
        vector: Sequence[float],
        depth: int,
        where: str = "",
        passing: Callable[[str], Collection[str]] = lambda _: (),
    ) -> tuple[RawHit, ...]:
        """Passages by cosine similarity, best first. `passing` tells which rows the filter `where` lets pass."""
        asked = np.asarray(vector, dtype=np.float32)
        scores = self._matrix @ (asked / max(float(np.linalg.norm(asked)), _LEAST))
        places = self._let_pass(where, passing) if where else np.arange(len(scores))
        if len(places) > depth:
            places = places[np.argpartition(-scores[places], depth)[:depth]]
        best = [(float(scores[n]), *self._hits[n]) for n in map(int, places)]
        found = [RawHit(entry, ordinal, score, heading, text) for score, entry, ordinal, heading, text in best]
        return tuple(sorted(found, key=_by_score))

    def _let_pass(self, where: str, passing: Callable[[str], Collection[str]]) -> Any:
        if where not in self._passing:
            if len(self._passing) >= FILTERS:
                self._passing.clear()
            known = [self._places[row] for row in passing(where) if row in self._places]
            self._passing[where] = np.array(known, dtype=np.intp)
        return self._passing[where]


class InMemory:
    """What is kept of a table, as long as it is of the `version` that was looked at. One thread at a time."""

    def __init__(self) -> None:
        self._rules: tuple[Version, Few | None] | None = None
        self._asked_at: Version | None = None
        self._vectors: tuple[Version, Vectors | None] | None = None
        self._count: tuple[Version, int] | None = None

    def count(self, table: Passages, version: Version) -> int:
        """How many passages there are."""
        if self._count is None or self._count[0] != version:
            self._count = version, table.count()
        return self._count[1]

    def rules(self, table: Passages, version: Version, where: str) -> Few | None:
        """The passages that pass the filter for rules; None where there are many."""
        if self._rules is None or self._rules[0] != version:
            rows = table.some(where, COLUMNS, MOST_RULES + 1)
            self._rules = version, Few(rows) if len(rows) <= MOST_RULES else None
        return self._rules[1]

    def by_vector(
        self, table: Passages, version: Version, vector: Sequence[float], where: str, depth: int
    ) -> tuple[RawHit, ...]:
        """Passages by cosine similarity, best first: from the second question on, unless there are very many.

        Whoever asks once, or writes between any two questions, need not wait until every vector is read.
        """
        if self._asked_at != version:
            self._asked_at, self._vectors = version, None
            return table.by_vector(vector, where, depth)
        if self._vectors is None:
            self._vectors = version, table.all_vectors(MOST_VECTORS)
        kept = self._vectors[1]
        if kept is None:
            return table.by_vector(vector, where, depth)
        return kept.by_vector(vector, depth, where, table.ids)


def _by_score(hit: RawHit) -> tuple[float, str, int]:
    return -hit.score, hit.entry_id, hit.ordinal
