"""The index: a whole run from nothing with its memory, the price of one edited file."""

from __future__ import annotations

import json
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

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
    table,
    wall,
)
from bench.importing import fresh_repository, source_folder
from bench.starting import ms

if TYPE_CHECKING:
    from pathlib import Path

PAGES = 600
MEMORY_BAR = 700.0
EDIT_BAR = 0.15


def whole_run(home: World, outcome: Outcome, data: Path | None) -> Path:
    """Import, then index from nothing; gives back the repository with its index complete."""
    folder = source_folder(home, data, PAGES)
    repo = fresh_repository(home, "indexed")
    add = [
        "contribute",
        "add-resource",
        "--type",
        "doc",
        "--path",
        str(folder),
        "--recursive",
        "--project",
        "pages",
    ]
    steps = {"import": home.ours(repo, *add)}
    forget_vectors(home)
    steps["reindex --full, everything embedded"] = home.ours(repo, "admin", "reindex", "--full")
    steps["reindex --full, vectors remembered"] = home.ours(repo, "admin", "reindex", "--full")
    steps["first search after it"] = home.ours(repo, "recall", "search", "how to list files")
    rows = [[name, number(s.wall), number(s.cpu), number(s.peak)] for name, s in steps.items()]
    print(table(f"index of {PAGES:,} pages", ["step", "wall s", "CPU s", "peak MB"], rows))
    outcome.judge(
        Bar("peak memory of an index run", max(s.peak for s in steps.values()), MEMORY_BAR, "MB")
    )
    return repo


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
    outcome.judge(
        Bar("one edited file, on top of an unchanged search, CPU", median(more), EDIT_BAR, "s")
    )


def must_be_found(sample: Sample, word: str) -> None:
    """The edit must be in the answer, or its time means nothing."""
    hits = json.loads(sample.out)["docs"]
    if word not in json.dumps(hits):
        raise ChildFailed(
            f"{word} was edited in, but the answer shows {[hit['path'] for hit in hits]}"
        )
