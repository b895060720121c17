"""How many proposals wait: asked by hooks and prompts, so remembered until a branch moves. Loads nothing slow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ai_lessons import library
from ai_lessons.errors import NotFound
from ai_lessons.repository.approval import approval_branch
from ai_lessons.repository.proposal_refs import PROPOSALS, branch_of, proposal_refs, signature
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession

_FILE = "pending.json"


def pending_count(opened: Library) -> int:
    """How many wait; with nothing new since the last question it reads a few small files."""
    return number_pending(opened.primary)


def number_pending(parts: RepositorySession) -> int:
    """As `pending_count`, of this repository."""
    refs = proposal_refs(parts.store.worktree)
    if not refs or parts.rules.ref() is None:
        return 0
    place = approval_branch.folder(parts.store.state_dir) / _FILE
    try:
        noted = json.loads(place.read_bytes())
        if noted["key"] == _key(parts, refs):
            return int(noted["count"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # never counted here, or a file that cannot be read: it is only a memory
    try:
        found = library.review.count(parts)
    except NotFound:
        return 0
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({"key": _key(parts, proposal_refs(parts.store.worktree)), "count": found}))
    except OSError:
        return found  # a repository that cannot be written is counted anew every time
    return found


def _key(parts: RepositorySession, refs: Mapping[str, str]) -> str:
    """Everything that the number depends on."""
    ref = parts.rules.ref() or ""
    worktree = parts.store.worktree
    rules = {name: commit for name, commit in refs.items() if branch_of(name).startswith(PROPOSALS)}
    verdicts = approval_branch.key_of(worktree, read_ref(worktree, ref) or "", rules)
    return f"{ref} {verdicts} {signature(refs)}"
