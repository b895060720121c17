"""Files that a process put in place for a commit which it then did not live to make: taken back by whoever comes next.

A job that lands on a branch has no note in the journal, because without its commit it shall not have happened. So
what its files were is noted before they change, and forgotten when the branch has moved or they are as they were.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound
from ai_lessons.repository import files
from ai_lessons.repository.locks import held
from ai_lessons.repository.objects import contains, opened
from ai_lessons.repository.store import blob_id
from ai_lessons.repository.worktree import read_head

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ai_lessons.repository.worktree import Worktree

_NOTE = "landing"


def note(worktree: Worktree, tip: str | None, changes: Mapping[str, tuple[bytes | None, bytes | None]]) -> None:
    """Before files change: what they were and what they become (None: no file), and the commit that makes it so."""
    rows = {
        path: [None if old is None else b64encode(old).decode(), None if new is None else blob_id(new)]
        for path, (old, new) in changes.items()
    }
    files.write_file(worktree.state_dir, _NOTE, json.dumps({"tip": tip, "files": rows}).encode())


def forget(worktree: Worktree) -> None:
    """The files are as the branch has them."""
    (worktree.state_dir / _NOTE).unlink(missing_ok=True)


def take_back(worktree: Worktree) -> None:
    """Undo what a dead process left half done. Under our commit lock.

    Leaves alone what somebody has changed since, and everything while another process writes files.
    """
    try:
        told = json.loads((worktree.state_dir / _NOTE).read_bytes())
        tip, rows = told["tip"], [(str(path), old, new) for path, (old, new) in told["files"].items()]
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError):
        forget(worktree)  # lost with the power: then its files never changed
        return
    with held(worktree.state_dir / "write.lock", patience=0) as mine:
        if not mine:
            return
        if not _has_moved(worktree, tip):
            for path, old, new in rows:
                _restore(worktree.root, path, None if old is None else b64decode(old), new)
        forget(worktree)


def _has_moved(worktree: Worktree, tip: str | None) -> bool:
    """True if the branch that is checked out holds the commit."""
    head = read_head(worktree).commit
    if tip is None or head is None or tip == head:
        return tip == head
    with opened(worktree) as repo:
        return contains(worktree, repo, head, tip)


def _restore(root: Path, path: str, old: bytes | None, new: str | None) -> None:
    files.sweep(root, path)
    try:
        there = blob_id(files.read_file(root, path)[0])
    except NotFound:
        there = None
    if there != new:
        return
    if old is None:
        files.remove_file(root, path)
    else:
        files.write_file(root, path, old)
