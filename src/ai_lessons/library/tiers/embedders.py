"""The embedding models that this process has loaded: repositories that are searched together share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.index import model_files
from ai_lessons.index.model_files import PINNED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.index.pinned import Embedder, Vector
    from ai_lessons.library.options import Options


class Embedders:
    """Embedders by name, each loaded once."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._loaded: dict[str, Embedder] = {}

    def embedder(self, name: str) -> Embedder:
        """The model called so.

        Raises:
            ModelUnavailable: it is not on this machine and cannot be fetched.
        """
        if name not in self._loaded:
            self._loaded[name] = _Remembering(self._load(name))
        return self._loaded[name]

    def _load(self, name: str) -> Embedder:
        options = self._options
        if name != PINNED.name:
            from ai_lessons.index.embedding import load_named

            return load_named(name, options.cache_dir, offline=options.offline)
        found = model_files.pull(
            options.cache_dir, options.model_dir, offline=options.offline, progress=options.progress
        )
        from ai_lessons.index.pinned import load_pinned

        return load_pinned(found.path)


class _Remembering:
    """An embedder that keeps the vector of the last question: each repository asks for it."""

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self._asked: tuple[str, Vector] | None = None

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        return self._model.embed(texts)

    def embed_query(self, text: str) -> Vector:
        if self._asked is None or self._asked[0] != text:
            self._asked = text, self._model.embed_query(text)
        return self._asked[1]
