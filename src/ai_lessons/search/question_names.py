"""Names in a question, such as codes, flags and files, and the passages that hold them. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ai_lessons.model import expression
from ai_lessons.model.languages import stem
from ai_lessons.search.answer_chance import MOST
from ai_lessons.search.tokens import (
    CAMEL_WORD,
    CODE,
    LOST,
    NAME,
    NUMBERS,
    QUERY_WORD,
    fold,
    pattern,
    stem_positions,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ai_lessons.search.rows import Match

    TextOf = Callable[["Match"], str]
    JudgedPassage = tuple[str, int]

_CAPITALS = expression(r"(?<![\w-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*(?![\w-])")
_UNDERSCORED = expression(r"(?<!\w)\w*[A-Za-z0-9]_+[A-Za-z0-9]\w*")
_PLAIN = expression(
    r"[A-Z]?[a-z]+(?:[-/:][A-Z]?[a-z]+)*|-[A-Za-z]|v?[0-9][0-9.:/x-]*|-*(?:[A-Za-z]\.)+[A-Za-z]?"
)
# What looks like a name and identifies little: hyphenated words, short flags, numbers, initials.
# My_file.txt.
_MADE_UP = expression(
    r"(?i)(?:my|foo|bar|old|new|test|temp|tmp|example|file|dir)[\w.-]*|\w*(?:file|dir)[0-9]*\.\w+"
)


def names(question: str) -> tuple[str, ...]:
    """Codes, flags, functions and files of a question, as they stand there.

    ENOENT, --force, setName, `a.py`, E0308.
    """
    if question.upper() == question and " " in question.strip():
        # somebody shouts: capitals tell nothing
        return ()
    telling: dict[str, None] = {}
    for kind in (_CAPITALS, _UNDERSCORED, CAMEL_WORD, CODE, NAME):
        for match in kind.finditer(question):
            name = match.group()
            if len(name) > 2 and not (_PLAIN.fullmatch(name) or _MADE_UP.fullmatch(name)):
                telling[name] = None
    # in a question of more than three words a version tells which one of several texts, and not
    # what it is about
    short = len(question.split()) <= 3
    for match in NUMBERS.finditer(question):
        if short or match[0].count(".") > 2:
            telling[match[0]] = None
    return tuple(telling)


# bench.retrieval.
# Share of a question's words from which on it is about the names in it, and does not only mention
# them. Of names like API and MAC, which are words to most people, it takes twice that: .005 of
# nDCG@10 for tasks.
ABOUT = 0.25

_SHORT = expression(r"[A-Z]{2,4}s?")

_ASKING = LOST | set(
    re.findall(r"\w+", "why which get getting use using mean means work works say says said")
)


def holders(
    question: str, hits: Iterable[Match], text_of: TextOf, read: float = 1.0
) -> tuple[frozenset[JudgedPassage], frozenset[JudgedPassage]]:
    """Passages that hold a telling name of the question, as whole words in any case.

    And those that lead the answer.

    A short one in capitals, such as CSS, is a word to most people: it tells where the question is
    about it.

    These hold most of the names that the question is about and that no more than `MOST` entries
    hold. A question that the model does not `read` whole is one of its names: its vectors would let
    other pages go before the one that it is a sentence of. In English that costs .011 of nDCG@10
    where pages name each other.
    """
    texts: dict[JudgedPassage, str] = {}
    for hit in hits:
        texts[(hit.entry_id, hit.ordinal)] = fold(text_of(hit))
    mentioned = list(names(question))
    meant = list(about(question, mentioned))
    if read < 1.0 and len(words_of(question)) > 1:
        mentioned.append(question)
        meant.append(question)
    holding: dict[str, set[JudgedPassage]] = {}
    for name in mentioned:
        expression = pattern(name)
        holding[name] = {key for key, text in texts.items() if re.search(expression, text)}
    # a passage leads by how many of the rare names it holds
    rare: Counter[JudgedPassage] = Counter()
    for name in meant:
        entries = {entry for entry, _ in holding[name]}
        if len(entries) <= MOST:
            rare.update(holding[name])
    most = max(rare.values(), default=0)
    lead = {key for key, number in rare.items() if number == most}
    holders_of_names: set[JudgedPassage] = set()
    for name, keys in holding.items():
        if name in meant or not _SHORT.fullmatch(name):
            holders_of_names |= keys
    return frozenset(holders_of_names), frozenset(lead)


def headed(question: str, hits: Iterable[Match], head_of: TextOf) -> dict[JudgedPassage, float]:
    """The share of the question's words, compared by their stems, that the title and headings above a passage hold.

    A page about the subject says it there; one that only mentions it, as a list of changes does, in its text.
    """
    words = [word for word in words_of(question) if len(word) > 1 and word not in LOST]
    asked = frozenset(map(stem, words))
    # passages of one section have the same head, which is looked at once
    shares: dict[str, float] = {}
    share_of: dict[JudgedPassage, float] = {}
    for hit in hits:
        head = head_of(hit)
        if head not in shares:
            held = {word for _, word in stem_positions(head, asked)}
            shares[head] = len(held) / max(len(asked), 1)
        share_of[(hit.entry_id, hit.ordinal)] = shares[head]
    return share_of


def about(question: str, mentioned: Sequence[str]) -> Sequence[str]:
    """The names that the question is about, of those that it mentions."""
    long = [name for name in mentioned if not _SHORT.fullmatch(name)]
    words = _number_of_words(question)
    if _number_of_words(" ".join(long)) >= ABOUT * words:
        return long
    if _number_of_words(" ".join(mentioned)) >= 2 * ABOUT * words:
        return mentioned
    return ()


def _number_of_words(text: str) -> int:
    """How many different words it has, without those that only make a question of it."""
    words = set(QUERY_WORD.findall(text.lower())) - _ASKING
    return sum(len(word) > 1 for word in words)
