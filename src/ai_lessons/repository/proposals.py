"""Proposals that wait: what branches below rules/ would change about a rule, held against the approval branch.

Reads refs and objects; writes nothing. Making, changing and ending proposals is done in `proposing` and `deciding`.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal

from dulwich.diff_tree import tree_changes
from dulwich.graph import find_merge_base
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.repo import Repo

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.knowledge.layout import derived_id
from ai_lessons.repository.history import trailers_of
from ai_lessons.repository.merges import rule_end
from ai_lessons.repository.objects import Draft
from ai_lessons.repository.proposal_refs import branch_of, proposal_refs
from ai_lessons.repository.rule_files import is_rule, stated_id
from ai_lessons.repository.rule_history import person

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from ai_lessons.repository.trunk import Trunk
    from ai_lessons.repository.verdicts import Person

Repository = Repo
"""An open repository, for those who only hand it on."""

Sort = Literal["new", "edit", "removal"]

OWN_COMMITS: Final = 1000
"""A branch with more commits of its own is no proposal."""

FILES_LOOKED_AT: Final = 1000


@dataclass(frozen=True, slots=True)
class Piece:
    """One file that a proposal changes: blob ids where it began and where it ends, None for no file.

    `path` is relative to the root. `here` is what the approval branch has there now.
    """

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


@dataclass(frozen=True, slots=True)
class Waiting:
    """A proposal that waits for a person.

    `branch` is its name as git takes it (`rules/R-8F3K2A-use-x`, `origin/rules/…`), `name` the same without a remote.
    `base` is where it left the approval branch. `foreign` are other files that it changes, `faults` other reasons why
    it cannot be merged as it is. `suggested_by` are the people who wrote on it, the last one first; `at` is when
    (seconds since 1970).
    """

    ref: str
    branch: str
    name: str
    commit: str
    base: str | None
    rule: str
    sort: Sort
    pieces: tuple[Piece, ...]
    suggested_by: tuple[Person, ...]
    at: int
    trailers: tuple[tuple[str, str], ...] = ()
    foreign: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def remote(self) -> bool:
        """True where it is only on a remote, as far as this clone knows."""
        return not self.ref.startswith("refs/heads/")

    @property
    def smuggled(self) -> str:
        """A sentence about the other files that it changes; empty if there are none."""
        more = f" and {len(self.foreign) - 3} more" if len(self.foreign) > 3 else ""
        return f"it also changes {', '.join(self.foreign[:3])}{more}" if self.foreign else ""

    @property
    def piece(self) -> Piece:
        """The file that holds the proposed text, or for a removal the text that goes."""
        return next((piece for piece in self.pieces if piece.new), self.pieces[0])


@dataclass(frozen=True, slots=True)
class _Line:
    """The commits that a branch has and the approval branch has not, newest first, and where it left that."""

    commits: tuple[Commit, ...]
    base: ObjectID | None


def waiting(repo: Repo, trunk: Trunk, rejected: Collection[str] = ()) -> list[Waiting]:
    """Every open proposal, oldest first; those in `rejected` (commits) are left out.

    Closed are those whose commits or texts the approval branch has by now. Of a branch that is the same here and on
    a remote only the one here is told.

    Raises:
        UnsupportedRepository: an object is missing.
    """
    refs = _distinct(proposal_refs(trunk.worktree))
    merged = trunk.contains(set(refs.values()))
    found = []
    for ref, commit in refs.items():
        if commit not in merged and commit not in rejected:
            one = look(repo, trunk, ref, commit)
            if one is not None:
                found.append(one)
    return sorted(_rivals(found), key=lambda one: (one.at, one.branch))


def _distinct(refs: dict[str, str]) -> dict[str, str]:
    """The refs without those of remotes that say what a branch here says."""
    here = {(branch_of(ref), commit) for ref, commit in refs.items() if ref.startswith("refs/heads/")}
    kept: dict[tuple[str, str], str] = {}
    for ref, commit in sorted(refs.items()):
        key = (branch_of(ref), commit)
        if ref.startswith("refs/heads/") or (key not in here and key not in kept):
            kept[key] = ref
    return {ref: commit for (_, commit), ref in kept.items()}


def _rivals(found: list[Waiting]) -> Iterator[Waiting]:
    """Each with a fault for every other proposal about the same rule."""
    by_rule: dict[str, list[Waiting]] = defaultdict(list)
    for one in found:
        by_rule[one.rule].append(one)
    for one in found:
        others = [other.branch for other in by_rule[one.rule] if other is not one]
        yield replace(one, faults=(*one.faults, *(f"{o} proposes something else for this rule" for o in others)))


def look(repo: Repo, trunk: Trunk, ref: str, commit: str) -> Waiting | None:
    """One proposal; None if it is closed, or changes no rule.

    Raises:
        UnsupportedRepository: the branch has too many commits of its own.
    """
    line = _line(repo, trunk, commit)
    draft = Draft(repo)
    pieces, others = _pieces(repo, draft, trunk, line, commit)
    rules = {piece.path: _rules_of(repo, piece) for piece in pieces}
    name = branch_of(ref)
    rule, fault = _rule(name, rules)
    if rule is None:
        return None
    mine = tuple(piece for piece in pieces if rules[piece.path] == {rule})
    foreign = [*(piece.path for piece in pieces if piece not in mine), *others]
    if not mine or all(piece.done for piece in mine):
        return None
    faults = [fault, *_faults(draft, trunk, line, rule, mine)]
    writers = [_author(one) for one in line.commits if len(one.parents) < 2]
    return Waiting(
        ref=ref,
        branch=ref.removeprefix("refs/heads/").removeprefix("refs/remotes/"),
        name=name,
        commit=commit,
        base=line.base.decode() if line.base else None,
        rule=rule,
        sort=_sort(mine),
        pieces=mine,
        suggested_by=tuple(dict.fromkeys(writers)),
        at=int(line.commits[0].author_time),
        trailers=trailers_of(line.commits[0].message.decode(errors="replace")),
        foreign=tuple(foreign),
        faults=tuple(filter(None, faults)),
    )


def _line(repo: Repo, trunk: Trunk, tip: str) -> _Line:
    own: dict[str, Commit] = {}
    edges: list[str] = []
    ahead = [tip]
    while ahead:
        known = trunk.contains(ahead)
        edges += [commit for commit in ahead if commit in known]
        fresh = [commit for commit in ahead if commit not in known]
        own |= {commit: _commit(repo, commit) for commit in fresh}
        if len(own) > OWN_COMMITS:
            raise UnsupportedRepository(f"the branch at {tip[:10]} has more than {OWN_COMMITS} commits of its own")
        parents = dict.fromkeys(parent.decode() for commit in fresh for parent in own[commit].parents)
        ahead = [parent for parent in parents if parent not in own]
    return _Line(tuple(own.values()), _base(repo, trunk, tip, list(dict.fromkeys(edges))))


def _base(repo: Repo, trunk: Trunk, tip: str, edges: Sequence[str]) -> ObjectID | None:
    if len(edges) < 2:
        return ObjectID(edges[0].encode()) if edges else None
    found = find_merge_base(repo, [ObjectID(trunk.tip.encode()), ObjectID(tip.encode())])
    return ObjectID(found[0]) if found else None


def _commit(repo: Repo, name: str) -> Commit:
    found = repo.object_store[ObjectID(name.encode())]
    if not isinstance(found, Commit):
        raise KeyError(name)
    return found


def _pieces(repo: Repo, draft: Draft, trunk: Trunk, line: _Line, tip: str) -> tuple[list[Piece], list[str]]:
    """The rule files that differ between base and tip, and the paths of other things that do."""
    before = draft.tree_of(line.base) if line.base else None
    prefix = os.fsencode(trunk.worktree.prefix)
    here = draft.tree_of(ObjectID(trunk.tip.encode()))
    pieces: list[Piece] = []
    others: list[str] = []
    after = draft.tree_of(ObjectID(tip.encode()))
    changes = tree_changes(repo.object_store, before, after, change_type_same=True)
    for change in islice(changes, FILES_LOOKED_AT):
        old, new = change.old, change.new
        raw = (new.path if new else None) or (old.path if old else None) or b""
        path = os.fsdecode(raw.removeprefix(prefix))
        if not raw.startswith(prefix) or not is_rule(path):
            others.append(os.fsdecode(raw))
            continue
        there = draft.lookup(here, raw)
        pieces.append(
            Piece(
                path,
                old.sha.decode() if old and old.sha else None,
                new.sha.decode() if new and new.sha else None,
                there[1].decode() if there else None,
                new.mode if new and new.sha else None,
            )
        )
    return pieces, others


def _rules_of(repo: Repo, piece: Piece) -> set[str]:
    texts = (piece.old, piece.new if piece.is_plain else None)
    return {rule_of(repo, piece.path, blob) for blob in texts if blob}


def rule_of(repo: Repo, path: str, blob: str) -> str:
    """Whose text this is: the id that it states, else the one that follows from where it lies."""
    return stated_id(text_of(repo, blob)) or derived_id(path)


def text_of(repo: Repo, blob: str) -> bytes:
    """A blob's content; nothing if the object is of another kind."""
    found = repo.object_store[ObjectID(blob.encode())]
    return found.data if isinstance(found, Blob) else b""


