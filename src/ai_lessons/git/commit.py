"""From journaled jobs to commits: many jobs in one move of the branch, and recovery of what a dead process began.

The move itself is `branch_move`, the people are `identity`, what no commit has `uncommitted`.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from dulwich.objects import Commit, ObjectID

from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
)
from ai_lessons.git import files, objects, plumbing
from ai_lessons.git.branch_move import changed, committing, install, until_done
from ai_lessons.git.commits import EMPTY_TREE
from ai_lessons.git.identity import NO_IDENTITY, GitIdentity, stamp, zone
from ai_lessons.git.journal import BatchRecord, PendingCommit
from ai_lessons.git.objects import Draft, OnDisk, TreeEntry, data_of, opened, status_of
from ai_lessons.git.store import Applied, Store
from ai_lessons.git.worktree import (
    Head,
    Worktree,
    index_mark,
    read_head,
)
from ai_lessons.model.layout import blob_id

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dulwich.repo import Repo


# So many loose objects in one of 256 folders are many: so judges `git gc --auto`
_LOOSE, _SAMPLE = 27, "objects/17"
# Jobs that share one move of the branch
BATCH = 100
# Seconds to wait for a process of ours that commits: in passing, and to save
QUEUE, SAVE_QUEUE = 0.3, 10.0
# Seconds to try again while index or branch are locked or move: in passing, and to save
TRIES, SAVE_TRIES = 0.1, 5.0


AT_WORK = "you work with git here, so the next command commits it, or at once: admin save"


@dataclass(slots=True)
class _Outcome:
    """New commits, notes, why all jobs wait, and why single jobs wait.

    `insist`: a commit was asked for.
    """

    insist: bool
    commits: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waiting: str = ""
    blocked: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Batch:
    """Commits that nothing points to yet.

    `jobs` maps each to its commit, or "" where it changed nothing.
    """

    tip: ObjectID | None
    tree: ObjectID | None
    committer: str
    jobs: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)
    entries: dict[bytes, TreeEntry | None] = field(default_factory=dict)


class Committer:
    """Makes commits of what one store's journal notes. Any number of processes may have one."""

    def __init__(self, store: Store) -> None:
        self._store, self._journal, self._worktree = store, store.journal, store.worktree
        self._people = GitIdentity(store.worktree)

    def __call__(self, name: str | None) -> Applied:
        """Commit every noted job.

        How the named one ended, or, without a name and with more patience, all.
        """
        outcome = _Outcome(insist=name is None)

        def done() -> bool:
            return name is not None and not self._journal.waits(name)

        locked = False
        try:
            with committing(self._store, QUEUE if name else SAVE_QUEUE, done):
                locked = True
                self._drain(outcome)
        except AiLessonsError as error:
            # the files are in place: the caller's job is done, and its commit waits
            outcome.waiting = error.message
            if locked:
                # else the process that commits reports them
                outcome.notes += messages(self._journal.missing(self._store.root))
        if self._people.unsigned and outcome.commits:
            outcome.notes.append(self._people.unsigned)
        commits, reason = (
            outcome.commits,
            outcome.waiting or next(iter(outcome.blocked.values()), ""),
        )
        if done():
            commits, reason = list(filter(None, [self._journal.commit_of(name or "")])), ""
        elif name:
            commits, reason = (
                [],
                outcome.blocked.get(name) or outcome.waiting or "the next command commits it",
            )
        return Applied(tuple(commits), reason, tuple(outcome.notes))

    def _drain(self, outcome: _Outcome) -> None:
        """Commit all that was noted until now, under our lock."""
        self._store.take_up_orphans()
        returned(self._store)
        jobs = self._journal.pending()
        if jobs and not objects.busy(self._worktree):
            left = self._at_work(outcome)
        else:
            left = 0.0
        if left and len(jobs) == 1 and left <= objects.SETTLE:
            # the user's command is done, and no other write waits for this one
            time.sleep(left)
            left = self._at_work(outcome)
        if left:
            raise Conflict(AT_WORK)
        for start in range(0, len(jobs) or 1, BATCH):
            with opened(self._worktree) as repo:
                attempt = partial(self._attempt, repo, jobs[start : start + BATCH], outcome)
                until_done(self._worktree, attempt, SAVE_TRIES if outcome.insist else TRIES)
        with suppress(FileNotFoundError):
            if outcome.commits and len(os.listdir(self._worktree.common_dir / _SAMPLE)) > _LOOSE:
                # never waited for nor ended: killed, it would leave git's lock on branches
                plumbing.leave_running(self._worktree, "gc", "--auto", "--quiet")

    def _at_work(self, outcome: _Outcome) -> float:
        """Seconds to wait while the user works with git here; 0.0 where a commit was asked for."""
        last = next(self._journal.records(), None)
        if outcome.insist:
            return 0.0
        return objects.at_work(self._worktree, last.head if last else None)

    def _attempt(self, repo: Repo, jobs: Sequence[PendingCommit], outcome: _Outcome) -> None:
        """Commit these jobs.

        Raises Conflict; GitLocked: the branch or git's index is not as it was any more.
        """
        head, mark = read_head(self._worktree), index_mark(self._worktree)
        if head.ref and head.commit:
            # now, because a commit of ours on top of it would hide what the user's git did
            outcome.notes += messages(dropped(self._store, repo, head.commit))
        if not jobs:
            return
        if head.ref is None:
            if (self._worktree.top / ".jj").is_dir():
                raise Conflict("jj keeps HEAD detached; commit the files with jj")
            raise Conflict(
                "HEAD is detached; check out a branch (git switch NAME), and the next "
                "command commits it"
            )
        draft, when = Draft(repo), int(time.time())
        start = None
        if head.commit:
            start = ObjectID(head.commit.encode())
        tree = None
        if start:
            tree = draft.tree_of(start)
        disk = status_of(self._worktree, draft, [noted for job in jobs for noted in job.paths])
        batch = _Batch(start, tree, self._people.committer() or "")
        self._build(draft, batch, jobs, disk, when)
        tip = None
        if batch.tip:
            tip = batch.tip.decode()
        if batch.entries:
            subjects = []
            for job in jobs:
                if batch.jobs.get(job.name):
                    subjects.append(job.subject)
            if len(subjects) > 1:
                earlier = f" (and {len(subjects) - 1} more)"
            else:
                earlier = ""
            log = (
                f"{batch.committer} {when} {zone(when)}\tcommit: {''.join(subjects[-1:])}{earlier}"
            )
            self._move(draft, batch, head, mark, log, outcome)
        dealt = []
        for job in jobs:
            if job.name in batch.jobs:
                dealt.append(job)
        outcome.notes += messages(swept(self._store, draft, tree, head.commit, dealt, disk))
        outcome.blocked |= batch.blocked
        outcome.commits += filter(None, batch.jobs.values())
        if batch.jobs:
            self._journal.settle(BatchRecord(tip or "", batch.jobs))

    def _move(
        self, draft: Draft, batch: _Batch, head: Head, mark: str, log: str, outcome: _Outcome
    ) -> None:
        """Bring the new commits to the disk, then move branch and index to the last one.

        Raises as `_attempt`.
        """
        tip = None
        if batch.tip:
            tip = batch.tip.decode()
        with ThreadPoolExecutor(1) as pool:
            # the objects go to the disk while git makes the index
            saving = pool.submit(draft.save)
            with changed(self._worktree, tip, batch.entries) as index:
                saving.result()
                if self._at_work(outcome):
                    # a `git pull` that began meanwhile fails if HEAD moves under it
                    raise Conflict(AT_WORK)
                install(self._worktree, head, tip, (index, mark), log)

    def _build(
        self, draft: Draft, batch: _Batch, jobs: Sequence[PendingCommit], disk: OnDisk, when: int
    ) -> None:
        prefix, blocked = (
            self._worktree.prefix,
            {path: fault.message for path, fault in disk.unreadable.items()},
        )
        for path in (
            name.removeprefix(prefix)
            for name in plumbing.unmerged(self._worktree)
            if name.startswith(prefix)
        ):
            blocked.setdefault(
                path, f"{path} is in conflict; resolve it (git add {path}) and it is committed"
            )
        for job in jobs:
            author = job.author or self._people.author()
            reason = next((blocked[noted.path] for noted in job.paths if noted.path in blocked), "")
            if not reason and not (author and (batch.committer or job.author)):
                reason = NO_IDENTITY
            try:
                if not reason:
                    self._append(draft, batch, job, disk, author or "", when)
            except Conflict as error:
                reason = error.message
            if reason:
                batch.blocked[job.name] = reason

    def _append(
        self, draft: Draft, batch: _Batch, job: PendingCommit, disk: OnDisk, author: str, when: int
    ) -> None:
        entries = {}
        for noted in job.paths:
            ours, entry = disk.entry_for(noted)
            if ours:
                entries[os.fsencode(self._worktree.prefix + noted.path)] = entry
        edits = {
            name: entry
            for name, entry in entries.items()
            if draft.lookup(batch.tree, name) != entry
        }
        batch.jobs[job.name] = ""
        if edits:
            batch.committer = batch.committer or author
            tree = draft.edit(batch.tree, edits)
            by, committer = (author, job.when, job.zone), stamp(batch.committer, when)
            if batch.tip:
                parents = [batch.tip]
            else:
                parents = []
            batch.tip = self._people.commit(
                draft, tree, parents, job.message, author=by, committer=committer
            )
            batch.tree, batch.jobs[job.name] = tree, batch.tip.decode()
        batch.entries |= entries


