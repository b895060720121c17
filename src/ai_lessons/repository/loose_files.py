"""Files that no job takes care of: entries in no commit, links, and what no kind claims."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ai_lessons.knowledge import layout
from ai_lessons.repository import git

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.repository.store import Store

NAMED = 5
_NEW = {b"??", b"A ", b"AM"}  # As `git status --porcelain` marks what no commit has


def loose(store: Store) -> list[str]:
    """A line for each sort, with the first few by name.

    Hidden files are git's and ours; at the top, README.md, LICENSE and CODEOWNERS are for people. Of what waits others
    tell, and where commits are the user's, nothing is said of them.
    """
    links, unclaimed = _odd(os.path.realpath(store.root))
    told = {
        "in no commit": _uncommitted(store) if store.autocommit else [], "a link, which is not followed": links,
        "of no kind that is known": unclaimed,
    }  # fmt: skip
    return [f"{what}: {_named(paths)}" for what, paths in told.items() if paths]


def _uncommitted(store: Store) -> list[str]:
    asked = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", ".")
    rows = git.run(store.worktree, *asked, cwd=store.root).out.split(b"\0")
    names = (os.fsdecode(row[3:]).removeprefix(store.worktree.prefix) for row in rows if row[:2] in _NEW)
    waiting = {noted.path for intent in store.pending() for noted in intent.paths}
    new = sorted(name for name in names if layout.place(name) is not None and name not in waiting)
    return [name for name in new if not (store.root / name).is_symlink()]


def _odd(root: str) -> tuple[list[str], list[str]]:
    """Links out of a folder or in the place of an entry, and files that are no entries."""
    links: list[str] = []
    unclaimed: list[str] = []
    for folder, below, files in os.walk(root):
        below[:] = sorted(one for one in below if not one.startswith(".") and one != "__pycache__")
        for name in (*below, *sorted(files)):
            full = os.path.join(folder, name)
            path = os.path.relpath(full, root)
            if os.path.islink(full):
                real = os.path.realpath(full)
                stays = real == root or real.startswith(root + os.sep)
                links += [] if stays and layout.place(path) is None else [path]
            elif name not in below and not name.startswith(".") and layout.place(path) is None:
                unclaimed += [] if folder == root and (name.endswith(".md") or "." not in name) else [path]
    return links, unclaimed


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - NAMED
    return ", ".join(paths[:NAMED]) + (f" and {more} more" if more > 0 else "")
