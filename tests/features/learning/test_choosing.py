"""Which lessons come unasked, and why the others do not."""

from collections.abc import Callable, Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.learning.confidence import usage
from ai_lessons.features.learning.filter import Thresholds, objection
from ai_lessons.features.learning.objections import harmful
from ai_lessons.features.learning.parameters import BUDGET, CONFIDENCE, SIMILARITY
from ai_lessons.model.entries import EntrySummary, Kind, Moment, Origin
from ai_lessons.model.layout import ANYTHING, BELOW, BY_NAME
from ai_lessons.model.tallies import Tallies
from ai_lessons.telling.filtering import STARTER, Candidate, Choice, choose, passing

MOMENTS = (Moment.BEGIN, Moment.PROMPT, Moment.BEFORE_TOOL, Moment.TOOL_FAILED)
BARS = Thresholds(3, 0.4, 0.5, {BUDGET: 0.2, CONFIDENCE: 0.3, SIMILARITY: 0.6})


def summary(
    name: str, kind: Kind = Kind.LESSON, project: str = "mine", *tags: str, firm: bool = False
) -> EntrySummary:
    return EntrySummary(name, name, kind, name, project, tags, (), "", origin=Origin(firm=firm))


def fit(name: str, *about: Kind | str, firm: bool = False, **more: Any) -> Candidate:
    return Candidate(summary(name, *about, firm=firm), **more)  # type: ignore[arg-type]  # a kind, a project, tags


def one(
    name: str,
    start: float = 0.5,
    similarity: float | None = None,
    *,
    helpful: int = 0,
    contradicted: int = 0,
) -> Candidate:
    used = usage(Tallies(helpful=helpful, contradicted=contradicted), start)
    return fit(name, usage=used, similarity=similarity)


def tell(
    moment: Moment | None,
    every: list[Candidate],
    told: Collection[str] | None,
    bars: Thresholds,
    ablate: Callable[[str], bool] = lambda _: False,
) -> Choice:
    unasked = told is not None
    ranked, left_out = passing(
        moment, every, told, lambda fit: objection(fit, bars, unasked=unasked)
    )
    omitted = {fit.entry.id for fit in ranked if ablate(fit.entry.id)}
    choice = choose(moment, ranked, bars.budget, told or (), omitted)
    return choice._replace(left_out=(*left_out, *choice.left_out))


def ids(choice: Choice) -> list[str]:
    return [one.entry.id for one in choice.chosen]


def why_not(choice: Choice) -> dict[str, str]:
    return {left.entry.id: left.reason for left in choice.left_out}


def test_each_that_does_not_come_has_its_reason() -> None:
    harmed = one("harmful", 0.9, contradicted=2, helpful=1)
    candidates = [
        one("unsure", 0.1),
        one("far", similarity=0.4),
        harmed,
        one("near", similarity=0.6),
        one("fine"),
    ]
    left_out = why_not(tell(None, candidates, None, BARS))
    assert left_out == {"unsure": "confidence", "far": "similarity", "harmful": "harm"}


def test_what_is_left_out_does_not_count_against_the_limit() -> None:
    choice = tell(
        None, [one("a", 0.1), one("b"), one("c"), one("d")], None, BARS, lambda name: name == "b"
    )
    assert ids(choice) == ["c", "d"]
    assert why_not(choice) == {"a": "confidence", "b": "ablation"}


def test_nobody_is_left_out_on_purpose_who_would_not_have_come() -> None:
    nobody = tell(None, [one(name) for name in "abcd"], None, BARS._replace(budget=0))
    assert why_not(nobody) == dict.fromkeys("abcd", "budget")
    choice = tell(None, [one("a", 0.1)], None, BARS, lambda _: True)
    assert choice.left_out[0].reason == "confidence"


@given(
    st.lists(st.tuples(st.floats(0.05, 0.95), st.integers(0, 5), st.integers(0, 5))),
    st.integers(0, 6),
)
def test_every_candidate_either_comes_or_has_a_reason(
    lessons: list[tuple[float, int, int]], budget: int
) -> None:
    candidates = [
        one(str(n), start, helpful=h, contradicted=c) for n, (start, h, c) in enumerate(lessons)
    ]
    choice = tell(None, candidates, None, BARS._replace(budget=budget))
    assert sorted([*ids(choice), *why_not(choice)]) == sorted(x.entry.id for x in candidates)
    assert len(choice.chosen) <= budget


def test_harm_is_more_contradictions_than_help() -> None:
    assert not harmful(Tallies())
    assert harmful(Tallies(contradicted=1)) == "contradicted more often (1) than helpful (0)"
    assert not harmful(Tallies(helpful=1, contradicted=1))
    assert not harmful(Tallies(recurred=2))
    assert not harmful(Tallies(recurred=3, followed=3))
    assert harmful(Tallies(recurred=3, followed=1)).startswith(
        "the same failure came again in 3 sessions"
    )


