"""What it costs to see that nothing changed, against `git status`, at 10,000 and 100,000 files.

Two figures, which must not be mixed up. *In process*: the library is open and asked again, CPU of that call alone.
*Whole process*: `ai-lessons recall list --limit 1`, minus the CPU of a bare interpreter. git is a whole process
that starts in a few milliseconds, so nothing is taken off its figure; it runs with --no-optional-locks, which does
the same work without writing its index. The bar is on the check itself; the second figure is nearly all the start of
Python and of the program, and is told for what a user waits.
"""

from __future__ import annotations

import json
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from bench import corpora
from bench.harness import Bar, Outcome, Sample, World, cpu, number, paired, ratio, table, wall
from bench.starting import ms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STATUS_BAR = 3.0


def refreshing(home: World, outcome: Outcome, rounds: int, sizes: Sequence[int]) -> None:
    """Both figures at every size."""
    rows = [row for size in sizes for row in at_size(home, outcome, rounds, size)]
    print(table("nothing changed", ["files", "who", "CPU ms", "wall ms", "x git status"], rows))


def at_size(home: World, outcome: Outcome, rounds: int, size: int) -> list[list[str]]:
    repo = corpora.repository(home, size)
    home.ours(repo, "recall", "list", "--limit", "1")
    samples = paired(
        {
            "git status": partial(home.git, repo, "--no-optional-locks", "status", "--porcelain"),
            "bare": partial(home.python, "-c", "pass"),
            "in process": partial(in_process, home, repo),
            "whole": partial(home.ours, repo, "recall", "list", "--limit", "1"),
        },
        rounds,
    )
    status = [s.cpu for s in samples["git status"]]
    inside = ratio([s.cpu for s in samples["in process"]], status)
    whole = [w.cpu - b.cpu for w, b in zip(samples["whole"], samples["bare"], strict=True)]
    outside = ratio(whole, status)
    outcome.judge(
        Bar(
            f"nothing changed, {size:,} files, in process against git status",
            inside,
            STATUS_BAR,
            "x",
        )
    )
    return [
        [
            f"{size:,}",
            "git status",
            ms(cpu(samples["git status"])),
            ms(wall(samples["git status"])),
            "1.0",
        ],
        [
            f"{size:,}",
            "in process",
            ms(cpu(samples["in process"])),
            ms(wall(samples["in process"])),
            number(inside),
        ],
        [f"{size:,}", "whole process - interpreter", ms(median(whole)), "-", number(outside)],
    ]


def in_process(home: World, repo: Path) -> Sample:
    """Open the library in a process of its own, ask twice, and give back what the second asking cost."""
    told = json.loads(home.python("-m", "bench.inside", "unchanged", str(repo)).out)
    return Sample(told["wall"], told["cpu"], 0.0, "", "")
