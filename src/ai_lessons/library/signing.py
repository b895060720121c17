"""The policy `signed`: who signs here, and which texts on the approval branch lack a good signature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import AmbiguousName, NotFound, Refused, UsageError
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.gate import checked
from ai_lessons.library.proposal_context import (
    ProposalContext,
    deciding,
    described,
    entry_of,
    proposed_file,
    refuse_changed,
)
from ai_lessons.library.reports import Decided, Pending, PinnedList
from ai_lessons.repository import outside, proposal_commits
from ai_lessons.repository.approval.approval_types import UnapprovedChange, Verdict, moment
from ai_lessons.repository.approval.rule_files import APPROVALS
from ai_lessons.repository.approval.signatures import LIMIT, PinnedSigners, parse_signers, signers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.approval.approval_types import BranchView
    from ai_lessons.repository.worktree import Worktree

COMMAND = "ai-lessons admin signers"
EARLIER = (
    f"{APPROVALS} holds signed records of an earlier version, which approve nothing any more: approve these rules"
    " again, by signed merges (ai-lessons admin review-rules)"
)


def pinned_first(
    worktree: Worktree, view: BranchView, signers: PinnedSigners, ask: Callable[[str, list[str]], bool]
) -> bool:
    """Where nothing is pinned, ask whether those who signed what waits count; True if they do from now on."""
    if signers.read() is not None:
        return False
    waiting = {change.evidence.commit for verdict in view.verdicts.values() for change in verdict.unapproved}
    data = signers_of(worktree, sorted(waiting - {""}))
    keys = [str(signer) for signer in parse_signers(data)]
    question = f"{worktree.root.name}: rules here need signatures. Trust these keys to approve them?"
    if not keys or not ask(question, keys):
        return False
    signers.pin(data)
    return True


def notes(view: BranchView, signers: PinnedSigners) -> Iterator[str]:
    """What a reader should know where approvals have to be signed."""
    listed = signers.read()
    if listed is None:
        yield f"approvals have to be signed here, and no signers are pinned: no approval counts ({COMMAND} FILE)"
    elif not listed:
        yield f"approvals have to be signed here, and the list of signers is empty ({COMMAND} FILE)"
    if any(path.startswith(APPROVALS) for path in view.files) and any(_unsigned(view)):
        yield EARLIER


def signers(library: Library, file: Path | None, ask: Callable[[str, list[str]], bool] | None) -> PinnedList:
    """Whose signatures approve rules here; with a `file` exactly those on it from now on, if `ask` agrees.

    Raises NotFound, Refused, UsageError, StorageFailed.
    """
    repo = library.primary
    ref = repo.rules.ref()
    if ref is None:
        raise NotFound("approval branch in", str(repo.store.root), hint="commit something on a branch called main")
    pinned = repo.rules.signers(ref)
    before = [str(signer) for signer in pinned.read() or ()]
    if file is None:
        return PinnedList(str(pinned.file()), tuple(before))
    repo.options.refuse_agents("say whose signatures count", f"{COMMAND} FILE")
    data, _ = outside.read(repo.options.cwd / file, LIMIT)
    listed = [str(signer) for signer in parse_signers(data)]
    if not listed:
        hint = "a line each: ADDRESS and the public key, or ADDRESS openpgp FINGERPRINT"
        raise UsageError(f"{file} names no signer", hint=hint)
    gone = [signer for signer in before if signer not in listed]
    if ask is None:
        raise Refused("whom to trust is a person's decision, and there is no terminal to ask on", hint="--yes")
    less = f" (and these no longer: {', '.join(gone)})" if gone else ""
    if not ask(f"{repo.store.root.name}: trust these keys to approve rules{less}?", listed):
        raise Refused("no key is trusted that was not before; nothing was changed")
    pinned.pin(data)
    repo.current()
    added = tuple(signer for signer in listed if signer not in before)
    return PinnedList(str(pinned.file()), tuple(listed), added, tuple(gone), tuple(repo.rules.notes))


UNSIGNED = "unsigned"  # The sort of what waits on the approval branch itself for a signature


def unsigned_rules(at: ProposalContext) -> list[Pending]:
    """What is on the approval branch already and lacks a good signature; nothing where none is asked for."""
    return [_pending(at, verdict, change) for verdict, change in _unsigned(_judged(at.repo))]


def approve_standing(repo: RepositorySession, ref: str, expect: str | None) -> Decided:
    """Approve by a signed merge a text that is on the approval branch already."""
    with deciding(repo, "approve") as at:
        path, end = at.repo.inside(ref) or ref, ref.strip().upper().removeprefix(f"{Kind.RULE.letter}-")
        every = list(_unsigned(_judged(at.repo)))
        named = [pair for pair in every if path == pair[1].path]
        named = named or [pair for pair in every if len(end) >= 4 and pair[0].rule.endswith(end)]
        if len(named) > 1:
            raise AmbiguousName(ref, [change.path for _, change in named])
        if not named:
            handles = [at.handle(verdict.rule) for verdict, _ in every[:5]]
            raise NotFound("open proposal or unsigned rule", ref, suggestions=handles)
        verdict, change = named[0]
        refuse_changed(change.blob or "", expect)
        if at.trunk.view.policy.distinct:
            hint = f"propose a change of it: ai-lessons contribute edit {ref}"
            raise Refused(
                f"{change.path} is on {at.trunk.name}, and another person's proposal has to bring it", hint=hint
            )
        entry = checked(change.path, repo.rules.text(verdict.rule, change.path, change.blob or ""))
        text = change.path, change.blob or ""
        done = proposal_commits.approve_standing(repo.store, at.git, at.trunk, verdict.rule, text, entry.title)
        handle = at.handle(verdict.rule)
    repo.current()
    notes_after = (*done.notes, *what_is_missing(repo, verdict.rule))
    return Decided(verdict.rule, handle, entry.title, change.path, at.trunk.name, done.commit, notes_after)


def what_is_missing(repo: RepositorySession, rule: str) -> Iterator[str]:
    """Why a rule that was signed is not in force yet, if so. Call `current` first."""
    view = _judged(repo)
    verdict = view.verdicts.get(rule)
    if verdict is None or (verdict.in_force and not verdict.unapproved):
        return
    reason = verdict.unapproved[0].evidence.reason if verdict.unapproved else verdict.evidence.reason
    yield f"it is not in force yet: {next(notes(view, repo.rules.signers(view.ref)), reason)}"


def _judged(repo: RepositorySession) -> BranchView:
    view = repo.rules.view()
    if view is None:
        raise NotFound("approval branch in", str(repo.store.root))
    return view


def _unsigned(view: BranchView) -> Iterator[tuple[Verdict, UnapprovedChange]]:
    """Texts on the branch that a person may still approve, where approvals are signed."""
    for _, verdict in sorted(view.verdicts.items() if view.policy.require == "signed" else ()):
        yield from (
            (verdict, change)
            for change in verdict.unapproved
            if change.blob and view.files.get(change.path) == change.blob
        )


def _pending(at: ProposalContext, verdict: Verdict, change: UnapprovedChange) -> Pending:
    data = at.repo.rules.text(verdict.rule, change.path, change.blob or "")
    entry = entry_of(change.path, {change.path: data})
    return described(
        at,
        entry,
        [proposed_file(change.path, at.text_in_force(verdict.rule), data)],
        id=verdict.rule,
        handle=at.handle(verdict.rule),
        title=entry.title if entry else change.path,
        branch=at.trunk.name,
        remote=not at.trunk.ref.startswith("refs/heads/"),
        kind=Kind.RULE.value,
        change=UNSIGNED,
        suggested_by=", ".join(map(str, change.evidence.suggested_by)),
        suggested_at=moment(change.evidence.at),
        commit=change.blob or "",
        conflicts=(change.evidence.reason,) if change.evidence.reason else (),
        similar=(),
        rejected_before="",
        body=entry.body if entry else data.decode("utf-8", "replace"),
        path=change.path,
    )
