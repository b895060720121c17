"""Questions to the table, and vectors that stay in memory."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.model.entries import Filter, Kind
from ai_lessons.search import index, table
from ai_lessons.search.ranking import Match
from real_world import instead
from search.index_world import World, entry, many


@pytest.fixture
def world(tmp_path: Path, closing: ExitStack) -> World:
    """Forty entries of two passages, a quarter of them in a project of their own."""
    made = closing.enter_context(World(tmp_path))
    made.put(*many(30), *(entry(f"p{n}", f"number {n} of the project", project="own") for n in range(10)))
    made.refresh()
    return made


def asked_of_the_table(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The filters of the questions that go to the table by vector from now on."""
    asked: list[str] = []
    real = table.Passages.by_vector

    def ask(self: table.Passages, vector: list[float], where: str, depth: int) -> tuple[Match, ...]:
        asked.append(where)
        return real(self, vector, where, depth)

    monkeypatch.setattr(table.Passages, "by_vector", ask)
    return asked


@pytest.mark.parametrize(
    "wanted",
    [Filter(), Filter(project="own"), Filter(kinds=frozenset({Kind.LESSON})), Filter(ids=frozenset({"e00003", "p7"}))],
    ids=["all", "a project", "nothing", "two"],
)
def test_from_the_second_question_on_vectors_are_compared_in_memory_with_the_same_answer(
    world: World, monkeypatch: pytest.MonkeyPatch, wanted: Filter
) -> None:
    asked = asked_of_the_table(monkeypatch)
    by_table = world.index.candidates("number 7 of the project", wanted, 20).vectors
    world.index.candidates("another question")
    in_memory = [world.index.candidates("number 7 of the project", wanted, 20).vectors for _ in range(2)]
    assert len(asked) == 1
    for found in in_memory:
        assert [(hit.entry_id, hit.ordinal, hit.heading, hit.text) for hit in found] == [
            (hit.entry_id, hit.ordinal, hit.heading, hit.text) for hit in by_table
        ]
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in by_table], abs=1e-5)


@pytest.mark.parametrize("wanted", [Filter(), Filter(project="own")], ids=["all", "a project"])
def test_from_the_second_question_on_texts_are_taken_from_memory_with_the_same_answer(
    world: World, closing: ExitStack, wanted: Filter
) -> None:
    by_table = world.index.candidates("number 7 of the project", wanted, 20).text
    world.index.candidates("another question")
    closing.enter_context(instead("ai_lessons.search.table.Passages.by_text", lambda *_: pytest.fail("rows were read")))
    assert world.index.candidates("number 7 of the project", wanted, 20).text == by_table
    assert len(by_table) > 1


def test_what_others_write_is_found_at_once_although_vectors_are_in_memory(world: World) -> None:
    reader = world.open()
    for _ in range(3):
        assert reader.candidates("a new thing altogether").vectors[0].entry_id != "new"
    world.put(entry("new", "a new thing altogether"))
    world.refresh()
    for _ in range(3):
        assert reader.candidates("a new thing altogether").vectors[0].entry_id == "new"
    world.remove("new")
    world.refresh()
    assert all(hit.entry_id != "new" for hit in reader.candidates("a new thing altogether").vectors)


def test_filters_without_end_are_answered_rightly(world: World) -> None:
    for n in range(2 * index.FILTERS + 3):
        name = f"e{n % 30:05}"
        assert world.near("number says word", Filter(ids=frozenset({name, f"none{n}"}))) == [name]


def test_passages_without_a_vector_are_not_compared(tmp_path: Path, closing: ExitStack) -> None:
    world = closing.enter_context(World(tmp_path))
    world.put(*many(4))
    world.refresh()
    world.put(entry("late", "number 2 says word2"))
    world.refresh(seconds=0)
    for _ in range(3):
        assert "late" not in world.near("number 2 says word2")
        assert "late" in world.found("word2")


def test_a_question_that_has_begun_is_answered_although_its_table_goes_away(world: World) -> None:
    world.index.refresh("1", world.fingerprints, world.load)
    finish = world.index.query.begin("word7", Filter(), 10)
    other = world.open()
    world.refresh(other, full=True)
    assert [hit.entry_id for hit in finish().text] == ["e00007", "e00007"]
