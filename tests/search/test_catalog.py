from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_lessons.errors import StorageFailed
from ai_lessons.model.entries import Filter
from ai_lessons.model.frontmatter import read_entry
from real_world import put_file
from search.catalog_world import A, B, C, World, assert_like_new, everything, lesson

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import ExitStack
    from pathlib import Path

    from ai_lessons.search.catalog_survey import Row


@pytest.fixture
def world(tmp_path: Path, closing: ExitStack) -> World:
    return closing.enter_context(World(tmp_path))


def test_a_new_catalog_learns_every_entry(world: World) -> None:
    world.write("jira/lessons/2026-11/put.md", lesson(A))
    world.write("jira/docs/9.0/api.md", "# The API\n\nText.\n")
    world.write("jira/scripts/9.0/get.sh", "#!/bin/sh\necho\n")
    world.write("jira/scripts/9.0/get.sh.md", lesson(B, "Get it", kind="script"))
    world.write("jira/image.png", b"\x89PNG")
    done = world.refresh()
    assert (len(done.changed), done.removed, done.unreadable, done.rebuilt) == (3, (), 0, "")
    assert world.titles() == ["Get it", "PUT replaces all", "The API"]


def test_the_versions_of_projects_are_those_of_now_whoever_wrote(world: World) -> None:
    assert world.catalog.versions_of_projects() == {}
    world.write("etcd/docs/3.5/a.md", "---\nkind: doc\nversions: ['3.5']\n---\n# A\n")
    world.refresh()
    assert world.catalog.versions_of_projects() == {"etcd": {"3.5"}}
    before, world.catalog = world.catalog, world.open()
    world.write("etcd/docs/3.6/a.md", "---\nkind: doc\nversions: ['3.6']\n---\n# A\n")
    world.refresh()
    assert before.versions_of_projects() == {"etcd": {"3.5", "3.6"}}


@pytest.mark.parametrize("coarse", [False, True], ids=["fine clock", "clock of whole seconds"])
def test_an_edit_in_the_same_tick_and_of_equal_size_is_found(world: World, coarse: bool) -> None:
    world.write("p/docs/a.md", "# Alpha\n")
    unit = 1_000_000_000 if coarse else 1
    now = time.time_ns() // unit * unit - (1_000_000_000 if coarse else 10_000_000)
    frozen: list[tuple[str, list[Row]]] = [("p/docs", [("a.md", now, now, 8, 1, 0o100644)])]

    def refresh() -> None:
        world.catalog.refresh(lambda: frozen, world.load, read_entry)

    refresh()
    world.write("p/docs/a.md", "# Gamma\n")
    refresh()
    assert world.titles() == ["Gamma"]


def test_a_script_and_its_side_file_come_and_go_independently(world: World) -> None:
    script = world.write("p/scripts/run.sh", "#!/bin/sh\n")
    side = world.write("p/scripts/run.sh.md", lesson(A, "Run it", kind="script"))
    world.refresh()
    location = world.catalog.locate(A)
    assert (location.path, location.side_path) == ("p/scripts/run.sh", "p/scripts/run.sh.md")
    assert location.hash
    assert location.side_hash
    side.unlink()
    world.refresh()
    assert world.titles() == ["run.sh"]
    side.write_text(lesson(A, "Run it", kind="script"))
    script.unlink()
    done = world.refresh()
    assert (world.titles(), done.unreadable) == ([], 1)
    side.write_text(lesson(A, "Elsewhere", kind="script", extra="path: /opt/run.sh\n"))
    world.refresh()
    location = world.catalog.locate(A)
    assert (location.path, location.side_path, location.hash) == (
        "p/scripts/run.sh",
        "p/scripts/run.sh.md",
        None,
    )
    assert location.side_hash


def test_a_file_that_cannot_be_read_now_is_tried_again(world: World) -> None:
    world.write("p/lessons/a.md", lesson(A))
    world.settle()
    world.write("p/lessons/b.md", lesson(B, "Second"))
    failing = True

    def read(path: str) -> bytes:
        if failing and path.endswith("b.md"):
            raise StorageFailed("the disk is busy")
        return world.load(path)

    def refresh() -> int:
        return world.catalog.refresh(world.scan, read, read_entry).unreadable

    world.ahead += 10_000_000_000
    assert (refresh(), refresh()) == (1, 1)
    assert str(world.catalog.unreadable()[0]) == "p/lessons/b.md:1: the disk is busy"
    failing = False
    assert refresh() == 0
    assert world.titles() == ["PUT replaces all", "Second"]


