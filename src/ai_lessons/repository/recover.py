"""Finds and restores writes that a git command of the user took from the disk or off the branch."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING

from dulwich.diff_tree import tree_changes
from dulwich.objects import Commit, ObjectID

from ai_lessons.errors import AiLessonsError, Conflict
from ai_lessons.repository import files, git
from ai_lessons.repository.journal import BatchRecord, Intent
from ai_lessons.repository.objects import Draft, data_of
from ai_lessons.repository.store import Store, blob_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.worktree import Worktree
    from ai_lessons.repository.worktree_status import OnDisk

SHOWN = 3  # The most files that an answer names
LOOKED_AT = 20  # The most batches that are searched where the branch was set back


def swept(
    store: Store, draft: Draft, tree: ObjectID | None, head: str | None, jobs: Sequence[Intent], disk: OnDisk
) -> list[Intent]:
    """Note what the jobs wrote and neither the disk nor HEAD (whose tree is `tree`) has. Under the commit lock."""
    worktree, journal = store.worktree, store.journal
    written = sorted((*journal.pending(), *journal.orphans()), key=lambda job: job.name)
    last = {noted.path: job.name for job in written for noted in job.paths}
    result = []
    for job in jobs:
        gone = {}
        for path in (noted.path for noted in job.paths):
            data = journal.content(job, path) if last.get(path) == job.name else None
            if data is not None and path not in disk.unreadable and disk.data.get(path) != data:
                name, now = os.fsencode(worktree.prefix + path), disk.files.get(path)
                committed = draft.lookup(tree, name)
                as_committed = (committed[1] if committed else None) == (now[1] if now else None)
                if as_committed and not _was_committed(worktree, job, head, name, blob_id(data)):
                    gone[path] = data
        if gone:
            result.append(journal.sweep(job, gone))
    return result


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
    worktree, journal, result, draft = store.worktree, store.journal, [], Draft(repo)
    for record in islice(journal.records(), LOOKED_AT):
        if not record.head or record.head == head or git.is_ancestor(worktree, record.head, head):
            break  # older batches are below it
        refs = git.run(worktree, "for-each-ref", "--count=1", f"--contains={record.head}")
        if not refs.code and not refs.out:
            for commit in filter(None, record.jobs.values()):
                made = repo[ObjectID(commit.encode())]
                if isinstance(made, Commit) and (gone := _lost_of(worktree, repo, draft, made, head)):
                    author, message = (text.decode(errors="replace") for text in (made.author, made.message))
                    parent = made.parents[0].decode() if made.parents else None
                    job = Intent("", message, made.author_time, made.author_timezone, (), author, parent)
                    result.append(journal.sweep(job, gone))
    if result:
        journal.settle(BatchRecord(head, {}))  # they are not searched for again
    return result


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


def messages(jobs: Sequence[Intent]) -> list[str]:
    """The lines of the next answer about files that were taken away."""
    paths = [noted.path for job in jobs for noted in job.paths]
    lines = [
        f"{path} was taken away before its commit; its text is kept: ai-lessons admin recover {path}"
        for path in paths[:SHOWN]
    ]
    unnamed = len(paths) - SHOWN
    return [*lines, f"and {unnamed} more: ai-lessons admin recover --list"] if unnamed > 0 else lines


def returned(store: Store) -> None:
    """Make the jobs wait again whose files are back on the disk (`git stash pop`). Under the commit lock."""
    for job in store.journal.swept():
        if all(_read(store.worktree, noted.path) == store.journal.content(job, noted.path) for noted in job.paths):
            store.journal.ready(job.name)


def bring_back(store: Store, job: Intent) -> None:
    """Write the files of a swept job again. Raises Conflict: another text is there. StorageFailed."""
    with store.writing():
        contents = {noted: store.journal.content(job, noted.path) or b"" for noted in job.paths}
        for noted, data in contents.items():
            if store.exists(noted.path) and not _replaceable(store, job, noted.path, data):
                raise Conflict(
                    f"{noted.path} has another text now, so the kept one was not written",
                    hint=f"move that file away, then: ai-lessons admin recover {noted.path}",
                )
        with files.Staging(store.root) as staging:
            for noted, data in contents.items():
                staging.add(noted.path, data, executable=noted.executable)
            staging.publish()
            staging.settle()
        store.journal.ready(job.name)


def _replaceable(store: Store, job: Intent, path: str, data: bytes) -> bool:
    """Whether the file is what the job wrote, or what was there before the job."""
    now = store.read(path)
    if now == data or job.head is None:
        return now == data
    done = git.run(store.worktree, "cat-file", "--filters", f"{job.head}:{store.prefix}{path}")
    return not done.code and done.out == now


def _read(worktree: Worktree, path: str) -> bytes | None:
    try:
        return files.read_file(worktree.root, path)[0]
    except AiLessonsError:
        return None
