"""Lets git tidy up, as its own commands do after a commit.

Where only we write, nobody else runs a command that would: 1,000 lessons are 35 MB of small files, which `git gc` makes
one of 1 MB. Whether and how is up to the user's settings (`gc.auto` and the like).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ai_lessons.repository import git
from ai_lessons.repository.objects import pack_count

if TYPE_CHECKING:
    from ai_lessons.repository.worktree import Worktree

QUIET = 10.0
"""Seconds without a commit before one after which there is time for it: it takes the machine for a second or two."""

_PACKS, _LOOSE, _SAMPLE = 50, 27, "17"
"""git's own limits, judged as git does: packs, and files in one of the 256 folders of loose objects."""


def due(worktree: Worktree, when: float) -> bool:
    """Whether a commit made now (seconds since 1970) is the first for a while, and much lies about."""
    try:
        last = (worktree.git_dir / "logs" / "HEAD").stat().st_mtime
    except FileNotFoundError:
        return False
    if when - last < QUIET:
        return False
    folder = f"{worktree.common_dir}/objects"
    return pack_count(folder) > _PACKS or _sampled(f"{folder}/{_SAMPLE}") > _LOOSE


def tidy(worktree: Worktree) -> None:
    """Start `git gc --auto` and leave it alone: what it has to say it also says to the user's next command.

    Nobody waits for it, and it is never ended: killed, it would leave git's lock on branches.
    """
    git.leave_running(worktree, "gc", "--auto", "--quiet")


def _sampled(folder: str) -> int:
    try:
        return len(os.listdir(folder))
    except FileNotFoundError:
        return 0