def test_of_two_files_with_one_id_both_are_shown_and_the_one_that_was_here_keeps_it(
    world: World,
) -> None:
    world.write("p/lessons/known.md", lesson(A, "Known"))
    world.refresh()
    world.write("p/lessons/a.md", lesson(A, "Other"))
    world.write("a/lessons/a.md", lesson(A, "Another"))
    assert world.refresh().unreadable == 0
    assert world.titles() == ["Another", "Known", "Other"]
    assert world.catalog.get(A).title == world.catalog.resolve("l-8f3k2a").title == "Known"
    problems = world.catalog.unreadable()
    assert [problem.path for problem in problems] == ["a/lessons/a.md", "p/lessons/a.md"]
    assert all("p/lessons/known.md" in problem.message for problem in problems)
    others = {
        summary.title: summary for summary in world.catalog.select(Filter()) if summary.id != A
    }
    assert all(world.catalog.resolve(summary.handle) == summary for summary in others.values())
    for title, problem in zip(("Another", "Other"), problems, strict=True):
        assert others[title].handle in problem.message
    world.write("p/lessons/known.md", lesson(A, "Known and edited"))
    world.refresh()
    assert world.catalog.get(A).title == "Known and edited"
    (world.root / "p/lessons/known.md").unlink()
    (world.root / "a/lessons/a.md").unlink()
    world.refresh()
    assert (world.titles(), world.catalog.get(A).title, world.catalog.unreadable()) == (
        ["Other"],
        "Other",
        [],
    )


@pytest.mark.parametrize("first", ["p/lessons/longer.md", "p/lessons/b.md"])
def test_where_none_was_known_the_id_is_that_of_the_file_which_came_first(
    tmp_path: Path, first: str, closing: ExitStack
) -> None:
    world = closing.enter_context(World(tmp_path, first=lambda paths: [first, *paths]))
    for path in ("p/lessons/longer.md", "p/lessons/b.md", "p/lessons/a.md"):
        world.write(path, lesson(A, path))
    world.refresh()
    assert world.catalog.get(A).title == first
    assert len(world.titles()) == 3


def test_ids_that_another_tier_has_are_left_to_it_and_come_back(
    world: World, tmp_path: Path, closing: ExitStack
) -> None:
    user = closing.enter_context(World(tmp_path / "user"))
    for folder, each in (("p/lessons", user), ("q/lessons", world)):
        each.write(f"{folder}/a.md", lesson(A, f"Of {folder}"))
        each.write("p/lessons/same.md", lesson(B, "The same"))
        each.refresh()
    world.catalog.yield_ids([user.catalog])
    generation = world.catalog.generation
    world.catalog.yield_ids([user.catalog])
    assert world.catalog.generation == generation
    assert world.titles() == ["Of q/lessons"]
    (other,) = world.catalog.select(Filter())
    assert (other.id == A, world.catalog.stated([other.id])) == (False, {other.id: A})
    assert world.catalog.resolve(other.handle) == other
    world.catalog.yield_ids([])
    assert (world.titles(), world.catalog.get(A).title) == (
        ["Of q/lessons", "The same"],
        "Of q/lessons",
    )


def test_rules_in_force_are_shown_as_they_were_put_in_whatever_the_working_tree_says(
    world: World,
) -> None:
    approved = read_entry("p/rules/r.md", lesson(A, "Never force-push", kind="rule").encode())
    world.write("p/rules/r.md", lesson(A, "Always force-push", kind="rule"))
    world.refresh()
    assert world.told(
        world.catalog.set_rules_in_force("tree-1", [(approved, "blob-1")])
    ).changed == (A,)
    world.write("p/rules/r.md", lesson(A, "Force-push on Fridays", kind="rule"))
    assert world.refresh().changed == ()
    assert (world.titles(), world.catalog.rules_state()) == (["Never force-push"], "tree-1")
    assert world.catalog.resolve("r-8f3k2a").title == "Never force-push"
    assert world.catalog.unreadable() == []
    (world.root / "p/rules/r.md").unlink()
    world.refresh()
    assert world.titles() == ["Never force-push"]
    assert world.told(world.catalog.set_rules_in_force("tree-2", [])).removed == (A,)
    assert world.titles() == []


def test_a_file_cannot_take_the_id_of_a_rule_in_force_and_a_rule_that_is_not_takes_none_of_a_lesson(
    world: World,
) -> None:
    world.write("a/rules/r.md", lesson(A, "Not in force", kind="rule"))
    world.write("a/lessons/longer.md", lesson(A, "A lesson"))
    world.refresh()
    assert (world.titles(), world.catalog.get(A).title) == (["A lesson"], "A lesson")
    (world.root / "a/lessons/longer.md").unlink()
    approved = read_entry("p/rules/r.md", lesson(A, "Never force-push", kind="rule").encode())
    world.catalog.set_rules_in_force("tree", [(approved, "blob")])
    world.write("a/lessons/a.md", lesson(A, "Disguise"))
    world.refresh()
    assert world.titles() == ["Disguise", "Never force-push"]
    assert world.catalog.get(A).title == "Never force-push"
    (problem,) = world.catalog.unreadable()
    assert problem.path == "a/lessons/a.md"


def test_an_interrupted_refresh_changes_nothing(world: World) -> None:
    world.write("p/lessons/a.md", lesson(A))
    world.refresh()
    before = everything(world.catalog)
    world.write("p/lessons/b.md", lesson(B, "Second"))

    def stop(_path: str) -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.catalog.refresh(world.scan, stop, read_entry)
    assert everything(world.catalog) == before
    world.refresh()
    assert world.titles() == ["PUT replaces all", "Second"]


