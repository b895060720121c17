"""What somebody is doing with git in this worktree right now, judged by the files that git leaves meanwhile.

Reads a few stat records; starts nothing and takes no lock. `busy` is certain, `unsettled` is a judgement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.repository.worktree import read_head

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.repository.worktree import Worktree

QUIET = 3.0
"""Seconds for which a sign of a git command counts."""

SETTLE = 0.1
"""Seconds for which a fresh index counts: git moves the branch within milliseconds after writing the index."""

_UNDER_WAY = {
    "MERGE_HEAD": "a merge is under way; finish it (git commit) or give it up (git merge --abort)",
    "CHERRY_PICK_HEAD": "a cherry-pick is under way; finish it or give it up (git cherry-pick --abort)",
    "REVERT_HEAD": "a revert is under way; finish it or give it up (git revert --abort)",
    "BISECT_LOG": "a bisect is under way; end it with git bisect reset",
    "rebase-merge": "a rebase is under way; finish it or give it up (git rebase --abort)",
    "rebase-apply": "a rebase is under way; finish it or give it up (git rebase --abort)",
    "sequencer": "a cherry-pick or revert is under way; finish it or give it up",
}
_SIGNS = ("FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "AUTO_MERGE", "ORIG_HEAD")


def busy(worktree: Worktree) -> str:
    """Why nothing can be committed now, or an empty string."""
    for name, reason in _UNDER_WAY.items():
        if (worktree.git_dir / name).exists():
            return reason
    return ""


def unsettled(worktree: Worktree, ours: str, now: float) -> float:
    """For how many more seconds it looks as if a git command is between its first and its last step; 0.0: it does not.

    No lock protects a running pull or commit from a branch that moves under it, and a merge concluded on the wrong
    base drops files, so we keep away. A sign counts only while it is newer than the last move of HEAD: a command
    that has moved HEAD is done, so a commit or pull that somebody finished a moment ago delays nobody. An index as
    we left it (`ours`, see `index_mark`) is no sign.
    """
    ref = read_head(worktree).ref
    moved = [worktree.git_dir / "logs" / "HEAD", worktree.git_dir / "HEAD"]
    done = max(map(_mtime, [*moved, worktree.common_dir / ref] if ref else moved))
    left = [_left(_mtime(worktree.git_dir / name), done, now, QUIET) for name in _SIGNS]
    if index_mark(worktree) != ours:
        left.append(_left(_mtime(worktree.git_dir / "index"), done, now, SETTLE))
    return max(left)


def index_mark(worktree: Worktree) -> str:
    """What tells one version of git's index from another; empty if there is none."""
    try:
        status = (worktree.git_dir / "index").stat()
    except FileNotFoundError:
        return ""
    return f"{status.st_ino} {status.st_mtime_ns} {status.st_size}"


def _left(sign: float, done: float, now: float, span: float) -> float:
    """A clock that runs behind the file system's makes an age negative; such a sign is as fresh as can be."""
    if sign <= done:
        return 0.0
    return max(0.0, span - max(0.0, now - sign))


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
