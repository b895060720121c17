"""Turns texts into vectors with any model that fastembed knows. Home of fastembed, of the extra `models`.

Importing it raises UsageError where that is not installed. The pinned model is in `pinned`.
"""

from __future__ import annotations

import time
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from ai_lessons.errors import NotFound, UsageError
from ai_lessons.index.model_files import ModelUnavailable, recent_failure, remember_failure
from ai_lessons.index.model_sources import first_line, hub_silence
from ai_lessons.index.pinned import BGE_QUERY, LOAD_ERRORS, LONGEST, Vector, in_batches
from ai_lessons.knowledge.config import DEFAULT_MODEL

try:
    from fastembed import TextEmbedding
    from loguru import logger
except ImportError as error:
    raise UsageError("only the pinned embedding model is installed", hint="pip install 'ai-lessons[models]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class FastEmbedder:
    """A model loaded by fastembed."""

    def __init__(self, name: str, dimensions: int, model: TextEmbedding, query_prefix: str = "") -> None:
        self.name, self.dimensions = name, dimensions
        self._model, self._prefix = model, query_prefix

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        """Vectors of passages, in the order of the texts; computed when the first is asked for."""
        return in_batches(
            texts,
            lambda cut: (one.astype(np.float32, copy=False) for one in self._model.embed(cut, batch_size=len(cut))),
        )

    def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        if self._prefix:
            return next(self.embed([self._prefix + text]))
        return next(iter(self._model.query_embed(text[:LONGEST]))).astype(np.float32, copy=False)


def load_named(name: str, cache_dir: Path, *, threads: int | None = None, offline: bool = False) -> FastEmbedder:
    """Any other model that fastembed knows, from `cache_dir`, or downloaded there by fastembed (which may take long).

    A hub that does not answer costs a few seconds, and a failure is remembered for ten minutes.

    Raises NotFound: fastembed has no such model; ModelUnavailable: it is neither here nor to be had.
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
        if not local and (silence := "offline as asked for" if offline else hub_silence()):
            tried.append((source, silence))
            continue
        try:
            model = TextEmbedding(name, cache_dir=folder, threads=threads, local_files_only=local)
        except LOAD_ERRORS as error:
            tried.append((source, first_line(error)))
        else:
            return FastEmbedder(name, dimensions, model, prefix)
    if not offline:
        remember_failure(stamp, tried, time.time())
    raise ModelUnavailable(name, tried)


def dimensions_of(name: str) -> int:
    """How long the vectors of a fastembed model are. Loads nothing. Raises NotFound: fastembed has no such model."""
    known = {str(model["model"]): int(model["dim"]) for model in TextEmbedding.list_supported_models()}
    for model, dimensions in known.items():
        if model.lower() == name.lower():
            return dimensions
    near = get_close_matches(name, known, 1)
    raise NotFound("embedding model", name, suggestions=[*near, DEFAULT_MODEL])
