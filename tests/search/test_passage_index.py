import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from ai_lessons.model.entries import Filter, Kind
from ai_lessons.search import index, missing_vectors, table
from ai_lessons.search.database import EMBED, WRITE, RefreshState
from ai_lessons.search.index_query import IndexDamaged
from ai_lessons.search.model_files import ModelUnavailable
from ai_lessons.search.rows import Candidates, IndexStatus
from hash_embedder import HashEmbedder
from real_world import instead
from search.index_world import World, entry, many

CHILD = str(Path(__file__).with_name("index_world.py"))


@pytest.fixture
def world(tmp_path: Path, closing: ExitStack) -> World:
    return closing.enter_context(World(tmp_path))


def row_ids(world: World) -> list[str]:
    return [str(name) for name in world.newest().select("true", "id").column("id").to_pylist()]


def test_before_the_first_refresh_there_is_nothing_and_no_error(world: World) -> None:
    assert world.index.candidates("anything") == Candidates()
    assert world.index.status() == IndexStatus(model="hash")
    assert world.index.current("1") is None


def test_only_what_changed_is_loaded_and_embedded(world: World) -> None:
    world.put(entry("a", "alpha"), entry("b", "beta"), entry("c", "gamma")).refresh()
    world.embedder.asked.clear()
    done = world.put(entry("b", "delta")).refresh()
    assert world.loaded == ["b"]
    assert world.embedder.asked == ["Title of b\ndelta"]
    assert (done.entries, done.removed, done.embedded) == (1, 0, 1)
    assert world.found("delta") == ["b"]
    assert world.found("beta") == []


def test_an_entry_that_can_no_longer_be_loaded_is_not_found(world: World) -> None:
    world.put(entry("a", "alpha"), entry("b", "alpha")).refresh()
    done = world.index.refresh(
        "2", lambda: {"a": "new", "b": world.entries["b"].fingerprint}, lambda _: []
    )
    assert done.removed == 1
    assert world.found("alpha") == ["b"]


def test_moving_and_retagging_embed_nothing(world: World) -> None:
    world.put(entry("a", "alpha", tags=("x",))).refresh()
    world.embedder.asked.clear()
    done = world.put(entry("a", "alpha", tags=("y",), project="other")).refresh()
    assert (done.entries, done.missing) == (1, 0)
    assert world.embedder.asked == []
    assert world.near("alpha", Filter(tags=("y",), project="other")) == ["a"]
    assert world.near("alpha", Filter(tags=("x",))) == []


def test_a_deleted_index_comes_back_without_embedding(world: World) -> None:
    world.put(*many(20)).refresh()
    shutil.rmtree(world.folder / "index")
    shutil.rmtree(world.folder / "state")
    world.embedder.asked.clear()
    world.index = world.open()
    assert world.refresh().missing == 0
    assert world.embedder.asked == []
    assert world.found("word7") == ["e00007"]


def test_text_is_searchable_before_any_vector_is_there(world: World) -> None:
    done = world.put(entry("a", "alpha"), entry("b", "beta")).refresh(seconds=0)
    assert (done.missing, done.embedded) == (2, 0)
    assert world.found("alpha") == ["a"]
    assert world.near("alpha") == []
    assert world.refresh().missing == 0
    assert set(world.near("alpha")) == {"a", "b"}


def test_embedding_stops_when_the_time_is_over_and_goes_on_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.put(*many(30))
    assert world.refresh().missing == 0
    world.embedder.asked.clear()
    monkeypatch.setattr(
        missing_vectors, "AT_ONCE", missing_vectors.AT_ONCE._replace(texts_at_once=4)
    )
    world.put(*many(40))
    # the clock ticks when a text is embedded
    clock = SimpleNamespace(monotonic=lambda: float(len(world.embedder.asked)))
    monkeypatch.setattr(missing_vectors, "time", clock)
    done = world.refresh(seconds=11.5)
    assert (done.embedded, done.missing) == (12, 8)
    seen: list[tuple[str, int, int]] = []
    done = world.refresh(progress=lambda *step: seen.append(step))
    assert (done.embedded, done.missing) == (8, 0)
    assert seen[-1] == ("Embedding", 8, 8)
    assert len(world.embedder.asked) == 20


def test_what_was_searched_is_computed_first_and_then_the_newest(
    tmp_path: Path, closing: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        missing_vectors, "AT_ONCE", missing_vectors.AT_ONCE._replace(texts_at_once=1)
    )
    world = closing.enter_context(
        World(tmp_path, order=lambda: [f"e{number:05}" for number in reversed(range(30))])
    )
    world.put(*many(30)).refresh(seconds=0)
    world.index.want(["e00007", "e00003"])
    world.refresh()
    asked = [text.partition("\n")[0] for text in world.embedder.asked[::2]]
    assert asked[:5] == [f"Title of e{number:05}" for number in (7, 3, 29, 28, 27)]


