"""Open proposals: the files they change, what became of earlier ones, what each would change.

Writes nothing.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, defaultdict
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from dulwich.diff_tree import tree_changes
from dulwich.objects import ObjectID
from dulwich.repo import Repo

from ai_lessons.errors import Refused, UnsupportedRepository
from ai_lessons.git import plumbing
from ai_lessons.git.approval_branch import (
    OTHERS,
    PROPOSALS,
    branch_name,
    branch_of,
    passed_over,
    proposal_refs,
)
from ai_lessons.git.objects import DAMAGED, Draft, opened, read_commit, text_of
from ai_lessons.model.approval import (
    BATCH,
    Person,
    entry_end,
    is_rule,
    report,
    rule_end,
    stated_id,
    trailers,
)
from ai_lessons.model.entries import HANDLE_LENGTH, Kind
from ai_lessons.model.layout import check_path, derived_id, is_markdown, place, side_of
from ai_lessons.model.texts import first_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.approval.state import Trunk
    from ai_lessons.git.commits import RawCommit
    from ai_lessons.git.worktree import Worktree

FILES_LOOKED_AT: Final = 1000


class Piece(NamedTuple):
    """A file that a proposal changes: its blobs before, after, and on the approval branch now.

    None for none.
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


class Sides(NamedTuple):
    """The trees of a proposal.

    Where it left the approval branch, where it ends, and that branch now.
    """

    worktree: Worktree
    repo: Repo
    draft: Draft
    before: ObjectID | None
    after: ObjectID
    here: ObjectID

    def blob(self, tree: ObjectID | None, path: str) -> str | None:
        """The blob at a path of one of the trees; None if no plain file is there."""
        return plain_blob(self.draft, tree, self.worktree.prefix + path)


def plain_blob(draft: Draft, tree: ObjectID | None, path: str) -> str | None:
    """The blob at a path of a tree; None if no plain file is there."""
    version = draft.lookup(tree, os.fsencode(path))
    if version and stat.S_ISREG(version[0]):
        return version[1].decode()
    return None


def blob_at(repo: Repo, commit: str, path: str) -> str | None:
    """The blob at a path (relative to the worktree's top) of a commit.

    None if no plain file is there.
    """
    draft = Draft(repo)
    return plain_blob(draft, draft.tree_of(ObjectID(commit.encode())), path)


def rule_of(worktree: Worktree, repo: Repo, path: str, blob: str) -> str:
    """The id that a text states, else the one that is derived from its path."""
    return stated_id(text_of(worktree, repo, path, blob)) or derived_id(path)


def pieces(sides: Sides, name: str) -> tuple[list[Piece], list[str]]:
    """The files that the branch `name` may be about, and the paths of all else that it changes."""
    prefix = os.fsencode(sides.worktree.prefix)
    result: list[Piece] = []
    foreign: list[str] = []
    changes = tree_changes(
        sides.repo.object_store, sides.before, sides.after, change_type_same=True
    )
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
            Piece(
                path,
                before,
                after,
                here[1].decode() if here else None,
                new.mode if new and after else None,
            )
        )
    return result, foreign


def owners(sides: Sides, piece: Piece) -> set[str]:
    """The entries that a file belongs to, before and after.

    More than one where it takes the id of another.
    """
    texts = ((sides.before, piece.old), (sides.after, piece.new if piece.is_plain else None))
    owners: set[str] = set()
    for tree, blob in texts:
        if blob:
            owners.add(_owner(sides, tree, piece.path, blob))
    return owners


def _owner(sides: Sides, tree: ObjectID | None, path: str, blob: str) -> str:
    if is_rule(path):
        return rule_of(sides.worktree, sides.repo, path, blob)
    main = _main(sides, tree, path)
    if main != path:
        # the side file of a script says its id
        return rule_of(sides.worktree, sides.repo, main, blob)
    side = None
    if _is_script(path):
        side = sides.blob(tree, side_of(path))
    if side:
        return rule_of(sides.worktree, sides.repo, path, side)
    if is_markdown(path):
        return rule_of(sides.worktree, sides.repo, path, blob)
    return derived_id(path)


def _is_script(path: str) -> bool:
    where = place(path)
    return where is not None and where.kind is Kind.SCRIPT


