"""A cross-encoder that reads question and passage together. Home of fastembed's rerankers: import it only for one.

None is pinned and none comes along: the user names one that fastembed knows, or a folder that holds one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from fastembed.common.model_description import ModelSource
from fastembed.rerank.cross_encoder import TextCrossEncoder
from loguru import logger

from ai_lessons.errors import UsageError
from ai_lessons.index.model_files import ModelUnavailable
from ai_lessons.index.model_sources import hub_silence
from ai_lessons.index.pinned import LOAD_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEFAULT = "Xenova/ms-marco-MiniLM-L-6-v2"
MODEL_FILES = ("model.onnx", "model_quantized.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")
LONGEST = 4000
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
        logits = np.fromiter(self._model.rerank(question, [text[:LONGEST] for text in texts], AT_ONCE), dtype=float)
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
