"""Packs of vectors, as clones share them: 8 bits a number, by the hash of model and text.

No text is in one.

A pack is the line `FORMAT`, a line of JSON (model, dimensions, count, SHA-256 of what follows), the
keys in ascending order, `PACK.key_bytes` each, and in the same order the vectors, a signed byte a
number. Only the direction of a vector is
kept: what is read has length 1. A passage takes 416 bytes with 384 dimensions.
"""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ai_lessons.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

FORMAT = b"ai-lessons vectors 1\n"


class PackLimits(NamedTuple):
    """Sizes of a pack, in bytes unless stated."""

    key_bytes: int = 32
    # Of the second line, at most
    header_bytes: int = 1024
    most_dimensions: int = 4096


PACK = PackLimits()

# Of one pack, at most: it is read as a whole. 20,000 passages; more make several packs.
PACK_BYTES = 8 << 20


class PackDamaged(StorageFailed):
    """This is no pack, or not all of one."""


class VectorPack(NamedTuple):
    """A pack that was read. `keys` and `numbers` are as in the file."""

    model: str
    dimensions: int
    keys: bytes
    numbers: bytes

    def __len__(self) -> int:
        return len(self.keys) // PACK.key_bytes

    def names(self) -> list[str]:
        """The keys (hex), ascending."""
        names: list[str] = []
        for key in _pieces(self.keys, PACK.key_bytes):
            names.append(key.hex())
        return names

    def find(self, names: Collection[str]) -> dict[str, bytes]:
        """The vectors of these keys (hex) that it has, as the cache keeps them.

        Little-endian float16, length 1.
        """
        if isinstance(names, (set, frozenset, dict)):
            asked = names
        else:
            asked = set(names)
        rows = []
        for place, name in enumerate(self.names()):
            if name in asked:
                rows.append((name, place))
        if not rows:
            return {}
        every = np.frombuffer(self.numbers, dtype=np.int8).reshape(-1, self.dimensions)
        chosen = every[[place for _, place in rows]].astype(np.float32)
        lengths = np.linalg.norm(chosen, axis=1, keepdims=True)
        vectors = (chosen / np.maximum(lengths, 1e-30)).astype("<f2")
        # a vector of zeros points nowhere: it is as if it was not there
        return {
            name: vector.tobytes()
            for (name, _), vector, length in zip(rows, vectors, lengths[:, 0], strict=True)
            if length
        }

    def everything(self) -> dict[str, bytes]:
        """All its vectors, as `find` gives them."""
        return self.find(self.names())


def most_in_a_pack(dimensions: int) -> int:
    """How many vectors of this length fit into one pack."""
    return (PACK_BYTES - len(FORMAT) - PACK.header_bytes) // (PACK.key_bytes + dimensions)


def pack_of(model: str, dimensions: int, vectors: Mapping[str, bytes]) -> bytes:
    """A pack of vectors by key (hex), each packed as in the cache.

    The same vectors make the same bytes.

    What has another length, or points nowhere, is left out.
    """
    good = sorted(name for name, vector in vectors.items() if len(vector) == 2 * dimensions)
    matrix = np.frombuffer(b"".join(vectors[name] for name in good), dtype="<f2").reshape(
        -1, dimensions
    )
    matrix = matrix.astype(np.float32)
    greatest = np.abs(matrix).max(axis=1, initial=0.0)
    usable = np.isfinite(greatest) & (greatest > 0)
    # What the greatest number of each vector becomes
    scaled = matrix[usable] * (127 / greatest[usable, np.newaxis])
    numbers: bytes = np.rint(scaled).astype(np.int8).tobytes()
    keys = b"".join(
        bytes.fromhex(name) for name, is_usable in zip(good, usable, strict=True) if is_usable
    )
    digest = sha256(keys + numbers).hexdigest()
    return (
        FORMAT
        + _header_line(model, dimensions, len(keys) // PACK.key_bytes, digest)
        + b"\n"
        + keys
        + numbers
    )


def _header_line(model: str, dimensions: int, count: int, digest: str) -> bytes:
    return json.dumps(
        {"model": model, "dimensions": dimensions, "count": count, "sha256": digest}
    ).encode()


def read_pack(data: bytes) -> VectorPack:
    """A pack as `pack_of` made it.

    Raises PackDamaged: it is none, or a byte of it is missing, changed or too many.
    """
    if len(data) > PACK_BYTES:
        raise PackDamaged(f"it has {len(data):,} bytes, and a pack has at most {PACK_BYTES:,}")
    if not data.startswith(FORMAT):
        raise PackDamaged("it does not begin as a pack of vectors of this version does")
    end = data.find(b"\n", len(FORMAT), len(FORMAT) + PACK.header_bytes)
    model, dimensions, count, digest = _header(data[len(FORMAT) : max(end, 0)])
    body = data[end + 1 :]
    if len(body) != count * (PACK.key_bytes + dimensions):
        raise PackDamaged(
            f"it has {len(body):,} bytes of vectors, and its header says {count:,} of {dimensions}"
        )
    if sha256(body).hexdigest() != digest:
        raise PackDamaged("its bytes are not those that its checksum was made of")
    keys, numbers = body[: count * PACK.key_bytes], body[count * PACK.key_bytes :]
    pieces = list(_pieces(keys, PACK.key_bytes))
    if any(left >= right for left, right in pairwise(pieces)):
        raise PackDamaged("its keys are not in order, or one stands there twice")
    return VectorPack(model, dimensions, keys, numbers)


def _header(line: bytes) -> tuple[str, int, int, str]:
    """Model, dimensions, count and checksum. Raises PackDamaged."""
    try:
        stated: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PackDamaged("its header cannot be read") from error
    if _is_map(stated):
        values = [stated.get(name) for name in ("model", "dimensions", "count", "sha256")]
    else:
        values = []
    if [type(value) for value in values] != [str, int, int, str]:
        raise PackDamaged("its header does not state model, dimensions, count and checksum")
    model, dimensions, count, digest = values
    if not 0 < dimensions <= PACK.most_dimensions or not 0 <= count <= PACK_BYTES:
        raise PackDamaged(f"its header states {count:,} vectors of {dimensions:,} dimensions")
    if line != _header_line(model, dimensions, count, digest):
        raise PackDamaged("its header is not written as a pack's is")
    return model, dimensions, count, digest


def _is_map(value: object) -> bool:
    return isinstance(value, dict)


def _pieces(data: bytes, length: int) -> Iterable[bytes]:
    return (data[start : start + length] for start in range(0, len(data), length))


def to_join(sizes: Mapping[str, int], new: int, most: int) -> list[str]:
    """The packs (by name, with their number of vectors) that are written anew together with so many new vectors.

    The smallest first, as long as the next is at most twice of what is together so far, up to `most`. So a vector is
    written again only where its pack grows by half, and n vectors make at most 2 n / most + log2(most) + 2 packs.
    """
    total, names = new, list[str]()
    for name, size in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        if size > 2 * total or total + size > most:
            break
        names.append(name)
        total += size
    return names
