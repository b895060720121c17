"""Open proposals: what their branches change, compared with the approval branch. Writes nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from dulwich.objects import ObjectID
from dulwich.repo import Repo

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.repository import proposal_files
from ai_lessons.repository.approval.approval_branch import PROPOSALS, branch_name, branch_of, passed_over, proposal_refs
from ai_lessons.repository.approval.rule_files import BATCH, report, trailers
from ai_lessons.repository.objects import DAMAGED, Draft, read_commit
from ai_lessons.repository.proposal_files import Piece, Sides, main_path, owners, subject_of
from ai_lessons.repository.proposal_records import stood

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ai_lessons.repository.approval.approval_history import Trunk
    from ai_lessons.repository.approval.approval_types import Person
    from ai_lessons.repository.approval.rule_history import RawCommit

Repository = Repo  # An open repository, for those who only hand it on
Sort = Literal["new", "edit", "removal"]

OWN_COMMITS: Final = 1000  # A branch with more commits of its own is no proposal
LOOKED_AT: Final = 500  # The most branches that one page reads, at about a millisecond each
RIVALS_NAMED: Final = 3  # The most other proposals about the same entry that a fault names


class Waiting(NamedTuple):
    """An open proposal.

    `branch` is its name as git takes it (`rules/R-8F3K2A-use-x`, `origin/rules/…`), `name` the same without a remote.
    `entry` is an id and `path` its file. `foreign` are
    changed files of other entries, `faults` other reasons against a merge. `suggested_by` are its authors, the last
    first; `at` is in seconds since 1970; `report` is the text of the commit between subject and trailers; `batch`
    names the import that made it, and `makers` are the author and committer of that.
    """

    ref: str
    branch: str
    name: str
    commit: str
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
        """True for a proposal of a rule."""
        return self.name.startswith(PROPOSALS)

    @property
    def remote(self) -> bool:
        """True for a branch that only a remote has, as far as this clone knows."""
        return not self.ref.startswith("refs/heads/")

    @property
    def smuggled(self) -> str:
        """A sentence about the other files that it changes; empty if there are none."""
        unnamed = f" and {len(self.foreign) - 3} more" if len(self.foreign) > 3 else ""
        return f"it also changes {', '.join(self.foreign[:3])}{unnamed}" if self.foreign else ""

    @property
    def piece(self) -> Piece:
        """The file that holds the proposed text, or for a removal the text that goes."""
        return next((piece for piece in self.pieces if piece.new), self.pieces[0])


def unmerged(trunk: Trunk, rejected: Collection[str]) -> dict[str, str]:
    """The refs of open proposals that were not `rejected`, a local branch before a remote's. Reads no object."""
    refs = proposal_refs(trunk.worktree)
    closed = trunk.contains(set(refs.values())) | set(rejected)
    by_branch: dict[tuple[str, str], str] = {}
    for ref, commit in sorted(refs.items()):  # refs/heads/ comes before refs/remotes/
        if commit not in closed:
            by_branch.setdefault((branch_of(ref), commit), ref)
    return {ref: commit for (_, commit), ref in by_branch.items()}


class Some(NamedTuple):
    """Open proposals, oldest first; by writer the number of branches that were not read; by ref why one cannot be."""

    proposals: list[Waiting]
    left_out: Counter[str]
    damaged: dict[str, str]


def read_page(
    repo: Repo, trunk: Trunk, refs: Mapping[str, str], most: int | None = None, first: Collection[str] = ()
) -> Some:
    """The open proposals of `refs`: all, or at most `most`, those of `first` and then of every writer in turn.

    The turns keep one writer's many proposals from hiding those of others.
    """
    page = Some([], Counter(), {})
    for number, (ref, writer) in enumerate(_in_turn(repo, refs, first, page.damaged)):
        if most is not None and (len(page.proposals) == most or number >= LOOKED_AT):
            page.left_out[writer] += 1
            continue
        try:
            proposal = look(repo, trunk, ref, refs[ref])
        except (UnsupportedRepository, OSError, *DAMAGED):
            page.damaged[ref] = passed_over(ref, refs[ref])
        else:
            page.proposals.extend([proposal] if proposal else [])
    return page._replace(proposals=_with_rivals(page.proposals))


def _in_turn(
    repo: Repo, refs: Mapping[str, str], first: Collection[str], damaged: dict[str, str]
) -> list[tuple[str, str]]:
    """The refs and their last writers: `first`, then one of each writer, newest first. Local branches are one's."""
    by_writer: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for ref, commit in refs.items():
        try:
            tip = read_commit(repo.object_store, ObjectID(commit.encode())).info
        except (UnsupportedRepository, OSError, *DAMAGED):
            damaged[ref] = passed_over(ref, commit)
        else:
            key = "" if ref.startswith("refs/heads/") else tip.author.email
            by_writer[key].append((-tip.committed, ref, str(tip.author)))
    turns = [
        (ref not in first, turn, key, ref, writer)
        for key, rows in by_writer.items()
        for turn, (_, ref, writer) in enumerate(sorted(rows))
    ]
    return [(ref, writer) for *_, ref, writer in sorted(turns)]


