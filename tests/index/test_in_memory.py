from __future__ import annotations

from typing import Any

import pytest

from ai_lessons.index.few import COLUMNS, Few


def row(entry_id: str, text: str = "", vector: list[float] | None = None, title: str = "") -> dict[str, Any]:
    return dict(zip(COLUMNS, (entry_id, 0, title, "", text, vector), strict=True))


def test_passages_are_found_by_the_words_that_they_share_with_the_question_most_first() -> None:
    few = Few([row("a", "Locks and leases"), row("b", "nothing"), row("c", "lock the carts", title="Carts")])
    assert [(hit.entry_id, hit.score) for hit in few.by_words("locking carts", 9)] == [("c", 2.0), ("a", 1.0)]
    assert [hit.entry_id for hit in few.by_words("locking carts", 1)] == ["c"]


def test_passages_are_compared_by_the_angle_of_their_vectors_whatever_their_lengths() -> None:
    few = Few([row("near", vector=[10.0, 1.0]), row("far", vector=[0.0, 3.0]), row("none")])
    found = few.by_vector([2.0, 0.0], 9)
    assert [hit.entry_id for hit in found] == ["near", "far"]
    assert found[0].score == pytest.approx(10 / 101**0.5)
    assert found[1].score == pytest.approx(0.0)


def test_without_rows_or_vectors_nothing_is_found() -> None:
    for few in (Few([]), Few([row("a", "x")])):
        assert few.by_vector([1.0, 0.0], 9) == ()
    assert Few([]).by_words("x", 9) == ()
