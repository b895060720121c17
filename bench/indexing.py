"""The index: embedding throughput, a whole run from nothing with its memory, the price of one edited file."""

from __future__ import annotations

import json
import os
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from bench import corpora
from bench.harness import (
    Bar,
    ChildFailed,
    Outcome,
    Sample,
    World,
    cpu,
    forget_vectors,
    number,
    peak,
    ratio,
    table,
    wall,
)
from bench.importing import fresh_repository, source_folder
from bench.starting import ms

if TYPE_CHECKING:
    from pathlib import Path

PAGES = 600
SAMPLE = 10
TEXTS = 48
EMBED_ROUNDS = 5
THROUGHPUT_BAR = 0.9
MEMORY_BAR = 700.0
EDIT_BAR = 0.15


def throughput(home: World, outcome: Outcome, model: Path, data: Path | None) -> None:
    """Tokens a second of our embedder and of the raw loops, at one and two threads.

    One thread is compared by CPU seconds. With two, threads that spin while they wait make CPU meaningless, so wall
    decides. The share is the median of the rounds, against the raw loop that was the faster one in the median.
    """
    rows = []
    for threads in (1, 2):
        told = contest(home, model, threads, EMBED_ROUNDS, corpora.passages(data, TEXTS))
        clock = 1 if threads == 1 else 0
        seconds = {name: [times[clock] for times in rounds] for name, rounds in told["times"].items()}
        best = min((taken for name, taken in seconds.items() if name != "ours"), key=median)
        for name, taken in seconds.items():
            rate, share = told["tokens"] / median(taken), ratio(best, taken)
            rows.append([str(threads), name, ("CPU", "wall")[threads - 1], number(rate), number(share)])
        plural = "s" if threads > 1 else ""
        title = f"embedding, {threads} thread{plural}, share of the best raw loop"
        outcome.judge(Bar(title, ratio(best, seconds["ours"]), THROUGHPUT_BAR, "x", at_least=True))
    head = ["threads", "who", "clock", "tokens/s", "share of best raw"]
    print(table(f"embedding {TEXTS} texts of {told['tokens'] / TEXTS:.0f} tokens", head, rows))


def whole_run(home: World, outcome: Outcome, model: Path, data: Path | None) -> Path:
    """Import, then index from nothing; gives back the repository with its index complete."""
    folder = source_folder(home, data, PAGES)
    repo = fresh_repository(home, "indexed")
    add = ["contribute", "add-resource", "--type", "doc", "--path", str(folder), "--recursive", "--project", "pages"]
    steps = {"import": home.ours(repo, *add)}
    forget_vectors(home)
    steps["reindex --full, everything embedded"] = run = home.ours(repo, "admin", "reindex", "--full")
    steps["reindex --full, vectors remembered"] = home.ours(repo, "admin", "reindex", "--full")
    steps["first search after it"] = home.ours(repo, "recall", "search", "how to list files")
    rows = [[name, number(s.wall), number(s.cpu), number(s.peak)] for name, s in steps.items()]
    print(table(f"index of {PAGES:,} pages", ["step", "wall s", "CPU s", "peak MB"], rows))
    print(
        f"embedded, cut and written: {number(share(home, model, folder, run))} of what bare onnxruntime does with the"
    )
    print("texts alone on all cores, both by wall")
    outcome.judge(Bar("peak memory of an index run", max(s.peak for s in steps.values()), MEMORY_BAR, "MB"))
    return repo


def share(home: World, model: Path, folder: Path, run: Sample) -> float:
    """Tokens a second of a whole index run, as a share of the better raw loop over every tenth page, right after it."""
    sample = [page.read_text(encoding="utf-8") for page in sorted(folder.glob("*.md"))[::SAMPLE]]
    told = contest(home, model, os.cpu_count() or 1, 1, sample)
    raw: float = min(times[0][0] for name, times in told["times"].items() if name != "ours")
    return SAMPLE * raw / run.wall


def contest(home: World, model: Path, threads: int, rounds: int, texts: list[str]) -> dict[str, Any]:
    """What `bench.embedding` says of these texts."""
    file = home.folder / "texts.json"
    file.write_text(json.dumps(texts), encoding="utf-8")
    arguments = [str(model), str(threads), str(rounds), str(file)]
    told: dict[str, Any] = json.loads(home.python("-m", "bench.embedding", *arguments).out)
    return told


def edits(home: World, outcome: Outcome, repo: Path, rounds: int) -> None:
    """A cold search when nothing changed, and one right after a file was edited, in turn."""
    search = partial(home.ours, repo, "--json", "recall", "search")
    files = sorted(repo.glob("pages/docs/**/*.md"))
    search("how to list files")
    calm: list[Sample] = []
    edited: list[Sample] = []
    for n in range(rounds):
        calm.append(search("how to list files"))
        word = f"xylophone{'abcdefghij'[n % 10]}{n}"
        with files[n * 7 % len(files)].open("a", encoding="utf-8") as file:
            file.write(f"\n- Tune the {word}:\n\n`tune {word}`\n")
        edited.append(search(word))
        must_be_found(edited[-1], word)
    more = [e.cpu - c.cpu for e, c in zip(edited, calm, strict=True)]
    rows = [
        ["cold search, nothing changed", ms(cpu(calm)), ms(wall(calm)), number(peak(calm))],
        ["cold search, one file edited", ms(cpu(edited)), ms(wall(edited)), number(peak(edited))],
        ["difference, median of the rounds", ms(median(more)), "-", "-"],
    ]
    print(table("one edited file", ["search", "CPU ms", "wall ms", "peak MB"], rows))
    outcome.judge(Bar("one edited file, on top of an unchanged search, CPU", median(more), EDIT_BAR, "s"))


def must_be_found(sample: Sample, word: str) -> None:
    """The edit must be in the answer, or its time means nothing."""
    hits = json.loads(sample.out)["docs"]
    if word not in json.dumps(hits):
        raise ChildFailed(f"{word} was edited in, but the answer shows {[hit['path'] for hit in hits]}")
