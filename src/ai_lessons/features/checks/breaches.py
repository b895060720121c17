"""What breaks a rule with a check: a command before it runs, and what a session did when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.features.checks.command_checks import CommandCheck
from ai_lessons.features.checks.facts import checks_in
from ai_lessons.features.checks.forms import of_texts, of_what_was_done
from ai_lessons.features.checks.regexes import InvalidPattern
from ai_lessons.model.decisions import DENY
from ai_lessons.model.events import ALLOWED, BROKEN, IN_SCOPE, STOPPED
from ai_lessons.telling.enforcing import Breach

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.features.checks.done_checks import Succeeded
    from ai_lessons.model.entries import EntrySummary


def at_a_command(
    rule: EntrySummary, line: str, remarks: Sequence[str]
) -> tuple[Breach | None, list[str]]:
    """How a command line breaks a rule, if it does, and what is to be noted of the rule."""
    names, breach = list[str](), None
    for check in checks_in(rule):
        if not isinstance(check, CommandCheck) or not check.names(line):
            continue
        names.append(f"{IN_SCOPE} {rule.id}")
        try:
            if not check.breaks(line):
                continue
            allowed = check.was_asked_for(remarks)
        except InvalidPattern:
            # `validate` and `doctor` name it
            continue
        if allowed:
            names.append(f"{ALLOWED} {rule.id}")
            continue
        names.append(f"{BROKEN} {rule.id}")
        if check.enforce:
            names += [f"{STOPPED} {rule.id}"]
        if breach is None or (check.enforce == DENY and breach.enforce != DENY):
            breach = Breach(rule, "this command breaks", check.instead, check.enforce)
    return breach, names


def concerns(rule: EntrySummary, paths: Sequence[str]) -> bool:
    """Whether a rule has a check of texts that looks at one of these files."""
    for check in of_texts(checks_in(rule)):
        if any(map(check.concerns, paths)):
            return True
    return False


def at_the_end(
    rule: EntrySummary, edits: Mapping[str, float], succeeded: Sequence[Succeeded]
) -> tuple[Breach | None, list[str]]:
    """How a session that made these edits breaks a rule, if it does, and what is to be noted of the rule."""
    names, breach = list[str](), None
    for check in of_what_was_done(checks_in(rule)):
        if not check.concerned(edits):
            continue
        names.append(f"{IN_SCOPE} {rule.id}")
        paths = check.broken_by(edits, succeeded)
        if paths:
            names.append(f"{BROKEN} {rule.id}")
            if breach is None or (check.enforce and not breach.enforce):
                breach = Breach(rule, check.sentence(paths), "", check.enforce)
    return breach, names
