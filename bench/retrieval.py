"""How well the library finds: nDCG@10, recall@10 and MRR on judged sets, `python -m bench.retrieval --data FOLDER`.

Every set is imported as docs into a repository of its own, indexed, and asked through `app.search.search`, as any
interface does that is asked for all (`--all`): what is judged is the order. *text* is the same library on a machine
without a model, *fused* the normal answer. *vectors* cannot be asked for there: it is the vector half of the same
candidates, ranked alone. File names are numbers, because in one set the names of the files are the queries. With
`--work` repositories and vectors are kept, and the next run asks at once.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING

from ai_lessons.app import index_upkeep, repository_settings, search
from ai_lessons.app.answers import Query
from ai_lessons.app.options import Options
from ai_lessons.app.setup import init_repository
from ai_lessons.app.workspace import Library, RepositorySession
from ai_lessons.model.config import Chunking
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.search.ranking import fuse
from ai_lessons.settings import folders
from bench import corpora, metrics, taking_in
from bench.harness import Bar, Outcome, World, arguments, machine, number, table, world
from bench.inside import provide_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    Ask = Callable[[str], list[str]]

DEPTH = 10
DEFAULT_TARGET = Chunking().target
DOCS = Filter(kinds=frozenset({Kind.DOC}))
"""What is judged."""

TARGETS = {"tldr_nl2bash": 0.430, "til_jb": 0.915, "cranfield": 0.412, "cacm": 0.540}
"""nDCG@10 of the fused answer that must be reached."""

MEASURED = {"tldr_nl2bash": 0.439, "til_jb": 0.921, "cranfield": 0.421, "cacm": 0.555}
"""What the recipe reached as a prototype outside the library."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over the queries of one set, and the mean wall seconds that a query took."""

    ndcg: float
    recall: float
    mrr: float
    seconds: float


def main() -> None:
    """Measure every set below --data, print the table and judge the bars."""
    parser = arguments("How well the library finds what people judged to be right.")
    parser.add_argument(
        "--sets", default=",".join(TARGETS), help="names of the sets, separated by commas"
    )
    parser.add_argument(
        "--chunking", default="", help="other sizes of passages: TARGET,LIMIT,MINIMUM in tokens"
    )
    parser.add_argument(
        "--queries", type=int, default=0, help="ask only this many, evenly spaced (0: all)"
    )
    asked = parser.parse_args()
    if asked.data is None:
        parser.error("judged sets cannot be made up: give their folder with --data")
    outcome, rows = Outcome(), []
    print(machine())
    with world(asked.work) as home:
        for name in asked.sets.split(","):
            rows += one_set(
                home, outcome, corpora.judged(asked.data / name), asked.queries, asked.chunking
            )
    head = [
        "set",
        "answer",
        "queries",
        "nDCG@10",
        "recall@10",
        "MRR",
        "prototype",
        "must",
        "ms a query",
    ]
    print(table("retrieval", head, rows))
    outcome.finish(check=asked.check)


def one_set(
    home: World, outcome: Outcome, judged: corpora.Judged, at_most: int, chunking: str = ""
) -> list[list[str]]:
    """The rows of one set."""
    queries = some_queries(judged, at_most)
    with_model = options(home.folder / "caches")
    provide_model(folders(os.environ).cache, with_model.cache_dir)
    without = options(home.folder / "caches-without-model")._replace(offline=True)
    repo = repository(home, judged, with_model, chunking)
    rows = []
    ways = {
        "text": by_library(without),
        "vectors": by_vectors(with_model),
        "fused": by_library(with_model),
    }
    for answer, asking in ways.items():
        with asking(repo) as ask:
            figures = measure(ask, judged, queries)
        target = TARGETS.get(judged.name) if answer == "fused" else None
        cells = [
            judged.name,
            answer,
            str(len(queries)),
            *map(number, (figures.ndcg, figures.recall, figures.mrr)),
        ]
        prototype = MEASURED.get(judged.name) if target else None
        rows.append([*cells, number(prototype), number(target), number(figures.seconds * 1000)])
        if target:
            outcome.judge(Bar(f"nDCG@10 of {judged.name}", figures.ndcg, target, "", at_least=True))
    return rows


def options(folder: Path) -> Options:
    """A machine's folders, all in one."""
    return Options(
        cache_dir=folder,
        state_dir=folder / "state",
        config_dir=folder / "config",
        cwd=folder.parent,
    )


