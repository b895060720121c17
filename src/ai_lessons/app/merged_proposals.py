"""Branches of proposals after their merge: what came along merged is no news, and ours are deleted on the remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.git import plumbing
from ai_lessons.git.approval_branch import HEADS, branch_of, proposal_refs, tracking
from ai_lessons.git.identity import GitIdentity, address_of
from ai_lessons.git.network import Network
from ai_lessons.git.worktree import checked_out_at, read_ref

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.app.workspace import RepositorySession


def still_open(repo: RepositorySession, branches: Sequence[str]) -> tuple[str, ...]:
    """Those of the branches that a person has to decide about: others came with their merge."""
    if not branches:
        return ()
    from ai_lessons.app.proposal_context import open_proposals

    try:
        with open_proposals(repo) as at:
            waiting = {proposal.name for proposal in at.every.proposals}
    except NotFound:
        # no approval branch yet
        return tuple(branches)
    return tuple(name for name in branches if name in waiting)


def drop(repo: RepositorySession, remote: str, *, ask: bool) -> tuple[str, ...]:
    """Delete the branches of our own proposals that the remote's approval branch holds by now.

    Only those whose last commit is ours, and only where they still are at it. The sentences say
    which; what the remote does not let go stays, without a word.
    """
    worktree = repo.store.worktree
    merged = _ours_and_merged(repo, remote)
    if not merged:
        return ()
    network = Network(worktree, remote, ask=ask, progress=repo.options.progress)
    dropped = []
    for name, commit in merged.items():
        try:
            state, _ = network.replace(HEADS + name, "", commit)
        except AiLessonsError:
            # the next sync tries again
            break
        if state != "done":
            continue
        dropped.append(name)
        if not checked_out_at(worktree, HEADS + name):
            # git checks that it is still at that commit
            plumbing.run(worktree, "update-ref", "-d", HEADS + name, commit)
    return tuple(f"{name} is merged, so it was deleted on {remote}" for name in dropped)


def _ours_and_merged(repo: RepositorySession, remote: str) -> dict[str, str]:
    """The last commits of such branches on a remote, by name."""
    worktree, ref = repo.store.worktree, repo.rules.ref()
    if ref is None:
        return {}
    family = f"refs/remotes/{remote}/"
    trunk = tracking(worktree, ref)
    tip = read_ref(worktree, trunk)
    if not trunk.startswith(family) or tip is None:
        return {}
    proposals = proposal_refs(worktree)
    if not any(ref.startswith(family) for ref in proposals):
        return {}
    ours = address_of(GitIdentity(worktree).committer() or "")
    if not ours:
        return {}
    # git is asked once for all of them: a remote may hold thousands
    form = "--format=%(refname) %(objectname) %(committeremail)"
    merged: dict[str, str] = {}
    for row in plumbing.run(
        worktree, "for-each-ref", f"--merged={tip}", form, family
    ).text.splitlines():
        branch, commit, committer = row.split(" ", 2)
        if proposals.get(branch) == commit and address_of(committer) == ours:
            merged[branch_of(branch)] = commit
    return merged
