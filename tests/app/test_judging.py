"""From where on something may be an answer."""

import pytest

from ai_lessons.app.judging import Likelihoods
from ai_lessons.search.answer_chance import Chance


def judged(best: float, **said: object) -> Likelihoods:
    near = Chance(best, {"near": best, "holder": 0.05})
    some = Likelihoods(near, near, Chance(0.0), frozenset(), {}, {}, weak=True)
    return some._replace(**said)  # type: ignore[arg-type]  # fields by their names


@pytest.mark.parametrize(
    ("best", "said", "unsure"),
    [
        (0.09, {}, True),
        (0.07, {}, False),
        (0.12, {"doubt": 0.2}, False),
        (0.12, {"doubt": 0.2, "rare": {"holder": 1.0}}, False),
        (0.12, {"doubt": 0.2, "rare": {"near": 1.0}}, True),
        (0.22, {"measured": False}, False),
        (0.01, {"measured": False, "rare": {"holder": 1.0}}, True),
        (0.22, {"weak": False}, False),
    ],
)
def test_what_is_near_enough_may_be_an_answer_and_who_holds_a_rare_word_at_half_of_it(
    best: float, said: dict[str, object], unsure: bool
) -> None:
    assert judged(best, **said).unsure == unsure
