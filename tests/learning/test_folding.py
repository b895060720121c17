"""Counts to numbers, by the rules of the specification."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.learning import statistics
from ai_lessons.learning.statistics import NOTHING, Tallies, prior, standing, usage

some = st.integers(0, 50)
counts = st.builds(Tallies, some, some, some, some, some, some, some, some, some, some, some)


@pytest.mark.parametrize(
    ("word", "start"),
    [("very-low", 0.1), ("low", 0.3), ("medium", 0.5), ("high", 0.7), ("very-high", 0.9), ("sure", 0.5), (None, 0.5)],
)
def test_a_lesson_starts_where_its_author_puts_it(word: object, start: float) -> None:
    used = usage(NOTHING, prior(word))
    assert used.confidence == pytest.approx(start)
    assert used.alpha + used.beta == pytest.approx(2)


def test_outcomes_count_as_the_specification_says() -> None:
    used = usage(Tallies(helpful=7, ignored=2, contradicted=1), 0.5)
    assert used.alpha == pytest.approx(8.0)
    assert used.beta == pytest.approx(1 + 0.2 + 1.5)
    assert used.confidence == pytest.approx(8 / 10.7)


def test_what_a_session_showed_counts_less_than_what_somebody_said() -> None:
    used = usage(Tallies(followed=1, recurred=4), 0.5)
    assert used.alpha == pytest.approx(1 + 1.0)
    assert used.beta == pytest.approx(1 + 4 * 0.25 * 1.5)


@given(counts, st.sampled_from(list(statistics.PRIOR.values())))
def test_confidence_moves_the_way_the_outcome_says_and_stays_a_share(had: Tallies, start: float) -> None:
    before = usage(had, start).confidence
    assert 0 < before < 1
    assert usage(had._replace(helpful=had.helpful + 1), start).confidence > before
    ignored = usage(had._replace(ignored=had.ignored + 1), start).confidence
    assert usage(had._replace(contradicted=had.contradicted + 1), start).confidence < ignored < before


@given(counts, st.sampled_from(list(statistics.PRIOR.values())))
def test_standing_stays_within_fifteen_percent(had: Tallies, start: float) -> None:
    used = usage(had, start)
    factor = standing(used, start)
    assert 0.85 <= factor <= 1.15
    assert (factor > 1) == (used.confidence > start)
