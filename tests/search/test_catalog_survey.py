from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.search.catalog_update import (
    CatalogedFile,
    Content,
    Unit,
    contents,
    digest,
    is_racy,
    join,
    stamp_of,
    units,
)

SECOND = 1_000_000_000
NOW = 1_763_700_000 * SECOND
ROW = ("a.md", NOW + 1, NOW + 2, 10, 77, 0o100644)


def test_a_folder_with_the_same_rows_has_the_same_digest_however_the_rows_were_made() -> None:
    again = [("".join(["a", ".md"]), *(int(str(number)) for number in ROW[1:]))]
    assert digest([ROW]) == digest(again)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", range(6))
def test_any_difference_in_a_row_makes_another_digest(place: int) -> None:
    changed = tuple(
        "b.md" if i == place == 0 else v + (i == place) if isinstance(v, int) else v for i, v in enumerate(ROW)
    )
    assert digest([ROW]) != digest([changed])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("mtime", "ctime", "racy"),
    [
        (NOW - SECOND + 1, NOW - SECOND + 1, False),
        (NOW - 40_000_001, NOW - SECOND + 1, True),  # saved 40 ms before we looked
        (NOW - SECOND + 1, NOW - 40_000_001, True),  # the time set back, but changed just now
        (NOW + 5 * SECOND + 1, NOW + 5 * SECOND + 1, True),  # a clock that runs ahead of ours
        (NOW - SECOND, NOW - SECOND, True),  # whole seconds: a coarse clock
        (NOW - 3 * SECOND, NOW - 3 * SECOND, False),
        (NOW - SECOND, NOW - SECOND + 1, False),  # whole seconds set by a program on a fine clock
    ],
)
def test_a_file_is_racy_if_an_edit_after_the_look_could_leave_its_stamp(mtime: int, ctime: int, racy: bool) -> None:
    assert is_racy((mtime, ctime, 1, 1, 1), NOW) is racy


def test_numbers_too_large_for_a_database_are_cut() -> None:
    assert stamp_of(ROW) == ROW[1:]
    assert stamp_of(("x", 2**64, NOW, 1, 2**64 - 1, 3)) == (2**63 - 1, NOW, 1, 2**63 - 1, 3)


@pytest.mark.parametrize(
    ("folder", "names", "expected"),
    [
        ("p/scripts/1", ["run.sh", "run.sh.md"], [Unit("run.sh", "run.sh.md")]),
        ("p/scripts/1", ["run.sh.md"], [Unit("run.sh.md", None)]),
        ("p/scripts", ["a", "a.md", "a.md.md"], [Unit("a", "a.md"), Unit("a.md.md", None)]),
        ("p/scripts", ["a.md", "a.md.md"], [Unit("a.md", "a.md.md")]),
        ("p/docs/1", ["a.txt", "a.txt.md"], [Unit("a.txt", None), Unit("a.txt.md", None)]),
        ("", ["a.md", "a.md.md"], [Unit("a.md", None), Unit("a.md.md", None)]),
    ],
)
def test_side_files_are_paired_with_scripts_only(folder: str, names: list[str], expected: list[Unit]) -> None:
    assert list(units(folder, names)) == expected


NAMES = st.sets(st.sampled_from(["a", "a.md", "a.md.md", "a.md.md.md", "b.sh", "b.sh.md", "c.md", "d"]))


@given(NAMES)
def test_every_file_belongs_to_exactly_one_unit(names: set[str]) -> None:
    members = [name for unit in units("p/scripts/x", names) for name in unit if name]
    assert sorted(members) == sorted(names)


def test_contents_of_a_folder_carry_the_hashes_of_both_files() -> None:
    known = {name: CatalogedFile((1, 2, 3, 4, 5), racy=False, hash=name.upper()) for name in ("x", "x.md", "y")}
    assert contents("p/scripts", known) == {"x": Content("X", "x.md", "X.MD"), "y": Content("Y", None, None)}


def test_paths_are_joined_without_a_leading_slash() -> None:
    assert (join("", "a.md"), join("p/docs", "a.md")) == ("a.md", "p/docs/a.md")
