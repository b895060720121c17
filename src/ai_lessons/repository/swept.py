"""Writes that somebody's git took from the working tree before their commit: put back from what the journal kept.

`git stash -u` and `git clean` list the untracked files and delete them a moment later, `git reset --hard` does the like
with edits; what we write in between is in no stash and in no commit. No lock keeps git from it, and afterwards nothing
tells it from somebody's `rm`. So a write that was answered is committed all the same.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from dulwich.objects import ObjectID

from ai_lessons.repository import files, stashes
from ai_lessons.repository.contents import OnDisk, look
from ai_lessons.repository.folders import Folders
from ai_lessons.repository.journal import Journal
from ai_lessons.repository.locks import held
from ai_lessons.repository.moves import Later
from ai_lessons.repository.store import blob_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.git_index import Tracked
    from ai_lessons.repository.journal import Intent, Noted
    from ai_lessons.repository.objects import Draft
    from ai_lessons.repository.worktree import Worktree

PATIENCE = 5.0
"""Seconds to wait until nobody puts files in place."""

TRIES, MOMENT, FRESH = 6, 0.05, 0.2
"""Looks at the disk at most, where files come and go or grow; seconds between two, and for which a file counts as new.
The last three together: a file that stays short was made so by somebody."""


class Seen(NamedTuple):
    """What is on disk; paths that lie in a stash; those that were gone and are back."""

    disk: OnDisk
    away: frozenset[str]
    back: tuple[str, ...]


def look_and_bring_back(
    worktree: Worktree,
    repo: Repo,
    draft: Draft,
    tree: ObjectID | None,
    jobs: Sequence[Intent],
    *,
    file_modes: bool,
) -> Seen:
    """What is on disk for the jobs; before that, what was swept away is written again.

    Raises:
        Later: files are being written, or come and go. StorageFailed: the disk said no.
    """
    back: list[str] = []
    for _ in range(TRIES):
        disk = look(worktree, draft, jobs, file_modes=file_modes)
        away = stashes.put_away(worktree, repo, draft, tree, jobs, disk)
        if any(_half_written(noted, disk) for job in jobs for noted in job.paths):
            time.sleep(MOMENT)
            continue
        moved, written = _bring_back(worktree, draft, tree, jobs, disk, away)
        back += written
        if not moved and not written:
            return Seen(disk, away, tuple(dict.fromkeys(back)))
    raise Later("files come and go here; the next command commits them, or: admin save")


def _half_written(noted: Noted, disk: OnDisk) -> bool:
    """Whether a file looks as if somebody were just writing it: `git stash pop` makes it empty, and then fills it."""
    there = disk.files.get(noted.path)
    if there is None or there.status is None or noted.size is None or there.status.st_size >= noted.size:
        return False
    return time.time() - there.status.st_mtime < FRESH


def _bring_back(
    worktree: Worktree,
    draft: Draft,
    tree: ObjectID | None,
    jobs: Sequence[Intent],
    disk: OnDisk,
    away: Collection[str],
) -> tuple[bool, list[str]]:
    """Write the files again of which the disk has no trace, only what `tree` (HEAD's) has; their paths.

    Leaves alone what lies in a stash (`away`), what a later job wrote or removed, and what HEAD has in another form
    than when the job was written: that is somebody's commit, or another branch. True, too, if one has changed since
    the disk was looked at.
    """
    journal = Journal(worktree.state_dir)
    suspects = {
        noted.path
        for job in jobs
        for noted in job.paths
        if noted.path not in away
        and _as_committed(worktree, draft, tree, noted, disk)
        and (data := journal.content(job, noted.path)) is not None
        and not _is_there(disk, noted.path, data)
    }
    if not suspects:
        return False, []
    with _nobody_writes(worktree):
        found = _last_written(journal, suspects)
        moved = [path for path in found if not _unmoved(worktree, disk, path)]
        lost = [
            (noted, data)
            for path, (job, noted, data) in found.items()
            if path not in moved
            and not _is_there(disk, path, data)
            and _still_based(worktree, draft, tree, journal, job, path)
        ]
        for noted, data in lost:
            _write(worktree, noted, data)
    return bool(moved), [noted.path for noted, _ in lost]


def keep_in_place(worktree: Worktree, repo: Repo, paths: Mapping[str, Tracked | None], since: int) -> None:
    """Write again what was taken from the disk while its commit was made, unless a stash of after `since` holds it.

    Otherwise the user's next `git commit -a` would remove it.
    """
    with Folders(worktree.root) as folders:
        gone = [path for path, entry in paths.items() if entry and files.status_in(folders, path) is None]
    if not gone:
        return
    held_by_git = stashes.holding(worktree, repo, gone, since)
    journal = Journal(worktree.state_dir)
    with _nobody_writes(worktree):
        for path, (_, noted, data) in _last_written(journal, set(gone) - held_by_git).items():
            if files.status_of(worktree.root, path) is None:
                _write(worktree, noted, data)


@contextmanager
def _nobody_writes(worktree: Worktree) -> Iterator[None]:
    with held(worktree.state_dir / "write.lock", patience=PATIENCE) as mine:
        if not mine:
            raise Later("files are being written here; the next command commits it, or: admin save")
        yield


def _as_committed(worktree: Worktree, draft: Draft, tree: ObjectID | None, noted: Noted, disk: OnDisk) -> bool:
    """Whether a job wrote a path and the disk has there what HEAD has, or neither has anything."""
    if noted.size is None or (noted.path not in disk.gone and noted.path not in disk.files):
        return False
    committed, there = draft.lookup(tree, os.fsencode(worktree.prefix + noted.path)), disk.files.get(noted.path)
    return (committed[1] if committed else None) == (there.blob if there else None)


def _is_there(disk: OnDisk, path: str, data: bytes) -> bool:
    there = disk.files.get(path)
    return there is not None and there.blob.decode() == blob_id(data)


def _last_written(journal: Journal, paths: Collection[str]) -> dict[str, tuple[Intent, Noted, bytes]]:
    """What the last job with known bytes wrote at each path; nothing for a path that a later one removed.

    Under the write lock: so a job that is only begun belongs to a dead process.
    """
    found: dict[str, tuple[Intent, Noted, bytes]] = {}
    noted_ones = [(job, noted) for job in (*journal.pending(), *journal.orphans()) for noted in job.paths]
    for job, noted in sorted((one for one in noted_ones if one[1].path in paths), key=_when):
        data = journal.content(job, noted.path)
        if noted.gone:
            found.pop(noted.path, None)
        elif data is not None:
            found[noted.path] = (job, noted, data)
    return found


def _when(one: tuple[Intent, Noted]) -> str:
    return one[0].name


def _unmoved(worktree: Worktree, disk: OnDisk, path: str) -> bool:
    """Whether the path is still as it was when the disk was looked at."""
    now, there = files.status_of(worktree.root, path), disk.files.get(path)
    if now is None or there is None or there.status is None:
        return now is None and there is None
    return (now.st_ino, now.st_mtime_ns, now.st_size) == (
        there.status.st_ino,
        there.status.st_mtime_ns,
        there.status.st_size,
    )


def _still_based(
    worktree: Worktree, draft: Draft, tree: ObjectID | None, journal: Journal, job: Intent, path: str
) -> bool:
    """Whether HEAD has the path as it did when the job was written, or as a commit of ours left it since."""
    name = os.fsencode(worktree.prefix + path)
    now = draft.lookup(tree, name)
    blob = now[1].decode() if now else None
    if any(record.paths[path] == blob for record in journal.records() if path in record.paths):
        return True
    try:
        return now == (draft.lookup(draft.tree_of(ObjectID(job.head.encode())), name) if job.head else None)
    except KeyError:
        return False  # a commit that was cleared away


def _write(worktree: Worktree, noted: Noted, data: bytes) -> None:
    files.write_file(worktree.root, noted.path, data, executable=noted.executable)
