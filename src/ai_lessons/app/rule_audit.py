"""How each rule of the approval branch came into force, and what lacks evidence of a person."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.approval import outcomes, state
from ai_lessons.approval.signatures import notes_on_signers
from ai_lessons.approval.state import odd_commits
from ai_lessons.errors import Problem, Refused
from ai_lessons.git import plumbing
from ai_lessons.git.approval_branch import branch_name
from ai_lessons.git.commits import contained
from ai_lessons.model.approval import BranchView, Verdict, moment
from ai_lessons.model.entries import Kind, handle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.approval.outcomes import TakenProposal


class AuditRow(NamedTuple):
    """A rule of the approval branch, its `evidence` (0 to 3), the way in one word, and what lacks evidence there.

    `reason`: which evidence applied, as a sentence.
    """

    id: str
    handle: str
    title: str
    path: str
    in_force: bool
    evidence: int
    how: str
    approved_by: str
    approved_at: str
    suggested_by: str
    commit: str
    problem: str = ""
    reason: str = ""


class Audit(NamedTuple):
    """Every rule with its evidence, and other proposals that were taken.

    It is not `ok` with a violation or an alarm.
    """

    rows: tuple[AuditRow, ...]
    alarms: tuple[str, ...]
    ok: bool
    taken: tuple[TakenProposal, ...] = ()


@plumbing.once()
def audit(library: Library) -> Audit:
    """Who approved which rule, when, by which commit and evidence, and what violates the policy."""
    repo = library.primary
    repo.current()
    view = repo.rules.view()
    if view is None:
        return Audit((), ("there is no approval branch, so no rule is in force",), ok=False)
    rows: list[AuditRow] = []
    for verdict in view.verdicts.values():
        # a rule that was removed with approval has neither
        if verdict.in_force or verdict.unapproved:
            rows.append(_row(repo, view, verdict))
    rows.sort(key=lambda row: (row.path, row.id))
    alarms: list[str] = []
    for alarm in view.alarms:
        if alarm.hint:
            alarms.append(f"{alarm.message} ({alarm.hint})")
        else:
            alarms.append(alarm.message)
    # two programs may read such a commit in two ways
    for commit, what in odd_commits(repo.store.worktree, view.ref):
        alarms.append(f"commit {commit[:10]} proves nothing: {what} (look: git fsck)")
    ok = not alarms and not any(row.problem for row in rows)
    signing_notes: Iterable[str] = ()
    if view.policy.require == "signed":
        signing_notes = notes_on_signers(view, repo.rules.signers(view.ref))
    taken = outcomes.taken_on(repo.store.worktree, repo.rules.ref())
    return Audit(tuple(rows), (*alarms, *view.damaged, *signing_notes), ok, tuple(taken))


def coming(repo: RepositorySession) -> tuple[list[str], list[Problem]]:
    """What a pull request of the commits here would do to rules in force, and what it hides.

    The first are notes, the others problems. Raises UnsupportedRepository.
    """
    view, head = repo.rules.view(), repo.store.head().commit
    worktree = repo.store.worktree
    if view is None or not view.tip or not head or contained(worktree, view.tip, [head]):
        return [], []
    after = state.after_merge(worktree, view, head, repo.rules.signers(view.ref))
    if after is None:
        return [
            (
                f"a merge into {branch_name(view.ref)} would conflict, so what it does to "
                "rules cannot be told"
            )
        ], []
    names = plumbing.output(
        worktree, "diff", "--name-only", "-z", "--no-renames", f"{view.tip}...{head}"
    ).split(b"\0")
    shown = set()
    for name in names:
        shown.add(os.fsdecode(name).removeprefix(worktree.prefix))
    notes, hidden = [], []
    for rule in sorted({*view.verdicts, *after.verdicts}):
        before, now = view.verdicts.get(rule), after.verdicts.get(rule)
        was = is_now = None
        if before and before.in_force:
            was = before.blob
        if now and now.in_force:
            is_now = now.blob
        if was == is_now:
            continue
        if was is None:
            does = "bring"
        elif is_now:
            does = "change"
        else:
            does = "remove"
        path = ""
        if now and now.path:
            path = now.path
        elif before and before.path:
            # it is removed: the place where it was
            path = before.path
        text = f"a merge would {does} rule {handle(Kind.RULE, rule)} ({path})"
        if path in shown:
            notes.append(text)
        else:
            hidden.append(Problem(path, f"{text}, and its changes do not show that"))
    return notes, hidden


def _row(repo: RepositorySession, view: BranchView, verdict: Verdict) -> AuditRow:
    evidence = verdict.evidence
    path = verdict.path or next((arrival.path for arrival in verdict.unapproved), "")
    summary = repo.catalog.many([verdict.rule]).get(verdict.rule)
    problems = []
    for arrival in verdict.unapproved:
        problems.append(
            f"{'a text' if arrival.blob else 'its removal'} at {arrival.path} is on {branch_name(view.ref)}"
            f" without approval: {arrival.evidence.reason}"
        )
    if summary:
        title = summary.title
    else:
        title = path
    approved_at = reason = ""
    # the evidence of what is not in force is why it is not: that is its problem
    if verdict.in_force:
        approved_at, reason = moment(evidence.at), evidence.reason
    return AuditRow(
        id=verdict.rule,
        handle=summary.handle if summary else handle(Kind.RULE, verdict.rule),
        title=title,
        path=path,
        in_force=verdict.in_force,
        evidence=evidence.level,
        how=evidence.how,
        approved_by=str(evidence.by or ""),
        approved_at=approved_at,
        suggested_by=", ".join(map(str, evidence.suggested_by)),
        commit=evidence.commit,
        problem="; ".join(problems),
        reason=reason,
    )


def acknowledge(library: Library, ask: Callable[[str], bool] | None) -> Audit:
    """Take the approval branch as it is now for what was seen last, if `ask` agrees.

    Raises Refused, StorageFailed.
    """
    repo = library.primary
    repo.options.refuse_agents("acknowledge alarms", "ai-lessons admin audit --acknowledge")
    worktree, ref = repo.store.worktree, repo.rules.ref()
    # what stands at a new address can only be looked at once it is taken for the forge's
    moved = None
    if ref:
        moved = _moved_forge(repo, ref)
    if ref and moved:
        before, now = moved
        _agree(
            ask,
            f"rules are in force as they stand on {before}, which is no remote any more; {now} is",
        )
        state.acknowledge_forge(worktree, ref, now)
    current = audit(library)
    if not current.alarms:
        return current
    views = repo.rules.snapshot().views
    _agree(ask, "\n".join(current.alarms))
    for view in views:
        state.acknowledge(worktree, view, view.stated)
    return audit(library)


def _moved_forge(repo: RepositorySession, ref: str) -> tuple[str, str] | None:
    """The address of the forge before and now, where its word counts, it moved, and nobody states it."""
    mandate, worktree = repo.rules.mandate, repo.store.worktree
    if mandate and mandate.address:
        return None
    if state.derive(worktree, ref, repo.rules.signers(ref)).policy.require != "forge":
        return None
    return state.moved_forge(worktree, ref)


def _agree(ask: Callable[[str], bool] | None, alarms: str) -> None:
    """Ask the person to accept what raised the alarms.

    Raises Refused: no, or there is no terminal to ask on.
    """
    if ask is None:
        raise Refused(
            "alarms are looked at by a person, and there is no terminal to ask on", hint="--yes"
        )
    if not ask(alarms):
        raise Refused("the alarms stay; nothing was changed")
