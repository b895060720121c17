"""Which branch decides in this clone, and which propose: read from git's own files. Starts no program."""

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
    """Everything that verdicts depend on besides the policy. `refs`: the branches of proposals of rules, if known."""
    known = proposal_refs(worktree, PROPOSALS) if refs is None else refs
    try:
        size = (folder(worktree.state_dir) / SEEN).stat().st_size
    except OSError:
        size = 0
    return f"{tip} {signature(known)} {size} {cut_off(worktree)}{filters(worktree)}"


def filters(worktree: Worktree) -> str:
    """Changes with what makes texts of what git keeps; empty where the attributes at the top speak of no filter."""
    said = b""
    for place in (worktree.top / ".gitattributes", worktree.common_dir / "info" / "attributes"):
        with suppress(OSError):
            if os.path.isfile(place):
                with open(place, "rb") as file:
                    said += file.read(1 << 20)
    return f" {sha256(said).hexdigest()} {_digest(worktree.common_dir / 'config')}" if b"filter" in said else ""


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


def proposal_refs(worktree: Worktree, *families: str) -> dict[str, str]:
    """Full names of proposal branches (of these families, or all) and where they point, loose before packed ones."""
    families = families or (PROPOSALS, OTHERS)
    found: dict[str, str] = {}
    common, above = worktree.common_dir, len(os.fspath(worktree.common_dir)) + 1
    with suppress(OSError):
        for line in (common / "packed-refs").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            commit, _, ref = line.partition(" ")
            if branch_of(ref).startswith(families) and _COMMIT.fullmatch(commit):
                found[ref] = commit
    places = (common / "refs" / "heads", *sorted(common.glob("refs/remotes/*")))
    walks = (os.walk(place / family.rstrip("/")) for place in places for family in families)
    for file in (f"{folder}/{name}" for walk in walks for folder, _, names in walk for name in names):
        # thousands may have been pushed, and they are read more than once: no text layer, no paths worked out
        with suppress(OSError, UnicodeDecodeError), open(file, "rb", buffering=0) as opened:
            text = opened.read(100).decode("ascii").strip()
            if _COMMIT.fullmatch(text) and branch_of(file[above:]):
                found[file[above:]] = text
    return found


def branch_of(ref: str) -> str:
    """`rules/R-8F3K2A-use-x` for its ref, local or remote; empty for any other, and for names that are no text."""
    found = _REF.fullmatch(ref)
    return found[1] if found and ref.isprintable() else ""


def passed_over(ref: str, commit: str) -> str:
    """What people are told of the ref of a proposal that cannot be read."""
    why = f"its commit {commit[:10]}, or an object behind it, is missing, damaged or no commit"
    return f"{branch_name(ref)} cannot be read and is passed over: {why}; to remove it: git update-ref -d {quote(ref)}"


def signature(refs: Mapping[str, str]) -> str:
    """Changes whenever any of them does."""
    return sha256("\n".join(f"{ref} {commit}" for ref, commit in sorted(refs.items())).encode()).hexdigest()


def noted_names(worktree: Worktree) -> dict[str, tuple[str, str]]:
    """By approval branch the tip at which it was looked at, and what the repository is called in signed records."""
    try:
        raw = json.loads((folder(worktree.state_dir) / NAMES).read_bytes())
        return {str(ref): (str(tip), str(name)) for ref, (tip, name) in raw.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
