"""Files that a git command took away before their commit, which the journal still has."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.model.entries import handle
from ai_lessons.model.frontmatter import read_entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.git.journal import PendingCommit


class KeptFile(NamedTuple):
    """A file that was taken away before its commit.

    `when` it was written is ISO 8601 in UTC; `text` is what it held.

    `id` and `handle` are empty where the file is no entry, or another one beside an entry.
    """

    path: str
    id: str
    handle: str
    title: str
    when: str
    text: str


def taken_away(repo: RepositorySession) -> list[tuple[PendingCommit, tuple[KeptFile, ...]]]:
    """Jobs with files that are in no commit and were taken away, newest first.

    None of which the entry is here.
    """
    store, catalog = repo.store, repo.current()
    swept = (job for job in store.journal.kept() if not job.root)
    jobs = [(job, tuple(_kept(repo, job))) for job in (*swept, *store.journal.missing(store.root))]
    for job, paths in store.lost():
        files = []
        for file in _kept(repo, job):
            if file.path in paths:
                files.append(file)
        here = catalog.many(file.id for file in files)
        missing = []
        for file in files:
            # an entry at another path was moved, not taken away
            if file.id not in here or here[file.id].path == file.path:
                missing.append(file)
        if missing:
            jobs.append((job, tuple(missing)))
    return sorted(jobs, key=lambda pair: pair[0].name, reverse=True)


def _kept(repo: RepositorySession, job: PendingCommit) -> Iterator[KeptFile]:
    when = datetime.fromtimestamp(job.when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for noted in (noted for noted in job.paths if noted.size is not None):
        data = repo.store.content(job, noted.path) or b""
        text = data.decode("utf-8", "replace")
        try:
            entry = read_entry(noted.path, data)
        except AiLessonsError:
            yield KeptFile(noted.path, "", "", job.subject, when, text)
        else:
            yield KeptFile(
                noted.path, entry.id, handle(entry.kind, entry.id), entry.title, when, text
            )
