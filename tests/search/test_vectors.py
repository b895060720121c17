import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ai_lessons.search.index import VectorCache, pack
from ai_lessons.search.ranking import vector_key

KEYS = [vector_key("m", str(n)) for n in range(2000)]


def test_a_key_tells_models_and_texts_apart() -> None:
    assert vector_key("m", "text") == vector_key("m", "text")
    assert (
        len({vector_key("m", "text"), vector_key("n", "text"), vector_key("m", "t ext"), vector_key("mt", "ext")}) == 4
    )


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


@pytest.mark.parametrize("damage", [b"this is no database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
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
        "from ai_lessons.search.ranking import vector_key; from ai_lessons.search.index import VectorCache\n"
        "cache = VectorCache(Path(sys.argv[1]))\n"
        "for n in range(50):\n"
        "    cache.put((vector_key('m', text), b'v') for text in (f'{n % 25}-{sys.argv[2]}', str(n)))\n"
    )
    path = str(tmp_path / "v.sqlite")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    children = [subprocess.Popen([sys.executable, "-c", program, path, name], env=environment) for name in "ab"]
    assert [child.wait() for child in children] == [0, 0]
    with closing(VectorCache(tmp_path / "v.sqlite")) as cache:
        assert len(cache) == 100
