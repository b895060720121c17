"""Merges two trees: git merges the trees themselves, `knowledge.merging` the files that both sides changed."""

from __future__ import annotations

import json
import os
import stat
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import Blob, ObjectID

from ai_lessons.errors import StorageFailed
from ai_lessons.knowledge.layout import is_markdown
from ai_lessons.knowledge.merging import WHOLE, merge_file
from ai_lessons.repository import files, filters, git
from ai_lessons.repository.approval.rule_files import stated_id
from ai_lessons.repository.files import READ_LIMIT, translated
from ai_lessons.repository.objects import EXECUTABLE, Draft, TreeEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from dulwich.repo import Repo

    from ai_lessons.repository.worktree import Worktree


REMOVED: Final = "one side removed it, the other changed it"
IN_THE_WAY: Final = "a file on one side has the name of a folder on the other"
_RAW: Final = ("--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none")

Version = TreeEntry | None  # None: no such file
Trees = tuple[ObjectID, ...]  # of what both began with, of ours, of theirs
Versions = tuple[Version, ...]  # of these three


class Torn(NamedTuple):
    """A file that cannot be merged: its path, why, and what each side has (blob ids, None for no file)."""

    path: str
    reasons: tuple[str, ...]
    base: str | None
    ours: str | None
    theirs: str | None


class MergePlan(NamedTuple):
    """The merged tree, None while a file conflicts; and the files that both sides changed and that were merged."""

    tree: ObjectID | None
    merged: tuple[str, ...]
    torn: tuple[Torn, ...]


def plan(
    worktree: Worktree, repo: Repo, draft: Draft, trees: Trees, choose: Callable[[Torn], str | None] = lambda _: None
) -> MergePlan:
    """Merge trees. `choose` returns the side that a person chose for a conflict, or None. Raises StorageFailed."""
    trees, moved = _with_moves(worktree, repo, draft, trees)
    edits, unmerged = _merge_trees(worktree, trees)
    unmerged |= {path: versions for path, versions in moved.items() if None in versions}
    # where a file has the name of a folder, git's index has each of the two with no version of another side
    alone = {path: theirs for path, (base, ours, theirs) in unmerged.items() if not base and not (ours and theirs)}
    changed_twice = {path: versions for path, versions in unmerged.items() if path not in alone}
    merged, reasons = _merge_files(worktree, repo, draft, changed_twice)
    edits |= merged
    conflicts = []
    for path, why in reasons.items():
        torn = Torn(os.fsdecode(path), why, *map(_blob, changed_twice[path]))
        take = choose(torn)
        edits[path] = changed_twice[path][1 if take == "ours" else 2]
        conflicts += [torn] if take is None else []
    tree = draft.edit(trees[1], edits)
    for path, theirs in alone.items():
        if theirs and not _is_taken(draft, tree, path):
            edits[path] = theirs
        elif theirs and choose(torn := Torn(os.fsdecode(path), (IN_THE_WAY,), None, None, _blob(theirs))) != "ours":
            conflicts.append(torn)
    result = None if conflicts else draft.edit(trees[1], edits)
    names = {*merged, *moved} - reasons.keys()
    return MergePlan(result, tuple(sorted(map(os.fsdecode, names))), tuple(sorted(conflicts)))


def changed(worktree: Worktree, before: bytes, after: bytes) -> dict[bytes, tuple[Version, Version]]:
    """The versions before and after of files, by path from the top, where two trees on the disk differ."""
    return _differences(_git(worktree, "diff-tree", "-r", *_RAW, before, after))


def _differences(rows: bytes) -> dict[bytes, tuple[Version, Version]]:
    fields = iter(rows.split(b"\0")[:-1])
    pairs = ((path, row[1:].split(b" ")) for row, path in zip(fields, fields, strict=True))
    return {path: (_version(row[0], row[2]), _version(row[1], row[3])) for path, row in pairs}


