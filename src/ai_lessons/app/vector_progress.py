"""How many passages have the vectors that search by meaning needs, and what computes the others.

Nothing here waits, computes, or opens the index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app import daemon_client
from ai_lessons.app.index_places import left_packs, notes_folder
from ai_lessons.errors import AiLessonsError
from ai_lessons.model.entries import Filter
from ai_lessons.search import model_files
from ai_lessons.search.database import RefreshState

if TYPE_CHECKING:
    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.app.written import Imported
    from ai_lessons.search.database import Progress

# Characters of the bar
BAR = 20

COMPUTE = "ai-lessons admin reindex"
REMOVE_PACKS = "git ls-remote REMOTE 'refs/ai-lessons/*', git push REMOTE :REF: the next sync shares what is good here"
MODEL = "ai-lessons admin model pull"
STATUS = "ai-lessons admin status"


def standing(repo: RepositorySession) -> tuple[str, str, str]:
    """How many passages have a vector, as state (ok, warning), words with a bar while it is worked on, and a remedy."""
    folder = notes_folder(repo)
    left = left_packs(repo)
    if left:
        return "warning", "; ".join(left), REMOVE_PACKS
    notes = RefreshState(folder)
    last = notes.last()
    if last is None:
        entries = repo.catalog.count(Filter(status=None))
        return (
            "ok",
            "the first search reads every entry" if entries else "nothing is stored here yet",
            "",
        )
    passages, missing, generation = last
    progress = None
    if missing:
        progress = notes.progress()
    if progress:
        return "ok", _bar(passages, progress), ""
    detail = f"{passages - missing:,} of {passages:,} passages have a vector"
    if generation != f"{repo.catalog.generation} {repo.reading_config.chunking}":
        detail += ", as of the last search"
    if not missing:
        return "ok", detail, ""
    if model_files.find(repo.options.cache_dir, repo.options.model_dir) is None:
        return "warning", f"{detail}: without a model on this machine words alone are asked", MODEL
    return "warning", f"{detail}, and nothing computes the others now", COMPUTE


def _bar(passages: int, progress: Progress) -> str:
    done = max(passages - progress.left, 0)
    filled = BAR * done // max(passages, 1)
    if progress.seconds > 0:
        pace = progress.computed / progress.seconds
    else:
        pace = 0.0
    if pace:
        time_left = f", about {_minutes(progress.left / pace)} left"
    else:
        time_left = ""
    return f"[{'#' * filled}{'.' * (BAR - filled)}] {done:,} of {passages:,} passages have a vector{time_left}"


def _minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes == 1:
        return "a minute"
    return f"{minutes:,} minutes"


def after_import(repo: RepositorySession, done: Imported) -> Imported:
    """Begin to compute the vectors of what an import brought, if that is much; its notes say so."""
    return done._replace(notes=(*done.notes, *begin(repo, len(done.written))))


def begin(repo: RepositorySession, entries: int) -> tuple[str, ...]:
    """Bring so many new entries into the index, and begin to compute vectors in the background.

    What a reader should know of it. The next search finds their words without reading them.
    """
    # New entries from which on it is said when they are found by meaning, and worked on at once
    if entries < 20:
        return ()
    try:
        done = repo.indexing.refresh(seconds=0)
        passages = repo.indexing.passages()
    except AiLessonsError as error:
        return (f"what is new is not in the search index yet: {error.message}",)
    if not done.missing:
        return done.notes
    what = f"{done.missing:,} of {passages:,} passages have no vector yet: they are found by words"
    if repo.options.warm is None:
        return (*done.notes, f"{what}, and by meaning after {COMPUTE}")
    daemon_client.have_done(repo.store.root, repo.options, "prepare")
    # Passages that one core computes: roughly
    minutes = _minutes(done.missing / 20)
    return (*done.notes, f"{what}, and by meaning in about {minutes} ({STATUS})")
