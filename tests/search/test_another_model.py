"""Another model: all vectors are made anew, and no question is compared with those of the old one."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.search.database import WRITE, RefreshState
from ai_lessons.search.model_files import ModelUnavailable
from hash_embedder import HashEmbedder
from search.index_world import World, entry, many


@pytest.fixture
def world(tmp_path: Path, closing: ExitStack) -> World:
    """Twenty entries, indexed with one model, and then asked for with another, of other dimensions."""
    made = closing.enter_context(World(tmp_path))
    made.put(*many(20)).refresh()
    made.model, made.dimensions, made.other = "other", 48, HashEmbedder("other", 48)
    made.index = made.open()
    return made


def tables(world: World) -> list[str]:
    return sorted(path.name for path in (world.folder / "index").iterdir())


def test_all_vectors_are_made_anew(world: World) -> None:
    done = world.refresh()
    assert (done.rebuilt, done.embedded, done.missing) == (
        "the index was rebuilt: it was made with another model and dimensions", 40, 0,
    )  # fmt: skip
    assert (world.index.status().model, world.index.status().vectors) == ("other", 40)
    assert tables(world) == ["passages_2.lance"]
    assert world.near("word7 says number 7")[0] == "e00007"
    assert world.refresh().rebuilt == ""


def test_back_to_the_old_model_its_vectors_come_from_the_cache(world: World) -> None:
    world.refresh()
    world.model, world.dimensions = "hash", 32
    world.index = world.open()
    world.embedder.asked.clear()
    assert world.refresh().missing == 0
    assert world.embedder.asked == []
    assert world.near("word7 says number 7")[0] == "e00007"


def test_until_there_are_vectors_of_the_new_model_texts_are_searched(world: World) -> None:
    done = world.put(entry("new", "pomology")).refresh(seconds=0)
    assert (done.missing, world.other.asked) == (41, [])
    assert world.found("pomology") == ["new"]
    assert world.near("word7") == []


def test_a_new_model_that_cannot_be_had_leaves_text(world: World) -> None:
    def make(name: str) -> HashEmbedder:
        raise ModelUnavailable(name, [("model hub", "no network")])

    world.make = make
    world.index = world.open()
    assert "no network" in world.refresh().notes[-1]
    assert world.found("word3") == ["e00003"]
    assert world.near("word3") == []


def test_while_another_process_makes_the_new_table_the_old_one_answers_without_its_vectors(
    world: World,
) -> None:
    with RefreshState(world.folder / "state").locked(WRITE, 0):
        done = world.refresh()
    assert "another process is updating the index" in done.notes[-1]
    found = world.index.candidates("word7")
    assert (found.vectors, found.text[0].entry_id) == ((), "e00007")
    assert found.note == "full text only: the vectors here are of hash, not of other"
    assert world.other.asked == []
    assert world.refresh().rebuilt
    assert world.near("word7")[0] == "e00007"
