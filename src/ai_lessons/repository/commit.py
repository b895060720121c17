"""Group commit: the process with our commit lock commits every job that waits, one commit a job."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from dulwich.objects import ObjectID

from ai_lessons.errors import AiLessonsError, Conflict, Refused, StorageFailed
from ai_lessons.repository import branch_update, checkout, git, recover, worktree_status
from ai_lessons.repository.journal import BatchRecord, Intent
from ai_lessons.repository.objects import Draft, TreeEntry, opened
from ai_lessons.repository.store import Applied, Store
from ai_lessons.repository.worktree import Worktree, read_head
from ai_lessons.repository.worktree_status import OnDisk, look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dulwich.repo import Repo


_LOOSE, _SAMPLE = 27, "objects/17"  # So many loose objects in one of 256 folders are many: so judges `git gc --auto`
BATCH = 100  # Jobs that share one move of the branch
QUEUE, SAVE_QUEUE = 0.3, 10.0  # Seconds to wait for a process of ours that commits: in passing, and to save
TRIES, SAVE_TRIES = 0.1, 5.0  # Seconds to try again while index or branch are locked or move: in passing, and to save
NO_IDENTITY = (
    "git does not know who you are; tell it once: git config --global user.name NAME"
    " and git config --global user.email ADDRESS"
)

NO_KEY = (
    "git has to know your key (git config --global gpg.format ssh; git config --global user.signingkey"
    " ~/.ssh/id_ed25519.pub), and one with a passphrase needs a terminal, or ssh-add first"
)


class People:
    """Author, committer and whether commits are signed, by git's rules. Signing stops at the first failure."""

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self._identities: tuple[str | None, str | None, bool] = (None, None, False)
        self.unsigned = ""

    def author(self) -> str | None:
        """`Name <email>` of the author, None if git does not know."""
        return self._asked()[0]

    def committer(self) -> str | None:
        """`Name <email>` of the committer, None if git does not know."""
        return self._asked()[1]

    def _asked(self) -> tuple[str | None, str | None, bool]:
        """Author, committer, signed; asked again while git lacks one, because the user may set it meanwhile."""
        if None in self._identities:
            signed = git.setting(self._worktree, "commit.gpgsign", kind="bool") == "true"
            self._identities = git.identity(self._worktree, "AUTHOR"), git.identity(self._worktree), signed
        return self._identities

    def commit(
        self,
        draft: Draft,
        job: Intent,
        tree: ObjectID,
        parents: Sequence[ObjectID],
        who: tuple[str, str, int],
        *,
        sign: bool | None = None,
    ) -> ObjectID:
        """A commit by `who` (author, committer, seconds of the committer), signed if the user's settings ask for it.

        If signing fails, `unsigned` has the reason; with `sign` it raises Refused.
        """
        author, committer, when = who
        if sign or (sign is None and self._asked()[2] and not self.unsigned):
            draft.save()
            people = _environment("AUTHOR", author, job.when, job.zone) | _environment("COMMITTER", committer, when)
            before = [parent.decode() for parent in parents]
            try:
                ask = bool(sign) and os.isatty(0)
                done = git.signed_commit(self._worktree, tree.decode(), before, job.message.encode(), people, ask=ask)
                if not done.code:
                    return ObjectID(done.out.strip())
                fault = done.err or "git said no"
            except StorageFailed as error:
                fault = error.message
            if sign:
                raise Refused(f"git could not sign the approval: {' '.join(fault.split())}", hint=NO_KEY)
            self.unsigned = f"unsigned: {fault.splitlines()[0]}"
        return draft.commit(
            tree,
            parents,
            job.message,
            author=(author, job.when, job.zone),
            committer=(committer, when, time.localtime(when).tm_gmtoff),
        )


