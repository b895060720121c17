"""What breaks a rule with a check: a command before it runs, and what a session did when it ends.

Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.learning.statistics import ALLOWED, BROKEN, IN_SCOPE, STOPPED
from ai_lessons.model.check_forms import stored, text_checks
from ai_lessons.model.command_checks import CommandCheck
from ai_lessons.model.decisions import DENY
from ai_lessons.model.done_checks import DoneCheck
from ai_lessons.model.rule_checks import InvalidPattern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.model.done_checks import Succeeded
    from ai_lessons.model.entries import EntrySummary


class Breach(NamedTuple):
    """A rule that is broken.

    What does it (`why`), what to do, and what its check says that the host shall do.
    """

    rule: EntrySummary
    why: str
    instead: str = ""
    enforce: str = ""

    @property
    def sentence(self) -> str:
        """What is broken, by what, and what to do in its place."""
        rule, instead = self.rule, f" Run `{self.instead}` instead." if self.instead else ""
        if self.why.endswith("breaks"):
            return f"{self.why} {rule.handle}: {rule.title}.{instead}"
        return f"{rule.handle}: {rule.title}: {self.why}."


def at_a_command(
    rule: EntrySummary, line: str, remarks: Sequence[str]
) -> tuple[Breach | None, list[str]]:
    """How a command line breaks a rule, if it does, and what is to be noted of the rule."""
    names, breach = list[str](), None
    for check in stored(rule.check):
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
    return any(check.concerns(path) for check in text_checks(stored(rule.check)) for path in paths)


def done_checks(rule: EntrySummary) -> list[DoneCheck]:
    """The checks of a rule that are about what was done."""
    checks: list[DoneCheck] = []
    for check in stored(rule.check):
        if isinstance(check, DoneCheck):
            checks.append(check)
    return checks


def at_the_end(
    rule: EntrySummary, edits: Mapping[str, float], succeeded: Sequence[Succeeded]
) -> tuple[Breach | None, list[str]]:
    """How a session that made these edits breaks a rule, if it does, and what is to be noted of the rule."""
    names, breach = list[str](), None
    for check in done_checks(rule):
        if not check.concerned(edits):
            continue
        names.append(f"{IN_SCOPE} {rule.id}")
        if paths := check.broken_by(edits, succeeded):
            names.append(f"{BROKEN} {rule.id}")
            if breach is None or (check.enforce and not breach.enforce):
                breach = Breach(rule, check.sentence(paths), "", check.enforce)
    return breach, names
