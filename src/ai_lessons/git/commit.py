"""From journaled jobs to commits.

Group commit, branch and index under git's locks, checkout, recovery.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from dulwich.objects import Commit, ObjectID

from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
    NotFound,
    Refused,
    StorageFailed,
    UnsavedEdits,
)
from ai_lessons.git import files, objects, plumbing
from ai_lessons.git.commits import EMPTY_TREE
from ai_lessons.git.files import held_back, translated, write_new
from ai_lessons.git.objects import Draft, GitLocked, OnDisk, TreeEntry, data_of, opened, status_of
from ai_lessons.git.store import Applied, BatchRecord, PendingCommit, Store, held
from ai_lessons.git.worktree import (
    Head,
    Worktree,
    branch_name,
    checked_out_at,
    index_mark,
    read_head,
    read_ref,
    read_settings,
    shared_files,
    short_name,
)
from ai_lessons.model import layout
from ai_lessons.model.approval import is_rule
from ai_lessons.model.layout import blob_id
from ai_lessons.model.texts import first_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from dulwich.repo import Repo

# Time to retry while the user works with git
SECONDS: Final = 5.0
# Git's name for no commit
_NONE: Final = "0" * 40

# A person (`Name <email>`), seconds since 1970, seconds east of UTC
Stamp = tuple[str, int, int]
_Done = TypeVar("_Done")


def _lock_of(target: Path) -> Path:
    return target.with_name(target.name + ".lock")


def _locked_by_git(lock: Path) -> GitLocked:
    return GitLocked(f"git holds {lock}; if no git command is running, remove that file")


def refuse_locked(worktree: Worktree, done: plumbing.Done) -> None:
    """Raises GitLocked: a git command failed because another one holds the index."""
    if done.code and "index.lock" in done.err:
        raise _locked_by_git(_lock_of(worktree.git_dir / "index"))


def _proof(worktree: Worktree, tip: str = "") -> Path:
    """A name for a file that becomes a lock and proves it ours.

    The holder of our commit lock may empty the folder.
    """
    return worktree.state_dir / "locks" / f"{tip}-{secrets.token_hex(8)}"


@contextmanager
def _locked(target: Path, proof: Path, content: bytes | None = None) -> Iterator[Path]:
    """Hold git's lock on `target`; its new content is in `proof`, or will be (`content`).

    Yields the lock file.
    """
    lock = _lock_of(target)
    with held_back():
        try:
            with translated(str(target), writing=True):
                proof.parent.mkdir(parents=True, exist_ok=True)
                if content is not None:
                    write_new(proof, content, durable=True)
                _link(proof, lock)
            locked = _identity(lock)
            try:
                yield lock
            finally:
                if _identity(lock) == locked:
                    # else it was renamed, and the next one may be another process's
                    lock.unlink(missing_ok=True)
        finally:
            proof.unlink(missing_ok=True)


def _link(proof: Path, lock: Path) -> None:
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(proof, lock)
    except OSError:
        if lock.exists():
            raise _locked_by_git(lock) from None
        # no hard links here: as good a lock, but after a crash nothing proves that it is ours
        write_new(lock, proof.read_bytes(), durable=False)


def _put(lock: Path, target: Path) -> None:
    """Rename a lock over its target, which frees it."""
    os.rename(lock, target)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def point(worktree: Worktree, ref: str, old: str | None, new: str, log: str) -> None:
    """Move a branch that is not checked out to `new`, with `log` in its reflog.

    Raises GitLocked: it is elsewhere.
    """
    if plumbing.run(worktree, "update-ref", "--no-deref", "-m", log, ref, new, old or _NONE).code:
        name = ref.removeprefix("refs/heads/")
        raise GitLocked(
            f"{name} was moved meanwhile, or git holds its lock; nothing was changed",
            hint="try again",
        )


def install(
    worktree: Worktree, head: Head, tip: str | None, index: tuple[Path, str], log: str
) -> None:
    """Move `head`'s branch and the index.

    Raises GitLocked: one was changed, a merge began, or git holds a lock.
    """
    new_index, mark = index
    target, ref = worktree.git_dir / "index", head.ref if tip not in {None, head.commit} else None
    with ExitStack() as branch:
        if ref:
            # the branch first, because syncing its lock to the disk takes a while
            place = worktree.common_dir / ref
            branch_lock = branch.enter_context(
                _locked(place, _proof(worktree), f"{tip}\n".encode())
            )
        with _locked(target, new_index) as lock:
            now = index_mark(worktree)
            if objects.busy(worktree) or read_head(worktree) != head or now != mark:
                raise GitLocked(
                    "git is busy in this repository, nothing was changed", hint="try again"
                )
            if ref:
                _put(branch_lock, place)
            # once the branch has moved, an index that has not would delete the files
            _put(lock, target)
        if ref:
            _note_move(worktree, ref, head.commit, tip or "", log)


def _note_move(worktree: Worktree, ref: str, old: str | None, new: str, log: str) -> None:
    """Write the reflogs of the branch that is checked out and has moved, and of HEAD."""
    if (
        read_settings(worktree.common_dir / "config").get("core.logallrefupdates", "true")
        == "false"
    ):
        return
    for place in (worktree.common_dir / "logs" / ref, worktree.git_dir / "logs" / "HEAD"):
        # the branch has moved even if its reflog cannot be written
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{old or _NONE} {new} {log}\n")


def clear_locks(worktree: Worktree) -> None:
    """Finish or undo a move that a dead process of ours began, and clear its git locks.

    Under our commit lock.
    """
    folder = _proof(worktree).parent
    if folder.exists():
        ours = {_identity(proof): proof for proof in folder.iterdir()}
    else:
        ours = {}
    if not ours:
        return
    lock = _lock_of(worktree.git_dir / "index")
    if _identity(lock) in ours:
        tip = ours[_identity(lock)].name.partition("-")[0]
    else:
        tip = ""
    # with the branch moved and not the index, the next `git commit` would delete the files
    if tip and tip == read_head(worktree).commit:
        # the index cannot have changed since: the lock was there
        _put(lock, worktree.git_dir / "index")
    # the proofs are removed below, so every lock that they prove has to be cleared first
    for place in (lock, *worktree.common_dir.glob("refs/heads/**/*.lock")):
        if _identity(place) in ours:
            place.unlink(missing_ok=True)
    for proof in ours.values():
        proof.unlink(missing_ok=True)


@contextmanager
def changed(
    worktree: Worktree, tip: str | None, entries: Mapping[bytes, TreeEntry | None]
) -> Iterator[Path]:
    """A new index with these entries (mode, blob.

    None: dropped) by path from the top, for `install` with this tip.

    Raises StorageFailed.
    """
    made, original = _proof(worktree, tip or ""), worktree.git_dir / "index"
    # a file that goes makes room for a folder
    rows = sorted(entries.items(), key=lambda row: row[1] is not None)
    lines = b"".join(
        b"%o %s\t%s\0" % (*(entry or (0, _NONE.encode())), path) for path, entry in rows
    )
    try:
        with translated(str(made), writing=True):
            made.parent.mkdir(parents=True, exist_ok=True)
            if original.exists():
                shutil.copyfile(original, made)
                # git judges by its time which entries it must look at again
                shutil.copystat(original, made)
        flags = ("--add", "--replace", "-z", "--index-info")
        done = plumbing.run(
            worktree, "update-index", *flags, stdin=lines, extra={"GIT_INDEX_FILE": str(made)}
        )
        if done.code:
            raise StorageFailed(f"git could not update its index: {done.err}")
        yield made
    finally:
        made.unlink(missing_ok=True)


def until_done(worktree: Worktree, attempt: Callable[[], _Done], seconds: float = SECONDS) -> _Done:
    """Repeat an attempt, under our lock, while it raises GitLocked, having changed nothing.

    Raises Conflict: it does so for too long, or the user is in the middle of a merge or the like.
    """
    deadline = time.monotonic() + seconds
    while True:
        if reason := objects.busy(worktree):
            raise Conflict(reason)
        try:
            return attempt()
        except GitLocked:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)


CHECKOUT_SECONDS: Final = 600.0
FAST_FORWARD: Final = ("merge", "--ff-only", "--quiet", "--no-overwrite-ignore", "--no-autostash")


class BranchUpdate(NamedTuple):
    """A commit that is on the disk, and what git's reflog says of it."""

    commit: str
    message: str


