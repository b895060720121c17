import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model.versions import listed, nearest, newest_first, released_first, score

some = st.sets(st.sampled_from(["1.9", "1.10", "2.0", "v3", "latest"]))


@pytest.mark.parametrize(
    ("asked", "have", "expected"),
    [
        ({"1.0"}, {"1.0"}, 1.00), ({"1.0", "2.0"}, {"1.0", "2.0"}, 1.00), ({"1.0"}, {"1.0", "2.0"}, 0.95),
        ({"1.0", "2.0"}, {"1.0"}, 0.85), ({"1.0", "2.0"}, {"2.0", "3.0"}, 0.75), ({"1.0"}, set(), 0.70),
        ({"1.0"}, {"unversioned"}, 0.70), ({"1.0"}, {"2.0"}, None), ({"1.1"}, {"1.10"}, None), (set(), {"2.0"}, 1.00),
        (set(), set(), 1.00), ({"v3.5"}, {"3.5"}, 1.00), ({"LTS"}, {"lts"}, 1.00), ({"vista"}, {"ista"}, None),
        ({"unversioned"}, set(), 1.00), ({"unversioned"}, {"1.0"}, None), ({"unversioned", "1.0"}, {"1.0"}, 1.00),
    ],
)  # fmt: skip
def test_the_table_of_the_design(asked: set[str], have: set[str], expected: float | None) -> None:
    assert score(asked, have) == expected


@given(some, some)
def test_a_score_is_a_factor_and_only_the_same_is_perfect(asked: set[str], have: set[str]) -> None:
    found = score(asked, have)
    assert found is None or 0.7 <= found <= 1.0
    assert (found == 1.0) == (not asked or asked == have)
    assert (found is None) == bool(asked and have and not asked & have)


@given(some.filter(bool), some.filter(bool))
def test_asking_and_having_are_told_apart_only_where_one_holds_the_other(
    one: set[str], other: set[str]
) -> None:
    if not (one < other or other < one):
        assert score(one, other) == score(other, one)


@pytest.mark.parametrize(
    ("asked", "have", "expected"),
    [
        ("3", "v3.0", 1.00), ("3.5", "3.5.0", 1.00), ("1.0-rc.1", "1.0rc1", 1.00), ("1.4", "1.4+cu118", 1.00),
        ("3", "3.5", None), ("3.5.1", "3.5", None), ("3.x", "3.5", 0.85), ("3.x", "3.x", 1.00), ("3.x", "3.*", 1.00),
        ("3.5.2", "3.5.x", 0.95), ("4.0", "3.x", None), (">=1.4 <2", "1.4", 0.85), (">=1.4,<2", "1.9.9", 0.85),
        (">=1.4 <2", "2.0", None), (">= 1.4 < 2", "1.3", None), ("1.5", ">=1.4 <2", 0.95), (">=1 <2", "1.4.x", 0.85),
        (">=1.4 <2", ">=1.6 <3", 0.75), (">=1.4 <2", ">=2 <3", None), ("^1.2", ">=1.2 <2", 1.00),
        ("^0.2.3", "0.2.9", 0.85), ("^0.2.3", "0.3", None), ("^0.0.3", "0.0.4", None), ("~1.2.3", "1.2.9", 0.85),
        ("~1.2.3", "1.3", None), ("~1", "1.9", 0.85), ("~=1.2", "1.9", 0.85), ("~=1.2.3", "1.3", None),
        ("!=1.5", "1.5", None), ("!=1.5", "1.6", 0.85), ("1.2 - 2.3", "2.3", 0.85), ("1.x || 3.x", "2.0", None),
        ("1.x || 3.x", "3.1", 0.85), ("<2", "2.0rc1", None), ("<=2", "2.0rc1", 0.85), ("*", "9.1", 0.85),
        (">2 <1", "1.5", None), ("ubuntu 22.04", "22.04", None), ("Ubuntu 22.04", "ubuntu 22.04", 1.00),
        ("9" * 5000, "1", None), ("@2.32.3", "2.32.3", 1.00), ("@2.32.3", "2.32", 1.00), ("@2.32.3", "v2", 1.00),
        ("@2.32.3", "2.x", 0.95), ("@2.32.3", "2.31", None), ("@2.32", "2.32.3", None), ("@3", "3.0", 1.00),
        ("@lts", "LTS", 1.00), ("@" + "9" * 5000, "9", None),
    ],
)  # fmt: skip
def test_one_version_against_another_as_sets(asked: str, have: str, expected: float | None) -> None:
    assert score([asked], [have]) == expected


