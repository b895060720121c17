"""Which entries a prompt, an edit or a command is about, by words alone (BM25).

Quick enough for every hook. Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.languages import is_frequent_anywhere, stem
from ai_lessons.model.names import names_of
from ai_lessons.search.tokens import fold, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.model.entries import Entry

# bench.moment.
# Least score of an entry that a prompt or command may be about, that an edit may be about, which
# has more words. Fitted on 568 labelled moments of 120 sessions.
BAR, EDIT_BAR = 11.0, 26.0


class TermLimits(NamedTuple):
    """Bounds for words that tell what an entry is about."""

    # bench.decisions: share of the best score that a second entry needs at a prompt or an edit
    nearly: float = 0.85
    # Entries that are counted at least: among three no word would be rare
    fewest: int = 20
    # Characters of a text that are looked at
    read: int = 2_000
    # Likeness of two texts, by their words or as the cosine of their vectors, from which on they say
    # the same: lessons in other words had .75 to .91, others on their subject .72 at most
    # (test_a_lesson_in_other_words_is_noticed).
    alike: float = 0.74


TERMS = TermLimits()


# Of BM25: how soon repetition tells no more, how much length matters, the usual length
_K, _B, _LENGTH = 1.2, 0.5, 62
_PARTS = expression(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TELL_NOTHING = frozenset({
    "a", "add", "all", "also", "any", "been", "better", "but", "did", "does", "each", "every", "for", "from",
    "get", "had", "has", "have", "here", "i", "if", "instead", "into", "it", "its", "just", "let", "like", "make",
    "me", "my", "need", "new", "no", "now", "of", "off", "one", "only", "other", "our", "out", "over", "please",
    "same", "see", "set", "should", "so", "some", "such", "sure", "take", "than", "that", "their", "them", "then",
    "there", "these", "they", "thing", "this", "those", "to", "too", "try", "two", "up", "us", "use", "used",
    "using", "want", "way", "we", "well", "were", "when", "where", "which", "while", "who", "will", "with",
    "would", "yes", "you", "your",
})  # fmt: skip


def terms(text: str) -> list[str]:
    """The words of a text to compare: stems, without those that tell nothing.

    A name in code also by its parts.

    >>> terms("Set the user_name in loadUserName")
    ['user', 'name', 'load', 'user', 'name', 'user_name', 'loadusername']
    """
    whole = words_of(text)
    parts = words_of(_PARTS.sub(" ", text))
    stems = []
    for word in parts:
        if len(word) > 1 and not _tells_nothing(word):
            stems.append(stem(word))
    return stems + [word for word in whole if word not in set(parts)]


def likeness(text: str, other: str) -> float:
    """How alike two texts are by the words that tell something, 0 to 1 (Dice).

    Texts that name different numbers, or different letters, are about different things: `step 1`
    and `step 2`.
    """
    (left, left_named), (right, right_named) = _telling(text), _telling(other)
    if left_named - right_named and right_named - left_named:
        return 0.0
    return 2 * len(left & right) / (len(left) + len(right) or 1)


def letters(text: str) -> str:
    """A text for a comparison that case, blanks and marks do not matter to."""
    return "".join(filter(str.isalnum, fold(text).casefold()))


@lru_cache(maxsize=1 << 15)
def _telling(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a text that tell something, and its numbers and letters that stand alone."""
    alone = expression(r"\b(?:\d[\w.]*\w|\w)\b").findall(text.casefold())
    telling = frozenset(terms(text))
    if len(telling) < 5:
        # each word of a short text counts: `Of Ann` and `Of Ann, too` are two titles
        telling = frozenset(word.casefold() for word in words_of(text))
    return telling, frozenset(alone) - {"a", "i", "s", "t"}


def terms_of(entry: Entry) -> Counter[str]:
    """The words by which a lesson or rule is found, and how often it has each."""
    named = [*entry.tags, *_texts(entry.fields.get("applies_to"))]
    for stated in names_of(entry).values():
        named += stated
    texts = (str(entry.pattern or ""), entry.rationale, entry.body[: TERMS.read])
    counts = Counter(terms("\n".join([*named, *texts])))
    # a title says what the entry is about
    counts.update(terms(entry.title) * 2)
    return counts


def _texts(value: object) -> list[str]:
    """The texts in a list of frontmatter."""
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, str)]


def _tells_nothing(word: str) -> bool:
    return word in _TELL_NOTHING or is_frequent_anywhere(word)


def asked_for(text: str) -> list[str]:
    """The different words of a text that entries are looked for by."""
    # Different words of a text that are looked for, the first ones
    return list(dict.fromkeys(terms(text[: TERMS.read])))[:200]


class Posting(NamedTuple):
    """That an entry holds a word.

    How often, a word of its title more than once, and how many words it has in all.
    """

    term: str
    entry: str
    times: int
    length: int


def prompt_bar(entries: int) -> float:
    """Least score of an entry that is told at a prompt, among so many that could hold a word."""
    # bench.decisions: words that one entry alone holds, which a prompt shares with one that it is
    # about
    return 5.0 * _rarity(max(entries, TERMS.fewest), 1)


def edit_bar(entries: int) -> float:
    """Least score of an entry that is told at an edit, where others are about its place, too."""
    # the same for an edit, where several entries are about its place
    return 6.7 * _rarity(max(entries, TERMS.fewest), 1)


def _rarity(entries: int, holding: int) -> float:
    """The weight of a word that so many of the entries hold, of BM25."""
    return log(1 + (entries - holding + 0.5) / (holding + 0.5))


def scores(postings: Iterable[Posting], entries: int) -> dict[str, float]:
    """BM25 of each entry for the words that these are of; `entries` are all that could hold one."""
    entries = max(entries, TERMS.fewest)
    by_term: dict[str, list[Posting]] = defaultdict(list)
    for posting in postings:
        by_term[posting.term].append(posting)
    totals: Counter[str] = Counter()
    for held in by_term.values():
        rarity = _rarity(entries, len(held))
        for _, entry, times, length in held:
            much = times * (_K + 1) / (times + _K * (1 - _B + _B * length / _LENGTH))
            totals[entry] += rarity * much  # type: ignore[assignment]  # a Counter of fractions
    return dict(totals)