def _git(worktree: Worktree, command: str, *arguments: str | bytes, extra: Mapping[str, str] | None = None) -> bytes:
    flags = ("--no-replace-objects", "-c", "core.splitIndex=false")
    done = git.run(worktree, *flags, command, *map(os.fsdecode, arguments), extra=extra)
    if done.code:
        raise StorageFailed(f"git {command} failed: {done.err}")
    return done.out


def _version(mode: bytes, blob: bytes) -> Version:
    return (int(mode, 8), ObjectID(blob)) if int(mode, 8) else None


def _blob(version: Version) -> str | None:
    return version[1].decode() if version else None


def _merge_trees(worktree: Worktree, trees: Trees) -> tuple[dict[bytes, Version], dict[bytes, Versions]]:
    """The changes from ours to the merge, and by path the versions (base, ours, theirs) that git cannot merge.

    By `read-tree` and not by `merge-tree`: docs/decisions.md, 9.
    """
    unmerged: dict[bytes, list[Version]] = {}
    with translated("the index of a merge", writing=True), TemporaryDirectory(prefix="ai-lessons-merge-") as folder:
        index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        _git(worktree, "read-tree", "-i", "-m", "--aggressive", "--no-sparse-checkout", *trees, extra=index)
        for row in _git(worktree, "ls-files", "--unmerged", "-z", extra=index).split(b"\0")[:-1]:
            version, _, path = row.partition(b"\t")
            mode, blob, stage = version.split(b" ")
            unmerged.setdefault(path, [None, None, None])[int(stage) - 1] = _version(mode, blob)
        differing = _differences(_git(worktree, "diff-index", "--cached", *_RAW, trees[1], extra=index))
    edits = {path: after for path, (_, after) in differing.items() if path not in unmerged}
    return edits, {path: tuple(versions) for path, versions in unmerged.items()}


def _with_moves(worktree: Worktree, repo: Repo, draft: Draft, trees: Trees) -> tuple[Trees, dict[bytes, Versions]]:
    """The trees with each file at its new path that one side moved and the other touched, and the versions of these.

    A file that both moved is at the path of theirs.
    """
    draft.save()  # git reads from the disk
    ours, theirs = (changed(worktree, trees[0], side) for side in trees[1:])
    our_moves, their_moves = _moves(worktree, repo, ours, theirs), _moves(worktree, repo, theirs, ours)
    edits: tuple[dict[bytes, Version], ...] = ({}, {}, {})
    moved = {}
    for path in sorted({*our_moves, *their_moves}):
        place = their_moves.get(path) or our_moves[path]
        names = (path, our_moves.get(path, path), their_moves.get(path, path))
        if any(name != place and _is_taken(draft, tree, place) for tree, name in zip(trees, names, strict=True)):
            continue  # then it is removed on one side and changed on the other
        moved[place] = tuple(draft.lookup(tree, name) for tree, name in zip(trees, names, strict=True))
        for edit, name, version in zip(edits, names, moved[place], strict=True):
            if name != place and None not in moved[place]:
                edit.update({name: None, place: version})
    trees = tuple(draft.edit(tree, edit) if edit else tree for tree, edit in zip(trees, edits, strict=True))
    draft.save()
    return trees, moved


def _moves(
    worktree: Worktree,
    repo: Repo,
    side: Mapping[bytes, tuple[Version, Version]],
    other: Mapping[bytes, tuple[Version, Version]],
) -> dict[bytes, bytes]:
    """The new paths of plain files that this side moved and the other touched: with the same id, or the same bytes."""
    inside = os.fsencode(worktree.prefix)
    gone = {path: old for path, (old, new) in side.items() if not new and path in other and path.startswith(inside)}
    added = {path: new for path, (old, new) in side.items() if not old and path.startswith(inside)} if gone else {}
    plain = {path: entry for path, entry in {**gone, **added}.items() if entry and stat.S_ISREG(entry[0])}
    texts = _texts(worktree, repo, ((path, entry) for path, entry in plain.items() if is_markdown(os.fsdecode(path))))
    ids = {path: stated_id(texts[blob]) for path, (_, blob) in plain.items() if blob in texts}
    by_id = {ids[path]: path for path in added if ids.get(path)}
    by_blob = {plain[path][1]: path for path in added if path in plain}
    sources = {by_id.get(ids.get(path)) or by_blob.get(plain[path][1]): path for path in gone if path in plain}
    return {path: place for place, path in sources.items() if place}