def some_queries(judged: corpora.Judged, at_most: int) -> list[str]:
    """Ids of the queries that have a relevant document, all or evenly spaced."""
    usable = [q for q in judged.queries if any(g > 0 for g in judged.grades.get(q, {}).values())]
    if not 0 < at_most < len(usable):
        return usable
    return [usable[n * len(usable) // at_most] for n in range(at_most)]


def repository(
    home: World, judged: corpora.Judged, with_model: Options, chunking: str = ""
) -> Path:
    """The set as docs in a repository, every vector made; taken as it is when it is there from an earlier run."""
    name = "-".join([judged.name, *filter(None, chunking.split(","))])
    repo, done = home.folder / name, home.folder / f"{name}.complete"
    if done.exists():
        return repo
    shutil.rmtree(repo, ignore_errors=True)
    source = home.folder / f"{judged.name}-source"
    write_documents(source, judged)
    init_repository(repo, with_model, hooks=False)
    start = time.perf_counter()
    with Library(repo, with_model) as library:
        # from the outside in, so that minimum <= target <= limit holds at every step
        sizes = (
            dict(zip(("target", "limit", "minimum"), chunking.split(","), strict=False))
            if chunking
            else {}
        )
        grows = int(sizes.get("target", "0")) > DEFAULT_TARGET
        for key in ("limit", "target", "minimum") if grows else ("minimum", "target", "limit"):
            if key in sizes:
                repository_settings.config_set(library, f"search.chunking.{key}", sizes[key])
        taking_in.add_resources(
            library,
            taking_in.draft(kind=Kind.DOC, paths=(str(source),), project="judged", recursive=True),
        )
        indexed = index_upkeep.reindex(library)
    print(f"{judged.name}: {len(judged.documents)} documents, {indexed.passages} passages, "
          f"{indexed.embedded} embedded in {time.perf_counter() - start:.0f} s")  # fmt: skip
    if indexed.missing and not with_model.offline:
        raise SystemExit(f"{indexed.missing} passages are without a vector: {indexed.notes}")
    done.touch()
    return repo


def write_documents(folder: Path, judged: corpora.Judged) -> None:
    """One Markdown file for each document, named by its number in the set."""
    folder.mkdir(parents=True, exist_ok=True)
    for number_, (_, title, text) in enumerate(judged.documents):
        whole = text if not title or text.startswith("#") else f"# {title}\n\n{text}"
        (folder / f"d{number_:05}.md").write_text(whole.rstrip("\n") + "\n", encoding="utf-8")


def by_library(chosen: Options) -> Callable[[Path], AbstractContextManager[Ask]]:
    """Questions put to the library, as an interface puts them; answered with the paths of docs."""

    @contextmanager
    def opened(repo: Path) -> Iterator[Ask]:
        with Library(repo, chosen) as library:
            yield lambda text: [
                hit.entry.path
                for hit in search.search(library, Query(text, limit=DEPTH, every=True)).docs
            ]

    return opened


def by_vectors(chosen: Options) -> Callable[[Path], AbstractContextManager[Ask]]:
    """Questions answered by the vector half of the candidates alone."""

    @contextmanager
    def opened(repo: Path) -> Iterator[Ask]:
        with closing(RepositorySession(repo, chosen)) as parts:
            catalog = parts.current()
            parts.indexing.refresh()
            paths = {place.id: place.path for place in catalog.locations()}

            def ask(text: str) -> list[str]:
                found = parts.index.candidates(text, DOCS)
                return [
                    paths[match.entry_id] for match in fuse((), found.vectors, found.depth)[:DEPTH]
                ]

            yield ask

    return opened


def measure(ask: Ask, judged: corpora.Judged, queries: list[str]) -> Figures:
    """Ask every query and score the ranking of documents."""
    ask("warm the caches")
    start = time.perf_counter()
    answers = {query: ask(judged.queries[query]) for query in queries}
    seconds = (time.perf_counter() - start) / len(queries)
    scored = [
        ([document(judged, path) for path in answers[query]], judged.grades[query])
        for query in queries
    ]
    return Figures(
        mean(metrics.ndcg(ranked, grades, DEPTH) for ranked, grades in scored),
        mean(metrics.recall(ranked, grades, DEPTH) for ranked, grades in scored),
        mean(metrics.reciprocal_rank(ranked, grades, DEPTH) for ranked, grades in scored),
        seconds,
    )


def document(judged: corpora.Judged, path: str) -> str:
    """The id of the document that was written as this file."""
    return judged.documents[int(path.rpartition("/d")[2][:5])][0]


if __name__ == "__main__":
    main()
