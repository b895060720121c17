"""A catalog in memory and an index on it, for the tests of the index; also run as a program by those with children."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from ai_lessons.model.chunks import Passage
from ai_lessons.model.entries import Filter
from ai_lessons.search.embedding import Embedder
from ai_lessons.search.index import Index
from ai_lessons.search.index_tables import Tables
from ai_lessons.search.missing_vectors import VectorCache
from ai_lessons.search.rows import EntryRows, IndexRefresh
from ai_lessons.search.table import Passages
from hash_embedder import DIMENSIONS, HashEmbedder


def entry(name: str, *texts: str, mark: str = "1", **metadata: object) -> EntryRows:
    passages = tuple(
        Passage(n, f"Part {n}" if n else "", text, 0, 0) for n, text in enumerate(texts)
    )
    stated = {"kind": "doc", "project": "global", "title": f"Title of {name}", **metadata}
    return EntryRows(name, f"{mark}|{stated}|{texts}", passages=passages, **stated)  # type: ignore[arg-type]


@dataclass
class World:
    """Entries by id, and an index that follows them."""

    folder: Path
    embedder: HashEmbedder = field(default_factory=HashEmbedder)
    make: Callable[[str], Embedder] | None = None
    other: HashEmbedder = field(default_factory=lambda: HashEmbedder("other"))
    entries: dict[str, EntryRows] = field(default_factory=dict)
    loaded: list[str] = field(default_factory=list)
    generation: int = 0
    model: str = "hash"
    dimensions: int = DIMENSIONS
    order: Callable[[], Sequence[str]] = tuple
    at_hand: Callable[[str], bool] = lambda _: True

    def __post_init__(self) -> None:
        self.vectors = VectorCache(self.folder / "cache" / "vectors.sqlite")
        self.index = self.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.vectors.close()

    def open(self) -> Index:
        return Index(
            self.folder / "index", self.folder / "state", self.vectors, model=self.model, dimensions=self.dimensions,
            embedder=self.make or self._embedder, order=self.order, at_hand=self.at_hand,
        )  # fmt: skip

    def _embedder(self, name: str) -> Embedder:
        return self.embedder if name == self.embedder.name else self.other

    def put(self, *entries: EntryRows) -> Self:
        self.entries |= {one.id: one for one in entries}
        self.generation += 1
        return self

    def remove(self, *names: str) -> None:
        for name in names:
            del self.entries[name]
        self.generation += 1

    def newest(self) -> Passages:
        """The table that is asked."""
        found = Tables(str(self.folder / "index")).newest()
        assert found is not None
        return found

    def load(self, ids: Sequence[str]) -> Iterable[EntryRows]:
        self.loaded += ids
        return [self.entries[name] for name in ids if name in self.entries]

    def fingerprints(self) -> dict[str, str]:
        return {name: one.fingerprint for name, one in self.entries.items()}

    def refresh(self, index: Index | None = None, **options: object) -> IndexRefresh:
        self.loaded.clear()
        target = index or self.index
        return target.refresh(str(self.generation), self.fingerprints, self.load, **options)  # type: ignore[arg-type]

    def found(self, text: str, wanted: Filter | None = None) -> list[str]:
        """Ids by full text, best first, each once."""
        return list(dict.fromkeys(hit.entry_id for hit in self.index.candidates(text, wanted).text))

    def near(self, text: str, wanted: Filter | None = None) -> list[str]:
        """Ids by vector, best first, each once."""
        return list(
            dict.fromkeys(hit.entry_id for hit in self.index.candidates(text, wanted).vectors)
        )


def many(count: int, mark: str = "1") -> list[EntryRows]:
    return [
        entry(f"e{n:05}", f"number {n} says word{n} and {mark}", f"again word{n}", mark=mark)
        for n in range(count)
    ]


def main(folder: str, mark: str, count: str, pause: str) -> None:
    """Child: bring an index to `count` entries of this mark."""
    world = World(Path(folder))
    world.put(*many(int(count), mark))
    embed = world.embedder.embed

    def slowly(texts: Sequence[str]) -> object:
        time.sleep(float(pause))
        return embed(texts)

    world.embedder.embed = slowly  # type: ignore[method-assign, assignment]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    with world:
        done = world.index.refresh(mark, world.fingerprints, world.load, wait=30)
    sys.stdout.write(f"{done}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
