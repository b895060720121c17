"""Proposals that wait: what their branches would change, held against the approval branch. Writes nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

from dulwich.objects import ObjectID
from dulwich.repo import Repo

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.repository import proposal_files
from ai_lessons.repository.approval.approval_branch import PROPOSALS, branch_of, passed_over, proposal_refs
from ai_lessons.repository.approval.rule_files import BATCH, report, trailers
from ai_lessons.repository.objects import DAMAGED, Draft, read_commit
from ai_lessons.repository.proposal_files import Piece, Sides, main_path, owners, subject_of
from ai_lessons.repository.proposal_records import stood

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ai_lessons.repository.approval.approval_history import Trunk
    from ai_lessons.repository.approval.approval_types import Person
    from ai_lessons.repository.approval.rule_history import RawCommit

T = TypeVar("T")
Repository = Repo  # An open repository, for those who only hand it on
Sort = Literal["new", "edit", "removal"]

OWN_COMMITS: Final = 1000  # A branch with more commits of its own is no proposal
LOOKED_AT: Final = 500  # So many branches are looked at in one go; a look takes about a millisecond
RIVALS_NAMED: Final = 3  # So many other proposals about the same entry are named


class Waiting(NamedTuple):
    """A proposal that waits for a person.

    `branch` is its name as git takes it (`rules/R-8F3K2A-use-x`, `origin/rules/…`), `name` the same without a remote.
    `entry` is the id of what it is about, `path` where that lies, `base` where it left the approval branch. `foreign`
    are other files that it changes, `faults` why else it cannot be merged. `suggested_by` wrote on it, the last first;
    `at` is when (since 1970); `report` is what its commit says between subject and trailers; `batch` names the import
    that made it together with others, and `makers` its author and committer: a batch is of one pair of them.
    """

    ref: str
    branch: str
    name: str
    commit: str
    base: str | None
    entry: str
    path: str
    sort: Sort
    pieces: tuple[Piece, ...]
    suggested_by: tuple[Person, ...]
    at: int
    trailers: tuple[tuple[str, str], ...] = ()
    foreign: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    report: str = ""
    batch: str = ""
    makers: tuple[Person, ...] = ()

    @property
    def is_rule(self) -> bool:
        """True where it decides about a rule."""
        return self.name.startswith(PROPOSALS)

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


def unmerged(trunk: Trunk, rejected: Collection[str]) -> dict[str, str]:
    """The refs of open proposals that were not `rejected`; the one here, if a remote has it, too. Reads no object."""
    refs = proposal_refs(trunk.worktree)
    closed = trunk.contains(set(refs.values())) | set(rejected)
    here = {(branch_of(ref), commit) for ref, commit in refs.items() if ref.startswith("refs/heads/")}
    kept: dict[tuple[str, str], str] = {}
    for ref, commit in sorted(refs.items()):
        key = (branch_of(ref), commit)
        if commit not in closed and (ref.startswith("refs/heads/") or (key not in here and key not in kept)):
            kept[key] = ref
    return {ref: commit for (_, commit), ref in kept.items()}


def waiting(repo: Repo, trunk: Trunk, refs: Mapping[str, str]) -> list[Waiting]:
    """Every open proposal of `refs` that can be read, oldest first. Closed are those that `look` says nothing of."""
    found = (_readable({}, ref, commit, partial(look, repo, trunk, ref, commit)) for ref, commit in refs.items())
    return _rivals([one for one in found if one is not None])


class Some(NamedTuple):
    """Open proposals, oldest first, and how many branches of whom were not looked at.

    `damaged`: those that cannot be read, by ref, each with a line about it.
    """

    found: list[Waiting]
    left_out: Counter[str]
    damaged: dict[str, str]


def _readable(damaged: dict[str, str], ref: str, commit: str, read: Callable[[], T]) -> T | None:
    """What is read of a ref; None, and a line about it, where an object behind it is not as it has to be."""
    try:
        return read()
    except (UnsupportedRepository, OSError, *DAMAGED):
        damaged[ref] = passed_over(ref, commit)
    return None


def some(repo: Repo, trunk: Trunk, refs: Mapping[str, str], most: int, first: Collection[str] = ()) -> Some:
    """At most so many open proposals of `refs`: those of `first`, then of every writer in turn, lest one flood it."""
    found: list[Waiting] = []
    left: Counter[str] = Counter()
    damaged: dict[str, str] = {}
    for number, (ref, writer) in enumerate(_in_turn(repo, refs, first, damaged)):
        if len(found) == most or number >= LOOKED_AT:
            left[writer] += 1
        elif one := _readable(damaged, ref, refs[ref], partial(look, repo, trunk, ref, refs[ref])):
            found.append(one)
    return Some(_rivals(found), left, damaged)


def _in_turn(
    repo: Repo, refs: Mapping[str, str], first: Collection[str], damaged: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """The refs with who wrote them last: `first`, then one of each writer, the newest first. Ours are one writer's."""
    by_writer: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for ref, commit in refs.items():
        tip = _readable(damaged, ref, commit, partial(read_commit, repo.object_store, ObjectID(commit.encode())))
        if tip is None:
            continue
        key = "" if ref.startswith("refs/heads/") else tip.said.author.email
        by_writer[key].append((-tip.said.committed, ref, str(tip.said.author)))
    yield from ((ref, writer) for rows in by_writer.values() for _, ref, writer in rows if ref in first)
    rounds = zip_longest(*(sorted(by_writer[key]) for key in sorted(by_writer)))
    yield from ((row[1], row[2]) for each in rounds for row in each if row is not None and row[1] not in first)


