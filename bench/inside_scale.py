"""The child of `bench.scale`: makes an index of any size with mixed vectors and asks it. Prints one line of JSON."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, NamedTuple

import boto3  # type: ignore[import-untyped]  # comes with moto, has no types
import lancedb
import numpy as np

from ai_lessons.model.chunks import Passage
from ai_lessons.search.embedding import load_pinned
from ai_lessons.search.index import Index, Tables, VectorCache, pack
from ai_lessons.search.ranking import EntryRows, fuse
from ai_lessons.search.table import VECTOR_INDEX, rows_of
from bench import corpora

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ai_lessons.search.embedding import Embedder, Vector
    from ai_lessons.search.table import Passages

PER_ENTRY = 5
QUESTIONS = 200
CENTRES = 400
"""Texts that are embedded where no cache of real vectors is given."""

SETS = ("tldr_nl2bash", "til_jb", "cranfield", "cacm")
PASSAGE = 1000
"""Characters of a passage, about 256 tokens."""

PLAIN = 200_000
"""Passages up to which LanceDB's own search is measured beside ours: it reads every vector, and a copy is made."""

LOOKS = 20
QUIET_QUESTIONS = 20


class Material(NamedTuple):
    """Texts to make passages of, questions, and real vectors of shape (any number, dimensions)."""

    texts: list[str]
    questions: list[str]
    vectors: NDArray[np.float32]


class Instant:
    """The real model for questions; passages get a mixed vector at once."""

    name, dimensions = "bge-small-en-v1.5-int8", 384

    def __init__(self, model: Embedder, mixed: Iterator[Vector]) -> None:
        self._model, self._mixed = model, mixed

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        """Mixed vectors, one for each text."""
        return (next(self._mixed) for _ in texts)

    def embed_query(self, text: str) -> Vector:
        """The question's real vector."""
        return self._model.embed_query(text)

    def reads(self, text: str) -> float:
        """How much of the question the real model has words for."""
        return self._model.reads(text)


def material(model: Embedder, data: str, cache: str) -> Material:
    dice = random.Random(corpora.SEED)
    if data:
        judged = [corpora.judged(Path(data) / name) for name in SETS if (Path(data) / name).is_dir()]
        texts = [text[:PASSAGE] for one in judged for _, _, text in one.documents]
        questions = [text for one in judged for text in one.queries.values()]
        dice.shuffle(questions)
    else:
        texts = [" ".join(corpora.sentence(dice) for _ in range(14)) for _ in range(5000)]
        questions = [f"why {corpora.sentence(dice)}" for _ in range(QUESTIONS)]
    if cache:
        with sqlite3.connect(f"file:{cache}?mode=ro", uri=True) as connection:
            packed = [row[0] for row in connection.execute("SELECT vector FROM vectors") if len(row[0]) == 768]
        real = np.frombuffer(b"".join(packed), dtype="<f2").reshape(len(packed), 384).astype(np.float32)
    else:
        real = np.stack(list(model.embed(dice.sample(texts, CENTRES))))
    return Material(texts, questions[:QUESTIONS], real)


def mixed(real: NDArray[np.float32]) -> Iterator[Vector]:
    """First the real vectors; then ones that lie between two of them, with noise, all of length 1."""
    chance = np.random.default_rng(corpora.SEED)
    yield from chance.permutation(real)
    while True:
        a, b = real[chance.integers(0, len(real), 2)]
        vector = 0.8 * a + 0.4 * b + chance.standard_normal(len(a)).astype(np.float32) * 0.01
        yield (vector / np.linalg.norm(vector)).astype(np.float32)


