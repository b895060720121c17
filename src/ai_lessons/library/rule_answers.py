"""What promotion takes and gives: frozen values. No behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    branch (`branch`) that lacks signatures, with its blob id as `commit`. `suggested_at` ISO 8601 in UTC. `added` and
    `removed` count lines of `diff`, a unified diff against the text in force (of what is no rule: on the approval
    branch; else against nothing). `conflicts` say why it cannot be taken as it is, or what it contradicts; `similar`
    name entries that say much the same; `rejected_before` is empty, or when and why the same text was turned down.
    `body` is the text below the frontmatter; `evidence` the entries that it links. `report` is what the proposer, or
    a program of theirs, has to say to whoever decides, in Markdown. `left_out`, on the last one that is listed, says
    how many branches of whom are not listed, because there are too many.
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
class Approved:
    """A proposal that was taken; `commit` is the merge. `notes` is what the user should know."""

    id: str
    handle: str
    title: str
    path: str
    branch: str
    commit: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """A proposal that was turned down; `record_path` holds its text and the reason, in `commit`."""

    id: str
    handle: str
    title: str
    branch: str
    record_path: str
    commit: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Revoked:
    """A rule about which a signed record says, in `commit`, that it holds no longer. Its file stays at `path`."""

    id: str
    handle: str
    title: str
    path: str
    commit: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """Whose keys approve rules here: a line for each (fingerprint, principals, type), pinned in `file`.

    `repository` is the name that signed records carry; `added` and `removed` is what changed.
    """

    repository: str
    file: str
    keys: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One rule of the approval branch. `evidence` is 0 to 3, `how` the way in one word, `approved_at` ISO 8601 in UTC.

    `problem` is empty, or what stands on the branch without enough evidence.
    """

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
    """One proposal of anything but a rule that came to the approval branch in `commit`, as its history says.

    `handle` is empty where the entry is not here any more. `how` is merge, or commit (a squash or rebase of it).
    `approved_by` is empty where a forge does not say who it was; `approved_at` ISO 8601 in UTC.
    """

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
    """Every rule with its evidence, and every other proposal that was taken, newest first.

    `ok` is False if a rule violates the policy, or there is an alarm.
    """

    rows: tuple[AuditRow, ...]
    alarms: tuple[str, ...]
    ok: bool
    taken: tuple[TakenRow, ...] = ()


# What becomes of it: a copy, a proposal, a proposal to release it, nothing because it is there, or nothing at all
COPIED, PROPOSED, ASKED, PRESENT, REFUSED = "copied", "proposed", "asked", "present", "refused"


@dataclass(frozen=True, slots=True)
class PromotionRequest:
    """How to promote. `generic`: without code and names; `names` are some that only the caller knows.

    `yes`: take the generic form unseen, else `ask` is shown what would be done and says. `reason` is for those who
    decide. `person`: who asks may copy at once, and take an entry out of an enterprise; others only propose.
    """

    generic: bool = False
    names: Sequence[str] = ()
    reason: str = ""
    dry_run: bool = False
    yes: bool = False
    person: bool = True
    allow_secrets: Sequence[tuple[str, str]] = ()
    ask: Callable[[Promoted], bool] | None = None


@dataclass(frozen=True, slots=True)
class Promoted:
    """What became of an entry, or with `dry_run` what would.

    `entry` is the original, `source` and `target` are tiers. `written` is the copy, `suggested` the proposal (of the
    entry, or with `asked` of its release). In its `generic` form `replaced` says what made way, and `diff` shows it.
    `dropped` are links that lead nowhere in the target. `policy` says whose policy has a say, and what it says.
    `decided_in` is the tier whose people decide about the proposal; empty where no decision is needed.
    """

    entry: Light
    source: str
    target: str
    outcome: str
    report: EvaluationReport
    dry_run: bool = False
    written: Written | None = None
    suggested: Suggested | None = None
    generic: bool = False
    replaced: tuple[str, ...] = ()
    diff: str = ""
    dropped: tuple[str, ...] = ()
    policy: str = ""
    decided_in: str = ""
    notes: tuple[str, ...] = ()
