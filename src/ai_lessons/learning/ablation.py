"""Does showing lessons make a difference? Sessions with one against those where it was left out on purpose. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.learning.events import CONTRADICTED, HELPFUL, INJECTED, LEFT_OUT, SCRIPT_FAILED, SCRIPT_OK, WRONG

if TYPE_CHECKING:
    from collections.abc import Iterable

GOOD = frozenset({HELPFUL, SCRIPT_OK})
BAD = frozenset({CONTRADICTED, SCRIPT_FAILED, WRONG})

NORMAL_95 = 1.959964
"""Standard deviations on either side that hold 95 % of a normal distribution."""


class Effect(NamedTuple):
    """What showing a lesson changed: the difference of the shares of good sessions, with its 95 % interval.

    `shown` and `left_out` count the sessions on either side, one for each lesson that was tried in it.
    """

    shown: int
    left_out: int
    difference: float
    low: float
    high: float


def effect(good_shown: int, shown: int, good_left_out: int, left_out: int) -> Effect | None:
    """The difference between sessions with and without, and its interval; None while one of the two is missing.

    One success and one failure are added to each side (Agresti and Caffo, The American Statistician 54, 2000): the
    interval keeps what it promises for a handful of sessions, too.
    """
    if not shown or not left_out:
        return None
    one, other = (good_shown + 1) / (shown + 2), (good_left_out + 1) / (left_out + 2)
    width = NORMAL_95 * sqrt(one * (1 - one) / (shown + 2) + other * (1 - other) / (left_out + 2))
    middle = one - other
    difference = good_shown / shown - good_left_out / left_out
    return Effect(shown, left_out, difference, max(middle - width, -1.0), min(middle + width, 1.0))


def measured(happened: Iterable[tuple[str, str, str]]) -> Effect | None:
    """The effect over all lessons that were ever left out, from (session, entry, event) rows.

    A session went well if more of what happened in it was good than bad, other entries than the lesson itself counted:
    what is said of a lesson cannot be said where it was not shown. Sessions of which nothing is known are left out.
    """
    balance: dict[str, Counter[str]] = defaultdict(Counter)
    arms: dict[tuple[str, str], set[str]] = defaultdict(set)
    for session, entry, event in happened:
        if event in GOOD or event in BAD:
            balance[session][entry] += 1 if event in GOOD else -1
        elif event in {INJECTED, LEFT_OUT}:
            arms[session, entry].add(event)
    tried = {entry for (_, entry), arm in arms.items() if LEFT_OUT in arm}
    counts: Counter[tuple[str, bool]] = Counter()
    for (session, entry), arm in arms.items():
        others = [value for one, value in balance[session].items() if one != entry]
        if entry in tried and len(arm) == 1 and others:
            counts[next(iter(arm)), sum(others) > 0] += 1
    shown, left = (counts[word, True] + counts[word, False] for word in (INJECTED, LEFT_OUT))
    return effect(counts[INJECTED, True], shown, counts[LEFT_OUT, True], left)
