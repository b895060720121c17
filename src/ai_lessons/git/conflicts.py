"""Conflicts between clones: the side that a person chose, and the branches that keep ours."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from ai_lessons.git import branch_move, files, plumbing
from ai_lessons.git.approval_branch import HEADS
from ai_lessons.git.worktree import Worktree, checked_out_at, has_refs
from ai_lessons.model.layout import slug

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.git.merge_plan import MergeConflict


class Decisions:
    """The side that a person chose for each conflict, in the state folder of this clone."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "sync" / "decisions.json"
        self.made: dict[str, str] = files.read_json(self._file) or {}

    def choose(self, torn: MergeConflict) -> str | None:
        """The chosen side (`ours`, `theirs`).

        None: no choice was made, or one side has changed since.
        """
        return self.made.get(choice_key(torn.ours, torn.theirs, torn.path))

    def note(self, torn: MergeConflict, take: str) -> None:
        """Remember a choice. Raises StorageFailed: it cannot be written."""
        self.made[choice_key(torn.ours, torn.theirs, torn.path)] = take
        files.write_json(self._file, self.made, durable=True)

    def forget(self, merge: str = "") -> None:
        """Drop all choices after their `merge`, which an undo may ask for."""
        if merge and self.made:
            files.write_json(self._file.with_name("settled.json"), {merge: self.made})
        self.made = {}
        self._file.unlink(missing_ok=True)

    def settled(self) -> dict[str, dict[str, str]]:
        """The choices that made a merge, by its id; only of the last one that any did."""
        return files.read_json(self._file.with_name("settled.json")) or {}


def choice_key(ours: str | None, theirs: str | None, path: str) -> str:
    """What a choice is noted by: two versions of a file."""
    return f"{ours} {theirs} {path}"


# Our side of a conflict is a branch below this
CONFLICTS: Final = "conflict/"
KEEP: Final = "sync: keep our side"


def keep(worktree: Worktree, head: str, torn: Sequence[MergeConflict]) -> str:
    """The branch that keeps our side `head`: that of an earlier sync, moved on, or a new one.

    Raises Conflict.
    """
    for name, commit in kept(worktree).items():
        if commit == head:
            return name
        if plumbing.is_ancestor(worktree, commit, head) and not checked_out_at(
            worktree, HEADS + name
        ):
            branch_move.point(worktree, HEADS + name, commit, head, KEEP)
            return name
    name = dated(CONFLICTS, PurePosixPath(torn[0].path).stem)
    branch_move.point(worktree, HEADS + name, None, head, KEEP)
    return name


def dated(prefix: str, text: str) -> str:
    """A name for a branch that no other clone gives at the same second to the same text."""
    return f"{prefix}{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{slug(text)}"


def kept(worktree: Worktree, remote: str | None = None) -> dict[str, str]:
    """Branches that keep a side of a conflict, with their commits.

    Here, or on a remote as of the last fetch.
    """
    if remote:
        start = f"refs/remotes/{remote}/"
    else:
        start = HEADS
    if not has_refs(worktree, start + CONFLICTS):
        return {}
    done = plumbing.run(
        worktree, "for-each-ref", "--format=%(refname) %(objectname)", start + CONFLICTS
    )
    rows = []
    for line in done.text.splitlines():
        rows.append(line.split(" "))
    branches: dict[str, str] = {}
    for ref, commit in rows:
        branches[ref.removeprefix(start)] = commit
    return branches
