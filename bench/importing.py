"""From 2,000 short pages to an answer: how long until they are found by text, and in how many commits.

The import runs as a program of its own. As soon as the branch has moved, searches for a word that only the last page
has are started one after the other; the clock stops when one of them prints that page. The bar is judged by the CPU
seconds of both programs, which other work on the machine moves least; with a core for itself that is the wall time.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from bench import corpora
from bench.harness import (
    Bar,
    ChildFailed,
    Outcome,
    Running,
    Sample,
    World,
    forget_vectors,
    number,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGES = 2_000
SEARCHABLE_BAR = 3.0
PATIENCE = 60.0
INSIDE = ("import", "first search", "together", "import CPU", "search CPU")
WORD = "zyzzyvaquine"
"""Stands in one page only."""


@dataclass(frozen=True, slots=True)
class Import:
    """One import as a user sees it, in seconds from its start."""

    committed: float
    searchable: float
    finished: float
    cpu: float
    peak: float
    commits: int
    search_cpu: float
    notes: tuple[str, ...]


def source_folder(home: World, data: Path | None, count: int = PAGES) -> Path:
    """A folder of pages outside every repository."""
    folder = home.folder / f"pages-{count}"
    if not folder.exists():
        corpora.write_pages(folder, data, count - 1)
        text = f"# last-page\n\n> The page about {WORD}.\n\n- Say it:\n\n`echo {WORD}`\n"
        (folder / "last-page.md").write_text(text, encoding="utf-8")
    return folder


def fresh_repository(home: World, name: str) -> Path:
    """An empty knowledge repository, made by the program; one of that name is removed first."""
    root = home.folder / name
    shutil.rmtree(root, ignore_errors=True)
    home.program("admin", "init", str(root), "--no-hooks")
    return root


def importing(home: World, outcome: Outcome, rounds: int, data: Path | None) -> None:
    folder = source_folder(home, data)
    imports = [import_once(home, folder) for _ in range(rounds)]
    head = [
        "run",
        "committed",
        "import ends",
        "search prints it",
        "import CPU",
        "search CPU",
        "commits",
    ]
    rows = [
        [
            str(n),
            *map(number, (i.committed, i.finished, i.searchable, i.cpu, i.search_cpu)),
            str(i.commits),
        ]
        for n, i in enumerate(imports, 1)
    ]
    print(
        table(
            f"import of {PAGES:,} pages, two programs (seconds, wall from its start; CPU)",
            head,
            rows,
        )
    )
    inside = [from_inside(home, folder) for _ in range(rounds)]
    rows = [[str(n), *(number(i[what]) for what in INSIDE)] for n, i in enumerate(inside, 1)]
    print(table("the same in one open library, LanceDB loaded (seconds)", ["run", *INSIDE], rows))
    for note in dict.fromkeys(note for i in imports for note in i.notes):
        print(f"the answer said: {note}")
    both = median(i.cpu + i.search_cpu for i in imports)
    outcome.judge(
        Bar(
            f"{PAGES:,} pages searchable by text, CPU of import and first search",
            both,
            SEARCHABLE_BAR,
            "s",
        )
    )
    outcome.judge(Bar("commits of one import", max(i.commits for i in imports), 1, "commits"))


def import_once(home: World, folder: Path) -> Import:
    repo = fresh_repository(home, "imported")
    forget_vectors(home)
    before, head = commits(home, repo), head_of(repo)
    child = home.start("--repo", str(repo), "contribute", "add-resource", "--type", "doc", "--path", str(folder),
                       "--recursive", "--project", "pages")  # fmt: skip
    committed = moment(child, lambda: head_of(repo) != head)
    search = moment_found(
        child, lambda: home.ours(repo, "--json", "recall", "search", WORD, "--limit", "3")
    )
    searchable, whole = child.age, child.wait()
    notes = json.loads(search.out)["notes"]
    made = commits(home, repo) - before
    return Import(
        committed, searchable, whole.wall, whole.cpu, whole.peak, made, search.cpu, tuple(notes)
    )


def from_inside(home: World, folder: Path) -> dict[str, float]:
    """What the import and the first search after it cost a library that is open, as a server's is."""
    repo = fresh_repository(home, "imported-inside")
    forget_vectors(home)
    told: dict[str, float] = json.loads(
        home.python("-m", "bench.inside", "import", str(repo), str(folder), WORD).out
    )
    return told


def moment(child: Running, happened: Callable[[], bool]) -> float:
    """Age of `child` when something first happened; gives up PATIENCE seconds later."""
    while not happened():
        if child.age > PATIENCE:
            raise ChildFailed(f"{' '.join(child.argv)}: not there after {PATIENCE:.0f} s")
        time.sleep(0.02)
    return child.age


def moment_found(child: Running, search: Callable[[], Sample]) -> Sample:
    """The first search whose answer carries the word."""
    while True:
        sample = search()
        if any(WORD in hit["snippet"] + hit["title"] for hit in json.loads(sample.out)["docs"]):
            return sample
        if child.age > PATIENCE:
            raise ChildFailed(f"{WORD} is not found after {PATIENCE:.0f} s")


def head_of(repo: Path) -> str:
    """The commit that main points to, read without a program (a loose ref: nothing packs it here)."""
    return (repo / ".git" / "refs" / "heads" / "main").read_text(encoding="ascii").strip()


def commits(home: World, repo: Path) -> int:
    return int(home.git(repo, "rev-list", "--count", "HEAD").out)
