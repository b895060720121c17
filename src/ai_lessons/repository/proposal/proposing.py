"""Making proposals: a commit on a branch of its own. Working tree, git's index and HEAD are not touched.

A proposal is based one commit behind the approval branch where that can be, so that a plain `git merge` cannot
fast-forward and leave no record of who took it. Nothing here decides whether a proposal is any good.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dulwich.objects import ObjectID

from ai_lessons.errors import Conflict, Refused
from ai_lessons.knowledge.layout import check_path
from ai_lessons.repository import ref_update
from ai_lessons.repository.approval import approval_memory
from ai_lessons.repository.approval.merges import PROPOSED_TRAILER, with_report
from ai_lessons.repository.approval.rule_files import is_release
from ai_lessons.repository.approval.rule_history import person
from ai_lessons.repository.approval.verdicts import Proposal
from ai_lessons.repository.branch_update import committing
from ai_lessons.repository.commit_builder import NO_IDENTITY, People, make_commit, zone
from ai_lessons.repository.journal import Intent, new_name
from ai_lessons.repository.objects import EXECUTABLE, PLAIN, Draft, read_commit
from ai_lessons.repository.proposal.proposal_refs import PROPOSALS, branch_of, proposal_refs
from ai_lessons.repository.store import Actor, blob_id, message_of
from ai_lessons.repository.worktree import checked_out_at, read_ref

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.approval.trunk import Trunk
    from ai_lessons.repository.proposal.proposals import Waiting
    from ai_lessons.repository.store import Store
    from ai_lessons.repository.worktree import Worktree

HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Wish:
    """What shall be proposed about an entry: files by path relative to the root, None to remove one.

    `stem` is the branch's name below `family`. `report` is what whoever decides should read first; `executable` are
    paths of programs.
    """

    entry: str
    stem: str
    subject: str
    files: Mapping[str, bytes | None]
    trailers: Sequence[tuple[str, str]] = ()
    actor: Actor = field(default_factory=Actor)
    family: str = PROPOSALS
    report: str = ""
    executable: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """A proposal that was made; `notes` is what the user should know."""

    branch: str
    commit: str
    notes: tuple[str, ...] = ()


def propose(store: Store, repo: Repo, trunk: Trunk, wish: Wish) -> Made:
    """A new branch with one commit.

    Raises:
        Refused: git has no name for the user, or a path that we would not write. Conflict: a branch is in the way.
        StorageFailed: the disk said no, or another process kept the lock.
    """
    for path, data in wish.files.items():
        if data is not None:
            check_path(path, hidden=is_release(path))
    with committing(store):
        branch = _free(trunk.worktree, wish.family, wish.stem)
        wish = _signed_off(wish, branch)
        draft = Draft(repo)
        names = {os.fsencode(trunk.worktree.prefix + path): data for path, data in wish.files.items()}
        base, behind = _base(repo, draft, ObjectID(trunk.tip.encode()), names)
        made = _commit(store, draft, base, names, wish)
        ref_update.point(store.worktree, HEADS + branch, None, made.commit, made.who.log(f"branch: {wish.subject}"))
        _remember(store, branch, made, wish)
    note = f"nothing is behind {trunk.name} yet: take it with `git merge --no-ff`, or ai-lessons admin approve-rule"
    return Made(branch, made.commit, (*made.notes, *(() if behind else (note,))))


def amend(store: Store, repo: Repo, proposal: Waiting, wish: Wish) -> Made:
    """One more commit on a proposal's branch; of a remote's proposal a branch here is made, or moved on.

    Raises:
        as `propose`; and Conflict: the branch here moved meanwhile, or says something else than the remote's.
    """
    ref = HEADS + proposal.name
    with committing(store):
        there = read_ref(store.worktree, ref)
        if there not in {None, proposal.commit}:
            raise Conflict(f"{proposal.name} says something else than {proposal.branch}; nothing was changed")
        _refuse_checked_out(store.worktree, ref)
        draft = Draft(repo)
        wish = _signed_off(replace(wish, family=proposal.family), proposal.name)
        names = {os.fsencode(store.prefix + path): data for path, data in wish.files.items()}
        made = _commit(store, draft, ObjectID(proposal.commit.encode()), names, wish)
        ref_update.point(store.worktree, ref, there, made.commit, made.who.log(f"commit: {wish.subject}"))
        _remember(store, proposal.name, made, wish)
    return Made(proposal.name, made.commit, made.notes)


def _signed_off(wish: Wish, branch: str) -> Wish:
    """With the branch in the message, for what is not a rule: a squash or rebase would tell nobody where it was."""
    if wish.family == PROPOSALS:
        return wish
    return replace(wish, trailers=(*wish.trailers, (PROPOSED_TRAILER, branch)))


@dataclass(frozen=True, slots=True)
class CommitSignature:
    """Who makes a commit (author and committer, `Name <email>`) and when, in seconds since 1970."""

    author: str
    committer: str
    when: int

    def log(self, message: str) -> ref_update.ReflogLine:
        """A line of the reflog."""
        return ref_update.ReflogLine(self.committer, f"{self.when} {zone(self.when)}", message)


def signature(people: People, when: float) -> CommitSignature:
    """The user whom git knows here.

    Raises:
        Refused: git does not know.
    """
    author, committer = people.author(), people.committer()
    if not author or not committer:
        words, _, hint = NO_IDENTITY.partition("; ")
        raise Refused(words, hint=hint)
    return CommitSignature(author, committer, int(when))


@dataclass(frozen=True, slots=True)
class _Commit:
    commit: str
    who: CommitSignature
    notes: tuple[str, ...]


def _commit(store: Store, draft: Draft, base: ObjectID, names: Mapping[bytes, bytes | None], wish: Wish) -> _Commit:
    people = People(store.worktree)
    who = signature(people, store.now())
    before = draft.tree_of(base)
    programs = {os.fsencode(store.prefix + path) for path in wish.executable}
    edits = {
        name: None if data is None else (_mode(draft, before, name, programs), draft.blob(data))
        for name, data in names.items()
    }
    tree = draft.edit(before, edits)
    job = intent(with_report(message_of(wish.subject, wish.trailers, wish.actor), wish.report), who.when)
    made = make_commit(draft, job, tree, [base], people, (who.author, who.committer, who.when))
    draft.save()
    return _Commit(made.decode(), who, (people.unsigned,) if people.unsigned else ())


def _mode(draft: Draft, before: ObjectID, name: bytes, programs: Collection[bytes]) -> int:
    """A program stays one."""
    there = draft.lookup(before, name)
    return EXECUTABLE if name in programs or (there and there[0] == EXECUTABLE) else PLAIN


def intent(message: str, when: int) -> Intent:
    """A commit to be made, as those who make and sign commits want it told."""
    return Intent(new_name(), message, when, time.localtime(when).tm_gmtoff, ())


def _base(repo: Repo, draft: Draft, tip: ObjectID, names: Iterable[bytes]) -> tuple[ObjectID, bool]:
    """A commit just behind the tip in which the files are what they are at the tip; else the tip itself."""
    paths = list(names)
    here = draft.tree_of(tip)
    for parent in read_commit(repo.object_store, tip).parents:
        if parent not in repo.object_store:
            continue  # a shallow clone ends here
        before = draft.tree_of(ObjectID(parent))
        if all(draft.lookup(before, path) == draft.lookup(here, path) for path in paths):
            return ObjectID(parent), True
    return tip, False


def _free(worktree: Worktree, family: str, stem: str) -> str:
    """A branch name that nobody has, here or on a remote."""
    folder = family.rstrip("/")
    if read_ref(worktree, HEADS + folder) is not None:
        raise Conflict(f"a branch called {folder} is in the way of proposals", hint=f"git branch -m {folder} NEW-NAME")
    taken = {branch_of(ref).casefold() for ref in proposal_refs(worktree)}
    name, number = family + stem, 1
    while name.casefold() in taken:
        number += 1
        name = f"{family}{stem}-{number}"
    return name


def _remember(store: Store, branch: str, made: _Commit, wish: Wish) -> None:
    """Note the proposal of a rule for those who judge: its branch may be gone before anybody looks."""
    if not branch.startswith(PROPOSALS):
        return
    path, data = next((pair for pair in wish.files.items() if pair[1] is not None), next(iter(wish.files.items())))
    author = person(made.who.author.encode())
    blob = None if data is None else blob_id(data)
    known = Proposal(branch, made.commit, wish.entry, path, blob, author, made.who.when)
    approval_memory.add_proposals(store.state_dir, [known])


def _refuse_checked_out(worktree: Worktree, ref: str) -> None:
    place = checked_out_at(worktree, ref)
    if place:
        raise Conflict(
            f"{ref.removeprefix(HEADS)} is checked out at {place}", hint="git switch to another branch first"
        )
