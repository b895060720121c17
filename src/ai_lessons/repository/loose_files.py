"""Files that no job takes care of: entries in no commit, links, and what no kind claims."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge import layout
from ai_lessons.repository import git
from ai_lessons.repository.approval.rule_files import is_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.repository.store import Store

NAMED = 5
_WHOLE = {b"??", b" M", b" D", b"M ", b"A ", b"D "}
"""As `git status --porcelain` marks what no commit has: on disk and, if it is staged at all, staged just so."""


class Uncommitted(NamedTuple):
    """What no commit has, by path below the root: files of entries, files of rules, and all that is left to the user.

    Rules are proposed, not committed. `left` is staged in part or in conflict, or no entry; it may lie elsewhere.
    """

    entries: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def uncommitted(store: Store) -> Uncommitted:
    """What the user edited, made, moved or removed and did not commit; writes of ours that wait are none of it."""
    asked = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    waiting = {noted.path for intent in store.pending() for noted in intent.paths}
    found: dict[str, list[str]] = {"entries": [], "rules": [], "left": []}
    for row in filter(None, git.run(store.worktree, *asked, cwd=store.root).out.split(b"\0")):
        path = os.fsdecode(row[3:])
        inside = path.removeprefix(store.prefix)
        if inside in waiting:
            continue
        known = path.startswith(store.prefix) and layout.place(inside) is not None
        whole = row[:2] in _WHOLE and not (store.root / inside).is_symlink()
        found["left" if not (known and whole) else "rules" if is_rule(inside) else "entries"].append(inside)
    return Uncommitted(*(tuple(sorted(paths)) for paths in found.values()))


def unshared(store: Store) -> list[str]:
    """A sentence for each sort of what no commit has, with the command that shares it."""
    found = uncommitted(store)
    if not store.autocommit:
        found = Uncommitted(left=(*found.entries, *found.rules, *found.left))
    sorts = (
        (found.entries, "entry file", "edited and ", "ai-lessons admin save --edits"),
        (found.rules, "rule", "edited and ", "ai-lessons contribute propose"),
        (found.left, "other change" if store.autocommit else "change", "", "git status"),
    )
    return [_sentence(len(paths), *said) for paths, *said in sorts if paths]


def _sentence(many: int, noun: str, how: str, command: str) -> str:
    if many == 1:
        return f"1 {noun} is {how}in no commit, so nobody else has it: {command}"
    return f"{many} {noun}s are {how}in no commit, so nobody else has them: {command}"


def loose(store: Store) -> list[str]:
    """A line for each sort, with the first few by name.

    Hidden files are git's and ours; at the top, README.md, LICENSE and CODEOWNERS are for people. Of what waits others
    tell, and where commits are the user's, nothing is said of them.
    """
    links, unclaimed = _odd(os.path.realpath(store.root))
    edits = uncommitted(store) if store.autocommit else Uncommitted()
    mine = [path for path in edits.left if layout.place(path) is not None and not (store.root / path).is_symlink()]
    told = {
        "in no commit (ai-lessons admin save --edits)": edits.entries,
        "rules in no commit (ai-lessons contribute propose)": edits.rules,
        "staged in part or in conflict, so yours to commit": mine,
        "a link, which is not followed": links, "of no kind that is known": unclaimed,
    }  # fmt: skip
    return [f"{what}: {_named(paths)}" for what, paths in told.items() if paths]


def _odd(root: str) -> tuple[list[str], list[str]]:
    """Links out of a folder or in the place of an entry, and files that are no entries."""
    links: list[str] = []
    unclaimed: list[str] = []
    for folder, below, files in os.walk(root):
        below[:] = sorted(one for one in below if not one.startswith(".") and one != "__pycache__")
        for name in (*below, *sorted(files)):
            full = os.path.join(folder, name)
            path = os.path.relpath(full, root)
            if os.path.islink(full):
                real = os.path.realpath(full)
                stays = real == root or real.startswith(root + os.sep)
                links += [] if stays and layout.place(path) is None else [path]
            elif name not in below and not name.startswith(".") and layout.place(path) is None:
                unclaimed += [] if folder == root and (name.endswith(".md") or "." not in name) else [path]
    return links, unclaimed


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - NAMED
    return ", ".join(paths[:NAMED]) + (f" and {more} more" if more > 0 else "")
