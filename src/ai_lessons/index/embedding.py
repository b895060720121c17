"""Turns texts into vectors. Home of fastembed and numpy: import this module only when a vector is needed.

Does not look for model files (`model_files`), does not remember vectors (`vectors`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
from numpy.typing import NDArray
from onnxruntime.capi.onnxruntime_pybind11_state import (  # type: ignore[import-untyped]  # no stubs
    Fail,
    InvalidGraph,
    InvalidProtobuf,
    NoSuchFile,
    RuntimeException,
)

from ai_lessons.errors import StorageFailed, UsageError
from ai_lessons.index.model_files import ModelUnavailable
from ai_lessons.index.model_spec import PINNED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ai_lessons.index.model_spec import ModelSpec

Vector: TypeAlias = NDArray[np.float32]
"""One embedding: float32, shape (dimensions,), length 1."""

BGE_QUERY = "Represent this sentence for searching relevant passages: "
"""What the bge models were trained to see before a short query (not before a passage)."""

ALONE = 512
BATCH = 2048
"""Characters. Texts from ALONE on go one by one, shorter ones together up to BATCH (about 512 tokens).

Measured in tokens per second: on passages of 300 tokens batches of 1 are the fastest (no padding), 8 is 0.6 and
fastembed's default of 256 is 0.3 of it, with 4.8 GB of memory; on texts of 40 tokens batches of 8 are 1.14.
"""

LOAD_ERRORS = (OSError, ValueError, RuntimeError, Fail, InvalidGraph, InvalidProtobuf, NoSuchFile, RuntimeException)
"""What fastembed and onnxruntime raise for files that are missing or damaged, or a hub that does not answer."""

LONGEST = 20_000
"""Characters of a text that are looked at; the model reads 512 tokens."""


class Embedder(Protocol):
    """Texts to vectors of one model. `name` says which: vectors of different names are never compared."""

    @property
    def name(self) -> str:
        """Which model, as it stands in keys and tables."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of its vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        """Vectors of passages, in the order of the texts."""
        ...

    def embed_query(self, text: str) -> Vector:
        """The vector of a question, as this model wants its questions put."""
        ...


def batches(lengths: Sequence[int]) -> list[list[int]]:
    """Which texts (by position) go through the model together, from their lengths in characters."""
    order = sorted(range(len(lengths)), key=lambda n: lengths[n])
    grouped: list[list[int]] = []
    for n in order:
        group = grouped[-1] if grouped else []
        if not group or lengths[n] >= ALONE or (len(group) + 1) * lengths[n] > BATCH:
            grouped.append([n])
        else:
            group.append(n)
    return grouped


class FastEmbedder:
    """A model loaded by fastembed. Deterministic for texts of ALONE characters and more.

    Vectors of shorter ones depend a little on the texts beside them (cosine 0.997), because a quantised model
    scales its activations by batch.
    """

    def __init__(self, name: str, dimensions: int, model: TextEmbedding, query_prefix: str = "") -> None:
        self.name, self.dimensions = name, dimensions
        self._model, self._prefix = model, query_prefix

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        """Vectors of passages, in the order of the texts; computed when the first is asked for."""
        cut = [text[:LONGEST] for text in texts]
        vectors: list[Vector | None] = [None] * len(cut)
        for group in batches([len(text) for text in cut]):
            computed = self._model.embed([cut[n] for n in group], batch_size=len(group))
            for n, vector in zip(group, computed, strict=True):
                vectors[n] = vector.astype(np.float32, copy=False)
        yield from (vector for vector in vectors if vector is not None)

    def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        if self._prefix:
            return next(self.embed([self._prefix + text]))
        return next(iter(self._model.query_embed(text[:LONGEST]))).astype(np.float32, copy=False)


def load_pinned(folder: Path, *, threads: int | None = None, spec: ModelSpec = PINNED) -> FastEmbedder:
    """The pinned model from its folder, in about 0.15 s. `threads` None: all cores.

    Raises:
        StorageFailed: the files are there but cannot be loaded.
    """
    registered = f"ai-lessons/{spec.name}"
    # fastembed keeps custom models in a registry of the process and refuses to take one twice.
    if registered not in {str(model["model"]) for model in TextEmbedding.list_supported_models()}:
        TextEmbedding.add_custom_model(
            model=registered,
            pooling=PoolingType.CLS,
            normalization=True,
            sources=ModelSource(url="local"),
            dim=spec.dimensions,
            model_file=spec.files[0].name,
        )
    model = _load(registered, specific_model_path=str(folder), threads=threads)
    return FastEmbedder(spec.name, spec.dimensions, model, BGE_QUERY)


def load_named(name: str, cache_dir: Path, *, threads: int | None = None, offline: bool = False) -> FastEmbedder:
    """Any other model that fastembed knows, from `cache_dir`, or downloaded there by fastembed (which may take long).

    Raises:
        UsageError: fastembed has no such model; ModelUnavailable: it is neither here nor to be had.
    """
    dimensions = dimensions_of(name)
    prefix = BGE_QUERY if "/bge-" in name.lower() and "-en" in name.lower() else ""
    folder = str(cache_dir / "fastembed")
    tried = []
    for source, local in (("cache", True), ("model hub", False)):
        if not local and offline:
            tried.append((source, "offline as asked for"))
            continue
        try:
            model = TextEmbedding(name, cache_dir=folder, threads=threads, local_files_only=local)
        except LOAD_ERRORS as error:
            tried.append((source, str(error).splitlines()[0][:200] if str(error) else type(error).__name__))
        else:
            return FastEmbedder(name, dimensions, model, prefix)
    raise ModelUnavailable(name, tried)


def dimensions_of(name: str) -> int:
    """How long the vectors of a fastembed model are. Loads nothing.

    Raises:
        UsageError: fastembed has no such model.
    """
    for model in TextEmbedding.list_supported_models():
        if str(model["model"]).lower() == name.lower():
            return int(model["dim"])
    raise UsageError(f"no embedding model {name!r}", hint=f"use {PINNED.name}, or a model that fastembed lists")


def _load(name: str, **options: Any) -> TextEmbedding:
    try:
        return TextEmbedding(name, **options)
    except LOAD_ERRORS as error:
        raise StorageFailed(f"the embedding model cannot be loaded: {error}") from error
