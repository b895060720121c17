"""The report on rules for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.interfaces.output import View, count, table

if TYPE_CHECKING:
    from ai_lessons.features.reports.sums import RulesReport

COLUMNS = (
    "month",
    "rule",
    "title",
    "in scope",
    "broken",
    "stopped",
    "would stop",
    "allowed",
)


def summary(report: RulesReport) -> str:
    """What was added up."""
    runs, projects = count(report.runs, "run"), count(report.projects, "project")
    sessions = count(report.sessions, "session")
    return f"{runs} of `check` in {projects}, and {sessions} of agents"


def as_table(report: RulesReport, view: View) -> str:
    """A line for each rule and month, below what was added up."""
    rows = []
    for row in report.by_month:
        figures = (row.in_scope, row.broken, row.stopped, row.would_stop, row.allowed)
        rows.append((row.month, row.handle, row.title, *map(str, figures)))
    empty = "No check saw a rule in them."
    return f"{summary(report)}\n{table(COLUMNS, rows, view, empty, flexible=(2,))}"
