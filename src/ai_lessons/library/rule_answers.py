"""What jobs about rules, proposals and promotion take and give: frozen values. No behaviour."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.evaluation import EvaluationReport
    from ai_lessons.library.reports import Written


class RuleDraft(NamedTuple):
    """What a new rule says. `links` are (relation, reference); no relation: the one that fits the kind of entry."""

    title: str
    rationale: str
    content: str = ""
    tags: Sequence[str] = ()
    project: str = ""
    applies_to: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    allow_secrets: Sequence[tuple[str, str]] = ()


class Suggested(NamedTuple):
    """A proposal that was made. `warnings` is what speaks against it, and what the user should know."""

    id: str
    handle: str
    title: str
    path: str
    branch: str
    commit: str
    warnings: tuple[str, ...] = ()


class Pending(NamedTuple):
    """A proposal that waits for a person.

    `kind`: of the entry, or `release`. `change`: new, edit, removal, or unsigned (a text on the approval branch that
    lacks signatures; `commit` is its blob id). `added` and `removed` count lines of `diff`, against the text in force.
    `conflicts`: why it cannot be taken, or what it contradicts. `rejected_before`: when and why the same text was
    turned down. `evidence`: what it links. `report`: what the proposer says. `left_out` (on the last): not listed.
    `batch`: names the import that proposed it together with others.
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
    batch: str = ""


class Decided(NamedTuple):
    """What a person decided, in `commit`, on the proposal of `branch`; at `path` lies the entry or the rejection."""

    id: str
    handle: str
    title: str
    path: str
    branch: str
    commit: str
    notes: tuple[str, ...] = ()


class TrustedKeys(NamedTuple):
    """Whose keys approve rules of `repository`, pinned in `file`: a line for each (fingerprint, principals, type)."""

    repository: str
    file: str
    keys: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    notes: tuple[str, ...] = ()


class AuditRow(NamedTuple):
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


class TakenRow(NamedTuple):
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


class Audit(NamedTuple):
    """Every rule with its evidence, and other proposals that were taken; not `ok` with a violation or an alarm."""

    rows: tuple[AuditRow, ...]
    alarms: tuple[str, ...]
    ok: bool
    taken: tuple[TakenRow, ...] = ()


# What becomes of it: a copy, a proposal, a proposal to release it, nothing because it is there, or nothing at all
COPIED, PROPOSED, ASKED, PRESENT, REFUSED = "copied", "proposed", "asked", "present", "refused"


class PromotionRequest(NamedTuple):
    """How to promote; `reason` is for those who decide. `person`: may copy at once, also out of an enterprise."""

    reason: str = ""
    dry_run: bool = False
    person: bool = True
    allow_secrets: Sequence[tuple[str, str]] = ()


class Promoted(NamedTuple):
    """What became of an entry, or with `dry_run` would: `written` is the copy, `suggested` the proposal (or release).

    `dropped`: links that lead nowhere in the target. `policy`: whose has a say. `decided_in`: whose people decide, if.
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