def swept(
    store: Store,
    draft: Draft,
    tree: ObjectID | None,
    head: str | None,
    jobs: Sequence[PendingCommit],
    disk: OnDisk,
) -> list[PendingCommit]:
    """Note what the jobs wrote and neither the disk nor HEAD (whose tree is `tree`) has.

    Under the commit lock.
    """
    worktree, journal = store.worktree, store.journal
    written = sorted((*journal.pending(), *journal.orphans()), key=lambda job: job.name)
    last = {noted.path: job.name for job in written for noted in job.paths}
    result = []
    for job in jobs:
        gone = {}
        for path in (noted.path for noted in job.paths):
            data = None
            if last.get(path) == job.name:
                data = journal.content(job, path)
            if data is not None and path not in disk.unreadable and disk.data.get(path) != data:
                name, now = os.fsencode(worktree.prefix + path), disk.files.get(path)
                committed = draft.lookup(tree, name)
                as_committed = (committed[1] if committed else None) == (now[1] if now else None)
                if as_committed and not _was_committed(worktree, job, head, name, blob_id(data)):
                    gone[path] = data
        if gone:
            result.append(journal.sweep(job, gone))
    return result


def _was_committed(
    worktree: Worktree, job: PendingCommit, head: str | None, name: bytes, blob: str
) -> bool:
    """Whether the user committed what the job wrote, and changed or removed it in a later commit."""
    if head is None or head == job.head:
        return False
    if job.head:
        span = f"{job.head}..{head}"
    else:
        span = head
    return plumbing.stood(worktree, span, os.fsdecode(name), blob)


