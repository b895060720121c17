"""Who comes before whom in a history: exact answers without asking git. Pure numbers, no commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Ancestry:
    """A history whose commits are numbered so that parents have smaller numbers; -1 stands for nothing.

    The line of first parents from the tip is the trunk. For every commit two places on it are kept: the last trunk
    commit at or before it (`below`), and the first that has it as an ancestor (`entered`). Only where those two do not
    decide is the history walked, and then only off the trunk.
    """

    def __init__(self, parents: Sequence[Sequence[int]], tip: int) -> None:
        self._parents = parents
        trunk = []
        while tip >= 0:
            trunk.append(tip)
            tip = parents[tip][0] if parents[tip] else -1
        trunk.reverse()
        self._trunk = trunk
        self._entered = self._entering(trunk)
        self._below = self._belows({node: place for place, node in enumerate(trunk)})

    def is_ancestor(self, one: int, other: int) -> bool:
        """True if `other` contains `one`; a commit contains itself, and everything contains nothing (-1)."""
        if one < 0 or one == other:
            return True
        if one > other:
            return False
        if self._entered[one] <= self._below[other]:
            return True
        return self._reaches(other, one)

    def arrival(self, node: int) -> int:
        """The commit of the trunk with which a commit came to it: the first that contains it, or is it."""
        return self._trunk[self._entered[node]]

    def between(self, before: int, after: int) -> list[int]:
        """Every commit that `after` contains and `before` does not, newest first."""
        found, waiting, met = [], [after], set()
        while waiting:
            at = waiting.pop()
            if at >= 0 and at not in met and not self.is_ancestor(at, before):
                met.add(at)
                found.append(at)
                waiting.extend(self._parents[at])
        return sorted(found, reverse=True)

    def _entering(self, trunk: Sequence[int]) -> list[int]:
        never = len(self._parents) + 1
        entered = [never] * len(self._parents)
        for place, node in enumerate(trunk):
            waiting = [node]
            while waiting:
                at = waiting.pop()
                if at >= 0 and entered[at] == never:
                    entered[at] = place
                    waiting.extend(self._parents[at])
        return entered

    def _belows(self, places: dict[int, int]) -> list[int]:
        below: list[int] = []
        for node, parents in enumerate(self._parents):
            place = places.get(node)
            below.append(max((below[p] for p in parents if p >= 0), default=-1) if place is None else place)
        return below

    def _reaches(self, start: int, goal: int) -> bool:
        """Walk back from `start`. A way through the trunk cannot lead to the goal, or the places would have told."""
        waiting, met = [start], set()
        while waiting:
            at = waiting.pop()
            if at == goal:
                return True
            if at < goal or at in met:
                continue
            met.add(at)
            if self._below[at] < 0 or self._entered[at] > self._below[at]:
                waiting.extend(self._parents[at])
        return False
