"""Writes of ours that somebody's commit left out, though nobody meant to: found, and noted to be committed again.

No lock protects a `git commit` or merge from a branch that moves while it is being prepared: it may conclude with an
index that lacks our newest file, and so remove it from HEAD. The file itself stays where it is, and that is how such
a removal is told from one that somebody wanted. Reads objects and files; the commit is the journal's business.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from dulwich.objects import Commit, ObjectID

from ai_lessons.errors import AiLessonsError
from ai_lessons.repository import files, git
from ai_lessons.repository.contents import blobs
from ai_lessons.repository.journal import Intent, Noted, new_name
from ai_lessons.repository.objects import Draft, contains

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dulwich.repo import Repo

    from ai_lessons.repository.journal import Journal, Record
    from ai_lessons.repository.worktree import Head, Worktree

TRAILER = "Restores"

LOOKED_AT, _TO_HEAD = 500, "reset: moving to HEAD"
"""The newest so many moves of HEAD; what git says of one that goes nowhere."""


class _Path(NamedTuple):
    """A path as a batch left it (a blob, or None for no file), and as HEAD has it."""

    path: str
    wanted: str | None
    there: str | None


def heal(worktree: Worktree, repo: Repo, journal: Journal, head: Head, when: float) -> Intent | None:
    """Note what was left out by accident, if anything was, as a job that waits. Under the commit lock.

    Looks closer only where somebody else has moved the branch since our last commit. What a later commit of others
    has is not looked at again.
    """
    last = journal.last()
    if head.commit is None or last is None or last.head == head.commit:
        return None
    draft = Draft(repo)
    tree = draft.tree_of(ObjectID(head.commit.encode()))
    staged = _staged(worktree)
    lost: dict[str, tuple[Noted, bytes | None]] = {}
    left_out: list[str] = []
    newer: set[str] = set()
    for name, record in journal.unseen():
        paths = [
            _Path(path, wanted, _blob(draft, tree, worktree.prefix + path)) for path, wanted in record.paths.items()
        ]
        own = [one for one in paths if one.path not in newer]
        newer |= record.paths.keys()
        gone = _accidents(worktree, repo, draft, record, head.commit, [one for one in own if one.wanted != one.there])
        lost |= gone
        left_out += [record.head] if gone else []
        if not gone and staged is not None and not any(worktree.prefix + one.path in staged for one in own):
            journal.seen(name)
    # to ignore a file is how one stops to track it and keeps it
    kept = sorted(lost.keys() - git.ignored(worktree, lost))
    return _note(journal, [lost[path] for path in kept], left_out, when, head.commit) if kept else None


def _blob(draft: Draft, tree: ObjectID, path: str) -> str | None:
    found = draft.lookup(tree, os.fsencode(path))
    return found[1].decode() if found else None


def _staged(worktree: Worktree) -> frozenset[str] | None:
    """Paths of which git's index says something else than HEAD; None without git."""
    done = git.run(worktree, "diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD")
    return frozenset(map(os.fsdecode, done.out.split(b"\0"))) if done is not None and not done.code else None


def _accidents(
    worktree: Worktree, repo: Repo, draft: Draft, record: Record, head: str, paths: Iterable[_Path]
) -> dict[str, tuple[Noted, bytes | None]]:
    """Those paths of one batch that HEAD has as they were before it, while the disk has them as it left them."""
    suspects = {one.path: one for one in paths}
    if not suspects or not record.head:
        return {}
    # after a reset, rebase or switch the history of HEAD has not the batch, and nothing was lost
    dropped = not contains(worktree, repo, head, record.head)
    if dropped and not any(contains(worktree, repo, old, record.head) for old in _reset_by_accident(worktree)):
        return {}
    base = _base(repo, draft, record)
    disk = _on_disk(worktree, draft, suspects)
    found: dict[str, tuple[Noted, bytes | None]] = {}
    for path, one in suspects.items():
        was = _blob(draft, base, worktree.prefix + path) if base else None
        # a file that somebody has edited since is as surely wanted as one that nobody has
        stays = disk[path] == one.wanted if one.there or not one.wanted else disk[path] is not None
        if dropped and one.wanted and one.there == was and disk[path] in {was, one.wanted}:
            found[path] = (Noted(path), _bytes(worktree, repo, one))
        elif stays and one.there == was:
            found[path] = (Noted(path, gone=one.wanted is None), None)
    return found


def _reset_by_accident(worktree: Worktree) -> list[str]:
    """Commits that a `git reset` to where HEAD stands took from the branch, as `git stash` does at its end.

    It reads HEAD, and sets the branch a moment later: what was committed in between is gone from both branch and disk.
    Such a move is never one that somebody wanted.
    """
    try:
        log = (worktree.git_dir / "logs" / "HEAD").read_text(errors="surrogateescape")
    except OSError:
        return []
    rows = [line.partition("\t") for line in log.splitlines()[-LOOKED_AT:]]
    return [row[:40] for row, _, what in rows if what == _TO_HEAD and row[:40] != row[41:81]]


def _bytes(worktree: Worktree, repo: Repo, one: _Path) -> bytes:
    """What a batch had at a path, as it lies on disk."""
    name = one.wanted or ""
    made = git.checked_out(worktree, worktree.prefix + one.path, name) if git.available() else None
    return bytes(repo.object_store[ObjectID(name.encode())].as_raw_string()) if made is None else made


def _base(repo: Repo, draft: Draft, record: Record) -> ObjectID | None:
    """The tree that the batch began with."""
    first = next((commit for commit in record.jobs.values() if commit), None)
    found = repo.object_store[ObjectID(first.encode())] if first else None
    parents = found.parents if isinstance(found, Commit) else []
    return draft.tree_of(ObjectID(parents[0])) if parents else None


def _on_disk(worktree: Worktree, draft: Draft, paths: Iterable[str]) -> Mapping[str, str | None]:
    """The blob of each file, None for no file. What cannot be read counts as no file: nobody can commit it."""
    contents = {}
    for path in paths:
        try:
            contents[path] = files.read_file(worktree.root, path)[0]
        except AiLessonsError:
            continue
    found = blobs(worktree, draft, contents)
    return {path: found[path].decode() if path in found else None for path in paths}


def _note(
    journal: Journal, lost: list[tuple[Noted, bytes | None]], left_out: list[str], when: float, head: str
) -> Intent:
    contents = [data for _, data in lost if data is not None]
    paths = [noted if data is None else noted._replace(size=len(data)) for noted, data in lost]
    what = paths[0].path if len(paths) == 1 else f"{len(paths)} files"
    trailers = "".join(f"{TRAILER}: {commit}\n" for commit in dict.fromkeys(left_out))
    message = f"Bring back {what} that a commit left out\n\n{trailers}"
    intent = Intent(new_name(), message, int(when), time.localtime(when).tm_gmtoff, tuple(paths), head=head)
    journal.begin(intent, contents)
    journal.ready(intent.name)
    return intent
