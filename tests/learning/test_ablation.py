"""The effect of showing a lesson, told from chance."""

import pytest

from ai_lessons.learning.selection import effect, measured
from learning.events_world import chance

Rows = list[tuple[str, str, str]]


def session(name: str, lesson: str, *said: str) -> Rows:
    """A session in which a lesson was shown or left out, and other things happened to another entry."""
    return [(name, "lesson", lesson), *((name, f"other {n}", word) for n, word in enumerate(said))]


def test_sessions_with_and_without_are_compared() -> None:
    rows = [
        *session("a", "injected", "helpful"),
        *session("b", "injected", "script_ok", "script_ok", "contradicted"),
        *session("c", "injected", "script_failed"),
        *session("d", "left_out", "script_failed", "helpful"),
        *session("e", "left_out", "helpful"),
    ]
    found = measured(rows)
    assert found is not None
    assert (found.shown, found.left_out) == (3, 2)
    assert found.difference == pytest.approx(2 / 3 - 1 / 2)
    assert measured(list(reversed(rows))) == found


def test_an_effect_needs_sessions_of_both_sorts_and_an_interval_of_few_is_wide() -> None:
    assert effect(3, 5, 0, 0) is None
    few = effect(3, 4, 1, 2)
    assert few is not None
    assert few.low < 0 < few.difference < few.high
    many = effect(800, 1000, 60, 100)
    assert many is not None
    assert many.difference == pytest.approx(0.2)
    assert 0.1 < many.low < 0.2 < many.high < 0.31


def test_the_interval_of_an_effect_holds_the_truth_as_often_as_it_says() -> None:
    dice = chance(11)
    held = 0
    for _ in range(1500):
        shown, without = (sum(dice.random() < p for _ in range(n)) for p, n in ((0.8, 60), (0.65, 12)))
        found = effect(shown, 60, without, 12)
        held += found is not None and found.low <= 0.15 <= found.high
    assert held / 1500 >= 0.93
