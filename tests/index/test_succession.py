"""Another model: the old vectors answer until the new ones are complete, whatever happens meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from ai_lessons.index import embed_missing, passage_index, succession
from ai_lessons.index.model_files import ModelUnavailable
from ai_lessons.index.refresh_state import BUILD, RefreshState
from hash_embedder import HashEmbedder
from index.index_world import World, entry, many

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path, closing: ExitStack) -> World:
    """Twenty entries, indexed with one model, and then asked for with another, of other dimensions."""
    made = closing.enter_context(World(tmp_path))
    made.put(*many(20))
    made.refresh()
    made.model, made.dimensions, made.other = "other", 48, HashEmbedder("other", 48)
    made.index = made.open()
    return made


def tables(world: World) -> list[str]:
    return sorted(path.name for path in (world.folder / "index").iterdir())


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which every look at it takes a second: a slice of five seconds is a batch or two."""
    seconds = iter(range(1_000_000))
    clock = SimpleNamespace(monotonic=lambda: float(next(seconds)))
    for module in (embed_missing, succession, passage_index):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(embed_missing, "TEXTS_AT_ONCE", 4)


def test_the_old_vectors_answer_until_the_new_are_complete(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert world.near("word7 says number 7")[0] == "e00007"
    assert world.other.asked == []
    slowly(monkeypatch)
    slices = 0
    while not (done := world.refresh(seconds=7.0)).rebuilt:
        slices += 1
        assert "of the vectors of other are made; until all are, those of hash answer" in done.notes[-1]
        assert done.missing == 0
        assert len(tables(world)) == 2
        assert world.index.status().model == "hash"
        assert world.near("word7 says number 7")[0] == "e00007"
    assert slices > 1
    assert done.rebuilt == "the vectors are those of other from now on, not of hash"
    assert len(world.other.asked) == len(set(world.other.asked)) == 40
    assert (world.index.status().model, world.index.status().vectors) == ("other", 40)
    assert tables(world) == ["passages_2.lance"]
    assert world.near("word7 says number 7")[0] == "e00007"
    assert world.refresh().notes == ()


def test_edits_meanwhile_are_found_at_once_and_are_in_the_new_table(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch)
    world.refresh(seconds=7.0)
    world.put(entry("e00003", "pomology of apples"))
    world.remove("e00004")
    assert world.refresh(seconds=7.0).rebuilt == ""
    assert world.found("pomology") == ["e00003"]
    assert world.near("pomology apples")[0] == "e00003"
    assert world.found("word4") == []
    assert world.refresh().rebuilt
    assert world.found("pomology") == ["e00003"]
    assert world.near("pomology apples")[0] == "e00003"
    assert world.found("word4") == []
    assert world.index.status().passages == 37


def test_all_at_once_on_request(world: World) -> None:
    done = world.refresh()
    assert (done.rebuilt, done.embedded, done.missing) == (
        "the vectors are those of other from now on, not of hash", 40, 0,
    )  # fmt: skip


def test_a_text_refresh_begins_nothing(world: World) -> None:
    world.put(entry("new", "pomology"))
    assert world.refresh(seconds=0).notes == ()
    assert world.found("pomology") == ["new"]
    assert tables(world) == ["passages_1.lance"]


def test_a_new_model_that_cannot_be_had_changes_nothing(tmp_path: Path, closing: ExitStack) -> None:
    world = closing.enter_context(World(tmp_path))
    world.put(*many(5))
    world.refresh()
    old = world.embedder

    def make(name: str) -> HashEmbedder:
        if name == "other":
            raise ModelUnavailable("other", [("model hub", "no network")])
        return old

    world.model, world.make = "other", make
    world.index = world.open()
    done = world.refresh()
    assert "no network" in done.notes[-1]
    assert world.near("word3")[0] == "e00003"
    assert tables(world) == ["passages_1.lance"]


def test_an_old_model_that_is_gone_leaves_text_until_the_new_one_is_complete(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = world.other

    def make(name: str) -> HashEmbedder:
        if name == "hash":
            raise ModelUnavailable("hash", [("cache", "deleted")])
        return other

    world.make = make
    world.index = world.open()
    slowly(monkeypatch)
    world.refresh(seconds=7.0)
    found = world.index.candidates("word7")
    assert [hit.entry_id for hit in found.text] == ["e00007", "e00007"]
    assert (found.vectors, "deleted" in found.note) == ((), True)
    assert world.refresh().rebuilt
    assert world.near("number 7 says word7")[0] == "e00007"


def test_back_to_the_old_model_before_the_new_one_was_complete(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch)
    world.refresh(seconds=7.0)
    world.model, world.dimensions = "hash", 32
    world.index = world.open()
    world.embedder.asked.clear()
    done = world.refresh()
    assert (done.rebuilt, done.notes, world.embedder.asked) == ("", (), [])


def test_a_third_model_begins_anew_and_leaves_no_half_table(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch)
    world.refresh(seconds=7.0)
    world.model, world.other = "third", HashEmbedder("third", 48)
    world.index = world.open()
    assert world.refresh().rebuilt.endswith("of third from now on, not of hash")
    assert len(tables(world)) == 1
    assert world.near("number 7 says word7")[0] == "e00007"


def test_only_one_process_makes_the_new_table(world: World) -> None:
    with RefreshState(world.folder / "state").locked(BUILD, 0):
        done = world.refresh()
    assert "none of the vectors of other are made" in done.notes[-1]
    assert world.other.asked == []
    assert world.near("word7")[0] == "e00007"
    assert world.refresh().rebuilt


def test_a_half_made_table_that_is_damaged_is_begun_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch)
    world.refresh(seconds=7.0)
    for file in (world.folder / "index" / "passages_2.lance" / "data").iterdir():
        file.write_bytes(b"damaged")
    world.index = world.open()
    assert "begun again" in world.refresh().notes[-1]
    assert world.near("number 7 says word7")[0] == "e00007"
    assert world.refresh().rebuilt
    assert world.near("number 7 says word7")[0] == "e00007"
