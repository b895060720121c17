"""The code repository that somebody works in: its top folder, and what it is called. Runs no git."""

from __future__ import annotations

import re
from pathlib import Path

_WORKTREE = re.compile(r"gitdir: (.+)/\.git/worktrees/[^/]+/?\s*\Z")


def top_of(folder: Path) -> Path | None:
    """The nearest folder from here upward that holds `.git`; None where there is none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


def name_of(folder: Path) -> str:
    """The name of the top folder; of a linked worktree that of the repository it belongs to. Empty outside of any."""
    top = top_of(folder)
    if top is None:
        return ""
    try:
        found = _WORKTREE.match((top / ".git").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):  # usually a folder: the repository itself
        found = None
    return Path(found[1]).name if found else top.name


def same_name(one: str, other: str) -> bool:
    """Whether two names of a project are one but for capitals and what joins their words."""
    return _plain(one) == _plain(other) != ""


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "-", name.lower()).strip("-")