def _with_rivals(proposals: list[Waiting]) -> list[Waiting]:
    """The proposals, oldest first, each with faults that name other proposals about its entry."""
    by_entry: dict[str, list[Waiting]] = defaultdict(list)
    for proposal in proposals:
        by_entry[proposal.entry].append(proposal)
    result = []
    for proposal in sorted(proposals, key=lambda proposal: (proposal.at, proposal.branch)):
        rivals = by_entry[proposal.entry]
        named = [rival.branch for rival in rivals[: RIVALS_NAMED + 1] if rival is not proposal][:RIVALS_NAMED]
        what, unnamed = "rule" if proposal.is_rule else "entry", len(rivals) - 1 - len(named)
        faults = [f"{branch} proposes something else for this {what}" for branch in named]
        faults += [f"and so do {unnamed} more branches"] if unnamed else []
        result.append(proposal._replace(faults=(*proposal.faults, *faults)))
    return result


def look(repo: Repo, trunk: Trunk, ref: str, commit: str) -> Waiting | None:
    """One proposal; None if it is closed, changes nothing that it could be about, or is far too long to be one."""
    line, name = _line(repo, trunk, commit), branch_of(ref)
    if line is None:
        return None
    commits, base = line
    draft = Draft(repo)
    trees = (draft.tree_of(ObjectID(tip.encode())) for tip in (commit, trunk.tip))
    sides = Sides(trunk.worktree, repo, draft, draft.tree_of(base) if base else None, *trees)
    changes, foreign = proposal_files.pieces(sides, name)
    owned = {piece.path: owners(sides, piece) for piece in changes}
    entry, fault = subject_of(name, owned)
    if entry is None:
        return None
    own_pieces = tuple(piece for piece in changes if owned[piece.path] == {entry})
    if not own_pieces or _taken(trunk, base, name, own_pieces):
        return None
    problems = [fault] if fault else []
    if base is None:
        problems.append(f"it has no commit in common with {trunk.name}")
    problems += proposal_files.faults(sides, trunk.name, own_pieces)
    elsewhere = trunk.places(entry) - {piece.path for piece in own_pieces} if name.startswith(PROPOSALS) else set()
    new, old = any(piece.new for piece in own_pieces), any(piece.old for piece in own_pieces)
    if elsewhere and new:
        problems.append(f"the rule stands at {', '.join(sorted(elsewhere))} on {trunk.name} already")
    writers = [commit.info.author for commit in commits if len(commit.parents) < 2]
    messages = [commit.info.message for commit in commits]
    makers = {(commit.info.author, commit.info.committer) for commit in commits}
    # a trailer can be forged, so a branch of several people belongs to no batch
    stated = (value for message in messages for key, value in trailers(message) if key == BATCH)
    batch = next(stated, "") if len(makers) == 1 else ""
    return Waiting(
        ref=ref,
        branch=branch_name(ref),
        name=name,
        commit=commit,
        entry=entry,
        path=main_path(sides, own_pieces),
        sort="removal" if not new else "edit" if old else "new",
        pieces=own_pieces,
        suggested_by=tuple(dict.fromkeys(writers)),
        at=commits[0].info.committed,
        trailers=trailers(messages[0]),
        foreign=(*(piece.path for piece in changes if piece not in own_pieces), *foreign),
        faults=tuple(problems),
        report=next(filter(None, map(report, messages)), ""),
        batch=batch,
        makers=next(iter(makers)) if batch else (),
    )


def _taken(trunk: Trunk, base: ObjectID | None, name: str, pieces: Sequence[Piece]) -> bool:
    """Whether the approval branch has what is proposed; of an entry that is no rule, whether it ever had that."""
    pieces = [piece for piece in pieces if not piece.done]
    if not pieces:
        return True
    if name.startswith(PROPOSALS) or base is None:
        return False
    return all(
        piece.new and piece.here != piece.old and stood(trunk.worktree, base.decode(), trunk.tip, piece.path, piece.new)
        for piece in pieces
    )


def _line(repo: Repo, trunk: Trunk, tip: str) -> tuple[tuple[RawCommit, ...], ObjectID | None] | None:
    """The commits that a branch has and the approval branch has not, newest first, and where it left that."""
    commits: dict[str, RawCommit] = {}
    edges: list[str] = []
    ahead = [tip]
    while ahead:
        shared = trunk.contains(ahead)
        edges += [commit for commit in ahead if commit in shared]
        fresh = [commit for commit in ahead if commit not in shared]
        commits |= {commit: read_commit(repo.object_store, ObjectID(commit.encode())) for commit in fresh}
        if len(commits) > OWN_COMMITS:
            return None  # a pushed branch must not stop the review of the others
        parents = dict.fromkeys(parent for commit in fresh for parent in commits[commit].parents)
        ahead = [parent for parent in parents if parent not in commits]
    base = trunk.newest(dict.fromkeys(edges))
    return tuple(commits.values()), ObjectID(base.encode()) if base else None