def test_a_walk_that_is_slow_and_repeated_sees_a_file_saved_meanwhile(world: World) -> None:
    world.write("p/docs/a.md", "# Alpha\n")

    def scan() -> Iterable[tuple[str, list[Row]]]:
        rows = list(world.scan())
        world.write(
            "p/docs/a.md", "# Gamma\n"
        )  # after the walk, before the read: newer text under the older stamp
        return rows

    world.catalog.refresh(scan, world.load, read_entry)
    world.refresh()
    assert world.titles() == ["Gamma"]


# --- whatever is done to the files, a refreshed catalog says what one made from nothing says ---


PATHS = st.sampled_from(
    [
        "p/lessons/a.md", "p/lessons/2026-11/b.md", "p/rules/r.md", "p/docs/1.0/d.md", "p/docs/d.txt",
        "p/scripts/run.sh", "p/scripts/run.sh.md", "p/scripts/run.sh.md.md", "q/lessons/a.md", "notes/plain.md",
        "root.md", "notes/image.png",
    ]
)  # fmt: skip
ALIKE = "01JD3Z8QK5W7M2X9V4XX8F3K2A"
"""Ends like A, so that both need longer handles."""
TEXTS = st.sampled_from(
    [
        lesson(A, "One"), lesson(A, "Two"), lesson(ALIKE, "Alike"), lesson(B, "A doc", kind="doc"),
        lesson(A, "Tagged", extra=f"tags:\n  - x\n  - y\nversions:\n  - '1.0'\nlinks:\n  - related_to: {B}\n"),
        lesson(B, "A rule", kind="rule", extra="rationale: because\n"), lesson(C, "Wrong", extra="status: wrong\n"),
        lesson(C, "A script", kind="script", extra="path: /opt/run.sh\n"),
        "# Plain\n\nText.\n", "---\ntitle: [\n---\n", "\x00", "",
    ]
)  # fmt: skip
STEPS = st.one_of(
    st.tuples(st.just("write"), PATHS, TEXTS),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.sampled_from(["delete", "touch", "chmod", "set back", "link"]), PATHS),
    st.tuples(st.sampled_from(["refresh", "refresh later", "reopen"])),
)


def _file(step: Callable[[Path], object]) -> Callable[[World, str], None]:
    def act(world: World, path: str) -> None:
        file = world.root / path
        if file.is_file():
            step(file)

    return act


def _rename(world: World, old: str, new: str) -> None:
    target = world.root / new
    target.parent.mkdir(parents=True, exist_ok=True)
    if (world.root / old).is_file():
        (world.root / old).rename(target)


def _link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/hostname")


def _later(world: World) -> None:
    time.sleep(
        0.01
    )  # what was written so far is really older than what comes: a tick of the file system's clock
    world.ahead += 10_000_000_000
    world.refresh()


ACTIONS: dict[str, Callable[..., object]] = {
    "write": lambda world, path, text: (
        [world.root.joinpath(path).unlink(missing_ok=True), world.write(path, text)]
        if world.root.joinpath(path).is_symlink()
        else world.write(path, text)
    ),
    "rename": _rename,
    "delete": _file(lambda file: file.unlink()),
    "touch": _file(os.utime),
    "chmod": _file(lambda file: file.chmod(file.stat().st_mode ^ 0o100)),
    "set back": _file(lambda file: os.utime(file, ns=(1_000_000_000, 1_000_000_000))),
    "link": _file(_link),
    "refresh": lambda world: world.refresh(),
    "refresh later": _later,
    "reopen": lambda world: world.reopen(),
}


@settings(max_examples=50)
@given(st.lists(STEPS, max_size=25))
def test_a_refreshed_catalog_equals_one_made_from_nothing(steps: list[tuple[str, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder, World(Path(folder)) as world:
        for action, *arguments in steps:
            ACTIONS[action](world, *arguments)
        assert_like_new(world)


def test_a_look_whose_time_is_over_keeps_what_it_read_and_the_next_one_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ai_lessons.search.catalog.AT_ONCE", 3)
    for number in range(8):
        path, text = (
            f"jira/lessons/2026-01/{number}.md",
            lesson(f"01JD3Z8QK5W7M2X9V4T68F3K{number:02}"),
        )
        put_file(world.root / path, text)
    for left, entries in ((5, 3), (2, 6), (0, 8)):
        done = world.catalog.refresh(world.scan, world.load, world.parse, is_over=lambda: True)
        assert (done.left, len(world.catalog.fingerprints())) == (left, entries)
    put_file(
        world.root / "jira/lessons/2026-01/0.md",
        lesson("01JD3Z8QK5W7M2X9V4T68F3K00", "Another title"),
    )
    assert (
        world.catalog.refresh(world.scan, world.load, world.parse, is_over=lambda: False).left == 0
    )
    assert world.catalog.get("01JD3Z8QK5W7M2X9V4T68F3K00").title == "Another title"
