from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.knowledge.versions import score

some = st.sets(st.sampled_from(["1.9", "1.10", "2.0", "v3", "latest"]))


@pytest.mark.parametrize(
    ("asked", "have", "expected"),
    [
        ({"1.0"}, {"1.0"}, 1.00),
        ({"1.0", "2.0"}, {"1.0", "2.0"}, 1.00),
        ({"1.0"}, {"1.0", "2.0"}, 0.95),
        ({"1.0", "2.0"}, {"1.0"}, 0.85),
        ({"1.0", "2.0"}, {"2.0", "3.0"}, 0.75),
        ({"1.0"}, set(), 0.70),
        ({"1.0"}, {"unversioned"}, 0.70),
        ({"1.0"}, {"2.0"}, None),
        ({"1.1"}, {"1.10"}, None),
        (set(), {"2.0"}, 1.00),
        (set(), set(), 1.00),
        ({"v3.5"}, {"3.5"}, 1.00),
        ({"LTS"}, {"lts"}, 1.00),
        ({"vista"}, {"ista"}, None),
        ({"unversioned"}, set(), 1.00),
        ({"unversioned"}, {"1.0"}, None),
        ({"unversioned", "1.0"}, {"1.0"}, 1.00),
    ],
)
def test_the_table_of_the_design(asked: set[str], have: set[str], expected: float | None) -> None:
    assert score(asked, have) == expected


@given(some, some)
def test_a_score_is_a_factor_and_only_the_same_is_perfect(asked: set[str], have: set[str]) -> None:
    found = score(asked, have)
    assert found is None or 0.7 <= found <= 1.0
    assert (found == 1.0) == (not asked or asked == have)
    assert (found is None) == bool(asked and have and not asked & have)


@given(some.filter(bool), some.filter(bool))
def test_asking_and_having_are_told_apart_only_where_one_holds_the_other(one: set[str], other: set[str]) -> None:
    if not (one < other or other < one):
        assert score(one, other) == score(other, one)
