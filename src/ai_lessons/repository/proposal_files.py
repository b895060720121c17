"""The files that a proposal changes, and which entry each of them belongs to. Reads objects, writes nothing."""

from __future__ import annotations

import os
import stat
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.diff_tree import tree_changes
from dulwich.objects import ObjectID

from ai_lessons.errors import Refused
from ai_lessons.knowledge.entries import HANDLE_LENGTH, Kind
from ai_lessons.knowledge.layout import check_path, derived_id, is_markdown, place, side_of
from ai_lessons.repository.approval.approval_branch import OTHERS, PROPOSALS
from ai_lessons.repository.approval.rule_files import entry_end, is_rule, rule_end, stated_id
from ai_lessons.repository.filters import text_of
from ai_lessons.repository.objects import Draft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.worktree import Worktree

FILES_LOOKED_AT: Final = 1000


class Piece(NamedTuple):
    """A file that a proposal changes: its blobs before, after, and on the approval branch now; None for none."""

    path: str
    old: str | None
    new: str | None
    here: str | None
    mode: int | None = None

    @property
    def is_plain(self) -> bool:
        """False for a link or a submodule in place of a text."""
        return self.mode is None or stat.S_ISREG(self.mode)

    @property
    def done(self) -> bool:
        """True if the approval branch has it already."""
        return self.here == self.new


class Sides(NamedTuple):
    """The trees of a proposal: where it left the approval branch, where it ends, and that branch now."""

    worktree: Worktree
    repo: Repo
    draft: Draft
    before: ObjectID | None
    after: ObjectID
    here: ObjectID

    @property
    def prefix(self) -> str:
        """Where the knowledge repository lies in the trees."""
        return self.worktree.prefix

    def blob(self, tree: ObjectID | None, path: str) -> str | None:
        """The blob at a path of one of the trees; None if no plain file is there."""
        return plain_blob(self.draft, tree, self.prefix + path)


def plain_blob(draft: Draft, tree: ObjectID | None, path: str) -> str | None:
    """The blob at a path of a tree; None if no plain file is there."""
    version = draft.lookup(tree, os.fsencode(path))
    return version[1].decode() if version and stat.S_ISREG(version[0]) else None


def blob_at(repo: Repo, commit: str, path: str) -> str | None:
    """The blob at a path (relative to the worktree's top) of a commit; None if no plain file is there."""
    draft = Draft(repo)
    return plain_blob(draft, draft.tree_of(ObjectID(commit.encode())), path)


def rule_of(worktree: Worktree, repo: Repo, path: str, blob: str) -> str:
    """The id that a text states, else the one that is derived from its path."""
    return stated_id(text_of(worktree, repo, path, blob)) or derived_id(path)


def pieces(sides: Sides, name: str) -> tuple[list[Piece], list[str]]:
    """The files that the branch `name` may be about, and the paths of all else that it changes."""
    prefix = os.fsencode(sides.prefix)
    result: list[Piece] = []
    foreign: list[str] = []
    changes = tree_changes(sides.repo.object_store, sides.before, sides.after, change_type_same=True)
    for change in islice(changes, FILES_LOOKED_AT):
        old, new = change.old, change.new
        raw = (new.path if new else None) or (old.path if old else None) or b""
        path = os.fsdecode(raw.removeprefix(prefix))
        about = name.startswith(PROPOSALS) == is_rule(path) and place(path)
        if not raw.startswith(prefix) or not about:
            foreign.append(os.fsdecode(raw))
            continue
        here = sides.draft.lookup(sides.here, raw)
        before, after = (side.sha.decode() if side and side.sha else None for side in (old, new))
        result.append(
            Piece(path, before, after, here[1].decode() if here else None, new.mode if new and after else None)
        )
    return result, foreign


def owners(sides: Sides, piece: Piece) -> set[str]:
    """The entries that a file belongs to, before and after: more than one where it takes the id of another."""
    texts = ((sides.before, piece.old), (sides.after, piece.new if piece.is_plain else None))
    return {_owner(sides, tree, piece.path, blob) for tree, blob in texts if blob}


def _owner(sides: Sides, tree: ObjectID | None, path: str, blob: str) -> str:
    if is_rule(path):
        return rule_of(sides.worktree, sides.repo, path, blob)
    main = _main(sides, tree, path)
    if main != path:
        return rule_of(sides.worktree, sides.repo, main, blob)  # the side file of a script says its id
    side = sides.blob(tree, side_of(path)) if _is_script(path) else None
    if side:
        return rule_of(sides.worktree, sides.repo, path, side)
    return rule_of(sides.worktree, sides.repo, path, blob) if is_markdown(path) else derived_id(path)


def _is_script(path: str) -> bool:
    where = place(path)
    return where is not None and where.kind is Kind.SCRIPT


def _main(sides: Sides, tree: ObjectID | None, path: str) -> str:
    """The main file of an entry: of a script and its side file the script."""
    script = path.removesuffix(side_of(""))
    return script if script != path and _is_script(path) and sides.blob(tree, script) else path


def main_path(sides: Sides, pieces: Sequence[Piece]) -> str:
    """The entry's path after the proposal is taken; of a removal the path before."""
    piece = next((piece for piece in pieces if piece.new), pieces[0])
    return _main(sides, sides.after if piece.new else sides.before, piece.path)


def subject_of(name: str, owned: Mapping[str, set[str]]) -> tuple[str | None, str]:
    """The entry that the branch `name` is about, by the owners of its files, and what is wrong with that name."""
    every = sorted(set().union(*owned.values()))
    is_rules = name.startswith(PROPOSALS)
    end = rule_end(name) if is_rules else entry_end(name)
    named = [entry for entry in every if end and entry.endswith(end)]
    what, several = ("rule", "rules") if is_rules else ("entry", "entries")
    if len(named) == 1:
        return named[0], ""
    if not every:
        return None, ""
    if named:
        fault = f"it changes {len(named)} {several} whose id ends in {end}, so its name does not say which it means"
        return named[0], fault
    path = next(path for path, ids in owned.items() if every[0] in ids)
    where = place(path)
    kind = where.kind if where and where.kind else Kind.DOC
    better = f"{PROPOSALS if kind is Kind.RULE else OTHERS}{kind.letter}-{every[0][-HANDLE_LENGTH:]}"
    return every[0], f"the branch does not name its {what}: git branch -m {name} {better}"


def faults(sides: Sides, trunk: str, pieces: Iterable[Piece]) -> Iterator[str]:
    """Why these files cannot be put on the approval branch (called `trunk`) as they are."""
    for piece in pieces:
        if not piece.is_plain:
            yield f"{piece.path} is not a plain file in it"
        if piece.here not in {piece.old, piece.new}:
            since = "removed or moved" if piece.here is None else "changed" if piece.old else "made"
            yield f"{piece.path} was {since} on {trunk} since it was proposed"
        elif piece.here is None:
            for folder in accumulate((sides.prefix + piece.path).split("/")[:-1], "{}/{}".format):
                version = sides.draft.lookup(sides.here, os.fsencode(folder))
                if version and not stat.S_ISDIR(version[0]):
                    yield f"{piece.path} cannot be made on {trunk}: {folder} is in the way"
                    break
        if piece.new and piece.here is None:
            try:
                check_path(piece.path)
            except Refused as refused:
                yield refused.message
