"""How likely a question is answered by what was found. Pure.

The weights come from `bench.nearness`.
"""

from __future__ import annotations

from math import exp, log
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.languages import is_frequent, language_of, stem
from ai_lessons.search.tokens import LOST, begins_with, fold, likely_words, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ai_lessons.search.rows import Candidates, Match

    TextOf = Callable[["Match"], str]
    JudgedPassage = tuple[str, int]

# Models whose similarities are known. With any other one nothing is too far.
MEASURED = frozenset({"bge-small-en-v1.5-int8"})


class Weights(NamedTuple):
    """What the chance that a passage answers a question is made of, before `_logistic`.

    Fitted by `bench.nearness --fit` on whole sets, and on parts of them, from round numbers.

    - `near`: its similarity, 0 to 1; `unknown` stands for one that no vector tells
    - `among`: the logarithm of the number of passages in the library
    - `together`: the share of the question's words that it holds
    - `stored`: the share that all passages hold that were found by words
    - `asked`: the logarithm of how many words these are (of more words the same share tells more)
    """

    bias: float = -9.618
    near: float = 12.513
    among: float = -0.185
    together: float = 2.028
    stored: float = 0.98
    asked: float = 0.188
    unknown: float = 0.647


WEIGHTS = Weights()
# bench.nearness: chance from which an answer counts as one; the fit says .274, small libraries less
BAR = 0.272
# The least chance where a stored text holds a name of the question, or one passage all its words
NAMED = (1 + BAR) / 2
# bench.nearness.
# How much a word counts that has only the stem of one asked for, or where one begins with the
# other. For the only word of a question the same stem counts half of the rest, too.
# Taken for the same, `computation` holds `compute` and `programming` holds `program`: .04 to .15
# fewer questions were held back from sets of other fields, with as many lost.
KIN = 0.5

# bench.nearness.
# Passages of each list that tell whether there is an answer, results at most where no limit is
# stated, entries at most by which a name is known. Twice as many passages a library is taken to
# have at least, and twice as many words of a question tell something.
MOST = 10


class Chance(NamedTuple):
    """The chance that a question is answered by the `best` of all candidates, and by each entry that was looked at."""

    best: float
    of: Mapping[str, float] = MappingProxyType({})


def chance(
    question: str, every: Sequence[Candidates], passages: int, text_of: TextOf, *, complete: bool
) -> tuple[Chance, ...]:
    """The chance that a candidate answers the question, for each list of candidates.

    `passages` is how many there are; `complete` says that all have a vector. Words are compared
    without their endings.
    """
    shared = shares(question, every, text_of)
    # what is the same for each passage
    fixed = (
        WEIGHTS.bias
        + WEIGHTS.among * log(max(passages, 2 * MOST))
        + WEIGHTS.stored * shared.stored
        + WEIGHTS.asked * shared.length
    )
    chances: list[Chance] = []
    for candidates in every:
        chances.append(_chance_of_list(candidates, shared, fixed, complete=complete))
    return tuple(chances)


def _chance_of_list(
    candidates: Candidates, shared: Shares, fixed: float, *, complete: bool
) -> Chance:
    """The chance of each entry of a list, and of the best of them."""
    similarities: dict[JudgedPassage, float] = {}
    for hit in candidates.vectors:
        similarities[(hit.entry_id, hit.ordinal)] = hit.score
    measured = bool(similarities) and candidates.model in MEASURED
    # of a question that the model has few words for, the similarity tells less
    read = 0.0
    if measured:
        read = candidates.read
    without_vector = WEIGHTS.unknown
    if complete:
        # it has a vector, which is farther than all that the list holds
        without_vector = min(similarities.values(), default=WEIGHTS.unknown)
    chances: dict[str, float] = {}
    for key in looked_at(candidates):
        similarity = similarities.get(key, without_vector)
        near = read * similarity + (1 - read) * WEIGHTS.unknown
        likely = _logistic(fixed + WEIGHTS.near * near + WEIGHTS.together * shared.held[key])
        if shared.asked and shared.held[key] == 1.0:
            likely = max(likely, NAMED)
        entry_id, _ = key
        chances[entry_id] = max(likely, chances.get(entry_id, 0.0))
    best = max(chances.values(), default=0.0)
    if similarities and not measured:
        # nothing is too far for a model whose similarities nobody has measured
        best = max(best, BAR)
    return Chance(best, chances)


