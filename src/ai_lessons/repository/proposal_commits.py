"""Commits about proposals: a branch that proposes, and on the approval branch the merge that takes it or the record."""

from __future__ import annotations

import os
import time
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from dulwich.objects import ObjectID

from ai_lessons.errors import Conflict, Refused
from ai_lessons.knowledge.entries import HANDLE_LENGTH
from ai_lessons.knowledge.layout import check_path, slug
from ai_lessons.repository import branch_update, filters, git, proposal_records, proposals
from ai_lessons.repository.approval import approval_history as trunks
from ai_lessons.repository.approval import approval_memory, rule_files
from ai_lessons.repository.approval.approval_branch import OTHERS, PROPOSALS, branch_of, proposal_refs
from ai_lessons.repository.approval.approval_types import Proposal
from ai_lessons.repository.approval.rule_history import person
from ai_lessons.repository.checkout import Landing, committing, land
from ai_lessons.repository.commit import NO_IDENTITY, People, zone
from ai_lessons.repository.journal import Intent, new_name
from ai_lessons.repository.objects import EXECUTABLE, PLAIN, Draft, TreeEntry, read_commit
from ai_lessons.repository.store import Actor, Store, message_of
from ai_lessons.repository.worktree import Worktree, checked_out_at, read_ref

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.approval.approval_history import Trunk
    from ai_lessons.repository.proposal_records import Rejection
    from ai_lessons.repository.proposals import Waiting

HEADS = "refs/heads/"
REJECT = "Reject"
RULE = "rule"


class ProposalRequest(NamedTuple):
    """What to propose about an entry: `files` by path (None removes one), on a branch `stem` below `family`."""

    entry: str
    stem: str
    subject: str
    files: Mapping[str, bytes | None]
    trailers: Sequence[tuple[str, str]] = ()
    actor: Actor = Actor()
    family: str = PROPOSALS
    report: str = ""
    executable: Collection[str] = ()


class Made(NamedTuple):
    """The commit that was made, on which branch, and what the user should know."""

    branch: str
    commit: str
    notes: tuple[str, ...] = ()


class Author:
    """The user whom git knows here, who makes commits now. Raises Refused: it knows none."""

    def __init__(self, worktree: Worktree) -> None:
        self._people, self.when = People(worktree), int(time.time())
        author, committer = self._people.author(), self._people.committer()
        if not author or not committer:
            words, _, hint = NO_IDENTITY.partition("; ")
            raise Refused(words, hint=hint)
        self.author, self.committer = author, committer

    @property
    def notes(self) -> tuple[str, ...]:
        """Why a commit is not signed, where it should be."""
        return (self._people.unsigned,) if self._people.unsigned else ()

    @property
    def stamp(self) -> str:
        """How git's reflog tells who and when."""
        return f"{self.committer} {self.when} {zone(self.when)}"

    def commit(
        self,
        draft: Draft,
        tree: ObjectID,
        parents: Sequence[str],
        message: str,
        author: str = "",
        *,
        sign: bool | None = None,
    ) -> str:
        """A commit, on the disk with all that is new in the draft; `author` (`Name <email>`) if it is another.

        `sign`: whether it has to be signed; None: as the user's settings say. Raises Refused: it cannot be.
        """
        job = Intent(new_name(), message, self.when, time.localtime(self.when).tm_gmtoff, ())
        who = author or self.author, self.committer, self.when
        before = [ObjectID(parent.encode()) for parent in parents]
        made = self._people.commit(draft, job, tree, before, who, sign=sign)
        draft.save()
        return made.decode()


def _edited(store: Store, draft: Draft, base: str, files: Mapping[str, TreeEntry | None]) -> ObjectID:
    """The tree of a commit with these files set or (None) removed."""
    edits = {os.fsencode(store.prefix + path): new for path, new in files.items()}
    return draft.edit(draft.tree_of(ObjectID(base.encode())), edits)


