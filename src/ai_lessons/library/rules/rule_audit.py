"""Who approved what, when, by which commit; and everything on the approval branch that violates its policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, AmbiguousName, NotFound
from ai_lessons.knowledge.entries import Kind, handle
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.library.rules.rule_answers import Audit, AuditRow, TakenRow
from ai_lessons.library.rules.rule_desk import moment, name
from ai_lessons.repository.approval.approval_branch import branch_name, short_name
from ai_lessons.repository.approval.approval_history import odd_commits
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import Parts
    from ai_lessons.repository.approval.approval_types import BranchView, Verdict
    from ai_lessons.repository.proposal.proposals_taken import TakenProposal


def audit(library: Library) -> Audit:
    """Who approved which rule, when, by which commit and evidence; and all that violates the policy."""
    parts = library.primary
    parts.current()
    view = parts.rules.view()
    if view is None:
        return Audit((), ("there is no approval branch, so no rule is in force",), ok=False)
    verdicts = [one for one in view.verdicts.values() if one.in_force or one.unapproved]
    parts.rules.expect(blob for one in verdicts if (blob := _blob(one)))
    rows = sorted((_row(parts, view, one) for one in verdicts), key=lambda row: (row.path, row.id))
    alarms = tuple(f"{alarm.message} ({alarm.hint})" if alarm.hint else alarm.message for alarm in view.alarms)
    odd = odd_commits(parts.store.worktree, view.ref)
    alarms += tuple(f"commit {commit[:10]} proves nothing: {what} (look: git fsck)" for commit, what in odd)
    ok = not alarms and not any(row.problem for row in rows)
    return Audit(tuple(rows), alarms, ok, tuple(_taken_row(parts, one) for one in taken(parts)))


def taken(parts: Parts, entry: str = "") -> list[TakenProposal]:
    """The proposals of anything but rules that came to the approval branch, newest first; of one entry, if named."""
    from ai_lessons.repository.proposal import proposals_taken

    ref = parts.rules.ref()
    tip = read_ref(parts.store.worktree, ref) if ref else None
    if ref is None or tip is None:
        return []
    found = proposals_taken.taken(parts.store.worktree, tip, short_name(ref))
    return [one for one in found if not entry or (one.entry and entry.endswith(one.entry))]


def _taken_row(parts: Parts, one: TakenProposal) -> TakenRow:
    light = _light(parts, one.entry)
    return TakenRow(
        id=light.id if light else one.entry,
        handle=light.handle if light else "",
        title=one.title or (light.title if light else one.proposal),
        proposal=one.proposal,
        how=one.how,
        approved_by=name([one.by]) if one.by else "",
        approved_at=moment(one.at),
        suggested_by=name([one.suggested_by]),
        commit=one.commit,
    )


def _light(parts: Parts, entry: str) -> Light | None:
    try:
        return parts.catalog.resolve(entry) if entry else None
    except (NotFound, AmbiguousName):
        return None


def _blob(verdict: Verdict) -> str | None:
    return verdict.blob or next((one.blob for one in verdict.unapproved if one.blob), None)


def _row(parts: Parts, view: BranchView, verdict: Verdict) -> AuditRow:
    evidence = verdict.evidence
    path = verdict.path or next((one.path for one in verdict.unapproved), "")
    light = parts.catalog.many([verdict.rule]).get(verdict.rule)
    return AuditRow(
        id=verdict.rule,
        handle=light.handle if light else handle(Kind.RULE, verdict.rule),
        title=light.title if light else _title(parts, verdict, path),
        path=path,
        in_force=verdict.in_force,
        evidence=evidence.level,
        how=evidence.how,
        approved_by=name([evidence.by]) if evidence.by else "",
        approved_at=moment(evidence.at) if verdict.in_force else "",
        suggested_by=name(evidence.suggested_by),
        commit=evidence.commit,
        problem="; ".join(_problems(view, verdict)),
    )


def _title(parts: Parts, verdict: Verdict, path: str) -> str:
    blob = _blob(verdict)
    try:
        return read_entry(path, parts.rules.text(verdict.rule, blob)).title if blob else path
    except AiLessonsError:
        return path  # a text that cannot be read is no less on the branch


def _problems(view: BranchView, verdict: Verdict) -> Iterator[str]:
    where = branch_name(view.ref)
    for one in verdict.unapproved:
        what = "a text" if one.blob else "its removal"
        yield f"{what} at {one.path} is on {where} without approval: {one.evidence.reason}"