def _rule(name: str, rules: dict[str, set[str]]) -> tuple[str | None, str]:
    """The rule that a branch is about, and what is wrong with its name."""
    every = sorted(set().union(*rules.values()))
    end = rule_end(name)
    named = [rule for rule in every if end and rule.endswith(end)]
    if len(named) == 1:
        return named[0], ""
    if not every:
        return None, ""
    if named:
        return named[
            0
        ], f"it changes {len(named)} rules whose id ends in {end}, so its name does not say which it means"
    return every[0], f"the branch does not name its rule: git branch -m {name} rules/R-{every[0][-6:]}"


def _sort(pieces: Iterable[Piece]) -> Sort:
    several = list(pieces)
    if not any(piece.new for piece in several):
        return "removal"
    return "edit" if any(piece.old for piece in several) else "new"


def _author(commit: Commit) -> Person:
    return person(commit.author + b" 0 +0000")[0]


def _faults(draft: Draft, trunk: Trunk, line: _Line, rule: str, pieces: Sequence[Piece]) -> Iterator[str]:
    """Why the proposal cannot be merged as it is."""
    if line.base is None:
        yield f"it has no commit in common with {trunk.name}"
    tree = draft.tree_of(ObjectID(trunk.tip.encode()))
    for piece in pieces:
        if not piece.is_plain:
            yield f"{piece.path} is not a plain file in it"
        if piece.here not in {piece.old, piece.new}:
            yield f"{piece.path} was {_since(piece)} on {trunk.name} since it was proposed"
        elif piece.here is None and (other := _in_the_way(draft, tree, trunk.worktree.prefix + piece.path)):
            yield f"{piece.path} cannot be made on {trunk.name}: {other} is in the way"
    elsewhere = trunk.places(rule) - {piece.path for piece in pieces}
    if elsewhere and any(piece.new for piece in pieces):
        yield f"the rule stands at {', '.join(sorted(elsewhere))} on {trunk.name} already"


def _since(piece: Piece) -> str:
    if piece.here is None:
        return "removed or moved"
    return "changed" if piece.old else "made"


def _in_the_way(draft: Draft, tree: ObjectID, path: str) -> str:
    """A file that has the name of one of the folders."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        folder = "/".join(parts[:depth])
        found = draft.lookup(tree, os.fsencode(folder))
        if found is None:
            return ""
        if not stat.S_ISDIR(found[0]):
            return folder
    return ""