def _main(sides: Sides, tree: ObjectID | None, path: str) -> str:
    """The main file of an entry: of a script and its side file the script."""
    script = path.removesuffix(side_of(""))
    if script != path and _is_script(path) and sides.blob(tree, script):
        return script
    return path


def subject_of(name: str, owned: Mapping[str, set[str]]) -> tuple[str | None, str]:
    """The entry that the branch `name` is about, by the owners of its files.

    Also what is wrong with that name.
    """
    every = sorted(set().union(*owned.values()))
    is_rules = name.startswith(PROPOSALS)
    if is_rules:
        end = rule_end(name)
    else:
        end = entry_end(name)
    named = []
    for entry in every:
        if end and entry.endswith(end):
            named.append(entry)
    what, several = ("rule", "rules") if is_rules else ("entry", "entries")
    if len(named) == 1 or not every:
        return next(iter(named), None), ""
    if named:
        return (
            named[0],
            (
                f"it changes {len(named)} {several} whose id ends in {end}, which its name "
                "does not tell apart"
            ),
        )
    path = next(path for path, ids in owned.items() if every[0] in ids)
    where = place(path)
    if where and where.kind:
        kind = where.kind
    else:
        kind = Kind.DOC
    better = (
        f"{PROPOSALS if kind is Kind.RULE else OTHERS}{kind.letter}-{every[0][-HANDLE_LENGTH:]}"
    )
    return every[0], f"the branch does not name its {what}: git branch -m {name} {better}"


def faults(sides: Sides, trunk: str, pieces: Iterable[Piece]) -> Iterator[str]:
    """Why these files cannot be put on the approval branch (called `trunk`) as they are."""
    if sides.before is None:
        yield f"it has no commit in common with {trunk}"
    for piece in pieces:
        if not piece.is_plain:
            yield f"{piece.path} is not a plain file in it"
        if piece.here not in {piece.old, piece.new}:
            if piece.here is None:
                since = "removed or moved"
            elif piece.old:
                since = "changed"
            else:
                since = "made"
            yield f"{piece.path} was {since} on {trunk} since it was proposed"
        elif piece.here is None:
            for folder in accumulate(
                (sides.worktree.prefix + piece.path).split("/")[:-1], "{}/{}".format
            ):
                version = sides.draft.lookup(sides.here, os.fsencode(folder))
                if version and not stat.S_ISDIR(version[0]):
                    yield f"{piece.path} cannot be made on {trunk}: {folder} is in the way"
                    break
        if piece.new and piece.here is None:
            try:
                check_path(piece.path)
            except Refused as refused:
                yield refused.message


def file_at(worktree: Worktree, tip: str, path: str) -> bytes | None:
    """A plain file as it is in a commit; None if there is none. Raises UnsupportedRepository."""
    with opened(worktree) as repo:
        blob = blob_at(repo, tip, worktree.prefix + path)
        if blob:
            return text_of(worktree, repo, path, blob)
        return None


# An open repository, for those who only hand it on
Repository = Repo
Sort = Literal["new", "edit", "removal"]

# A branch with more commits of its own is no proposal
MOST_COMMITS: Final = 1000
# The most branches that one page reads, at about a millisecond each
LOOKED_AT: Final = 500
# The most other proposals about the same entry that a fault names
RIVALS_NAMED: Final = 3


