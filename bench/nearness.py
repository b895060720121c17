"""Which questions get "nothing near": `python -m bench.nearness --data FOLDER [--work FOLDER]`.

The questions of each judged set are put to its own documents, where they have an answer, and to those of every other
set, where they have none but by chance. A question is lost if it is told that nothing is near and its answer, which
would be among the results without that bar, is not shown. How many questions an entry is said to cover is counted with
their answers and without. With `--fit` the numbers of `search.ranking` are fitted anew,
without each of the sets in turn, and judged on that one.
"""

from __future__ import annotations

import os
import random
from contextlib import closing
from functools import partial
from math import log
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

import numpy as np

from ai_lessons.app import search
from ai_lessons.app.answers import Query
from ai_lessons.app.workspace import Library, RepositorySession
from ai_lessons.search.ranking import COVERED, PassageFilter, chance, condition, shares
from ai_lessons.settings import folders
from bench import corpora
from bench.harness import Bar, Outcome, arguments, machine, number, table, world
from bench.inside import provide_model
from bench.retrieval import TARGETS, document, options, repository, some_queries

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from ai_lessons.app.answers import Answer
    from ai_lessons.app.open_repository import Options
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.search.ranking import Match

    Floats = NDArray[np.float64]

QUESTIONS = 150
SIZES, DEPTH = (20, 100, 400), 100
NEIGHBOURS = (frozenset({"tldr_nl2bash", "til_jb"}),)
"""Sets of one field: a question of one may well have its answer in the other."""

LOST_BAR, FOREIGN_BAR, COVERED_BAR = 0.02, 0.90, 0.05
LOST = 0.015
"""Share of the answerable questions below the bar that a fit chooses."""

ROUNDS, RIDGE = 50, 0.01


class Seen(NamedTuple):
    """One question put to one set: a one, similarity, logarithm of the passages, and both shares of its words."""

    stored: str
    asker: str
    features: tuple[float, ...]


def main() -> None:
    """Print the tables and judge what is lost and what is held back."""
    parser = arguments("Which questions are told that nothing is near.")
    parser.add_argument("--fit", action="store_true", help="fit the numbers anew, each set left out once")
    asked = parser.parse_args()
    if asked.data is None:
        parser.error("judged sets cannot be made up: give their folder with --data")
    outcome = Outcome()
    print(machine())
    with world(asked.work) as home:
        chosen = options(home.folder / "caches")
        without = options(home.folder / "caches-without-model")._replace(offline=True)
        provide_model(folders(os.environ).cache, chosen.cache_dir)
        sets = {name: corpora.judged(asked.data / name) for name in TARGETS if (asked.data / name).is_dir()}
        answers, coverage, seen = [], [], []
        for name, stored in sets.items():
            repo = repository(home, stored, chosen)
            coverage.append(covered(outcome, repo, stored, chosen))
            for asker, questions in sets.items():
                if frozenset({name, asker}) not in NEIGHBOURS:
                    answers.append(by_library(outcome, repo, stored, questions, [chosen, without]))
                    seen += features(repo, stored, questions, chosen) if asked.fit else []
    head = ["questions of", "put to", "questions", "nothing near", "lost", "by words alone", "lost"]
    print(table("answers of the library", head, answers))
    print(table("covered", ["set", "questions", "with their answers", "without"], coverage))
    if asked.fit:
        head = ["left out", "one", "similarity", "among", "together", "stored", "bar", "lost", "held back"]
        print(table("fitted without one set, judged on it", head, [fitted(seen, one) for one in (*sets, "")]))
    outcome.finish(check=asked.check)


def by_library(
    outcome: Outcome, repo: Path, stored: corpora.Judged, questions: corpora.Judged, ways: list[Options]
) -> list[str]:
    """How many questions are told that nothing is near, and how many of these are lost; with the model and without."""
    asked = some_queries(questions, QUESTIONS)
    own = stored.name == questions.name
    row = [questions.name, stored.name, str(len(asked))]
    for chosen in ways:
        with Library(repo, chosen) as library:
            answers = {one: search.search(library, Query(questions.queries[one], plain=True)) for one in asked}
            weak = {one: answer for one, answer in answers.items() if answer.weak}
            with mock.patch.object(search, "BAR", 0.0):
                without = {one: search.search(library, Query(questions.queries[one], plain=True)) for one in weak}
        lost = sum(
            _holds(questions, stored, one, without[one]) and not _holds(questions, stored, one, weak[one])
            for one in weak
        )
        row += [number(len(weak) / len(asked)), number(lost / len(asked)) if own else "-"]
        how = "" if chosen is ways[0] else ", by words alone"
        if own:
            outcome.judge(Bar(f"questions of {stored.name} that are lost{how}", lost / len(asked), LOST_BAR, ""))
        else:
            said = f"questions of {questions.name} held back from {stored.name}{how}"
            outcome.judge(Bar(said, len(weak) / len(asked), FOREIGN_BAR, "", at_least=True))
    return row


