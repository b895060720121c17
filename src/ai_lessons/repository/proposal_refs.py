"""Which proposal branches there are, here and on remotes, read from git's own files. Starts no program."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.repository.worktree import Worktree

PROPOSALS: Final = "rules/"  # Every proposal about a rule is a branch below this
# Every other proposal is a branch below this: about a lesson, a doc, a script, or a record of a release
OTHERS: Final = "proposals/"
_REF: Final = re.compile(rf"refs/(?:heads|remotes/[^/]+)/((?:{PROPOSALS}|{OTHERS})\S+)")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


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


def signature(refs: Mapping[str, str]) -> str:
    """Changes whenever any of them does."""
    return sha256("\n".join(f"{ref} {commit}" for ref, commit in sorted(refs.items())).encode()).hexdigest()
