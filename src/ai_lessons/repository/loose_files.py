"""Files outside of all jobs: entries in no commit, links, and files of no kind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge import layout
from ai_lessons.repository import git
from ai_lessons.repository.approval.rule_files import is_rule

if TYPE_CHECKING:
    from ai_lessons.repository.store import Store

NAMED = 5
_WHOLE = {b"??", b" M", b" D", b"M ", b"A ", b"D "}
"""As `git status --porcelain` marks what no commit has: on disk and, if it is staged at all, staged just so."""


class Uncommitted(NamedTuple):
    """Paths below the root with changes in no commit: entries, rules (proposed, not committed), and the user's.

    `left`: staged in part or in conflict, or no entry; it may lie elsewhere.
    """

    entries: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def uncommitted(store: Store) -> Uncommitted:
    """What the user edited, made, moved or removed and did not commit; writes of ours that wait are none of it."""
    status = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    waiting = {noted.path for intent in store.pending() for noted in intent.paths}
    entries: list[str] = []
    rules: list[str] = []
    left: list[str] = []
    for row in filter(None, git.run(store.worktree, *status, cwd=store.root).out.split(b"\0")):
        path = os.fsdecode(row[3:])
        inside = path.removeprefix(store.prefix)
        if inside in waiting:
            continue
        is_entry = path.startswith(store.prefix) and layout.place(inside) is not None
        if not is_entry or row[:2] not in _WHOLE or (store.root / inside).is_symlink():
            left.append(inside)
        else:
            (rules if is_rule(inside) else entries).append(inside)
    return Uncommitted(*(tuple(sorted(paths)) for paths in (entries, rules, left)))


def unshared(store: Store) -> list[str]:
    """A sentence for each sort of what no commit has, with the command that shares it."""
    edits = uncommitted(store)
    if not store.autocommit:
        edits = Uncommitted(left=(*edits.entries, *edits.rules, *edits.left))
    sorts = (
        (len(edits.entries), "entry file", "edited and in no commit", "ai-lessons admin save --edits"),
        (len(edits.rules), "rule", "edited and in no commit", "ai-lessons contribute propose"),
        (len(edits.left), "other change" if store.autocommit else "change", "in no commit", "git status"),
    )
    return [
        f"1 {noun} is {state}, so nobody else has it: {command}"
        if count == 1
        else f"{count} {noun}s are {state}, so nobody else has them: {command}"
        for count, noun, state, command in sorts
        if count
    ]


def loose(store: Store) -> list[str]:
    """A line for each sort, with the first few by name.

    Hidden files are git's and ours; at the top, README.md, LICENSE and CODEOWNERS are for people. Writes that wait are
    left out, and all that is in no commit where commits are the user's.
    """
    links, unclaimed = _odd(os.path.realpath(store.root))
    edits = uncommitted(store) if store.autocommit else Uncommitted()
    staged = [path for path in edits.left if layout.place(path) is not None and not (store.root / path).is_symlink()]
    sorts = {
        "in no commit (ai-lessons admin save --edits)": edits.entries,
        "rules in no commit (ai-lessons contribute propose)": edits.rules,
        "staged in part or in conflict, so yours to commit": staged,
        "a link, which is not followed": links, "of no kind that is known": unclaimed,
    }  # fmt: skip
    lines = []
    for sort, paths in sorts.items():
        hidden = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
        if paths:
            lines.append(f"{sort}: {', '.join(paths[:NAMED])}{hidden}")
    return lines


def _odd(root: str) -> tuple[list[str], list[str]]:
    """Links out of a folder or in the place of an entry, and files that are no entries."""
    links: list[str] = []
    unclaimed: list[str] = []
    for folder, below, files in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith(".") and name != "__pycache__")
        for name in (*below, *sorted(files)):
            full = os.path.join(folder, name)
            path = os.path.relpath(full, root)
            if os.path.islink(full):
                real = os.path.realpath(full)
                stays = real == root or real.startswith(root + os.sep)
                if not stays or layout.place(path) is not None:
                    links.append(path)
            elif name not in below and not name.startswith(".") and layout.place(path) is None:
                for_people = folder == root and (name.endswith(".md") or "." not in name)
                unclaimed += [] if for_people else [path]
    return links, unclaimed
