"""Branch, index and files are moved together, under git's own locks."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from ai_lessons.errors import (
    Conflict,
    NotFound,
    StorageFailed,
    UnsavedEdits,
)
from ai_lessons.git import objects, plumbing
from ai_lessons.git.approval_branch import branch_name, short_name
from ai_lessons.git.files import held_back, translated, write_new
from ai_lessons.git.journal import held
from ai_lessons.git.objects import Draft, GitLocked, TreeEntry
from ai_lessons.git.worktree import (
    Head,
    Worktree,
    checked_out_at,
    index_mark,
    read_head,
    read_ref,
    read_settings,
    shared_files,
)
from ai_lessons.model.texts import first_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from dulwich.repo import Repo

    from ai_lessons.git.store import Store


# Time to retry while the user works with git
SECONDS: Final = 5.0
# Git's name for no commit
_NONE: Final = "0" * 40


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
    """A new index with these entries by path from the top, for `install` with this tip.

    An entry is (mode, blob), None where it is dropped. Raises StorageFailed.
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

    Files and index follow. Raises Conflict, StorageFailed. UnsavedEdits: the user edited one of the
    files; then nothing is changed.
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

    Git checks before it changes anything. Raises UnsavedEdits: the user edited one of the files.
    GitLocked: the branch moved. StorageFailed.
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
