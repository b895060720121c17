"""Signing what a person decides about rules, with the key that git knows for them. Loads `cryptography`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ai_lessons.errors import AmbiguousName, NotFound, Refused
from ai_lessons.knowledge import frontmatter
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.checking import checked
from ai_lessons.library.proposal_context import (
    ProposalContext,
    described,
    desk,
    entry_of,
    refuse_agents,
    refuse_changed,
)
from ai_lessons.library.reports import Decided, Pending
from ai_lessons.repository import proposal_commits
from ai_lessons.repository.approval.approval_types import moment
from ai_lessons.repository.approval.signed import Wanted, decide
from ai_lessons.repository.history import unified

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.approval.approval_types import BranchView, UnapprovedChange, Verdict
    from ai_lessons.repository.approval.record_chain import Decision
    from ai_lessons.repository.proposals import Waiting

UNSIGNED = "unsigned"  # The sort of what waits on the approval branch itself for signatures


def signed(at: ProposalContext, one: Waiting) -> Mapping[str, bytes]:
    """The files of a signed record that takes a proposal (a removal: revokes the rule), by path. Raises Refused."""
    return _record(at, one.entry, one.piece.path, at.text(one), "revoke" if one.sort == "removal" else "approve")


def _record(at: ProposalContext, rule: str, path: str, data: bytes, decision: Decision) -> Mapping[str, bytes]:
    now = at.parts.options.now()
    trusted = at.parts.rules.signatures.trusted(at.trunk.view)
    wanted = Wanted(rule, path, data, decision, frontmatter.stamp(now), frontmatter.new_id(now))
    return decide(at.trunk, wanted, repository=trusted.repository, signers=trusted.signers, interactive=os.isatty(0))


def unsigned_rules(library: Library) -> tuple[Pending, ...]:
    """What is on the approval branch already and lacks signatures; nothing where none are asked for."""
    with desk(library.primary) as at:
        return tuple(_pending(at, verdict, one) for verdict, one in _unsigned(at))


def approve_standing(parts: RepositorySession, ref: str, expect: str | None) -> Decided:
    """Sign a text that is on the approval branch already, merged or signed by others."""
    refuse_agents(parts, "approve")
    parts.refuse_other_formats()
    with desk(parts) as at:
        path, end = at.parts.inside(ref) or ref, ref.strip().upper().removeprefix(f"{Kind.RULE.letter}-")
        every = _unsigned(at)
        named = [pair for pair in every if path == pair[1].path]
        named = named or [pair for pair in every if len(end) >= 4 and pair[0].rule.endswith(end)]
        if len(named) > 1:
            raise AmbiguousName(ref, [one.path for _, one in named])
        if not named:
            known = [at.handle(verdict.rule) for verdict, _ in every[:5]]
            raise NotFound("open proposal or unsigned rule", ref, suggestions=known)
        verdict, one = named[0]
        refuse_changed(one.blob or "", expect)
        data = parts.rules.text(verdict.rule, one.blob or "")
        entry = checked(one.path, data)
        records = _record(at, verdict.rule, one.path, data, "approve")
        subject = f"Sign approval of rule: {entry.title}"
        done = proposal_commits.put(parts.store, at.repo, at.trunk, verdict.rule, subject, records)
        handle = at.handle(verdict.rule)
    parts.current()
    notes = (*done.notes, *what_is_missing(parts, verdict.rule))
    return Decided(verdict.rule, handle, entry.title, one.path, at.trunk.name, done.commit, notes)


def revoke_rule(library: Library, ref: str) -> Decided:
    """Take a rule out of force by a signed record, where approvals are signed; its file stays where it is.

    Raises NotFound, AmbiguousName, Refused (an agent, nothing is signed here, no key), Conflict.
    """
    parts = library.primary
    refuse_agents(parts, "revoke")
    parts.refuse_other_formats()
    with desk(parts) as at:
        if at.trunk.view.policy.require != "signed":
            hint = f"propose that it goes: ai-lessons contribute delete {ref}"
            raise Refused(f"approvals are not signed on {at.trunk.name}, so there is nothing to revoke", hint=hint)
        light = parts.resolve(ref)
        verdict = _judged(parts).verdicts.get(light.id)
        if light.kind is not Kind.RULE or verdict is None or not verdict.path or not verdict.blob:
            raise NotFound("rule in force", ref)
        data = parts.rules.text(light.id, verdict.blob)
        records = _record(at, light.id, verdict.path, data, "revoke")
        done = proposal_commits.put(parts.store, at.repo, at.trunk, light.id, f"Revoke rule: {light.title}", records)
    parts.current()
    notes = list(done.notes)
    still = _judged(parts).verdicts.get(light.id)
    if still and still.in_force:
        people = at.trunk.view.policy.threshold
        command = f"ai-lessons admin revoke-rule {light.handle}"
        notes.append(f"it is in force until {people} people have revoked it: {command}")
    return Decided(light.id, light.handle, light.title, verdict.path, at.trunk.name, done.commit, tuple(notes))


def what_is_missing(parts: RepositorySession, rule: str) -> Iterator[str]:
    """Why a rule that was signed is not in force yet, if so. Call `current` first."""
    verdict = _judged(parts).verdicts.get(rule)
    if verdict is None or (verdict.in_force and not verdict.unapproved):
        return
    reason = verdict.evidence.reason or "what was approved before is in force"
    yield f"it is not in force yet: {next(iter(parts.rules.signatures.notes), reason)}"


def _judged(parts: RepositorySession) -> BranchView:
    view = parts.rules.view()
    if view is None:
        raise NotFound("approval branch in", str(parts.store.root))
    return view


def _unsigned(at: ProposalContext) -> list[tuple[Verdict, UnapprovedChange]]:
    """Texts on the branch that only signatures are missing for."""
    view = _judged(at.parts)
    verdicts = [one for _, one in sorted(view.verdicts.items())] if view.policy.require == "signed" else []
    texts = ((verdict, one) for verdict in verdicts for one in verdict.unapproved)
    return [(verdict, one) for verdict, one in texts if one.blob and view.files.get(one.path) == one.blob]


def _pending(at: ProposalContext, verdict: Verdict, one: UnapprovedChange) -> Pending:
    data = at.parts.rules.text(verdict.rule, one.blob or "")
    path, before = at.text_in_force(verdict.rule)
    entry = entry_of(one.path, {one.path: data})
    return described(
        at,
        entry,
        unified(one.path, before.encode() if path else None, data),
        id=verdict.rule,
        handle=at.handle(verdict.rule),
        title=entry.title if entry else one.path,
        branch=at.trunk.name,
        remote=not at.trunk.ref.startswith("refs/heads/"),
        kind=Kind.RULE.value,
        change=UNSIGNED,
        suggested_by=", ".join(map(str, one.evidence.suggested_by)),
        suggested_at=moment(one.evidence.at),
        commit=one.blob or "",
        conflicts=(verdict.evidence.reason,) if verdict.evidence.reason else (),
        similar=(),
        rejected_before="",
        body=entry.body if entry else data.decode("utf-8", "replace"),
        path=one.path,
    )
