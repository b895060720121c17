from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.search.ranking import Match, blend


def hit(entry_id: str, score: float) -> Match:
    return Match(entry_id, 0, score)


def test_one_list_stays_as_it_is() -> None:
    hits = [hit("a", 3.0), hit("b", 1.0)]
    assert blend([(hits, 9), ([], 100)], 10) == tuple(hits)
    assert blend([(hits, 9)], 1) == tuple(hits[:1])
    assert blend([], 10) == ()


def test_the_only_hit_of_a_small_index_comes_nearer_to_its_like_in_a_large_one() -> None:
    # BM25 as LanceDB gave it for the same text: alone, and among 71 passages
    found = blend([([hit("small", 0.5753642)], 1), ([hit("large", 12.36793)], 71)], 10)
    scores = {one.entry_id: one.score for one in found}
    before = 0.5753642 / 12.36793
    assert 3 * before < scores["small"] / scores["large"] < 1


def test_scores_of_indexes_of_one_size_are_compared_as_they_are() -> None:
    found = blend([([hit("a", 2.0), hit("b", 1.0)], 50), ([hit("c", 1.5)], 50)], 10)
    assert [one.entry_id for one in found] == ["a", "c", "b"]


def test_of_equal_hits_that_of_the_nearer_index_comes_first() -> None:
    lists = [([hit(name, 1.0)], 5) for name in "cab"]
    assert [one.entry_id for one in blend(lists, 9)] == ["c", "a", "b"]


LISTS = st.lists(st.tuples(st.lists(st.floats(0.01, 50), max_size=5), st.integers(0, 10_000_000)), max_size=3)


@given(lists=LISTS, depth=st.integers(1, 12))
def test_the_order_of_each_list_stays_and_nothing_is_lost_or_made_up(
    lists: list[tuple[list[float], int]], depth: int
) -> None:
    several = [
        ([hit(f"{n}-{m}", score) for m, score in enumerate(sorted(scores, reverse=True))], passages)
        for n, (scores, passages) in enumerate(lists)
    ]
    found = blend(several, depth)
    assert len(found) == min(depth, sum(len(hits) for hits, _ in several))
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for n, (hits, _) in enumerate(several):
        own = [each.entry_id for each in found if each.entry_id.startswith(f"{n}-")]
        assert own == [each.entry_id for each in hits][: len(own)]
