"""The words of approval as values: people, commits, evidence, verdicts. Decides nothing, imports nothing slow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

How = Literal["merge", "squash", "rebase", "direct", "evil-merge", "self-merge", "signed"]
ON_BRANCH, MERGED, SIGNED = 1, 2, 3
"""Levels of evidence. 0 is a text that is on no approval branch at all, which is nothing to judge."""


class Person(NamedTuple):
    """A person as git knows them. Two with the same address (in any case) are one."""

    name: str
    email: str

    def same(self, other: Person) -> bool:
        """True for the same address."""
        return self.email.casefold() == other.email.casefold()


class PathChange(NamedTuple):
    """What a commit did to a path against one parent: blob ids, None for no text. Only this rule's texts are named."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that changed texts of rules. `node` and `parents` are numbers for the ancestry, -1 for nothing before.

    `committed` is in seconds since 1970. `branches` is what it says it merged (`merges.merged_branches`, completed from
    known tips), None if it says nothing; `rules` are all rules that it changed against its first parent; `cut` says
    that parents are missing (a shallow clone), `odd` what is wrong with a commit that proves nothing.
    """

    id: str
    node: int
    parents: tuple[int, ...]
    author: Person
    committer: Person
    committed: int
    message: str
    branches: tuple[str, ...] | None = None
    rules: frozenset[str] = frozenset()
    cut: bool = False
    odd: str = ""


class CommitStep(NamedTuple):
    """A commit as far as one rule is concerned: its changes against each parent (one list, empty tree, for a root)."""

    commit: Commit
    changes: tuple[tuple[PathChange, ...], ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text (None: the removal) of a rule that was seen on a proposal branch, perhaps one that is gone by now."""

    branch: str
    commit: str
    rule: str
    path: str
    blob: str | None
    author: Person
    at: int


class Evidence(NamedTuple):
    """How a text came to where it is. `at` is in seconds since 1970; `reason` is for people."""

    level: int
    how: How
    by: Person | None
    at: int
    suggested_by: tuple[Person, ...]
    commit: str
    reason: str


class UnapprovedChange(NamedTuple):
    """Something on the branch that has not enough evidence: a text, or (blob None) a removal."""

    path: str
    blob: str | None
    evidence: Evidence


class Verdict(NamedTuple):
    """The answer for one rule. `path` and `blob` name the text in force, None if there is none.

    `evidence` belongs to that text, else to what is on the branch, or to the removal. `unapproved` lists what stands
    on the branch instead of it or beside it.
    """

    rule: str
    in_force: bool
    path: str | None
    blob: str | None
    evidence: Evidence
    unapproved: tuple[UnapprovedChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """Proposals that this clone knows: by (rule, blob), and the branches by their tips."""

    texts: Mapping[tuple[str, str | None], tuple[Proposal, ...]] = field(default_factory=dict)
    tips: Mapping[str, str] = field(default_factory=dict)


Require = Literal["merge", "forge", "signed"]


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """What the approval branch asks for. `distinct`: another person than the proposer; `threshold`: so many sign."""

    require: Require = "merge"
    distinct: bool = False
    threshold: int = 1


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something about the approval branch as a whole that a person has to look at; it stays until acknowledged.

    `rewritten`: a commit seen before is gone. `weakened`: the policy asks for less, or for other evidence. `shallow`:
    older approvals cannot be found. `settings`: they cannot be read. `rolled-back`: signed records are gone.
    """

    kind: Literal["rewritten", "weakened", "shallow", "settings", "rolled-back"]
    message: str
    hint: str = ""


class RecordFile(NamedTuple):
    """A signed decision, or a signature of one, that the branch has or once had.

    `came` is when it came to the branch, `before` when the commit before that was made, in seconds since 1970.
    """

    path: str
    blob: str
    came: int
    before: int


@dataclass(frozen=True, slots=True)
class BranchView:
    """The approval branch as judged: its tip (None: no such branch), the policy there, and the verdict on every rule.

    `files` are the rule files and the files of approval itself (settings, records, signers) on the branch, by path,
    with their blob ids. `here` are the texts of each rule (path, blob), `texts` every blob that it ever had; `records`
    and `signer_lists` (lists, signatures; the oldest first) are all of the history.
    """

    ref: str
    tip: str | None
    policy: ApprovalPolicy
    verdicts: Mapping[str, Verdict]
    files: Mapping[str, str]
    alarms: tuple[Alarm, ...] = ()
    said: ApprovalPolicy | None = None
    here: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    records: tuple[RecordFile, ...] = ()
    signer_lists: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def project_of(path: str) -> str:
    """The first folder, which is part of what a rule means: it says where the rule applies."""
    return path.partition("/")[0]
