"""How many proposals wait: asked by hooks and prompts, so remembered until a branch moves. Loads nothing slow."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from ai_lessons import library
from ai_lessons.errors import NotFound
from ai_lessons.repository.approval import approval_branch
from ai_lessons.repository.proposal_refs import PROPOSALS, branch_of, proposal_refs, signature
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession

_FILE = "pending.json"


def pending_count(opened: Library) -> int:
    """How many wait; with nothing new since the last question it reads a few small files."""
    return number_pending(opened.primary)


def number_pending(parts: RepositorySession) -> int:
    """As `pending_count`, of this repository."""
    worktree, ref = parts.store.worktree, parts.rules.ref()

    def key() -> str:
        """Everything that the number depends on."""
        refs = proposal_refs(worktree)
        rules = {name: commit for name, commit in refs.items() if branch_of(name).startswith(PROPOSALS)}
        return f"{ref} {approval_branch.key_of(worktree, read_ref(worktree, ref or '') or '', rules)} {signature(refs)}"

    if ref is None or not proposal_refs(worktree):
        return 0
    place = approval_branch.folder(parts.store.state_dir) / _FILE
    with suppress(OSError, ValueError, KeyError, TypeError):  # never counted here, or a file that cannot be read
        noted = json.loads(place.read_bytes())
        if noted["key"] == key():
            return int(noted["count"])
    try:
        found = library.review.count(parts)
    except NotFound:
        return 0
    with suppress(OSError):  # a repository that cannot be written is counted anew every time
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({"key": key(), "count": found}))
    return found
