"""What is said of an entry before it goes to another tier: findings, two measures, a recommendation. Pure values.

A report decides nothing. The measures are from 0 to 1; how they are made up is in `examining`. The recommendation is
`reject` where a finding stops it, `revise` where one warns or a measure is below its bar, else `approve`. Its
confidence is how far the nearest bar is away: 0.5 at the bar, 0.95 where it is as far as can be.

An evaluator of the user's (a program, a model) may have an opinion, too. It is taken as data: the measures become the
mean of both, the recommendation the stricter of the two, so that a text that talks its reader into something gains
nothing; where the two disagree, the confidence is the lower one.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

GENERAL, GOOD = 0.6, 0.5
"""The bars below which generalizability and quality ask for a revision."""

LEAST, SWING, SURE = 0.5, 0.45, 0.95
"""Confidence at a bar, what the distance from it adds, and where something stops it."""

BY_WORDS = 0.9
"""What is left of the confidence of an approval where alike texts were looked for by their words alone."""

LONGEST, MOST = 300, 40
"""Characters of a line, and lines, of what others say and we repeat."""


class Flag(StrEnum):
    """Risks by the names that the specification gives them."""

    CONTAINS_SECRETS = "ContainsSecrets"
    SECURITY_ANTI_PATTERN = "SecurityAntiPattern"
    LICENSE_CONFLICT = "LicenseConflict"
    COMPLIANCE_RISK = "ComplianceRisk"


class Check(StrEnum):
    """What was looked at, in the order in which it is told."""

    SECRETS = "secrets"
    DUPLICATES = "duplicates"
    CONTRADICTIONS = "contradictions"
    SPECIFICITY = "specificity"
    LICENSE = "license"
    RISK = "risk"
    QUALITY = "quality"
    EVALUATOR = "evaluator"


class Severity(StrEnum):
    """A `note` is to be known, a `warning` asks for a revision, a `stop` speaks against it."""

    NOTE = "note"
    WARNING = "warning"
    STOP = "stop"


class Recommendation(StrEnum):
    """What to do with it, the laxest first."""

    APPROVE = "approve"
    REVISE = "revise"
    REJECT = "reject"


class Finding(NamedTuple):
    """One thing that was found, as a sentence without its end. `where` is `path:line`, or empty."""

    check: Check
    severity: Severity
    message: str
    flag: Flag | None = None
    where: str = ""


class Opinion(NamedTuple):
    """What an evaluator of the user's says. Fields that it left out are None or empty."""

    generalizability: float | None = None
    quality: float | None = None
    conflicts: tuple[str, ...] = ()
    risk_flags: tuple[Flag, ...] = ()
    recommendation: Recommendation | None = None
    confidence: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """An entry as it was found to be. `reasons` say why the recommendation is not a better one; empty for approve."""

    title: str
    kind: str
    findings: tuple[Finding, ...]
    generalizability: float
    quality: float
    recommendation: Recommendation
    confidence: float
    reasons: tuple[str, ...] = ()
    opinion: Opinion | None = None

    @property
    def risk_flags(self) -> tuple[Flag, ...]:
        """Every flag that was raised, in the order of their definition."""
        said = {one.flag for one in self.findings} | set(self.opinion.risk_flags if self.opinion else ())
        return tuple(flag for flag in Flag if flag in said)

    @property
    def conflicts(self) -> tuple[str, ...]:
        """What it contradicts, or says again."""
        checks = {Check.CONTRADICTIONS, Check.DUPLICATES}
        own = [one.message for one in self.findings if one.check in checks]
        return (*own, *(self.opinion.conflicts if self.opinion else ()))


def judged(
    title: str, kind: str, findings: Sequence[Finding], general: float, quality: float, *, by_words: bool = False
) -> Report:
    """The report that follows from findings and measures; `by_words`: nobody looked for what is alike by meaning."""
    order = {check: place for place, check in enumerate(Check)}
    found = tuple(sorted(findings, key=lambda one: (order[one.check], -list(Severity).index(one.severity))))
    general, quality = _bounded(general), _bounded(quality)
    stops = [one for one in found if one.severity is Severity.STOP]
    warnings = [one for one in found if one.severity is Severity.WARNING]
    low = [f"generalizability {general:.2f} is below {GENERAL:.2f}"] if general < GENERAL else []
    low += [f"quality {quality:.2f} is below {GOOD:.2f}"] if quality < GOOD else []
    reasons = (*(one.message for one in (*stops, *warnings)), *low)
    if stops:
        recommendation, sure = Recommendation.REJECT, SURE
    elif reasons:
        far = max((GENERAL - general) / GENERAL, (GOOD - quality) / GOOD, 0.0)
        recommendation, sure = Recommendation.REVISE, LEAST + SWING * min(1.0, max(far, len(warnings) / 3))
    else:
        far = min((general - GENERAL) / (1 - GENERAL), (quality - GOOD) / (1 - GOOD))
        recommendation, sure = Recommendation.APPROVE, (LEAST + SWING * far) * (BY_WORDS if by_words else 1.0)
    return Report(
        plain(title), kind, found, round(general, 2), round(quality, 2), recommendation, round(sure, 2), reasons
    )


