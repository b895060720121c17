"""Open proposals: the files they change, what became of earlier ones, what each would change.

Writes nothing.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, defaultdict
from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from dulwich.diff_tree import tree_changes
from dulwich.objects import ObjectID
from dulwich.repo import Repo

from ai_lessons.errors import InvalidEntry, Refused, UnsupportedRepository
from ai_lessons.git import plumbing
from ai_lessons.git.commits import RawCommit, behind, commits, read_texts
from ai_lessons.git.objects import DAMAGED, Draft, opened, read_commit, text_of
from ai_lessons.git.worktree import (
    OTHERS,
    PROPOSALS,
    branch_name,
    branch_of,
    passed_over,
    proposal_refs,
    read_ref,
    short_name,
)
from ai_lessons.model import approval, layout, markdown
from ai_lessons.model.approval import (
    BATCH,
    Person,
    entry_end,
    is_rule,
    moment,
    report,
    rule_end,
    stated_id,
    trailers,
)
from ai_lessons.model.entries import HANDLE_LENGTH, Kind
from ai_lessons.model.layout import check_path, derived_id, is_markdown, place, side_of
from ai_lessons.model.texts import decode, first_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.approval.state import Trunk
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
    """The entry that the branch `name` is about, by the owners of its files, and what is wrong with that name."""
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


REJECTION: Final = "rejection"
_REJECTED: Final = ("title", "reason", "path", "proposal", "commit", "suggested_by")
# What a proposal may be about; the key that holds its id
WHAT: Final = tuple(kind.value for kind in Kind)


class Rejection(NamedTuple):
    """A proposal rejected `at` (ISO 8601).

    `text` is its file, or all `files`, each below a line with its path.
    """

    entry: str
    title: str
    reason: str
    proposal: str
    commit: str
    path: str
    suggested_by: str
    at: str
    text: str
    what: str = Kind.RULE.value
    files: tuple[str, ...] = ()

    def render(self) -> bytes:
        """The record's file."""
        fields = {
            "kind": REJECTION,
            self.what: self.entry,
            **{key: getattr(self, key) for key in _REJECTED},
        }
        fields |= {"rejected": self.at} | ({"files": list(self.files)} if self.files else {})
        return markdown.render(fields, self.text).encode()

    def texts(self) -> dict[str, str]:
        """What was proposed, by path; empty for a removal."""
        if not self.files:
            if self.text:
                return {self.path: self.text}
            return {}
        texts, remaining = {}, self.text.lstrip("\n").removeprefix(_heading(self.files[0]))
        for path, following in pairwise(self.files):
            texts[path], _, remaining = remaining.partition("\n" + _heading(following))
        return {**texts, self.files[-1]: remaining}


