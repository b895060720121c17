"""How near questions come to what is stored: `python -m bench.nearness --data FOLDER [--work FOLDER]`.

The bar below which an answer is empty must let through questions that have an answer, and stop those that have none.
The questions of one judged set are put to the passages of every other one; what they find there is no answer, by chance
aside. The nearest of many passages is nearer than that of few, so it is measured on random parts of a set, too. At last
the library itself is asked, by which a text that holds the question's words counts as well.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import lancedb
import numpy as np

from ai_lessons.index.ranking import bar
from ai_lessons.index.table import NAME
from ai_lessons.library import searching
from ai_lessons.library.answers import Query
from ai_lessons.library.opened import Library
from ai_lessons.library.session import RepositorySession
from ai_lessons.settings import folders
from bench import corpora
from bench.harness import Bar, Outcome, arguments, machine, number, table, world
from bench.inside import provide_model
from bench.retrieval import TARGETS, document, options, repository, some_queries

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ai_lessons.library.options import Options

    Floats = NDArray[np.float32]

QUESTIONS = 100
SIZES = (30, 300, 1000)
NEIGHBOURS = (frozenset({"tldr_nl2bash", "til_jb"}),)
"""Sets of one field: a question of one may well have its answer in the other."""

LOST_BAR = 0.02


def main() -> None:
    """Print both tables and judge what is lost."""
    parser = arguments("How near questions come to what is stored.")
    asked = parser.parse_args()
    if asked.data is None:
        parser.error("judged sets cannot be made up: give their folder with --data")
    outcome, chance = Outcome(), np.random.default_rng(corpora.SEED)
    print(machine())
    with world(asked.work) as home:
        chosen = options(home.folder / "caches")
        provide_model(folders(os.environ).cache, chosen.cache_dir)
        sets = {name: corpora.judged(asked.data / name) for name in TARGETS if (asked.data / name).is_dir()}
        rows, answers = [], []
        for name, stored in sets.items():
            repo = repository(home, stored, chosen)
            for asker, questions in sets.items():
                if frozenset({name, asker}) not in NEIGHBOURS:
                    rows += by_size(repo, stored, questions, chosen, chance)
                    answers.append(by_library(outcome, repo, stored, questions, chosen))
        head = ["questions of", "put to", "passages", "5 %", "median", "95 %", "bar", "below it"]
        print(table("similarity of the nearest passage", head, rows))
        print(table("answers of the library", ["questions of", "put to", "questions", "empty"], answers))
    outcome.finish(check=asked.check)


def texts(questions: corpora.Judged) -> dict[str, str]:
    return {one: questions.queries[one] for one in some_queries(questions, QUESTIONS)}


def by_size(
    repo: Path,
    stored: corpora.Judged,
    questions: corpora.Judged,
    chosen: Options,
    chance: np.random.Generator,
) -> list[list[str]]:
    """A row for every size of a part; where a question has its answer in the set, this is in the part, too."""
    with closing(RepositorySession(repo, chosen)) as parts:
        catalog = parts.current()
        parts.indexing.refresh()
        paths = {place.id: place.path for place in catalog.locations()}
        status, table = parts.index.status(), parts.index.in_use()
        assert table is not None
        columns = lancedb.connect(parts.store.state_dir / "index").open_table(f"{NAME}{table.number}").to_arrow()
        embedder = parts.embedders.embedder(status.model)
        asked = {one: embedder.embed_query(text) for one, text in texts(questions).items()}
    docs = [n for n, kind in enumerate(columns["kind"].to_pylist()) if kind == "doc"]
    ids = columns["entry_id"].to_pylist()
    stored_as = [document(stored, paths[ids[n]]) for n in docs]
    vectors = np.array(columns["vector"].combine_chunks().flatten()).reshape(len(ids), -1)[docs]
    own = stored.name == questions.name
    rows = []
    for size in (*[size for size in SIZES if size < len(docs)], len(docs)):
        best = []
        for one, vector in asked.items():
            part = set(chance.choice(len(docs), size, replace=False).tolist())
            grades = questions.grades[one] if own else {}
            part |= {n for n, doc in enumerate(stored_as) if grades.get(doc, 0) > 0}
            best.append(float((vectors[sorted(part)] @ vector).max()))
        limit = bar(status.model, size) or 0.0
        figures = [*np.quantile(best, (0.05, 0.5, 0.95)), limit, np.mean(np.array(best) < limit)]
        rows.append([questions.name, stored.name, f"{size:,}", *(number(float(x)) for x in figures)])
    return rows


def by_library(
    outcome: Outcome, repo: Path, stored: corpora.Judged, questions: corpora.Judged, chosen: Options
) -> list[str]:
    """How many questions the library leaves without docs."""
    asked = list(texts(questions).values())
    with Library(repo, chosen) as library:
        empty = sum(not searching.search(library, Query(text, plain=True)).docs for text in asked) / len(asked)
    if stored.name == questions.name:
        outcome.judge(Bar(f"questions of {stored.name} left without an answer", empty, LOST_BAR, ""))
    return [questions.name, stored.name, str(len(asked)), number(empty)]


if __name__ == "__main__":
    main()
