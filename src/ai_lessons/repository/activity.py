"""What the user is doing with git in this worktree, judged by the files that git leaves. Starts nothing, takes no lock.

No lock protects a `git commit`, pull or stash from a branch that moves while it runs, and a `git add` that meets our
lock on the index fails at once. So a write makes no commit while a git command of the user's is fresh, and beside a
user at work few. A commit that was asked for (`admin save`, `admin sync`) looks at `busy` only.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ai_lessons.repository.worktree import read_head

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.repository.worktree import Worktree

HALF_DONE, SETTLE, SETTLE_MANY = 3.0, 0.5, 1.5
"""Seconds for which a git command is fresh that has not moved HEAD yet (it fetches, or takes a message); that is done,
for a single write; and for one of many that wait."""

AT_WORK, BURST, WINDOW = 60.0, 5, 25.0
"""For so many seconds after a git command the user counts as at work: then the branch moves so often in so many
seconds."""

_UNDER_WAY = {
    "MERGE_HEAD": "a merge is under way; finish it (git commit) or give it up (git merge --abort)",
    "CHERRY_PICK_HEAD": "a cherry-pick is under way; finish it or give it up (git cherry-pick --abort)",
    "REVERT_HEAD": "a revert is under way; finish it or give it up (git revert --abort)",
    "BISECT_LOG": "a bisect is under way; end it with git bisect reset",
    "rebase-merge": "a rebase is under way; finish it or give it up (git rebase --abort)",
    "rebase-apply": "a rebase is under way; finish it or give it up (git rebase --abort)",
    "sequencer": "a cherry-pick or revert is under way; finish it or give it up",
}
_SIGNS = ("FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "AUTO_MERGE", "ORIG_HEAD", "logs/refs/stash")


def busy(worktree: Worktree) -> str:
    """Why nothing can be committed now, or an empty string."""
    return next((reason for name, reason in _UNDER_WAY.items() if (worktree.git_dir / name).exists()), "")


def index_mark(worktree: Worktree) -> str:
    """What tells one version of git's index from another; empty if there is none."""
    try:
        status = (worktree.git_dir / "index").stat()
    except FileNotFoundError:
        return ""
    return f"{status.st_ino} {status.st_mtime_ns} {status.st_size}"


def wait(worktree: Worktree, moves: Sequence[float], *, alone: bool) -> float:
    """For how many seconds a write should leave the branch alone; 0.0: it may move.

    `moves` says when our commits moved it (seconds since 1970, oldest first), `alone` that no other write waits.
    """
    now, sign = time.time(), _signs(worktree)
    left = [0.0, (SETTLE if alone else SETTLE_MANY) - abs(now - _moved_by_user(worktree, moves))]
    if sign > _head_moved(worktree):
        left.append(HALF_DONE - abs(now - sign))
    if at_work(worktree, moves) and len(moves) >= BURST:
        left.append(moves[-BURST] + WINDOW - now)
    return max(left)


def at_work(worktree: Worktree, moves: Sequence[float]) -> bool:
    """Whether the user has run a git command within `AT_WORK` seconds, since our first commit."""
    last = max(_moved_by_user(worktree, moves), _signs(worktree))
    return last > min(moves, default=last) and time.time() - last < AT_WORK


def _moved_by_user(worktree: Worktree, moves: Sequence[float]) -> float:
    """When the user moved HEAD after our last commit; 0.0 if that was the last, or there is none."""
    moved = _head_moved(worktree)
    return moved if moves and moved > moves[-1] else 0.0


def _signs(worktree: Worktree) -> float:
    return max(_mtime(worktree.git_dir / name) for name in _SIGNS)


def _head_moved(worktree: Worktree) -> float:
    """When HEAD moved last: a command of git's that has moved it is done."""
    ref = read_head(worktree).ref
    places = [worktree.git_dir / "logs" / "HEAD", worktree.git_dir / "HEAD"]
    return max(map(_mtime, [*places, worktree.common_dir / ref] if ref else places))


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
