"""A search from a cold command: without the helper, the one that starts it, and those that it answers.

`python -m bench.blink [--data FOLDER] [--work FOLDER] [--entries N] [--questions N] [--check]`. Embedding takes long:
keep the work folder.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from random import Random
from statistics import median, quantiles
from typing import TYPE_CHECKING

from bench import corpora, hooking
from bench.harness import (
    Bar,
    Outcome,
    World,
    arguments,
    cpu,
    machine,
    number,
    paired,
    provide_model,
    ratio,
    table,
    world,
)
from bench.starting import ms

if TYPE_CHECKING:
    from pathlib import Path

    from bench.harness import Sample

ENTRIES, QUESTIONS, ROUNDS = 2_000, 200, 15
CLICK_BAR, COLD_BAR, MEMORY_BAR, HOOK_BAR = 4.0, 1.1, 400.0, 150.0
CLICK = 'python -c "import click"'


def repository(home: World, data: Path | None, entries: int) -> Path:
    """Command pages as docs, with all their vectors."""
    root = home.folder / f"pages-{entries}"
    if not root.exists():
        corpora.write_pages(home.folder / "sources", data, entries)
        home.program("admin", "init", str(root))
        home.ours(
            root, "contribute", "add-resource", "--type", "doc", "--recursive", "--path", str(home.folder / "sources")
        )
        home.ours(root, "admin", "reindex")
    return root


def search(home: World, repo: Path, question: str) -> Sample:
    """One command."""
    return home.ours(repo, "recall", "search", question, "--limit", "5")


def state(home: World) -> list[dict[str, object]]:
    """What the helper says of itself."""
    return list(json.loads(home.program("admin", "warm", "status", "--json").out))


def warmed(home: World, repo: Path) -> Sample:
    """The search that starts the helper; returns when that has answered its first question."""
    home.program("admin", "warm", "stop")
    for lock in (home.folder / "home").rglob("warm/*.lock"):
        lock.unlink()
    first = search(home, repo, "which tool copies a file")
    while not any(one["requests"] for one in state(home)):
        time.sleep(0.1)
    for question in ("which tool", "which file"):
        search(home, repo, question)
    return first


def percentiles(walls: list[float]) -> list[str]:
    return [ms(median(walls)), ms(quantiles(walls, n=20)[-1])]


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    given, outcome = parser.parse_args(), Outcome()
    print(machine())
    with world(given.work) as cold:
        home = replace(cold, env={**cold.env, "AI_LESSONS_WARM": "1"})
        provide_model(home)
        repo = repository(cold, given.data, given.entries)
        first = warmed(home, repo)
        samples = paired(
            {
                CLICK: lambda: home.python("-c", "import click"),
                "git log -1": lambda: home.git(repo, "log", "-1"),
                "recall list": partial(home.ours, repo, "recall", "list"),
                "search, cold": partial(search, cold, repo, "copy a file over the network"),
                "search, warm": partial(search, home, repo, "copy a file over the network"),
            },
            ROUNDS,
        )
        base = [one.cpu for one in samples[CLICK]]
        rows = [
            [name, ms(cpu(runs)), ms(median(one.wall for one in runs)), number(ratio([one.cpu for one in runs], base))]
            for name, runs in samples.items()
        ]
        rows.append(["search that starts the helper", ms(first.cpu), ms(first.wall), number(first.cpu / median(base))])
        print(table(f"one command, {given.entries:,} docs", ["program", "CPU ms", "wall ms", "x click"], rows))
        warm = ratio([one.cpu for one in samples["search, warm"]], base)
        outcome.judge(Bar("search, warm, against import click, CPU", warm, CLICK_BAR, "x"))
        outcome.judge(Bar("search, cold, CPU", cpu(samples["search, cold"]), COLD_BAR, "s"))

        dice = Random(corpora.SEED)
        questions = [corpora.sentence(dice) for _ in range(given.questions)]
        rows = []
        for clients in (1, 8):
            with ThreadPoolExecutor(clients) as pool:
                walls = [one.wall for one in pool.map(partial(search, home, repo), questions)]
            rows.append([f"{clients} at once", *percentiles(walls)])
        (helper,) = state(home)
        print(table(f"{len(questions)} questions, warm", ["clients", "p50 ms", "p95 ms"], rows))
        print(f"helper: {helper['megabytes']} MB after {helper['requests']} requests\n")
        outcome.judge(Bar("memory of the helper", float(str(helper["megabytes"])), MEMORY_BAR, "MB"))

        repo = hooking.repository(home)
        home.ours(repo, "recall", "search", "--type", "lesson", "tool")
        event = hooking.EVENTS["edit, entries apply"]
        walls = [hooking.hook(home, repo, event).wall for _ in range(ROUNDS * 4)]
        print(
            table(
                f"hook, warm, {hooking.ENTRIES:,} entries",
                ["event", "p50 ms", "p95 ms"],
                [["edit", *percentiles(walls)]],
            )
        )
        outcome.judge(Bar("hook before an edit, warm, wall p95", 1000 * quantiles(walls, n=20)[-1], HOOK_BAR, "ms"))
        home.program("admin", "warm", "stop")
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
