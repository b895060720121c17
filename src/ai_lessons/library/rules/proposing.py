"""Proposing: an entry of any kind, or the record of a release, on a branch of its own, and what speaks against it.

Nothing here decides anything, and nothing checks what an entry says: callers come with what they have checked, and
whoever approves has it checked again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ai_lessons.errors import InvalidEntry, Problem, StorageFailed
from ai_lessons.knowledge import layout
from ai_lessons.knowledge.entries import Kind, Relation
from ai_lessons.library import secret_gate
from ai_lessons.library.rules.rule_answers import Suggested
from ai_lessons.library.rules.rule_desk import ProposalContext, desk, entry_of
from ai_lessons.library.rules.rule_warnings import Said, alike, contradictions, said, same
from ai_lessons.repository.approval.rule_files import ENTRY_TRAILER, RULE_TRAILER, is_release
from ai_lessons.repository.proposal import proposing
from ai_lessons.repository.proposal.proposal_pieces import RELEASE
from ai_lessons.repository.proposal.proposal_refs import OTHERS, PROPOSALS
from ai_lessons.repository.proposal.proposals import text_of
from ai_lessons.repository.proposal.proposing import Wish
from ai_lessons.repository.store import Change

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.session import Parts

ALIKE_TOLD = 5
"""So many entries that are much like a proposed one are named."""


def propose_entry(
    parts: Parts,
    entry: Entry,
    files: Mapping[str, bytes | None],
    subject: str,
    *,
    report: str = "",
    trailers: Sequence[tuple[str, str]] = (),
    executable: Collection[str] = (),
) -> Suggested:
    """Propose an entry of any kind in that repository: a branch with one commit, for its people to decide about.

    `files` are the entry's by path, None to remove one; `entry` is what they say (of a removal: said). `report`
    (Markdown) stands in the commit's message; whoever decides reads it first. `executable` are paths of programs. The
    same proposal is not made twice.

    Raises:
        NotFound: there is no approval branch. Refused: git has no name for the user, or a path that we would not
        write. InvalidEntry: a file or the report would bring a secret into git. Conflict: a branch is in the way.
        StorageFailed: the disk said no.
    """
    with desk(parts) as at:
        known = proposed_already(at, entry, files)
        if known:
            return replace(known, warnings=("proposed already",))
        return make(at, entry, files, subject, report=report, trailers=trailers, executable=executable)


def propose_release(
    parts: Parts, path: str, data: bytes, subject: str, *, report: str = "", trailers: Sequence[tuple[str, str]] = ()
) -> Suggested:
    """Propose the record of a release: a Markdown file below `.ai-lessons/releases/` whose name begins with a ULID.

    Raises:
        InvalidEntry: it is none. Besides as `propose_entry`.
    """
    record = entry_of(path, {path: data}) if is_release(path) else None
    if record is None:
        raise InvalidEntry([Problem(path, "is not the record of a release")])
    return propose_entry(parts, record, {path: data}, subject, report=report, trailers=trailers)


def make(
    at: ProposalContext,
    entry: Entry,
    files: Mapping[str, bytes | None],
    subject: str,
    *,
    report: str = "",
    trailers: Sequence[tuple[str, str]] = (),
    executable: Collection[str] = (),
) -> Suggested:
    """Make the proposal; `entry` is the entry as it shall be, or as it was for a removal."""
    at.parts.refuse_other_formats()
    at.parts.guard([Change(path, data) for path, data in files.items()])
    allowed = secret_gate.refuse(at.parts, files)
    secret_gate.refuse(at.parts, {entry.path: report.encode()})
    is_rule = entry.kind is Kind.RULE
    handle = at.handle(entry.id, _letter(entry))
    warnings = warnings_about(at, entry, handle) if any(files.values()) else ()
    wish = Wish(
        entry=entry.id,
        stem=f"{handle}-{layout.slug(entry.title)}",
        subject=subject,
        files=files,
        trailers=[*trailers, *allowed, (RULE_TRAILER if is_rule else ENTRY_TRAILER, entry.id)],
        actor=secret_gate.actor(at.parts),
        family=PROPOSALS if is_rule else OTHERS,
        report=report,
        executable=executable,
    )
    made = proposing.propose(at.parts.store, at.repo, at.trunk, wish)
    return Suggested(entry.id, handle, entry.title, entry.path, made.branch, made.commit, (*warnings, *made.notes))


def _letter(entry: Entry) -> str:
    return RELEASE if is_release(entry.path) else entry.kind.letter


def proposed_already(at: ProposalContext, entry: Entry, files: Mapping[str, bytes | None]) -> Suggested | None:
    """The open proposal that says the same about this entry."""
    for one in at.about(entry.id):
        here = {piece.path: text_of(at.repo, piece.new) if piece.new else None for piece in one.pieces}
        if here == dict(files):
            return Suggested(entry.id, at.called(one), entry.title, entry.path, one.branch, one.commit)
    return None


def warnings_about(at: ProposalContext, entry: Entry, handle: str) -> tuple[str, ...]:
    """What speaks against an entry: much the same is there, it was turned down before, it contradicts."""
    mine = said(entry, handle, "")
    others, near = compared(at, entry, mine)
    similar = [f"much like {name}" for name in alike(mine, others, near)[:ALIKE_TOLD]]
    before = rejected_before(at, mine)
    rejected = [f"the same was rejected {before}"] if before else []
    return (*rejected, *contradicted(at, entry, others), *similar)


def compared(at: ProposalContext, entry: Entry, mine: Said) -> tuple[Sequence[Said], Mapping[str, float]]:
    """What an entry is compared with, and how close some of it is. The record of a release is compared with nothing."""
    if is_release(entry.path):
        return (), {}
    if entry.kind is Kind.RULE:
        return at.others, closeness(at, mine)
    return at.near(entry), {}


def contradicted(at: ProposalContext, entry: Entry, others: Sequence[Said]) -> Iterator[str]:
    """Sentences about those of them that contradict the entry by a link of either."""
    known = {one.id: one for one in others if one.id != entry.id}
    edges = [(e.source, e.target) for e in at.parts.catalog.edges(entry.id) if e.relation == Relation.CONTRADICTS]
    return contradictions(entry, known, edges)


def closeness(at: ProposalContext, mine: Said) -> Mapping[str, float]:
    """Cosine similarity of rules in force by id, if this process has the index open anyway; else nothing."""
    if not at.parts.has_index:
        return {}
    from ai_lessons.index.rows import PassageFilter as Rows

    words = f"{mine.title}\n{mine.rationale}"
    try:
        found = at.parts.index.candidates(words, Rows(kinds=frozenset({Kind.RULE.value})), 20)
    except StorageFailed:
        return {}  # a damaged index is the next search's business; the words decide alone
    return {hit.entry_id: hit.score for hit in reversed(found.vectors)}


def rejected_before(at: ProposalContext, mine: Said) -> str:
    """When and why the same text was turned down; empty if it never was."""
    for one in reversed(at.rejections):
        old = entry_of(one.path, {path: text.encode() for path, text in one.texts().items()})
        if old is not None and same(mine, said(old, "", "")):
            return f"on {one.at[:10]}: {one.reason or 'no reason was given'}"
    return ""