def _environment(role: str, who: str, when: int, offset: int | None = None) -> dict[str, str]:
    name, _, email = who.rpartition(" <")
    stamp = f"@{when} {zone(when, offset)}"
    return {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": email.rstrip(">"), f"GIT_{role}_DATE": stamp}


def zone(when: int, offset: int | None = None) -> str:
    """`+hhmm` for an offset in seconds; None: the local one at that time."""
    seconds = time.localtime(when).tm_gmtoff if offset is None else offset
    return f"{'-' if seconds < 0 else '+'}{abs(seconds) // 3600:02d}{abs(seconds) % 3600 // 60:02d}"


AT_WORK = "you work with git here, so the next command commits it, or at once: admin save"


@dataclass(slots=True)
class _Outcome:
    """New commits, notes, why all jobs wait, and why single jobs wait. `insist`: a commit was asked for."""

    insist: bool
    commits: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waiting: str = ""
    blocked: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Batch:
    """Commits that nothing points to yet; `jobs` maps each to its commit, or "" where it changed nothing."""

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
        self._people = People(store.worktree)

    def commit(self, name: str | None) -> Applied:
        """Commit every noted job; how the named one ended, or, without a name and with more patience, all.

        The files are in place, so a failure is a reason to wait, never an error of the caller's.
        """
        outcome = _Outcome(insist=name is None)

        def done() -> bool:
            return name is not None and not self._journal.waits(name)

        locked = False
        try:
            with checkout.committing(self._store, QUEUE if name else SAVE_QUEUE, done):
                locked = True
                self._drain(outcome)
        except AiLessonsError as error:
            outcome.waiting = error.message
            if locked:  # else the process that commits reports them
                outcome.notes += recover.messages(self._journal.missing(self._store.root))
        if self._people.unsigned and outcome.commits:
            outcome.notes.append(self._people.unsigned)
        commits, reason = outcome.commits, outcome.waiting or next(iter(outcome.blocked.values()), "")
        if done():
            commits, reason = list(filter(None, [self._journal.commit_of(name or "")])), ""
        elif name:
            commits, reason = [], outcome.blocked.get(name) or outcome.waiting or "the next command commits it"
        return Applied(tuple(commits), reason, tuple(outcome.notes))

    def _drain(self, outcome: _Outcome) -> None:
        """Commit all that was noted until now, under our lock."""
        self._store.take_up_orphans()
        recover.returned(self._store)
        jobs = self._journal.pending()
        left = self._at_work(outcome) if jobs and not worktree_status.busy(self._worktree) else 0.0
        if left and len(jobs) == 1 and left <= worktree_status.SETTLE:
            time.sleep(left)  # the user's command is done, and no other write waits for this one
            left = self._at_work(outcome)
        if left:
            raise Conflict(AT_WORK)
        for start in range(0, len(jobs) or 1, BATCH):
            with opened(self._worktree) as repo:
                attempt = partial(self._attempt, repo, jobs[start : start + BATCH], outcome)
                branch_update.until_done(self._worktree, attempt, SAVE_TRIES if outcome.insist else TRIES)
        with suppress(FileNotFoundError):
            if outcome.commits and len(os.listdir(self._worktree.common_dir / _SAMPLE)) > _LOOSE:
                # never waited for nor ended: killed, it would leave git's lock on branches
                git.leave_running(self._worktree, "gc", "--auto", "--quiet")

    def _at_work(self, outcome: _Outcome) -> float:
        """Seconds to wait while the user works with git here; 0.0 where a commit was asked for."""
        last = next(self._journal.records(), None)
        return 0.0 if outcome.insist else worktree_status.at_work(self._worktree, last.head if last else None)

    def _attempt(self, repo: Repo, jobs: Sequence[Intent], outcome: _Outcome) -> None:
        """Commit these jobs. Raises Conflict; Taken: the branch or git's index is not as it was any more."""
        head, mark = read_head(self._worktree), worktree_status.index_mark(self._worktree)
        if head.ref and head.commit:  # now, because a commit of ours on top of it would hide what the user's git did
            outcome.notes += recover.messages(recover.dropped(self._store, repo, head.commit))
        if not jobs:
            return
        if head.ref is None:
            raise Conflict("HEAD is detached; check out a branch (git switch NAME), and the next command commits it")
        draft, when = Draft(repo), int(time.time())
        start = ObjectID(head.commit.encode()) if head.commit else None
        tree = draft.tree_of(start) if start else None
        disk = look(self._worktree, draft, [noted for job in jobs for noted in job.paths])
        batch = _Batch(start, tree, self._people.committer() or "")
        self._build(draft, batch, jobs, disk, when)
        tip = batch.tip.decode() if batch.tip else None
        if batch.entries:
            subjects = [job.subject for job in jobs if batch.jobs.get(job.name)]
            earlier = f" (and {len(subjects) - 1} more)" if len(subjects) > 1 else ""
            log = f"{batch.committer} {when} {zone(when)}\tcommit: {''.join(subjects[-1:])}{earlier}"
            with ThreadPoolExecutor(1) as pool:  # the objects go to the disk while git makes the index
                saving = pool.submit(draft.save)
                with branch_update.changed(self._worktree, tip, batch.entries) as index:
                    saving.result()
                    if self._at_work(outcome):  # a `git pull` that began meanwhile fails if HEAD moves under it
                        raise Conflict(AT_WORK)
                    branch_update.install(self._worktree, head, tip, (index, mark), log)
        dealt = [job for job in jobs if job.name in batch.jobs]
        outcome.notes += recover.messages(recover.swept(self._store, draft, tree, head.commit, dealt, disk))
        outcome.blocked |= batch.blocked
        outcome.commits += filter(None, batch.jobs.values())
        if batch.jobs:
            self._journal.settle(BatchRecord(tip or "", batch.jobs))

    def _build(self, draft: Draft, batch: _Batch, jobs: Sequence[Intent], disk: OnDisk, when: int) -> None:
        prefix, blocked = self._worktree.prefix, {path: fault.message for path, fault in disk.unreadable.items()}
        for path in (name.removeprefix(prefix) for name in git.unmerged(self._worktree) if name.startswith(prefix)):
            blocked.setdefault(path, f"{path} is in conflict; resolve it (git add {path}) and it is committed")
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

    def _append(self, draft: Draft, batch: _Batch, job: Intent, disk: OnDisk, author: str, when: int) -> None:
        entries = {}
        for noted in job.paths:
            ours, entry = disk.entry_for(noted)
            if ours:
                entries[os.fsencode(self._worktree.prefix + noted.path)] = entry
        edits = {name: entry for name, entry in entries.items() if draft.lookup(batch.tree, name) != entry}
        batch.jobs[job.name] = ""
        if edits:
            batch.committer = batch.committer or author
            tree = draft.edit(batch.tree, edits)
            who = author, batch.committer, when
            batch.tip = self._people.commit(draft, job, tree, [batch.tip] if batch.tip else [], who)
            batch.tree, batch.jobs[job.name] = tree, batch.tip.decode()
        batch.entries |= entries
