"""Whether a text still has what an anchor names as it was. Pure: reads texts that it is given.

`code_folder` finds them on the disk, `code_history` in git.
"""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.anchors.definitions import definition
from ai_lessons.features.anchors.parts import plain
from ai_lessons.model import expression

if TYPE_CHECKING:
    from ai_lessons.features.anchors.anchors import Anchor

_LENGTH = 8
_WORD = expression(r"\d+(?:\.\d+)*%?|[^\W\d]\w*")
_GROUPED = expression(r"(?<=\d)[_,](?=\d{3})")
_PER_CENT = expression(r"(?<=\d) %| percent\b")
_SHARE = expression(r"0\.\d+")


class CodeVerdict(StrEnum):
    """What became of an anchor, the best first.

    `elsewhere`: this is not that code, so nothing is known.
    """

    ELSEWHERE = "elsewhere"
    HOLDS = "holds"
    MOVED = "moved"
    CHANGED = "changed"
    OUT_OF_RANGE = "out-of-range"
    GONE = "gone"

    @property
    def rank(self) -> int:
        """Its place among them."""
        return list(CodeVerdict).index(self)


# Verdicts that keep a lesson from those who did not ask.
SILENCED = frozenset({CodeVerdict.GONE, CodeVerdict.OUT_OF_RANGE})


class State(NamedTuple):
    """How a file has a symbol.

    A fingerprint of its meaning, and its value where it has a plain one.

    `documented`: the fingerprint with docstrings, as entries of version 0.1 state it.
    """

    fingerprint: str
    value: str | None = None
    documented: str = ""


# Of a file of Python that this Python cannot parse, mostly because it is being edited.
# Nothing is known of it.
UNREADABLE = State("unreadable")


def state(path: str, text: str, symbol: str) -> State | None:
    """How a file has a symbol; None: not at all. Without a symbol only that there is a file."""
    if not symbol:
        return State("")
    part = definition(path, text, symbol)
    if part is None:
        return None
    if not part.lines:
        return UNREADABLE
    return State(_fingerprint(part.meaning), part.value, _fingerprint(part.documented))


def _fingerprint(text: str) -> str:
    if not text:
        return ""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:_LENGTH]


def verdict_on(anchor: Anchor, now: State | None) -> CodeVerdict:
    """Whether a symbol is still as the anchor has it."""
    if now is None:
        return CodeVerdict.GONE
    if now == UNREADABLE:
        return CodeVerdict.ELSEWHERE
    if anchor.value is not None:
        holds = now.value == plain(anchor.value)
    else:
        holds = anchor.seen in {"", now.fingerprint, now.documented}
    if holds:
        return CodeVerdict.HOLDS
    return CodeVerdict.CHANGED


def still_stated(text: str, old: str, new: str, *, value: bool) -> list[str]:
    """What of the old code a text still states, and does not state as it is now.

    Of the `value` of a constant any word; of other code its numbers, and the words that the text
    has in backticks.

    >>> still_stated("The rate is 19 %, read from `RATE`.", "0.19", "0.21", value=True)
    ['19%']
    """
    stated = _words(_PER_CENT.sub("%", text))
    marked = _words(_PER_CENT.sub("%", " ".join(re.findall(r"`([^`\n]+)`", text))))
    before, after = _words(old) | _shares(old), _words(new)
    came = after - before
    if value and came and came <= stated:
        return []
    telling = set(marked)
    for word in stated:
        # Letters of a word of a value: a shorter one stands in any text
        if word[0].isdigit() or (value and len(word) >= 3):
            telling.add(word)
    return sorted((before - after) & telling)


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(_GROUPED.sub("", text))}


def _shares(text: str) -> set[str]:
    """The numbers below 1 as people write them: `19%` for 0.19."""
    return {f"{float(word) * 100:g}%" for word in _words(text) if _SHARE.fullmatch(word)}
