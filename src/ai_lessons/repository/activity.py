"""What the user is doing with git in this worktree, judged by the files that git leaves. Starts nothing, takes no lock.

No lock protects a `git commit`, pull or stash from a branch that moves while it runs, and a `git add` that meets our
lock on the index fails at once. So a write makes no commit while a git command of the user's is fresh, and beside a
user at work few. A commit that was asked for (`admin save`, `admin sync`) looks at `busy` only.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.repository.worktree import read_head

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.repository.worktree import Worktree

HALF_DONE, SETTLE, SETTLE_MANY = 3.0, 0.5, 1.5
"""Seconds for which a git command is fresh that has not moved HEAD yet (it fetches, or takes a message); that is done,
for a single write; and for one of many that wait."""

AT_WORK, BURST, EVERY = 60.0, 5, 5.0
"""For so many seconds after a git command the user counts as at work: then so many moves of the branch may follow one
another, and one more every so many seconds."""

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
_STATE = "activity"


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


class _State(NamedTuple):
    """Index and HEAD as we left them last, when that was, and our moves of the branch since the user's last command."""

    mark: str = ""
    head: str = ""
    moved: float = 0.0
    moves: int = 0
    user: float = 0.0


def wait(worktree: Worktree, *, alone: bool) -> float:
    """For how many seconds a write should leave the branch alone; 0.0: it may move. Under our commit lock.

    `alone`: no other write waits for its commit.
    """
    now, state = time.time(), _look(worktree)
    fresh = max(_mtime(worktree.git_dir / name) for name in _SIGNS)
    left = [0.0, (SETTLE if alone else SETTLE_MANY) - abs(now - state.user)]
    if fresh > _head_moved(worktree):
        left.append(HALF_DONE - abs(now - fresh))
    if abs(now - state.user) < AT_WORK and state.moves >= BURST:
        left.append(EVERY - abs(now - state.moved))
    return max(left)


def at_work(worktree: Worktree) -> bool:
    """Whether the user has run a git command that wrote something within `AT_WORK` seconds. Under our commit lock."""
    return abs(time.time() - _look(worktree).user) < AT_WORK


def remember(worktree: Worktree, *, ours: bool = True) -> None:
    """Note that we moved the branch or wrote git's index (or, not `ours`, that the user did). Under our commit lock."""
    state, now = _read(worktree), time.time()
    made = _State(index_mark(worktree), read_head(worktree).commit or "", now, state.moves + 1, state.user)
    if not ours:
        touched = max(_mtime(worktree.git_dir / "index"), _head_moved(worktree))
        made = made._replace(moved=state.moved, moves=0, user=min(now, touched))
    place = worktree.state_dir / _STATE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(made))


def _look(worktree: Worktree) -> _State:
    state = _read(worktree)
    if state.moved and (state.mark, state.head) != (index_mark(worktree), read_head(worktree).commit or ""):
        remember(worktree, ours=False)
        return _read(worktree)
    return state


def _read(worktree: Worktree) -> _State:
    try:
        return _State(*json.loads((worktree.state_dir / _STATE).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return _State()


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
