"""Ending proposals: taken by a merge commit made from objects, or turned down with a record.

Who may do that is asked before: here only the policy on the approval branch and the proposal itself are looked at.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dulwich.objects import ObjectID

from ai_lessons.errors import Conflict, Refused
from ai_lessons.repository import git
from ai_lessons.repository.approval import approval_history as trunks
from ai_lessons.repository.approval import approval_memory
from ai_lessons.repository.approval.rule_files import (
    APPROVALS,
    APPROVE,
    ENTRY_TRAILER,
    PROPOSAL_TRAILER,
    REJECTED,
    RULE_TRAILER,
)
from ai_lessons.repository.approval.rule_history import read_blobs
from ai_lessons.repository.branch_update import Landing, land
from ai_lessons.repository.commit_builder import People, make_commit
from ai_lessons.repository.objects import EXECUTABLE, PLAIN, Draft
from ai_lessons.repository.proposal import proposals, rejections
from ai_lessons.repository.proposal.proposal_refs import proposal_refs
from ai_lessons.repository.proposal.proposing import HEADS, intent, signature
from ai_lessons.repository.store import Actor, message_of
from ai_lessons.repository.worktree import checked_out_at, read_ref

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.approval.approval_history import Trunk
    from ai_lessons.repository.approval.approval_types import Person
    from ai_lessons.repository.proposal.proposals import Waiting
    from ai_lessons.repository.proposal.proposing import CommitSignature
    from ai_lessons.repository.proposal.rejections import Rejection
    from ai_lessons.repository.store import Store

REJECT = "Reject"
RULE = "rule"


@dataclass(frozen=True, slots=True)
class Decided:
    """The commit on the approval branch, and what the user should know."""

    commit: str
    notes: tuple[str, ...] = ()


def approve(
    store: Store,
    repo: Repo,
    trunk: Trunk,
    proposal: Waiting,
    title: str,
    records: Mapping[str, bytes] | None = None,
    *,
    what: str = RULE,
) -> Decided:
    """Merge a proposal into the approval branch; `records` (signed ones, by path) become part of the merge.

    `what` is the kind of entry, or `release`, as the subject of the merge has it.

    The branch of the proposal is deleted, as `git branch -d` would: all of it is in the merge.

    Raises:
        Refused: the proposal changes other files, git has no name for the user, or the policy asks for somebody else
            than the proposer. Conflict: it was changed on the approval branch meanwhile, or git is busy.
    """
    people = People(store.worktree)
    who = signature(people, store.now())

    def build(draft: Draft, tip: str) -> Landing:
        one = _still_open(repo, store, trunk, proposal, tip)
        _refuse(one, trunk, who)
        files = {piece.path: (piece.here, piece.new) for piece in one.pieces if not piece.done}
        extra = {path: (None, draft.blob(data).decode()) for path, data in (records or {}).items()}
        programs = {} if one.is_rule else {piece.path: piece.mode == EXECUTABLE for piece in one.pieces if piece.new}
        subject = f"{APPROVE} {what}: {title}" + (" (removal)" if one.sort == "removal" else "")
        message = message_of(subject, _about_it(one), Actor())
        commit = _commit(store, draft, people, who, (tip, one.commit), files | extra, message, programs)
        return Landing(tip, commit, files | extra, who.log(f"merge {one.branch}: {subject}"), programs)

    landing, notes = land(store, repo, trunk.ref, build)
    unsigned = (people.unsigned,) if people.unsigned else ()
    return Decided(landing.commit, (*unsigned, *notes, *_drop_branches(store, proposal)))


def _about_it(one: Waiting) -> list[tuple[str, str]]:
    """Trailers of a decision about a proposal."""
    return [(PROPOSAL_TRAILER, one.name), (RULE_TRAILER if one.is_rule else ENTRY_TRAILER, one.entry)]


def reject(store: Store, repo: Repo, trunk: Trunk, proposal: Waiting, record: Rejection, name: str) -> Decided:
    """Put a record on the approval branch and delete the proposal's branch; `name` is the ULID of the record.

    Raises:
        Refused: git has no name for the user. Conflict: the proposal was closed or moved meanwhile, or git is busy.
    """
    people = People(store.worktree)
    who = signature(people, store.now())
    path, data = rejections.place(name, record.title, int(record.at[:4])), record.render()

    def build(draft: Draft, tip: str) -> Landing:
        one = _still_open(repo, store, trunk, proposal, tip)
        files: dict[str, tuple[str | None, str | None]] = {path: (None, draft.blob(data).decode())}
        subject = f"{REJECT} {record.what}: {record.title}"
        message = message_of(subject, _about_it(one), Actor())
        commit = _commit(store, draft, people, who, (tip,), files, message)
        return Landing(tip, commit, files, who.log(f"commit: {subject}"))

    landing, notes = land(store, repo, trunk.ref, build)
    if proposal.is_rule:
        approval_memory.forget_proposal(store.state_dir, proposal.entry, proposal.name)
    unsigned = (people.unsigned,) if people.unsigned else ()
    return Decided(landing.commit, (*unsigned, *notes, *_drop_branches(store, proposal)))


def put(store: Store, repo: Repo, trunk: Trunk, rule: str, subject: str, records: Mapping[str, bytes]) -> Decided:
    """Put signed records about a rule (by path) on the approval branch, in a commit of their own.

    Raises:
        Refused: git has no name for the user. Conflict: the rule was decided about or changed meanwhile, or git is
        busy.
    """
    people = People(store.worktree)
    who = signature(people, store.now())

    def build(draft: Draft, tip: str) -> Landing:
        now = trunk if tip == trunk.tip else trunks.look(store.worktree, trunk.ref)
        if _about(now, rule) != _about(trunk, rule):
            raise Conflict(f"rule {rule} was changed on {trunk.name} meanwhile; look at it again")
        files: dict[str, tuple[str | None, str | None]] = {
            path: (None, draft.blob(data).decode()) for path, data in records.items()
        }
        message = message_of(subject, [(RULE_TRAILER, rule)], Actor())
        commit = _commit(store, draft, people, who, (tip,), files, message)
        return Landing(tip, commit, files, who.log(f"commit: {subject}"))

    landing, notes = land(store, repo, trunk.ref, build)
    return Decided(landing.commit, (*((people.unsigned,) if people.unsigned else ()), *notes))


def _about(trunk: Trunk, rule: str) -> dict[str, str]:
    """The texts of a rule and the records about it."""
    places = trunk.places(rule)
    return {
        path: blob
        for path, blob in trunk.view.files.items()
        if path in places or path.startswith(f"{APPROVALS}{rule}/")
    }


def rejected(trunk: Trunk) -> list[Rejection]:
    """Every record of a rejection on the approval branch; files that are none are passed over."""
    blobs = [blob for path, blob in sorted(trunk.view.files.items()) if path.startswith(REJECTED)]
    contents = read_blobs(trunk.worktree, set(blobs)) if blobs else {}
    found = (rejections.read(contents[blob]) for blob in blobs if blob in contents)
    return [one for one in found if one is not None]


def _still_open(repo: Repo, store: Store, trunk: Trunk, proposal: Waiting, tip: str) -> Waiting:
    """The proposal as it stands against the tip that is merged into.

    Raises:
        Conflict: it is closed, or its branch moved: then it is not what was read.
    """
    if read_ref(store.worktree, proposal.ref) != proposal.commit:
        raise Conflict(f"{proposal.branch} was moved since it was read; look at it again")
    now = trunk if tip == trunk.tip else trunks.look(store.worktree, trunk.ref)
    found = proposals.look(repo, now, proposal.ref, proposal.commit)
    if found is None or proposal.commit in now.contains([proposal.commit]):
        raise Conflict(f"{proposal.branch} was taken meanwhile; nothing was changed")
    return found


def _refuse(one: Waiting, trunk: Trunk, who: CommitSignature) -> None:
    if one.foreign:
        what = RULE if one.is_rule else "record" if one.is_release else "entry"
        raise Refused(f"{one.branch} is not only about its {what}: {one.smuggled}", hint=f"git diff ...{one.branch}")
    if one.faults:
        raise Conflict(
            f"{one.branch} cannot be taken as it is: {one.faults[0]}",
            hint="propose it again on the text that is there now, and reject this one",
        )
    same = [person for person in one.suggested_by if _email(who.committer) == person.email.casefold()]
    if same and trunk.view.policy.distinct:
        raise Refused(
            f"{_name(same[0])} wrote this proposal, and {trunk.name} asks for somebody else to approve it",
            hint="approval.distinct in the settings of the repository says so",
        )


def _email(who: str) -> str:
    return who.rpartition("<")[2].removesuffix(">").casefold()


def _name(person: Person) -> str:
    return person.name or person.email


def _commit(
    store: Store,
    draft: Draft,
    people: People,
    who: CommitSignature,
    parents: Sequence[str],
    files: Mapping[str, tuple[str | None, str | None]],
    message: str,
    programs: Mapping[str, bool] | None = None,
) -> str:
    modes = {path: EXECUTABLE for path, program in (programs or {}).items() if program}
    edits = {
        os.fsencode(store.prefix + path): (modes.get(path, PLAIN), ObjectID(new.encode())) if new else None
        for path, (_, new) in files.items()
    }
    before = [ObjectID(parent.encode()) for parent in parents]
    tree = draft.edit(draft.tree_of(before[0]), edits)
    people_and_time = (who.author, who.committer, who.when)
    made = make_commit(draft, intent(message, who.when), tree, before, people, people_and_time)
    draft.save()
    return made.decode()


def _drop_branches(store: Store, proposal: Waiting) -> list[str]:
    """Delete the proposal's branch here, and name those that are elsewhere."""
    notes = []
    for ref, commit in sorted(proposal_refs(store.worktree).items()):
        if commit != proposal.commit or not ref.endswith("/" + proposal.name):
            continue
        if not ref.startswith(HEADS):
            remote = ref.split("/")[2]
            notes.append(f"its branch is still on {remote}: git push {remote} --delete {proposal.name}")
        elif checked_out_at(store.worktree, ref):
            notes.append(f"{proposal.name} is checked out, so it was not deleted")
        elif not delete_branch(store, ref, commit):
            notes.append(f"{proposal.name} moved meanwhile, so it was not deleted")
    return notes


def delete_branch(store: Store, ref: str, commit: str) -> bool:
    """Delete a branch if it still is at this commit."""
    return git.run(store.worktree, "update-ref", "--no-deref", "-d", ref, commit).code == 0
