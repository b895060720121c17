"""A few passages, all kept in memory: comparing every one costs less than asking a database. Knows no table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ai_lessons.index.ranking import QUERY_WORD, RawHit, stem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COLUMNS = ("entry_id", "ordinal", "title", "heading", "text", "vector")


class Few:
    """Passages as rows with `COLUMNS`; a row whose vector is None is found by its words alone."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._hits = [RawHit(row["entry_id"], row["ordinal"], 0.0, row["heading"], row["text"]) for row in rows]
        self._texts = [f"{row['title']} {row['heading']} {row['text']}".casefold() for row in rows]
        self._known = [place for place, row in enumerate(rows) if row["vector"] is not None]
        self._vectors = np.array([rows[place]["vector"] for place in self._known], dtype=np.float32, ndmin=2)
        self._lengths = np.maximum(np.linalg.norm(self._vectors, axis=1), np.finfo(np.float32).tiny)

    def by_words(self, question: str, depth: int) -> tuple[RawHit, ...]:
        """Passages that hold words of the question, those with most first; their number is the score."""
        words = {stem(word) for word in QUERY_WORD.findall(question.casefold())}
        counts = [sum(word in text for word in words) for text in self._texts]
        return _best(self._hits, map(float, counts), depth, above=0.0)

    def by_vector(self, vector: Sequence[float], depth: int) -> tuple[RawHit, ...]:
        """Passages by cosine similarity, best first."""
        if not self._known:
            return ()
        asked = np.asarray(vector, dtype=np.float32)
        scores = self._vectors @ asked / (self._lengths * max(float(np.linalg.norm(asked)), 1e-30))
        return _best([self._hits[place] for place in self._known], map(float, scores), depth, above=-2.0)


def _best(hits: Sequence[RawHit], scores: Any, depth: int, *, above: float) -> tuple[RawHit, ...]:
    scored = [
        RawHit(hit.entry_id, hit.ordinal, score, hit.heading, hit.text)
        for hit, score in zip(hits, scores, strict=True)
        if score > above
    ]
    return tuple(sorted(scored, key=lambda hit: (-hit.score, hit.entry_id, hit.ordinal))[:depth])
