"""What no commit has: edits of the user, files that git ignores, files that are no entries."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.git import plumbing
from ai_lessons.model import layout
from ai_lessons.model.approval import is_rule
from ai_lessons.model.texts import first_of

if TYPE_CHECKING:
    from ai_lessons.git.store import Store


# As `git status --porcelain` marks what no commit has.
# On disk and, if it is staged at all, staged just so.
_WHOLE = {"??", " M", " D", "M ", "A ", "D "}


class Uncommitted(NamedTuple):
    """Paths below the root with changes in no commit.

    Entries, rules (proposed, not committed), and the user's.

    `left`: staged in part or in conflict, or no entry; it may lie elsewhere.
    """

    entries: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def uncommitted(store: Store) -> Uncommitted:
    """What the user edited, made, moved or removed and did not commit.

    Writes of ours that wait are none of it.
    """
    waiting = set()
    for intent in store.pending():
        for noted in intent.paths:
            waiting.add(noted.path)
    entries: list[str] = []
    rules: list[str] = []
    left: list[str] = []
    for marks, path in plumbing.changed_files(store.worktree):
        inside = path.removeprefix(store.prefix)
        if inside in waiting:
            continue
        is_entry = path.startswith(store.prefix) and layout.place(inside) is not None
        if not is_entry or marks not in _WHOLE or (store.root / inside).is_symlink():
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
        (
            len(edits.entries),
            "entry file",
            "edited and in no commit",
            "ai-lessons admin save --edits",
        ),
        (len(edits.rules), "rule", "edited and in no commit", "ai-lessons contribute propose"),
        (
            len(edits.left),
            "other change" if store.autocommit else "change",
            "in no commit",
            "git status",
        ),
    )
    sentences: list[str] = []
    for count, noun, state, command in sorts:
        if count:
            if count == 1:
                sentences.append(f"1 {noun} is {state}, so nobody else has it: {command}")
            else:
                sentences.append(f"{count} {noun}s are {state}, so nobody else has them: {command}")
    return sentences


def loose(store: Store) -> list[str]:
    """A line for each sort, with the first few by name.

    Hidden files are git's and ours; at the top, README.md, LICENSE, CODEOWNERS and `examples/` are
    for people. Writes that wait are left out, and all that is in no commit where commits are the
    user's.
    """
    links, unclaimed = _odd(os.path.realpath(store.root))
    if store.autocommit:
        edits = uncommitted(store)
    else:
        edits = Uncommitted()
    staged = []
    for path in edits.left:
        if layout.place(path) is not None and not (store.root / path).is_symlink():
            staged.append(path)
    sorts = {
        "in no commit (ai-lessons admin save --edits)": edits.entries,
        "rules in no commit (ai-lessons contribute propose)": edits.rules,
        "staged in part or in conflict, so yours to commit": staged,
        "a link, which is not followed": links, "of no kind that is known": unclaimed,
    }  # fmt: skip
    lines = []
    for sort, paths in sorts.items():
        if paths:
            lines.append(f"{sort}: {first_of(paths, 5)}")
    return lines


def ignored_entries(store: Store) -> list[str]:
    """Entries that git ignores and no commit has: they are read here, and nobody else gets them."""
    listed = plumbing.run(
        store.worktree, "ls-files", "-oi", "--exclude-standard", "-z", cwd=store.root
    )
    entries: list[str] = []
    for path in map(os.fsdecode, listed.out.split(b"\0")):
        if path and layout.place(path) is not None:
            entries.append(path)
    return entries


def _odd(root: str) -> tuple[list[str], list[str]]:
    """Links out of a folder or in the place of an entry, and files that are no entries."""
    links: list[str] = []
    unclaimed: list[str] = []
    for folder, below, names in os.walk(root):
        below[:] = sorted(
            name for name in below if not name.startswith(".") and name != "__pycache__"
        )
        for name in (*below, *sorted(names)):
            full = os.path.join(folder, name)
            path = os.path.relpath(full, root)
            if os.path.islink(full):
                real = os.path.realpath(full)
                stays = real == root or real.startswith(root + os.sep)
                if not stays or layout.place(path) is not None:
                    links.append(path)
            elif name not in below and not name.startswith(".") and layout.place(path) is None:
                at_top = folder == root and (name.endswith(".md") or "." not in name)
                for_people = at_top or path.startswith(f"examples{os.sep}")
                unclaimed += [] if for_people else [path]
    return links, unclaimed