def dropped(store: Store, repo: Repo, head: str) -> list[PendingCommit]:
    """Note what our commits wrote and no branch nor the disk has (as after `git stash`).

    Under the commit lock.
    """
    worktree, journal, result, draft = store.worktree, store.journal, [], Draft(repo)
    # each record costs a question to git: a branch that was set back farther is left as it is
    for record in islice(journal.records(), 20):
        if (
            not record.head
            or record.head == head
            or plumbing.is_ancestor(worktree, record.head, head)
        ):
            # older batches are below it
            break
        refs = plumbing.run(worktree, "for-each-ref", "--count=1", f"--contains={record.head}")
        if not refs.code and not refs.out:
            for commit in filter(None, record.jobs.values()):
                made = repo[ObjectID(commit.encode())]
                if isinstance(made, Commit) and (
                    gone := _lost_of(worktree, repo, draft, made, head)
                ):
                    author, message = (
                        text.decode(errors="replace") for text in (made.author, made.message)
                    )
                    parent = None
                    if made.parents:
                        parent = made.parents[0].decode()
                    job = PendingCommit(
                        "", message, made.author_time, made.author_timezone, (), author, parent
                    )
                    result.append(journal.sweep(job, gone))
    if result:
        # they are not searched for again
        journal.settle(BatchRecord(head, {}))
    return result


