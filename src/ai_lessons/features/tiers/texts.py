"""Tiers and promotions in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.interfaces.output import columns, line
from ai_lessons.interfaces.text_jobs import RULE_STYLES, written
from ai_lessons.interfaces.text_proposals import suggested

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.features.tiers.promotion import Promoted
    from ai_lessons.features.tiers.states import TierState
    from ai_lessons.interfaces.output import View


def tiers(states: Sequence[TierState], view: View) -> str:
    """A line for each tier, and one below it where something is to be done."""
    rows = []
    for state in states:
        where = f"{view.short(state.path)}  ({line(state.why)})".lstrip()
        rows.append((line(state.tier), state.state, where))
        if state.hint:
            rows.append(("", "", f"→ {line(state.hint)}"))
    return columns(rows, view)


def promoted(value: Promoted, view: View) -> str:
    """What was done and why; then the evaluation."""
    if value.outcome == "present":
        return f"{view.named(value.entry)}\n  nothing to do"
    rows = []
    if value.copy is not None:
        rows.append(written(value.copy, view))
        rows.append(f"  copied from {line(value.from_)}: {line(value.handle)}")
    if value.proposal is not None:
        if value.outcome == "asked":
            rows.append(
                f"{view.named(value.entry)}\n  goes to {line(value.to)} once this is taken:"
            )
        job = "review-rules"
        if value.decided_in.startswith("enterprise:"):
            job = "sync sends it to them"
        called = f"ai-lessons --tier {line(value.decided_in)} admin {job}"
        rows.append(suggested(value.proposal, view, called))
    return "\n".join([*rows, *_reasons(value, view)])


def _reasons(value: Promoted, view: View) -> Iterator[str]:
    if value.policy:
        yield f"  policy: {line(value.policy)}"
    report = value.evaluation
    yield f"  evaluation: {view.paint(report.recommendation, RULE_STYLES[report.recommendation])}"
    files = {finding.where.rpartition(":")[0] for finding in report.findings if finding.where}
    for finding in report.findings:
        # where it stands, in a few words: the line, and of two files the name
        path, _, number = finding.where.rpartition(":")
        where = ""
        if path and len(files) < 2:
            where = f"line {number}"
        elif path:
            where = f"{path.rpartition('/')[2]}:{number}"
        yield f"    {line(finding._replace(where=where).line)}"
