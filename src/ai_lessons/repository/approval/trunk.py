"""The approval branch as proposals are compared with it: where it stands, and which commits it has already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound
from ai_lessons.repository.approval import approved, rule_history
from ai_lessons.repository.approval.approval_branch import branch_name
from ai_lessons.repository.approval.derivation import derive

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ai_lessons.repository.approval.verdicts import BranchView
    from ai_lessons.repository.worktree import Worktree


class Trunk:
    """One moment of the approval branch. `view` is what the engine says about it, signatures not looked at."""

    def __init__(self, worktree: Worktree, view: BranchView) -> None:
        if view.tip is None:
            raise NotFound("commit on the approval branch", branch_name(view.ref), hint="commit something first")
        self.worktree, self.view, self.tip = worktree, view, view.tip
        self._has: dict[str, bool] = {}

    @property
    def ref(self) -> str:
        """The branch's full name."""
        return self.view.ref

    @property
    def name(self) -> str:
        """The branch as people write it."""
        return branch_name(self.view.ref)

    def contains(self, commits: Collection[str]) -> set[str]:
        """Those commits that the branch has."""
        unknown = [commit for commit in commits if commit not in self._has]
        if unknown:
            inside = rule_history.contained(self.worktree, self.tip, unknown)
            self._has |= {commit: commit in inside for commit in unknown}
        return {commit for commit in commits if self._has[commit]}

    def newest(self, commits: Iterable[str]) -> str | None:
        """One of these commits that no other of them has among its ancestors; the first of several, None of none.

        By the history and not by the times of the commits, which clocks set: several may be of one second.
        """
        best: str | None = None
        for commit in commits:
            if best is None or rule_history.contained(self.worktree, commit, [best]):
                best = commit
        return best

    def places(self, rule: str) -> set[str]:
        """Where texts of a rule stand on the branch."""
        verdict = self.view.verdicts.get(rule)
        if verdict is None:
            return set()
        paths = {one.path for one in verdict.unapproved if one.blob} | ({verdict.path} if verdict.path else set())
        return {path for path in paths if path in self.view.files}


def look(worktree: Worktree, ref: str) -> Trunk:
    """The approval branch as it stands now.

    Raises:
        NotFound: there is no such branch, or nothing on it. UnsupportedRepository: its history cannot be read.
    """
    return Trunk(worktree, approved.look(worktree, ref) or derive(worktree, ref))