@pytest.mark.parametrize(
    ("asked", "have", "expected"),
    [
        ([">=1.4 <2"], ["1.5", "1.6"], 0.85), ([">=1.4 <2"], ["1.5", "2.0"], 0.75),
        ([">=1.4 <2"], ["1.x", "2.x"], 0.95), (["1.5", "1.6"], [">=1.4 <2"], 0.95), (["1.5", "lts"], ["1.5"], 0.85),
        (["1.5", "lts"], ["lts", "1.5.0"], 1.00), (["@2.32.3"], ["2", "2.31"], 0.95),
        (["@2.32.3", "3.x"], ["2.32"], 0.85), (["3.x"], [], 0.70), (["3.x", "unversioned"], [], 0.70),
    ],
)  # fmt: skip
def test_several_versions_are_the_union_of_their_sets(
    asked: list[str], have: list[str], expected: float | None
) -> None:
    assert score(asked, have) == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("v2,v3", ("v2", "v3")), (" v2 , v2 ,, lts", ("v2", "lts")), (">=1.4,<2", (">=1.4 <2",)),
        ("v1, >=1.4 , <2,!=1.6, v3", ("v1", ">=1.4 <2 !=1.6", "v3")), ("^1.2,^2.0", ("^1.2", "^2.0")), ("", ()),
    ],
)  # fmt: skip
def test_a_comma_inside_a_range_parts_nothing(text: str, parts: tuple[str, ...]) -> None:
    assert listed(text) == parts


@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_somebody_writes_is_a_version(asked: str, have: str) -> None:
    found = score([asked], [have])
    assert found is None or 0.7 <= found <= 1.0
    if asked.strip() and not asked.strip().startswith("@"):
        assert score([asked], [asked]) == 1.0


STORED = ("2.16", "2.14.3", "2.14.0", "3.1.0", "lts", "1.9")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("2.16.1", "2.16"), ("stable-2.16.1", "2.16"), ("v2.16.4", "2.16"), ("2", "2.16"), ("2.14", "2.14.3"),
        ("2.14.2", "2.14.0"), ("2.15", "2.14.3"), ("2.1", "2.14.0"), ("^2.17", "2.16"), ("3.x", "3.1.0"),
        ("latest", "3.1.0"), ("edge", "3.1.0"), ("4.0", None), ("jammy", None),
    ],
)  # fmt: skip
def test_the_nearest_stored_version_is_of_the_same_major_version(
    asked: str, expected: str | None
) -> None:
    assert nearest(asked, STORED) == expected


def test_versions_are_sorted_as_people_sort_them() -> None:
    assert newest_first(["1.9", "lts", "1.10", "v2.0", "2.0.0rc1", "alpha"]) == (
        "v2.0", "2.0.0rc1", "1.10", "1.9", "alpha", "lts",
    )  # fmt: skip
    assert newest_first(["one"]) == ("one",)
    assert newest_first([]) == ()


@given(st.text(max_size=30), st.lists(st.text(max_size=12), max_size=6))
def test_whatever_is_asked_for_what_comes_nearest_is_stored(asked: str, stored: list[str]) -> None:
    found = nearest(asked, stored)
    assert found is None or found in stored
    assert sorted(newest_first(stored)) == sorted(set(stored))


@pytest.mark.parametrize(
    "early",
    [
        "19.0.0-canary-2024", "v19.0.0-next.1", "19.0-SNAPSHOT", "19.0.0-nightly", "nightly-19.1", "19.0.0-M2",
        "19.0.0.CR1", "19.0.0-insiders", "release-19.0-rc.1", "19.1.0rc1", "19.0-preview.3",
    ],
)  # fmt: skip
def test_what_other_programs_call_early_comes_behind_what_is_released(early: str) -> None:
    stored = [early, "18.3.1", "18.3"]
    assert released_first(stored) == ("18.3.1", "18.3", early)
    assert nearest("stable", stored) == "18.3.1"
    assert nearest("19", stored) == early


@pytest.mark.parametrize(
    "released", ["19.0.0.Final", "19.0.GA", "release-19.0", "19.0.0.RELEASE", "19.0-lts", "19.0t"]
)
def test_what_other_programs_add_to_a_release_leaves_it_one(released: str) -> None:
    assert nearest("stable", [released, "18.3.1"]) == released
