"""The audit: who approved which rule, when, by which commit, and what violates the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import Refused
from ai_lessons.knowledge.entries import Kind, handle
from ai_lessons.library import signing
from ai_lessons.library.reports import Audit, AuditRow
from ai_lessons.repository import proposal_records
from ai_lessons.repository.approval import approval_memory
from ai_lessons.repository.approval.approval_branch import branch_name, short_name
from ai_lessons.repository.approval.approval_history import odd_commits
from ai_lessons.repository.approval.approval_types import BranchView, Verdict, moment
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.proposal_records import TakenProposal


def audit(library: Library) -> Audit:
    """Who approved which rule, when, by which commit and evidence; and all that violates the policy."""
    repo = library.primary
    repo.current()
    view = repo.rules.view()
    if view is None:
        return Audit((), ("there is no approval branch, so no rule is in force",), ok=False)
    verdicts = [verdict for verdict in view.verdicts.values() if verdict.in_force or verdict.unapproved]
    rows = sorted((_row(repo, view, verdict) for verdict in verdicts), key=lambda row: (row.path, row.id))
    alarms = tuple(f"{alarm.message} ({alarm.hint})" if alarm.hint else alarm.message for alarm in view.alarms)
    odd = odd_commits(repo.store.worktree, view.ref)
    alarms += tuple(f"commit {commit[:10]} proves nothing: {what} (look: git fsck)" for commit, what in odd)
    alarms += tuple(what for _, what in _left(repo, view))
    ok = not alarms and not any(row.problem for row in rows)
    signing_notes = signing.notes(view, repo.rules.signers(view.ref)) if view.policy.require == "signed" else ()
    return Audit(tuple(rows), (*alarms, *view.damaged, *signing_notes), ok, tuple(taken(repo)))


def taken(repo: RepositorySession, entry: str = "") -> list[TakenProposal]:
    """The proposals of anything but rules that came to the approval branch, newest first; of one entry, if named."""
    ref = repo.rules.ref()
    if not ref or not (tip := read_ref(repo.store.worktree, ref)):
        return []
    proposals = proposal_records.taken(repo.store.worktree, tip, short_name(ref))
    return [proposal for proposal in proposals if not entry or (proposal.id and entry.endswith(proposal.id))]


def _row(repo: RepositorySession, view: BranchView, verdict: Verdict) -> AuditRow:
    evidence = verdict.evidence
    path = verdict.path or next((arrival.path for arrival in verdict.unapproved), "")
    light = repo.catalog.many([verdict.rule]).get(verdict.rule)
    problems = [
        f"{'a text' if arrival.blob else 'its removal'} at {arrival.path} is on {branch_name(view.ref)}"
        f" without approval: {arrival.evidence.reason}"
        for arrival in verdict.unapproved
    ]
    return AuditRow(
        id=verdict.rule,
        handle=light.handle if light else handle(Kind.RULE, verdict.rule),
        title=light.title if light else path,
        path=path,
        in_force=verdict.in_force,
        evidence=evidence.level,
        how=evidence.how,
        approved_by=str(evidence.by or ""),
        approved_at=moment(evidence.at) if verdict.in_force else "",
        suggested_by=", ".join(map(str, evidence.suggested_by)),
        commit=evidence.commit,
        problem="; ".join(problems),
    )


def _left(repo: RepositorySession, view: BranchView) -> Iterator[tuple[str, str]]:
    """The commits that approved with keys which are on the list no more, nobody having looked since, and what of it."""
    signed = approval_memory.load(repo.store.worktree.state_dir).signed if view.policy.require == "signed" else {}
    listed = {signer.key for signer in repo.rules.signers(view.ref).read() or ()} if signed else set()
    for verdict in view.verdicts.values():
        by = signed.get(verdict.evidence.commit) if verdict.in_force else None
        if by and by.key and by.key not in listed:
            left = f"{verdict.path} was approved by {by.who} with a key that left the list of signers, {by.key}"
            yield verdict.evidence.commit, f"{left} (if it still holds: ai-lessons admin audit --acknowledge)"


def acknowledge(library: Library, ask: Callable[[str], bool] | None) -> Audit:
    """Take the approval branch as it is now for what was seen last, if `ask` agrees. Raises Refused, StorageFailed."""
    repo = library.primary
    repo.options.refuse_agents("acknowledge alarms", "ai-lessons admin audit --acknowledge")
    current = audit(library)
    if not current.alarms:
        return current
    if ask is None:
        raise Refused("alarms are looked at by a person, and there is no terminal to ask on", hint="--yes")
    looks = repo.rules.looks()
    if not ask("\n".join(current.alarms)):
        raise Refused("the alarms stay; nothing was changed")
    worktree = repo.store.worktree
    memory = approval_memory.load(worktree.state_dir)
    seen = {commit: memory.signed[commit]._replace(key="") for view in looks for commit, _ in _left(repo, view)}
    approval_memory.save(worktree.state_dir, memory._replace(signed={**memory.signed, **seen}))
    for view in looks:
        approval_memory.acknowledge(worktree, view, view.stated)
    return audit(library)
