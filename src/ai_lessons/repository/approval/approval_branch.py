"""Which branch decides in this clone: the one its git configuration names, the one followed first, or `main`."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ai_lessons.repository.files import translated
from ai_lessons.repository.proposal_refs import PROPOSALS as RULES
from ai_lessons.repository.proposal_refs import proposal_refs, signature
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
    """Everything that verdicts depend on besides the policy. `refs`: the branches of proposals of rules, if known."""
    known = proposal_refs(worktree, RULES) if refs is None else refs
    try:
        size = (folder(worktree.state_dir) / PROPOSALS).stat().st_size
    except OSError:
        size = 0
    return f"{tip} {signature(known)} {size} {cut_off(worktree)}"


def memory(state_dir: Path) -> str:
    """Changes with what this clone remembers for good of its approval branches; `-` for nothing."""
    return _digest(folder(state_dir) / REMEMBERED) or "-"


def cut_off(worktree: Worktree) -> str:
    """Where a shallow clone's history ends; empty for a whole one."""
    return _digest(worktree.common_dir / "shallow")


def _digest(file: Path) -> str:
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""


SETTING: Final = "ai-lessons.approvalBranch"
DEFAULT: Final = "main"
_HEADS: Final = "refs/heads/"
_PIN: Final = "branch"


def followed(worktree: Worktree) -> str | None:
    """The approval branch as a full ref, which need not exist; None if none was named. Raises UnsupportedRepository."""
    with translated(str(worktree.common_dir)):
        named = read_settings(worktree.common_dir / "config").get(SETTING.lower())
    if not named:
        with suppress(OSError):
            named = (folder(worktree.state_dir) / _PIN).read_text(encoding="utf-8", errors="replace").strip()
    if named:
        return _HEADS + named.removeprefix(_HEADS)
    return _HEADS + DEFAULT if read_ref(worktree, _HEADS + DEFAULT) else None


def follow_first(worktree: Worktree, branch: str) -> str | None:
    """Follow `branch` from now on where there is one (and this once where nothing can be written); its full ref."""
    ref = _HEADS + branch
    if read_ref(worktree, ref) is None:
        return None
    place = folder(worktree.state_dir) / _PIN
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(branch + "\n", encoding="utf-8")
    return ref


def branch_name(ref: str) -> str:
    """The branch as people write it: `main`, `origin/main`."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")


def short_name(ref: str) -> str:
    """The branch without its remote, as it stands in the messages of merges."""
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else branch_name(ref).partition("/")[2]
