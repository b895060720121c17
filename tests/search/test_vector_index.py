"""Many passages get an index of vectors. It must answer as a comparison with every vector does, also after edits."""

import os
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from ai_lessons.model.entries import Filter, Kind
from ai_lessons.search import table
from ai_lessons.search.missing_vectors import VectorCache, pack
from ai_lessons.search.rows import vector_key
from search.index_world import World, entry, many

QUESTIONS = [f"number {n} says word{n}" for n in range(0, 200, 18)]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closing: ExitStack) -> World:
    """Four hundred passages, where a hundred are enough for an index."""
    monkeypatch.setattr(table, "TABLE", table.TABLE._replace(flat=100))
    made = closing.enter_context(World(tmp_path))
    made.put(*many(200)).refresh()
    return made


def recall(world: World) -> float:
    passages, found, wanted = world.newest(), 0, 0
    for question in QUESTIONS:
        vector = [float(x) for x in world.embedder.embed_query(question)]
        exact, ours = (
            {
                (hit.entry_id, hit.ordinal)
                for hit in passages.by_vector(vector, "", 100, exact=exactly)[:10]
            }
            for exactly in (True, False)
        )
        found, wanted = found + len(exact & ours), wanted + len(exact)
    return found / wanted


def test_few_passages_have_none(tmp_path: Path, closing: ExitStack) -> None:
    world = closing.enter_context(World(tmp_path))
    world.put(*many(3)).refresh()
    assert world.newest().vectors_indexed() is None
    assert recall(world) == 1.0


def test_the_index_finds_what_a_comparison_with_every_vector_finds_and_is_made_again_by_a_rebuild(
    world: World,
) -> None:
    assert world.newest().vectors_indexed() == 400
    assert recall(world) >= 0.98
    assert world.near("number 63 says word63")[0] == "e00063"
    world.embedder.asked.clear()
    world.refresh(full=True)
    assert world.embedder.asked == []
    assert world.newest().vectors_indexed() == 400


def test_what_is_written_after_the_index_was_made_is_found_and_most_can_be_removed(
    world: World,
) -> None:
    world.put(entry("new", "pomology of apples"), entry("e00007", "viticulture"))
    world.remove("e00063")
    world.refresh()
    assert "new" in world.near("pomology apples")[:3]
    assert "e00007" in world.near("viticulture")[:3]
    assert "e00063" not in world.near("number 63 says word63")
    assert recall(world) >= 0.98
    world.remove(*(name for name in world.entries if name > "e00030"))
    world.refresh()
    assert recall(world) >= 0.98


def test_filters_hold_with_an_index(world: World) -> None:
    world.put(
        *(entry(f"l{n}", f"number {n} says word{n}", kind="lesson") for n in range(5))
    ).refresh()
    found = world.near("number 63 says word63", Filter(kinds=frozenset({Kind.LESSON})))
    assert set(found) == {f"l{n}" for n in range(5)}


def test_without_most_vectors_none_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closing: ExitStack
) -> None:
    monkeypatch.setattr(table, "TABLE", table.TABLE._replace(flat=100))
    world = closing.enter_context(World(tmp_path))
    world.put(*many(200)).refresh(seconds=0)
    assert world.newest().vectors_indexed() is None
    world.refresh()
    assert world.newest().vectors_indexed() == 400


def test_many_edits_leave_few_files_and_few_rows_outside_the_indices(world: World) -> None:
    for n in range(2 * table.TABLE.fragments):
        name = f"e{n % 20:05}"
        world.put(entry(name, f"edit{n} here")).refresh()
        statistics = world.newest()._table.stats()["fragment_stats"]
        assert statistics["num_fragments"] <= table.TABLE.fragments + 1
        assert world.newest().unindexed() <= table.TABLE.tail
    assert world.found(f"edit{n}") == [name]
    assert world.found("edit0") == []
    assert recall(world) >= 0.98


KEYS = [vector_key("m", str(n)) for n in range(2000)]


def test_a_key_tells_models_and_texts_apart() -> None:
    assert vector_key("m", "text") == vector_key("m", "text")
    pairs = (("m", "text"), ("n", "text"), ("m", "t ext"), ("mt", "ext"))
    assert len({vector_key(*pair) for pair in pairs}) == 4


def test_what_was_put_is_got_by_another_process(tmp_path: Path) -> None:
    with closing(VectorCache(tmp_path / "deep" / "v.sqlite")) as cache:
        cache.put((key, b"x" * 4) for key in KEYS)
    with closing(VectorCache(tmp_path / "deep" / "v.sqlite")) as again:
        assert again.get(KEYS) == dict.fromkeys(KEYS, b"x" * 4)
        assert again.get([vector_key("m", "unknown")]) == {}
        assert again.get([]) == {}
        assert len(again) == len(KEYS)


def test_a_packed_vector_is_two_bytes_a_number_and_nearly_the_same() -> None:
    vector = np.random.default_rng(1).standard_normal(384).astype(np.float32)
    vector /= np.linalg.norm(vector)
    packed = pack(vector)
    assert len(packed) == 768
    assert np.abs(np.frombuffer(packed, "<f2").astype(np.float32) - vector).max() < 1e-4


@pytest.mark.parametrize(
    "damage", [b"this is no database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "v.sqlite"
    path.write_bytes(damage)
    with closing(VectorCache(path)) as cache:
        assert cache.get(KEYS[:3]) == {}
        cache.put([(KEYS[0], b"new")])
        assert cache.get(KEYS[:1]) == {KEYS[0]: b"new"}


def test_where_nothing_can_be_written_vectors_are_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with closing(VectorCache(tmp_path / "file" / "v.sqlite")) as cache:
        cache.put([(KEYS[0], b"new")])
        assert cache.get(KEYS[:2]) == {KEYS[0]: b"new"}


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from ai_lessons.search.rows import vector_key; from ai_lessons.search.missing_vectors import VectorCache\n"
        "cache = VectorCache(Path(sys.argv[1]))\n"
        "for n in range(50):\n"
        "    cache.put((vector_key('m', text), b'v') for text in (f'{n % 25}-{sys.argv[2]}', str(n)))\n"
    )
    path = str(tmp_path / "v.sqlite")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen([sys.executable, "-c", program, path, name], env=environment)
        for name in "ab"
    ]
    assert [child.wait() for child in children] == [0, 0]
    with closing(VectorCache(tmp_path / "v.sqlite")) as cache:
        assert len(cache) == 100
