"""Turns texts into vectors with any model that fastembed knows. Home of fastembed; the pinned model is in `pinned`.

Does not look for model files (`model_files`), does not remember vectors (`vectors`).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource
from fastembed.rerank.cross_encoder import TextCrossEncoder
from loguru import logger

from ai_lessons.errors import UsageError
from ai_lessons.index.model_files import PINNED, ModelUnavailable, recent_failure, remember_failure
from ai_lessons.index.model_sources import hub_silence
from ai_lessons.index.pinned import BGE_QUERY, LOAD_ERRORS, LONGEST, batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.index.pinned import Vector


class FastEmbedder:
    """A model loaded by fastembed."""

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


def load_named(name: str, cache_dir: Path, *, threads: int | None = None, offline: bool = False) -> FastEmbedder:
    """Any other model that fastembed knows, from `cache_dir`, or downloaded there by fastembed (which may take long).

    A hub that does not answer costs a few seconds, and a failure is remembered for ten minutes.

    Raises:
        UsageError: fastembed has no such model; ModelUnavailable: it is neither here nor to be had.
    """
    logger.disable("fastembed")  # what it would print on standard error is in our own error
    dimensions = dimensions_of(name)
    prefix = BGE_QUERY if "/bge-" in name.lower() and "-en" in name.lower() else ""
    folder = str(cache_dir / "fastembed")
    tried: list[tuple[str, str]] = []
    stamp = cache_dir / "fastembed" / f"{name.replace('/', '--')}.unavailable.json"
    for source, local in (("cache", True), ("model hub", False)):
        if not local and (remembered := recent_failure(stamp, time.time())):
            raise ModelUnavailable(name, remembered, hint="it is tried again ten minutes after the last time")
        if not local and offline:
            tried.append((source, "offline as asked for"))
            continue
        if not local and (silence := hub_silence()):
            tried.append((source, silence))
            continue
        try:
            model = TextEmbedding(name, cache_dir=folder, threads=threads, local_files_only=local)
        except LOAD_ERRORS as error:
            tried.append((source, str(error).splitlines()[0][:200] if str(error) else type(error).__name__))
        else:
            return FastEmbedder(name, dimensions, model, prefix)
    if not offline:
        remember_failure(stamp, tried, time.time())
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


DEFAULT = "Xenova/ms-marco-MiniLM-L-6-v2"
MODEL_FILES = ("model.onnx", "model_quantized.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")
LONGEST_PASSAGE = 4000
"""Characters of a passage that are looked at; the models read 512 tokens with the question."""

HUB = "model hub"

AT_ONCE = 4
"""Pairs at once: padding costs more than a batch gains, as with embedding."""

HINT = "search without --rerank, or name a folder with the model: reranker in config.toml, or AI_LESSONS_RERANKER"


class Reranker(Protocol):
    """Says how well passages answer a question."""

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, 0 to 1; higher is better."""
        ...


class FastReranker:
    """A model loaded by fastembed. What it gives are logits; their logistic function is the score."""

    def __init__(self, model: TextCrossEncoder) -> None:
        self._model = model

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, 0 to 1."""
        logits = np.fromiter(
            self._model.rerank(question, [text[:LONGEST_PASSAGE] for text in texts], AT_ONCE), dtype=float
        )
        return [float(x) for x in 1 / (1 + np.exp(-logits))]


def load_reranker(named: str, cache_dir: Path, *, offline: bool = False) -> FastReranker:
    """A reranker from a folder, the cache, or the model hub.

    Raises:
        UsageError: fastembed has none of that name and there is no such folder; ModelUnavailable: it cannot be had.
    """
    logger.disable("fastembed")  # what it would print on standard error is in our own error
    tried = []
    for source, load in _sources(named, cache_dir, offline=offline):
        if source == HUB and (silence := hub_silence()):
            tried.append((source, silence))
            continue
        try:
            return FastReranker(load())
        except LOAD_ERRORS as error:
            tried.append((source, str(error).splitlines()[0][:200] if str(error) else type(error).__name__))
    raise ModelUnavailable(named, tried or [("network", "offline as asked for")], hint=HINT)


class _Load(Protocol):
    def __call__(self) -> TextCrossEncoder: ...


def _sources(named: str, cache_dir: Path, *, offline: bool) -> Iterator[tuple[str, _Load]]:
    folder = Path(named)
    if folder.is_dir():
        yield "folder", lambda: _from_folder(folder)
        return
    if named.lower() not in {str(model["model"]).lower() for model in TextCrossEncoder.list_supported_models()}:
        raise UsageError(f"no reranker {named!r}", hint=f"a folder, or a name that fastembed lists, as {DEFAULT}")
    place = str(cache_dir / "fastembed")
    yield "cache", lambda: TextCrossEncoder(named, cache_dir=place, local_files_only=True)
    if not offline:
        yield HUB, lambda: TextCrossEncoder(named, cache_dir=place)


def _from_folder(folder: Path) -> TextCrossEncoder:
    file = next((name for name in MODEL_FILES if (folder / name).is_file()), None)
    if file is None:
        raise OSError(f"{folder} holds none of {', '.join(MODEL_FILES)}")
    name = f"ai-lessons/{folder.resolve()}/{file}"
    # fastembed keeps custom models in a registry of the process and refuses to take one twice.
    if name not in {str(model["model"]) for model in TextCrossEncoder.list_supported_models()}:
        TextCrossEncoder.add_custom_model(model=name, sources=ModelSource(url="local"), model_file=file)
    return TextCrossEncoder(name, specific_model_path=str(folder))
