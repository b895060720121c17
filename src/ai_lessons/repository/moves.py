"""Moves the branch that is checked out, together with git's index, or not at all.

Under our commit lock. What the index shall say is made beforehand (`git_index`); here git's lock on it is held for a
look, one compare-and-swap of the branch and one rename: below a millisecond, because no git command waits for it.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.repository import activity, git_index, git_locks, half_landed
from ai_lessons.repository.worktree import read_head

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ai_lessons.repository.git_locks import GitLock
    from ai_lessons.repository.worktree import Head, Worktree

_OURS = "our-index"


class Later(Exception):
    """Nothing can be committed now; says why."""


class Log(NamedTuple):
    """A line of the reflog: who (`Name <email>`), when (seconds and zone as git writes them), what."""

    who: str
    when: str
    message: str


def install(
    worktree: Worktree,
    head: Head,
    tip: str | None,
    index: tuple[bytes, str],
    log: Log,
    check: Callable[[], None] = lambda: None,
) -> bool:
    """Move the branch of `head` to `tip` and put an index in place: its bytes, and the mark of what it was made from.

    False if HEAD, or the index by its mark, is not as it was any more, or somebody began to merge. With `tip` where
    the branch is already, only the index changes. `check` is called last, and raises if it is too late.

    Raises:
        Taken: git holds a lock. And whatever `check` raises: nothing has changed then.
    """
    with _branch_locked(worktree, head, tip) as branch:
        if not _install(worktree, head, tip, index, branch, check):
            return False
        if branch is not None and head.ref and tip:
            # no command of git's waits for this, so the index is free again
            git_locks.note_move(worktree, head.ref, head.commit, tip, who=log.who, when=log.when, message=log.message)
        return True


def _branch_locked(worktree: Worktree, head: Head, tip: str | None) -> AbstractContextManager[GitLock | None]:
    """The lock on the branch, if it is to move.

    It comes before the index's, because it is brought to the disk, which takes a while, and because git waits for
    locks on branches and not for that on its index.
    """
    if tip == head.commit or tip is None or head.ref is None:
        return nullcontext()
    return git_locks.branch_locked(worktree, head.ref, tip)


def _install(
    worktree: Worktree,
    head: Head,
    tip: str | None,
    index: tuple[bytes, str],
    branch: GitLock | None,
    check: Callable[[], None],
) -> bool:
    """A `git add` that meets our lock fails at once: nothing is done under it that can be done before or after."""
    content, mark = index
    with git_locks.locked(worktree, git_index.index_file(worktree), content, tip=tip or "") as lock:
        if activity.busy(worktree) or read_head(worktree) != head:
            return False
        if activity.index_mark(worktree) != mark:
            return False
        check()
        if branch is not None:
            branch.install()
        elif tip != head.commit:
            return False
        # once the branch has moved, an index that has not would delete the files
        lock.install()
        _remember(worktree)
    return True


def recover(worktree: Worktree) -> None:
    """Finish or undo what a dead process of ours left, and clear its git locks. Under our commit lock.

    A branch that has moved without its index gets the index that was made for it: otherwise the next `git commit`
    would delete the files. What was put in place for a move that never came is taken back.
    """
    head, index = read_head(worktree), git_index.index_file(worktree)
    if (head.commit and git_locks.complete(worktree, index, head.commit)) or git_locks.installed(worktree, index):
        _remember(worktree)
    targets = [index]
    git_locks.clear_stale(worktree, [*targets, git_locks.ref_file(worktree, head.ref)] if head.ref else targets)
    half_landed.take_back(worktree)


def wait_for(lock: Path, deadline: float) -> None:
    """Wait until somebody's lock is gone.

    Raises:
        Later: it is still there at the deadline (by `time.monotonic`).
    """
    while lock.exists():
        if time.monotonic() > deadline:
            raise Later(f"git holds {lock}; if no git command is running, remove that file")
        time.sleep(0.01)


def our_index(worktree: Worktree) -> str:
    """The mark of the index that we installed last (see `activity.index_mark`); empty if we never did."""
    try:
        return (worktree.state_dir / _OURS).read_text()
    except FileNotFoundError:
        return ""


def _remember(worktree: Worktree) -> None:
    (worktree.state_dir / _OURS).write_text(activity.index_mark(worktree))
