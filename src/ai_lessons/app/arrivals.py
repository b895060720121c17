"""What a merge into the approval branch did to rules, said when it is made.

By which evidence, or why by none.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ai_lessons.approval import state
from ai_lessons.errors import UnsupportedRepository
from ai_lessons.git import plumbing
from ai_lessons.git.approval_branch import branch_name, tracking
from ai_lessons.git.commits import commits, contained
from ai_lessons.git.worktree import read_ref
from ai_lessons.model.approval import MERGED
from ai_lessons.model.entries import Kind, handle

if TYPE_CHECKING:
    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.model.approval import BranchView, Verdict

REVIEW = "ai-lessons admin review-rules"


@plumbing.once()
def after_merge(library: Library) -> tuple[str, ...]:
    """What the merge or fast-forward that git has just made on the approval branch did to rules, a line each.

    It also brings the catalog up to date, so that the next reader need not.
    """
    repo = library.primary
    repo.current()
    before = _head_before(repo)
    if before:
        return tuple(arrived(repo, before))
    return ()


def arrived(repo: RepositorySession, before: str) -> list[str]:
    """What came to the approval branch, checked out here, since it stood at `before`.

    Call `current` first.
    """
    view, head = repo.rules.view(readable=True), repo.store.head()
    if view is None or head.ref != view.ref or not head.commit or head.commit == before:
        return []
    worktree = repo.store.worktree
    followed = read_ref(worktree, tracking(worktree, view.ref))
    if followed and contained(worktree, followed, [head.commit]):
        # what others have there was said to those who made it
        return []
    (made,) = commits(worktree, [head.commit], newest=1)
    if len(made.parents) > 1 and made.parents[0] == before:
        return [*_approved(repo, view, made.id), *_lacking(repo, view, made.id)]
    if not contained(worktree, head.commit, [before]):
        return []
    earlier = state.judged_at(worktree, view, before, repo.rules.signers(view.ref))
    return _taken_over(repo, earlier, view)


def _head_before(repo: RepositorySession) -> str:
    """Where HEAD was before git's merge, as git notes it."""
    try:
        return (
            (repo.store.worktree.git_dir / "ORIG_HEAD")
            .read_text(encoding="ascii", errors="replace")
            .strip()
        )
    except OSError:
        return ""


def _approved(repo: RepositorySession, view: BranchView, merge: str) -> list[str]:
    """The rules that a merge approved, and by which evidence."""
    lines = []
    for rule, verdict in sorted(view.verdicts.items()):
        evidence = verdict.evidence
        if evidence.commit == merge and evidence.level >= MERGED:
            if verdict.in_force:
                what = "in force"
            else:
                what = "removed"
            lines.append(f"{what}, by this merge: {evidence.reason}: {_name(repo, rule, verdict)}")
    return lines


def _lacking(repo: RepositorySession, view: BranchView, merge: str) -> list[str]:
    """The rules that a merge brought and did not approve, by the reason why."""
    names: dict[str, list[str]] = {}
    for rule, verdict in sorted(view.verdicts.items()):
        for change in verdict.unapproved:
            if change.evidence.commit == merge:
                names.setdefault(change.evidence.reason, []).append(_name(repo, rule, verdict))
    lines = []
    for reason, rules in names.items():
        if len(rules) == 1:
            them = "it"
        else:
            them = "them"
        lines.append(f"{reason}: a person has to approve {them}: {', '.join(rules)} ({REVIEW})")
    return lines


def _taken_over(repo: RepositorySession, before: BranchView, after: BranchView) -> list[str]:
    """The rules that a fast-forward to another branch brought, changed or took away, hidden ones first."""
    differing = plumbing.output(
        repo.store.worktree,
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        f"{before.tip}..{after.tip}",
    )
    shown = set()
    for name in differing.split(b"\0"):
        shown.add(os.fsdecode(name).removeprefix(repo.store.worktree.prefix))
    hidden, plain = [], []
    for rule in sorted({*before.verdicts, *after.verdicts}):
        was, now = before.verdicts.get(rule), after.verdicts.get(rule)
        old, new = (
            verdict.blob if verdict and verdict.in_force else None for verdict in (was, now)
        )
        verdict = now or was
        if old == new or verdict is None:
            continue
        if old is None:
            does = "came"
        elif new:
            does = "changed"
        else:
            does = "went"
        line = f"rule {_name(repo, rule, verdict)} {does} with this fast-forward, by merges that were made elsewhere"
        # what is served is what the branch holds, and the changes show it
        if verdict.path in shown and (new is None or after.files.get(verdict.path or "") == new):
            plain.append(line)
        else:
            hidden.append(f"{line}, and its changes do not show that")
    if before.tip and (hidden or plain):
        undo = f"to take it back: git reset --keep {before.tip[:10]}"
    else:
        undo = ""
    return [*hidden, *plain, *filter(None, [undo])]


def _name(repo: RepositorySession, rule: str, verdict: Verdict) -> str:
    """A rule as people know it: handle and title, else its path."""
    summary = repo.catalog.many([rule]).get(rule)
    path = verdict.path or next((change.path for change in verdict.unapproved), "")
    if summary:
        return f"{summary.handle} {summary.title}"
    return f"{handle(Kind.RULE, rule)} {path}".strip()


def fast_forwarded(repo: RepositorySession, before: str | None, source: str) -> list[str]:
    """The same after a sync with another branch (`source`, a full ref) than the one that is followed here."""
    ref = repo.rules.ref()
    if not before or ref is None or source == tracking(repo.store.worktree, ref):
        return []
    try:
        return [f"{line} (from {branch_name(source)})" for line in arrived(repo, before)]
    except UnsupportedRepository:
        # a reader is told what cannot be judged
        return []