TWO = BARS._replace(budget=2)


def test_at_the_start_what_was_needed_most_often_comes_then_what_is_firm_then_what_is_near() -> (
    None
):
    every = [
        fit("lesson", level=0.0), fit("rule everywhere", Kind.RULE, "global", level=0.0),
        fit("rule here", Kind.RULE, level=0.0, closeness=0.5), fit("firm lesson", Kind.LESSON, firm=True, level=0.0),
        fit("needed twice", level=2.0),
    ]  # fmt: skip
    told = ids(tell(Moment.BEGIN, every, (), BARS._replace(budget=6)))
    assert told == ["needed twice", "rule here", "rule everywhere", "firm lesson", "lesson"]


@pytest.mark.parametrize("moment", [Moment.PROMPT, Moment.BEFORE_TOOL])
def test_before_a_tool_and_at_a_prompt_the_surest_comes_then_ones_own(moment: Moment) -> None:
    every = [
        fit("words", level=ANYTHING), fit("name", level=BY_NAME), fit("own", level=BY_NAME, closeness=0.5),
        fit("folder", level=BELOW), fit("earlier"),
    ]  # fmt: skip
    choice = tell(moment, every, {"earlier"}, TWO)
    assert ids(choice) == ["folder", "own"]
    assert why_not(choice) == {"earlier": "told", "name": "budget", "words": "budget"}


def test_at_a_failure_a_second_entry_has_to_be_likely_itself() -> None:
    best, second = fit("best", chance=0.9), fit("second", chance=0.6)
    assert ids(tell(Moment.TOOL_FAILED, [second, best], (), TWO)) == ["best", "second"]
    assert ids(tell(Moment.TOOL_FAILED, [second._replace(chance=0.4), best], (), TWO)) == ["best"]
    assert ids(tell(Moment.TOOL_FAILED, [best._replace(chance=0.24)], (), TWO)) == []


def test_of_entries_that_are_as_likely_at_a_failure_the_one_that_helped_is_tried() -> None:
    helped = fit("helped", chance=0.85, usage=usage(Tallies(helpful=2), 0.5))
    choice = tell(Moment.TOOL_FAILED, [fit("other", chance=0.9), helped], (), TWO)
    assert ids(choice) == ["helped"]
    assert why_not(choice) == {"other": "budget"}


def test_what_was_told_before_a_failure_keeps_its_place_and_what_nobody_asked_for_is_no_best() -> (
    None
):
    every = [
        fit("told", chance=0.9),
        fit("next", chance=0.4),
        fit("theirs", Kind.LESSON, "mine", STARTER, chance=1.0),
    ]
    choice = tell(Moment.TOOL_FAILED, every, {"told"}, TWO)
    assert ids(choice) == []
    assert why_not(choice) == {"told": "told", "next": "chance", "theirs": "starter"}
    assert "starter" not in why_not(tell(Moment.TOOL_FAILED, every, None, TWO)).values(), (
        "a person asked"
    )


def test_rules_pass_by_harm_and_chance_of_being_left_out_which_are_about_lessons() -> None:
    harmed = fit("rule", Kind.RULE, usage=usage(Tallies(contradicted=3), 0.5))
    every = [harmed, harmed._replace(entry=summary("lesson")), fit("fine"), fit("firm", firm=True)]
    choice = tell(Moment.PROMPT, every, (), BARS, {"rule", "fine", "firm"}.__contains__)
    assert ids(choice) == ["rule", "firm"]
    assert why_not(choice) == {"lesson": "harm", "fine": "ablation"}


@given(
    st.sampled_from(MOMENTS),
    st.lists(
        st.builds(
            fit, st.sampled_from("abcdefgh"), st.sampled_from([Kind.RULE, Kind.LESSON]),
            st.sampled_from(["mine", "global"]), st.sampled_from(["tag", STARTER]),
            firm=st.booleans(), level=st.integers(0, 4), chance=st.floats(0, 1), closeness=st.floats(0, 1),
        ),
        unique_by=lambda fit: fit.entry.id,
    ),
    st.sets(st.sampled_from("abcdefgh")),
    st.integers(1, 8),
)  # fmt: skip
def test_every_entry_is_told_or_has_one_reason_not_to_be(
    moment: Moment, every: list[Candidate], told: set[str], budget: int
) -> None:
    choice = tell(moment, every, told, BARS._replace(budget=budget))
    assert sorted([*ids(choice), *why_not(choice)]) == sorted(one.entry.id for one in every)
    assert len(choice.chosen) <= budget
    assert not any(STARTER in one.entry.tags or one.entry.id in told for one in choice.chosen)