class Catalog:
    """The entries that the index follows."""

    def __init__(self, found: Material, size: int) -> None:
        self._texts, self.generation = found.texts, 0
        self.marks = {f"e{n:06}": 0 for n in range(size // PER_ENTRY)}

    def entry(self, name: str) -> EntryRows:
        """One entry with its passages as they are now."""
        first = int(name[1:]) * PER_ENTRY
        mark = self.marks[name]
        texts = (self._texts[(first + n) % len(self._texts)] for n in range(PER_ENTRY))
        passages = [Passage(n, f"Part {n}", f"{text}\nedit{mark} of {name}", 0, 0) for n, text in enumerate(texts)]
        return EntryRows(name, f"{mark}", "doc", f"p{first % 20}", f"Notes {name}", passages=passages)

    def fingerprints(self) -> dict[str, str]:
        """How often each entry was edited."""
        return {name: f"{mark}" for name, mark in self.marks.items()}

    def load(self, names: Iterable[str]) -> Iterator[EntryRows]:
        """What the index asks for."""
        return map(self.entry, names)

    def edit(self, name: str) -> None:
        """Change the text of one entry."""
        self.marks[name] += 1
        self.generation += 1


class Place:
    """An index in a folder, with its vectors remembered before it is made."""

    def __init__(self, folder: Path, catalog: Catalog, embedder: Embedder) -> None:
        self.folder, self.catalog, self.embedder = folder, catalog, embedder
        shutil.rmtree(folder, ignore_errors=True)
        self.vectors = VectorCache(folder / "vectors.sqlite")
        for name in catalog.marks:
            keys = [row.text_key for row in rows_of(catalog.entry(name), embedder.name)]
            self.vectors.put((key, pack(vector)) for key, vector in zip(keys, embedder.embed(keys), strict=True))
        self.index = Index(
            folder / "index", folder / "state", self.vectors,
            model=embedder.name, dimensions=embedder.dimensions, embedder=lambda _: embedder,
        )  # fmt: skip

    def refresh(self) -> None:
        """Bring the index up to date, every vector with it."""
        catalog = self.catalog
        done = self.index.refresh(str(catalog.generation), catalog.fingerprints, catalog.load)
        assert not done.missing, done

    def search(self, question: str) -> None:
        """Both halves and their fusion; an empty answer would measure nothing."""
        found = self.index.candidates(question)
        assert fuse(found.text, found.vectors, found.depth)

    def passages(self) -> Passages:
        """The table in use, opened apart."""
        newest = Tables(str(self.folder / "index")).newest()
        assert newest is not None
        return newest


def times(job: Callable[[str], object], questions: Sequence[str]) -> list[float]:
    """Milliseconds that each question took, the first few left out."""
    for question in questions[:5]:
        job(question)
    taken = []
    for question in questions:
        start = time.perf_counter()
        job(question)
        taken.append((time.perf_counter() - start) * 1000)
    return taken


def ask(folder: Path, size: int, model: Embedder, found: Material, *, s3: bool) -> dict[str, float | str]:
    place = Place(folder, Catalog(found, size), Instant(model, mixed(found.vectors)))
    start = time.perf_counter()
    place.refresh()
    made = time.perf_counter() - start
    taken, embedding = times(place.search, found.questions), times(model.embed_query, found.questions)
    passages = place.passages()
    told = {
        "made": made,
        "index": "IVF_SQ" if passages.vectors_indexed() else "none",
        "p50": median(taken),
        "p95": quantiles(taken, n=20)[-1],
        "embedding": median(embedding),
        # before every vector is read to count the recall, which no search does
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "recall": recall(passages, [model.embed_query(question) for question in found.questions]),
    }
    if s3 and size <= PLAIN:  # of larger files the local server reads the whole for each range, which takes 20 s
        told |= from_storage(place, found.questions[:QUIET_QUESTIONS])
    if size > PLAIN:
        return told
    plain = plain_times(folder, place, model, found.questions)
    return told | {"plain p50": median(plain), "plain p95": quantiles(plain, n=20)[-1]}


@contextmanager
def storage() -> Iterator[str]:
    """A server on this machine that speaks S3, in a process of its own; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    keys = {
        "ENDPOINT_URL": address, "ALLOW_HTTP": "true", "REGION": "us-east-1", "ACCESS_KEY_ID": "somebody",
        "SECRET_ACCESS_KEY": "something",
    }  # fmt: skip
    os.environ.update({f"AWS_{name}": value for name, value in keys.items()})
    try:
        for _ in range(300):
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            time.sleep(0.1)
        yield address
    finally:
        server.kill()
        server.wait()


def from_storage(place: Place, questions: list[str]) -> dict[str, float]:
    """The same questions to the same index, read where it lies in object storage, with no copy here."""
    with storage() as address:
        bucket = boto3.client("s3", endpoint_url=address, region_name="us-east-1")
        bucket.create_bucket(Bucket="scale")
        for file in (place.folder / "index").rglob("*"):
            if file.is_file():
                bucket.upload_file(str(file), "scale", file.relative_to(place.folder).as_posix())
        away = Index(
            "s3://scale/index", place.folder / "away", place.vectors,
            model=place.embedder.name, dimensions=place.embedder.dimensions, embedder=lambda _: place.embedder,
        )  # fmt: skip

        def job(question: str) -> None:
            away.read_only_state(str(place.catalog.generation), place.catalog.fingerprints)
            found = away.candidates(question)
            assert fuse(found.text, found.vectors, found.depth)

        taken = times(job, questions)
    return {"s3 p50": median(taken), "s3 p95": quantiles(taken, n=20)[-1]}


def recall(passages: Passages, vectors: list[Vector]) -> float:
    """Share of the ten nearest that the index finds, mean over the questions."""
    shares = []
    for vector in vectors:
        asked = [float(x) for x in vector]
        exact, ours = (
            {(hit.entry_id, hit.ordinal) for hit in passages.by_vector(asked, "", 100, exact=exactly)[:10]}
            for exactly in (True, False)
        )
        shares.append(len(exact & ours) / len(exact))
    return sum(shares) / len(shares)


def plain_times(folder: Path, place: Place, model: Embedder, questions: list[str]) -> list[float]:
    """LanceDB's own hybrid search over the same rows, as its documentation begins: no index of vectors."""
    source = lancedb.connect(folder / "index").open_table(f"passages_{place.passages().number}")
    plain = lancedb.connect(folder / "plain").create_table("plain", source.to_arrow())
    plain.create_index("text", config=lancedb.index.FTS())
    assert VECTOR_INDEX not in {index.name for index in plain.list_indices()}

    def job(question: str) -> object:
        words = " ".join("".join(c if c.isalnum() else " " for c in question).split())
        search = plain.search(query_type="hybrid").vector(model.embed_query(question)).text(words)
        return search.limit(10).to_list()

    return times(job, questions)


def edit(folder: Path, size: int, model: Embedder, found: Material, count: int) -> dict[str, float | str]:
    instant = Instant(model, mixed(found.vectors))
    fresh = Place(folder / "fresh", Catalog(found, size), instant)
    fresh.refresh()
    edited = Place(folder / "edited", Catalog(found, size), instant)
    edited.refresh()
    names, taken, looks = list(edited.catalog.marks), [], []
    for n in range(count):
        edited.catalog.edit(names[n * 7 % len(names)])
        start = time.perf_counter()
        edited.refresh()
        taken.append((time.perf_counter() - start) * 1000)
        if (n + 1) % max(1, count // LOOKS - 1) == 0:  # not at one and the same place between two tidyings
            looks.append(in_turn(edited, fresh, found.questions[: 2 * QUIET_QUESTIONS]))
    fresh = Place(folder / "fresh", edited.catalog, instant)
    fresh.refresh()
    looks.append(in_turn(edited, fresh, found.questions))
    files = [file for file in (folder / "edited" / "index").rglob("*") if file.is_file()]
    fresh_files = [file for file in (folder / "fresh" / "index").rglob("*") if file.is_file()]
    worst = max(looks, key=lambda look: look[2])
    return {
        "edit p50": median(taken), "edit max": max(taken), "edited": looks[-1][0], "fresh": looks[-1][1],
        "ratio": looks[-1][2], "worst": worst[0], "worst ratio": worst[2], "files": len(files),
        "bytes": megabytes(files), "fresh bytes": megabytes(fresh_files),
    }  # fmt: skip


def in_turn(one: Place, other: Place, questions: list[str]) -> tuple[float, float, float]:
    """Medians of both in milliseconds of CPU, each question put to both by turns; and the median of the ratios."""
    pairs = []
    for n, question in enumerate([*questions[:5], *questions]):
        spent = []
        for place in (one, other):
            start = time.process_time()
            place.search(question)
            spent.append((time.process_time() - start) * 1000)
        if n >= 5:
            pairs.append(spent)
    return median(a for a, _ in pairs), median(b for _, b in pairs), median(a / b for a, b in pairs)


def megabytes(files: list[Path]) -> str:
    return f"{sum(file.stat().st_size for file in files) / 1e6:.0f} MB"


def main() -> None:
    """`ask` or `edit`, FOLDER SIZE MODEL DATA CACHE, and for `edit` how often, for `ask` perhaps `s3`."""
    what, folder, size, model_folder, data, cache, *more = sys.argv[1:]
    model = load_pinned(Path(model_folder))
    found = material(model, data, cache)
    told = (
        ask(Path(folder), int(size), model, found, s3=bool(more))
        if what == "ask"
        else edit(Path(folder), int(size), model, found, int(more[0]))
    )
    print(json.dumps(told))


if __name__ == "__main__":
    main()
