"""Git's own locks, taken git's way (`X.lock` beside `X`, renamed over it), and branches moved under one.

A lock file is a hard link to a finished file in our state folder. So it is held for the length of two renames, its
content is complete from the first moment, and after a crash the link in our folder proves that the lock is ours.
Whoever takes one holds our commit lock; so whoever gets the commit lock may clear what a dead process left.
Locks of others are never touched.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ai_lessons.repository.files import translated, write_all
from ai_lessons.repository.interrupts import held_back
from ai_lessons.repository.worktree import read_ref, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ai_lessons.repository.worktree import Worktree

_NO_LINKS = {errno.EPERM, errno.EXDEV, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}


class Taken(Exception):
    """Somebody else holds the lock; nothing was changed."""

    def __init__(self, lock: Path) -> None:
        super().__init__(str(lock))
        self.lock = lock


class GitLock:
    """A lock on `target` that is held. `install` puts the prepared content in place; `release` gives it up."""

    def __init__(self, target: Path, proof: Path) -> None:
        self._lock, self._target, self._proof = lock_of(target), target, proof
        self._held = True

    def install(self) -> None:
        """Rename the lock over its target, which frees it. Does nothing if it is not held any more."""
        if self._held:
            os.rename(self._lock, self._target)
            self._held = False

    def release(self) -> None:
        """Give the lock up, if it is held, and forget it."""
        if self._held:
            with suppress(FileNotFoundError):
                self._lock.unlink()
            self._held = False
        self._proof.unlink(missing_ok=True)


def lock_of(target: Path) -> Path:
    """The lock file of a file of git's."""
    return target.with_name(target.name + ".lock")


@contextmanager
def locked(
    worktree: Worktree, target: Path, content: bytes, *, durable: bool = False, tip: str = ""
) -> Iterator[GitLock]:
    """Hold git's lock on `target`, with `content` ready to be installed. Under our commit lock.

    `tip` is the commit that the content belongs to, for `complete`. Ctrl-C waits for the end of the block: a branch
    that has moved without git's index looks as if its files were removed, and so does it to the next `git commit`.

    Raises:
        Taken: somebody else holds it.
    """
    proof = lock_folder(worktree) / f"{tip}{'-' if tip else ''}{secrets.token_hex(8)}"
    with held_back():
        with translated(str(target), writing=True):
            proof.parent.mkdir(parents=True, exist_ok=True)
            _write(proof, content, durable=durable)
            try:
                _link(proof, lock_of(target), content)
            except BaseException:
                proof.unlink(missing_ok=True)
                raise
        lock = GitLock(target, proof)
        try:
            yield lock
        finally:
            lock.release()


def _write(path: Path, content: bytes, *, durable: bool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        write_all(fd, content)
        if durable:
            os.fsync(fd)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


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
            _write(lock, content, durable=False)
        except FileExistsError:
            raise Taken(lock) from None


def complete(worktree: Worktree, target: Path, tip: str) -> bool:
    """Install the lock on `target` that a dead process of ours left, if its content belongs to the commit `tip`.

    Nobody can have changed the target since: the lock was there. Under our commit lock.
    """
    lock = lock_of(target)
    if not _is_ours(worktree, lock, f"{tip}-*"):
        return False
    os.rename(lock, target)
    return True


def installed(worktree: Worktree, target: Path) -> bool:
    """Whether a process of ours died right after it had put `target` in place. Under our commit lock."""
    return _is_ours(worktree, target, "*")


def _is_ours(worktree: Worktree, file: Path, proofs: str) -> bool:
    """Whether one of the proofs that a dead process of ours left, by their pattern, is the same file."""
    there = _identity(file)
    return there is not None and any(_identity(proof) == there for proof in lock_folder(worktree).glob(proofs))


def clear_stale(worktree: Worktree, targets: Iterable[Path]) -> tuple[str, ...]:
    """Remove locks of ours that a dead process left on `targets` and branches; their paths. Under our commit lock."""
    proofs = lock_folder(worktree)
    try:
        left = [proofs / name for name in os.listdir(proofs)]
    except FileNotFoundError:
        return ()
    if not left:
        return ()
    inodes = {_identity(proof) for proof in left}
    removed = []
    # the proofs go in any case, so whatever they prove has to be found now
    branches = worktree.common_dir.glob("refs/heads/**/*.lock")
    for lock in dict.fromkeys([*map(lock_of, targets), *branches]):
        if _identity(lock) in inodes - {None}:
            lock.unlink(missing_ok=True)
            removed.append(str(lock))
    for proof in left:
        proof.unlink(missing_ok=True)
    return tuple(removed)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def lock_folder(worktree: Worktree) -> Path:
    """Where files are made that become locks; whoever gets our commit lock may empty it."""
    return worktree.state_dir / "locks"


def ref_file(worktree: Worktree, ref: str) -> Path:
    """The file of a branch, which need not exist (it may be packed)."""
    return worktree.common_dir / ref


def branch_locked(worktree: Worktree, ref: str, new: str) -> AbstractContextManager[GitLock]:
    """Hold git's lock on a branch, with `new` ready to be installed and on the disk already.

    Raises:
        Taken: git holds it.
    """
    return locked(worktree, ref_file(worktree, ref), f"{new}\n".encode(), durable=True)


def move_branch(worktree: Worktree, ref: str, old: str | None, new: str, *, who: str, when: str, message: str) -> bool:
    """Make a branch point to `new` if it points to `old` (None: if there is no such branch). False if it does not.

    Writes the reflog of the branch, and of HEAD if that is where it stands. `who` is `Name <email>`, `when` as in a
    reflog (seconds and zone).

    Raises:
        Taken: git holds the branch's lock.
    """
    with branch_locked(worktree, ref, new) as lock:
        if read_ref(worktree, ref) != old:
            return False
        lock.install()
        note_move(worktree, ref, old, new, who=who, when=when, message=message)
        return True


def note_move(worktree: Worktree, ref: str, old: str | None, new: str, *, who: str, when: str, message: str) -> None:
    """Write the reflog of a branch that has moved, and of HEAD if that is where it stands."""
    if read_settings(worktree.common_dir / "config").get("core.logallrefupdates", "true") == "false":
        return
    line = f"{old or '0' * 40} {new} {who} {when}\t{message}\n"
    _append(worktree.common_dir / "logs" / ref, line)
    if (worktree.git_dir / "HEAD").read_text(errors="surrogateescape").strip() == f"ref: {ref}":
        _append(worktree.git_dir / "logs" / "HEAD", line)


def _append(log: Path, line: str) -> None:
    # a reflog is a convenience: the branch has moved, and a log that cannot be written changes nothing about that
    with suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(line)