@contextmanager
def committing(
    store: Store, patience: float = 30.0, give_up: Callable[[], bool] | None = None
) -> Iterator[None]:
    """Hold our commit lock, after recovery from a process that died.

    Raises StorageFailed: another process kept it for `patience` seconds, or until `give_up`
    returned True.
    """
    with (
        shared_files(store.worktree),
        translated(str(store.git_dir), writing=True),
        held(store.state_dir / "commit.lock", patience=patience, give_up=give_up) as locked,
    ):
        if not locked:
            raise StorageFailed(
                f"another process is committing to {store.root}; wait for it, then: admin save"
            )
        clear_locks(store.worktree)
        yield


def land(
    store: Store, repo: Repo, ref: str, build: Callable[[Draft, str], BranchUpdate]
) -> BranchUpdate:
    """Make `ref` point to what `build(draft, tip)` makes, asked again if it moved.

    Files and index follow.

    Raises Conflict, StorageFailed. UnsavedEdits: the user edited one of the files; then nothing is
    changed.
    """
    if not ref.startswith("refs/heads/"):
        # a branch of a remote moves by what is pushed there
        name, remote_name = short_name(ref), branch_name(ref)
        raise Conflict(
            f"there is no branch {name} here, only {remote_name}",
            hint=f"git branch {name} {remote_name}",
        )

    def attempt() -> BranchUpdate:
        name, place = ref.removeprefix("refs/heads/"), checked_out_at(store.worktree, ref)
        if place and read_head(store.worktree).ref != ref:
            raise Conflict(
                f"{name} is checked out at {place}",
                hint=f"do it there: ai-lessons --repo {place} …",
            )
        tip = read_ref(store.worktree, ref)
        if tip is None:
            raise NotFound("branch", name)
        landing = build(Draft(repo), tip)
        if read_head(store.worktree).ref == ref:
            settings = ("-c", "core.hooksPath=/dev/null", "-c", "merge.verifySignatures=false")
            with store.writing():
                check_out(
                    store.worktree,
                    "the decision",
                    *settings,
                    *FAST_FORWARD,
                    landing.commit,
                    log=landing.message,
                )
        else:
            point(store.worktree, ref, tip, landing.commit, landing.message)
        return landing

    with committing(store):
        return until_done(store.worktree, attempt)