def joined(texts: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """`text` and `files` of a record about these files."""
    if len(texts) < 2:
        return next(iter(texts.values()), ""), ()
    return "\n".join(_heading(path) + text for path, text in texts.items()), tuple(texts)


def _heading(path: str) -> str:
    return f"<!-- {path} -->\n"


def record_path(folder: str, name: str, title: str, at: str) -> str:
    """Where the record called `name` (a ULID) goes in `folder`; `at` is ISO 8601."""
    return f"{folder}{at[:4]}/{name}-{layout.slug(title)}.md"


def read_rejection(data: bytes) -> Rejection | None:
    """A record's file; None for one that is no record of ours."""
    try:
        record = markdown.parse(decode(data, ""))
    except InvalidEntry:
        return None
    if record.fields.get("kind") != REJECTION:
        return None
    what = next((key for key in WHAT if key in record.fields), Kind.RULE.value)
    files = record.fields.get("files")
    fields = {}
    for key, value in record.fields.items():
        if value is None:
            fields[key] = ""
        else:
            fields[key] = str(value)
    return Rejection(
        **{key: fields.get(key, "") for key in _REJECTED},
        entry=fields.get(what, ""),
        at=fields.get("rejected", ""),
        text=record.body,
        what=what,
        files=tuple(map(str, files)) if isinstance(files, list) else (),
    )


def rejected(trunk: Trunk) -> list[Rejection]:
    """Every record of a rejection on the approval branch; files that are none are passed over."""
    blobs = {}
    for path, blob in sorted(trunk.view.files.items()):
        if path.startswith(approval.REJECTED):
            blobs[blob] = path
    if blobs:
        contents = read_texts(trunk.worktree, blobs)
    else:
        contents = {}
    records = (read_rejection(contents[blob]) for blob in blobs if blob in contents)
    results: list[Rejection] = []
    for record in records:
        if record is not None:
            results.append(record)
    return results


def file_at(worktree: Worktree, tip: str, path: str) -> bytes | None:
    """A plain file as it is in a commit; None if there is none. Raises UnsupportedRepository."""
    with opened(worktree) as repo:
        blob = blob_at(repo, tip, worktree.prefix + path)
        if blob:
            return text_of(worktree, repo, path, blob)
        return None


# The most commits of a merged proposal that are read
OWN_COMMITS: Final = 100
How = Literal["merge", "commit"]


class TakenProposal(NamedTuple):
    """A proposal of no rule taken in `commit`, by a merge or as a commit.

    Times are ISO 8601, people `Name <email>`.

    `id` may be the end of an id, or empty. `approved_by` is empty where a forge hides it. `title`
    is that of the commit which took it, else the proposal's name.
    """

    id: str
    title: str
    proposal: str
    how: How
    approved_by: str
    approved_at: str
    suggested_by: str
    commit: str


def taken_on(worktree: Worktree, ref: str | None, entry: str = "") -> list[TakenProposal]:
    """The proposals of anything but rules that came to an approval branch, newest first.

    Of one entry, if named.
    """
    tip = None
    if ref:
        tip = read_ref(worktree, ref)
    if ref is None or tip is None:
        return []
    every = taken(worktree, tip, short_name(ref))
    results: list[TakenProposal] = []
    for proposal in every:
        if not entry or (proposal.id and entry.endswith(proposal.id)):
            results.append(proposal)
    return results


def taken(worktree: Worktree, tip: str, branch: str) -> list[TakenProposal]:
    """Every proposal of no rule that `branch` (short) took, newest first.

    Raises UnsupportedRepository.
    """
    history = {commit.id: commit for commit in reversed(commits(worktree, [tip]))}
    singles: dict[str, str] = {}
    for commit in history.values():
        if len(commit.parents) < 2:
            trailers = dict(reversed(approval.trailers(commit.info.message)))
        else:
            trailers = {}
        if name := trailers.get(approval.PROPOSED_TRAILER):
            singles[commit.id] = name
    result: list[TakenProposal] = []
    merged: set[str] = set()
    for commit in history.values():
        if len(commit.parents) < 2:
            continue
        names = approval.merged_branches(commit.info.message, branch)
        if names is None:
            # a message in the user's own words: the merged commits name their branches
            names = tuple(singles.get(side, "") for side in commit.parents[1:])
        for side, name in zip(commit.parents[1:], names, strict=False):
            if name.startswith(OTHERS):
                line = list(islice(behind(history, side), OWN_COMMITS))
            else:
                line = []
            if line:
                merged |= {source.id for source in line if singles.get(source.id) == name}
                result.append(_taken(name, commit, line[0], "merge"))
    return result + [
        _taken(name, history[single], history[single], "commit")
        for single, name in singles.items()
        if single not in merged
    ]


def _taken(name: str, commit: RawCommit, source: RawCommit, how: How) -> TakenProposal:
    trailers = dict(approval.trailers(source.info.message) + approval.trailers(commit.info.message))
    subject = commit.info.message.partition("\n")[0].strip()
    if subject.startswith(f"{approval.APPROVE} "):
        title = subject.partition(": ")[2]
    else:
        title = name
    by: Person | None = commit.info.committer
    if commit.info.committer.email in approval.FORGES:
        # on a forge the author of a merge pressed the button; no other commit says who did
        by = None
        if how == "merge":
            by = commit.info.author
    entry = trailers.get(approval.ENTRY_TRAILER) or approval.entry_end(name) or ""
    at, author = moment(commit.info.committed), str(source.info.author)
    return TakenProposal(entry, title, name, how, str(by or ""), at, author, commit.id)


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
    entries, `faults` other reasons against a merge. `suggested_by` are its authors, the last first;
    `at` is in seconds since 1970; `report` is the text of the commit between subject and trailers;
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
    """Open proposals, oldest first; by writer the number of branches that were not read.

    By ref why one cannot be.
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

    Local branches are one's.
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
    turns = [
        (ref not in first, turn, key, ref, writer)
        for key, rows in by_writer.items()
        for turn, (_, ref, writer) in enumerate(sorted(rows))
    ]
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
    new, old = any(piece.new for piece in own_pieces), any(piece.old for piece in own_pieces)
    piece = next((piece for piece in own_pieces if piece.new), own_pieces[0])
    double = _place_beside(trunk, entry, own_pieces) if new and name.startswith(PROPOSALS) else ""
    messages = [commit.info.message for commit in commits]
    batch, makers = _batch_of(commits)
    return OpenProposal(
        ref=ref,
        branch=branch_name(ref),
        name=name,
        commit=commit,
        entry=entry,
        path=_main(sides, sides.after if piece.new else sides.before, piece.path),
        sort="removal" if not new else "edit" if old else "new",
        pieces=own_pieces,
        suggested_by=tuple(
            dict.fromkeys(made.info.author for made in commits if len(made.parents) < 2)
        ),
        at=commits[0].info.committed,
        trailers=trailers(messages[0]),
        foreign=(*(piece.path for piece in changes if piece not in own_pieces), *foreign),
        faults=tuple(filter(None, (fault, *faults(sides, trunk.name, own_pieces), double))),
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
    """The commits that a branch has and the approval branch has not, newest first, and where it left that."""
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
