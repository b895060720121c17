"""The report on rules as one page that needs nothing else: no script, no picture, no address. Pure."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from ai_lessons.features.reports.texts import summary
from ai_lessons.model.plain import line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.features.reports.sums import RuleFigures, RulesReport

# By which a page of ours is known
MARK = '<meta name="generator" content="ai-lessons admin report">'
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; font-weight: bold; padding: 1.5rem 0 .5rem; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #8886; text-align: right; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
td:first-child { white-space: nowrap; }
"""
_NUMBERS = ("projects", "in scope", "broken", "stopped", "would stop", "allowed")
_WORDS = (
    "Each number counts runs of <code>ai-lessons check</code> and sessions of agents. "
    "Would stop: the rule was broken, and nothing stopped it."
)


def drawn(report: RulesReport) -> str:
    """The page."""
    tables = []
    if report.totals:
        tables.append(_table("All months", report.totals))
    for month, rows in groupby(report.by_month, key=lambda row: row.month):
        tables.append(_table(month, rows))
    if not tables:
        tables.append("<p>No check saw a rule.</p>")
    body = "\n".join(tables)
    added_up = escape(summary(report)).replace("`check`", "<code>check</code>")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{MARK}
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What rules do</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>What rules do</h1>
<p>{added_up}. {_WORDS}</p>
{body}
</body>
</html>
"""


def _table(caption: str, rows: Iterable[RuleFigures]) -> str:
    heads = ""
    for name in ("rule", "title", *_NUMBERS):
        heads += f'<th scope="col">{name}</th>'
    lines = []
    for row in rows:
        figures = ""
        for number in row[4:]:
            figures += f"<td>{number:,}</td>"
        lines.append(f"<tr><td>{escape(row.handle)}</td><td>{_safe(row.title)}</td>{figures}</tr>")
    body = "\n".join(lines)
    head = f"<caption>{_safe(caption)}</caption>\n<thead><tr>{heads}</tr></thead>"
    return f"<table>\n{head}\n<tbody>\n{body}\n</tbody>\n</table>"


def _safe(text: str) -> str:
    """Words of others, on one line and without marks that turn the direction of writing."""
    return escape(line(text))
