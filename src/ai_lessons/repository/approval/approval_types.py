"""Value types of approval: people, commits, evidence, verdicts. Decides nothing, imports nothing slow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

How = Literal["merge", "squash", "rebase", "direct", "evil-merge", "self-merge", "signed", "unsigned"]
# Levels of evidence. 0 is a text that is on no approval branch at all, which is nothing to judge
ON_BRANCH, MERGED, SIGNED = 1, 2, 3


class Person(NamedTuple):
    """A person as git knows them. Two with the same address (in any case) are one."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>" if self.email not in {"", self.name} else self.name

    def same(self, other: Person) -> bool:
        """True for the same address."""
        return self.email.casefold() == other.email.casefold()


class PathChange(NamedTuple):
    """What a commit did to a path against one parent: blob ids, None for no text (of a rule: or another rule's)."""

    path: str
    old: str | None
    new: str | None


class Said(NamedTuple):
    """The header and message of a commit. `cut`: it has other parents here (shallow); `odd`: why it proves nothing.

    `signed`: it has a signature, good or not.
    """

    author: Person
    committer: Person
    committed: int  # seconds since 1970
    message: str
    cut: bool
    odd: str
    signed: bool = False


class CommitStep(NamedTuple):
    """A commit as far as one rule is concerned; `node` and `parents` are numbers (-1: nothing before).

    `changes` to that rule's texts against each parent (one list, empty tree, for a root); `branches` are what it says
    it merged, see `merged_branches`; `rules` are all whose texts it changed.
    """

    id: str
    node: int
    parents: tuple[int, ...]
    info: Said
    branches: tuple[str, ...] | None
    rules: frozenset[str]
    changes: tuple[tuple[PathChange, ...], ...]


class Proposal(NamedTuple):
    """A text (None: the removal) of a rule, seen on a proposal branch that may be deleted since."""

    branch: str
    commit: str
    rule: str
    path: str
    blob: str | None
    author: Person
    at: int


class Evidence(NamedTuple):
    """How a text came to the branch. `at` is in seconds since 1970; `reason` is for people."""

    level: int
    how: How
    by: Person | None
    at: int
    suggested_by: tuple[Person, ...]
    commit: str
    reason: str


class UnapprovedChange(NamedTuple):
    """A text, or (blob None) a removal, on the branch without enough evidence."""

    path: str
    blob: str | None
    evidence: Evidence


class Verdict(NamedTuple):
    """The text of a rule in force (`path` and `blob`, or None), its evidence, and what else the branch has."""

    rule: str
    in_force: bool
    path: str | None
    blob: str | None
    evidence: Evidence
    unapproved: tuple[UnapprovedChange, ...] = ()


class Known(NamedTuple):
    """Proposals that this clone knows: by (rule, blob), and the branches by their tips."""

    texts: Mapping[tuple[str, str | None], tuple[Proposal, ...]] = {}
    tips: Mapping[str, str] = {}


Require = Literal["merge", "forge", "signed"]


class ApprovalPolicy(NamedTuple):
    """What an approval needs. `distinct`: another person than the proposer."""

    require: Require = "merge"
    distinct: bool = False


class Signature(NamedTuple):
    """A good signature: the name in the list of signers, and the fingerprint of the key."""

    who: str
    key: str


class Signers(Protocol):
    """The signers that count. `digest` changes with them."""

    @property
    def digest(self) -> str:  # noqa: D102
        ...

    def verified(self, commits: Sequence[str]) -> Mapping[str, Signature]:
        """The commits that one of them signed."""


class _NoSigners:
    digest = "-"

    def verified(self, _commits: Sequence[str]) -> Mapping[str, Signature]:
        return {}


NO_SIGNERS: Final[Signers] = _NoSigners()


class Alarm(NamedTuple):
    """A warning about the approval branch, which stays until a person acknowledges it.

    `rewritten`: a commit seen before is gone. `weakened`: the policy asks for less or other evidence. `shallow`: older
    approvals cannot be found. `settings`: they cannot be read.
    """

    kind: Literal["rewritten", "weakened", "shallow", "settings"]
    message: str
    hint: str = ""


class BranchView(NamedTuple):
    """The approval branch as judged: its tip (None: no such branch), the policy, and the verdict on every rule.

    `files` are its rule files and watched files, with their blobs. `stated` is the policy in its settings; None where
    these cannot be read. `damaged`: a line about every branch of a proposal that could not be read.
    """

    ref: str
    tip: str | None
    policy: ApprovalPolicy
    verdicts: Mapping[str, Verdict]
    files: Mapping[str, str]
    alarms: tuple[Alarm, ...] = ()
    stated: ApprovalPolicy | None = None
    damaged: tuple[str, ...] = ()


def project_of(path: str) -> str:
    """The first folder of a path, which says where a rule applies."""
    return path.partition("/")[0]


def moment(seconds: int) -> str:
    """ISO 8601 in UTC; empty for 0."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else ""
