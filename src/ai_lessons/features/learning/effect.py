"""Whether lessons make a difference: sessions with one, and sessions in which it was left out on purpose. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import sqrt
from typing import TYPE_CHECKING

from ai_lessons.app.learned import Effect
from ai_lessons.model.events import (
    CONTRADICTED,
    HELPFUL,
    INJECTED,
    LEFT_OUT,
    SCRIPT_FAILED,
    SCRIPT_OK,
    WRONG,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

GOOD = frozenset({HELPFUL, SCRIPT_OK})
BAD = frozenset({CONTRADICTED, SCRIPT_FAILED, WRONG})


def effect(good_shown: int, shown: int, good_left_out: int, left_out: int) -> Effect | None:
    """The difference between sessions with and without, and its interval.

    None while one of the two is missing. One success and one failure are added to each side
    (Agresti and Caffo, The American Statistician 54, 2000), so that the interval holds for a
    handful of sessions, too.
    """
    if not shown or not left_out:
        return None
    with_lesson, without = (good_shown + 1) / (shown + 2), (good_left_out + 1) / (left_out + 2)
    variance = with_lesson * (1 - with_lesson) / (shown + 2) + without * (1 - without) / (
        left_out + 2
    )
    # 1.96 standard deviations on either side hold 95 % of a normal distribution
    middle, width = with_lesson - without, 1.959964 * sqrt(variance)
    difference = good_shown / shown - good_left_out / left_out
    return Effect(shown, left_out, difference, max(middle - width, -1.0), min(middle + width, 1.0))


def measured(happened: Iterable[tuple[str, str, str]]) -> Effect | None:
    """The effect over all lessons that were ever left out, from (session, entry, event) rows.

    A session went well if its outcomes of other entries were more often good than bad: a lesson
    that was not shown has no outcomes. Sessions without such outcomes are left out.
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
        outcomes = []
        for other, value in balance[session].items():
            if other != entry:
                outcomes.append(value)
        if entry in tried and len(arm) == 1 and outcomes:
            counts[next(iter(arm)), sum(outcomes) > 0] += 1
    shown, left = (counts[word, True] + counts[word, False] for word in (INJECTED, LEFT_OUT))
    return effect(counts[INJECTED, True], shown, counts[LEFT_OUT, True], left)
