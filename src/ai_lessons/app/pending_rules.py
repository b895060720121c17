"""The proposals that wait for a person, as a reviewer reads them. Decides nothing."""

from __future__ import annotations

from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import extensions
from ai_lessons.app.proposal_context import (
    SHORTEST_END,
    ProposalContext,
    described,
    entry_of,
    open_proposals,
    proposed_file,
)
from ai_lessons.app.proposals import Objections, objections
from ai_lessons.approval.proposals import OpenProposal
from ai_lessons.errors import AmbiguousName, Conflict, NotFound
from ai_lessons.model.approval import AGENT_TRAILER, BranchView, UnapprovedChange, Verdict, moment
from ai_lessons.model.entries import Kind, id_end
from ai_lessons.model.layout import place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.app.written import PastSessions, Pending, ProposedFile
    from ai_lessons.model import Where


def pending_rules(library: Library, batch: Batch | None = None) -> tuple[Pending, ...]:
    """The proposals that wait for a person, here and on remotes, oldest first; or a batch's.

    Then what stands on the approval branch without approval, of rules that have no open proposal.
    """
    with open_proposals(library.primary) as at:
        if batch is not None:
            rules = []
            for proposal in _of_one(batch, at.every.proposals):
                rules.append(pending_of(at, proposal))
            return tuple(rules)
        pending = [pending_of(at, proposal) for proposal in at.waiting]
        proposed = {rule.id for rule in pending}
        lacking = judged_branch(at.repo).unapproved()
        standing = []
        for verdict, change in lacking:
            with suppress(NotFound):
                # a text that is too long or damaged, as readers are told
                if verdict.rule not in proposed:
                    standing += [_pending_standing(at, verdict, change)]
        return (*pending, *standing)


def pending_rule(library: Library, ref: str) -> Pending:
    """One of them, as a person has to see it before it is decided about.

    Raises NotFound, AmbiguousName.
    """
    with open_proposals(library.primary) as at:
        waiting = find_proposal(at, ref)
        if isinstance(waiting, OpenProposal):
            return pending_of(at, waiting)
        return _pending_standing(at, *waiting)


def past_sessions(library: Library, where: Where, proposal: Pending) -> PastSessions | None:
    """What past sessions on this machine say for a proposal; None where nothing tells of any."""
    for _, past_of in extensions.added("past"):
        past: PastSessions | None = past_of(library, where, proposal)
        if past:
            return past
    return None


def find_proposal(at: ProposalContext, ref: str) -> OpenProposal | tuple[Verdict, UnapprovedChange]:
    """The proposal that is meant, else the text on the approval branch that waits for approval."""
    try:
        return at.find(ref)
    except AmbiguousName:
        raise
    except NotFound:
        return _standing(at, ref)


def pending_of(at: ProposalContext, proposal: OpenProposal) -> Pending:
    """A proposal as a reviewer reads it, with what speaks against it."""
    entry, handle = at.entry(proposal), at.called(proposal)
    if entry and proposal.sort != "removal":
        speaks = objections(at, entry, handle)
    else:
        speaks = Objections()
    conflicts: list[str] = []
    if proposal.smuggled:
        conflicts.append(proposal.smuggled)
    conflicts += at.faults(proposal)
    if entry:
        title, body = entry.title, entry.body
    else:
        # a person must see also what no program can read
        title, body = proposal.branch, at.text(proposal).decode("utf-8", "replace")
        conflicts.append("its text cannot be read")
    conflicts += speaks.contradictions
    return described(
        at,
        entry,
        _files(at, proposal),
        id=proposal.entry,
        handle=handle,
        title=title,
        branch=proposal.branch,
        remote=proposal.remote,
        kind=at.what(proposal),
        change=proposal.sort,
        suggested_by=suggested_by(proposal),
        suggested_at=moment(proposal.at),
        commit=proposal.commit,
        conflicts=tuple(conflicts),
        similar=speaks.similar,
        rejected_before=speaks.rejected_before,
        body=body,
        path=proposal.path,
        report=proposal.report,
        batch=proposal.batch,
    )


def _files(at: ProposalContext, proposal: OpenProposal) -> list[ProposedFile]:
    """The files: those of a rule beside the text in force, others beside what the approval branch has."""
    if proposal.is_rule:
        new = None
        if proposal.sort != "removal":
            new = at.text(proposal)
        return [proposed_file(proposal.path, at.text_in_force(proposal.entry), new)]
    files = []
    for piece in proposal.pieces:
        if piece.done:
            continue
        blob = None
        # a link or a submodule has no text to show
        if piece.is_plain:
            blob = piece.new
        old = at.read(piece.path, piece.here)
        files.append(proposed_file(piece.path, old, at.read(piece.path, blob)))
    return files


