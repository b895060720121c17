"""Deciding about proposals: seeing what waits, taking, changing and turning down. For people; agents are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import AmbiguousName, NotFound, UsageError
from ai_lessons.knowledge import drafts
from ai_lessons.knowledge.entries import Relation
from ai_lessons.knowledge.texts import decode
from ai_lessons.library.checking import checked
from ai_lessons.library.rule_answers import Approved, Pending, Rejected, Suggested
from ai_lessons.library.rule_desk import Desk, desk, moment, name, refuse_agents, refuse_changed
from ai_lessons.library.rule_warnings import alike, contradictions, said
from ai_lessons.library.rules import RULE_TRAILER, actor, closeness, rejected_before, warnings_about
from ai_lessons.repository import deciding, proposing, rejections
from ai_lessons.repository.history import unified
from ai_lessons.repository.merges import AGENT_TRAILER
from ai_lessons.repository.proposing import Wish
from ai_lessons.repository.rejections import Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ai_lessons.library.parts import Parts
    from ai_lessons.library.rule_warnings import Said
    from ai_lessons.repository.proposals import Waiting


def pending(parts: Parts) -> tuple[Pending, ...]:
    """See `Admin.pending_rules`."""
    with desk(parts) as at:
        if not at.waiting:
            return ()
        others = at.others()
        return tuple(_pending(at, one, others) for one in at.waiting)


def _pending(at: Desk, one: Waiting, others: list[Said]) -> Pending:
    entry = at.entry(one)
    path, before = at.text_in_force(one.rule)
    after = None if one.sort == "removal" else at.text(one)
    diff = unified(one.piece.path or path, before.encode() if path else None, after)
    handle = at.handle(one.rule)
    mine = said(entry, handle, "") if entry else None
    lines = [line for line in diff.splitlines() if not line.startswith(("+++", "---"))]
    links = [link.target for link in entry.links] if entry else []
    lights = at.parts.catalog.many(links)
    return Pending(
        id=one.rule,
        handle=handle,
        title=entry.title if entry else one.branch,
        branch=one.branch,
        remote=one.remote,
        kind=one.sort,
        suggested_by=_suggested_by(one),
        suggested_at=moment(one.at),
        commit=one.commit,
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
        conflicts=tuple(_conflicts(at, one, others)),
        similar=alike(mine, others, closeness(at, mine)) if mine and after is not None else (),
        rejected_before=rejected_before(at, mine) if mine and after is not None else "",
        diff=diff,
        body=entry.body if entry else at.text(one).decode("utf-8", "replace"),
        rationale=str(entry.fields.get("rationale") or "") if entry else "",
        tags=entry.tags if entry else (),
        evidence=tuple(lights[target] for target in dict.fromkeys(links) if target in lights),
        path=one.piece.path,
    )


def _suggested_by(one: Waiting) -> str:
    agent = next((value for key, value in one.trailers if key == AGENT_TRAILER), "")
    return name(one.suggested_by) + (f" (agent {agent})" if agent else "")


def _conflicts(at: Desk, one: Waiting, others: list[Said]) -> Iterator[str]:
    if one.smuggled:
        yield one.smuggled
    yield from one.faults
    entry = at.entry(one)
    if entry is None:
        yield "its text cannot be read"
    elif one.sort != "removal":
        known = {other.id: other for other in others if other.id != one.rule}
        edges = [(e.source, e.target) for e in at.parts.catalog.edges(one.rule) if e.relation == Relation.CONTRADICTS]
        yield from contradictions(entry, known, edges)


def count(parts: Parts) -> int:
    """How many proposals wait, worked out anew; see `pending_count` for the cheap way."""
    with desk(parts) as at:
        return len(at.waiting)


def approve(parts: Parts, ref: str, *, sign: bool, expect: str | None) -> Approved:
    """See `Admin.approve_rule`."""
    refuse_agents(parts, "approve")
    parts.refuse_other_formats()
    with desk(parts) as at:
        one = _open(at, ref, sign=sign)
        if one is None:
            from ai_lessons.library.rule_signing import approve_standing

            return approve_standing(parts, ref, expect)
        refuse_changed(one.commit, expect)
        title = at.title(one)
        if one.sort != "removal":
            checked(one.piece.path, at.text(one))  # what breaks the format must not get in force
        records: Mapping[str, bytes] = {}
        if sign:
            from ai_lessons.library.rule_signing import signed

            records = signed(at, one)
        done = deciding.approve(parts.store, at.repo, at.trunk, one, title, records)
        handle = at.handle(one.rule)
        notes = [*done.notes, *_what_is_missing(at, handle, sign=sign)]
    parts.current()
    if sign and one.sort != "removal" and at.trunk.view.policy.require == "signed":
        from ai_lessons.library.rule_signing import what_is_missing

        notes += what_is_missing(parts, one.rule)
    return Approved(one.rule, handle, title, one.piece.path, one.branch, done.commit, tuple(notes))


def _open(at: Desk, ref: str, *, sign: bool) -> Waiting | None:
    """The proposal of that name; None if there is none, and what is on the branch may be signed."""
    try:
        return at.find(ref)
    except AmbiguousName:
        raise
    except NotFound:
        if sign and at.trunk.view.policy.require == "signed":
            return None
        raise


def _what_is_missing(at: Desk, handle: str, *, sign: bool) -> Iterator[str]:
    """What the policy asks for besides the merge."""
    require = at.trunk.view.policy.require
    if require == "signed" and not sign:
        yield f"approvals are signed here, so it is not in force yet: ai-lessons admin approve-rule {handle} --sign"
    if require == "forge":
        yield f"it is in force once it is on the forge: git push origin {at.trunk.name}"


def reject(parts: Parts, ref: str, *, reason: str, expect: str | None) -> Rejected:
    """See `Admin.reject_rule`."""
    refuse_agents(parts, "reject")
    parts.refuse_other_formats()
    with desk(parts) as at:
        one = at.find(ref)
        refuse_changed(one.commit, expect)
        title, handle, now = at.title(one), at.handle(one.rule), parts.options.now()
        record = Rejection(
            rule=one.rule,
            title=title,
            reason=" ".join(reason.split()),
            proposal=one.name,
            commit=one.commit,
            path=one.piece.path,
            suggested_by=_suggested_by(one),
            at=drafts.stamp(now),
            text="" if one.sort == "removal" else at.text(one).decode("utf-8", "replace"),
        )
        record_name = drafts.new_id(now)
        done = deciding.reject(parts.store, at.repo, at.trunk, one, record, record_name)
        path = rejections.place(record_name, title, int(record.at[:4]))
    return Rejected(one.rule, handle, title, one.branch, path, done.commit, done.notes)


def edit_proposal(parts: Parts, ref: str, editor: Callable[[str, str], str | None]) -> Suggested | None:
    """See `Admin.edit_proposal`."""
    parts.refuse_other_formats()
    with desk(parts) as at:
        one = at.find(ref)
        path = one.piece.path
        if one.sort == "removal":
            raise UsageError(f"{one.branch} removes a rule; there is no text to edit")
        old = decode(at.text(one), path)
        new = editor(old, ".md")
        if new is None or new == old:
            return None
        data = new.encode()
        entry = checked(path, data, was=at.entry(one))
        handle = at.handle(one.rule)
        warnings = warnings_about(at, entry, handle)
        wish = Wish(
            rule=one.rule,
            stem="",
            subject=f"Edit proposal: {entry.title}",
            files={path: data},
            trailers=[(RULE_TRAILER, one.rule)],
            actor=actor(parts),
        )
        made = proposing.amend(parts.store, at.repo, one, wish)
    return Suggested(one.rule, handle, entry.title, path, made.branch, made.commit, (*warnings, *made.notes))
