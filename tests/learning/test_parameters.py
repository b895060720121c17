"""Parameters of the repository: the update of the specification, samples, and where outcomes lead."""

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.learning import statistics
from ai_lessons.learning.statistics import (
    BUDGET,
    CONFIDENCE,
    DEFINITIONS,
    OBSERVED,
    SIMILARITY,
    Event,
    fold_parameters,
    initial,
    learned,
)
from learning.events_world import IDS, TIMES, chance, turns


def said(name: str, word: str, value: float | None = None, weight: float | None = None) -> Event:
    return Event(IDS[0], TIMES[0], word, name, value=value, weight=weight)


def unlearned(_alpha: float, _beta: float) -> float:
    raise AssertionError("nothing was observed, so nothing is drawn")


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_parameter_starts_where_we_ship_it_and_is_not_sampled_before_something_was_observed(name: str) -> None:
    fresh = initial(name)
    assert fresh.value == pytest.approx(DEFINITIONS[name].start)
    assert fresh.sample(unlearned) == fresh.position
    assert (fresh.uncertainty, fresh.observations) == (1.0, 0)


def test_an_outcome_counts_as_the_specification_says() -> None:
    start = initial(CONFIDENCE)
    once = start.update(0.8, 1.0)
    assert once.alpha == pytest.approx(start.alpha + 0.8 / 2)
    assert once.beta == pytest.approx(start.beta + 0.2 / 2)
    assert (once.observations, once.uncertainty) == (1, 0.5)
    twice = once.update(0.0, 3.0)
    assert twice.alpha == once.alpha
    assert twice.beta == pytest.approx(once.beta + 3 / 1.5)
    assert twice.uncertainty == pytest.approx(1 / (1 + sqrt(2)))


@given(st.lists(turns, max_size=30))
def test_nothing_in_a_log_brings_a_parameter_out_of_its_range(events: list[Event]) -> None:
    for one in fold_parameters(events).values():
        about = DEFINITIONS[one.name]
        assert about.low <= one.low <= one.value <= one.high <= about.high
        assert one.alpha > 0
        assert one.beta > 0


@pytest.mark.parametrize(
    "event",
    [
        said("gravity", OBSERVED, 0.5), said(BUDGET, OBSERVED), said(BUDGET, OBSERVED, 1.5),
        said(BUDGET, OBSERVED, 0.5, -1), said(BUDGET, OBSERVED, 0.5, 1e6), said(BUDGET, "bounds", 9, 3),
        said(BUDGET, "applauded", 1),
    ],
)  # fmt: skip
def test_nonsense_changes_nothing(event: Event) -> None:
    assert fold_parameters([event]) == fold_parameters([])


@pytest.mark.parametrize(
    ("outcome", "name", "up"),
    [
        ("helpful", BUDGET, True), ("ignored", BUDGET, False), ("contradicted", BUDGET, False),
        ("helpful", CONFIDENCE, False), ("ignored", CONFIDENCE, True), ("contradicted", SIMILARITY, True),
    ],
)  # fmt: skip
def test_a_helpful_last_one_asks_for_more_and_another_for_less(outcome: str, name: str, up: bool) -> None:
    (event,) = learned(outcome, {name: 0.4})
    assert event.value is not None
    assert (event.value > 0.4) == up
    assert abs(event.value - 0.4) <= statistics.REACH
    assert fold_parameters([event._replace(id=IDS[0])])[name].observations == 1


@given(st.floats(0, 1), st.sampled_from(["helpful", "ignored", "contradicted"]))
def test_what_is_learned_stays_in_range_and_weighs_what_the_lesson_was_worth(position: float, outcome: str) -> None:
    for event in learned(outcome, {BUDGET: position, "gravity": 0.5}):
        assert event.entry == BUDGET
        assert event.value is not None
        assert 0 <= event.value <= 1
        assert event.weight == {"helpful": 1.0, "ignored": 0.1, "contradicted": 1.5}[outcome]


@pytest.mark.parametrize("worth_having", [4, 8, 15])
def test_the_budget_comes_to_rest_where_one_more_is_worth_nothing(worth_having: int) -> None:
    """A user to whom the first so many are helpful two times in three, and the others never."""
    dice = chance(7)
    one = initial(BUDGET)
    for _ in range(1500):
        position = one.sample(dice.betavariate)
        last = one.at(position)
        outcome = "helpful" if last <= worth_having and dice.random() < 2 / 3 else "contradicted"
        (event,) = learned(outcome if last > worth_having or outcome == "helpful" else "ignored", {BUDGET: position})
        assert event.value is not None
        assert event.weight is not None
        one = one.update(event.value, event.weight)
    assert abs(one.value - worth_having) <= 1
