"""A tiny embedder for tests: the same words give near vectors, without a model. Counts what it was asked."""

import hashlib
import re
from collections.abc import Iterator, Sequence

import numpy as np

from ai_lessons.search.embedding import Vector

DIMENSIONS = 32


class HashEmbedder:
    """Every word adds its own fixed random direction, another one for each name. `asked` collects what was embedded."""

    dimensions = DIMENSIONS

    def __init__(self, name: str = "hash", dimensions: int | None = None) -> None:
        self.name, self._salt = name, "" if name == "hash" else name
        self.dimensions = dimensions or type(self).dimensions
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        for text in texts:
            self.asked.append(text)
            yield self._vector(text)

    def embed_query(self, text: str) -> Vector:
        return self._vector(text)

    def reads(self, text: str) -> float:
        return float(bool(text))

    def _vector(self, text: str) -> Vector:
        total = np.full(self.dimensions, 1e-3, dtype=np.float32)
        for word in re.findall(r"\w+", text.lower()):
            seed = int.from_bytes(hashlib.sha256((word + self._salt).encode()).digest()[:4], "big")
            total += np.random.default_rng(seed).standard_normal(self.dimensions).astype(np.float32)
        return (total / np.linalg.norm(total)).astype(np.float32)