def _texts(worktree: Worktree, repo: Repo, versions: Iterable[tuple[bytes, TreeEntry]]) -> dict[ObjectID, bytes]:
    """The texts of files by blob, out of their filters; without links, submodules and what is huge."""
    raw, paths = dict[str, bytes](), dict[str, str]()
    for path, (mode, blob) in versions:
        stored = repo.object_store[blob] if stat.S_ISREG(mode) else None
        if isinstance(stored, Blob) and len(stored.data) <= READ_LIMIT:
            raw[blob.decode()], paths[blob.decode()] = stored.data, _inside(worktree, path)
    return {ObjectID(blob.encode()): text for blob, text in filters.texts(worktree, paths, raw).items()}


def _inside(worktree: Worktree, path: bytes) -> str:
    return os.fsdecode(path).removeprefix(worktree.prefix)


def _merge_files(
    worktree: Worktree, repo: Repo, draft: Draft, changed_twice: Mapping[bytes, Versions]
) -> tuple[dict[bytes, TreeEntry], dict[bytes, tuple[str, ...]]]:
    """Files that both sides changed, merged, and the reasons of those that cannot be merged."""
    every = ((path, entry) for path, versions in changed_twice.items() for entry in versions if entry)
    texts = _texts(worktree, repo, every)
    made, reasons = dict[str, bytes](), dict[bytes, tuple[str, ...]]()
    for path, versions in changed_twice.items():
        base, ours, theirs = versions
        if ours is None or theirs is None:
            reasons[path] = (REMOVED,)
        elif any(entry and (not stat.S_ISREG(entry[0]) or entry[1] not in texts) for entry in versions):
            reasons[path] = (WHOLE,)
        else:
            name = _inside(worktree, path)
            data, conflicts = merge_file(name, texts[base[1]] if base else None, texts[ours[1]], texts[theirs[1]])
            if data is None:
                reasons[path] = conflicts
            else:
                made[name] = data
    blobs = filters.blobs(worktree, draft, made)
    merged = {
        path: (_mode(*versions), blobs[_inside(worktree, path)])
        for path, versions in changed_twice.items()
        if path not in reasons
    }
    return merged, reasons


def _mode(base: Version, ours: Version, theirs: Version) -> int:
    """The mode that one side changed; executable where neither is the base's."""
    modes = {entry[0] for entry in (ours, theirs) if entry and not (base and entry[0] == base[0])}
    return modes.pop() if len(modes) == 1 else base[0] if base and not modes else EXECUTABLE


def _is_taken(draft: Draft, tree: ObjectID, path: bytes) -> bool:
    """Whether a file or folder has this path, or a file that of one of its folders."""
    parts = path.split(b"/")
    folders = [draft.lookup(tree, b"/".join(parts[:depth])) for depth in range(1, len(parts))]
    return draft.lookup(tree, path) is not None or any(entry and not stat.S_ISDIR(entry[0]) for entry in folders)


class Decisions:
    """The side that a person chose for each conflict, in the state folder of this clone."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "sync" / "decisions.json"
        try:
            self._made: dict[str, str] = json.loads(self._file.read_bytes())
        except (FileNotFoundError, ValueError):
            self._made = {}

    def choose(self, torn: Torn) -> str | None:
        """The chosen side (`ours`, `theirs`); None: no choice was made, or one side has changed since."""
        return self._made.get(_key(torn))

    def note(self, torn: Torn, take: str) -> None:
        """Remember a choice. Raises StorageFailed: it cannot be written."""
        self._made[_key(torn)] = take
        with files.translated(str(self._file), writing=True):
            files.replace_file(self._file, json.dumps(self._made).encode(), durable=True)

    def forget(self) -> None:
        """Drop all choices after their merge."""
        self._made = {}
        self._file.unlink(missing_ok=True)


def _key(torn: Torn) -> str:
    return f"{torn.ours} {torn.theirs} {torn.path}"