def propose(store: Store, repo: Repo, trunk: Trunk, wanted: ProposalRequest) -> Made:
    """A new branch with one commit. Raises Refused, Conflict, StorageFailed."""
    for path, data in wanted.files.items():
        if data is not None:
            check_path(path)
    with committing(store):
        folder = wanted.family.rstrip("/")
        if read_ref(trunk.worktree, HEADS + folder) is not None:
            hint = f"git branch -m {folder} NEW-NAME"
            raise Conflict(f"a branch called {folder} is in the way of proposals", hint=hint)
        taken = {branch_of(ref).casefold() for ref in proposal_refs(trunk.worktree)}
        names = (f"{wanted.family}{wanted.stem}{f'-{n}' if n > 1 else ''}" for n in count(1))
        branch = next(name for name in names if name.casefold() not in taken)
        draft, tip = Draft(repo), ObjectID(trunk.tip.encode())
        # just behind the tip where the files are the same there; where a shallow clone ends there is nothing behind
        paths = [os.fsencode(trunk.worktree.prefix + path) for path in wanted.files]
        here = [draft.lookup(draft.tree_of(tip), path) for path in paths]
        before = (ObjectID(one.encode()) for one in read_commit(repo.object_store, tip).parents)
        parents = [one for one in before if one in repo.object_store]
        behind = [one for one in parents if [draft.lookup(draft.tree_of(one), path) for path in paths] == here]
        made = _point(store, draft, branch, (behind or [tip])[0].decode(), None, wanted)
    note = f"nothing is behind {trunk.name} yet: take it with `git merge --no-ff`, or ai-lessons admin approve-rule"
    return made if behind else made._replace(notes=(*made.notes, note))


def amend(store: Store, repo: Repo, proposal: Waiting, wanted: ProposalRequest) -> Made:
    """One more commit on a proposal's branch, which is made here where it was a remote's. Raises as `propose`."""
    ref = HEADS + proposal.name
    with committing(store):
        there = read_ref(store.worktree, ref)
        if there not in {None, proposal.commit}:
            raise Conflict(f"{proposal.name} says something else than {proposal.branch}; nothing was changed")
        place = checked_out_at(store.worktree, ref)
        if place:
            raise Conflict(f"{proposal.name} is checked out at {place}", hint="git switch to another branch first")
        wanted = wanted._replace(family=PROPOSALS if proposal.is_rule else OTHERS)
        return _point(store, Draft(repo), proposal.name, proposal.commit, there, wanted)


def _point(store: Store, draft: Draft, branch: str, base: str, old: str | None, wanted: ProposalRequest) -> Made:
    """Commit on top of `base`, and move the branch there from `old`."""
    by, before = Author(store.worktree), draft.tree_of(ObjectID(base.encode()))
    files: dict[str, TreeEntry | None] = {}
    new = filters.blobs(store.worktree, draft, {path: data for path, data in wanted.files.items() if data is not None})
    for path, data in wanted.files.items():
        found = draft.lookup(before, os.fsencode(store.prefix + path))
        runs = path in wanted.executable or (found is not None and found[0] == EXECUTABLE)
        files[path] = None if data is None else (EXECUTABLE if runs else PLAIN, new[path])
    more = [(rule_files.RULE_TRAILER, wanted.entry)]
    if wanted.family != PROPOSALS:  # a squash or rebase of what is no rule would tell nobody where it was proposed
        more = [(rule_files.ENTRY_TRAILER, wanted.entry), (rule_files.PROPOSED_TRAILER, branch)]
    message = rule_files.with_report(message_of(wanted.subject, [*wanted.trailers, *more], wanted.actor), wanted.report)
    commit = by.commit(draft, _edited(store, draft, base, files), [base], message)
    said = f"commit: {wanted.subject}" if old else f"branch: {wanted.subject}"
    branch_update.point(store.worktree, HEADS + branch, old, commit, said)
    if branch.startswith(PROPOSALS):  # noted for those who judge: the branch may be gone before the first look
        path, entry = next((pair for pair in files.items() if pair[1]), next(iter(files.items())))
        blob = entry[1].decode() if entry else None
        known = Proposal(branch, commit, wanted.entry, path, blob, person(by.author.encode()), by.when)
        approval_memory.add_proposals(store.state_dir, [known])
    return Made(branch, commit, by.notes)