def test_how_far_it_is_can_be_seen_while_it_goes_on_and_not_after(world: World) -> None:
    state = RefreshState(world.folder / "state")
    world.put(*many(40)).refresh(seconds=0)
    assert (state.last() or ())[:2] == (80, 80)
    seen = []
    world.refresh(progress=lambda *_: seen.append(state.progress()))
    steps = [progress.left for progress in seen if progress]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] == 80
    assert state.progress() is None
    assert (state.last() or ())[:2] == (80, 0)


def test_an_embedder_that_has_to_be_downloaded_keeps_no_question_waiting(
    tmp_path: Path, closing: ExitStack
) -> None:
    loaded: list[str] = []

    def make(name: str) -> HashEmbedder:
        loaded.append(name)
        return HashEmbedder()

    world = closing.enter_context(World(tmp_path, make=make, at_hand=lambda _: bool(loaded)))
    done = world.put(entry("a", "alpha")).refresh(seconds=9)
    assert (done.missing, loaded) == (1, [])
    assert "is not here yet, and is fetched in the background" in done.notes[0]
    assert world.found("alpha") == ["a"]
    assert loaded == []
    assert world.refresh().missing == 0, "who has time fetches it"
    assert world.near("alpha") == ["a"]


def test_after_a_big_import_a_bounded_refresh_answers_from_text_first(world: World) -> None:
    done = world.put(*many(index.REFRESH.few)).refresh(seconds=9)
    assert (done.embedded, done.missing) == (0, 2 * index.REFRESH.few)
    assert world.embedder.asked == []
    assert world.near(many(1)[0].title) == []
    assert world.refresh().missing == 0


def test_a_first_question_that_words_answer_does_not_wait_for_the_model(
    tmp_path: Path, closing: ExitStack
) -> None:
    loading = threading.Event()
    waiting: list[str] = []

    def never_loaded(name: str) -> HashEmbedder:
        waiting.append(name)
        loading.wait()
        return HashEmbedder()

    # a load that is waited for ends with the test, not before it
    closing.callback(loading.set)
    world = closing.enter_context(World(tmp_path, make=never_loaded))
    answers: list[Candidates] = []

    def ask() -> None:
        world.put(*many(index.REFRESH.few)).refresh(seconds=1.0)
        answers.append(world.index.candidates("word7"))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    while asking.is_alive() and not waiting:
        asking.join(0.1)
    assert waiting == []
    assert [hit.entry_id for hit in answers[0].text[:2]] == ["e00007", "e00007"]
    assert answers[0].vectors == ()


def test_without_a_model_text_answers_and_says_so(tmp_path: Path, closing: ExitStack) -> None:
    def none(_: str) -> None:
        raise ModelUnavailable("tiny", [("package index", "no network")])

    world = closing.enter_context(World(tmp_path, make=none))  # type: ignore[arg-type]
    done = world.put(entry("a", "alpha")).refresh()
    assert done.missing == 1
    assert "full text only" in done.notes[0]
    found = world.index.candidates("alpha")
    assert [hit.entry_id for hit in found.text] == ["a"]
    assert "no network" in found.note


def test_any_question_is_fine(world: World) -> None:
    world.put(*many(30)).refresh()
    for text in (
        "", "   ", "!!!", "?-\"'", "()", "the", "'", '"quoted phrase"', "a AND (b", "配置文件", "🙂",
        "word1 " * 2000, "x:y^2~",
    ):  # fmt: skip
        found = world.index.candidates(text)
        assert len(found.text) <= 60, text
        if not any(character.isalnum() for character in text):
            assert found == Candidates(), text


def test_an_empty_repository_is_fine_and_can_grow(world: World) -> None:
    done = world.refresh()
    assert (done.entries, done.missing) == (0, 0)
    assert world.found("alpha") == []
    world.put(entry("a", "alpha")).refresh()
    assert world.found("alpha") == ["a"]
    world.remove("a")
    world.refresh()
    assert world.found("alpha") == world.near("alpha") == []


def test_filters_hold_for_both_lists(world: World) -> None:
    world.put(
        entry("a", "alpha", kind="doc", project="it's", tags=("x", "y")),
        entry("b", "alpha", kind="lesson", tags=("x",)),
        entry("c", "alpha", kind="script", project="other"),
    )
    world.refresh()
    for wanted, expected in (
        (Filter(kinds=frozenset({Kind.DOC, Kind.SCRIPT})), {"a", "c"}),
        (Filter(project="it's"), {"a"}),
        (Filter(tags=("x",)), {"a", "b"}),
        (Filter(tags=("x", "y")), {"a"}),
        (Filter(ids=frozenset({"b", "c"})), {"b", "c"}),
        (Filter(ids=frozenset()), set()),
        (Filter(project="' OR 1=1 --"), set()),
    ):
        assert set(world.found("alpha", wanted)) == expected
        assert set(world.near("alpha", wanted)) == expected


