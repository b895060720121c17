"""What is an answer, what may be one, and what is none.

By scores, and by words that are rare here. Pure but for a file of everyday words.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.languages import is_frequent, language_of, stem
from ai_lessons.search.tokens import CJK, LOST, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Bars(NamedTuple):
    """From where on something is taken for an answer, or is rare."""

    # Chance of an answer from which on the best three are named though they may be none; who holds a
    # rare word needs half of it. Of 1,536 questions to 272 long conversations .7 % get nothing.
    doubt: float = 0.08
    # Added to it for each tenfold of passages where a telling word of the question stands nowhere: in
    # a small library many an answer says it in other words. Of 160 questions of other fields to 4,250
    # passages of one manual 136 get nothing, without it 88.
    tenfold: float = 0.03
    # Entries that are named where none is sure
    maybe: int = 3
    # Of so many entries one may hold a rare word
    rare: int = 100
    # Letters of a word that can be rare: of two there are few, and they stand for many things
    shortest: int = 3


BARS = Bars()


# Shares of the best score, and of the best chance, that an answer beside it has at least.
# Of the right ones among the first five of these conversations none is lost by them, and nDCG@10
# falls by .002; of ten results eight are left, and in small libraries one.
SHARE, LIKELY = 0.4, 0.3

# Of English, one form of each, the most frequent of encyclopedias and novels first; without names
EVERYDAY = Path(__file__).with_name("everyday_words.txt")

# years, too
_COMMON_NUMBER = expression(r"\d{1,3}|(?:19|20)\d\d")


class Telling(NamedTuple):
    """A word of a question that tells what it is about.

    `weight`: how much of a reason it is to name who holds it. `expected`: whether an answer would
    hold it; of a language without a list of everyday words nobody knows that of a word.
    """

    word: str
    weight: float = 1.0
    expected: bool = True


def telling_words(question: str) -> dict[str, Telling]:
    """The words of a question that are no everyday words of its language, by their stems.

    Of a script without blanks two letters are half of a reason: they may belong to two words.
    """
    language = language_of(question)
    words: dict[str, Telling] = {}
    for word in words_of(question):
        base = stem(word, language)
        if re.match(CJK, word):
            words.setdefault(base, Telling(word, 0.5, expected=False))
        elif len(word) >= BARS.shortest and not _tells_nothing(word, base, language):
            words.setdefault(base, Telling(word, expected=language == "english"))
    return words


def _tells_nothing(word: str, base: str, language: str) -> bool:
    if word in LOST or is_frequent(word, language) or _COMMON_NUMBER.fullmatch(word):
        return True
    return language == "english" and base in _stems()


@cache
def _stems() -> frozenset[str]:
    return frozenset(map(stem, EVERYDAY.read_text(encoding="utf-8").split()))


def held(
    words: Mapping[str, Telling], texts: Iterable[str], language: str = "english"
) -> list[Telling]:
    """Those of these words, by their stems, that stand in a text in some form."""
    written: set[str] = set()
    for text in texts:
        written.update(words_of(text))
    stems = {stem(word, language) for word in written}
    return [telling for base, telling in words.items() if base in stems]


def doubt(passages: int, *, unheard: bool) -> float:
    """The chance from which on something may be an answer.

    `unheard`: a telling word of the question stands nowhere among so many passages.
    """
    if not unheard:
        return BARS.doubt
    return BARS.doubt + BARS.tenfold * log10(max(passages, 1))


def is_rare(holding: int, entries: int) -> bool:
    """Whether a word that so many of the entries hold is rare among them."""
    return 0 < holding <= max(1, entries // BARS.rare)


def holders(rare: Iterable[tuple[Telling, Iterable[str]]]) -> Counter[str]:
    """How much speaks for naming each entry: the rare words that it holds; below 1 nothing does."""
    weights: Counter[str] = Counter()
    for telling, entries in rare:
        for entry in set(entries):
            weights[entry] += telling.weight  # type: ignore[assignment]  # a Counter of fractions
    return Counter({entry: weight for entry, weight in weights.items() if weight >= 1})


def answers(
    scores: Sequence[float], chances: Sequence[float | None], beside: float = 0.0
) -> tuple[list[bool], float]:
    """Which results, best first, are answers beside the best one, and the score that they need.

    `chances` is how likely each is to answer by itself, None where nobody looked: a score is also a
    place in an order, and in a small library the second place says little. `beside` is the chance
    of the best rule that answers, too.
    """
    bar = SHARE * max(scores, default=0.0)
    likely = LIKELY * max((beside, *(chance for chance in chances if chance is not None)))
    listed = []
    for score, chance in zip(scores, chances, strict=True):
        listed.append(score >= bar and (chance is None or chance >= likely))
    if listed and not beside:
        listed[0] = True
    return listed, bar
