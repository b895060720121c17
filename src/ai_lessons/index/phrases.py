"""Phrases: text that an answer must hold word by word, as a regular expression over the text. Pure.

The full-text index keeps no positions of words (they would cost a third more); a phrase narrows a search down instead.
Written in what Rust's and Python's expressions have in common.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 500
"""Characters of a phrase that count."""

_START, _END = "(?:^|[^A-Za-z0-9])", "(?:[^A-Za-z0-9]|$)"
"""Where a word of ASCII letters begins and ends. Beside CJK characters, too, which have no blanks between words."""

_GAP = r"[\W_]+"
"""Blanks, line ends and marks like `**` stand between words; all other characters have to be as they were typed."""


def pattern(phrase: str) -> str:
    """What finds the phrase in any case, as whole words; empty for an empty one."""
    words = phrase[:LONGEST].split()
    if not words:
        return ""
    first, last = words[0][0], words[-1][-1]
    start = _START if first.isascii() and first.isalnum() else ""
    end = _END if last.isascii() and last.isalnum() else ""
    return f"(?i){start}({_GAP.join(map(re.escape, words))}){end}"


def places(text: str, phrases: Iterable[str]) -> list[int]:
    """Where phrases begin in a text, in order."""
    patterns = filter(None, map(pattern, phrases))
    return sorted(match.start(1) for match in chain.from_iterable(re.finditer(one, text) for one in patterns))