def check_out(worktree: Worktree, what: str, *command: str, log: str) -> None:
    """Run a git command by which branch, index and files become those of `what`.

    Git checks before it changes anything.

    Raises UnsavedEdits: the user edited one of the files. GitLocked: the branch moved.
    StorageFailed.
    """
    durable, reflog = ("-c", "core.fsync=added,reference"), {"GIT_REFLOG_ACTION": log}
    with held_back():
        # Ctrl-C would end git in the middle
        done = plumbing.run(worktree, *durable, *command, extra=reflog, timeout=CHECKOUT_SECONDS)
    if done.code == 0:
        return
    refuse_locked(worktree, done)
    if "fast-forward" in done.err:
        raise GitLocked("the branch was moved meanwhile; nothing was changed", hint="try again")
    paths = []
    for line in done.err.splitlines():
        if line.startswith("\t"):
            paths.append(line.strip())
    if paths:
        raise UnsavedEdits(
            f"{what} changes files that you have edited and not committed: {first_of(paths, 3)}",
            hint=(
                "commit them, propose them (rules: contribute propose) or put them aside (git "
                "stash), then again"
            ),
        )
    raise StorageFailed(
        f"git did not merge {what}: {done.err.splitlines()[0] if done.err else 'it gave no reason'}"
    )


# So many loose objects in one of 256 folders are many: so judges `git gc --auto`
_LOOSE, _SAMPLE = 27, "objects/17"
# Jobs that share one move of the branch
BATCH = 100
# Seconds to wait for a process of ours that commits: in passing, and to save
QUEUE, SAVE_QUEUE = 0.3, 10.0
# Seconds to try again while index or branch are locked or move: in passing, and to save
TRIES, SAVE_TRIES = 0.1, 5.0
NO_IDENTITY = (
    "git does not know who you are; tell it once: git config --global user.name NAME"
    " and git config --global user.email ADDRESS"
)

# The file whose age tells when a signing was waited for in vain
_NOT_SIGNED = "not-signed"

NO_KEY = (
    "git has to know your key (git config --global gpg.format ssh; git config --global user.signingkey"
    " ~/.ssh/id_ed25519.pub), and one with a passphrase needs a terminal, or ssh-add first"
)


def age_of(file: Path) -> float:
    """Seconds since a file was written.

    Infinite where there is none, or where it is of the future.
    """
    try:
        age = time.time() - file.stat().st_mtime
    except OSError:
        return inf
    if age >= 0:
        return age
    return inf


