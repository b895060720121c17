"""Asking the people of an enterprise to let one text go, and finding that they did."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import UsageError
from ai_lessons.knowledge import frontmatter
from ai_lessons.library.governance.policies import counting
from ai_lessons.repository.approval.approval_branch import short_name
from ai_lessons.repository.proposal import releases
from ai_lessons.repository.proposal.releases import Release

if TYPE_CHECKING:
    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.rules.rule_answers import Suggested
    from ai_lessons.library.session import Parts


class Move(NamedTuple):
    """An entry on its way: `text` is all its files as one text, as it would be over there; tiers by their names."""

    entry: Entry
    text: str
    source: str
    target: str


def released(parts: Parts, move: Move) -> bool:
    """Whether exactly this text may go to this tier: a record that a person let onto the approval branch says so.

    Where `origin` has that branch, its own counts and not what only this clone has.

    Raises:
        UnsupportedRepository: the history cannot be read.
    """
    branches = counting(parts)
    looks = parts.rules.looks() if branches else ()
    if not looks:
        return False
    policy = looks[-1].policy
    ref, tip = branches[-1]
    if policy.require == "forge" and not ref.startswith("refs/remotes/"):
        return False
    worktree = parts.store.worktree
    return any(
        record.covers(move.entry.id, move.target, move.text)
        and releases.taken(worktree, tip, path, short_name(ref), policy)
        for path, record in releases.on_branch(worktree, tip)
    )


def waiting(parts: Parts, move: Move) -> Suggested | None:
    """The open proposal of a record for exactly this text and tier."""
    from ai_lessons.library.rules.rule_answers import Suggested
    from ai_lessons.library.rules.rule_desk import desk

    with desk(parts) as at:
        for one in at.waiting:
            record = releases.read(at.text(one)) if one.is_release and one.sort == "new" else None
            if record and record.covers(move.entry.id, move.target, move.text):
                return Suggested(one.entry, at.called(one), record.title, one.path, one.branch, one.commit)
    return None


def ask(parts: Parts, move: Move, by: str, policy: str, reason: str) -> Suggested:
    """Propose the record in the enterprise's repository; `reason` says for its people what asks for it.

    Raises:
        InvalidEntry: a secret is in the text. UsageError: the text is none that a record can hold. Besides as
        `proposing.propose_release`.
    """
    from ai_lessons.library.rules.proposing import propose_release

    now = parts.options.now()
    title = f"{move.entry.title} to {move.target}"
    stamp = frontmatter.stamp(now)
    record = Release(title, move.entry.id, move.source, move.target, by, stamp, policy, move.text)
    data = record.render()
    if (back := releases.read(data)) is None or not back.covers(move.entry.id, move.target, move.text):
        raise UsageError(f"{move.entry.title!r} holds something that no text file can, so it cannot be released")
    path = releases.place(frontmatter.new_id(now), title, int(stamp[:4]))
    report = (
        f"{by or 'A person'} asks to let {move.entry.kind} {move.entry.id} go from {move.source} to {move.target},\n"
        f"exactly as the record has it. {reason}.\n\nWho takes this lets all people here do so with this text."
    )
    return propose_release(parts, path, data, f"Ask for release: {title}", report=report)