def _holds(questions: corpora.Judged, stored: corpora.Judged, one: str, answer: Answer) -> bool:
    grades = questions.grades.get(one, {})
    return any(grades.get(document(stored, hit.entry.path), 0) > 0 for hit in answer.docs)


def features(repo: Path, stored: corpora.Judged, questions: corpora.Judged, chosen: Options) -> list[Seen]:
    """What the chance of an answer is told by, for every question, of parts of the set and of all of it."""
    with closing(RepositorySession(repo, chosen)) as parts:
        catalog, seen = parts.current(), []
        parts.indexing.refresh()
        table, dice = parts.index.query.newest(), random.Random(corpora.SEED)
        assert table is not None
        ids = {document(stored, place.path): place.id for place in catalog.locations() if "/docs/" in place.path}
        for one in some_queries(questions, QUESTIONS):
            text = questions.queries[one]
            good = {ids[doc] for doc, grade in questions.grades[one].items() if grade > 0 and doc in ids}
            for size in (*SIZES, len(ids)):
                part = dice.sample(sorted(ids.values()), size)
                own = frozenset({*part, *good} if stored.name == questions.name else part)
                wanted = PassageFilter(ids=own) if size < len(ids) else PassageFilter()
                passages = table.count(condition(wanted) or None)
                found = parts.indexing.begin(text, wanted, DEPTH)()
                near, among = found.vectors[0].score, log(passages)
                lights = catalog.many(hit.entry_id for hit in (*found.text, *found.vectors))
                both = shares(text, found, partial(text_of, lights))
                seen.append(Seen(stored.name, questions.name, (1.0, near, among, *both)))
        return seen


def covered(outcome: Outcome, repo: Path, stored: corpora.Judged, chosen: Options) -> list[str]:
    """How many questions an entry is said to cover: as they are, and after their answers were taken away."""
    asked, counts = some_queries(stored, QUESTIONS), [0, 0]
    with closing(RepositorySession(repo, chosen)) as parts:
        catalog = parts.current()
        parts.indexing.refresh()
        ids = {document(stored, place.path): place.id for place in catalog.locations() if "/docs/" in place.path}
        for query in asked:
            text, good = (
                stored.queries[query],
                {ids[doc] for doc, grade in stored.grades[query].items() if grade > 0 and doc in ids},
            )
            for place, kept in enumerate((frozenset(ids.values()), frozenset(ids.values()) - good)):
                candidates = parts.indexing.begin(text, PassageFilter(ids=kept), DEPTH)()
                lights = catalog.many(hit.entry_id for hit in (*candidates.text, *candidates.vectors))
                near = chance(text, candidates, parts.indexing.passages(), partial(text_of, lights), complete=True)
                counts[place] += any(likely >= COVERED for likely in near.entries.values())
    name = f"questions of {stored.name} that are covered without their answers"
    outcome.judge(Bar(name, counts[1] / len(asked), COVERED_BAR, ""))
    return [stored.name, str(len(asked)), *(number(count / len(asked)) for count in counts)]


def text_of(lights: Mapping[str, EntrySummary], hit: Match) -> str:
    """All that a passage is found by."""
    return f"{lights[hit.entry_id].title} {hit.heading} {hit.text}"


def fitted(seen: list[Seen], left_out: str) -> list[str]:
    """Logistic regression by Newton's method, both classes of equal weight, and what it makes of the set left out."""
    x, y = np.array([one.features for one in seen]), np.array([one.stored == one.asker for one in seen])
    away = np.array([bool(left_out) and left_out in {one.stored, one.asker} for one in seen])
    weights = np.where(y, 1 / y[~away].sum(), 1 / (~y)[~away].sum())[~away] * len(seen)
    beta: Floats = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        likely = 1 / (1 + np.exp(-x[~away] @ beta))
        slope = x[~away].T @ (weights * (likely - y[~away])) + RIDGE * beta
        curve = (x[~away].T * (weights * likely * (1 - likely))) @ x[~away] + RIDGE * np.eye(len(beta))
        beta = beta - np.linalg.solve(curve, slope)
    chances = 1 / (1 + np.exp(-x @ beta))
    bar = np.quantile(chances[~away & y], LOST)
    judged = away if left_out else ~away
    own = y & np.array([one.stored == left_out or not left_out for one in seen])
    figures = [*beta, bar, np.mean(chances[judged & own] < bar), np.mean(chances[judged & ~y] < bar)]
    return [left_out or "none", *(number(float(one)) for one in figures)]


if __name__ == "__main__":
    main()
