"""What reading several repositories as one costs and finds: `python -m bench.tiers --data FOLDER [--work FOLDER]`.

A judged set is searched twice: as one repository, and dealt out to three tiers of unequal sizes. The same questions are
put to both by turns, in one process (warm) and with the program (cold); then both rankings are scored. Three tiers may
cost half as much again, and should find what one repository finds.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from dataclasses import replace
from functools import partial
from statistics import mean, median
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app import search
from ai_lessons.app.answers import Query
from ai_lessons.app.workspace import Library
from ai_lessons.model.entries import Places, TierPlace
from ai_lessons.settings import folders
from bench import corpora, metrics
from bench.harness import Bar, Outcome, arguments, machine, number, paired, program, ratio, run, table, world
from bench.inside import provide_model
from bench.retrieval import DEPTH, TARGETS, document, options, repository, some_queries

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ai_lessons.app.open_repository import Options
    from bench.harness import World

SHARES = {"project": 0.05, "user": 0.70, "enterprise:acme": 0.25}
BAR = 1.5
LOST_BAR = 0.02
COLD_ROUNDS = 7


class Part(NamedTuple):
    """One tier's share of a set, as a set of its own, and the repository that holds it."""

    judged: corpora.Judged
    root: Path


def main() -> None:
    """Print the table and judge the bars."""
    parser = arguments("What reading several repositories as one costs and finds.")
    parser.add_argument("--sets", default=",".join(TARGETS), help="names of the sets, separated by commas")
    parser.add_argument("--queries", type=int, default=100, help="ask only this many, evenly spaced (0: all)")
    asked = parser.parse_args()
    if asked.data is None:
        parser.error("judged sets cannot be made up: give their folder with --data")
    outcome = Outcome()
    print(machine())
    with world(asked.work) as home:
        chosen = options(home.folder / "caches")
        provide_model(folders(os.environ).cache, chosen.cache_dir)
        sets = [corpora.judged(asked.data / name) for name in asked.sets.split(",")]
        rows = [one_set(home, outcome, whole, chosen, asked.queries) for whole in sets]
        head = ["set", "queries", "one ms", "three ms", "ratio", "nDCG@10 one", "three"]
        print(table("warm searches, one repository and three tiers", head, rows))
        cold(home, outcome, sets[0], chosen)
    outcome.finish(check=asked.check)


def dealt(home: World, whole: corpora.Judged, chosen: Options) -> dict[str, Part]:
    """The set in three repositories, its documents dealt by chance, always the same."""
    dice = random.Random(whole.name)
    names = dice.choices(list(SHARES), list(SHARES.values()), k=len(whole.documents))
    parts = {}
    for tier in SHARES:
        own = tuple(one for one, name in zip(whole.documents, names, strict=True) if name == tier)
        judged = replace(whole, name=f"{whole.name}-{tier.partition(':')[0]}", documents=own)
        parts[tier] = Part(judged, repository(home, judged, chosen))
    return parts


def one_set(home: World, outcome: Outcome, whole: corpora.Judged, chosen: Options, at_most: int) -> list[str]:
    """The row of one set."""
    parts = dealt(home, whole, chosen)
    places = Places(tuple(TierPlace(tier, part.root) for tier, part in parts.items()))
    queries = some_queries(whole, at_most)
    with (
        Library(repository(home, whole, chosen), chosen) as one,
        Library(places.reads[0].root, chosen._replace(tier="project", places=places)) as three,
    ):

        def ask_one(text: str) -> list[str]:
            return [document(whole, hit.entry.path) for hit in search.search(one, Query(text, limit=DEPTH)).docs]

        def ask_three(text: str) -> list[str]:
            found = search.search(three, Query(text, limit=DEPTH)).docs
            return [document(parts[hit.entry.tier].judged, hit.entry.path) for hit in found]

        for ask in (ask_one, ask_three):
            ask("warm the caches")
        times: dict[str, list[float]] = {"one": [], "three": []}
        scores: dict[str, list[float]] = {"one": [], "three": []}
        for turn, query in enumerate(queries):
            both = [("one", ask_one), ("three", ask_three)]
            for name, ask in both if turn % 2 else reversed(both):
                start = time.perf_counter()
                answer = ask(whole.queries[query])
                times[name].append(time.perf_counter() - start)
                scores[name].append(metrics.ndcg(answer, whole.grades[query], DEPTH))
    costs = ratio(times["three"], times["one"])
    outcome.judge(Bar(f"warm search of {whole.name}, three tiers to one", costs, BAR, "x"))
    lost = mean(scores["one"]) - mean(scores["three"])
    outcome.judge(Bar(f"nDCG@10 of {whole.name} lost over three tiers", lost, LOST_BAR, ""))
    middle = [number(1000 * median(times[name])) for name in ("one", "three")]
    found = [number(mean(scores[name])) for name in ("one", "three")]
    return [whole.name, str(len(queries)), *middle, number(costs), *found]


def cold(home: World, outcome: Outcome, whole: corpora.Judged, chosen: Options) -> None:
    """The program itself, in a project of an enterprise and on the one repository."""
    parts = dealt(home, whole, chosen)
    code = home.folder / "code"
    if not code.exists():
        shutil.copytree(parts["project"].root, code / ".ai/reference", symlinks=True)
        (code / ".ai-lessons.toml").write_text('enterprise = "acme"\n')
    config = folders(home.env).config / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    lines = f'repo = "{parts["user"].root}"\n[enterprise]\nacme = "{parts["enterprise:acme"].root}"\n'
    config.write_text(lines)
    folders(home.env).cache.parent.mkdir(parents=True, exist_ok=True)
    if not folders(home.env).cache.exists():
        folders(home.env).cache.symlink_to(chosen.cache_dir)
    question = whole.queries[some_queries(whole, 1)[0]]
    jobs: Mapping[str, list[str]] = {
        f"{what}, {tiers}": [*program(), *where, *command]
        for what, command in (("search", ["recall", "search", question]), ("list", ["recall", "list", "--limit", "5"]))
        for tiers, where in (("one", ["--repo", str(repository(home, whole, chosen))]), ("three", []))
    }
    samples = paired({name: partial(run, argv, code, home.env) for name, argv in jobs.items()}, COLD_ROUNDS)
    cpu = {name: [sample.cpu for sample in several] for name, several in samples.items()}
    rows = []
    for what in ("search", "list"):
        one, three = cpu[f"{what}, one"], cpu[f"{what}, three"]
        costs = ratio(three, one)
        rows.append([what, number(median(one)), number(median(three)), number(costs)])
        outcome.judge(Bar(f"a cold {what}, three tiers to one", costs, BAR, "x"))
    print(table("the program, CPU seconds", ["command", "one", "three", "ratio"], rows))


if __name__ == "__main__":
    main()
