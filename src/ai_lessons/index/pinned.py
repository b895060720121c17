"""The pinned model by onnxruntime and tokenizers alone. Home of those and of numpy, for everyday questions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, TypeAlias

# from 1.29 on it reports to Microsoft and writes an id to ~/.cache, unless this is set before it is imported
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # it ships no types
from numpy.typing import NDArray
from onnxruntime.capi.onnxruntime_pybind11_state import (  # type: ignore[import-untyped]  # no stubs
    Fail,
    InvalidGraph,
    InvalidProtobuf,
    NoSuchFile,
    RuntimeException,
)
from tokenizers import Tokenizer

from ai_lessons.errors import StorageFailed
from ai_lessons.index.model_files import PINNED, ModelSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path


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
"""What onnxruntime and fastembed raise for files that are missing or damaged, or a hub that does not answer."""

LONGEST = 20_000  # Characters of a text that are looked at
TOKENS = 512  # Tokens that the model reads


class Embedder(Protocol):
    """Texts to vectors of one model. Vectors of different names are never compared; `dimensions` is their length."""

    name: str
    dimensions: int

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


def in_batches(texts: Sequence[str], together: Callable[[list[str]], Iterable[Vector]]) -> Iterator[Vector]:
    """Vectors in the order of the texts, which go through the model `together` in batches, cut where they are long."""
    cut = [text[:LONGEST] for text in texts]
    vectors: dict[int, Vector] = {}
    for group in batches([len(text) for text in cut]):
        vectors.update(zip(group, together([cut[n] for n in group]), strict=True))
    yield from (vectors[n] for n in range(len(cut)))


class PinnedEmbedder:
    """The model in memory. Deterministic for texts of ALONE characters and more.

    Vectors of shorter ones depend a little on the texts beside them (cosine 0.997), because a quantised model
    scales its activations by batch.
    """

    def __init__(self, spec: ModelSpec, session: onnxruntime.InferenceSession, tokenizer: Tokenizer) -> None:
        self.name, self.dimensions = spec.name, spec.dimensions
        self._session, self._tokenizer = session, tokenizer

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        """Vectors of passages, in the order of the texts; computed when the first is asked for."""
        return in_batches(texts, self._together)

    def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        return next(self.embed([BGE_QUERY + text]))

    def _together(self, texts: list[str]) -> NDArray[np.float32]:
        """One batch: the vector of the first token, at length 1."""
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([one.ids for one in encoded], dtype=np.int64)
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        first: NDArray[np.float32] = self._session.run(None, given)[0][:, 0]
        norms = np.linalg.norm(first, axis=1, keepdims=True)
        vectors: NDArray[np.float32] = (first / np.maximum(norms, 1e-12)).astype(np.float32, copy=False)
        return vectors


def load_pinned(folder: Path, *, threads: int | None = None, spec: ModelSpec = PINNED) -> PinnedEmbedder:
    """The pinned model from its folder, in about 0.15 s. `threads` None: all cores.

    Raises StorageFailed: the files are there but cannot be loaded.
    """
    options = onnxruntime.SessionOptions()
    # the same vectors as with all optimisations, and 15 ms less to load
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    # else its threads turn in circles for 50 ms after every question, on the cores that the search itself needs
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if threads is not None:
        options.intra_op_num_threads = options.inter_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(
            str(folder / spec.files[0].name), options, providers=["CPUExecutionProvider"]
        )
        # a damaged file would be a bare Exception; `model_files` has compared its hash
        tokenizer = Tokenizer.from_str((folder / "tokenizer.json").read_text("utf-8"))
    except LOAD_ERRORS as error:
        raise StorageFailed(f"the embedding model cannot be loaded: {error}") from error
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")  # noqa: S106 - no password
    return PinnedEmbedder(spec, session, tokenizer)
