"""Deciding about proposals: seeing what waits, taking, changing and turning down. For people; agents are refused."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import library
from ai_lessons.errors import AmbiguousName, Conflict, InvalidEntry, NotFound, Problem, UsageError
from ai_lessons.knowledge import frontmatter
from ai_lessons.knowledge.entries import id_end
from ai_lessons.knowledge.layout import place, side_of
from ai_lessons.knowledge.texts import decode
from ai_lessons.library import gate, secret_scan
from ai_lessons.library.gate import checked
from ai_lessons.library.proposal_context import (
    SHORTEST_END,
    ProposalContext,
    deciding,
    described,
    desk,
    proposed_file,
    refuse_changed,
)
from ai_lessons.library.proposing import Objections, objections
from ai_lessons.library.relating import refuse_wrong_kinds
from ai_lessons.library.reports import Decided, Pending, ProposedFile, Suggested
from ai_lessons.repository import proposal_commits, proposal_records
from ai_lessons.repository.approval.approval_types import moment
from ai_lessons.repository.approval.rule_files import AGENT_TRAILER, REJECTED
from ai_lessons.repository.filters import text_of
from ai_lessons.repository.proposal_commits import ProposalRequest
from ai_lessons.repository.proposal_records import Rejection
from ai_lessons.repository.store import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.opened import Library
    from ai_lessons.repository.proposals import Waiting

AT_ONCE = 400  # Proposals that one commit merges: their names take most of what is read of a commit's message
WRITERS_NAMED = 5  # Of so many people it is told how many of their proposals are not listed


def pending_rules(opened: Library, batch: Batch | None = None, *, unsigned: bool = False) -> tuple[Pending, ...]:
    """Every proposal that waits for a person, of branches here and on remotes, oldest first; or those of a batch.

    `unsigned`: also what is on the approval branch without a good signature, of rules that have no open proposal.
    """
    with desk(opened.primary) as at:
        if batch is not None:
            return tuple(_pending(at, proposal) for proposal in _of_one(batch, at.every.proposals))
        pending = [_pending(at, proposal) for proposal in at.waiting]
        left_out = at.page.left_out.most_common()
        if pending and left_out:
            named, others_left = left_out[:WRITERS_NAMED], left_out[WRITERS_NAMED:]
            lines = [f"{number} more of {writer}" for writer, number in named]
            if others_left:
                lines.append(f"{sum(number for _, number in others_left)} more of {len(others_left)} other people")
            pending[-1] = pending[-1]._replace(left_out=tuple(lines))
        proposed = {rule.id for rule in pending}
        lacking = library.signing.unsigned_rules(at) if unsigned else ()
        return (*pending, *(rule for rule in lacking if rule.id not in proposed))


def pending_rule(opened: Library, ref: str, *, unsigned: bool = False) -> Pending:
    """One proposal that waits, as a person has to see it before it is decided about; `unsigned` as above.

    Raises NotFound, AmbiguousName.
    """
    with desk(opened.primary) as at:
        try:
            return _pending(at, at.find(ref))
        except NotFound:
            end = id_end(ref)
            lacking = library.signing.unsigned_rules(at) if unsigned else []
            matches = [
                rule for rule in lacking if ref == rule.path or (len(end) >= SHORTEST_END and rule.id.endswith(end))
            ]
            if len(matches) != 1:
                raise
            return matches[0]


def _pending(at: ProposalContext, proposal: Waiting) -> Pending:
    entry, handle = at.entry(proposal), at.called(proposal)
    speaks = objections(at, entry, handle) if entry and proposal.sort != "removal" else Objections()
    unread = [] if entry else ["its text cannot be read"]
    conflicts = [*filter(None, [proposal.smuggled]), *at.faults(proposal), *unread, *speaks.contradictions]
    return described(
        at,
        entry,
        _files(at, proposal),
        id=proposal.entry,
        handle=handle,
        title=entry.title if entry else proposal.branch,
        branch=proposal.branch,
        remote=proposal.remote,
        kind=at.what(proposal),
        change=proposal.sort,
        suggested_by=_suggested_by(proposal),
        suggested_at=moment(proposal.at),
        commit=proposal.commit,
        conflicts=tuple(conflicts),
        similar=speaks.similar,
        rejected_before=speaks.rejected_before,
        body=entry.body if entry else at.text(proposal).decode("utf-8", "replace"),
        path=proposal.path,
        report=proposal.report,
        batch=proposal.batch,
    )


def _files(at: ProposalContext, proposal: Waiting) -> list[ProposedFile]:
    """The files: those of a rule beside the text in force, others beside what the approval branch has."""
    if proposal.is_rule:
        new = None if proposal.sort == "removal" else at.text(proposal)
        return [proposed_file(proposal.path, at.text_in_force(proposal.entry), new)]
    files = []
    for piece in (piece for piece in proposal.pieces if not piece.done):
        blobs = (piece.here, piece.new if piece.is_plain else None)
        texts = (text_of(at.trunk.worktree, at.git, piece.path, blob) if blob else None for blob in blobs)
        files.append(proposed_file(piece.path, *texts))
    return files


def _suggested_by(proposal: Waiting) -> str:
    agent = next((value for key, value in proposal.trailers if key == AGENT_TRAILER), "")
    return ", ".join(map(str, proposal.suggested_by)) + (f" (agent {agent})" if agent else "")


class Batch(NamedTuple):
    """Which proposals of rules are meant: of a project, of one import, or whose path or branch a pattern names.

    `of`: a branch; of the import, those that the same person proposed.
    """

    project: str = ""
    batch: str = ""
    globs: Sequence[str] = ()
    of: str = ""

    def covers(self, proposal: Waiting) -> bool:
        """Whether it is one of them; every condition that is given has to hold."""
        where = place(proposal.path) if proposal.is_rule else None
        names = (proposal.path, proposal.branch)
        return (
            where is not None
            and self.project in {"", where.project}
            and (not self.batch or proposal.batch == self.batch.upper())
            and (not self.globs or any(fnmatchcase(name, glob) for glob in self.globs for name in names))
        )


def _of_one(batch: Batch, every: Sequence[Waiting]) -> list[Waiting]:
    """The proposals that it covers; of an import those of one author, and where several claim it, who made it here.

    Raises Conflict: several do, none here.
    """
    proposals = [proposal for proposal in every if batch.covers(proposal)]
    local = {proposal.makers for proposal in proposals if not proposal.remote}
    makers = local or {proposal.makers for proposal in proposals}
    if not batch.batch or not proposals:
        return proposals
    if batch.of:
        makers = {proposal.makers for proposal in proposals if proposal.branch == batch.of}
    if len(makers) > 1:
        names = " and of ".join(sorted({str(maker[0]) for maker in makers}))
        hint = "approve them by id, or as a pattern names them"
        raise Conflict(f"import {batch.batch} has proposals of {names}, and is of one person", hint=hint)
    return [proposal for proposal in proposals if proposal.makers in makers]


def approve_rule(opened: Library, ref: str, *, sign: bool = False, expect: str | None = None) -> Decided:
    """Merge a proposal (named by branch, handle, id or path) into the approval branch: its rule is in force.

    Where that branch is checked out, files and git's index come along. `sign`: the merge has to be signed, as it always
    has where the policy asks for it; a rule on the branch that only lacks a good signature can be named there, too.
    `expect` is the `Pending.commit` shown.
    Raises NotFound, AmbiguousName, Refused, Conflict, InvalidEntry.
    """
    repo = opened.primary
    with deciding(repo, "approve") as at:
        try:
            proposal = at.find(ref)
        except NotFound as error:
            if isinstance(error, AmbiguousName) or at.trunk.view.policy.require != "signed":
                raise
            return library.signing.approve_standing(repo, ref, expect)
        refuse_changed(proposal.commit, expect)
        (done,) = _approve(at, [proposal], at.title(proposal), sign=sign)
    return done


def approve_rules(opened: Library, chosen: Mapping[str, str], title: str, *, sign: bool = False) -> tuple[Decided, ...]:
    """Merge many proposals of rules (branch: the `Pending.commit` shown) in as few commits as may be, all or none each.

    Raises as `approve_rule`; what was merged before that stays.
    """
    repo = opened.primary
    done: list[Decided] = []
    left = iter(chosen.items())
    while chunk := list(islice(left, AT_ONCE)):
        with deciding(repo, "approve") as at:
            open_now = {proposal.branch: proposal for proposal in at.every.proposals}
            if gone := next((branch for branch, _ in chunk if branch not in open_now), None):
                raise NotFound("open proposal", gone, hint="it was decided or taken back meanwhile: look again")
            for branch, commit in chunk:
                refuse_changed(open_now[branch].commit, commit)
            done += _approve(at, [open_now[branch] for branch, _ in chunk], f"{len(chunk)} {title}", sign=sign)
    return tuple(done)


def _approve(at: ProposalContext, several: Sequence[Waiting], title: str, *, sign: bool) -> tuple[Decided, ...]:
    """Merge them in one commit."""
    repo, first, require = at.repo, several[0], at.trunk.view.policy.require
    named = [(at.title(proposal), at.called(proposal)) for proposal in several]
    for proposal in several:
        _refuse_unfit(at, proposal)
    sign = sign or (first.is_rule and require == "signed")
    done = proposal_commits.approve(repo.store, at.git, at.trunk, several, title, what=at.what(first), sign=sign)
    repo.current()
    notes = list(done.notes)
    if not first.is_rule and repo.store.head().ref != at.trunk.ref:
        notes.append(f"it is on {at.trunk.name}; here it is found once that is checked out")
    if first.is_rule and require == "forge":
        notes.append(f"it is in force once it is on the forge: git push origin {at.trunk.name}")
    for proposal in several if require == "signed" else ():
        if proposal.is_rule and proposal.sort != "removal":
            notes += library.signing.what_is_missing(repo, proposal.entry)
    *decided, last = (
        Decided(proposal.entry, handle, name, proposal.path, proposal.branch, done.commit)
        for proposal, (name, handle) in zip(several, named, strict=True)
    )
    return (*decided, last._replace(notes=tuple(dict.fromkeys(notes))))


def _refuse_unfit(at: ProposalContext, proposal: Waiting) -> None:
    """What breaks the format must not get on the approval branch. Raises InvalidEntry, UsageError, Conflict."""
    if proposal.sort == "removal":
        return
    new = [fault for fault in at.faults(proposal) if fault not in proposal.faults]
    if new:
        raise Conflict(f"{proposal.branch} cannot be taken as it is: {new[0]}", hint="mend it, or reject this one")
    _checked(at, proposal, {})


def _checked(at: ProposalContext, proposal: Waiting, changed: Mapping[str, bytes], was: Entry | None = None) -> Entry:
    """The entry that a proposal would be, with these files of it changed. Raises as `checked`, `refuse_wrong_kinds`."""
    files = {**at.files(proposal), **changed}
    if proposal.path not in files:
        raise InvalidEntry([Problem(proposal.path, "is not there, so its description describes nothing")])
    entry = checked(proposal.path, files[proposal.path], files.get(side_of(proposal.path)), was=was)
    refuse_wrong_kinds(at.repo, entry.kind, (link[:2] for link in entry.links))
    return entry


def reject_rule(opened: Library, ref: str, *, reason: str = "", expect: str | None = None) -> Decided:
    """Turn a proposal down: a record with reason and text on the approval branch, and its branch is deleted.

    `expect` is the `Pending.commit` shown. Raises NotFound, AmbiguousName, Refused, Conflict.
    """
    repo = opened.primary
    with deciding(repo, "reject") as at:
        proposal = at.find(ref)
        refuse_changed(proposal.commit, expect)
        title, handle, now = at.title(proposal), at.called(proposal), repo.options.now()
        texts_before = {path: data.decode("utf-8", "replace") for path, data in at.files(proposal).items()}
        # a text that would bring a secret to the approval branch is not kept
        texts = {path: "" if secret_scan.secrets_in(text) else text for path, text in texts_before.items()}
        text, paths = ("", ()) if proposal.sort == "removal" else proposal_records.joined(texts)
        record = Rejection(
            entry=proposal.entry,
            title=title,
            reason=" ".join(reason.split()),
            proposal=proposal.name,
            commit=proposal.commit,
            path=proposal.path,
            suggested_by=_suggested_by(proposal),
            at=frontmatter.stamp(now),
            text=text,
            what=at.what(proposal),
            files=paths,
        )
        gate.refuse(repo, {record.path: reason.encode()})
        record_name = frontmatter.new_id(now)
        done = proposal_commits.reject(repo.store, at.git, at.trunk, proposal, record, record_name)
        path = proposal_records.record_path(REJECTED, record_name, title, record.at)
    return Decided(proposal.entry, handle, title, path, proposal.branch, done.commit, done.notes)


def edit_proposal(
    opened: Library, ref: str, editor: Callable[[str, str], str | None], expect: str | None = None
) -> Suggested | None:
    """One more commit with what `editor(text, suffix)` gave; None if nothing was changed. Raises InvalidEntry."""
    repo = opened.primary
    repo.refuse_other_formats()
    with desk(repo) as at:
        proposal = at.find(ref)
        refuse_changed(proposal.commit, expect)
        path = proposal.piece.path
        if proposal.sort == "removal":
            raise UsageError(f"{proposal.branch} is a removal; there is no text to edit")
        old = decode(at.text(proposal), path)
        new = editor(old, os.path.splitext(path)[1] or ".txt")
        if new is None or new == old:
            return None
        data, handle = new.encode(), at.called(proposal)
        entry = _checked(at, proposal, {path: data}, at.entry(proposal))
        repo.guard([Change(path, data)])
        allowed = gate.refuse(repo, {path: data}, old)
        warnings = objections(at, entry, handle).warnings
        wish = ProposalRequest(
            entry=proposal.entry,
            stem="",
            subject=f"Edit proposal: {entry.title}",
            files={path: data},
            trailers=allowed,
            actor=gate.actor(repo),
        )
        made = proposal_commits.amend(repo.store, at.git, proposal, wish)
    return Suggested(proposal.entry, handle, entry.title, path, made.branch, made.commit, (*warnings, *made.notes))