class GitIdentity:
    """Author, committer and whether commits are signed, by git's rules.

    Signing stops at the first failure.
    """

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
        """Author, committer, signed.

        Asked again while git lacks one, because the user may set it meanwhile.
        """
        if None in self._identities:
            signed = plumbing.setting(self._worktree, "commit.gpgsign", kind="bool") == "true"
            self._identities = (
                plumbing.identity(self._worktree, "AUTHOR"),
                plumbing.identity(self._worktree),
                signed,
            )
        return self._identities

    def commit(
        self,
        draft: Draft,
        tree: ObjectID,
        parents: Sequence[ObjectID],
        message: str,
        *,
        author: Stamp,
        committer: Stamp,
        sign: bool | None = None,
    ) -> ObjectID:
        """A commit by these people; `sign`: it has to be signed, None: as the user's settings say.

        If signing fails, `unsigned` has the reason; with `sign` it raises Refused. A key that waits
        for a person is waited for once a sitting.
        """
        waited = self._worktree.state_dir / _NOT_SIGNED
        if sign is None and self._asked()[2] and not self.unsigned and age_of(waited) < 600.0:
            self.unsigned = "unsigned: signing was waited for in vain; tried again after 10 minutes"
        if sign or (sign is None and self._asked()[2] and not self.unsigned):
            draft.save()
            people = _environment("AUTHOR", author) | _environment("COMMITTER", committer)
            before = []
            for parent in parents:
                before.append(parent.decode())
            ask = bool(sign) and os.isatty(0)
            try:
                done = plumbing.signed_commit(
                    self._worktree, tree.decode(), before, message.encode(), people, ask=ask
                )
                if not done.code:
                    return ObjectID(done.out.strip())
                fault = done.err or "git said no"
            except StorageFailed:
                if ask:
                    seconds = plumbing.SIGN_TERMINAL_TIMEOUT
                else:
                    seconds = plumbing.SIGN_TIMEOUT
                fault = f"signing did not end within {seconds:g} seconds; the key may wait for a PIN or passphrase"
                with suppress(AiLessonsError):
                    # then the next write waits, too
                    files.write_json(waited, fault)
            if sign:
                raise Refused(
                    f"git could not sign the approval: {' '.join(fault.split())}", hint=NO_KEY
                )
            self.unsigned = f"unsigned: {fault.splitlines()[0]}"
        return draft.commit(tree, parents, message, author=author, committer=committer)


class Author(GitIdentity):
    """Makes single commits as the user whom git knows here. Raises Refused: git knows none."""

    def __init__(self, worktree: Worktree) -> None:
        super().__init__(worktree)
        self.when = int(time.time())
        if not self.author() or not self.committer():
            message, _, hint = NO_IDENTITY.partition("; ")
            raise Refused(message, hint=hint)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why a commit is not signed, where it should be."""
        return tuple(filter(None, [self.unsigned]))

    def write(
        self,
        draft: Draft,
        tree: ObjectID,
        parents: Sequence[str],
        message: str,
        author: str = "",
        *,
        sign: bool | None = None,
    ) -> str:
        """`commit` on the disk, with the new objects of the draft.

        `author` is `Name <email>` if not the user.
        """
        by, committer = (
            _stamp(who or "", self.when) for who in (author or self.author(), self.committer())
        )
        parent_ids = []
        for parent in parents:
            parent_ids.append(ObjectID(parent.encode()))
        commit = self.commit(
            draft, tree, parent_ids, message, author=by, committer=committer, sign=sign
        )
        draft.save()
        return commit.decode()


def _stamp(who: str, when: int) -> Stamp:
    return who, when, time.localtime(when).tm_gmtoff


def _environment(role: str, stamp: Stamp) -> dict[str, str]:
    name, _, email = stamp[0].rpartition(" <")
    date = f"@{stamp[1]} {zone(*stamp[1:])}"
    return {
        f"GIT_{role}_NAME": name,
        f"GIT_{role}_EMAIL": email.rstrip(">"),
        f"GIT_{role}_DATE": date,
    }


def zone(when: int, offset: int | None = None) -> str:
    """`+hhmm` for an offset in seconds; None: the local one at that time."""
    if offset is None:
        seconds = time.localtime(when).tm_gmtoff
    else:
        seconds = offset
    return f"{'-' if seconds < 0 else '+'}{abs(seconds) // 3600:02d}{abs(seconds) % 3600 // 60:02d}"


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
            by, committer = (author, job.when, job.zone), _stamp(batch.committer, when)
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


_WHOLE = {"??", " M", " D", "M ", "A ", "D "}
"""As `git status --porcelain` marks what no commit has.

