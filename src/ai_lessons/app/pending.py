"""How many proposals wait for a person: asked at each start of a session, so the answer is kept."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ai_lessons import app
from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.git import approval_branch
from ai_lessons.git.approval_branch import proposal_refs, signature

if TYPE_CHECKING:
    from ai_lessons.app.workspace import RepositorySession


def count(repo: RepositorySession) -> int:
    """How many proposals wait.

    With nothing new since the last question it reads a few small files.
    """
    worktree = repo.store.worktree
    if repo.rules.ref() is None or not proposal_refs(worktree):
        return 0
    # only where proposals wait
    from ai_lessons.approval import state

    place = approval_branch.approval_folder(repo.store.state_dir) / "pending.json"
    noted = state.kept(place, _key(repo))
    if isinstance(noted, int):
        return noted
    try:
        with app.proposal_context.open_proposals(repo) as at:
            waiting = at.count()
    except NotFound:
        return 0
    with suppress(StorageFailed):
        # a repository that cannot be written is counted anew every time
        # the key is made anew: the first look at the approval branch writes what `state` is made
        # from
        state.keep(place, _key(repo), waiting)
    return waiting


def _key(repo: RepositorySession) -> str:
    """What the count depends on: the approval branch as judged, and the branches of proposals."""
    return f"{repo.rules.state()} {signature(proposal_refs(repo.store.worktree))}"
