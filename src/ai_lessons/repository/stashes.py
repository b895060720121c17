"""What lies in git's stash: a write that waits for its commit goes there with the user's edits, and comes back so.

Reads the stash's log and commits. Changes nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from dulwich.objects import Commit, ObjectID

from ai_lessons.repository.objects import Draft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.contents import OnDisk
    from ai_lessons.repository.journal import Intent
    from ai_lessons.repository.worktree import Worktree

LOOKED_AT = 20
"""The newest so many stashes."""

TAKES = 10
"""Seconds between the date of a stash, which is when git began, and its last look at untracked files."""


class _Stash(NamedTuple):
    """When it was made, and trees: what it was made on, tracked files as they were, untracked ones if it took them."""

    when: int
    before: ObjectID
    tracked: ObjectID
    untracked: ObjectID | None


def put_away(
    worktree: Worktree, repo: Repo, draft: Draft, tree: ObjectID | None, jobs: Sequence[Intent], disk: OnDisk
) -> frozenset[str]:
    """The noted paths that a stash took after their job, so that the disk has them as `tree` (HEAD's) or not at all."""
    stashes = list(_stashes(worktree, repo, draft))
    found = set()
    for job in jobs if stashes else ():
        for noted in job.paths:
            name = os.fsencode(worktree.prefix + noted.path)
            now, committed = disk.files.get(noted.path), draft.lookup(tree, name)
            if noted.gone or (now is not None and (committed is None or committed[1] != now.blob)):
                continue  # there is something to commit
            if any(one.when + TAKES >= job.when and _holds(draft, one, name) for one in stashes):
                found.add(noted.path)
    return frozenset(found)


def holding(worktree: Worktree, repo: Repo, paths: Iterable[str], since: int) -> frozenset[str]:
    """Those paths that a stash of after `since` (seconds) holds."""
    draft = Draft(repo)
    newer = [one for one in _stashes(worktree, repo, draft) if one.when + TAKES >= since]
    names = {path: os.fsencode(worktree.prefix + path) for path in paths}
    return frozenset(path for path, name in names.items() if any(_holds(draft, one, name) for one in newer))


def _holds(draft: Draft, stash: _Stash, name: bytes) -> bool:
    held = draft.lookup(stash.tracked, name)
    changed = held is not None and held != draft.lookup(stash.before, name)
    return changed or draft.lookup(stash.untracked, name) is not None


def _stashes(worktree: Worktree, repo: Repo, draft: Draft) -> Iterator[_Stash]:
    try:
        log = (worktree.common_dir / "logs" / "refs" / "stash").read_bytes()
    except OSError:
        return
    for line in log.splitlines()[-LOOKED_AT:]:
        row, words = line.split(b" "), line.partition(b"\t")[0].rsplit(b" ", 2)
        try:
            made = repo[ObjectID(row[1])]
            if isinstance(made, Commit) and len(made.parents) > 1:
                before, _, *untracked = (draft.tree_of(parent) for parent in made.parents)
                yield _Stash(int(words[-2]), before, ObjectID(made.tree), untracked[0] if untracked else None)
        except (KeyError, ValueError, IndexError):
            continue  # not a line of git's, or a commit that was cleared away
