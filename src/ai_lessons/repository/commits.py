"""Group commit: whoever gets our commit lock commits every job that waits, one commit a job.

Everything slow (reading files, making objects, a new index beside git's) happens before git's index lock is taken;
under it, a check that nobody moved, one compare-and-swap of the branch, one rename. The result is that of
`git commit --only`: what others have staged or left unstaged stays exactly as it was, and the committed paths are
current in the index, without which the next `git commit` would delete them. Where somebody is in the middle of git,
or git has no name for us, the jobs stay noted and the reason is handed back; nobody sees a lock error.
"""

from __future__ import annotations

import random
import time
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError
from ai_lessons.repository import activity, git_locks, housekeeping, moves, pace, swept
from ai_lessons.repository.chain import Chain, People, build, zone
from ai_lessons.repository.files import translated
from ai_lessons.repository.healing import heal
from ai_lessons.repository.journal import Record
from ai_lessons.repository.locks import held
from ai_lessons.repository.moves import Later
from ai_lessons.repository.objects import let_go, open_repo, readable
from ai_lessons.repository.store import Applied, Saved
from ai_lessons.repository.worktree import read_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dulwich.repo import Repo

    from ai_lessons.repository.journal import Intent
    from ai_lessons.repository.store import Store
    from ai_lessons.repository.worktree import Head

BATCH, SHARE, PRESSED_SHARE = 100, 16, 8
"""Jobs that share one move of the branch: to save; in passing, where somebody waits for the answer to a write; and
where another write follows soon anyway (see `pace`)."""

PATIENCE, OTHERS, EAGER = 10.0, 0.05, 0.03
"""Seconds to wait for another process of ours that is committing, which takes our job along: to save, and in passing;
and of these, to be the one who commits next. Who has waited longer leaves that to others, so that no write has to wait
for a whole share of others' jobs and then to commit one."""

TRIES = 20
"""Attempts against somebody who keeps moving the branch or the index, before the jobs are left for later."""

HURRY, INSISTENCE = 0.12, 5.0
"""Seconds to keep trying against somebody who works with git: in passing, and when a commit is what was asked for.

In passing it is a little more than a fresh index counts (`activity.SETTLE`), from before the wait for our lock: a write
shall take less than 150 ms."""


_AT_WORK = "git seems to be at work in this repository; the next command commits it, or: admin save"
_PACED = "somebody works with git here, so it is committed together with what follows; at once: admin save"