def unlikely(chance_of: Chance) -> Chance:
    """The chances of a question that nothing answers, however near it seems."""
    most = BAR / 2
    of = {entry: min(likely, most) for entry, likely in chance_of.of.items()}
    return Chance(min(chance_of.best, most), of)


def looked_at(candidates: Candidates) -> dict[JudgedPassage, Match]:
    """The passages that the chance of an answer is told by: the best of each list."""
    by_key: dict[JudgedPassage, Match] = {}
    for hit in (*candidates.text[:MOST], *candidates.vectors[:MOST]):
        by_key[(hit.entry_id, hit.ordinal)] = hit
    return by_key


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


class Shares(NamedTuple):
    """How much of a question's words is there.

    The share that each of the best passages holds (`held`).

    `stored` is the share that all found by words hold, and `asked` how many words these are.
    """

    held: Mapping[JudgedPassage, float]
    stored: float
    asked: int

    @property
    def length(self) -> float:
        """How many words these are, as the weights take it.

        More than `2 * MOST` tell nothing further.
        """
        return log(min(max(self.asked, 1), 2 * MOST))


def shares(question: str, every: Sequence[Candidates], text_of: TextOf) -> Shares:
    """How much of the question's words the candidates hold."""
    language = language_of(question)
    asked = _telling_words(question, language)
    hits: dict[JudgedPassage, Match] = {}
    for candidates in every:
        hits.update(looked_at(candidates))
    if not asked:
        return Shares(dict.fromkeys(hits, 1.0), 1.0, 0)
    share_of: dict[JudgedPassage, float] = {}
    stored: dict[str, float] = {}
    for passage, hit in hits.items():
        held = _held(text_of(hit), asked, language)
        share_of[passage] = sum(held.values()) / len(asked)
        _raise_to(stored, held)
    for candidates in every:
        for hit in candidates.text[MOST:]:
            if sum(stored.values()) == len(asked):
                # further texts can add nothing, and each of them costs a look at its words
                break
            _raise_to(stored, _held(text_of(hit), asked, language))
    return Shares(share_of, sum(stored.values()) / len(asked), len(asked))


def _telling_words(question: str, language: str) -> dict[str, str]:
    """The words of a question that say what it is about, by their base."""
    telling: dict[str, str] = {}
    for word in words_of(question):
        if len(word) > 1 and word not in LOST and not is_frequent(word, language):
            telling[_base(word, language)] = word
    return telling


def _raise_to(stored: dict[str, float], held: Mapping[str, float]) -> None:
    for word, share in held.items():
        stored[word] = max(share, stored.get(word, 0.0))


def _held(text: str, asked: Mapping[str, str], language: str) -> dict[str, float]:
    """How much each word that is asked for (by its base) counts as held by a text, 0 to 1."""
    written = {word for _, word in likely_words(fold(text).lower(), frozenset(asked))}
    bases = {_base(word, language) for word in written}
    held = dict.fromkeys(asked.keys() & bases, 1.0)
    for base in asked.keys() - held.keys():
        root = stem(asked[base], language)
        if any(root == stem(word, language) for word in written):
            held[base] = KIN
            if len(asked) == 1:
                held[base] = (1 + KIN) / 2
        elif any(begins_with(base, other) for other in bases):
            held[base] = KIN
    return held


_ENDING = expression(r"(?<=\w{3})(?:ing|ed|es|e|s)$")


def _base(word: str, language: str) -> str:
    """The word without its ending.

    Of English only the most common ones, because the stem joins too much.
    """
    if language != "english" or not word.isascii():
        return stem(word, language)
    return _ENDING.sub("", word)
