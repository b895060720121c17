"""Vectors that other clones computed: which packs are believed, and what of them is of use here."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from ai_lessons.search.pack_files import MOST_BYTES, MOST_PACKS, Judgements
from ai_lessons.search.vector_packs import PACK_BYTES, PackDamaged, read_pack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.search.embedding import Embedder
    from ai_lessons.search.pack_files import PackFile, PackSource
    from ai_lessons.search.vector_packs import VectorPack

    Texts = Callable[[Sequence[str]], Mapping[str, str]]

# Passages of a pack that are computed here before it is believed: a third of a second.
SAMPLE = 8


class SharedVectors:
    """What packs hold of the vectors that are missing here. Nothing else is taken out of a pack."""

    def __init__(self, source: PackSource, judgements: Path, model: str, dimensions: int) -> None:
        self._source, self._path = source, judgements
        self._model, self._dimensions = model, dimensions
        self._looked: tuple[str, frozenset[str]] = "", frozenset()

    def size(self) -> int:
        """The bytes of all packs that came."""
        if not self._source.state():
            return 0
        return sum(max(pack.size, 0) for pack in self._source.files())

    def left(self) -> dict[str, str]:
        """The packs that are left, and why."""
        return Judgements(self._path).left()

    def take(
        self, missing: Iterable[str], texts: Texts, embedder: Callable[[], Embedder | None]
    ) -> Iterator[dict[str, bytes]]:
        """The vectors of these keys that packs hold, pack by pack.

        `texts` gives what was embedded, by key.

        A pack that was never judged is, first: a sample of what it says of our texts is computed
        here. Where there is no embedder, it waits.
        """
        state, asked = self._source.state(), frozenset(missing)
        if not state or not asked or self._looked == (state, asked):
            return
        judgements = Judgements(self._path)
        for file in self._files_to_read(judgements):
            pack = self._opened(file, judgements)
            if pack:
                vectors = pack.find(asked)
            else:
                vectors = {}
            if (
                pack
                and vectors
                and self._is_believed(file, pack, vectors, texts, embedder, judgements)
            ):
                yield vectors
                asked -= vectors.keys()
        self._looked = state, asked

    def _files_to_read(self, judgements: Judgements) -> Iterator[PackFile]:
        """The packs that are not left already; what must not be read is left now."""
        files, read = list(self._source.files()), 0
        judgements.keep_only(pack.id for pack in files)
        for number, file in enumerate(files):
            read += max(file.size, 0)
            if judgements.of(file.id):
                continue
            if file.size < 0:
                reason = (
                    "it is not here (a partial clone): git fetch --refetch --no-filter brings it"
                )
            elif file.size > PACK_BYTES:
                reason = f"it has {file.size:,} bytes, and a pack has at most {PACK_BYTES:,}"
            elif number >= MOST_PACKS or read > MOST_BYTES:
                reason = (
                    f"more than {MOST_PACKS} packs or {MOST_BYTES >> 20:,} MB are not looked at"
                )
            else:
                yield file
                continue
            judgements.note(file.id, reason)

    def _opened(self, file: PackFile, judgements: Judgements) -> VectorPack | None:
        """A pack of our model; None where it is left."""
        try:
            pack = read_pack(self._source.read(file))
        except PackDamaged as error:
            judgements.note(file.id, error.message)
            return None
        if (pack.model, pack.dimensions) != (self._model, self._dimensions):
            what = f"it is of the model {pack.model} ({pack.dimensions} dimensions), not of {self._model}"
            judgements.note(file.id, what)
            return None
        return pack

    @staticmethod
    def _is_believed(
        file: PackFile,
        pack: VectorPack,
        vectors: Mapping[str, bytes],
        texts: Texts,
        embedder: Callable[[], Embedder | None],
        judgements: Judgements,
    ) -> bool:
        """Whether a sample of these vectors is what is computed here.

        Looked at until a whole sample was.
        """
        if judgements.of(file.id) is not None:
            return True
        model = embedder()
        if model is None:
            return False
        # by chance: who makes a pack must not know which of its vectors are looked at
        names = random.SystemRandom().sample(sorted(vectors), min(SAMPLE, len(vectors)))
        compared = texts(names)
        different = sum(not is_alike(vectors[name], text, model) for name, text in compared.items())
        if different:
            judgements.note(
                file.id,
                f"{different} of {len(compared)} vectors in it are not what is computed here",
            )
        elif len(compared) >= min(SAMPLE, len(pack)):
            judgements.note(file.id, "")
        return bool(compared) and not different


def is_alike(vector: bytes, text: str, model: Embedder) -> bool:
    """Whether a vector (packed as in the cache) is what a model makes of a text."""
    return _are_alike(np.frombuffer(vector, dtype="<f2"), next(iter(model.embed([text]))))


def differing(vectors: Mapping[str, bytes], ours: Mapping[str, bytes]) -> int:
    """How many of these vectors (packed as in the cache) are not those that are ours, by key."""
    pairs = ((vectors[key], ours[key]) for key in vectors.keys() & ours.keys())
    return sum(
        not _are_alike(*(np.frombuffer(vector, dtype="<f2") for vector in pair)) for pair in pairs
    )


def _are_alike(left: Any, right: Any) -> bool:
    left, right = left.astype(np.float32), right.astype(np.float32)
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    # Cosine from which on a vector of a pack is the one that is computed here. 8 bits cost 0.0001,
    # and the batch that a text goes through 0.006 (docs/decisions.md, 5); the vector of another
    # passage is mostly below 0.75.
    return left.shape == right.shape and float(left @ right) >= 0.9 * lengths