@dataclass(slots=True)
class _Outcome:
    """What happened so far: new commits, notes, why all waits, why single jobs wait; and when to give up."""

    insist: bool
    deadline: float
    beside_user: bool = False
    pressed: bool = False
    commits: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waiting: str = ""
    blocked: dict[str, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        return self.waiting or next(iter(self.blocked.values()), "")


class Committer:
    """Makes commits of what one store's journal notes. Any number of processes may have one."""

    def __init__(self, store: Store) -> None:
        self._store, self._journal, self._worktree = store, store.journal, store.worktree
        self._people = People(store.worktree)
        self._checked: tuple[str | None, str] | None = None
        self._repo: Repo | None = None

    @contextmanager
    def _opened(self) -> Iterator[Repo]:
        """The repository, open from the first batch on: where many write, it has many packs, and each is opened."""
        with readable(self._worktree):
            if self._repo is None:
                self._repo = open_repo(self._worktree)
                weakref.finalize(self, self._repo.close)
            try:
                yield self._repo
                let_go(self._repo)
            except KeyError:
                self._repo = None  # what is missing may be there for whoever looks anew
                raise

    def commit(self, name: str) -> Applied:
        """Commit every noted job, and say how the named one ended."""
        outcome = self._run(lambda: not self._journal.waits(name))
        if self._journal.waits(name):
            return Applied(None, outcome.blocked.get(name) or outcome.waiting or "it waits", tuple(outcome.notes))
        return Applied(self._journal.commit_of(name), "", tuple(outcome.notes))

    def save(self) -> Saved:
        """Commit every noted job, also where git looks as if somebody had just begun something."""
        outcome = self._run(lambda: False, insist=True)
        return Saved(tuple(outcome.commits), outcome.reason, tuple(outcome.notes))

    def _run(self, done: Callable[[], bool], *, insist: bool = False) -> _Outcome:
        """The files are in place, so whatever goes wrong here is a reason to wait, never an error of the caller's."""
        outcome = _Outcome(insist, time.monotonic() + HURRY)
        try:
            with translated(str(self._worktree.git_dir), writing=True):
                untidy = housekeeping.due(self._worktree, time.time())
                if insist:
                    self._hold(done, outcome, BATCH)
                elif self._hold(done, outcome, SHARE):
                    while self._has_more(done, outcome) and self._hold(done, outcome, BATCH):
                        pass
                if untidy and outcome.commits and not outcome.beside_user:
                    housekeeping.tidy(self._worktree)
        except Later as later:
            outcome.waiting = str(later)
        except AiLessonsError as error:
            outcome.waiting = error.message
        return outcome

    def _has_more(self, done: Callable[[], bool], outcome: _Outcome) -> bool:
        """Whether our job waits, or others, and nobody is there to commit them. Asked after the lock is free again.

        So none is forgotten: whoever noted one less than `EAGER` seconds ago will try to get the lock once more. And
        nobody commits for all others for ever, although they come back with the next job as soon as one is committed.
        """
        if outcome.waiting or outcome.beside_user:
            return False
        left = [age for name, age in self._journal.waiting().items() if name not in outcome.blocked]
        return bool(left) and (not done() or min(left) >= EAGER)

    def _hold(self, done: Callable[[], bool], outcome: _Outcome, most: int) -> bool:
        """Commit under our lock what waits: all of it, in passing at most so many; False without the lock."""
        patience, eager = (PATIENCE, PATIENCE) if outcome.insist else (OTHERS, EAGER)
        with held(self._store.state_dir / "commit.lock", patience=patience, eager=eager, give_up=done) as mine:
            if outcome.insist:
                outcome.deadline = time.monotonic() + INSISTENCE
            if mine:
                self._recover()
                self._drain(outcome, most)
            elif not done():
                outcome.waiting = "another process is committing; it takes this along, or the next command does"
            return mine

    def _recover(self) -> None:
        """Clear what a dead process left: its git locks, and jobs that it noted but did not finish."""
        moves.recover(self._worktree)
        if self._journal.has_orphans():
            with held(self._store.state_dir / "write.lock", patience=0) as nobody_writes:
                if nobody_writes:
                    self._store.adopt_orphans()

    def _drain(self, outcome: _Outcome, most: int) -> None:
        self._look_after()
        if not outcome.insist:
            paced = pace.now(self._worktree, time.time())
            if not paced.allows:
                raise Later(_PACED)
            outcome.beside_user, outcome.pressed = paced.beside_user, paced.pressed
            most = PRESSED_SHARE if outcome.pressed else most
        while jobs := [job for job in self._journal.pending() if job.name not in outcome.blocked][:most]:
            self._wait_for_quiet(outcome)
            with self._opened() as repo:
                self._commit_batch(repo, jobs, outcome)
            if not outcome.insist:
                return

    def _look_after(self) -> None:
        """Where nothing waits, see to it that nothing of ours is missing from HEAD."""
        head, last = read_head(self._worktree), self._journal.last()
        if last is None or head.commit == last.head or head.ref is None or self._journal.pending():
            return
        if not activity.busy(self._worktree):
            with self._opened() as repo:
                self._healed(repo, head)

    def _healed(self, repo: Repo, head: Head) -> list[Intent]:
        """What somebody's commit left out of HEAD, as a job; nothing where all is as it was when we looked last."""
        last = self._journal.last()
        state = (head.commit, last.head if last else "")
        if head.commit is None or state == self._checked:
            return []
        found = heal(self._worktree, repo, self._journal, head, self._store.now())
        self._checked = state
        return [found] if found else []

    def _wait_for_quiet(self, outcome: _Outcome) -> None:
        """A user between `git add` and `git commit` is waited for; one in a pull is not disturbed."""
        while not (reason := activity.busy(self._worktree)):
            left = (
                0.0
                if outcome.insist
                else activity.unsettled(self._worktree, moves.our_index(self._worktree), time.time())
            )
            if left == 0.0:
                return
            if outcome.pressed or time.monotonic() + left > outcome.deadline:
                raise Later(_AT_WORK)
            time.sleep(left)
        raise Later(reason)

    def _commit_batch(self, repo: Repo, jobs: list[Intent], outcome: _Outcome) -> None:
        when = int(self._store.now())
        for attempt in range(TRIES):
            head = read_head(self._worktree)
            if head.ref is None:
                raise Later("HEAD is detached; check out a branch (git switch NAME), and the next command commits it")
            mark = activity.index_mark(self._worktree)
            jobs += self._healed(repo, head)
            chain = build(self._worktree, repo, head, jobs, self._people, when)
            try:
                installed = self._install(head, chain, mark, insist=outcome.insist)
            except git_locks.Taken as taken:
                moves.wait_for(taken.lock, outcome.deadline)
                continue
            if installed:
                try:
                    swept.keep_in_place(self._worktree, repo, chain.paths, min(job.when for job in jobs))
                finally:
                    self._settle(chain, outcome)
                return
            if time.monotonic() > outcome.deadline:
                break
            time.sleep(0.01 * (attempt + 1) * random.random())  # noqa: S311 - only spreads the tries out
        raise Later("git is busy in this repository; the next command commits it, or: admin save")

    def _install(self, head: Head, chain: Chain, mark: str, *, insist: bool) -> bool:
        """Move the branch and put the new index in place; False if either is not as it was any more."""
        if not chain.entries:
            return True
        who, when = chain.committer
        log = moves.Log(who, f"{when} {zone(when)}", chain.reflog)
        tip = chain.tip.decode() if chain.tip else None
        check = self._refuse_begun if not insist else lambda: None
        done = moves.install(self._worktree, head, tip, (chain.index, mark), log, check)
        if done:
            pace.moved(self._worktree, time.time())
        return done

    def _refuse_begun(self) -> None:
        """A last look, because a commit takes a while to make: a pull that has begun since would fail."""
        if activity.unsettled(self._worktree, activity.index_mark(self._worktree), time.time()):
            raise Later(_AT_WORK)

    def _settle(self, chain: Chain, outcome: _Outcome) -> None:
        outcome.blocked |= chain.blocked
        outcome.notes.extend(note for note in chain.notes if note not in outcome.notes)
        made = [commit for commit in chain.jobs.values() if commit]
        outcome.commits.extend(made)
        blobs = {path: entry.blob.decode() if entry else None for path, entry in chain.paths.items()}
        if chain.jobs:
            self._journal.settle(Record(chain.tip.decode() if chain.tip else "", chain.jobs, blobs if made else {}))
