"""Which lessons come unasked, and why the others do not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.learning.choose import Bars, Candidate, choose, harmful
from ai_lessons.learning.fold import BUDGET, CONFIDENCE, SIMILARITY, Tallies, usage

BARS = Bars(3, 0.4, 0.5, {BUDGET: 0.2, CONFIDENCE: 0.3, SIMILARITY: 0.6})


def one(
    name: str, start: float = 0.5, similarity: float | None = None, *, helpful: int = 0, contradicted: int = 0
) -> Candidate:
    return Candidate(name, usage(Tallies(helpful=helpful, contradicted=contradicted), start), similarity)


def reasons(*candidates: Candidate, bars: Bars = BARS) -> dict[str, str]:
    return {left.id: left.reason for left in choose(candidates, bars).left_out}


def test_they_come_in_their_order_while_the_budget_lasts() -> None:
    choice = choose([one(name) for name in "abcde"], BARS)
    assert [chosen.id for chosen in choice.chosen] == ["a", "b", "c"]
    assert [(left.id, left.reason) for left in choice.left_out] == [("d", "budget"), ("e", "budget")]
    assert choice.left_out[0].detail == "the budget of 3 is spent"


def test_each_that_does_not_come_has_its_reason() -> None:
    assert reasons(
        one("unsure", 0.1),
        one("far", similarity=0.4),
        one("harmful", 0.9, contradicted=2, helpful=1),
        one("near", similarity=0.6),
        one("fine"),
    ) == {"unsure": "confidence", "far": "similarity", "harmful": "harm"}


def test_what_is_left_out_takes_nobodys_place() -> None:
    choice = choose([one("a", 0.1), one("b"), one("c"), one("d")], BARS, lambda name: name == "b")
    assert [chosen.id for chosen in choice.chosen] == ["c", "d"]
    assert [(left.id, left.reason) for left in choice.left_out] == [("a", "confidence"), ("b", "ablation")]


def test_nobody_is_left_out_on_purpose_who_would_not_have_come() -> None:
    assert reasons(*(one(name) for name in "abcd"), bars=BARS._replace(budget=0)) == dict.fromkeys("abcd", "budget")
    choice = choose([one("a", 0.1)], BARS, lambda _: True)
    assert choice.left_out[0].reason == "confidence"


def test_who_came_through_only_just_carries_the_parameter() -> None:
    choice = choose([one("a", 0.9, 0.9), one("b", 0.45, 0.8), one("c", 0.6, 0.55), one("d", 0.9)], BARS)
    assert {chosen.id: dict(chosen.edge) for chosen in choice.chosen} == {
        "a": {}, "b": {CONFIDENCE: 0.3}, "c": {SIMILARITY: 0.6, BUDGET: 0.2},
    }  # fmt: skip


def test_a_parameter_that_is_not_learned_has_no_edge() -> None:
    choice = choose([one("a", 0.45), one("b")], BARS._replace(budget=1, positions={CONFIDENCE: 0.3}))
    assert [dict(chosen.edge) for chosen in choice.chosen] == [{CONFIDENCE: 0.3}]


def test_a_budget_that_nobody_stayed_outside_for_has_no_last_one() -> None:
    choice = choose([one("a"), one("b")], BARS)
    assert all(BUDGET not in chosen.edge for chosen in choice.chosen)


@given(st.lists(st.tuples(st.floats(0.05, 0.95), st.integers(0, 5), st.integers(0, 5))), st.integers(0, 6))
def test_every_candidate_either_comes_or_has_a_reason(lessons: list[tuple[float, int, int]], budget: int) -> None:
    candidates = [one(str(n), start, helpful=h, contradicted=c) for n, (start, h, c) in enumerate(lessons)]
    choice = choose(candidates, BARS._replace(budget=budget))
    assert sorted([x.id for x in choice.chosen] + [x.id for x in choice.left_out]) == sorted(x.id for x in candidates)
    assert len(choice.chosen) <= budget


def test_harm_is_more_contradictions_than_help() -> None:
    assert not harmful(Tallies())
    assert harmful(Tallies(contradicted=1)) == "contradicted more often (1) than helpful (0)"
    assert not harmful(Tallies(helpful=1, contradicted=1))
    assert not harmful(Tallies(recurred=2))
    assert not harmful(Tallies(recurred=3, worked=2, followed=1))
    assert harmful(Tallies(recurred=3, worked=1)).startswith("the same failure came again in 3 sessions")
