"""Two commits as one tree, made of objects alone: files that both sides changed are merged by what they are."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.diff_tree import tree_changes
from dulwich.object_store import iter_tree_contents
from dulwich.objects import Blob, ObjectID

from ai_lessons.knowledge.layout import is_markdown
from ai_lessons.knowledge.merging import WHOLE, merge_file
from ai_lessons.repository import files, filters
from ai_lessons.repository.approval.rule_files import stated_id
from ai_lessons.repository.files import READ_LIMIT
from ai_lessons.repository.objects import EXECUTABLE, Draft, TreeEntry, text_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dulwich.repo import Repo

    from ai_lessons.repository.worktree import Worktree


REMOVED: Final = "one side removed it, the other changed it"
IN_THE_WAY: Final = "a file on one side has the name of a folder on the other"
TAKEN: Final = "one side moved it to where the other put another file"


class Torn(NamedTuple):
    """A file that has no merge: where its text belongs, why, and what each side has (blob ids, None for no file)."""

    path: str
    reasons: tuple[str, ...]
    base: str | None
    ours: str | None
    theirs: str | None


class MergePlan(NamedTuple):
    """The merged tree, None while there is a torn file; and the files that both sides changed and that were merged."""

    tree: ObjectID | None
    merged: tuple[str, ...]
    torn: tuple[Torn, ...]


class _Case(NamedTuple):
    """A file that both sides did something to: where it goes (`taken`: by another), names it leaves, and versions."""

    path: bytes
    leaves: tuple[bytes, ...]
    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None
    taken: bool = False


def plan(
    repo: Repo,
    draft: Draft,
    trees: tuple[ObjectID, ObjectID, ObjectID],
    choose: Callable[[Torn], str | None] = lambda _: None,
    worktree: Worktree | None = None,
) -> MergePlan:
    """Merge the trees (base, ours, theirs). `choose` is asked about every torn file what a person decided.

    Texts come out of the filters of `worktree`, and what was merged goes through them. Raises StorageFailed.
    """
    draft.save()  # a base or side that was just made is read from the disk
    work = _Merging(repo, draft, trees, worktree)
    for case in work.cases():
        work.settle(case, choose)
    work.take_theirs(choose)
    tree = None if work.torn else draft.edit(trees[1], work.edits)
    return MergePlan(tree, tuple(sorted(map(os.fsdecode, work.merged))), tuple(sorted(work.torn)))


@dataclass(slots=True)
class _Side:
    """What one side did since the base: paths with what they were and are; and where files went that it moved."""

    old: dict[bytes, TreeEntry | None] = field(default_factory=dict)
    new: dict[bytes, TreeEntry | None] = field(default_factory=dict)
    moves: dict[bytes, bytes] = field(default_factory=dict)


def changed(repo: Repo, before: ObjectID, after: ObjectID | None) -> _Side:
    """What differs between two trees that are on the disk."""
    side = _Side()
    for change in tree_changes(repo.object_store, before, after, change_type_same=True):
        for one, into in ((change.old, side.old), (change.new, side.new)):
            if one is not None and one.path is not None and one.mode is not None and one.sha is not None:
                into[one.path] = (one.mode, ObjectID(one.sha))
    for path in {*side.old, *side.new}:
        side.old.setdefault(path, None)
        side.new.setdefault(path, None)
    return side


class _Merging:
    def __init__(
        self, repo: Repo, draft: Draft, trees: tuple[ObjectID, ObjectID, ObjectID], worktree: Worktree | None
    ) -> None:
        self._repo, self._draft, self._trees, self._worktree = repo, draft, trees, worktree
        self._ours, self._theirs = changed(repo, trees[0], trees[1]), changed(repo, trees[0], trees[2])
        self._follow(self._ours, self._theirs)
        self._follow(self._theirs, self._ours)
        self._done: set[bytes] = set()
        self.edits: dict[bytes, TreeEntry | None] = {}
        self.merged: list[bytes] = []
        self.torn: list[Torn] = []

    def _follow(self, side: _Side, other: _Side) -> None:
        """Find where those files went that this side moved and the other one touched."""
        gone = [path for path, entry in side.new.items() if entry is None and path in other.new]
        added = {path: entry for path, entry in side.new.items() if entry and side.old[path] is None} if gone else {}
        by_blob = {entry[1]: path for path, entry in added.items()}
        by_id = {name: path for path, entry in added.items() if (name := self._id(path, entry))} if added else {}
        for path in gone:
            before = side.old[path]
            if before is not None:
                target = by_id.get(self._id(path, before) or "") or by_blob.get(before[1])
                if target is not None:
                    side.moves[path] = target

    def _id(self, path: bytes, entry: TreeEntry) -> str | None:
        data = self._data(path, entry) if is_markdown(os.fsdecode(path)) else None
        return stated_id(data) if data is not None else None

    def cases(self) -> list[_Case]:
        """Every file that both sides did something to, and not the same."""
        found = []
        for path in sorted(self._ours.new.keys() & self._theirs.new.keys()):
            ours, theirs = self._ours.new[path], self._theirs.new[path]
            mine, other = self._ours.moves.get(path), self._theirs.moves.get(path)
            base = self._ours.old[path]
            if mine or other:
                found.append(self._moved(path, base, mine, other))
            elif ours != theirs:
                found.append(_Case(path, (), base, ours, theirs))
        targets = {case.path for case in found if case.leaves}
        # what was moved to one name by both is one case, with the version at the old name as its base
        return [case for case in found if case.leaves or case.path not in targets]

    def _moved(self, path: bytes, base: TreeEntry | None, mine: bytes | None, other: bytes | None) -> _Case:
        ours = self._ours.new[mine or path]
        theirs = self._theirs.new[other or path]
        place = other or mine or path
        taken = mine != other and (place in self._ours.new if place == other else place in self._theirs.new)
        return _Case(place, tuple(name for name in {path, mine or path} if name != place), base, ours, theirs, taken)

    def settle(self, case: _Case, choose: Callable[[Torn], str | None]) -> None:
        """Merge one file, or note that it is torn."""
        self._done |= {case.path, *case.leaves}
        merged, reasons = self._merge(case)
        if reasons:
            torn = Torn(os.fsdecode(case.path), reasons, *(_name(e) for e in (case.base, case.ours, case.theirs)))
            take = choose(torn)
            if take is None:
                self.torn.append(torn)
                return
            merged = case.ours if take == "ours" else case.theirs
        else:
            self.merged.append(case.path)
        self.edits |= dict.fromkeys(case.leaves)
        self.edits[case.path] = merged

    def _merge(self, case: _Case) -> tuple[TreeEntry | None, tuple[str, ...]]:
        base, ours, theirs = case.base, case.ours, case.theirs
        if case.taken:
            return None, (TAKEN,)
        if ours is None or theirs is None:
            return None, (REMOVED,)
        texts = self._data(case.path, ours), self._data(case.path, theirs)
        before = self._data(case.path, base) if base else None
        if None in texts or (base is not None and before is None):
            return None, (WHOLE,)
        data, reasons = merge_file(os.fsdecode(case.path), before, texts[0] or b"", texts[1] or b"")
        if data is None:
            return None, reasons
        inside = self._inside(case.path)
        if inside is None:
            return (_mode(base, ours, theirs), self._draft.blob(data)), ()
        (blob,) = filters.blobs(inside[0], self._draft, {inside[1]: data}).values()
        return (_mode(base, ours, theirs), blob), ()

    def _inside(self, path: bytes) -> tuple[Worktree, str] | None:
        """The worktree and the path from its root, of a file below it."""
        tree, name = self._worktree, os.fsdecode(path)
        return (tree, name.removeprefix(tree.prefix)) if tree and name.startswith(tree.prefix) else None

    def _data(self, path: bytes, entry: TreeEntry) -> bytes | None:
        """The text of a plain file; None for a link, a submodule, or something huge."""
        found = self._repo.object_store[entry[1]] if stat.S_ISREG(entry[0]) else None
        if not isinstance(found, Blob) or len(found.data) > READ_LIMIT:
            return None
        inside = self._inside(path)
        return text_of(inside[0], self._repo, inside[1], entry[1].decode()) if inside else found.data

    def take_theirs(self, choose: Callable[[Torn], str | None]) -> None:
        """Everything that only the other side changed."""
        for path, entry in sorted(self._theirs.new.items()):
            if path in self._done or path in self._ours.new:
                continue
            if entry is not None and self._theirs.old[path] is None and self._in_the_way(path):
                torn = Torn(os.fsdecode(path), (IN_THE_WAY,), None, None, _name(entry))
                if choose(torn) != "ours":
                    self.torn.append(torn)
                continue
            self.edits[path] = entry

    def _in_the_way(self, path: bytes) -> bool:
        """True if a name on the way to it is a file of ours, or it is a folder of ours."""
        there = self._draft.lookup(self._trees[1], path)
        if there is not None:
            below = iter_tree_contents(self._repo.object_store, there[1]) if stat.S_ISDIR(there[0]) else ()
            names = [path + b"/" + one.path for one in below if one.path is not None]
            # a folder that they took away whole has made room
            return not names or any(self._theirs.new.get(name, there) is not None for name in names)
        parts = path.split(b"/")
        for depth in range(1, len(parts)):
            folder = b"/".join(parts[:depth])
            found = self._draft.lookup(self._trees[1], folder)
            if found is None:
                return False
            if not stat.S_ISDIR(found[0]):
                return self._theirs.new.get(folder, found) is not None
        return False


def _name(entry: TreeEntry | None) -> str | None:
    return entry[1].decode() if entry else None


def _mode(base: TreeEntry | None, ours: TreeEntry, theirs: TreeEntry) -> int:
    """The mode that one side changed; where neither is the base's, it can be run."""
    if ours[0] == theirs[0]:
        return ours[0]
    if base is None:
        return EXECUTABLE
    return theirs[0] if ours[0] == base[0] else ours[0]


class Decisions:
    """Whose each torn file shall be, as a person chose, in the state folder of this clone: by what the sides have."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "sync" / "decisions.json"
        try:
            self._made: dict[str, str] = json.loads(self._file.read_bytes())
        except (FileNotFoundError, ValueError):
            self._made = {}

    def choose(self, torn: Torn) -> str | None:
        """Whose a torn file shall be (`ours`, `theirs`); None: no person has chosen, or one side has changed since."""
        return self._made.get(_key(torn))

    def note(self, torn: Torn, take: str) -> None:
        """Remember a choice. Raises StorageFailed: it cannot be written."""
        self._made[_key(torn)] = take
        with files.translated(str(self._file), writing=True):
            files.replace_file(self._file, json.dumps(self._made).encode(), durable=True)

    def forget(self) -> None:
        """Drop all choices: they are in a commit now."""
        self._made = {}
        self._file.unlink(missing_ok=True)


def _key(torn: Torn) -> str:
    return f"{torn.ours} {torn.theirs} {torn.path}"
