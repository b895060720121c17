"""Which branch decides what is in force in this clone, and what changes with it. Light: every read asks.

`approval.branch` of the tracked settings cannot decide that alone: whoever edits a file of the working tree would then
choose the branch. So it is `main`; or the branch that the clone's own git configuration names, which no pull changes
(`git config ai-lessons.approvalBranch NAME`); or, where there is no `main`, the one that was followed first.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ai_lessons.repository.files import translated
from ai_lessons.repository.proposal.proposal_refs import rule_refs, signature
from ai_lessons.repository.worktree import read_ref, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ai_lessons.repository.worktree import Worktree

_FOLDER: Final = "approval"
REMEMBERED: Final = "remembered.json"
PROPOSALS: Final = "proposals.jsonl"


def folder(state_dir: Path) -> Path:
    """Where approval keeps its files."""
    return state_dir / _FOLDER


def key_of(worktree: Worktree, tip: str, refs: Mapping[str, str] | None = None) -> str:
    """Everything that verdicts depend on besides the policy: the history, and the proposals that are known.

    `refs` are the branches of proposals of rules, if they were read a moment ago.
    """
    known = rule_refs(worktree) if refs is None else refs
    return " ".join((tip, signature(known), str(_known(worktree.state_dir)), cut_off(worktree)))


def memory(state_dir: Path) -> str:
    """Changes with what this clone remembers for good of its approval branches; `-` for nothing."""
    try:
        return sha256((folder(state_dir) / REMEMBERED).read_bytes()).hexdigest()
    except OSError:
        return "-"


def _known(state_dir: Path) -> int:
    """Grows with every proposal remembered or forgotten."""
    try:
        return (folder(state_dir) / PROPOSALS).stat().st_size
    except OSError:
        return 0


def cut_off(worktree: Worktree) -> str:
    """Where a shallow clone's history ends; empty for a whole one."""
    try:
        return sha256((worktree.common_dir / "shallow").read_bytes()).hexdigest()
    except OSError:
        return ""


SETTING: Final = "ai-lessons.approvalBranch"
DEFAULT: Final = "main"
_HEADS: Final = "refs/heads/"
_PIN: Final = "branch"


def followed(worktree: Worktree) -> str | None:
    """The approval branch as a full ref, which need not exist; None if nothing was ever said and there is no `main`.

    Raises:
        StorageFailed, UnsupportedRepository: git's own files cannot be read.
    """
    with translated(str(worktree.common_dir)):
        named = read_settings(worktree.common_dir / "config").get(SETTING.lower()) or _pinned(worktree)
    if named:
        return _HEADS + named.removeprefix(_HEADS)
    return _HEADS + DEFAULT if read_ref(worktree, _HEADS + DEFAULT) else None


def follow_first(worktree: Worktree, branch: str) -> str | None:
    """Follow `branch`, the one that the settings name, from now on, if there is such a branch. Gives its full ref.

    Only for a clone where `followed` knows none. Where nothing can be written it is followed this once.
    """
    ref = _HEADS + branch
    if read_ref(worktree, ref) is None:
        return None
    place = folder(worktree.state_dir) / _PIN
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(branch + "\n", encoding="utf-8")
    return ref


def _pinned(worktree: Worktree) -> str:
    try:
        return (folder(worktree.state_dir) / _PIN).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def branch_name(ref: str) -> str:
    """The branch as people write it: `main`, `origin/main`."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")


def short_name(ref: str) -> str:
    """The branch without its remote, as it stands in the messages of merges."""
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else branch_name(ref).partition("/")[2]
