"""Moves a branch, alone or with git's index, under git's own locks (`X.lock`, renamed over X); mends after a death."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import Conflict, StorageFailed
from ai_lessons.repository import git, worktree_status
from ai_lessons.repository.files import held_back, translated, write_new
from ai_lessons.repository.worktree import read_head, read_ref, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dulwich.objects import ObjectID

    from ai_lessons.repository.worktree import Head, Worktree

_NO_LINKS = {errno.EPERM, errno.EXDEV, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}


class Taken(Conflict):
    """Another process holds a lock of git's; nothing was changed."""

    def __init__(self, lock: Path) -> None:
        super().__init__(f"git holds {lock}", hint="if no git command is running, remove that file")


class ReflogLine(NamedTuple):
    """A line of the reflog: who (`Name <email>`), when (seconds and zone as git writes them), what."""

    who: str
    when: str
    message: str


def lock_of(target: Path) -> Path:
    """The lock file of a file of git's."""
    return target.with_name(target.name + ".lock")


def index_file(worktree: Worktree) -> Path:
    """Where git keeps the index of this worktree."""
    return worktree.git_dir / "index"


def lock_folder(worktree: Worktree) -> Path:
    """Where files are made that become locks. A process that gets our commit lock may empty it."""
    return worktree.state_dir / "locks"


@contextmanager
def _locked(
    worktree: Worktree, target: Path, content: bytes, *, durable: bool = False, tip: str = ""
) -> Iterator[Path]:
    """Hold git's lock on `target`, with `content` ready to be renamed over it. Yields the lock file."""
    proof, lock = lock_folder(worktree) / f"{tip}-{secrets.token_hex(8)}", lock_of(target)
    with held_back():
        with translated(str(target), writing=True):
            proof.parent.mkdir(parents=True, exist_ok=True)
            try:
                write_new(proof, content, durable=durable)
                _link(proof, lock, content)
            except BaseException:
                proof.unlink(missing_ok=True)
                raise
        mine = _identity(lock)
        try:
            yield lock
        finally:
            if _identity(lock) == mine:  # else it was renamed, and the next one may be another process's
                lock.unlink(missing_ok=True)
            proof.unlink(missing_ok=True)


def _link(proof: Path, lock: Path, content: bytes) -> None:
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(proof, lock)
    except FileExistsError:
        raise Taken(lock) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # a file system without hard links: as good a lock, but after a crash nothing proves that it is ours
        try:
            write_new(lock, content, durable=False)
        except FileExistsError:
            raise Taken(lock) from None


def _put(lock: Path, target: Path) -> None:
    """Rename a lock over what it locks, which frees it."""
    os.rename(lock, target)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def move_branch(worktree: Worktree, ref: str, old: str | None, new: str, log: ReflogLine) -> bool:
    """Make a branch that is not checked out point to `new`; False if it is not at `old`. Raises Taken: git holds it."""
    with _locked(worktree, worktree.common_dir / ref, f"{new}\n".encode(), durable=True) as lock:
        if read_ref(worktree, ref) != old:
            return False
        _put(lock, worktree.common_dir / ref)
        _note_move(worktree, ref, old, new, log)
        return True


def point(worktree: Worktree, ref: str, old: str | None, new: str, log: ReflogLine) -> None:
    """`move_branch`, for callers that give up. Raises Conflict: it was moved meanwhile, or git holds its lock."""
    if not move_branch(worktree, ref, old, new, log):
        name = ref.removeprefix("refs/heads/")
        raise Conflict(f"{name} was moved meanwhile; nothing was changed", hint="try again")


def install(worktree: Worktree, head: Head, tip: str | None, index: tuple[bytes, str], log: ReflogLine) -> bool:
    """Move `head`'s branch and the index; False if one was changed or a merge began. Raises Taken: git holds a lock."""
    content, mark = index
    target, ref = index_file(worktree), head.ref if tip not in {None, head.commit} else None
    with ExitStack() as branch:
        if ref:  # the branch first: its lock is brought to the disk, which takes a while, and git waits for it
            place = worktree.common_dir / ref
            branch_lock = branch.enter_context(_locked(worktree, place, f"{tip}\n".encode(), durable=True))
        with _locked(worktree, target, content, tip=tip or "") as lock:
            now = worktree_status.index_mark(worktree)
            if worktree_status.busy(worktree) or read_head(worktree) != head or now != mark:
                return False
            if ref:
                _put(branch_lock, worktree.common_dir / ref)
            # once the branch has moved, an index that has not would delete the files
            _put(lock, target)
        if ref:
            _note_move(worktree, ref, head.commit, tip or "", log)
    return True


def _note_move(worktree: Worktree, ref: str, old: str | None, new: str, log: ReflogLine) -> None:
    """Write the reflog of a branch that has moved, and of HEAD if that is where it stands."""
    if read_settings(worktree.common_dir / "config").get("core.logallrefupdates", "true") == "false":
        return
    line = f"{old or '0' * 40} {new} {log.who} {log.when}\t{log.message}\n"
    logs = [worktree.common_dir / "logs" / ref]
    if read_head(worktree).ref == ref:
        logs.append(worktree.git_dir / "logs" / "HEAD")
    for place in logs:
        # a reflog is a convenience: the branch has moved, and a log that cannot be written changes nothing about that
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(line)


def recover(worktree: Worktree) -> None:
    """Finish or undo what a dead process of ours left, and clear its git locks. Under our commit lock."""
    proofs = list(lock_folder(worktree).iterdir()) if lock_folder(worktree).exists() else []
    if not proofs:
        return
    ours = {_identity(proof): proof.name for proof in proofs}
    target, head = index_file(worktree), read_head(worktree)
    tip = ours.get(_identity(lock_of(target)), "").partition("-")[0]
    # with the branch moved and not the index, the next `git commit` would delete the files
    if tip and tip == head.commit:
        _put(lock_of(target), target)  # the index cannot have changed since: the lock was there
    # the proofs go in any case, so whatever they prove has to be found now
    for lock in (lock_of(target), *worktree.common_dir.glob("refs/heads/**/*.lock")):
        if (found := _identity(lock)) is not None and found in ours:
            lock.unlink(missing_ok=True)
    for proof in proofs:
        proof.unlink(missing_ok=True)


def changed(worktree: Worktree, entries: Mapping[bytes, tuple[int, ObjectID] | None]) -> bytes:
    """The index with these entries (mode, blob; None: dropped) by path from the top, as bytes. Raises StorageFailed."""
    copy, original = lock_folder(worktree) / f"-index-{secrets.token_hex(8)}", index_file(worktree)
    gone = [b"0 %s\t%s\0" % (b"0" * 40, path) for path, entry in entries.items() if entry is None]
    here = [b"%o %s\t%s\0" % (*entry, path) for path, entry in entries.items() if entry is not None]
    with translated(str(copy), writing=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            if original.exists():
                shutil.copyfile(original, copy)
                shutil.copystat(original, copy)  # git judges by its time which entries it must look at again
            flags = ("--add", "--replace", "-z", "--index-info")
            rows = b"".join(gone + here)
            done = git.run(worktree, "update-index", *flags, stdin=rows, extra={"GIT_INDEX_FILE": str(copy)})
            if done.code:
                raise StorageFailed(f"git could not update its index: {done.err}")
            return copy.read_bytes()
        finally:
            copy.unlink(missing_ok=True)
