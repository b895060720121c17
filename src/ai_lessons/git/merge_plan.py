"""The merge of two trees: what git merges, what our merge driver merges, what conflicts."""

from __future__ import annotations

import os
import stat
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import Blob, ObjectID

from ai_lessons.git import commits as git_commits
from ai_lessons.git import objects, plumbing
from ai_lessons.git.files import READ_LIMIT, translated
from ai_lessons.git.objects import (
    EXECUTABLE,
    Draft,
    TreeEntry,
    Version,
    blob_of,
    changed,
    changed_each,
)
from ai_lessons.model.approval import stated_id
from ai_lessons.model.layout import is_markdown
from ai_lessons.model.merge import WHOLE, merge_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dulwich.repo import Repo

    from ai_lessons.git.worktree import (
        Worktree,
    )


REMOVED: Final = "one side removed it, the other changed it"
IN_THE_WAY: Final = "a file on one side has the name of a folder on the other"


# of what both began with, of ours, of theirs
Trees = tuple[ObjectID, ...]


# of these three
Versions = tuple[Version, ...]


class MergeConflict(NamedTuple):
    """A file that cannot be merged.

    Its path, why, and what each side has (blob ids, None for no file).
    """

    path: str
    reasons: tuple[str, ...]
    base: str | None
    ours: str | None
    theirs: str | None


class MergePlan(NamedTuple):
    """The merged tree, None while a file conflicts.

    And the files that both sides changed and that were merged.
    """

    tree: ObjectID | None
    merged: tuple[str, ...]
    torn: tuple[MergeConflict, ...]


def plan(
    worktree: Worktree,
    repo: Repo,
    draft: Draft,
    trees: Trees,
    choose: Callable[[MergeConflict], str | None] = lambda _: None,
) -> MergePlan:
    """Merge trees. `choose` returns the side that a person chose for a conflict, or None.

    Raises StorageFailed.
    """
    trees, moved = _with_moves(worktree, repo, draft, trees)
    edits, unmerged = _merge_trees(worktree, trees)
    for path, versions in moved.items():
        if None in versions:
            unmerged[path] = versions
    alone: dict[bytes, Version] = {}
    changed_twice: dict[bytes, Versions] = {}
    for path, versions in unmerged.items():
        base, ours, theirs = versions
        # where a file has the name of a folder, git's index has each of the two with no version of
        # another side
        if not base and not (ours and theirs):
            alone[path] = theirs
        else:
            changed_twice[path] = versions
    merged, reasons = _merge_files(worktree, repo, draft, changed_twice)
    edits |= merged
    conflicts = []
    for path, why in reasons.items():
        torn = MergeConflict(os.fsdecode(path), why, *map(blob_of, changed_twice[path]))
        take = choose(torn)
        _, ours, theirs = changed_twice[path]
        if take == "ours":
            edits[path] = ours
        else:
            edits[path] = theirs
        if take is None:
            conflicts += [torn]
    tree = draft.edit(trees[1], edits)
    for path, theirs in alone.items():
        if theirs is None:
            # our file is there already
            continue
        in_the_way = MergeConflict(os.fsdecode(path), (IN_THE_WAY,), None, None, blob_of(theirs))
        if not _is_taken(draft, tree, path):
            edits[path] = theirs
        elif choose(in_the_way) != "ours":
            conflicts.append(in_the_way)
    result = None
    if not conflicts:
        result = draft.edit(trees[1], edits)
    names = {*merged, *moved} - reasons.keys()
    return MergePlan(result, tuple(sorted(map(os.fsdecode, names))), tuple(sorted(conflicts)))


def _merge_trees(
    worktree: Worktree, trees: Trees
) -> tuple[dict[bytes, Version], dict[bytes, Versions]]:
    """The changes from ours to the merge, and what git cannot merge.

    The latter by path: the versions (base, ours, theirs). By `read-tree` and not by `merge-tree`:
    docs/decisions.md, 9.
    """
    unmerged: dict[bytes, list[Version]] = {}
    with (
        translated("the index of a merge", writing=True),
        TemporaryDirectory(prefix="ai-lessons-merge-") as folder,
    ):
        index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        flags = ("-i", "-m", "--aggressive", "--no-sparse-checkout")
        plumbing.output(worktree, "read-tree", *flags, *trees, extra=index)
        listed = plumbing.output(worktree, "ls-files", "--unmerged", "-z", extra=index)
        for row in listed.split(b"\0")[:-1]:
            version, _, path = row.partition(b"\t")
            mode, blob, stage = version.split(b" ")
            # Stage 1 is the base, 2 ours, 3 theirs
            stages = unmerged.setdefault(path, [None, None, None])
            stages[int(stage) - 1] = (int(mode, 8), ObjectID(blob))
        differing = changed(worktree, "--cached", trees[1], command="diff-index", extra=index)
    edits = {}
    for path, (_, after) in differing.items():
        if path not in unmerged:
            edits[path] = after
    return edits, {path: tuple(stages) for path, stages in unmerged.items()}


