"""Deciding about proposals: seeing what waits, taking, changing and turning down. For people; agents are refused."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ai_lessons import library
from ai_lessons.errors import AmbiguousName, Conflict, InvalidEntry, NotFound, Problem, UsageError
from ai_lessons.knowledge import frontmatter
from ai_lessons.knowledge.layout import side_of
from ai_lessons.knowledge.texts import decode
from ai_lessons.library import secret_gate, secret_scan
from ai_lessons.library.checking import checked
from ai_lessons.library.comparing import alike, said
from ai_lessons.library.proposal_context import (
    ProposalContext,
    described,
    desk,
    moment,
    name,
    refuse_agents,
    refuse_changed,
)
from ai_lessons.library.proposing import (
    ALIKE_TOLD,
    compared,
    contradictions,
    rejected_before,
    warnings_about,
)
from ai_lessons.library.relating import refuse_wrong_kinds
from ai_lessons.library.rule_answers import Approved, Pending, Rejected, Suggested
from ai_lessons.repository import proposal_commits, proposal_records
from ai_lessons.repository.approval.rule_files import AGENT_TRAILER, ENTRY_TRAILER, RULE_TRAILER
from ai_lessons.repository.history import unified
from ai_lessons.repository.proposal_commits import ProposalRequest
from ai_lessons.repository.proposal_files import text_of
from ai_lessons.repository.proposal_records import Rejection
from ai_lessons.repository.store import Change

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.comparing import Said
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.proposal_files import Piece
    from ai_lessons.repository.proposals import Waiting


WRITERS_NAMED = 5  # Of so many people it is told how many of their proposals are not listed


def pending_rules(opened: Library) -> tuple[Pending, ...]:
    """Every proposal that waits for a person, of branches here and on remotes, oldest first."""
    parts = opened.primary
    with desk(parts) as at:
        found = [_pending(at, one) for one in at.waiting]
        if found and at.left_out:
            found[-1] = replace(found[-1], left_out=tuple(_left_out(at.left_out)))
        return tuple(found)


def _left_out(many: Counter[str]) -> Iterator[str]:
    """Sentences about branches for which there was no room, grouped by who wrote on them last."""
    for writer, number in many.most_common(WRITERS_NAMED):
        yield f"{number} more of {writer}"
    others = many.total() - sum(number for _, number in many.most_common(WRITERS_NAMED))
    if others:
        yield f"{others} more of {len(many) - WRITERS_NAMED} other people"


def _pending(at: ProposalContext, one: Waiting) -> Pending:
    entry, handle = at.entry(one), at.called(one)
    mine = said(entry, handle, "") if entry and one.sort != "removal" else None
    others = compared(at, entry) if entry and mine else ()
    return described(
        at,
        entry,
        _diff(at, one),
        id=one.entry,
        handle=handle,
        title=entry.title if entry else one.branch,
        branch=one.branch,
        remote=one.remote,
        kind=at.what(one),
        change=one.sort,
        suggested_by=_suggested_by(one),
        suggested_at=moment(one.at),
        commit=one.commit,
        conflicts=tuple(_conflicts(at, one, entry, others)),
        similar=alike(mine, others)[:ALIKE_TOLD] if mine else (),
        rejected_before=rejected_before(at, mine) if mine else "",
        body=entry.body if entry else at.text(one).decode("utf-8", "replace"),
        path=one.piece.path if one.is_rule else one.path,
        report=one.report,
    )


def _diff(at: ProposalContext, one: Waiting) -> str:
    """How the files differ: those of a rule from the text in force, others from what the approval branch has."""
    if one.is_rule:
        path, before = at.text_in_force(one.entry)
        after = None if one.sort == "removal" else at.text(one)
        return unified(one.piece.path or path, before.encode() if path else None, after)
    return "".join(_piece_diff(at, piece) for piece in one.pieces if not piece.done)


def _piece_diff(at: ProposalContext, piece: Piece) -> str:
    old, new = (
        text_of(at.repo, blob) if blob else None for blob in (piece.here, piece.new if piece.is_plain else None)
    )
    if b"\0" in (old or b"") + (new or b""):
        return f"Binary file {piece.path} differs\n"
    return unified(piece.path, old, new)


def _suggested_by(one: Waiting) -> str:
    agent = next((value for key, value in one.trailers if key == AGENT_TRAILER), "")
    return name(one.suggested_by) + (f" (agent {agent})" if agent else "")


def _conflicts(at: ProposalContext, one: Waiting, entry: Entry | None, others: Sequence[Said]) -> Iterator[str]:
    if one.smuggled:
        yield one.smuggled
    yield from at.faults(one)
    if entry is None:
        yield "its text cannot be read"
    elif one.sort != "removal":
        yield from contradictions(at, entry, others)


def count(parts: RepositorySession) -> int:
    """How many proposals wait, worked out anew; see `pending_count` for the cheap way."""
    with desk(parts) as at:
        return at.count()


def approve_rule(opened: Library, ref: str, *, sign: bool = False, expect: str | None = None) -> Approved:
    """Merge a proposal (named by branch, handle, id or path) into the approval branch: its rule is in force.

    Where that branch is checked out, files and git's index come along; nobody's own edits are touched. `sign` adds
    a record signed with the user's SSH key; where approvals have to be signed, a rule that is on the branch and
    lacks signatures can be named, too. `expect` is the `Pending.commit` that a person was shown.

    Raises:
        NotFound, AmbiguousName: not one proposal of that name. Refused: an agent is calling, the proposal changes
        other files, the policy asks for somebody else, or git or the key have no name for the user. Conflict: the
        rule or the proposal was changed meanwhile, or somebody is in the middle of git. InvalidEntry: the text
        breaks the format.
    """
    parts = opened.primary
    refuse_agents(parts, "approve")
    parts.refuse_other_formats()
    with desk(parts) as at:
        one = _open(at, ref, sign=sign)
        if one is None:
            return library.signing.approve_standing(parts, ref, expect)
        refuse_changed(one.commit, expect)
        title, what, handle = at.title(one), at.what(one), at.called(one)
        _refuse_unfit(at, one)
        records: Mapping[str, bytes] = {}
        if sign and one.is_rule:
            records = library.signing.signed(at, one)
        done = proposal_commits.approve(parts.store, at.repo, at.trunk, one, title, records, what=what)
        notes = [*done.notes, *(_what_is_missing(at, handle, sign=sign) if one.is_rule else ())]
    parts.current()
    if not one.is_rule:
        notes += _notes_on(at, sign=sign)
        return Approved(one.entry, handle, title, one.path, one.branch, done.commit, tuple(notes))
    if sign and one.sort != "removal" and at.trunk.view.policy.require == "signed":
        notes += library.signing.what_is_missing(parts, one.entry)
    return Approved(one.entry, handle, title, one.piece.path, one.branch, done.commit, tuple(notes))


def _refuse_unfit(at: ProposalContext, one: Waiting) -> None:
    """What breaks the format must not get in force, nor on the approval branch.

    Raises:
        InvalidEntry: it does. UsageError: a link joins wrong kinds. Conflict: the entry stands elsewhere already, or
        would become a rule.
    """
    if one.sort == "removal":
        return
    if one.is_rule:
        _refuse_wrong_kinds(at, checked(one.piece.path, at.text(one)))
        return
    new = [fault for fault in at.faults(one) if fault not in one.faults]
    if new:
        raise Conflict(f"{one.branch} cannot be taken as it is: {new[0]}", hint="mend it, or reject this one")
    if one.is_release:
        secret_gate.refuse(at.parts, at.files(one))
        if at.entry(one) is None:
            raise InvalidEntry([Problem(one.path, "cannot be read")])
    else:
        _refuse_wrong_kinds(at, _checked(at, one, {}))


def _notes_on(at: ProposalContext, *, sign: bool) -> Iterator[str]:
    """What is different for what is not a rule, once it is taken."""
    if sign:
        yield "only approvals of rules are signed; this one is the merge"
    if at.parts.store.head().ref != at.trunk.ref:
        yield f"it is on {at.trunk.name}; here it is found once that is checked out"


def _checked(at: ProposalContext, one: Waiting, changed: Mapping[str, bytes], was: Entry | None = None) -> Entry:
    """The entry that a proposal of no rule and no release would be, with these files of it changed."""
    files = {**at.files(one), **changed}
    if one.path not in files:
        raise InvalidEntry([Problem(one.path, "is not there, so its description describes nothing")])
    return checked(one.path, files[one.path], files.get(side_of(one.path)), was=was)


def _refuse_wrong_kinds(at: ProposalContext, entry: Entry) -> None:
    refuse_wrong_kinds(at.parts, entry.kind, (link[:2] for link in entry.links))


def _open(at: ProposalContext, ref: str, *, sign: bool) -> Waiting | None:
    """The proposal of that name; None if there is none, and what is on the branch may be signed."""
    try:
        return at.find(ref)
    except AmbiguousName:
        raise
    except NotFound:
        if sign and at.trunk.view.policy.require == "signed":
            return None
        raise


def _what_is_missing(at: ProposalContext, handle: str, *, sign: bool) -> Iterator[str]:
    """What the policy asks for besides the merge."""
    require = at.trunk.view.policy.require
    if require == "signed" and not sign:
        yield f"approvals are signed here, so it is not in force yet: ai-lessons admin approve-rule {handle} --sign"
    if require == "forge":
        yield f"it is in force once it is on the forge: git push origin {at.trunk.name}"


def reject_rule(opened: Library, ref: str, *, reason: str = "", expect: str | None = None) -> Rejected:
    """Turn a proposal down: a record with reason and text on the approval branch, and its branch is deleted.

    `expect` is the `Pending.commit` that a person was shown.

    Raises:
        NotFound, AmbiguousName: not one proposal of that name. Refused: an agent is calling. Conflict: the
        proposal was changed meanwhile, or somebody is in the middle of git.
    """
    parts = opened.primary
    refuse_agents(parts, "reject")
    parts.refuse_other_formats()
    with desk(parts) as at:
        one = at.find(ref)
        refuse_changed(one.commit, expect)
        title, handle, now = at.title(one), at.called(one), parts.options.now()
        files = {one.piece.path: at.text(one)} if one.is_rule else at.files(one)
        texts = {path: _without_secrets(data.decode("utf-8", "replace")) for path, data in files.items()}
        text, paths = ("", ()) if one.sort == "removal" else proposal_records.joined(texts)
        record = Rejection(
            entry=one.entry,
            title=title,
            reason=" ".join(reason.split()),
            proposal=one.name,
            commit=one.commit,
            path=one.piece.path if one.is_rule else one.path,
            suggested_by=_suggested_by(one),
            at=frontmatter.stamp(now),
            text=text,
            what=at.what(one),
            files=paths,
        )
        secret_gate.refuse(parts, {record.path: reason.encode()})
        record_name = frontmatter.new_id(now)
        done = proposal_commits.reject(parts.store, at.repo, at.trunk, one, record, record_name)
        path = proposal_records.rejection_path(record_name, title, int(record.at[:4]))
    return Rejected(one.entry, handle, title, one.branch, path, done.commit, done.notes)


def _without_secrets(text: str) -> str:
    """What is kept of a text that was turned down: nothing, if that would bring a secret to the approval branch."""
    return "" if secret_scan.secrets_in(text) else text


def edit_proposal(opened: Library, ref: str, editor: Callable[[str, str], str | None]) -> Suggested | None:
    """Let `editor(text, suffix)` change a proposal: a second commit on its branch. None if nothing was changed.

    Raises:
        InvalidEntry: what came back breaks the format.
    """
    parts = opened.primary
    parts.refuse_other_formats()
    with desk(parts) as at:
        one = at.find(ref)
        path = one.piece.path
        if one.sort == "removal":
            raise UsageError(f"{one.branch} is a removal; there is no text to edit")
        if one.is_release:
            raise UsageError(f"{one.branch} is the record of a release, which is taken or turned down as it is")
        old = decode(at.text(one), path)
        new = editor(old, os.path.splitext(path)[1] or ".txt")
        if new is None or new == old:
            return None
        data, handle = new.encode(), at.called(one)
        entry = (
            checked(path, data, was=at.entry(one)) if one.is_rule else _checked(at, one, {path: data}, at.entry(one))
        )
        _refuse_wrong_kinds(at, entry)
        parts.guard([Change(path, data)])
        allowed = secret_gate.refuse(parts, {path: data}, old)
        warnings = warnings_about(at, entry, handle)
        wish = ProposalRequest(
            entry=one.entry,
            stem="",
            subject=f"Edit proposal: {entry.title}",
            files={path: data},
            trailers=[*allowed, (RULE_TRAILER if one.is_rule else ENTRY_TRAILER, one.entry)],
            actor=secret_gate.actor(parts),
        )
        made = proposal_commits.amend(parts.store, at.repo, one, wish)
    return Suggested(one.entry, handle, entry.title, path, made.branch, made.commit, (*warnings, *made.notes))
