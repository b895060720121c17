"""The three measures of retrieval, over one ranking of document ids each. Pure; needs nothing but the standard library.

A ranking names every document at most once; judgements map a document id to its grade, missing means 0. A query
without any relevant document has no score and is left out of the mean by whoever counts.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Normalised discounted cumulative gain, linear gain: the sum of grade / log2(rank + 1), over its ideal.

    Järvelin and Kekäläinen, ACM TOIS 20(4), 2002, with the discount that trec_eval's `ndcg_cut` uses. 0..1.
    """
    gain = _gain([grades.get(doc, 0) for doc in ranking[:depth]])
    ideal = _gain(sorted(grades.values(), reverse=True)[:depth])
    return gain / ideal if ideal else 0.0


def _gain(grades: Sequence[int]) -> float:
    return sum(max(grade, 0) / log2(rank + 1) for rank, grade in enumerate(grades, 1))


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Share of the relevant documents (grade above 0) among the first `depth`. 0..1."""
    relevant = {doc for doc, grade in grades.items() if grade > 0}
    return len(relevant.intersection(ranking[:depth])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """1 / rank of the first relevant document among the first `depth`, else 0. Its mean is MRR."""
    for rank, doc in enumerate(ranking[:depth], 1):
        if grades.get(doc, 0) > 0:
            return 1 / rank
    return 0.0
