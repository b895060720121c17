"""What promotion takes and gives: frozen values. No behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.evaluation import EvaluationReport
    from ai_lessons.library.reports import Written
    from ai_lessons.library.rules.rule_answers import Suggested

COPIED, PROPOSED, ASKED, PRESENT, REFUSED = "copied", "proposed", "asked", "present", "refused"
"""What becomes of it: a copy, a proposal, a proposal to release it, nothing because it is there, or nothing at all."""


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
