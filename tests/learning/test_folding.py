"""Events to numbers: once each, in any order, by the rules of the specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.learning import fold
from ai_lessons.learning.fold import NOTHING, Tallies, inherited, prior, standing, usage
from learning.events_world import ENTRIES, IDS, TIMES, fold_uses, uses

if TYPE_CHECKING:
    from ai_lessons.learning.events import Row

rows = uses.map(lambda event: (event.id, event.at, event.event, event.entry, event.session))
some = st.integers(0, 50)
counts = st.builds(Tallies, some, some, some, some, some, some, some, some, some, some, some, some)


def row(number: int, event: str, entry: str = ENTRIES[0], at: str = TIMES[0]) -> Row:
    return IDS[number], at, event, entry, ""


@given(st.lists(rows), st.data())
def test_any_merge_of_any_subsets_in_any_order_gives_the_same(every: list[Row], data: st.DataObject) -> None:
    copies = data.draw(st.lists(st.sampled_from(every), max_size=20)) if every else []
    merged = data.draw(st.permutations([*every, *copies]))
    assert fold_uses(merged) == fold_uses(every)


@given(st.lists(rows), st.lists(rows))
def test_who_merges_whom_makes_no_difference(ours: list[Row], theirs: list[Row]) -> None:
    assert fold_uses([*ours, *theirs]) == fold_uses([*theirs, *ours])


def test_an_id_counts_once_and_with_two_meanings_not_at_all() -> None:
    assert fold_uses([row(0, "helpful"), row(0, "helpful")])[ENTRIES[0]].helpful == 1
    assert fold_uses([row(0, "helpful"), row(0, "contradicted"), row(0, "helpful")]) == {}
    other = row(0, "helpful", ENTRIES[1])
    assert fold_uses([row(0, "helpful"), row(1, "ignored"), other]) == {
        ENTRIES[0]: Tallies(ignored=1, last_used=TIMES[0])
    }


def test_every_word_has_its_count_and_the_latest_use_is_kept() -> None:
    words = ["injected", "injected", "helpful", "ignored", "contradicted", "script_ok", "script_failed", "left_out"]
    several = [row(n, word, at=TIMES[n % 2]) for n, word in enumerate(words)]
    assert fold_uses(several) == {ENTRIES[0]: Tallies(2, 1, 1, 1, 1, 1, 0, 0, 1, last_used=TIMES[1])}


def test_being_left_out_is_no_use() -> None:
    assert fold_uses([row(0, "left_out")])[ENTRIES[0]].last_used == ""


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
    used = usage(Tallies(followed=1, worked=2, recurred=4), 0.5)
    assert used.alpha == pytest.approx(1 + 1.0 + 2 * 0.5)
    assert used.beta == pytest.approx(1 + 4 * 0.25 * 1.5)


@given(counts, st.sampled_from(list(fold.PRIOR.values())))
def test_confidence_moves_the_way_the_outcome_says_and_stays_a_share(had: Tallies, start: float) -> None:
    before = usage(had, start).confidence
    assert 0 < before < 1
    assert usage(had._replace(helpful=had.helpful + 1), start).confidence > before
    ignored = usage(had._replace(ignored=had.ignored + 1), start).confidence
    assert usage(had._replace(contradicted=had.contradicted + 1), start).confidence < ignored < before


@given(counts, st.sampled_from(list(fold.PRIOR.values())))
def test_standing_stays_within_fifteen_percent(had: Tallies, start: float) -> None:
    used = usage(had, start)
    factor = standing(used, start)
    assert 0.85 <= factor <= 1.15
    assert (factor > 1) == (used.confidence > start)


def test_standing_is_one_where_nothing_was_learned() -> None:
    for start in fold.PRIOR.values():
        assert standing(usage(NOTHING, start), start) == pytest.approx(1.0)


def test_a_derived_lesson_starts_nearer_to_a_proven_parent() -> None:
    proven = usage(Tallies(helpful=18), 0.5)
    assert inherited(0.5, []) == 0.5
    assert inherited(0.5, [usage(NOTHING, 0.9)]) == 0.5
    assert inherited(0.5, [proven]) == pytest.approx(0.5 + 0.9 * (proven.confidence - 0.5))
    harmful = usage(Tallies(contradicted=18), 0.5)
    assert inherited(0.5, [harmful]) < 0.5