On disk and, if it is staged at all, staged just so.
"""


class Uncommitted(NamedTuple):
    """Paths below the root with changes in no commit.

    Entries, rules (proposed, not committed), and the user's.

    `left`: staged in part or in conflict, or no entry; it may lie elsewhere.
    """

    entries: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def uncommitted(store: Store) -> Uncommitted:
    """What the user edited, made, moved or removed and did not commit.

    Writes of ours that wait are none of it.
    """
    waiting = set()
    for intent in store.pending():
        for noted in intent.paths:
            waiting.add(noted.path)
    entries: list[str] = []
    rules: list[str] = []
    left: list[str] = []
    for marks, path in plumbing.changed_files(store.worktree):
        inside = path.removeprefix(store.prefix)
        if inside in waiting:
            continue
        is_entry = path.startswith(store.prefix) and layout.place(inside) is not None
        if not is_entry or marks not in _WHOLE or (store.root / inside).is_symlink():
            left.append(inside)
        else:
            (rules if is_rule(inside) else entries).append(inside)
    return Uncommitted(*(tuple(sorted(paths)) for paths in (entries, rules, left)))


def unshared(store: Store) -> list[str]:
    """A sentence for each sort of what no commit has, with the command that shares it."""
    edits = uncommitted(store)
    if not store.autocommit:
        edits = Uncommitted(left=(*edits.entries, *edits.rules, *edits.left))
    sorts = (
        (
            len(edits.entries),
            "entry file",
            "edited and in no commit",
            "ai-lessons admin save --edits",
        ),
        (len(edits.rules), "rule", "edited and in no commit", "ai-lessons contribute propose"),
        (
            len(edits.left),
            "other change" if store.autocommit else "change",
            "in no commit",
            "git status",
        ),
    )
    results: list[str] = []
    for count, noun, state, command in sorts:
        if count:
            if count == 1:
                results.append(f"1 {noun} is {state}, so nobody else has it: {command}")
            else:
                results.append(f"{count} {noun}s are {state}, so nobody else has them: {command}")
    return results


def loose(store: Store) -> list[str]:
    """A line for each sort, with the first few by name.

    Hidden files are git's and ours; at the top, README.md, LICENSE, CODEOWNERS and `examples/` are
    for people. Writes that wait are left out, and all that is in no commit where commits are the
    user's.
    """
    links, unclaimed = _odd(os.path.realpath(store.root))
    if store.autocommit:
        edits = uncommitted(store)
    else:
        edits = Uncommitted()
    staged = []
    for path in edits.left:
        if layout.place(path) is not None and not (store.root / path).is_symlink():
            staged.append(path)
    sorts = {
        "in no commit (ai-lessons admin save --edits)": edits.entries,
        "rules in no commit (ai-lessons contribute propose)": edits.rules,
        "staged in part or in conflict, so yours to commit": staged,
        "a link, which is not followed": links, "of no kind that is known": unclaimed,
    }  # fmt: skip
    lines = []
    for sort, paths in sorts.items():
        if paths:
            lines.append(f"{sort}: {first_of(paths, 5)}")
    return lines


def ignored_entries(store: Store) -> list[str]:
    """Entries that git ignores and no commit has: they are read here, and nobody else gets them."""
    listed = plumbing.run(
        store.worktree, "ls-files", "-oi", "--exclude-standard", "-z", cwd=store.root
    )
    entries: list[str] = []
    for path in map(os.fsdecode, listed.out.split(b"\0")):
        if path and layout.place(path) is not None:
            entries.append(path)
    return entries


def _odd(root: str) -> tuple[list[str], list[str]]:
    """Links out of a folder or in the place of an entry, and files that are no entries."""
    links: list[str] = []
    unclaimed: list[str] = []
    for folder, below, names in os.walk(root):
        below[:] = sorted(
            name for name in below if not name.startswith(".") and name != "__pycache__"
        )
        for name in (*below, *sorted(names)):
            full = os.path.join(folder, name)
            path = os.path.relpath(full, root)
            if os.path.islink(full):
                real = os.path.realpath(full)
                stays = real == root or real.startswith(root + os.sep)
                if not stays or layout.place(path) is not None:
                    links.append(path)
            elif name not in below and not name.startswith(".") and layout.place(path) is None:
                at_top = folder == root and (name.endswith(".md") or "." not in name)
                for_people = at_top or path.startswith(f"examples{os.sep}")
                unclaimed += [] if for_people else [path]
    return links, unclaimed
