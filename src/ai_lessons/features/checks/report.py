"""What `ai-lessons check` answers, as text and as SARIF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ai_lessons.features.checks.findings import ERROR, WARNING
from ai_lessons.interfaces.output import View, count, line

if TYPE_CHECKING:
    from ai_lessons.features.checks.findings import CheckedRule, CheckReport, Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_text(report: CheckReport, view: View) -> str:
    """A line for each finding as `path:line: handle what to do`, then what was looked at."""
    rows = []
    notes = 0
    for finding in report.findings:
        where = view.paint(f"{line(finding.path)}:{finding.line}:", "warn")
        parts = [where, line(finding.handle), _words(finding)]
        rows.append(" ".join(filter(None, parts)))
        notes += finding.level == "note"
    files, rules = count(report.files, "file"), count(report.rules, "rule")
    counts = [f"{files} looked at for {rules}", count(len(rows) - notes, "finding")]
    if report.would_stop:
        counts[-1] += " that would stop without --warn"
    if notes:
        counts.append(f"{count(notes, 'entry')} about what changed")
    if report.allowed:
        counts.append(f"{report.allowed:,} allowed by comments")
    if report.in_baseline:
        counts.append(f"{report.in_baseline:,} in the baseline")
    return "\n".join([*rows, ", ".join(counts)])


def _words(finding: Finding) -> str:
    """What to do, and the line itself."""
    return " | ".join(filter(None, (line(finding.message), line(finding.text))))


def as_sarif(report: CheckReport) -> dict[str, object]:
    """The findings in the form 2.1.0 of OASIS, for the pages of forges."""
    rules: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    seen = {rule.id: rule for rule in report.by_rule}
    for place, summary in enumerate(report.checked):
        places.setdefault(summary.handle, place)
        rules.append({
            "id": summary.handle,
            "shortDescription": {"text": line(summary.title)},
            "fullDescription": {"text": line(summary.rationale or summary.title)},
            "help": {"text": f"ai-lessons show {summary.handle}"},
        })  # fmt: skip
        if summary.id in seen:
            rules[-1]["properties"] = _properties(seen[summary.id])
    results = []
    for finding in report.findings:
        result = _result(finding, places.get(finding.handle))
        if report.warn and result["level"] == ERROR:
            # or the page of a forge refuses what is only warned of
            result["level"] = WARNING
        results.append(result)
    run = {
        "tool": {"driver": {"name": "ai-lessons", "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "endTimeUtc": report.at}],
        "results": results,
        "properties": {
            "project": line(report.project),
            "revision": report.revision,
            "warn": report.warn,
            "wouldStop": report.would_stop,
        },
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _properties(rule: CheckedRule) -> dict[str, Any]:
    """What was seen of a rule and who approved it, under the names that SARIF likes."""
    properties = rule._asdict()
    properties["title"] = line(rule.title)
    properties["approvingCommit"] = properties.pop("commit")
    properties["approvedBy"] = line(properties.pop("approved_by"))
    properties["approvedAt"] = properties.pop("approved_at")
    properties["inScope"] = properties.pop("in_scope")
    return properties


def _result(finding: Finding, rule: int | None) -> dict[str, Any]:
    """A finding as a result of SARIF; `rule` is the place of its rule."""
    address = {"uri": quote(finding.path, errors="replace"), "uriBaseId": "%SRCROOT%"}
    place = {"artifactLocation": address, "region": {"startLine": finding.line}}
    result: dict[str, Any] = {
        "ruleId": finding.handle or "not-looked-at",
        "level": finding.level,
        "message": {"text": line(finding.message)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"entryAndLine/v1": f"{finding.id}:{finding.mark}"},
    }
    if rule is not None:
        result["ruleIndex"] = rule
    return result
