"""Decides about proposals: approve, change, reject, take a rejection back.

For people only. `pending_rules` lists what waits, `rule_audit` looks back at what was approved, and
`signers` keeps whose signatures count.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app import secrets, write_checks
from ai_lessons.app.pending_rules import find_proposal, judged_branch, suggested_by
from ai_lessons.app.proposal_context import (
    ProposalContext,
    deciding,
    entry_of,
    open_proposals,
    refuse_changed,
)
from ai_lessons.app.proposals import make, objections
from ai_lessons.app.write_checks import checked, refuse_wrong_kinds
from ai_lessons.app.written import Suggested
from ai_lessons.approval import decisions, outcomes, state
from ai_lessons.approval.decisions import ProposalRequest
from ai_lessons.approval.outcomes import Rejection
from ai_lessons.approval.proposals import OpenProposal
from ai_lessons.approval.signatures import notes_on_signers
from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
    InvalidEntry,
    NotFound,
    Problem,
    Refused,
    UsageError,
)
from ai_lessons.git import plumbing
from ai_lessons.git.approval_branch import branch_name, tracking
from ai_lessons.git.objects import blob_of
from ai_lessons.git.store import Change
from ai_lessons.model import frontmatter, markdown
from ai_lessons.model.approval import REJECTED, UnapprovedChange, Verdict
from ai_lessons.model.layout import side_of
from ai_lessons.model.texts import decode, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.model.entries import Entry


class Decided(NamedTuple):
    """What a person decided, in `commit`, on the proposal of `branch`.

    At `path` lies the entry or the rejection.
    """

    id: str
    handle: str
    title: str
    path: str
    branch: str
    commit: str
    notes: tuple[str, ...] = ()


# For interfaces: what several calls ask of git is asked once
one_job = plumbing.once


@plumbing.once()
def approve_rule(
    library: Library, ref: str, *, sign: bool = False, expect: str | None = None
) -> Decided:
    """Merge a proposal (named by branch, handle, id or path) into the approval branch.

    Its rule is in force.

    Where that branch is checked out, files and git's index come along. `sign`: the merge has to be
    signed, as it always has where the policy asks for it. What stands on the branch without
    approval can be named, too. `expect` is the `Pending.commit` shown. Raises NotFound,
    AmbiguousName, Refused, Conflict, InvalidEntry.
    """
    repo = library.primary
    with deciding(repo, "approve") as at:
        waiting = find_proposal(at, ref)
        if not isinstance(waiting, OpenProposal):
            return _approve_standing(at, *waiting, expect, sign=sign)
        refuse_changed(waiting.commit, expect)
        (done,) = _approve(at, [waiting], at.title(waiting), sign=sign)
    return done


@plumbing.once()
def approve_rules(
    library: Library, chosen: Mapping[str, str], title: str, *, sign: bool = False
) -> tuple[Decided, ...]:
    """Merge many proposals of rules in as few commits as may be, all or none each.

    They come by branch, each with the `Pending.commit` that was shown.

    Raises as `approve_rule`; what was merged before that stays.
    """
    repo = library.primary
    done: list[Decided] = []
    left = iter(chosen.items())
    # one commit merges 400 proposals: their names take most of what is read of a commit's message
    while chunk := list(islice(left, 400)):
        with deciding(repo, "approve") as at:
            open_now = {}
            for proposal in at.every.proposals:
                open_now[proposal.branch] = proposal
            if gone := next((branch for branch, _ in chunk if branch not in open_now), None):
                raise NotFound(
                    "open proposal", gone, hint="it was decided or taken back meanwhile: look again"
                )
            for branch, commit in chunk:
                refuse_changed(open_now[branch].commit, commit)
            done += _approve(
                at, [open_now[branch] for branch, _ in chunk], f"{len(chunk)} {title}", sign=sign
            )
    return tuple(done)


def _approve(
    at: ProposalContext, several: Sequence[OpenProposal], title: str, *, sign: bool
) -> tuple[Decided, ...]:
    """Merge them in one commit.

    Raises InvalidEntry, UsageError, Conflict: one of them is not fit.
    """
    repo, first, require = at.repo, several[0], at.trunk.view.policy.require
    named = [(at.title(proposal), at.called(proposal)) for proposal in several]
    # what breaks the format must not get on the approval branch
    for proposal in (proposal for proposal in several if proposal.sort != "removal"):
        if new := [fault for fault in at.faults(proposal) if fault not in proposal.faults]:
            raise Conflict(
                f"{proposal.branch} cannot be taken as it is: {new[0]}",
                hint="mend it, or reject this one",
            )
        _checked(at, proposal, {})
    sign = sign or (first.is_rule and require == "signed")
    done = decisions.approve(
        repo.store, at.git, at.trunk, several, title, what=at.what(first), sign=sign
    )
    # only to spare the next reader a look at the history: it is known what this approval changes
    with suppress(AiLessonsError):
        state.derive(repo.store.worktree, at.trunk.ref, at.trunk.signers, anew=True)
    repo.current()
    notes = list(done.notes)
    if not first.is_rule and repo.store.head().ref != at.trunk.ref:
        notes.append(f"it is on {at.trunk.name}; here it is found once that is checked out")
    if first.is_rule and require == "forge":
        remote = branch_name(tracking(repo.store.worktree, at.trunk.ref)).partition("/")[0]
        notes.append(f"it is in force once it is on the forge: git push {remote} {at.trunk.name}")
    for proposal in several if require == "signed" else ():
        if proposal.is_rule and proposal.sort != "removal":
            notes += _what_is_missing(repo, proposal.entry)
    *decided, last = (
        Decided(proposal.entry, handle, name, proposal.path, proposal.branch, done.commit)
        for proposal, (name, handle) in zip(several, named, strict=True)
    )
    return (*decided, last._replace(notes=tuple(dict.fromkeys(notes))))


def _checked(
    at: ProposalContext,
    proposal: OpenProposal,
    changed: Mapping[str, bytes],
    was: Entry | None = None,
) -> Entry:
    """The entry that a proposal would be, with these files of it changed.

    Raises as `checked`, `refuse_wrong_kinds`.
    """
    files = {**at.files(proposal), **changed}
    if proposal.path not in files:
        raise InvalidEntry(
            [Problem(proposal.path, "is not there, so its description describes nothing")]
        )
    entry = checked(proposal.path, files[proposal.path], files.get(side_of(proposal.path)), was=was)
    refuse_wrong_kinds(at.repo.catalog, entry.kind, (link[:2] for link in entry.links))
    return entry


@plumbing.once()
def reject_rule(
    library: Library, ref: str, *, reason: str = "", expect: str | None = None
) -> Decided:
    """Turn a proposal down.

    A record with reason and text on the approval branch, and its branch is deleted.

    `expect` is the `Pending.commit` shown. Raises NotFound, AmbiguousName, Refused, Conflict.
    """
    repo = library.primary
    with deciding(repo, "reject") as at:
        proposal = at.find(ref)
        refuse_changed(proposal.commit, expect)
        title, handle, now = at.title(proposal), at.called(proposal), repo.options.now()
        texts = {path: data.decode("utf-8", "replace") for path, data in at.files(proposal).items()}
        # a text that would bring a secret to the approval branch is not kept
        texts = {path: "" if secrets.secrets_in(text) else text for path, text in texts.items()}
        text, paths = ("", ()) if proposal.sort == "removal" else outcomes.joined(texts)
        record = Rejection(
            entry=proposal.entry,
            title=title,
            reason=" ".join(reason.split()),
            proposal=proposal.name,
            commit=proposal.commit,
            path=proposal.path,
            suggested_by=suggested_by(proposal),
            at=frontmatter.stamp(now),
            text=text,
            what=at.what(proposal),
            files=paths,
        )
        write_checks.refuse(repo, {record.path: reason.encode()})
        record_name = frontmatter.new_id(now)
        done = decisions.reject(repo.store, at.git, at.trunk, proposal, record, record_name)
        path = outcomes.record_path(REJECTED, record_name, title, record.at)
    return Decided(proposal.entry, handle, title, path, proposal.branch, done.commit, done.notes)


@plumbing.once()
def take_back(library: Library, commit: str) -> Suggested:
    """Take a decision about one proposal back by the next one.

    It waits again, as its author proposed it.

    `commit` is the `Decided.commit`. What was approved is undone by a proposal of its own, which is
    approved. Raises NotFound: no such decision. Conflict: what it changed was changed again.
    Refused.
    """
    repo = library.primary
    with deciding(repo, "take back a decision about") as at:
        decision = decisions.read_decision(repo.store, at.git, at.trunk, commit)
        if decision.taken and at.trunk.view.policy.distinct:
            hint = "propose its removal, or the text before, which another person approves"
            raise Refused(
                "here nobody approves alone, so nobody takes an approval back alone", hint=hint
            )
        if decision.taken:
            before, texts = dict[str, bytes | None](), dict[str, bytes | None]()
            for path, (old, new) in decision.taken.items():
                before[path] = at.read(path, blob_of(old))
                texts[path] = at.read(path, blob_of(new)) or before[path]
            entries = (entry_of(path, texts) for path in texts)
            entry = next((entry for entry in entries if entry and entry.id == decision.entry), None)
            if entry is None:
                raise Conflict(f"{min(texts)} cannot be read, so its approval is not taken back")
            made = make(at, entry, before, f"Take back: {entry.title}")
    if decision.taken:
        approve_rule(library, made.branch, expect=made.commit)
    with deciding(repo, "take back a decision about") as at:
        again = decisions.reopen(repo.store, at.git, at.trunk, decision)
        proposal = at.find(again.branch)
        names = proposal.entry, at.called(proposal), at.title(proposal), proposal.path
    return Suggested(*names, again.branch, again.commit, again.notes)


@plumbing.once()
def edit_proposal(
    library: Library, ref: str, editor: Callable[[str, str], str | None], expect: str | None = None
) -> Suggested | None:
    """One more commit with what `editor(text, suffix)` gave; None if nothing was changed.

    Raises InvalidEntry.
    """
    repo = library.primary
    repo.refuse_other_formats()
    with open_proposals(repo) as at:
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
        allowed = write_checks.refuse(repo, {path: data}, old)
        warnings = objections(at, entry, handle).warnings
        wish = ProposalRequest(
            entry=proposal.entry,
            stem="",
            subject=f"Edit proposal: {entry.title}",
            files={path: data},
            trailers=allowed,
            actor=write_checks.actor(repo),
        )
        made = decisions.amend(repo.store, at.git, proposal, wish)
    return Suggested(
        proposal.entry,
        handle,
        entry.title,
        path,
        made.branch,
        made.commit,
        (*warnings, *made.notes),
    )


def state_reason(
    library: Library, ref: str, reason: str, expect: str | None = None
) -> Suggested | None:
    """One more commit on a proposal that says why; None if it says so already.

    Raises as `edit_proposal`.
    """
    words = one_line(reason, 1_000)
    return edit_proposal(
        library, ref, lambda text, _: markdown.edit(text, {"rationale": words}), expect
    )


def _approve_standing(
    at: ProposalContext,
    verdict: Verdict,
    change: UnapprovedChange,
    expect: str | None,
    *,
    sign: bool,
) -> Decided:
    """Approve what stands on the approval branch already: a text, or the removal of one."""
    repo, handle, policy = at.repo, at.handle(verdict.rule), at.trunk.view.policy
    refuse_changed(change.blob or "", expect)
    if change.blob:
        title = checked(change.path, repo.rules.text(verdict.rule, change.path, change.blob)).title
    else:
        title = repo.load(verdict.rule)[0].title
    sign = sign or policy.require == "signed"
    text = change.path, change.blob
    done = decisions.approve_standing(
        repo.store, at.git, at.trunk, verdict.rule, text, title, sign=sign
    )
    repo.current()
    notes_after = (*done.notes, *(_what_is_missing(repo, verdict.rule) if change.blob else ()))
    return Decided(
        verdict.rule, handle, title, change.path, at.trunk.name, done.commit, notes_after
    )


def _what_is_missing(repo: RepositorySession, rule: str) -> Iterator[str]:
    """Why a rule that was approved is not in force yet, if so. Call `current` first."""
    view = judged_branch(repo)
    verdict = view.verdicts.get(rule)
    if verdict is None or (verdict.in_force and not verdict.unapproved):
        return
    if verdict.unapproved:
        reason = verdict.unapproved[0].evidence.reason
    else:
        reason = verdict.evidence.reason
    yield f"it is not in force yet: {next(notes_on_signers(view, repo.rules.signers(view.ref)), reason)}"
