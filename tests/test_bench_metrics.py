"""The measures of bench/retrieval against values worked out by hand."""

from __future__ import annotations

import importlib.util
from math import isclose, log2
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bench import metrics
else:
    _place = Path(__file__).parents[1] / "bench" / "metrics.py"
    _spec = importlib.util.spec_from_file_location("bench_metrics", _place)
    metrics = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(metrics)


def test_a_perfect_ranking_scores_one() -> None:
    grades = {"a": 3, "b": 2, "c": 1}
    assert metrics.ndcg(["a", "b", "c", "x"], grades) == 1.0
    assert metrics.recall(["a", "b", "c"], grades) == 1.0
    assert metrics.reciprocal_rank(["a", "b"], grades) == 1.0


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    # One relevant document at rank 3: (1 / log2(4)) / (1 / log2(2)) = 0.5
    assert metrics.ndcg(["x", "y", "a"], {"a": 1}) == 0.5


def test_ndcg_with_grades_worked_out_by_hand() -> None:
    # Wikipedia's example (grades 3 2 3 0 1 2; DCG 6.861) with the two judged documents never returned (3 and 2).
    ranking = ["d1", "d2", "d3", "d4", "d5", "d6"]
    grades = {"d1": 3, "d2": 2, "d3": 3, "d4": 0, "d5": 1, "d6": 2, "d7": 3, "d8": 2}
    gain = 3 + 2 / log2(3) + 3 / 2 + 0 + 1 / log2(6) + 2 / log2(7)
    ideal = 3 + 3 / log2(3) + 3 / 2 + 2 / log2(5) + 2 / log2(6) + 2 / log2(7)
    assert isclose(gain, 6.861, abs_tol=0.001)
    assert isclose(metrics.ndcg(ranking, grades, 6), gain / ideal)
    assert isclose(metrics.ndcg(ranking, grades, 6), 0.785, abs_tol=0.001)


def test_the_ideal_is_cut_at_the_same_depth_as_the_ranking() -> None:
    grades = {f"d{n}": 1 for n in range(20)}
    assert metrics.ndcg([f"d{n}" for n in range(20)], grades, 10) == 1.0


def test_what_stands_below_the_depth_does_not_count() -> None:
    ranking = [f"x{n}" for n in range(10)] + ["a"]
    assert metrics.ndcg(ranking, {"a": 1}) == 0.0
    assert metrics.recall(ranking, {"a": 1}) == 0.0
    assert metrics.reciprocal_rank(ranking, {"a": 1}) == 0.0


def test_recall_counts_only_grades_above_zero() -> None:
    assert metrics.recall(["a", "z"], {"a": 1, "b": 2, "z": 0}) == 0.5


@pytest.mark.parametrize(("rank", "score"), [(1, 1.0), (2, 0.5), (4, 0.25), (10, 0.1)])
def test_reciprocal_rank_is_one_over_the_rank_of_the_first_hit(rank: int, score: float) -> None:
    ranking = [f"x{n}" for n in range(rank - 1)] + ["a", "b"]
    assert metrics.reciprocal_rank(ranking, {"a": 1, "b": 1}) == score


def test_a_query_with_nothing_relevant_scores_zero() -> None:
    assert metrics.ndcg(["a"], {"a": 0}) == 0.0
    assert metrics.recall(["a"], {}) == 0.0
