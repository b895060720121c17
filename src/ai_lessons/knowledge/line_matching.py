"""Which lines of two texts are the same: as difflib finds them, or in bounded time where that takes too many steps.

difflib reads what is left once for each stretch that it finds, so twice the changes take four times as long. Texts like
that are cut first at the lines that both have once, in the longest row of them that has the same order in both
(patience diff), and what lies between two of these is given to difflib while there are steps left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import Match, SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_STEPS = 20_000_000  # A few seconds. Texts of 4,000 lines, each there once, take fewer


class LineMatcher(SequenceMatcher[str]):
    """The same as its base, but for texts that would take it minutes."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        """Of two texts, by lines."""
        super().__init__(None, before, after)
        self._both, self._left = (before, after), _STEPS

    def get_matching_blocks(self) -> list[Match]:
        """The stretches that are the same, and an empty one at the end."""
        before, after = self._both
        if _steps(before, after) <= _STEPS:
            return super().get_matching_blocks()
        blocks: list[Match] = []
        for a, b, size in filter(lambda stretch: stretch[2], self._stretches()):
            if blocks and (blocks[-1].a + blocks[-1].size, blocks[-1].b + blocks[-1].size) == (a, b):
                a, b, size = blocks[-1].a, blocks[-1].b, blocks.pop().size + size  # noqa: PLW2901
            blocks.append(Match(a, b, size))
        return [*blocks, Match(len(before), len(after), 0)]

    def _stretches(self) -> Iterator[tuple[int, int, int]]:
        before, after = self._both
        a = b = 0
        for next_a, next_b in (*_in_order(before, after), (len(before), len(after))):
            start = a
            while a < next_a and b < next_b and before[a] == after[b]:
                a, b = a + 1, b + 1
            yield start, b - (a - start), a - start
            end, same = next_a, 0
            while end > a and next_b - same > b and before[end - 1] == after[next_b - same - 1]:
                end, same = end - 1, same + 1
            old_lines, new_lines = before[a:end], after[b : next_b - same]
            if (steps := _steps(old_lines, new_lines)) <= self._left:
                self._left -= steps
                for block in SequenceMatcher(None, old_lines, new_lines).get_matching_blocks()[:-1]:
                    yield a + block.a, b + block.b, block.size
            yield end, next_b - same, same + (next_a < len(before))
            a, b = next_a + 1, next_b + 1


def _steps(before: Sequence[str], after: Sequence[str]) -> int:
    """How many difflib takes at most: each stretch that it finds compares every line with its like."""
    counts = Counter(after)
    return (len(before) + sum(counts[line] for line in before)) * min(len(before), len(after))


def _in_order(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """The places of lines that both have once, the longest row that has the same order in both."""
    places = {line: at for at, line in enumerate(after)}
    ours, theirs = Counter(before), Counter(after)
    ends: list[int] = []
    rows: list[tuple[tuple[int, int], object]] = []  # the last pair of the best row of each length, with its beginning
    for a, line in enumerate(before):
        if ours[line] == theirs[line] == 1:
            at = bisect_left(ends, places[line])
            ends[at : at + 1] = [places[line]]
            rows[at : at + 1] = [((a, places[line]), rows[at - 1] if at else None)]
    pairs: list[tuple[int, int]] = []
    row: object = rows[-1] if rows else None
    while isinstance(row, tuple):
        pairs.append(row[0])
        row = row[1]
    return pairs[::-1]
