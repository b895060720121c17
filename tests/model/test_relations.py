import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model.entries import Edge, Kind, Relation
from ai_lessons.model.links import (
    circles,
    clusters,
    communities,
    drawing,
    joins,
    reach,
    wrong_kinds,
)


def seen(edges: list[Edge], start: str, depth: int = 1) -> list[tuple[str, str, bool, int]]:
    return [
        (step.target, step.relation, step.outgoing, step.depth)
        for step in reach(edges, start, depth)
    ]


CHAIN = [Edge("a", "has_script", "b"), Edge("c", "proves", "b"), Edge("c", "supersedes", "d")]


def test_links_are_followed_both_ways_and_say_from_which_side_they_are_written() -> None:
    assert seen(CHAIN, "b") == [("a", "has_script", False, 1), ("c", "proves", False, 1)]
    assert seen(CHAIN, "a", 2) == [("b", "has_script", True, 1), ("c", "proves", False, 2)]
    assert seen(CHAIN, "a", 9)[-1] == ("d", "supersedes", True, 3)
    assert seen(CHAIN, "nobody") == []
    assert seen(CHAIN, "a", 0) == []


def test_several_relations_to_one_entry_are_all_told_and_the_strongest_comes_first() -> None:
    edges = [
        Edge("a", "related_to", "b"),
        Edge("a", "proves", "b", 0.5),
        Edge("a", "has_doc", "c", 2.0),
    ]
    assert [(step.target, step.relation) for step in reach(edges, "a")] == [
        ("c", "has_doc"),
        ("b", "proves"),
        ("b", "related_to"),
    ]


def test_circles_are_found_only_where_they_make_no_sense() -> None:
    edges = [
        Edge("a", "supersedes", "b"), Edge("b", "supersedes", "c"), Edge("c", "supersedes", "a"),
        Edge("c", "supersedes", "d"),
        Edge("x", "related_to", "y"), Edge("y", "related_to", "x"), Edge("x", "derived_from", "y"),
    ]  # fmt: skip
    assert circles(edges) == (("supersedes", ("a", "b", "c")),)
    assert circles([Edge("n" + str(i), "supersedes", "n" + str(i + 1)) for i in range(5000)]) == ()


edges_of = st.lists(
    st.builds(
        Edge,
        st.sampled_from("abcdef"),
        st.sampled_from(["supersedes", "related_to"]),
        st.sampled_from("abcdef"),
    ),
    max_size=15,
)


@given(edges_of, st.sampled_from("abcdef"))
def test_everything_that_hangs_together_is_reached_once_a_relation_and_from_either_end(
    edges: list[Edge], start: str
) -> None:
    group = {start}
    for _ in edges:
        for edge in edges:
            if {edge.source, edge.target} & group:
                group |= {edge.source, edge.target}
    steps = reach(edges, start, 10)
    assert {step.target for step in steps} == group - {start}
    assert len({(s.target, s.relation, s.outgoing) for s in steps}) == len(steps)
    assert all(start in {back.target for back in reach(edges, step.target, 10)} for step in steps)


@given(edges_of)
def test_a_circle_is_a_walk_along_links_and_found_if_there_is_one(edges: list[Edge]) -> None:
    links = {
        (e.source, e.target) for e in edges if e.relation == "supersedes" and e.source != e.target
    }
    found = circles(edges)
    for _, circle in found:
        assert all(pair in links for pair in zip(circle, circle[1:] + circle[:1], strict=True))
    left = set(links)
    while True:  # take away what nothing supersedes; a rest is a circle
        sources = {s for s, _ in left}
        rest = {(s, t) for s, t in left if t in sources}
        if rest == left:
            break
        left = rest
    assert bool(found) == bool(left)


def test_a_drawing_holds_what_is_near_the_nearest_first() -> None:
    edges = [*CHAIN, Edge("x", "related_to", "y"), Edge("a", "proves", "a")]
    near = drawing(edges, ["b"])
    assert near.ids == ("b", "a", "c")
    assert [line[:3] for line in near.lines] == [("a", "has_script", "b"), ("c", "proves", "b")]
    assert drawing(edges, ["b"], depth=0).ids == ("b",)
    assert drawing(edges, ["x", "x", "a"]).ids == ("x", "a", "b", "y")
    assert drawing(edges, ["nobody"]).ids == ("nobody",)
    assert drawing(edges).ids == ("b", "c", "a", "d", "x", "y")
    assert drawing([]).ids == ()


def test_a_drawing_is_bounded_and_says_how_much_is_left_out() -> None:
    edges = [Edge("hub", "related_to", f"n{n}") for n in range(9)]
    assert drawing(edges, most=3) == drawing(edges[:2])._replace(left_out=7)
    assert drawing(edges, ["n1"], depth=2, most=2).left_out == 8
    assert drawing(edges, ["n1", "n2", "n3"], most=1).ids == ("n1", "n2", "n3")


