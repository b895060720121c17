"""Where an enterprise states its policies, and what they are: read from its approval branch, never from files on disk.

Where the repository has an `origin` whose approval branch is known here, that one has a say, too, and of both the
stricter value holds: a commit that only this clone has can close the gate, but not open it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, NoRepository, NotFound, UnsupportedRepository
from ai_lessons.knowledge.config import fields_of
from ai_lessons.knowledge.governance import GROUP, STRICTEST, Policies, Stated, read, stricter
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.repository.approval.approval_branch import branch_name, short_name
from ai_lessons.repository.proposal.releases import file_at
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from enum import StrEnum

    from ai_lessons.knowledge.governance import Policy
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import Parts


class Statement(NamedTuple):
    """What one branch states: its short name (with the remote, if it is one's) and the commit at which it stands."""

    stated: Stated
    branch: str = ""
    commit: str = ""


@dataclass(frozen=True)
class Governed:
    """One enterprise and its policies; `parts` is None where its repository is not to be had on this machine."""

    tier: str
    parts: Parts | None
    statements: tuple[Statement, ...]

    @cached_property
    def policies(self) -> Policies:
        """What holds."""
        return reduce(stricter, (one.stated.policies for one in self.statements))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a person should mend; a line each."""
        return tuple(dict.fromkeys(note for one in self.statements for note in one.stated.notes))

    @property
    def root(self) -> str:
        """The folder of its repository; empty if there is none here."""
        return str(self.parts.store.root) if self.parts else ""

    def decisive(self, policy: Policy) -> Statement:
        """The branch whose value holds; of several the last, which is the one of `origin`."""
        value = self.policies.value(policy)
        return next(one for one in reversed(self.statements) if one.stated.policies.value(policy) == value)

    def says(self, policy: Policy, *, place: bool = True) -> str:
        """The value of a policy and where it is stated, as a part of a sentence; the folder with `place`."""
        value: StrEnum = self.policies.value(policy)
        at = self.decisive(policy)
        if not at.commit:
            return f"{policy.key} is {value} ({'; '.join(at.stated.notes) or 'the default'})"
        faults = [n for n in at.stated.notes if n.startswith(policy.key) or not n.startswith(f"{GROUP}.")]
        why = [*faults, *([] if policy in at.stated.named or faults else ["the default"])]
        stated = f"{CONFIG_PATH} on {at.branch} at {at.commit[:10]}" + (f" in {self.root}" if place else "")
        return f"{policy.key} is {value} ({', '.join([*why, stated])})"


def governed(tiers: Library, tier: str) -> Governed:
    """The policies of the enterprise whose tier is called so; the safe defaults where nothing here knows it."""
    try:
        parts = tiers.open(tier)
        return Governed(tier, parts, _statements(parts))
    except (NotFound, NoRepository):
        note = f"the repository of {tier} is not on this machine, so the defaults hold"
        return Governed(tier, None, (Statement(Stated(notes=(note,))),))
    except AiLessonsError as error:
        note = f"the policies of {tier} cannot be read, so the strictest hold: {error.message}"
        return Governed(tier, None, (Statement(Stated(STRICTEST, notes=(note,))),))


def counting(parts: Parts) -> list[tuple[str, str]]:
    """The approval branch here and the one of `origin`, as full refs with their commits, as far as they are there."""
    ref = parts.rules.ref()
    if ref is None:
        return []
    refs = (ref, f"refs/remotes/origin/{short_name(ref)}")
    return [(one, commit) for one in refs if (commit := read_ref(parts.store.worktree, one))]


def _statements(parts: Parts) -> tuple[Statement, ...]:
    found = tuple(Statement(_stated(parts, ref, commit), branch_name(ref), commit) for ref, commit in counting(parts))
    note = f"{parts.store.root} has no approval branch yet, so the defaults hold"
    return found or (Statement(Stated(notes=(note,))),)


def _settings(parts: Parts, commit: str) -> bytes | None:
    """The settings in a commit; None if it has none.

    Raises:
        UnsupportedRepository: an object is missing, and git cannot fetch it either.
    """
    try:
        return file_at(parts.store.worktree, commit, CONFIG_PATH)
    except UnsupportedRepository as error:
        try:
            return parts.history.text_at(commit, CONFIG_PATH)  # a partial clone: git fetches what is missing
        except NotFound:
            raise error from None


def _stated(parts: Parts, ref: str, commit: str) -> Stated:
    data = _settings(parts, commit)
    try:
        return read(fields_of(data.decode())) if data is not None else Stated()
    except (InvalidEntry, UnicodeDecodeError):
        note = f"{CONFIG_PATH} on {branch_name(ref)} cannot be read, so the strictest policies hold"
        return Stated(STRICTEST, notes=(note,))