def approve(
    store: Store,
    repo: Repo,
    trunk: Trunk,
    several: Sequence[Waiting],
    title: str,
    *,
    what: str = RULE,
    sign: bool = False,
) -> Made:
    """Merge proposals (of `what`) in one commit, and delete their branches; `sign`: it has to be signed.

    Each proposal is a parent of its own, named in this order. Raises Refused, Conflict: one of them cannot be taken.
    """
    by = Author(store.worktree)

    def build(draft: Draft, tip: str) -> Landing:
        taken: dict[str, tuple[str | None, TreeEntry | None]] = {}
        for one in (_still_open(repo, store, trunk, proposal, tip) for proposal in several):
            _refuse(one, trunk, by)
            pieces = [piece for piece in one.pieces if not piece.done]
            if twice := next((piece.path for piece in pieces if piece.path in taken), None):
                raise Conflict(f"two of these proposals are about {twice}; nothing was approved")
            for piece in pieces:
                mode = EXECUTABLE if piece.mode == EXECUTABLE and not one.is_rule else PLAIN
                taken[piece.path] = piece.here, (mode, ObjectID(piece.new.encode())) if piece.new else None
        gone = " (removal)" if len(several) == 1 and several[0].sort == "removal" else ""
        subject = f"{rule_files.APPROVE} {what}{'s' if len(several) > 1 else ''}: {title}{gone}"
        message = message_of(subject, [pair for one in several for pair in _about(one)], Actor())
        tree = _edited(store, draft, tip, {path: new for path, (_, new) in taken.items()})
        commit = by.commit(draft, tree, (tip, *(one.commit for one in several)), message, sign=sign or None)
        return Landing(commit, taken, by.stamp, f"merge {several[0].branch}: {subject}")

    landing, notes = land(store, repo, trunk.ref, build)
    return Made(trunk.name, landing.commit, (*by.notes, *notes, *_drop_branches(store, several)))


def reject(store: Store, repo: Repo, trunk: Trunk, proposal: Waiting, record: Rejection, name: str) -> Made:
    """Put a record (`name`: its ULID) on the approval branch, and delete the proposal's. Raises Refused, Conflict."""
    path = proposal_records.record_path(rule_files.REJECTED, name, record.title, record.at)
    subject = f"{REJECT} {record.what}: {record.title}"

    def check(tip: str) -> None:
        _still_open(repo, store, trunk, proposal, tip)

    made = _add(store, repo, trunk, {path: record.render()}, (subject, _about(proposal)), check)
    if proposal.is_rule:
        approval_memory.forget_proposal(store.state_dir, proposal.entry, proposal.name)
    return made._replace(notes=(*made.notes, *_drop_branches(store, [proposal])))


def approve_standing(store: Store, repo: Repo, trunk: Trunk, rule: str, text: tuple[str, str], title: str) -> Made:
    """Approve a text (path, blob) that stands on the branch without a good signature, by a signed merge that brings it.

    A commit takes it out, another proposes it, and the merge takes that; no file changes. Raises Refused, Conflict.
    """
    by, (path, blob) = Author(store.worktree), text
    branch, about = f"{PROPOSALS}R-{rule[-HANDLE_LENGTH:]}-{slug(title)}", [(rule_files.RULE_TRAILER, rule)]

    def build(draft: Draft, tip: str) -> Landing:
        tree = draft.tree_of(ObjectID(tip.encode()))
        there = draft.lookup(tree, os.fsencode(store.prefix + path))
        if there is None or there[1].decode() != blob:
            raise Conflict(f"{path} was changed on {trunk.name} meanwhile; look at it again")

        def commit(tree: ObjectID, parents: Sequence[str], words: str, *, sign: bool = False) -> str:
            trailers = [(rule_files.PROPOSAL_TRAILER, branch), *about] if sign else about
            return by.commit(draft, tree, parents, message_of(f"{words}: {title}", trailers, Actor()), sign=sign)

        out = commit(_edited(store, draft, tip, {path: None}), [tip], "Take out unapproved rule")
        merge = [out, commit(tree, [out], "Propose rule")]
        subject = f"{rule_files.APPROVE} {RULE}"
        return Landing(commit(tree, merge, subject, sign=True), {}, by.stamp, f"merge {branch}: {subject}: {title}")

    landing, notes = land(store, repo, trunk.ref, build)
    return Made(trunk.name, landing.commit, notes)


