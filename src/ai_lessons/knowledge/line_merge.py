"""Three versions of a text, line by line: what one side changed and the other left alone is taken, nothing else.

The classic three-way merge (Khanna, Kunal, Pierce: A Formal Investigation of Diff3, 2007). Never writes conflict
markers: a text in which both sides changed the same place has no merge.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def lines_of(text: str) -> list[str]:
    """The lines with their ends. Only a newline ends one, as git has it; a form feed does not."""
    return _LINE.findall(text)


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """The text with the changes of both; None where they change the same lines, or lines next to each other.

    With nothing changed on one side it is the other, byte for byte. The same change on both sides is one change.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    before, mine, other = lines_of(base), lines_of(ours), lines_of(theirs)
    to_mine, to_other = _kept(before, mine), _kept(before, other)
    shared = [(at, to_mine[at], to_other[at]) for at in range(len(before)) if at in to_mine and at in to_other]
    made: list[str] = []
    b = m = o = 0
    for next_b, next_m, next_o in (*shared, (len(before), len(mine), len(other))):
        chunk = _pick(before[b:next_b], mine[m:next_m], other[o:next_o])
        if chunk is None:
            return None
        made += chunk
        made += before[next_b : next_b + 1]
        b, m, o = next_b + 1, next_m + 1, next_o + 1
    return "".join(made)


def _pick(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Sequence[str] | None:
    if ours in (base, theirs):
        return theirs
    return ours if theirs == base else None


def _kept(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """Which line of `after` each line of `before` became, where it stayed."""
    blocks = SequenceMatcher(None, before, after).get_matching_blocks()
    return {block.a + n: block.b + n for block in blocks for n in range(block.size)}
