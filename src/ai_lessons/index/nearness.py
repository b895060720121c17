"""When an answer is none: vectors always find something, and words like `file` stand in many texts. Pure.

A question is near to what is stored if the nearest passage is similar enough, or one of the best results holds most of
the question's words. The nearest of many passages is nearer by chance than that of few, so the bar rises with their
number. Measured by `python -m bench.nearness --data FOLDER`, on questions put to the set that answers them and to sets
of other fields (docs/benchmarks.md).
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from ai_lessons.index.identifiers import LOST
from ai_lessons.index.model_spec import PINNED
from ai_lessons.index.ranking import QUERY_WORD, stem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.index.rows import Candidates

LEAST, RISE, MOST = 0.51, 0.015, 0.64
"""Cosine similarity: LEAST + RISE x ln(passages), at most MOST; 0.56 for 20 passages, 0.62 for 1,500."""

MEASURED = frozenset({PINNED.name})
"""Models for which these hold. Of any other nothing is too far."""

SHARED = 0.75
"""Share of a question's words from which on a text is near that holds them, whatever its vector says."""


def bar(model: str, passages: int) -> float | None:
    """The similarity from which on one of so many passages is near; None for a model that is not measured."""
    return min(LEAST + RISE * log(max(passages, 1)), MOST) if model in MEASURED else None


def too_far(found: Candidates, passages: int) -> tuple[float, float] | None:
    """The similarity of the nearest passage and the bar, if it is below; None where it is not or nobody can tell."""
    least = bar(found.model, passages)
    if not found.vectors or least is None or found.vectors[0].score >= least:
        return None
    return found.vectors[0].score, least


def holds(question: str, texts: Iterable[str]) -> bool:
    """Whether one of the texts holds most words of the question; words that no search looks for do not count."""
    wanted = {stem(word) for word in QUERY_WORD.findall(question.lower()) if len(word) > 1 and word not in LOST}
    if not wanted:
        return True
    words = ({stem(word) for word in QUERY_WORD.findall(text.lower())} for text in texts)
    return any(len(wanted & there) >= SHARED * len(wanted) for there in words)
