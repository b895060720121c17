"""A text in pieces: those that a query asked for, and those between."""

from __future__ import annotations

import re

from ai_lessons.model.languages import stem
from ai_lessons.search import snippets, tokens
from ai_lessons.search.query_text import parse_query

_COMMON = frozenset(
    tokens.QUERY_WORD.findall(
        "about and any are but can could did does for from get had has have how into its not our should that the their "
        "then there these this was were what when where which who why will with would you your"
    )
)


def _words(text: str) -> set[str]:
    """The stems of the words that tell something."""
    stems: set[str] = set()
    for word in tokens.words_of(text):
        is_short = len(word) < snippets.SENTENCES.short_word and word.isascii()
        if not is_short and word not in _COMMON:
            stems.add(stem(word))
    return stems


def pieces(text: str, query: str) -> list[tuple[str, bool]]:
    """A text in pieces, each with whether it is a word that the query has in some form, too.

    Raises UsageError.
    """
    words, filters = parse_query(query)
    folded, origin = "", list[int]()
    for place, letter in enumerate(text):
        # one letter may be folded to several, or to none
        spelled = tokens.fold(letter).lower()
        folded += spelled
        origin += [place] * len(spelled)
    origin.append(len(text))
    done, result = 0, list[tuple[str, bool]]()
    for start, word in tokens.stem_positions(folded, _words(" ".join((words, *filters.phrases)))):
        folded_end = start + len(word)
        if not re.match(tokens.CJK, word):
            # with its ending, which the stem has lost
            whole = tokens.QUERY_WORD.match(folded, start)
            if whole:
                folded_end = whole.end()
        begin, end = origin[start], origin[folded_end]
        if end > done:
            result += [(text[done:begin], False), (text[max(begin, done) : end], True)]
            done = end
    result.append((text[done:], False))
    return [(piece, hit) for piece, hit in result if piece]