def suggested_by(proposal: OpenProposal) -> str:
    """Who made a proposal, with the agent that wrote for them."""
    agent = next((value for key, value in proposal.trailers if key == AGENT_TRAILER), "")
    return ", ".join(map(str, proposal.suggested_by)) + (f" (agent {agent})" if agent else "")


class Batch(NamedTuple):
    """Which proposals of rules are meant: of a project, of one import, or by a pattern.

    A pattern names paths or branches.

    `of`: a branch; of the import, those that the same person proposed.
    """

    project: str = ""
    batch: str = ""
    globs: Sequence[str] = ()
    of: str = ""

    def covers(self, proposal: OpenProposal) -> bool:
        """Whether it is one of them; every condition that is given has to hold."""
        where = None
        if proposal.is_rule:
            where = place(proposal.path)
        names = (proposal.path, proposal.branch)
        return (
            where is not None
            and self.project in {"", where.project}
            and (not self.batch or proposal.batch == self.batch.upper())
            and (
                not self.globs
                or any(fnmatchcase(name, glob) for glob in self.globs for name in names)
            )
        )


def _of_one(batch: Batch, every: Sequence[OpenProposal]) -> list[OpenProposal]:
    """The proposals that it covers, of an import only those of one author.

    Where several claim an import, the author is who made it here. Raises Conflict: several do, none here.
    """
    covered = []
    for proposal in every:
        if batch.covers(proposal):
            covered.append(proposal)
    if not batch.batch or not covered:
        return covered
    makers = {proposal.makers for proposal in covered if not proposal.remote}
    makers = makers or {proposal.makers for proposal in covered}
    if batch.of:
        makers = {proposal.makers for proposal in covered if proposal.branch == batch.of}
    if len(makers) > 1:
        names = " and of ".join(sorted({str(maker[0]) for maker in makers}))
        hint = "approve them by id, or as a pattern names them"
        raise Conflict(
            f"import {batch.batch} has proposals of {names}, and is of one person", hint=hint
        )
    return [proposal for proposal in covered if proposal.makers in makers]


# The sort of what waits on the approval branch itself
STANDING = "standing"


def _standing(at: ProposalContext, ref: str) -> tuple[Verdict, UnapprovedChange]:
    """The text on the approval branch that is meant and waits for approval.

    Raises NotFound, AmbiguousName.
    """
    path, end = at.repo.inside(ref) or ref, id_end(ref)
    every = list(judged_branch(at.repo).unapproved())
    named = []
    for verdict, change in every:
        if path == change.path:
            named.append((verdict, change))
    # a few letters are the end of many ids
    if not named and len(end) >= SHORTEST_END:
        named = [pair for pair in every if pair[0].rule.endswith(end)]
    if len(named) > 1:
        raise AmbiguousName(ref, [change.path for _, change in named])
    if not named:
        handles = [*at.nearest(ref), *(at.handle(verdict.rule) for verdict, _ in every)]
        if handles:
            hint = ""
        else:
            hint = "no proposal waits: ai-lessons admin review-rules --list"
        raise NotFound("open proposal", ref, suggestions=handles[:5], hint=hint)
    return named[0]


def judged_branch(repo: RepositorySession) -> BranchView:
    """The approval branch with a verdict on each rule. Raises NotFound: there is none."""
    view = repo.rules.view()
    if view is None:
        raise NotFound("approval branch in", str(repo.store.root))
    return view


def _pending_standing(at: ProposalContext, verdict: Verdict, change: UnapprovedChange) -> Pending:
    blob = change.blob or verdict.blob or ""
    data = at.repo.rules.text(
        verdict.rule, change.path if change.blob else verdict.path or change.path, blob
    )
    entry = entry_of(change.path, {change.path: data})
    return described(
        at,
        entry,
        [proposed_file(change.path, at.text_in_force(verdict.rule), data if change.blob else None)],
        id=verdict.rule,
        handle=at.handle(verdict.rule),
        title=entry.title if entry else change.path,
        branch=at.trunk.name,
        remote=not at.trunk.ref.startswith("refs/heads/"),
        kind=Kind.RULE.value,
        change=STANDING,
        suggested_by=", ".join(map(str, change.evidence.suggested_by)),
        suggested_at=moment(change.evidence.at),
        commit=change.blob or "",
        conflicts=(change.evidence.reason,) if change.evidence.reason else (),
        similar=(),
        rejected_before="",
        body=entry.body if entry else data.decode("utf-8", "replace"),
        path=change.path,
    )