class OpenProposal(NamedTuple):
    """An open proposal.

    `branch` is its name as git takes it (`rules/R-8F3K2A-use-x`, `origin/rules/…`), `name` the same
    without a remote. `entry` is an id and `path` its file. `foreign` are changed files of other
    entries, `faults` other reasons against a merge. `suggested_by` are its authors, the last first,
    `committed_by` those who committed what they wrote; `at` is in seconds since 1970; `report` is
    the text of the commit between subject and trailers;
    `batch` names the import that made it, and `makers` are the author and committer of that.
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
    committed_by: tuple[Person, ...] = ()

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
        if self.foreign:
            return f"it also changes {first_of(self.foreign, 3)}"
        return ""

    @property
    def piece(self) -> Piece:
        """The file that holds the proposed text, or for a removal the text that goes."""
        return next((piece for piece in self.pieces if piece.new), self.pieces[0])


def unmerged(trunk: Trunk, rejected: Collection[str]) -> dict[str, str]:
    """The refs of open proposals that were not `rejected`, a local branch before a remote's.

    Reads no object.
    """
    refs = proposal_refs(trunk.worktree)
    closed = trunk.contains(set(refs.values())) | set(rejected)
    by_branch: dict[tuple[str, str], str] = {}
    for ref, commit in sorted(refs.items()):
        # refs/heads/ comes before refs/remotes/
        if commit not in closed:
            by_branch.setdefault((branch_of(ref), commit), ref)
    return {ref: commit for (_, commit), ref in by_branch.items()}


class ProposalPage(NamedTuple):
    """Open proposals, oldest first.

    `left_out`: by writer the number of branches that were not read. `damaged`: by ref why one
    cannot be.
    """

    proposals: list[OpenProposal]
    left_out: Counter[str]
    damaged: dict[str, str]


def read_page(
    repo: Repo,
    trunk: Trunk,
    refs: Mapping[str, str],
    most: int | None = None,
    first: Collection[str] = (),
) -> ProposalPage:
    """The open proposals of `refs`.

    All, or at most `most`, those of `first` and then of every writer in turn.

    The turns keep one writer's many proposals from hiding those of others.
    """
    page = ProposalPage([], Counter(), {})
    for number, (ref, writer) in enumerate(_in_turn(repo, refs, first, page.damaged)):
        if most is not None and (len(page.proposals) == most or number >= LOOKED_AT):
            page.left_out[writer] += 1
            continue
        try:
            proposal = read_proposal(repo, trunk, ref, refs[ref])
        except (UnsupportedRepository, OSError, *DAMAGED):
            page.damaged[ref] = passed_over(ref, refs[ref])
        else:
            page.proposals.extend([proposal] if proposal else [])
    return page._replace(proposals=_with_rivals(page.proposals))


def _in_turn(
    repo: Repo, refs: Mapping[str, str], first: Collection[str], damaged: dict[str, str]
) -> list[tuple[str, str]]:
    """The refs and their last writers: `first`, then one of each writer, newest first.

    Local branches count as those of one writer.
    """
    by_writer: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for ref, commit in refs.items():
        try:
            tip = read_commit(repo.object_store, ObjectID(commit.encode())).info
        except (UnsupportedRepository, OSError, *DAMAGED):
            damaged[ref] = passed_over(ref, commit)
        else:
            if ref.startswith("refs/heads/"):
                key = ""
            else:
                key = tip.author.email
            by_writer[key].append((-tip.committed, ref, str(tip.author)))
    turns = []
    for key, rows in by_writer.items():
        for turn, (_, ref, writer) in enumerate(sorted(rows)):
            turns.append((ref not in first, turn, key, ref, writer))
    return [(ref, writer) for *_, ref, writer in sorted(turns)]


def _with_rivals(proposals: list[OpenProposal]) -> list[OpenProposal]:
    """The proposals, oldest first, each with faults that name other proposals about its entry."""
    by_entry: dict[str, list[OpenProposal]] = defaultdict(list)
    for proposal in proposals:
        by_entry[proposal.entry].append(proposal)
    result = []
    for proposal in sorted(proposals, key=lambda proposal: (proposal.at, proposal.branch)):
        rivals = (rival.branch for rival in by_entry[proposal.entry] if rival is not proposal)
        if proposal.is_rule:
            what = "rule"
        else:
            what = "entry"
        faults = (
            f"{branch} proposes something else for this {what}"
            for branch in islice(rivals, RIVALS_NAMED)
        )
        result.append(proposal._replace(faults=(*proposal.faults, *faults)))
    return result


def _sort(pieces: Sequence[Piece]) -> Sort:
    """What these changes do with an entry."""
    if not any(piece.new for piece in pieces):
        return "removal"
    if any(piece.old for piece in pieces):
        return "edit"
    return "new"


def read_proposal(repo: Repo, trunk: Trunk, ref: str, commit: str) -> OpenProposal | None:
    """One proposal.

    None if it is closed, changes nothing that it could be about, or is far too long to be one.
    """
    line, name = _line(repo, trunk, commit), branch_of(ref)
    if line is None:
        return None
    commits, base = line
    draft = Draft(repo)
    trees = (draft.tree_of(ObjectID(tip.encode())) for tip in (commit, trunk.tip))
    sides = Sides(trunk.worktree, repo, draft, draft.tree_of(base) if base else None, *trees)
    changes, foreign = pieces(sides, name)
    owned = {piece.path: owners(sides, piece) for piece in changes}
    entry, fault = subject_of(name, owned)
    if entry is None:
        return None
    own_pieces = tuple(piece for piece in changes if owned[piece.path] == {entry})
    if not own_pieces or _is_taken(trunk, base, name, own_pieces):
        return None
    messages = [commit.info.message for commit in commits]
    sort = _sort(own_pieces)
    piece = next((piece for piece in own_pieces if piece.new), own_pieces[0])
    double = ""
    if sort != "removal" and name.startswith(PROPOSALS):
        double = _place_beside(trunk, entry, own_pieces)
    all_faults = (fault, *faults(sides, trunk.name, own_pieces), double)
    foreign_paths = [piece.path for piece in changes if piece not in own_pieces]
    own_commits = [made for made in commits if len(made.parents) < 2]
    batch, makers = _batch_of(commits)
    return OpenProposal(
        ref=ref,
        branch=branch_name(ref),
        name=name,
        commit=commit,
        entry=entry,
        path=_main(sides, sides.after if piece.new else sides.before, piece.path),
        sort=sort,
        pieces=own_pieces,
        suggested_by=tuple(dict.fromkeys(made.info.author for made in own_commits)),
        committed_by=tuple(dict.fromkeys(made.info.committer for made in own_commits)),
        at=commits[0].info.committed,
        trailers=trailers(messages[0]),
        foreign=(*foreign_paths, *foreign),
        faults=tuple(filter(None, all_faults)),
        report=next(filter(None, map(report, messages)), ""),
        batch=batch,
        makers=makers,
    )


def _place_beside(trunk: Trunk, rule: str, pieces: Sequence[Piece]) -> str:
    """The fault of a rule that stands at another place on the approval branch, too.

    Empty if it does not.
    """
    elsewhere = trunk.places(rule) - {piece.path for piece in pieces}
    if elsewhere:
        return f"the rule stands at {', '.join(sorted(elsewhere))} on {trunk.name} already"
    return ""


def _batch_of(commits: Sequence[RawCommit]) -> tuple[str, tuple[Person, ...]]:
    """The batch that the trailers of a branch state, and its author and committer.

    A branch of several has none.

    A trailer can be forged: the batch of one person must take in no commit of another.
    """
    makers = set()
    for commit in commits:
        makers.add((commit.info.author, commit.info.committer))
    stated = (
        value for commit in commits for key, value in trailers(commit.info.message) if key == BATCH
    )
    if len(makers) == 1:
        batch = next(stated, "")
    else:
        batch = ""
    return batch, next(iter(makers)) if batch else ()


def _is_taken(trunk: Trunk, base: ObjectID | None, name: str, pieces: Sequence[Piece]) -> bool:
    """Whether the approval branch has what is proposed.

    Of an entry that is no rule, whether it ever had that.
    """
    pieces = [piece for piece in pieces if not piece.done]
    if not pieces:
        return True
    if name.startswith(PROPOSALS) or base is None:
        return False
    worktree, since = trunk.worktree, f"{base.decode()}..{trunk.tip}"
    return all(
        p.new
        and p.here != p.old
        and plumbing.stood(worktree, since, worktree.prefix + p.path, p.new)
        for p in pieces
    )


def _line(
    repo: Repo, trunk: Trunk, tip: str
) -> tuple[tuple[RawCommit, ...], ObjectID | None] | None:
    """The commits that a branch has and the approval branch has not, newest first.

    Also the commit where it left the approval branch.
    """
    commits: dict[str, RawCommit] = {}
    edges: list[str] = []
    ahead = [tip]
    while ahead:
        shared = trunk.contains(ahead)
        edges += [commit for commit in ahead if commit in shared]
        fresh = []
        for commit in ahead:
            if commit not in shared:
                fresh.append(commit)
        commits |= {
            commit: read_commit(repo.object_store, ObjectID(commit.encode())) for commit in fresh
        }
        if len(commits) > MOST_COMMITS:
            # a pushed branch must not stop the review of the others
            return None
        parents = dict.fromkeys(parent for commit in fresh for parent in commits[commit].parents)
        ahead = []
        for parent in parents:
            if parent not in commits:
                ahead.append(parent)
    base = trunk.newest(dict.fromkeys(edges))
    return tuple(commits.values()), ObjectID(base.encode()) if base else None
