"""The approval branch and the proposal branches of a clone, read from git's own files. Starts no program."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from hashlib import sha256
from shlex import quote
from typing import TYPE_CHECKING, Final

from ai_lessons.repository.files import translated
from ai_lessons.repository.worktree import Worktree, read_ref, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


_FOLDER: Final = "approval"
REMEMBERED: Final = "remembered.json"
SEEN: Final = "proposals.jsonl"  # Every proposal of a rule that this clone has seen
NAMES: Final = "first-commits.json"

PROPOSALS: Final = "rules/"  # Every proposal about a rule is a branch below this
# Every other proposal is a branch below this: about a lesson, a doc, a script
OTHERS: Final = "proposals/"
_REF: Final = re.compile(rf"refs/(?:heads|remotes/[^/]+)/((?:{PROPOSALS}|{OTHERS})\S+)")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


def folder(state_dir: Path) -> Path:
    """Where approval keeps its files."""
    return state_dir / _FOLDER


def key_of(worktree: Worktree, tip: str, refs: Mapping[str, str] | None = None) -> str:
    """Everything that verdicts depend on besides the policy. `refs`: the branches of proposals of rules, if read."""
    refs = proposal_refs(worktree, PROPOSALS) if refs is None else refs
    try:
        size = (folder(worktree.state_dir) / SEEN).stat().st_size
    except OSError:
        size = 0
    return f"{tip} {signature(refs)} {size} {cut_off(worktree)}{_filters(worktree)}"


def _filters(worktree: Worktree) -> str:
    """Digests of attributes and settings; empty where the attributes at the top name no filter."""
    attributes = b""
    for path in (worktree.top / ".gitattributes", worktree.common_dir / "info" / "attributes"):
        with suppress(OSError):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    attributes += file.read(1 << 20)
    if b"filter" not in attributes:
        return ""
    return f" {sha256(attributes).hexdigest()} {_digest(worktree.common_dir / 'config')}"


def memory(state_dir: Path) -> str:
    """The digest of what this clone remembers of its approval branches; `-` for nothing."""
    return _digest(folder(state_dir) / REMEMBERED) or "-"


def cut_off(worktree: Worktree) -> str:
    """The digest of where a shallow clone's history ends; empty for a whole one."""
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
        branch = read_settings(worktree.common_dir / "config").get(SETTING.lower())
    if not branch:
        with suppress(OSError):
            branch = (folder(worktree.state_dir) / _PIN).read_text(encoding="utf-8", errors="replace").strip()
    if branch:
        return _HEADS + branch.removeprefix(_HEADS)
    return _HEADS + DEFAULT if read_ref(worktree, _HEADS + DEFAULT) else None


def follow_first(worktree: Worktree, branch: str) -> str | None:
    """Follow `branch` from now on, or once where the state cannot be written; its full ref, None if it is missing."""
    ref = _HEADS + branch
    if read_ref(worktree, ref) is None:
        return None
    pin = folder(worktree.state_dir) / _PIN
    with suppress(OSError):
        pin.parent.mkdir(parents=True, exist_ok=True)
        pin.write_text(branch + "\n", encoding="utf-8")
    return ref


def branch_name(ref: str) -> str:
    """The branch as people write it: `main`, `origin/main`."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")


def short_name(ref: str) -> str:
    """The branch without its remote, as it stands in the messages of merges."""
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else branch_name(ref).partition("/")[2]


def proposal_refs(worktree: Worktree, *families: str) -> dict[str, str]:
    """Full names of proposal branches (of these families, or all) and where they point, loose before packed ones."""
    families = families or (PROPOSALS, OTHERS)
    refs: dict[str, str] = {}
    common, above = worktree.common_dir, len(os.fspath(worktree.common_dir)) + 1
    with suppress(OSError):
        for line in (common / "packed-refs").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            commit, _, ref = line.partition(" ")
            if branch_of(ref).startswith(families) and _COMMIT.fullmatch(commit):
                refs[ref] = commit
    tops = (common / "refs" / "heads", *sorted(common.glob("refs/remotes/*")))
    walks = (os.walk(top / family.rstrip("/")) for top in tops for family in families)
    for file in (f"{folder}/{name}" for walk in walks for folder, _, names in walk for name in names):
        # raw reads and no pathlib: there may be thousands, and they are read several times
        with suppress(OSError, UnicodeDecodeError), open(file, "rb", buffering=0) as opened:
            text = opened.read(100).decode("ascii").strip()
            if _COMMIT.fullmatch(text) and branch_of(file[above:]):
                refs[file[above:]] = text
    return refs


def branch_of(ref: str) -> str:
    """`rules/R-8F3K2A-use-x` for its ref, local or remote; empty for any other, and for names that are no text."""
    match = _REF.fullmatch(ref)
    return match[1] if match and ref.isprintable() else ""


def passed_over(ref: str, commit: str) -> str:
    """The message about the ref of a proposal that cannot be read."""
    why = f"its commit {commit[:10]}, or an object behind it, is missing, damaged or no commit"
    return f"{branch_name(ref)} cannot be read and is passed over: {why}; to remove it: git update-ref -d {quote(ref)}"


def signature(refs: Mapping[str, str]) -> str:
    """A digest of refs and their commits."""
    return sha256("\n".join(f"{ref} {commit}" for ref, commit in sorted(refs.items())).encode()).hexdigest()


def noted_names(worktree: Worktree) -> dict[str, tuple[str, str]]:
    """By approval branch the tip at which it was read, and the name of the repository's list of signers."""
    try:
        raw = json.loads((folder(worktree.state_dir) / NAMES).read_bytes())
        return {str(ref): (str(tip), str(name)) for ref, (tip, name) in raw.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
