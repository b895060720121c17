"""The embedding model on this machine: whether it is here, and getting it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ai_lessons.index import model_files
from ai_lessons.index.model_sources import PINNED
from ai_lessons.knowledge.config import DEFAULT_MODEL
from ai_lessons.library.reports import ModelState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ai_lessons.index.embedding import Embedder, Vector
    from ai_lessons.index.model_files import ModelFolder
    from ai_lessons.library.open_repository import OpenRepository
    from ai_lessons.library.options import Options


def model_status(repo: OpenRepository) -> ModelState:
    """Whether the embedding model is on this machine, and from where. Asks no network."""
    name, options = repo.reading_config.model, repo.options
    if name != DEFAULT_MODEL:
        return ModelState(name, present=True, path=None, source="fastembed, by name")
    return _state(name, model_files.find(options.cache_dir, options.model_dir))


def model_pull(repo: OpenRepository) -> ModelState:
    """Get the embedding model now, whatever failed before. Raises Unreachable: no source has it."""
    options, status = repo.options, model_status(repo)
    if status.present:
        return status
    folder = model_files.pull(
        options.cache_dir, options.model_dir, offline=options.offline, again=True, progress=options.progress
    )
    return _state(status.name, folder)


def _state(name: str, folder: ModelFolder | None) -> ModelState:
    return ModelState(name, folder is not None, str(folder.path) if folder else None, folder.source if folder else None)


class Embedders:
    """Embedders by name, each loaded once; `threads` of each (None: all cores); `before` every passage."""

    def __init__(
        self, options: Options, *, threads: int | None = None, before: Callable[[], None] | None = None
    ) -> None:
        self._options, self._threads, self._before = options, threads, before
        self._loaded: dict[str, Embedder] = {}

    def embedder(self, name: str) -> Embedder:
        """The model called so. Raises ModelUnavailable: it is not on this machine and cannot be fetched."""
        if name not in self._loaded:
            self._loaded[name] = _Remembering(self._load(name), self._before)
        return self._loaded[name]

    def _load(self, name: str) -> Embedder:
        options, folder = self._options, None
        if name == PINNED.name:
            folder = model_files.pull(
                options.cache_dir, options.model_dir, offline=options.offline, progress=options.progress
            )
        from ai_lessons.index.embedding import load_named, load_pinned

        if folder:
            return load_pinned(folder.path, threads=self._threads)
        return load_named(name, options.cache_dir, threads=self._threads, offline=options.offline)


class _Remembering:
    """An embedder that keeps the vector of the last question: each repository asks for it."""

    def __init__(self, model: Embedder, before: Callable[[], None] | None) -> None:
        self.name, self.dimensions, self._model, self._before = model.name, model.dimensions, model, before
        self.embed_query = lru_cache(maxsize=1)(model.embed_query)

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        """Vectors of passages, in the order of the texts."""
        if self._before is None:
            yield from self._model.embed(texts)
            return
        for text in texts:
            self._before()
            yield from self._model.embed([text])