def _with_moves(
    worktree: Worktree, repo: Repo, draft: Draft, trees: Trees
) -> tuple[Trees, dict[bytes, Versions]]:
    """The trees with each file at its new path that one side moved and the other touched.

    Also the versions of these files. A file that both moved is at the path of theirs.
    """
    # git reads from the disk
    draft.save()
    ours, theirs = changed_each(worktree, [(trees[0], side) for side in trees[1:]])
    our_moves = _moves(worktree, repo, ours, theirs)
    their_moves = _moves(worktree, repo, theirs, ours)
    edits: tuple[dict[bytes, Version], ...] = ({}, {}, {})
    moved = {}
    for path in sorted({*our_moves, *their_moves}):
        place = their_moves.get(path) or our_moves[path]
        names = (path, our_moves.get(path, path), their_moves.get(path, path))
        sides = [*zip(trees, names, strict=True)]
        if any(name != place and _is_taken(draft, tree, place) for tree, name in sides):
            # then it is removed on one side and changed on the other
            continue
        versions = tuple(draft.lookup(tree, name) for tree, name in sides)
        moved[place] = versions
        if None in versions:
            continue
        for edit, name, version in zip(edits, names, versions, strict=True):
            if name != place:
                edit.update({name: None, place: version})
    moved_trees = []
    for tree, edit in zip(trees, edits, strict=True):
        if edit:
            moved_trees.append(draft.edit(tree, edit))
        else:
            moved_trees.append(tree)
    draft.save()
    return tuple(moved_trees), moved


def _moves(
    worktree: Worktree,
    repo: Repo,
    side: Mapping[bytes, tuple[Version, Version]],
    other: Mapping[bytes, tuple[Version, Version]],
) -> dict[bytes, bytes]:
    """The new paths of plain files that this side moved and the other touched.

    With the same id, or the same bytes.
    """
    inside = os.fsencode(worktree.prefix)
    gone, added = {}, {}
    for path, (old, new) in side.items():
        if not path.startswith(inside):
            continue
        if old and not new and path in other and stat.S_ISREG(old[0]):
            gone[path] = old
        elif new and not old and stat.S_ISREG(new[0]):
            added[path] = new
    if not gone:
        # and no text is read
        return {}
    pages = []
    for path, entry in (*gone.items(), *added.items()):
        if is_markdown(os.fsdecode(path)):
            pages.append((path, entry))
    texts = _texts(worktree, repo, pages)

    def mark(blob: ObjectID) -> object:
        """What a file is known by at another place: the id that it states, else its bytes."""
        return (blob in texts and stated_id(texts[blob])) or blob

    places = {}
    for path, (_, blob) in added.items():
        places[mark(blob)] = path
    # Of two files that went to one place the last counts
    sources = {}
    for path, (_, blob) in gone.items():
        place = places.get(mark(blob))
        if place:
            sources[place] = path
    return {path: place for place, path in sources.items()}


def _texts(
    worktree: Worktree, repo: Repo, versions: Iterable[tuple[bytes, TreeEntry]]
) -> dict[ObjectID, bytes]:
    """The texts of files by blob, out of their filters.

    Without links, submodules and what is huge.
    """
    raw, paths = dict[str, bytes](), dict[str, str]()
    for path, (mode, blob) in versions:
        stored = None
        if stat.S_ISREG(mode):
            stored = repo.object_store[blob]
        if isinstance(stored, Blob) and len(stored.data) <= READ_LIMIT:
            raw[blob.decode()], paths[blob.decode()] = stored.data, _inside(worktree, path)
    return {
        ObjectID(blob.encode()): text
        for blob, text in git_commits.texts(worktree, paths, raw).items()
    }


def _inside(worktree: Worktree, path: bytes) -> str:
    return os.fsdecode(path).removeprefix(worktree.prefix)


def _merge_files(
    worktree: Worktree, repo: Repo, draft: Draft, changed_twice: Mapping[bytes, Versions]
) -> tuple[dict[bytes, TreeEntry], dict[bytes, tuple[str, ...]]]:
    """Files that both sides changed, merged, and the reasons of those that cannot be merged."""
    every = []
    for path, versions in changed_twice.items():
        for entry in filter(None, versions):
            every.append((path, entry))
    texts = _texts(worktree, repo, every)
    made, reasons = dict[str, bytes](), dict[bytes, tuple[str, ...]]()
    for path, versions in changed_twice.items():
        base, ours, theirs = versions
        if ours is None or theirs is None:
            reasons[path] = (REMOVED,)
        elif any(
            not stat.S_ISREG(mode) or blob not in texts for mode, blob in filter(None, versions)
        ):
            # a link, a submodule, or a file that is too large to be read
            reasons[path] = (WHOLE,)
        else:
            name = _inside(worktree, path)
            common = None
            if base:
                common = texts[base[1]]
            data, conflicts = merge_file(name, common, texts[ours[1]], texts[theirs[1]])
            if data is None:
                reasons[path] = conflicts
            else:
                made[name] = data
    blobs = objects.blobs(worktree, draft, made)
    merged = {}
    for path, versions in changed_twice.items():
        if path not in reasons:
            merged[path] = (_mode(*versions), blobs[_inside(worktree, path)])
    return merged, reasons


def _mode(base: Version, ours: Version, theirs: Version) -> int:
    """The mode that one side changed; executable where neither is the base's."""
    modes = set()
    for entry in (ours, theirs):
        if entry and not (base and entry[0] == base[0]):
            modes.add(entry[0])
    if len(modes) == 1:
        return modes.pop()
    if base and not modes:
        return base[0]
    return EXECUTABLE


def _is_taken(draft: Draft, tree: ObjectID, path: bytes) -> bool:
    """Whether a file or folder has this path, or a file that of one of its folders."""
    parts = path.split(b"/")
    for depth in range(1, len(parts)):
        above = draft.lookup(tree, b"/".join(parts[:depth]))
        if above and not stat.S_ISDIR(above[0]):
            return True
    return draft.lookup(tree, path) is not None