def test_a_link_that_holds_both_ways_is_drawn_once() -> None:
    edges = [
        Edge("b", "contradicts", "a", 0.5),
        Edge("a", "contradicts", "b"),
        Edge("b", "supersedes", "a"),
    ]
    assert [(line[:3], line.both_ways) for line in drawing(edges).lines] == [
        (("a", "contradicts", "b"), True),
        (("b", "supersedes", "a"), False),
    ]


@given(
    edges_of, st.lists(st.sampled_from("abcdef"), max_size=2), st.integers(0, 3), st.integers(1, 8)
)
def test_a_drawing_holds_all_links_between_what_it_holds_and_no_others(
    edges: list[Edge], starts: list[str], depth: int, most: int
) -> None:
    found = drawing(edges, starts, depth=depth, most=most)
    whole = drawing(edges, starts, depth=depth)
    assert whole.left_out == 0
    assert len(found.ids) + found.left_out == len(whole.ids)
    assert found.ids == whole.ids[: len(found.ids)]
    pairs = {frozenset((edge.source, edge.target)) for edge in edges if edge.source != edge.target}
    assert {frozenset((line.source, line.target)) for line in found.lines} == {
        pair for pair in pairs if pair <= set(found.ids)
    }
    if len(starts) == 1:
        assert set(whole.ids) == {
            starts[0],
            *(step.target for step in reach(edges, starts[0], depth)),
        }


def test_communities_part_what_few_links_join() -> None:
    rings = [[f"{name}{n}" for n in range(6)] for name in "abc"]
    pairs = [(one, other) for ring in rings for one in ring for other in ring if one < other]
    bridges = [("a0", "b0"), ("b1", "c1"), ("x", "y")]
    expected = (*map(tuple, rings), ("x", "y"))
    assert communities([*pairs, *bridges]) == communities([*bridges, *reversed(pairs)]) == expected
    assert communities([]) == ()
    assert communities([("a", "a")]) == (("a",),)


def test_clusters_are_what_hangs_together_the_largest_first() -> None:
    pairs = [("b", "a"), ("b", "c"), ("x", "y"), ("q", "p"), ("p", "r"), ("r", "s"), ("z", "z")]
    assert clusters(pairs) == (("p", "q", "r", "s"), ("a", "b", "c"))
    assert clusters((str(n), str(n + 1)) for n in range(5000))[0][0] == "0"
    assert clusters([]) == ()


@pytest.mark.parametrize(
    ("relation", "source", "target", "right"),
    [
        ("has_script", Kind.LESSON, Kind.DOC, "has_doc"), ("has_doc", Kind.RULE, Kind.SCRIPT, "has_script"),
        ("proves", Kind.RULE, Kind.LESSON, "specializes"), ("proves", Kind.DOC, Kind.RULE, "contradicts"),
        ("supersedes", Kind.LESSON, Kind.RULE, "specializes"), ("specializes", Kind.LESSON, Kind.DOC, "has_doc"),
        ("contradicts", Kind.LESSON, Kind.SCRIPT, "has_script"),
    ],
)  # fmt: skip
def test_a_relation_between_the_wrong_kinds_is_refused_with_what_fits(
    relation: str, source: Kind, target: Kind, right: str
) -> None:
    said, _, fitting = wrong_kinds(relation, source, target).partition("; what fits: ")
    assert said.endswith(f"not from a {source} to a {target}")
    assert right in fitting.split(", ")
    assert all(joins(one, source, target) for one in fitting.split(", "))


def test_every_pair_of_kinds_has_a_relation_and_every_relation_has_kinds() -> None:
    for source in Kind:
        for target in Kind:
            assert joins(Relation.RELATED_TO, source, target)
    assert {one for one in Relation for a in Kind for b in Kind if joins(one, a, b)} == set(
        Relation
    )
    assert wrong_kinds("likes", Kind.LESSON, Kind.DOC) == ""  # an unknown word is another fault


def test_the_relations_in_the_docs_are_those_of_the_program() -> None:
    page = Path(__file__).parents[2] / "docs/reference/file-format.md"
    rows = re.findall(
        r"^- ((?:`\w+`(?:, )?)+): (an?y? .*) to (an?y? .*|one .*)$",
        page.read_text(encoding="utf-8"),
        re.M,
    )
    told = {
        (relation, source, target)
        for relations, sources, targets in rows
        for relation in re.findall(r"\w+", relations)
        for source in Kind
        for target in Kind
        if _names(sources, source)
        and (source == target if targets == "one of its kind" else _names(targets, target))
    }
    assert told == {
        (one.value, a, b) for one in Relation for a in Kind for b in Kind if joins(one, a, b)
    }


def _names(words: str, kind: Kind) -> bool:
    return words == "any entry" or f"a {kind}" in words.split(" or ")
