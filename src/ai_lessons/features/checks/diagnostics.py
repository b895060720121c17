"""The lines of a file that break rules, as an editor marks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app.notes import Diagnostic
from ai_lessons.features.checks.findings import ERROR
from ai_lessons.features.checks.runner import check
from ai_lessons.model.plain import line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.app.workspace import Library


def of_file(library: Library, path: str) -> Iterator[Diagnostic]:
    """What breaks a rule in force in a file as it is saved, and why the rule is there."""
    report = check(library, [path])
    reasons = {}
    for summary in report.checked:
        reasons[summary.id] = summary.rationale
    for finding in report.findings:
        why = reasons.get(finding.id, "")
        message = ": ".join(line(part) for part in (finding.message, why) if part)
        first = finding.first or finding.line
        yield Diagnostic(
            finding.handle,
            message,
            first,
            max(finding.last, first),
            severe=finding.level == ERROR,
            exact=bool(finding.first),
        )
