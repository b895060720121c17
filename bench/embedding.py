"""Embedding throughput, ours against the raw loops of `raw_onnx`, over the same texts in one process.

`python -m bench.embedding MODEL_FOLDER THREADS ROUNDS TEXTS.json` prints JSON: tokens, and for every contestant the
[wall, CPU] seconds of each round. Every contestant keeps one loaded model; loading is not measured. What our embedder
remembers is left out: every round embeds every text.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.search.embedding import load_pinned
from bench.raw_onnx import RawModel

if TYPE_CHECKING:
    from collections.abc import Callable

WARM = 4
"""Texts that every contestant embeds before the clock runs."""


def contest(folder: Path, threads: int, rounds: int, texts: list[str]) -> dict[str, Any]:
    """Every contestant in turn, `rounds` times."""
    raw = RawModel(folder, threads)
    ours = load_pinned(folder, threads=threads)
    contestants: dict[str, Callable[[list[str]], object]] = {
        "raw, one text at a time": raw.one_by_one,
        "raw, 512 tokens a batch": raw.by_budget,
        "ours": lambda given: list(ours.embed(given)),
    }
    for embed in contestants.values():
        embed(texts[:WARM])
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, embed in contestants.items():
            wall, cpu = time.perf_counter(), time.process_time()
            embed(texts)
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {"tokens": raw.tokens(texts), "times": times}


def main() -> None:
    """One contest, as the arguments say."""
    folder, threads, rounds, texts = sys.argv[1:]
    given = json.loads(Path(texts).read_text(encoding="utf-8"))
    print(json.dumps(contest(Path(folder), int(threads), int(rounds), given)))


if __name__ == "__main__":
    main()
