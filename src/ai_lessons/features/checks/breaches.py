"""What breaks a rule with a check: a command before it runs, and what a session did when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.learning.statistics import ALLOWED, BROKEN, IN_SCOPE, STOPPED
from ai_lessons.model.check_forms import stored, text_checks
from ai_lessons.model.command_checks import CommandCheck
from ai_lessons.model.decisions import DENY
from ai_lessons.model.done_checks import DoneCheck
from ai_lessons.model.rule_checks import InvalidPattern
from ai_lessons.telling.enforcing import Breach

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.app.rules_here import RuleHere
    from ai_lessons.model.check_forms import AnyCheck
    from ai_lessons.model.done_checks import Succeeded


def checks_of(rule: RuleHere) -> Sequence[AnyCheck]:
    """The checks of a rule, of which the catalog keeps what runs them."""
    return stored(rule.facts["checks"])


def at_a_command(
    rule: RuleHere, line: str, remarks: Sequence[str]
) -> tuple[Breach | None, list[str]]:
    """How a command line breaks a rule, if it does, and what is to be noted of the rule."""
    names, breach = list[str](), None
    rule_id = rule.summary.id
    for check in checks_of(rule):
        if not isinstance(check, CommandCheck) or not check.names(line):
            continue
        names.append(f"{IN_SCOPE} {rule_id}")
        try:
            if not check.breaks(line):
                continue
            allowed = check.was_asked_for(remarks)
        except InvalidPattern:
            # `validate` and `doctor` name it
            continue
        if allowed:
            names.append(f"{ALLOWED} {rule_id}")
            continue
        names.append(f"{BROKEN} {rule_id}")
        if check.enforce:
            names += [f"{STOPPED} {rule_id}"]
        if breach is None or (check.enforce == DENY and breach.enforce != DENY):
            breach = Breach(rule.summary, "this command breaks", check.instead, check.enforce)
    return breach, names


def concerns(rule: RuleHere, paths: Sequence[str]) -> bool:
    """Whether a rule has a check of texts that looks at one of these files."""
    return any(check.concerns(path) for check in text_checks(checks_of(rule)) for path in paths)


def done_checks(rule: RuleHere) -> list[DoneCheck]:
    """The checks of a rule that are about what was done."""
    checks: list[DoneCheck] = []
    for check in checks_of(rule):
        if isinstance(check, DoneCheck):
            checks.append(check)
    return checks


def at_the_end(
    rule: RuleHere, edits: Mapping[str, float], succeeded: Sequence[Succeeded]
) -> tuple[Breach | None, list[str]]:
    """How a session that made these edits breaks a rule, if it does, and what is to be noted of the rule."""
    names, breach = list[str](), None
    rule_id = rule.summary.id
    for check in done_checks(rule):
        if not check.concerned(edits):
            continue
        names.append(f"{IN_SCOPE} {rule_id}")
        if paths := check.broken_by(edits, succeeded):
            names.append(f"{BROKEN} {rule_id}")
            if breach is None or (check.enforce and not breach.enforce):
                breach = Breach(rule.summary, check.sentence(paths), "", check.enforce)
    return breach, names
