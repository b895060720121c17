"""Where an enterprise states its policies, and what they are: read from its approval branch, never from files on disk.

Where the repository has an `origin` whose approval branch is known here, that one has a say, too, and of both the
stricter value holds: a commit that only this clone has can close the gate, but not open it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, NoRepository, NotFound, UnsupportedRepository, UsageError
from ai_lessons.knowledge import frontmatter
from ai_lessons.knowledge.config import fields_of
from ai_lessons.knowledge.governance import GROUP, STRICTEST, Policies, Stated, read, stricter
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.library.proposal_context import desk, entry_of
from ai_lessons.library.proposing import make
from ai_lessons.library.rule_answers import Suggested
from ai_lessons.repository import proposal_records
from ai_lessons.repository.approval.approval_branch import branch_name, short_name
from ai_lessons.repository.approval.rule_files import RELEASES
from ai_lessons.repository.proposal_records import Release, file_at
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from enum import StrEnum

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.knowledge.governance import Policy
    from ai_lessons.library.opened import Library
    from ai_lessons.library.options import Options
    from ai_lessons.library.session import RepositorySession


class Statement(NamedTuple):
    """What one branch states: its short name (with the remote, if it is one's) and the commit at which it stands."""

    stated: Stated
    branch: str = ""
    commit: str = ""


@dataclass(frozen=True)
class Governed:
    """The policies of one enterprise; `parts` is None where its repository is not to be had on this machine."""

    parts: RepositorySession | None
    statements: tuple[Statement, ...]

    @cached_property
    def policies(self) -> Policies:
        """What holds."""
        return reduce(stricter, (one.stated.policies for one in self.statements))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a person should mend; a line each."""
        return tuple(dict.fromkeys(note for one in self.statements for note in one.stated.notes))

    def says(self, policy: Policy, *, place: bool = True) -> str:
        """The value of a policy and where it is stated, as a part of a sentence; the folder with `place`."""
        value: StrEnum = self.policies.value(policy)
        # of several branches with this value the last, which is the one of `origin`
        at = next(one for one in reversed(self.statements) if one.stated.policies.value(policy) == value)
        if not at.commit or not self.parts:
            return f"{policy.key} is {value} ({'; '.join(at.stated.notes) or 'the default'})"
        faults = [n for n in at.stated.notes if n.startswith(policy.key) or not n.startswith(f"{GROUP}.")]
        why = [*faults, *([] if policy in at.stated.named or faults else ["the default"])]
        stated = f"{CONFIG_PATH} on {at.branch} at {at.commit[:10]}" + (f" in {self.parts.store.root}" if place else "")
        return f"{policy.key} is {value} ({', '.join([*why, stated])})"


def governed(tiers: Library, tier: str) -> Governed:
    """The policies of the enterprise whose tier is called so; the safe defaults where nothing here knows it."""
    try:
        parts = tiers.open(tier)
        found = tuple(
            Statement(_stated(parts, ref, commit), branch_name(ref), commit) for ref, commit in counting(parts)
        )
        note = f"{parts.store.root} has no approval branch yet, so the defaults hold"
        return Governed(parts, found or (Statement(Stated(notes=(note,))),))
    except (NotFound, NoRepository):
        note = f"the repository of {tier} is not on this machine, so the defaults hold"
        return Governed(None, (Statement(Stated(notes=(note,))),))
    except AiLessonsError as error:
        note = f"the policies of {tier} cannot be read, so the strictest hold: {error.message}"
        return Governed(None, (Statement(Stated(STRICTEST, notes=(note,))),))


def counting(parts: RepositorySession) -> list[tuple[str, str]]:
    """The approval branch here and the one of `origin`, as full refs with their commits, as far as they are there."""
    ref = parts.rules.ref()
    if ref is None:
        return []
    refs = (ref, f"refs/remotes/origin/{short_name(ref)}")
    return [(one, commit) for one in refs if (commit := read_ref(parts.store.worktree, one))]


def _stated(parts: RepositorySession, ref: str, commit: str) -> Stated:
    """What the settings in a commit say. Raises UnsupportedRepository: an object is missing, also for git."""
    try:
        data = file_at(parts.store.worktree, commit, CONFIG_PATH)
    except UnsupportedRepository as error:
        try:
            data = parts.history.text_at(commit, CONFIG_PATH)  # a partial clone: git fetches what is missing
        except NotFound:
            raise error from None
    try:
        return read(fields_of(data.decode())) if data is not None else Stated()
    except (InvalidEntry, UnicodeDecodeError):
        note = f"{CONFIG_PATH} on {branch_name(ref)} cannot be read, so the strictest policies hold"
        return Stated(STRICTEST, notes=(note,))


class Move(NamedTuple):
    """An entry on its way: `text` is all its files as one text, as it would be over there; tiers by their names.

    `ties` is told of what in it belongs to one place, besides code.
    """

    entry: Entry
    text: str
    source: str
    target: str
    ties: tuple[str, ...] = ()


def released(parts: RepositorySession, move: Move) -> bool:
    """Whether a person let a record onto the approval branch (of `origin`, if known) that lets exactly this text go.

    Raises UnsupportedRepository: the history cannot be read.
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
        and proposal_records.released_by(worktree, tip, path, short_name(ref), policy)
        for path, record in proposal_records.releases_on(worktree, tip)
    )


def waiting(parts: RepositorySession, move: Move) -> Suggested | None:
    """The open proposal of a record for exactly this text and tier."""
    with desk(parts) as at:
        for one in at.waiting:
            record = proposal_records.read_release(at.text(one)) if one.is_release and one.sort == "new" else None
            if record and record.covers(move.entry.id, move.target, move.text):
                return Suggested(one.entry, at.called(one), record.title, one.path, one.branch, one.commit)
    return None


def ask(parts: RepositorySession, move: Move, by: str, policy: str, reason: str) -> Suggested:
    """Propose the record in the enterprise's repository; `reason` says for its people what asks for it.

    Raises: as `proposing.make`. UsageError: the text is none that a record can hold.
    """
    now = parts.options.now()
    title = f"{move.entry.title} to {move.target}"
    stamp = frontmatter.stamp(now)
    record = Release(title, move.entry.id, move.source, move.target, by, stamp, policy, move.text)
    data, path = record.render(), proposal_records.record_path(RELEASES, frontmatter.new_id(now), title, stamp)
    back, proposed = proposal_records.read_release(data), entry_of(path, {path: data})
    if back is None or proposed is None or not back.covers(move.entry.id, move.target, move.text):
        raise UsageError(f"{move.entry.title!r} holds something that no text file can, so it cannot be released")
    report = (
        f"{by or 'A person'} asks to let {move.entry.kind} {move.entry.id} go from {move.source} to {move.target},\n"
        f"exactly as the record has it. {reason}.\n\nWho takes this lets all people here do so with this text."
    )
    with desk(parts) as at:
        return make(at, proposed, {path: data}, f"Ask for release: {title}", report=report)


_POLICIES = frozenset(("approval", "git", "events", "format", GROUP))
"""Groups of settings that an agent does not change; the others say how a search works."""


def refuse_agents(options: Options, key: str) -> None:
    """Raises Refused: an agent would change the setting `key`, and it is for people to say."""
    if key.partition(".")[0] in _POLICIES:
        options.refuse_agents(f"change {key}", f"ai-lessons admin config set {key} …")
