from __future__ import annotations

import pytest

from ai_lessons.index.model_files import PINNED
from ai_lessons.index.ranking import NEAR_LEAST, NEAR_MOST, Match, bar, holds, too_far
from ai_lessons.index.rows import Candidates

PASSAGES = 100
BAR = bar(PINNED.name, PASSAGES) or 0.0


def candidates(*scores: float, model: str = PINNED.name) -> Candidates:
    return Candidates(vectors=tuple(Match(f"e{n}", 0, score) for n, score in enumerate(scores)), model=model)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (candidates(BAR), None),
        (candidates(BAR - 0.01, 0.2), (BAR - 0.01, BAR)),
        (candidates(0.1, model="another"), None),
        (candidates(), None),
    ],
)
def test_only_the_nearest_passage_of_a_measured_model_decides(
    found: Candidates, expected: tuple[float, float] | None
) -> None:
    assert too_far(found, PASSAGES) == expected


def test_the_bar_rises_with_the_passages_up_to_a_limit() -> None:
    bars = [bar(PINNED.name, 10**n) for n in range(8)]
    assert bars == sorted(bars, key=lambda one: one or 0.0)
    assert bars[0] == NEAR_LEAST
    assert bars[-1] == NEAR_MOST
    assert bar(PINNED.name, 0) == NEAR_LEAST
    assert bar("another", 10) is None


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("TS2345", "What TS2345 means", True),
        ("how do I list all files", "Listing of files", True),
        ("boundary layer of a wing", "a wing of the house", False),
        ("one two three fourth", "One, two and three.", True),
        ("one two thirds fourth", "One, two and three.", False),
        ("how is it", "anything", True),
        ("数据库", "别的", False),
        ("", "", True),
    ],
)
def test_a_text_that_holds_most_words_of_the_question_is_near(question: str, text: str, expected: bool) -> None:
    assert holds(question, ["something else", text]) is expected
