"""How likely it is that what was found answers the question, from 0 to 1; and which passages hold its names.

Measured, not derived: `python -m bench.nearness` fits and checks the numbers.
"""

from __future__ import annotations

import re
from math import exp, log
from typing import TYPE_CHECKING

from ai_lessons.index.ranking import QUERY_WORD, alike, stem
from ai_lessons.index.rows import LOST, pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Set as AbstractSet

    from ai_lessons.index.ranking import Match
    from ai_lessons.index.rows import Candidates

    TextOf = Callable[[Match], str]

MEASURED = frozenset({"bge-small-en-v1.5-int8"})
"""Models whose similarities are known. With any other one nothing is too far."""

NEAR_LEAST, NEAR_RISE, NEAR_MOST = 0.51, 0.015, 0.64
"""Cosine similarity that the nearest of so many passages has by chance: LEAST + RISE x ln(passages), at most MOST."""

BIAS, NEAR, TOGETHER, STORED = -7.8, 45.7, 3.9, 3.6
"""Logistic regression on 1,708 questions put to their own and to foreign sets: similarity above chance, share of the
question's words that one of the best passages holds, and share that any passage found by words holds."""

WORDS_BIAS, WORDS_TOGETHER, WORDS_STORED = -9.9, 6.9, 7.7
"""The same from words alone, while vectors are missing."""

BAR, WORDS_BAR = 0.27, 0.16
"""Chance from which an answer counts as one: about 2 % of the questions that have an answer fall below."""

NAMED = 0.6
"""The least chance where a stored text holds a name that the question holds."""

BEST = 10
"""Passages of each list in which the question's words are looked for together."""

RARE = 20
"""Entries up to which a name says which are meant; more use it in passing."""

ABOUT = 0.25
"""Share of a question's words from which on it is about the names in it, and not about what they are named for."""

_ASKING = LOST | {
    "why",
    "which",
    "get",
    "getting",
    "use",
    "using",
    "mean",
    "means",
    "work",
    "works",
    "say",
    "says",
    "said",
}


def holders(wanted: Iterable[str], found: Iterable[Match], text_of: TextOf) -> frozenset[tuple[str, int]]:
    """The passages that hold most of these names, as whole words in any case. A name that many entries hold is none."""
    every = {(hit.entry_id, hit.ordinal): text_of(hit) for hit in found}
    count: dict[tuple[str, int], int] = {}
    for name in wanted:
        holding = [key for key, text in every.items() if re.search(pattern(name), text)]
        if len({entry for entry, _ in holding}) <= RARE:
            for key in holding:
                count[key] = count.get(key, 0) + 1
    most = max(count.values(), default=0)
    return frozenset(key for key, held in count.items() if held == most)


def is_about(question: str, wanted: Iterable[str]) -> bool:
    """Whether the question is about these names, and does not just mention them."""
    words, named = (
        {word for word in QUERY_WORD.findall(text.lower()) if len(word) > 1 and word not in _ASKING}
        for text in (question, " ".join(wanted))
    )
    return len(named) >= ABOUT * len(words)


def chance(question: str, found: Candidates, passages: int, text_of: TextOf, *, complete: bool) -> tuple[float, float]:
    """The chance that the best of `found` answers the question, and the bar for it.

    `passages` is how many there are; `complete` says that all have a vector. Words are compared without their endings.
    """
    together, stored = shares(question, found, text_of)
    by_words = _logistic(WORDS_BIAS + WORDS_TOGETHER * together + WORDS_STORED * stored)
    if not found.vectors:
        return by_words, WORDS_BAR
    if found.model not in MEASURED:
        return max(by_words, BAR), BAR
    above = found.vectors[0].score - by_chance(passages)
    both = _logistic(BIAS + NEAR * above + TOGETHER * together + STORED * stored)
    return (both, BAR) if complete or both >= BAR else (max(both, by_words), max(BAR, WORDS_BAR))


def by_chance(passages: int) -> float:
    """The similarity that a question has with the nearest of so many passages that have nothing to do with it."""
    return min(NEAR_LEAST + NEAR_RISE * log(max(passages, 1)), NEAR_MOST)


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


def shares(question: str, found: Candidates, text_of: TextOf) -> tuple[float, float]:
    """The shares of the question's words that one of the best passages holds, and that all found by words hold."""
    wanted = {stem(word) for word in QUERY_WORD.findall(question.lower()) if len(word) > 1 and word not in LOST}
    if not wanted:
        return 1.0, 1.0

    def held(hit: Match, of: AbstractSet[str]) -> set[str]:
        return {word for _, word in alike(text_of(hit), of)}

    best = [held(hit, wanted) for hit in (*found.text[:BEST], *found.vectors[:BEST])]
    missing = wanted.difference(*best)
    for hit in found.text[BEST:]:
        missing -= held(hit, missing)
    return max(map(len, best), default=0) / len(wanted), 1 - len(missing) / len(wanted)