def test_another_lancedb_or_format_rebuilds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.put(*many(3)).refresh()
    monkeypatch.setattr(table, "FORMAT", 99)
    world.index = world.open()
    assert "another format" in world.refresh().rebuilt
    assert world.refresh().rebuilt == ""


def damage(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(b"damaged")


@pytest.mark.parametrize(
    "part", ["", "passages_1.lance/_versions", "passages_1.lance/data", "passages_1.lance/_indices"]
)
def test_a_damaged_index_is_rebuilt(world: World, part: str) -> None:
    world.put(*many(30)).refresh()
    damage(world.folder / "index" / part)
    world.index = world.open()
    world.put(entry("new", "word1 alpha"))
    with contextlib.suppress(IndexDamaged):
        world.refresh()
        world.index.candidates("word7 alpha")
    done = world.refresh()
    assert done.missing == 0
    assert world.found("word7") == ["e00007"]
    assert world.near("alpha")[0] == "new"
    assert len(set(row_ids(world))) == len(row_ids(world)) == 61


def test_a_lost_or_damaged_state_only_costs_a_comparison(world: World) -> None:
    world.put(*many(3)).refresh()
    for text in ("not json", "[]", json.dumps({"generation": "1", "table": "x"})):
        (world.folder / "state" / "state.json").write_text(text)
        assert world.refresh().entries == 0
        assert world.loaded == []


def test_a_reader_goes_on_with_the_old_table_while_a_new_one_is_built(world: World) -> None:
    world.put(*many(40)).refresh()
    reader = world.open()
    answers: list[int] = []
    load = world.load

    def load_and_look(ids: object) -> object:
        answers.append(len(reader.candidates("word7").text))
        return load(ids)  # type: ignore[arg-type]

    world.index.refresh("1", world.fingerprints, load_and_look, full=True)  # type: ignore[arg-type]
    answers.append(len(reader.candidates("word7").text))
    assert answers == [2, 2]


def test_the_first_build_of_another_process_is_waited_for_only_so_long(world: World) -> None:
    world.put(*many(3))
    patience = index.REFRESH._replace(first_wait=0.05)
    with (
        RefreshState(world.folder / "state").locked(WRITE, 0),
        instead("ai_lessons.search.index.REFRESH", patience),
    ):
        done = world.refresh()
    assert "another process" in done.notes[0]
    assert world.refresh().entries == 3


def test_while_another_process_embeds_only_text_is_written(world: World) -> None:
    world.put(*many(3))
    with RefreshState(world.folder / "state").locked(EMBED, 0):
        done = world.refresh()
    assert (done.embedded, done.missing) == (0, 6)
    assert world.refresh().missing == 0


def test_a_place_for_locks_that_cannot_be_used_is_a_note(
    tmp_path: Path, closing: ExitStack
) -> None:
    world = closing.enter_context(World(tmp_path))
    (tmp_path / "state").write_text("a file")
    world.put(*many(2))
    assert "cannot be updated" in world.refresh().notes[0]
    assert world.index.candidates("word1") == Candidates()


def child(world: World, mark: str, count: int, pause: float = 0.0) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, CHILD, str(world.folder), mark, str(count), str(pause)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def assert_right(world: World, count: int) -> None:
    done = world.refresh(wait=30.0)
    assert (done.missing, done.notes) == (0, ())
    ids = row_ids(world)
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    assert len(ids) == 2 * count
    assert world.found("word7") == ["e00007"]
    assert world.near("number 7 says word7")[0] == "e00007"


def test_two_processes_at_once_make_no_duplicates(world: World, closing: ExitStack) -> None:
    world.put(*many(5)).refresh()
    children = [closing.enter_context(child(world, "2", 60)) for _ in range(2)]
    assert [one.wait() for one in children] == [0, 0]
    world.put(*many(60, "2"))
    assert_right(world, 60)


def test_killed_at_any_moment_it_is_right_after_the_next_refresh(world: World) -> None:
    for mark, delay in (("1", 0.02), ("2", 0.3)):
        with child(world, mark, 60, 0.02) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            time.sleep(delay)
            running.kill()
        world.put(*many(60, mark))
        assert_right(world, 60)


def test_readers_see_no_error_while_others_write(world: World) -> None:
    world.put(*many(50)).refresh()
    reader = world.open()
    stop = threading.Event()
    trouble: list[BaseException] = []

    def look() -> None:
        while not stop.is_set():
            try:
                assert reader.candidates("word7").text
            except (IndexDamaged, AssertionError) as error:
                trouble.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    for n in range(6):
        world.put(*many(50, str(n))).refresh(full=n % 3 == 2)
    stop.set()
    thread.join()
    assert trouble == []