def _rivals(found: list[Waiting]) -> list[Waiting]:
    """Each with a fault that names other proposals about the same entry; the oldest first."""
    by_entry: dict[str, list[Waiting]] = defaultdict(list)
    for one in found:
        by_entry[one.entry].append(one)
    told = []
    for one in sorted(found, key=lambda one: (one.at, one.branch)):
        rivals = by_entry[one.entry]
        others = [other.branch for other in rivals[: RIVALS_NAMED + 1] if other is not one][:RIVALS_NAMED]
        what, more = "rule" if one.is_rule else "entry", len(rivals) - 1 - len(others)
        faults = [f"{other} proposes something else for this {what}" for other in others]
        faults += [f"and so do {more} more branches"] if more else []
        told.append(one._replace(faults=(*one.faults, *faults)))
    return told


def look(repo: Repo, trunk: Trunk, ref: str, commit: str) -> Waiting | None:
    """One proposal; None if it is closed, changes nothing that it could be about, or is far too long to be one."""
    line, name = _line(repo, trunk, commit), branch_of(ref)
    if line is None:
        return None
    commits, left = line
    draft, ends = Draft(repo), [ObjectID(one.encode()) for one in (commit, trunk.tip)]
    before = draft.tree_of(left) if left else None
    sides = Sides(trunk.worktree, repo, draft, before, draft.tree_of(ends[0]), draft.tree_of(ends[1]))
    pieces, others = proposal_files.pieces(sides, name)
    owned = {piece.path: owners(sides, piece) for piece in pieces}
    entry, fault = subject_of(name, owned)
    if entry is None:
        return None
    mine = tuple(piece for piece in pieces if owned[piece.path] == {entry})
    foreign = [*(piece.path for piece in pieces if piece not in mine), *others]
    if not mine or _taken(trunk, left, name, mine):
        return None
    faults = [fault] if fault else []
    if left is None:
        faults.append(f"it has no commit in common with {trunk.name}")
    faults += proposal_files.faults(sides, trunk.name, mine)
    elsewhere = trunk.places(entry) - {piece.path for piece in mine} if name.startswith(PROPOSALS) else set()
    new, old = any(piece.new for piece in mine), any(piece.old for piece in mine)
    if elsewhere and new:
        faults.append(f"the rule stands at {', '.join(sorted(elsewhere))} on {trunk.name} already")
    writers = [one.said.author for one in commits if len(one.parents) < 2]
    messages = [one.said.message for one in commits]
    makers = {(one.said.author, one.said.committer) for one in commits}
    # whoever may push can write a trailer: what others had a hand in is looked at by itself
    batch = next((value for said in messages for key, value in trailers(said) if key == BATCH and len(makers) == 1), "")
    return Waiting(
        ref=ref,
        branch=ref.removeprefix("refs/heads/").removeprefix("refs/remotes/"),
        name=name,
        commit=commit,
        base=left.decode() if left else None,
        entry=entry,
        path=main_path(sides, mine),
        sort="removal" if not new else "edit" if old else "new",
        pieces=mine,
        suggested_by=tuple(dict.fromkeys(writers)),
        at=commits[0].said.committed,
        trailers=trailers(messages[0]),
        foreign=tuple(foreign),
        faults=tuple(faults),
        report=next(filter(None, map(report, messages)), ""),
        batch=batch,
        makers=next(iter(makers)) if batch else (),
    )


def _taken(trunk: Trunk, base: ObjectID | None, name: str, mine: Sequence[Piece]) -> bool:
    """Whether the approval branch has what is proposed, or had it and went on: only a rule stays as it was taken."""
    if all(piece.done for piece in mine):
        return True
    if name.startswith(PROPOSALS) or base is None:
        return False
    went_on = [piece for piece in mine if not piece.done and piece.here != piece.old and piece.new]
    if len(went_on) != sum(not piece.done for piece in mine):
        return False
    return all(stood(trunk.worktree, base.decode(), trunk.tip, piece.path, piece.new or "") for piece in went_on)


def _line(repo: Repo, trunk: Trunk, tip: str) -> tuple[tuple[RawCommit, ...], ObjectID | None] | None:
    """The commits that a branch has and the approval branch has not, newest first, and where it left that."""
    own: dict[str, RawCommit] = {}
    edges: list[str] = []
    ahead = [tip]
    while ahead:
        known = trunk.contains(ahead)
        edges += [commit for commit in ahead if commit in known]
        fresh = [commit for commit in ahead if commit not in known]
        own |= {one: read_commit(repo.object_store, ObjectID(one.encode())) for one in fresh}
        if len(own) > OWN_COMMITS:
            return None  # whoever may push must not be able to stop the review of everything else
        parents = dict.fromkeys(parent for commit in fresh for parent in own[commit].parents)
        ahead = [parent for parent in parents if parent not in own]
    base = trunk.newest(dict.fromkeys(edges))
    return tuple(own.values()), ObjectID(base.encode()) if base else None
