"""The chance, from 0 to 1, that the passages of a search answer the question; and which passages hold its names."""

from __future__ import annotations

import re
from collections import Counter
from math import exp, log
from typing import TYPE_CHECKING

from ai_lessons.index.ranking import QUERY_WORD, stem, stem_positions
from ai_lessons.index.rows import LOST, Candidates, Match, names, pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet

    TextOf = Callable[[Match], str]
    Passage = tuple[str, int]  # entry id, ordinal

MEASURED = frozenset({"bge-small-en-v1.5-int8"})
"""Models whose similarities are known. With any other one nothing is too far."""

BIAS, NEAR, AMONG, TOGETHER, STORED = -26.0, 41.6, -1.03, 2.8, 4.35
"""Logistic regression on questions put to their own and to foreign sets of 20 to 7,000 passages: similarity of the
nearest, logarithm of the number of passages, share of the question's words that one of the best passages holds, and
share that any of those found by words holds: `python -m bench.nearness --fit`."""

WORDS_BIAS, WORDS_AMONG, WORDS_TOGETHER, WORDS_STORED = -2.7, -0.89, 5.8, 7.5
"""The same from words alone, while vectors are missing."""

BAR = 0.16  # Chance from which an answer counts as one: at most 2 % of the questions of any set lose theirs
FEWEST = 20  # Passages below which nothing was measured
NAMED = 0.6  # The least chance where a stored text holds a name that the question holds
BEST = 10  # Passages of each list in which the question's words are looked for together
RARE = 20  # Entries up to which a name identifies them; more only mention it

ABOUT, ABOUT_SHORT = 0.25, 0.5
"""Share of a question's words from which on it is about the names in it, and does not only mention them.

Of names like API and MAC, which are words to most people, it takes more: .005 of nDCG@10 for tasks in people's words.
"""

_SHORT = re.compile(r"[A-Z]{2,4}s?")

_ASKING = LOST | set(re.findall(r"\w+", "why which get getting use using mean means work works say says said"))


def holders(question: str, hits: Iterable[Match], text_of: TextOf) -> tuple[frozenset[Passage], frozenset[Passage]]:
    """The passages that hold any name of the question, as whole words in any case, and those that lead the answer.

    These hold most of the names that the question is about and that no more than `RARE` entries hold.
    """
    texts = {(hit.entry_id, hit.ordinal): text_of(hit) for hit in hits}
    mentioned = names(question)
    holding = {name: {key for key, text in texts.items() if re.search(pattern(name), text)} for name in mentioned}
    telling = [holding[name] for name in about(question, mentioned)]
    rare = Counter(key for keys in telling if len({entry for entry, _ in keys}) <= RARE for key in keys)
    most = max(rare.values(), default=0)
    return frozenset().union(*holding.values()), frozenset(key for key, number in rare.items() if number == most)


def about(question: str, mentioned: Sequence[str]) -> Sequence[str]:
    """The names that the question is about, of those that it mentions."""
    long = [name for name in mentioned if not _SHORT.fullmatch(name)]
    words, all_named, long_named = (
        len({word for word in QUERY_WORD.findall(text.lower()) if len(word) > 1 and word not in _ASKING})
        for text in (question, " ".join(mentioned), " ".join(long))
    )
    if long_named >= ABOUT * words:
        return long
    return mentioned if all_named >= ABOUT_SHORT * words else ()


def chance(question: str, candidates: Candidates, passages: int, text_of: TextOf, *, complete: bool) -> float:
    """The chance that the best candidate answers the question.

    `passages` is how many there are; `complete` says that all have a vector. Words are compared without their endings.
    """
    together, stored = shares(question, candidates, text_of)
    among = log(max(passages, FEWEST))
    by_words = _logistic(WORDS_BIAS + WORDS_AMONG * among + WORDS_TOGETHER * together + WORDS_STORED * stored)
    if not candidates.vectors:
        return by_words
    if candidates.model not in MEASURED:
        return max(by_words, BAR)
    near = BIAS + NEAR * candidates.vectors[0].score + AMONG * among
    combined = _logistic(near + TOGETHER * together + STORED * stored)
    return combined if complete else max(combined, by_words)


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


def shares(question: str, candidates: Candidates, text_of: TextOf) -> tuple[float, float]:
    """The shares of the question's words that one of the best passages holds, and that all found by words hold."""
    stems = {stem(word) for word in QUERY_WORD.findall(question.lower()) if len(word) > 1 and word not in LOST}
    if not stems:
        return 1.0, 1.0

    def shared(hit: Match, words: AbstractSet[str]) -> set[str]:
        return {word for _, word in stem_positions(text_of(hit), words)}

    best = [shared(hit, stems) for hit in (*candidates.text[:BEST], *candidates.vectors[:BEST])]
    missing = stems.difference(*best)
    for hit in candidates.text[BEST:]:
        missing -= shared(hit, missing)
    return max(map(len, best), default=0) / len(stems), 1 - len(missing) / len(stems)
