"""Packs of vectors: what is written is read, what was changed is refused, and many small ones become few."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.search.vector_packs import (
    FORMAT,
    PACK,
    PACK_BYTES,
    PackDamaged,
    most_in_a_pack,
    pack_of,
    read_pack,
    to_join,
)

DIMENSIONS = 12


def vector_of(seed: int) -> bytes:
    """A vector by its seed, whose numbers are of any size; of every seventh they are all zero."""
    numbers = np.random.default_rng(seed).standard_normal(DIMENSIONS) * 10.0 ** -(seed % 3)
    return (numbers * bool(seed % 7)).astype("<f2").tobytes()


def vectors_of(seeds: set[int]) -> dict[str, bytes]:
    return {sha256(str(seed).encode()).hexdigest(): vector_of(seed) for seed in seeds}


many = st.sets(st.integers(0, 10_000), max_size=30).map(vectors_of)


def as_floats(packed: bytes) -> np.ndarray:
    return np.frombuffer(packed, dtype="<f2").astype(np.float64)


@given(many)
def test_what_is_written_is_read_in_the_same_direction(vectors: dict[str, bytes]) -> None:
    pack = read_pack(pack_of("model", DIMENSIONS, vectors))
    assert (pack.model, pack.dimensions) == ("model", DIMENSIONS)
    lengths = {name: np.linalg.norm(as_floats(vector)) for name, vector in vectors.items()}
    assert set(pack.names()) == {name for name, length in lengths.items() if length > 0}
    for name, vector in pack.everything().items():
        cosine = as_floats(vector) @ as_floats(vectors[name]) / lengths[name]
        assert cosine == pytest.approx(1.0, abs=2e-3)
        assert np.linalg.norm(as_floats(vector)) == pytest.approx(1.0, abs=2e-3)


@given(many)
def test_the_same_vectors_are_the_same_bytes_also_after_they_were_read(
    vectors: dict[str, bytes],
) -> None:
    data = pack_of("model", DIMENSIONS, vectors)
    assert pack_of("model", DIMENSIONS, dict(reversed(vectors.items()))) == data
    assert pack_of("model", DIMENSIONS, read_pack(data).everything()) == data


@given(many, st.data())
def test_a_byte_that_is_changed_missing_or_too_many_is_noticed(
    vectors: dict[str, bytes], data: st.DataObject
) -> None:
    packed = pack_of("model", DIMENSIONS, vectors)
    place = data.draw(st.integers(0, len(packed) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != packed[place]))
    changed = packed[:place] + bytes([other]) + packed[place + 1 :]
    for damaged in (packed[:place], packed + b"x", packed[:place] + packed[place + 1 :]):
        with pytest.raises(PackDamaged):
            read_pack(damaged)
    with suppress(
        PackDamaged
    ):  # a letter of the model's name may be another: then it is a pack of another model
        assert read_pack(changed).model != "model"


@given(st.binary(max_size=300))
def test_no_bytes_are_more_than_a_damaged_pack(junk: bytes) -> None:
    for data in (junk, FORMAT + junk, FORMAT + b"{}\n" + junk):
        with pytest.raises(PackDamaged):
            read_pack(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["model", "dimensions", "count", "sha256"]), json_values))
def test_a_header_of_any_values_is_no_more_than_damage(header: dict[str, object]) -> None:
    with pytest.raises(PackDamaged):
        read_pack(FORMAT + json.dumps(header).encode() + b"\n" + b"x" * 64)


def test_keys_twice_or_out_of_order_huge_counts_and_sizes_are_refused() -> None:
    def made(keys: list[bytes], **stated: object) -> bytes:
        body = b"".join(keys) + b"\1" * DIMENSIONS * len(keys)
        header = {
            "model": "m",
            "dimensions": DIMENSIONS,
            "count": len(keys),
            "sha256": sha256(body).hexdigest(),
        }
        return FORMAT + json.dumps(header | stated).encode() + b"\n" + body

    low, high = b"a" * PACK.key_bytes, b"b" * PACK.key_bytes
    assert len(read_pack(made([low, high]))) == 2
    for damaged in (
        made([high, low]),
        made([low, low]),
        made([low], count=10**30),
        made([low], dimensions=0),
        made([low], dimensions=10**9),
        made([low], count=-1),
        made([low], model=["m"] * 500),
        made([low]) + b"0" * PACK_BYTES,
    ):
        with pytest.raises(PackDamaged):
            read_pack(damaged)


def test_vectors_of_another_length_without_direction_or_without_end_are_left_out() -> None:
    rows = {
        "a" * 64: [0.0] * 4,
        "b" * 64: [np.nan, 1, 1, 1],
        "c" * 64: [np.inf, 1, 1, 1],
        "d" * 64: [1.0] * 5,
    }
    vectors = {name: np.array(row, dtype="<f2").tobytes() for name, row in rows.items()}
    vectors["e" * 64] = np.array([1.0, 0, 0, 0], dtype="<f2").tobytes()
    assert read_pack(pack_of("m", 4, vectors)).names() == ["e" * 64]


def test_a_hundred_thousand_passages_take_less_than_45_megabytes() -> None:
    most = most_in_a_pack(384)
    key = (PACK.key_bytes + 384) * 100_000
    assert key + -(-100_000 // most) * 1100 < 45_000_000


@given(st.lists(st.integers(1, 500), max_size=60), st.integers(100, 2000))
def test_however_they_come_there_are_few_packs_and_each_vector_is_written_a_few_times(
    shares: list[int], most: int
) -> None:
    sizes, written, count = dict[str, int](), 0, 0
    for share in shares:
        for new in [most] * (share // most) + [share % most] * bool(share % most):
            names = to_join(sizes, new, most)
            total = new + sum(sizes.pop(name) for name in names)
            assert total <= most
            count += 1
            sizes[f"p{count}"] = total
            written += total
    everything = sum(shares)
    assert sum(sizes.values()) == everything
    assert len(sizes) <= 2 * everything / most + log2(most) + 2
    assert written <= everything * (log2(most) / log2(1.5) + 1)
