"""A question to an index in a bucket, against the same index in a folder, in turn in one process.

`python -m bench.bucket s3://BUCKET/PATH [--rows 1000000]` makes an index of that many passages with random words and
vectors (of the model's size), copies its files into the bucket, and asks both. Credentials and endpoint come from the
environment, as for `admin index` (`AWS_ENDPOINT_URL`, …). An S3 on this machine for few rows: `moto_server -p 9000`,
which reads a whole object for each part of it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import boto3  # type: ignore[import-untyped]  # no stubs
import numpy as np
from boto3.s3.transfer import TransferConfig  # type: ignore[import-untyped]  # no stubs

from ai_lessons.model.entries import Filter
from ai_lessons.search.index import Index
from ai_lessons.search.index_tables import Tables
from ai_lessons.search.missing_vectors import VectorCache
from ai_lessons.search.model_files import PINNED
from ai_lessons.search.rows import Row
from ai_lessons.search.table import KEEP_VERSIONS, made_with
from bench.harness import machine, number, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.search.embedding import Vector

ROWS, QUESTIONS, AT_ONCE = 1_000_000, 60, 10_000
# Few words stand in many passages, as in any language
WORDS, SKEW = 50_000, 1.1


class Directions:
    """In place of the model: each question has a direction of its own, at no cost."""

    name, dimensions = PINNED.name, PINNED.dimensions

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        """No passage lacks a vector."""
        raise NotImplementedError(f"{len(texts)} texts")

    def embed_query(self, text: str) -> Vector:
        """A random direction, the same for the same question."""
        numbers = np.random.default_rng(list(text.encode()))
        return numbers.standard_normal(self.dimensions).astype(np.float32)

    def reads(self, text: str) -> float:
        """All of it."""
        return float(bool(text))


def words(numbers: np.random.Generator, count: int) -> list[str]:
    """Words of our own, the frequent ones short."""
    ranks = np.minimum(numbers.zipf(SKEW, count), WORDS)
    return [f"word{rank:x}" for rank in ranks]


def rows_of(numbers: np.random.Generator, begin: int, count: int) -> Iterator[Row]:
    """Passages of 20 words."""
    drawn = words(numbers, 20 * count)
    for n in range(count):
        text = " ".join(drawn[20 * n : 20 * n + 20])
        name = f"{begin + n:09}"
        yield Row(
            f"{name}:0", name, 0, 0, "doc", "bench", (), (), "active", name, "", text, text, "", name, name
        )  # fmt: skip


def build(folder: Path, count: int) -> None:
    """The index in a folder, as the product stores it."""
    numbers = np.random.default_rng(7)
    made = Tables(str(folder)).begin(made_with(Directions.name, Directions.dimensions))
    width = 2 * Directions.dimensions
    for begin in range(0, count, AT_ONCE):
        rows = list(rows_of(numbers, begin, min(AT_ONCE, count - begin)))
        vectors = numbers.standard_normal((len(rows), Directions.dimensions), dtype=np.float32)
        packed = vectors.astype("<f2").tobytes()
        made.add(
            rows, {row.text_key: packed[n * width : (n + 1) * width] for n, row in enumerate(rows)}
        )
    made.finish()
    # what the last version does not need is kept for a minute
    time.sleep(KEEP_VERSIONS.total_seconds() + 1)
    made.tidy(thorough=True)


def copy(folder: Path, uri: str) -> None:
    """The same files in the bucket: what makes an index is the same work wherever it lies."""
    place = urlsplit(uri)
    # in one piece each: some servers take no parts
    whole = TransferConfig(multipart_threshold=5 << 30)
    bucket = boto3.client("s3", region_name=os.environ.get("AWS_REGION"))
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            key = f"{place.path.strip('/')}/{file.relative_to(folder).as_posix()}"
            bucket.upload_file(str(file), place.netloc, key, Config=whole)


def opened(uri: str, state: Path) -> Index:
    """An index that is asked as a search does."""
    cache = VectorCache(state / "vectors.sqlite")
    return Index(
        uri, state, cache, model=Directions.name, dimensions=Directions.dimensions, embedder=lambda _: Directions()
    )  # fmt: skip


def ask(index: Index, question: str) -> float:
    """Seconds of wall time until the best passages are there."""
    began = time.perf_counter()
    candidates = index.candidates(question, Filter(), 60)
    assert candidates.vectors, "no answer by vector"
    return time.perf_counter() - began


def main() -> None:
    """Build, copy, ask in turn, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "bucket", metavar="URI", help="where nothing lies yet, such as s3://bucket/bench"
    )
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    asked = parser.parse_args()
    print(machine(), flush=True)
    work = Path(tempfile.mkdtemp(prefix="bucket-"))
    try:
        began = time.perf_counter()
        build(work / "index", asked.rows)
        built = time.perf_counter() - began
        size = sum(file.stat().st_size for file in (work / "index").rglob("*") if file.is_file())
        print(f"{asked.rows:,} passages, {size / 1e6:,.0f} MB, made in {built:,.0f} s", flush=True)
        copy(work / "index", asked.bucket)
        print(f"copied in {time.perf_counter() - began - built:,.0f} s", flush=True)
        indexes = {
            "folder": opened(str(work / "index"), work / "a"),
            "bucket": opened(asked.bucket, work / "b"),
        }
        dice, seconds = Random(7), {name: list[float]() for name in indexes}
        numbers = np.random.default_rng(dice.randrange(1 << 30))
        for _ in range(asked.questions + 2):
            question = " ".join(words(numbers, 5))
            for name, index in indexes.items():
                seconds[name].append(ask(index, question))
        report(asked.rows, seconds)
    finally:
        shutil.rmtree(work)


def report(rows: int, seconds: dict[str, list[float]]) -> None:
    """The first question, the second, and p50 and p95 of those that follow."""
    lines = []
    folder, bucket = seconds["folder"], seconds["bucket"]
    lines.append(["first question", *map(number, (folder[0], bucket[0], bucket[0] / folder[0]))])
    lines.append(["second question", *map(number, (folder[1], bucket[1], bucket[1] / folder[1]))])
    cuts = {name: quantiles(taken[2:], n=20, method="inclusive") for name, taken in seconds.items()}
    for label, cut in (("p50", 9), ("p95", 18)):
        here, there = cuts["folder"][cut], cuts["bucket"][cut]
        lines.append([f"{label} of {len(folder) - 2}", *map(number, (here, there, there / here))])
    print(
        table(f"a question to {rows:,} passages, wall s", ["", "folder", "bucket", "ratio"], lines)
    )


if __name__ == "__main__":
    main()
