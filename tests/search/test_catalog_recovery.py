from __future__ import annotations

import fcntl
import multiprocessing
import os
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from ai_lessons.model.entries import Filter
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.search import database
from ai_lessons.search.catalog import Catalog
from search.catalog_world import A, B, World, assert_like_new, everything, lesson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import ExitStack
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from ai_lessons.search.catalog_survey import Row

SPAWN = multiprocessing.get_context("spawn")


def begun(work: Callable[..., None], *given: object) -> BaseProcess:
    """A process that does this."""
    process = SPAWN.Process(target=work, args=given)
    process.start()
    return process


@pytest.fixture
def world(tmp_path: Path, closing: ExitStack) -> World:
    made = closing.enter_context(World(tmp_path))
    made.write("p/lessons/a.md", lesson(A))
    made.write("p/docs/b.md", "# B\n")
    made.settle()
    return made


def executed(change: str) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(change)

    return spoil


def scribble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)


def test_tables_of_another_branch_are_not_taken_for_ours_though_both_raised_the_same_number(
    tmp_path: Path,
) -> None:
    ours, theirs = "CREATE TABLE a (x);", "CREATE TABLE a (x); CREATE TABLE b (y);"
    path = tmp_path / "catalog.db"
    first = database.Database(
        path, database.Schema("catalog", theirs, database.version_of(theirs, 7))
    )
    first.close()
    again = database.Database(
        path, database.Schema("catalog", theirs, database.version_of(theirs, 7))
    )
    again.close()
    other = database.Database(path, database.Schema("catalog", ours, database.version_of(ours, 7)))
    tables = other.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    other.close()
    assert (again.notice, tables) == ("", [("a",)])
    assert "rebuilt" in other.notice


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: path.write_bytes(b"This is no database. " * 300), "damaged"),
        (lambda path: path.write_bytes(b""), "version 0"),
        (lambda path: os.truncate(path, 5000), "damaged"),
        (scribble, "damaged"),
        (executed("PRAGMA user_version = 999"), "version 999"),
    ],
    ids=["not a database", "empty", "cut off", "scribbled over", "another version"],
)
def test_an_unusable_catalog_is_rebuilt_and_said_so(
    world: World, spoil: Callable[[Path], None], said: str
) -> None:
    before = everything(world.catalog)
    generation = world.catalog.generation
    world.catalog.close()
    spoil(world.path)
    world.catalog = world.open()
    done = world.refresh()
    assert said in done.rebuilt
    assert not world.catalog.in_memory
    assert everything(world.catalog) == before
    assert done.generation > generation  # nobody takes it for what they saw before
    assert world.refresh().rebuilt == ""


def test_damage_found_in_the_middle_of_an_answer_is_mended_there(world: World) -> None:
    before = everything(world.catalog)
    world.reopen()
    world.refresh()
    scribble(world.path)
    assert everything(world.catalog) == before
    assert "damaged" in world.refresh().rebuilt


def test_damage_found_while_writing_is_mended_there(world: World) -> None:
    world.reopen()
    world.write("p/docs/b.md", "# B again\n")
    scribble(world.path)
    world.refresh()
    assert "B again" in world.titles()


def test_rows_that_break_a_constraint_are_damage_too(world: World) -> None:
    world.catalog.close()
    for change in (
        "DELETE FROM files", "DELETE FROM folders",
        "UPDATE entries SET file = 'x/longer-than-the-file/' || key, path = 'x'",
    ):  # fmt: skip
        executed(change)(world.path)
    world.catalog = world.open()
    world.refresh()
    world.write("p/lessons/a.md", lesson(A, "New"))
    world.refresh()
    assert "New" in world.titles()


def test_a_catalog_is_read_where_no_lock_can_be_made(world: World) -> None:
    world.catalog.close()
    lock = world.path.with_name(f"{world.path.name}.lock")
    lock.unlink()
    lock.mkdir()
    world.catalog = world.open()
    assert (world.refresh().rebuilt, world.catalog.in_memory) == ("", False)


def test_a_folder_that_cannot_be_written_means_a_catalog_in_memory(
    tmp_path: Path, closing: ExitStack
) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    world = closing.enter_context(World(tmp_path))
    world.write("p/lessons/a.md", lesson(A))
    done = world.refresh()
    assert world.catalog.in_memory
    assert "in memory" in done.rebuilt
    assert world.titles() == ["PUT replaces all"]
    assert world.refresh().rebuilt == ""


