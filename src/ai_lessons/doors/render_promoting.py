"""What became of an entry that goes to another tier, as text for people and as data. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors import render_jobs, render_rules
from ai_lessons.doors.terminal import clean, line
from ai_lessons.knowledge.evaluation import told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.doors.terminal import View
    from ai_lessons.knowledge.evaluation import EvaluationFinding
    from ai_lessons.library.promotion.promotions import Promoted

WOULD = {
    "copied": "would be copied to {}",
    "proposed": "would be proposed to {}",
    "asked": "may go to {} once people of {} release it, which would be asked for",
    "present": "nothing to do",
    "refused": "may not go to {}",
}
"""What a dry run says, by outcome."""

STYLES = {"approve": "good", "revise": "warn", "reject": "bad"}


def promoted(value: Promoted, view: View) -> str:
    """What was done, or would be, and why; then the evaluation, and what the generic form leaves out."""
    if value.outcome == "present" and not value.dry_run:
        return f"{_headline(value, view)}\n  nothing to do"
    rows = [*_done(value, view), *_policy(value), *_evaluation(value, view)]
    rows += [f"  left behind: {line(one)}" for one in value.dropped]
    return "\n".join([*rows, *_generic(value, view)])


def plan(value: Promoted, view: View) -> str:
    """What a person is asked about: the same as a dry run shows."""
    return "\n".join([_planned(value, view), *_policy(value), *_evaluation(value, view), *_generic(value, view)])


def _headline(value: Promoted, view: View) -> str:
    return f"{view.paint(f'[{line(value.entry.handle)}]', 'handle')} {line(value.entry.title)}"


def _planned(value: Promoted, view: View) -> str:
    return f"{_headline(value, view)}\n  {WOULD[value.outcome].format(line(value.target), line(value.decided_in))}"


def _done(value: Promoted, view: View) -> Iterator[str]:
    if value.dry_run:
        yield _planned(value, view)
    if value.written is not None:
        yield render_jobs.written(value.written, view)
        yield f"  copied from {line(value.source)}: {line(value.entry.handle)}"
    if value.suggested is not None:
        if value.outcome == "asked":
            yield f"{_headline(value, view)}\n  goes to {line(value.target)} once this is taken:"
        command = f"ai-lessons --tier {line(value.decided_in)} admin"
        yield render_rules.suggested(value.suggested, view, f"{command} review-rules")
        if value.decided_in.startswith("enterprise:"):
            yield f"Send it to them: {command} sync"


def _policy(value: Promoted) -> list[str]:
    return [f"  policy: {line(value.policy)}"] if value.policy else []


def _evaluation(value: Promoted, view: View) -> list[str]:
    report = value.report
    head = f"  evaluation: {view.paint(report.recommendation.value, STYLES[report.recommendation.value])}"
    files = {one.where.rpartition(":")[0] for one in report.findings if one.where}
    return [head, *(f"    {line(told(_placed(one, alone=len(files) < 2)))}" for one in report.findings)]


def _placed(one: EvaluationFinding, *, alone: bool) -> EvaluationFinding:
    """Where it stands, in a few words: the line, and of two files the name."""
    path, _, number = one.where.rpartition(":")
    return one._replace(where=(f"line {number}" if alone else f"{path.rpartition('/')[2]}:{number}") if path else "")


def _generic(value: Promoted, view: View) -> list[str]:
    if not value.generic:
        return []
    rows = [view.paint("In its generic form:", "heading"), *(f"  {line(one)}" for one in value.replaced)]
    return [*rows, *clean(value.diff).rstrip("\n").split("\n")]
