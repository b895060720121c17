"""What changes whenever other rules may be in force. Every read asks, so this loads neither verdicts nor their state.

Starts no program, reads no git object and opens no database: a few small files of git's and of ours.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ai_lessons.repository.proposal_refs import rule_refs, signature

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
    return " ".join((tip, signature(known), str(_known(worktree.state_dir)), ground(worktree)))


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


def ground(worktree: Worktree) -> str:
    """Where the history is cut off, and since when the machine runs: else what was read before is of no use."""
    return f"{cut_off(worktree)} {boot()}"


def cut_off(worktree: Worktree) -> str:
    """Where a shallow clone's history ends; empty for a whole one."""
    try:
        return sha256((worktree.common_dir / "shallow").read_bytes()).hexdigest()
    except OSError:
        return ""


def boot() -> str:
    """Names the time since the machine was started; empty where the system does not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""