def test_a_lock_that_is_never_released_does_not_stop_an_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.catalog.close()
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.05)
    world.catalog = world.open()
    holder = sqlite3.connect(world.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    world.write("p/lessons/a.md", lesson(A, "New"))
    done = world.refresh()
    assert "in memory" in done.rebuilt
    assert "New" in world.titles()
    holder.close()
    world.catalog.close()
    with open(f"{world.path}.lock", "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        world.catalog = world.open()
    assert world.catalog.in_memory
    assert "another process holds its lock" in world.refresh().rebuilt
    assert "New" in world.titles()


def test_a_reader_is_not_blocked_by_a_writer(world: World) -> None:
    writer = sqlite3.connect(world.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM entries")
    assert world.titles() == ["B", "PUT replaces all"]
    assert world.refresh().changed == ()
    writer.close()


def test_a_refresh_that_was_overtaken_looks_again(world: World) -> None:
    scans = 0

    def scan() -> Iterable[tuple[str, list[Row]]]:
        nonlocal scans
        scans += 1
        world.write("p/lessons/a.md", lesson(A, f"Ours {scans}"))
        rows = list(world.scan())
        if scans == 1:  # another process saves a file and refreshes between our walk and our write
            world.write("p/docs/new.md", "# New\n")
            with closing(world.open()) as other:
                other.refresh(world.scan, world.load, read_entry)
        return rows

    done = world.catalog.refresh(scan, world.load, read_entry)
    assert scans == 2
    assert world.titles() == ["B", "New", "Ours 2"]
    assert done.generation == world.catalog.generation


def _edit_and_refresh(folder: Path, name: str, rounds: int) -> None:
    world = World(folder)
    for n in range(rounds):
        world.write(f"{name}/docs/{n % 7}.md", f"# {name} {n}\n")
        world.refresh()
    world.catalog.close()


def test_processes_that_refresh_at_once_lose_nothing(tmp_path: Path, closing: ExitStack) -> None:
    crowd = [begun(_edit_and_refresh, tmp_path, name, 15) for name in ("a", "b")]
    for process in crowd:
        process.join(120)
    assert [process.exitcode for process in crowd] == [0, 0]
    world = closing.enter_context(World(tmp_path))
    assert_like_new(world)
    assert len(world.titles()) == 14


def _first_open(folder: Path, gate: Any, results: Any) -> None:
    gate.wait()
    world = World(folder)
    done = world.refresh()
    results.put((world.titles(), done.rebuilt, world.catalog.in_memory))
    world.catalog.close()


@pytest.mark.parametrize("content", [None, b"rubbish" * 1000], ids=["new", "damaged"])
def test_processes_that_open_a_missing_or_damaged_catalog_at_once_all_get_one(
    tmp_path: Path, content: bytes | None, closing: ExitStack
) -> None:
    world = closing.enter_context(World(tmp_path, catalog=tmp_path / "elsewhere.sqlite"))
    world.write("p/docs/b.md", "# B\n")
    if content:
        (tmp_path / "state").mkdir()
        (tmp_path / "state" / "catalog.sqlite").write_bytes(content)
    gate, results = SPAWN.Event(), SPAWN.Queue()
    crowd = [begun(_first_open, tmp_path, gate, results) for _ in range(2)]
    gate.set()
    answers = [results.get(timeout=120) for _ in crowd]
    for process in crowd:
        process.join(60)
    assert [(titles, in_memory) for titles, _, in_memory in answers] == [(["B"], False)] * 2


def _write_editions(folder: Path, ready: Any, editions: int) -> None:
    world = World(folder)
    for edition in range(editions):
        for n in range(30):
            world.write(f"p/docs/{n}.md", f"# Edition {edition}\n")
        world.refresh()
        ready.set()
    world.catalog.close()


def test_a_reader_never_sees_half_a_refresh(tmp_path: Path) -> None:
    ready = SPAWN.Event()
    writer = begun(_write_editions, tmp_path, ready, 12)
    assert ready.wait(60)
    seen = set()
    with closing(Catalog(tmp_path / "state" / "catalog.sqlite")) as reader:
        while writer.is_alive():
            titles = [summary.title for summary in reader.select(Filter())]
            assert len(titles) == 30
            assert len(set(titles)) == 1
            seen.add(titles[0])
            time.sleep(0.001)
    writer.join()
    assert writer.exitcode == 0
    assert len(seen) > 1


def test_a_killed_process_leaves_a_catalog_that_is_whole(
    tmp_path: Path, closing: ExitStack
) -> None:
    ready = SPAWN.Event()
    writer = begun(_write_editions, tmp_path, ready, 1000)
    assert ready.wait(60)
    time.sleep(0.2)
    writer.kill()
    writer.join()
    world = closing.enter_context(World(tmp_path))
    world.write("p/lessons/b.md", lesson(B, "After"))
    assert world.refresh().rebuilt == ""
    assert_like_new(world)
