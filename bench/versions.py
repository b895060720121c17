"""A documentation in many versions: `python -m bench.versions --data FOLDER` (FOLDER/etcd_docs/vX.Y/…/page.md).

Every version is imported under its own, one after the other. Questions are sentences of pages, spread over pages and
versions. Asked plainly, any version of the page is right; asked with a version, only the page of that one is. At last
a search over all versions is compared with one over a repository that has the newest alone.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app import index_upkeep, search
from ai_lessons.app.answers import Query
from ai_lessons.app.setup import init_repository
from ai_lessons.app.workspace import Library
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.model.versions import newest_first
from ai_lessons.settings import folders
from bench import corpora, taking_in
from bench.harness import Bar, Outcome, arguments, machine, number, table, world
from bench.inside import provide_model
from bench.retrieval import options

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.app.answers import Answer

QUESTIONS = 60
FIRST = 3
PLAIN_BAR, VERSION_BAR, TIME_BAR, LINEAR_BAR = 0.85, 0.97, 1.2, 2.0
WORDS = 7
_SENTENCE = re.compile(r"(?m)^([A-Z][\w ,'`-]{40,160})\.(?:\s|$)")


class Question(NamedTuple):
    """A sentence of one page: its path below the version's folder, and a version that has the page."""

    text: str
    page: str
    version: str


def main() -> None:
    """Import, ask, compare, and judge the bars."""
    asked = arguments("A documentation in many versions.").parse_args()
    outcome, source = Outcome(), asked.data / "etcd_docs"
    print(machine())
    versions = newest_first(one.name for one in source.iterdir() if one.is_dir())
    with world(asked.work) as home:
        chosen = options(home.folder / "caches")
        provide_model(folders(os.environ).cache, chosen.cache_dir)
        every, newest = home.folder / "every", home.folder / "newest"
        questions = made_of(source)
        rows = imported(outcome, every, source, versions[::-1])
        imported(outcome, newest, source, versions[:1])
        with Library(every, chosen) as library, Library(newest, chosen) as other:
            done = index_upkeep.reindex(library)
            index_upkeep.reindex(other)
            print(f"{done.passages} passages, {done.embedded} embedded")
            plain = share(
                questions,
                [search.search(library, Query(one.text)) for one in questions],
                pinned=False,
            )
            told = [
                search.search(library, Query(one.text, Filter(versions=(one.version,))))
                for one in questions
            ]
            exact = share(questions, told, pinned=True)
            slower = median(seconds(library, questions)) / median(seconds(other, questions))
    print(table("imports, oldest version first", ["version", "pages", "s", "ms a page"], rows))
    outcome.judge(
        Bar(f"the page among the first {FIRST}, asked plainly", plain, PLAIN_BAR, "", at_least=True)
    )
    outcome.judge(
        Bar(
            f"the page of the version among the first {FIRST}",
            exact,
            VERSION_BAR,
            "",
            at_least=True,
        )
    )
    outcome.judge(Bar(f"a search over {len(versions)} versions against one", slower, TIME_BAR, "x"))
    outcome.finish(check=asked.check)


def made_of(source: Path) -> list[Question]:
    """Sentences that stand in one page of their version only."""
    dice = random.Random(corpora.SEED)
    texts = {
        file.relative_to(source).as_posix(): file.read_text(encoding="utf-8")
        for file in source.glob("*/**/*.md")
    }
    said = {
        path: {one for one in _SENTENCE.findall(text) if one.count(" ") >= WORDS}
        for path, text in texts.items()
    }
    pages = Counter(
        (path.partition("/")[0], one) for path, sentences in said.items() for one in sentences
    )
    found = []
    for path in sorted(said):
        version, _, page = path.partition("/")
        own = sorted(one for one in said[path] if pages[version, one] == 1)
        if own and not page.endswith("_index.md"):
            found.append(Question(dice.choice(own), page, version))
    return dice.sample(found, QUESTIONS)


def imported(
    outcome: Outcome, repo: Path, source: Path, versions: tuple[str, ...]
) -> list[list[str]]:
    """Each version into the repository; a row for each."""
    chosen = options(repo.parent / "caches")
    init_repository(repo, chosen, hooks=False)
    rows, each = [], []
    with Library(repo, chosen) as library:
        for version in versions:
            start = time.perf_counter()
            draft = taking_in.draft(
                kind=Kind.DOC,
                paths=(str(source / version),),
                project="etcd",
                versions=(version,),
                recursive=True,
            )
            pages = len(taking_in.add_resources(library, draft).written)
            took = time.perf_counter() - start
            if not pages:  # kept from an earlier run
                continue
            each.append(took / pages)
            rows.append([version, str(pages), number(took), number(1000 * took / pages)])
    if len(each) > 1:
        outcome.judge(
            Bar(
                "a page of the last version against one of the first",
                each[-1] / each[0],
                LINEAR_BAR,
                "x",
            )
        )
    return rows


def share(questions: list[Question], answers: list[Answer], *, pinned: bool) -> float:
    """The share of the questions whose page is among the first; `pinned`: at its version."""
    right = 0
    for one, answer in zip(questions, answers, strict=True):
        paths = [hit.entry.path.split("/", 3)[2:] for hit in answer.docs[:FIRST]]
        right += any(
            page == one.page and (version == one.version or not pinned) for version, page in paths
        )
    return right / len(questions)


def seconds(library: Library, questions: list[Question]) -> list[float]:
    """What each search took."""
    taken = []
    for one in [*questions[:5], *questions]:
        start = time.perf_counter()
        search.search(library, Query(one.text))
        taken.append(time.perf_counter() - start)
    return taken[5:]


if __name__ == "__main__":
    main()
