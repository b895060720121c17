"""What jobs about rules, proposals and promotion take and give: frozen values. No behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.evaluation import EvaluationReport
    from ai_lessons.library.reports import Written


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """What a new rule says. `links` are (relation, reference); no relation: the one that fits the kind of entry."""

    title: str
    rationale: str
    content: str = ""
    tags: Sequence[str] = ()
    project: str = ""
    applies_to: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    allow_secrets: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Suggested:
    """A proposal that was made. `warnings` is what speaks against it, and what the user should know."""

    id: str
    handle: str
    title: str
    path: str
    branch: str
    commit: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pending:
    """A proposal that waits for a person.

    `kind` is that of the entry, or `release`. `change` is new, edit or removal; or unsigned: a text on the approval
    branch (`branch`) that lacks signatures, with its blob id as `commit`. `added` and `removed` count lines of `diff`,
    against the text in force (of what is no rule: on the approval branch). `conflicts` say why it cannot be taken, or
    what it contradicts; `similar` names entries that say much the same; `rejected_before` is when and why the same text
    was turned down; `evidence` what it links; `report` what the proposer says to those who decide; `left_out`, on the
    last one that is listed, how many branches of whom are not.
    """

    id: str
    handle: str
    title: str
    branch: str
    remote: bool
    kind: str
    change: str
    suggested_by: str
    suggested_at: str
    commit: str
    added: int
    removed: int
    conflicts: tuple[str, ...]
    similar: tuple[str, ...]
    rejected_before: str
    diff: str
    body: str
    rationale: str
    tags: tuple[str, ...]
    evidence: tuple[Light, ...]
    path: str = ""
    report: str = ""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decided:
    """What a person decided, in `commit`, about what lies at `path` (of a rejection: its record).

    `branch` is the proposal's, or the approval branch for what stands there. `notes` is what the user should know.
    """

    id: str
    handle: str
    title: str
    path: str
    branch: str
    commit: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """Whose keys approve rules of `repository`, pinned in `file`: a line for each (fingerprint, principals, type)."""

    repository: str
    file: str
    keys: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A rule of the approval branch, its `evidence` (0 to 3), the way in one word, and what lacks evidence there."""

    id: str
    handle: str
    title: str
    path: str
    in_force: bool
    evidence: int
    how: str
    approved_by: str
    approved_at: str
    suggested_by: str
    commit: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TakenRow:
    """Another proposal that came to the approval branch, by merge or commit; a forge may not say who took it."""

    id: str
    handle: str
    title: str
    proposal: str
    how: str
    approved_by: str
    approved_at: str
    suggested_by: str
    commit: str


@dataclass(frozen=True, slots=True)
class Audit:
    """Every rule with its evidence, and other proposals that were taken; not `ok` with a violation or an alarm."""

    rows: tuple[AuditRow, ...]
    alarms: tuple[str, ...]
    ok: bool
    taken: tuple[TakenRow, ...] = ()


# What becomes of it: a copy, a proposal, a proposal to release it, nothing because it is there, or nothing at all
COPIED, PROPOSED, ASKED, PRESENT, REFUSED = "copied", "proposed", "asked", "present", "refused"


@dataclass(frozen=True, slots=True)
class PromotionRequest:
    """How to promote; `reason` is for those who decide.

    `person`: who asks may copy at once, and take an entry out of an enterprise; others only propose.
    """

    reason: str = ""
    dry_run: bool = False
    person: bool = True
    allow_secrets: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Promoted:
    """What became of an entry, or with `dry_run` what would.

    `entry` is the original, `written` the copy, `suggested` the proposal (with `asked`: of its release). `dropped` are
    links that lead nowhere in the target; `policy` says whose policy has a say, `decided_in` the tier whose people
    decide, empty where no decision is needed.
    """

    entry: Light
    source: str
    target: str
    outcome: str
    report: EvaluationReport
    dry_run: bool = False
    written: Written | None = None
    suggested: Suggested | None = None
    dropped: tuple[str, ...] = ()
    policy: str = ""
    decided_in: str = ""
    notes: tuple[str, ...] = ()
