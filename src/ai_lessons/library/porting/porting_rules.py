"""Rules that come from elsewhere, or from an older state of the repository: always as proposals, each made once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge import layout
from ai_lessons.knowledge.entries import Kind, handle
from ai_lessons.library.rules.rule_answers import Suggested
from ai_lessons.library.rules.rule_desk import desk
from ai_lessons.library.secrets import secret_gate
from ai_lessons.library.secrets.secret_scan import masked
from ai_lessons.repository.approval.merges import RULE_TRAILER
from ai_lessons.repository.proposal import proposing
from ai_lessons.repository.proposal.proposals import text_of
from ai_lessons.repository.proposal.proposing import Wish
from ai_lessons.repository.store import Change

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.knowledge.portable.bundle import Item
    from ai_lessons.library.rules.rule_desk import ProposalContext
    from ai_lessons.library.session import Parts


class Arrival(NamedTuple):
    """An item that was found to be this entry."""

    item: Item
    entry: Entry

    @property
    def changes(self) -> list[Change]:
        """What puts it in place."""
        item = self.item
        changes = [Change(item.path, item.data, executable=item.executable or None, expect=None)]
        if item.side is not None:
            changes.append(Change(layout.side_of(item.path), item.side, expect=None))
        return changes


class Proposed(NamedTuple):
    """The proposals that were made, how many rules were known, and what could not be proposed, with the reason."""

    made: tuple[Suggested, ...] = ()
    known: int = 0
    skipped: tuple[tuple[str, str], ...] = ()


def propose_rules(parts: Parts, rules: Sequence[Arrival], name: str, *, dry_run: bool) -> Proposed:
    """A proposal for each rule that is neither on the approval branch, nor proposed, nor turned down already.

    `dry_run`: what would be proposed.
    """
    if not rules:
        return Proposed()
    if parts.rules.ref() is None:
        if dry_run:
            return Proposed(tuple(_would_be(one.entry) for one in rules))
        reason = "there is no approval branch yet: commit something, then import again"
        return Proposed(skipped=tuple((one.item.where, reason) for one in rules))
    made: list[Suggested] = []
    skipped = []
    with desk(parts) as at:
        rejected = {one.entry for one in at.rejections}
        unknown = [one for one in rules if one.entry.id not in rejected and not at.trunk.places(one.entry.id)]
        new = [one for one in unknown if not at.about(one.entry.id)]
        for number, one in enumerate(new):
            parts.options.progress("proposing", number, len(new))
            subject, files = f"Propose rule: {one.entry.title}", {one.item.path: one.item.data}
            try:
                made.append(propose_files(at, one.entry, files, subject, name, dry_run=dry_run))
            except AiLessonsError as error:
                skipped.append((one.item.where, error.message))
        parts.options.progress("proposing", len(new), len(new))
    return Proposed(tuple(made), len(rules) - len(new), tuple(skipped))


def _would_be(rule: Entry) -> Suggested:
    return Suggested(rule.id, handle(Kind.RULE, rule.id), rule.title, rule.path, "", "")


def propose_files(
    at: ProposalContext,
    rule: Entry,
    files: Mapping[str, bytes | None],
    subject: str,
    origin: str,
    *,
    dry_run: bool = False,
) -> Suggested:
    """A proposal that puts these files of a rule in place, or takes them away (None); the same one is not made twice.

    Raises:
        Refused: git has no name for the user. InvalidEntry: a file would bring a secret into git.
    """
    called = at.handle(rule.id)
    for one in at.about(rule.id):
        said = {p.path: text_of(at.repo, p.new) if p.new else None for p in one.pieces}
        if said == dict(files):
            return Suggested(rule.id, called, rule.title, rule.path, one.branch, one.commit, ("proposed already",))
    if dry_run:
        return _would_be(rule)
    at.parts.guard([Change(path, data) for path, data in files.items()])
    allowed = secret_gate.refuse(at.parts, files)
    wish = Wish(
        entry=rule.id,
        stem=f"{called}-{layout.slug(rule.title)}",
        subject=subject,
        files=files,
        trailers=[*allowed, (RULE_TRAILER, rule.id), ("Imported-from", masked(origin))],
        actor=secret_gate.actor(at.parts),
    )
    made = proposing.propose(at.parts.store, at.repo, at.trunk, wish)
    return Suggested(rule.id, called, rule.title, rule.path, made.branch, made.commit, made.notes)
