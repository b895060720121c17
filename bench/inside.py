"""The benches' view from inside: the library in a process of its own, on the same folders as the program.

`python -m bench.inside model USER_CACHE` takes the pinned model from the user's cache, fetching it there if need be,
into the cache of the bench's home and prints the folder. `python -m bench.inside unchanged REPO` asks a library that
is open and current for one entry, several times, and prints the median cost as JSON. `python -m bench.inside import
REPO FOLDER WORD` imports a folder, searches the word, and prints what each took as JSON.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import time
from pathlib import Path
from statistics import median

from ai_lessons.app import entries, search
from ai_lessons.app.answers import Query
from ai_lessons.app.workspace import Library
from ai_lessons.interfaces import library_options
from ai_lessons.model.entries import Kind
from ai_lessons.settings import load
from bench import taking_in

CALLS = 5


def provide_model(user_cache: Path, cache_dir: Path) -> Path:
    """The pinned model in `cache_dir`, copied from the user's cache; fetched into that one when it is not there yet."""
    from ai_lessons.search.model_files import find, pull

    here = find(cache_dir)
    if here is None:
        there = pull(user_cache)
        shutil.copytree(
            there.path, cache_dir / there.path.relative_to(user_cache), dirs_exist_ok=True
        )
        here = find(cache_dir)
    if here is None:
        raise SystemExit(f"the model was fetched, but is not found in {cache_dir}")
    return here.path


def unchanged(library: Library) -> dict[str, float]:
    """Median CPU and wall seconds of asking for one entry when nothing changed."""
    entries.list_entries(library, limit=1)
    cpus, walls = [], []
    for _ in range(CALLS):
        wall, cpu = time.perf_counter(), time.process_time()
        entries.list_entries(library, limit=1)
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
    return {"cpu": median(cpus), "wall": median(walls)}


def importing(library: Library, folder: str, word: str) -> dict[str, float]:
    """Seconds of importing a folder of docs and of the first search after it; the search must find the word."""
    search.search(library, Query("load everything that a search needs"))
    marks = [(time.perf_counter(), time.process_time())]
    taking_in.add_resources(
        library, taking_in.draft(kind=Kind.DOC, paths=(folder,), project="pages", recursive=True)
    )
    marks.append((time.perf_counter(), time.process_time()))
    answer = search.search(library, Query(word, limit=3))
    marks.append((time.perf_counter(), time.process_time()))
    if not any(word in hit.entry.snippet for hit in answer.docs):
        raise SystemExit(f"{word} was not found")
    (imported, imported_cpu), (searched, searched_cpu) = (
        (b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(marks)
    )
    return {
        "import": imported,
        "first search": searched,
        "together": imported + searched,
        "import CPU": imported_cpu,
        "search CPU": searched_cpu,
    }


def main() -> None:
    """Do what the first argument names, on the folder that the second one names."""
    what, folder, *more = sys.argv[1:]
    ours = library_options(load(os.environ, repo=folder))
    if what == "model":
        print(provide_model(Path(folder), ours.cache_dir))
    elif what == "unchanged":
        with Library(Path(folder), ours) as library:
            print(json.dumps(unchanged(library)))
    elif what == "import":
        with Library(Path(folder), ours) as library:
            print(json.dumps(importing(library, *more)))
    else:
        raise SystemExit(f"unknown measurement {what!r}")


if __name__ == "__main__":
    main()
