"""How often our commits may come while somebody works with git in the same folder.

A `git add` that meets a lock on the index fails at once, and a `git pull` may fail where the branch moves under it.
Either takes a millisecond of bad luck; so where a user is at work, many commits of ours in a row become few, each move
of the branch with many jobs. Under our commit lock.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.repository import activity, git_index, moves

if TYPE_CHECKING:
    from ai_lessons.repository.worktree import Worktree

AROUND: Final = 60.0
"""Seconds for which a user counts as being at work after something that we did not do."""

BURST: Final = 5.0
"""Moves of the branch that may follow one another at once: an agent that writes now and then never waits."""

EVERY: Final = 0.6
"""Seconds between two moves after that."""

AFTER, IDLE = 2.0, 10.0
"""Seconds. People look at what a command said before they type the next one: so the first two after a command are the
best time to move the branch, and the next eight the worst."""

_USER, _LEFT = "user-seen", "moves-left"


class Pace(NamedTuple):
    """What holds now.

    `beside_user`: a user is at work here. `pressed`: so many writes come beside them that the next one commits soon
    whatever this one leaves. `allows`: the branch may move.
    """

    beside_user: bool
    pressed: bool
    allows: bool


def now(worktree: Worktree, when: float) -> Pace:
    """How it is at that moment (seconds since 1970), after a look what others have done since our last commit."""
    _look(worktree)
    since, left = _since(worktree, when), _left(worktree, when)
    beside_user = since <= AROUND
    pressed = beside_user and left < BURST - 1.0
    return Pace(beside_user, pressed, not pressed or (left >= 1.0 and not AFTER < since < IDLE))


def _look(worktree: Worktree) -> None:
    """Note when somebody else has written git's index, as nearly every command of git's does."""
    ours = moves.our_index(worktree)
    if ours and ours != activity.index_mark(worktree):
        note = worktree.state_dir / _USER
        note.touch()
        with suppress(FileNotFoundError):
            then = git_index.index_file(worktree).stat().st_mtime
            os.utime(note, (then, then))


def moved(worktree: Worktree, when: float) -> None:
    """Count a move of the branch."""
    if _since(worktree, when) <= AROUND:
        (worktree.state_dir / _LEFT).write_text(f"{max(0.0, _left(worktree, when) - 1.0)} {when}")


def _since(worktree: Worktree, when: float) -> float:
    """Seconds since a command of a user's."""
    try:
        return abs(when - (worktree.state_dir / _USER).stat().st_mtime)
    except FileNotFoundError:
        return float("inf")


def _left(worktree: Worktree, when: float) -> float:
    """Moves that are left: one more every so many seconds, up to a burst (a token bucket)."""
    try:
        left, then = map(float, (worktree.state_dir / _LEFT).read_text().split())
    except (FileNotFoundError, ValueError):
        return BURST
    return min(BURST, left + abs(when - then) / EVERY)