def _add(
    store: Store,
    repo: Repo,
    trunk: Trunk,
    records: Mapping[str, bytes],
    said: tuple[str, list[tuple[str, str]]],
    check: Callable[[str], None],
) -> Made:
    """A commit of new files on the approval branch; `check` is given the tip before, and raises if it has moved on."""
    by = Author(store.worktree)
    subject, trailers = said

    def build(draft: Draft, tip: str) -> Landing:
        check(tip)
        made = filters.blobs(store.worktree, draft, records)
        new: dict[str, TreeEntry | None] = {path: (PLAIN, blob) for path, blob in made.items()}
        commit = by.commit(draft, _edited(store, draft, tip, new), (tip,), message_of(subject, trailers, Actor()))
        files = {path: (None, entry) for path, entry in new.items()}
        return Landing(commit, files, by.stamp, f"commit: {subject}")

    landing, notes = land(store, repo, trunk.ref, build)
    return Made(trunk.name, landing.commit, (*by.notes, *notes))


def _about(one: Waiting) -> list[tuple[str, str]]:
    """Trailers of a decision about a proposal."""
    return [
        (rule_files.PROPOSAL_TRAILER, one.name),
        (rule_files.RULE_TRAILER if one.is_rule else rule_files.ENTRY_TRAILER, one.entry),
    ]


def _still_open(repo: Repo, store: Store, trunk: Trunk, proposal: Waiting, tip: str) -> Waiting:
    """The proposal as it stands against the tip that is merged into. Raises Conflict."""
    if read_ref(store.worktree, proposal.ref) != proposal.commit:
        raise Conflict(f"{proposal.branch} was moved since it was read; look at it again")
    now = trunk if tip == trunk.tip else trunks.look(store.worktree, trunk.ref, trunk.signers)
    found = proposals.look(repo, now, proposal.ref, proposal.commit)
    if found is None or proposal.commit in now.contains([proposal.commit]):
        raise Conflict(f"{proposal.branch} was taken meanwhile; nothing was changed")
    return found


def _refuse(one: Waiting, trunk: Trunk, by: Author) -> None:
    if one.foreign:
        what = RULE if one.is_rule else "entry"
        raise Refused(f"{one.branch} is not only about its {what}: {one.smuggled}", hint=f"git diff ...{one.branch}")
    if one.faults:
        hint = "propose it again on the text that is there now, and reject this one"
        raise Conflict(f"{one.branch} cannot be taken as it is: {one.faults[0]}", hint=hint)
    mine = person(by.committer.encode()).email.casefold()
    same = [one for one in one.suggested_by if one.email.casefold() == mine]
    if same and trunk.view.policy.distinct:
        who = same[0].name or same[0].email
        hint = "approval.distinct in the settings of the repository says so"
        raise Refused(f"{who} wrote this proposal, and {trunk.name} asks for somebody else to approve it", hint=hint)


def _drop_branches(store: Store, several: Sequence[Waiting]) -> list[str]:
    """Delete the branches of proposals here, and name those that are elsewhere."""
    notes, names, gone = [], {(one.commit, one.name) for one in several}, dict[str, str]()
    for ref, commit in sorted(proposal_refs(store.worktree).items()):
        name = next((name for at, name in names if at == commit and ref.endswith("/" + name)), "")
        if name and not ref.startswith(HEADS):
            remote = ref.split("/")[2]
            notes.append(f"its branch is still on {remote}: git push {remote} --delete {name}")
        elif name and checked_out_at(store.worktree, ref):
            notes.append(f"{name} is checked out, so it was not deleted")
        elif name:
            gone[ref] = commit
    moved = (ref.removeprefix(HEADS) for ref in _not_deleted(store, gone))
    return [*notes, *(f"{name} moved meanwhile, so it was not deleted" for name in moved)]


def _not_deleted(store: Store, refs: Mapping[str, str]) -> list[str]:
    """Delete refs that are at these commits, all at once where none has moved; those that had."""
    rows = "".join(f"delete {ref} {commit}\n" for ref, commit in refs.items()).encode()
    if not refs or not git.run(store.worktree, "update-ref", "--no-deref", "--stdin", stdin=rows).code:
        return []
    if len(refs) == 1:
        return list(refs)
    return [one for ref, commit in refs.items() for one in _not_deleted(store, {ref: commit})]