def _lost_of(
    worktree: Worktree, repo: Repo, draft: Draft, made: Commit, head: str
) -> dict[str, bytes]:
    tree, lost, prefix = draft.tree_of(head), dict[str, bytes](), os.fsencode(worktree.prefix)
    changes = objects.changed(worktree, made.parents[0] if made.parents else EMPTY_TREE, made.id)
    for name, (_, new) in changes.items():
        if new is None or not name.startswith(prefix):
            continue
        path, committed = os.fsdecode(name.removeprefix(prefix)), draft.lookup(tree, name)
        done = plumbing.checked_out(worktree, path, new[1].decode())
        if done.code:
            data = data_of(repo, new[1].decode())
        else:
            data = done.out
        if (committed is None or committed[1] != new[1]) and _read(worktree, path) != data:
            lost[path] = data
    return lost


def messages(jobs: Sequence[PendingCommit]) -> list[str]:
    """The lines of the next answer about files that were taken away."""
    paths = []
    for job in jobs:
        for noted in job.paths:
            paths.append(noted.path)
    lines = []
    for path in paths[:3]:
        lines.append(
            f"{path} was taken away before its commit; its text is kept: ai-lessons admin "
            f"recover {path}"
        )
    if len(paths) > 3:
        return [*lines, f"and {len(paths) - 3} more: ai-lessons admin recover --list"]
    return lines


def returned(store: Store) -> None:
    """Make the jobs wait again whose files are back on the disk (`git stash pop`).

    Under the commit lock.
    """
    for job in (job for job in store.journal.kept() if not job.root):
        if all(
            _read(store.worktree, noted.path) == store.journal.content(job, noted.path)
            for noted in job.paths
        ):
            store.journal.ready(job.name)


def bring_back(store: Store, job: PendingCommit, paths: Collection[str]) -> None:
    """Write these files of a job again. Raises Conflict: another text is there. StorageFailed."""
    with store.writing():
        contents = {
            noted: store.content(job, noted.path) or b""
            for noted in job.paths
            if noted.path in paths
        }
        for noted, data in contents.items():
            if (
                store.exists(noted.path)
                and not job.root
                and not _replaceable(store, job, noted.path, data)
            ):
                hint = f"move that file away, then: ai-lessons admin recover {noted.path}"
                raise Conflict(
                    f"{noted.path} has another text now, so the kept one was not written", hint=hint
                )
        with files.Staging(store.root) as staging:
            for noted, data in contents.items():
                staging.add(noted.path, data, executable=noted.executable)
            staging.publish()
            staging.settle()
        if not job.root:
            store.journal.ready(job.name)


def _replaceable(store: Store, job: PendingCommit, path: str, data: bytes) -> bool:
    """Whether the file is what the job wrote, or what was there before the job."""
    now = files.read_file(store.root, path)[0]
    if now == data or job.head is None:
        return now == data
    done = plumbing.checked_out(store.worktree, path, f"{job.head}:{store.prefix}{path}")
    return not done.code and done.out == now


def _read(worktree: Worktree, path: str) -> bytes | None:
    try:
        return files.read_file(worktree.root, path)[0]
    except AiLessonsError:
        return None