def with_opinion(report: Report, opinion: Opinion, by: str) -> Report:
    """The report after somebody else looked at the same entry; `by` says who, for people."""
    mine, theirs = report.recommendation, opinion.recommendation or report.recommendation
    stricter = max(mine, theirs, key=list(Recommendation).index)
    sure = report.confidence if opinion.confidence is None else opinion.confidence
    if opinion.recommendation is not None:
        sure = max(report.confidence, sure) if mine is theirs else min(report.confidence, sure)
    said = [Finding(Check.EVALUATOR, Severity.NOTE, f"{by}: {note}") for note in opinion.notes]
    said += [Finding(Check.EVALUATOR, Severity.WARNING, f"{by} sees a conflict: {one}") for one in opinion.conflicts]
    said += [Finding(Check.EVALUATOR, Severity.WARNING, f"{by} raises a flag", flag) for flag in opinion.risk_flags]
    reasons = report.reasons if theirs is Recommendation.APPROVE else (*report.reasons, f"{by} says {theirs.value}")
    return replace(
        report,
        findings=(*report.findings, *said),
        generalizability=_mean(report.generalizability, opinion.generalizability),
        quality=_mean(report.quality, opinion.quality),
        recommendation=stricter,
        confidence=round(_bounded(sure), 2),
        reasons=reasons if stricter is not Recommendation.APPROVE else (),
        opinion=opinion,
    )


def with_fault(report: Report, fault: str) -> Report:
    """The report where the evaluator could not be asked; that is to be known, and changes nothing."""
    said = Finding(Check.EVALUATOR, Severity.NOTE, f"the evaluator failed: {plain(fault)}")
    return replace(report, findings=(*report.findings, said))


def read_opinion(data: Mapping[str, Any]) -> Opinion:
    """What an evaluator's JSON object says: numbers within 0 to 1, known words, short lines. The rest is left out."""
    flags = {flag.value.casefold(): flag for flag in Flag}
    named = (flags.get(word.replace("_", "").casefold()) for word in _lines(data.get("risk_flags")))
    said = data.get("recommendation")
    word = said.strip().lower() if isinstance(said, str) else ""
    return Opinion(
        _number(data.get("generalizability")),
        _number(data.get("quality")),
        _lines(data.get("conflicts")),
        tuple(dict.fromkeys(flag for flag in named if flag)),
        Recommendation(word) if word in set(Recommendation) else None,
        _number(data.get("confidence")),
        _lines(data.get("notes")),
    )


def render(report: Report) -> str:
    """Short Markdown, for the message of a commit: a line that says it, and a line for each finding."""
    measured = f"(generalizability {report.generalizability:.2f}, quality {report.quality:.2f})"
    rows = [f"Evaluation: {report.recommendation.value}, confidence {report.confidence:.2f} {measured}", ""]
    shown = report.findings[:MOST]
    rows += [f"- {told(one)}" for one in shown]
    if len(report.findings) > len(shown):
        rows.append(f"- and {len(report.findings) - len(shown)} more")
    if not shown:
        rows.append("- nothing was found that speaks against it")
    return "\n".join(rows) + "\n"


def told(one: Finding) -> str:
    """A finding in one line: `warning, risk SecurityAntiPattern: … (path:line)`."""
    what = f"{one.check.value} {one.flag.value}" if one.flag else one.check.value
    severity = "" if one.severity is Severity.NOTE else f"{one.severity.value}, "
    return f"{severity}{what}: {plain(one.message)}" + (f" ({plain(one.where)})" if one.where else "")


def as_data(report: Report) -> dict[str, Any]:
    """The report as plain data; the first six keys are those of the specification."""
    return {
        "generalizability": report.generalizability,
        "quality": report.quality,
        "conflicts": list(report.conflicts),
        "risk_flags": [flag.value for flag in report.risk_flags],
        "recommendation": report.recommendation.value,
        "confidence": report.confidence,
        "reasons": list(report.reasons),
        "findings": [
            {
                "check": one.check.value,
                "severity": one.severity.value,
                "message": plain(one.message),
                "flag": one.flag.value if one.flag else None,
                "where": one.where,
            }
            for one in report.findings
        ],
        "evaluated": report.opinion is not None,
    }


def plain(text: object, longest: int = LONGEST) -> str:
    """One short line of printable characters: what others wrote must not draw, or pass for lines of ours."""
    words = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in str(text)[: 4 * longest]).split()
    line = " ".join(words)
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "\u2026"


def _lines(said: object) -> tuple[str, ...]:
    items: Iterable[object] = said if isinstance(said, list | tuple) else [] if said is None else [said]
    lines = (plain(item) for item in list(items)[:MOST] if isinstance(item, str | int | float))
    return tuple(line for line in lines if line)


def _number(said: object) -> float | None:
    """A number within 0 to 1; None for what is none."""
    if isinstance(said, bool) or not isinstance(said, int | float) or isnan(said):
        return None
    return _bounded(said)


def _bounded(number: float) -> float:
    return float(min(max(number, 0.0), 1.0))


def _mean(mine: float, theirs: float | None) -> float:
    return mine if theirs is None else round((mine + theirs) / 2, 2)
