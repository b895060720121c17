"""How often our commits may come while somebody works with git in the same folder.

A `git add` that meets a lock on the index fails at once, and a `git pull` may fail where the branch moves under it.
Either takes a millisecond of bad luck; so where a user is at work, many commits of ours in a row become few, each move
of the branch with many jobs. Under our commit lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_lessons.repository import activity, moves

if TYPE_CHECKING:
    from ai_lessons.repository.worktree import Worktree

AROUND: Final = 60.0
"""Seconds for which a user counts as being at work after something that we did not do."""

BURST: Final = 5.0
"""Moves of the branch that may follow one another at once: an agent that writes now and then never waits."""

EVERY: Final = 1.2
"""Seconds between two moves after that."""

FEW: Final = 2.0
"""With fewer moves left, a write does no more than one move, at once or not at all."""

_USER, _LEFT = "user-seen", "moves-left"


def look(worktree: Worktree) -> None:
    """Note if somebody else has written git's index since our last commit, as nearly every command of git's does."""
    ours = moves.our_index(worktree)
    if ours and ours != activity.index_mark(worktree):
        (worktree.state_dir / _USER).touch()


def applies(worktree: Worktree, now: float) -> bool:
    """Whether a user is at work here (`now`: seconds since 1970)."""
    try:
        seen = (worktree.state_dir / _USER).stat().st_mtime
    except FileNotFoundError:
        return False
    return abs(now - seen) <= AROUND


def allows(worktree: Worktree, now: float) -> bool:
    """Whether the branch may move now."""
    return not applies(worktree, now) or _left(worktree, now) >= 1.0


def presses(worktree: Worktree, now: float) -> bool:
    """Whether so many writes come beside a user that the next one commits soon whatever this one leaves."""
    return applies(worktree, now) and _left(worktree, now) < FEW


def moved(worktree: Worktree, now: float) -> None:
    """Count a move of the branch."""
    if applies(worktree, now):
        (worktree.state_dir / _LEFT).write_text(f"{max(0.0, _left(worktree, now) - 1.0)} {now}")


def _left(worktree: Worktree, now: float) -> float:
    """Moves that are left: one more every so many seconds, up to a burst (a token bucket)."""
    try:
        left, then = map(float, (worktree.state_dir / _LEFT).read_text().split())
    except (FileNotFoundError, ValueError):
        return BURST
    return min(BURST, left + abs(now - then) / EVERY)
