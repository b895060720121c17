"""Writes that a git command of the user's took from the disk, or off the branch: found, named, and brought back."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING

from dulwich.diff_tree import tree_changes
from dulwich.objects import Commit, ObjectID

from ai_lessons.errors import AiLessonsError, Conflict
from ai_lessons.repository import files, git
from ai_lessons.repository.journal import BatchRecord, Intent, Noted
from ai_lessons.repository.objects import Draft, data_of
from ai_lessons.repository.store import Store, blob_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.worktree import Worktree
    from ai_lessons.repository.worktree_status import OnDisk

SHOWN = 3  # So many files are named in an answer
LOOKED_AT = 20  # The newest so many batches of ours are looked for where the branch was set back


def swept(
    store: Store, draft: Draft, tree: ObjectID | None, head: str | None, jobs: Sequence[Intent], disk: OnDisk
) -> list[Intent]:
    """Note what the jobs wrote and neither the disk nor HEAD (whose tree is `tree`) has. Under the commit lock."""
    worktree, journal = store.worktree, store.journal
    noted = sorted((*journal.pending(), *journal.orphans()), key=lambda job: job.name)
    last = {one.path: job.name for job in noted for one in job.paths}
    found = []
    for job in jobs:
        gone = {}
        for one in job.paths:
            data = journal.content(job, one.path) if last.get(one.path) == job.name else None
            if data is not None and one.path not in disk.unreadable and disk.data.get(one.path) != data:
                name, now = os.fsencode(worktree.prefix + one.path), disk.files.get(one.path)
                there = draft.lookup(tree, name)
                as_committed = (there[1] if there else None) == (now[1] if now else None)
                if as_committed and not _was_committed(worktree, job, head, name, blob_id(data)):
                    gone[one.path] = data
        if gone:
            found.append(journal.sweep(job, gone))
    return found


def _was_committed(worktree: Worktree, job: Intent, head: str | None, name: bytes, blob: str) -> bool:
    """Whether the user committed what the job wrote, and changed or removed it in a later commit."""
    if head is None or head == job.head:
        return False
    span = f"{job.head}..{head}" if job.head else head
    shown = ("--format=", "--raw", "--no-abbrev", "--diff-merges=separate", "-z")
    done = git.run(worktree, "--literal-pathspecs", "log", *shown, span, "--", os.fsdecode(name))
    return not done.code and blob.encode() in done.out


def dropped(store: Store, repo: Repo, head: str) -> list[Intent]:
    """Note what our commits wrote and no branch nor the disk has (as after `git stash`). Under the commit lock."""
    worktree, journal, found, draft = store.worktree, store.journal, [], Draft(repo)
    for record in islice(journal.records(), LOOKED_AT):
        if not record.head or record.head == head or git.is_ancestor(worktree, record.head, head):
            break  # older batches are below it
        refs = git.run(worktree, "for-each-ref", "--count=1", f"--contains={record.head}")
        if not refs.code and not refs.out:
            for commit in filter(None, record.jobs.values()):
                made = repo[ObjectID(commit.encode())]
                if isinstance(made, Commit) and (gone := _lost_of(worktree, repo, draft, made, head)):
                    author, said = (text.decode(errors="replace") for text in (made.author, made.message))
                    parent = made.parents[0].decode() if made.parents else None
                    job = Intent("", said, made.author_time, made.author_timezone, (), author, parent)
                    found.append(journal.sweep(job, gone))
    if found:
        journal.settle(BatchRecord(head, {}))  # so that they are not looked for again
    return found


def _lost_of(worktree: Worktree, repo: Repo, draft: Draft, made: Commit, head: str) -> dict[str, bytes]:
    tree = draft.tree_of(ObjectID(head.encode()))
    before = draft.tree_of(ObjectID(made.parents[0])) if made.parents else None
    lost = {}
    for change in tree_changes(repo.object_store, before, ObjectID(made.tree)):
        new, prefix = change.new, os.fsencode(worktree.prefix)
        if new is None or new.path is None or new.sha is None or not new.path.startswith(prefix):
            continue
        path, committed = os.fsdecode(new.path.removeprefix(prefix)), draft.lookup(tree, new.path)
        done = git.run(worktree, "cat-file", "--filters", f"--path={worktree.prefix}{path}", new.sha.decode())
        data = None if done.code else done.out
        data = data_of(repo, new.sha.decode()) if data is None else data
        if (committed is None or committed[1] != new.sha) and _read(worktree, path) != data:
            lost[path] = data
    return lost


def told(found: Sequence[Intent]) -> list[str]:
    """What the next answer says about it."""
    paths = [one.path for job in found for one in job.paths]
    rows = [
        f"{path} was taken away before its commit; its text is kept: ai-lessons admin recover {path}"
        for path in paths[:SHOWN]
    ]
    more = len(paths) - SHOWN
    return [*rows, f"and {more} more: ai-lessons admin recover --list"] if more > 0 else rows


def returned(store: Store) -> None:
    """Take up what lies on the disk again as it was swept away (`git stash pop`). Under the commit lock."""
    for job in store.journal.swept():
        if all(_read(store.worktree, one.path) == store.journal.content(job, one.path) for one in job.paths):
            store.journal.ready(job.name)


def bring_back(store: Store, job: Intent) -> None:
    """Write the files of a job that was swept away again. Raises Conflict: another text is there. StorageFailed."""
    with store.writing():
        wanted = {one: store.journal.content(job, one.path) or b"" for one in job.paths}
        for one, data in wanted.items():
            if store.exists(one.path) and not _replaceable(store, job, one, data):
                raise Conflict(
                    f"{one.path} has another text now, so the kept one was not written",
                    hint=f"move that file away, then: ai-lessons admin recover {one.path}",
                )
        with files.Staging(store.root) as staging:
            for one, data in wanted.items():
                staging.add(one.path, data, executable=one.executable)
            staging.publish()
            staging.settle()
        store.journal.ready(job.name)


def _replaceable(store: Store, job: Intent, one: Noted, data: bytes) -> bool:
    """Whether the file is what the job wrote, or what the job found there."""
    now = store.read(one.path)
    if now == data or job.head is None:
        return now == data
    done = git.run(store.worktree, "cat-file", "--filters", f"{job.head}:{store.prefix}{one.path}")
    return not done.code and done.out == now


def _read(worktree: Worktree, path: str) -> bytes | None:
    try:
        return files.read_file(worktree.root, path)[0]
    except AiLessonsError:
        return None
