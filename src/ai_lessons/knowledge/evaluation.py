"""Evaluation of an entry before it goes to another tier: findings and a recommendation."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ai_lessons.knowledge.json_fields import json_fields
from ai_lessons.knowledge.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LONGEST = 300  # Characters of a line of what others wrote and we repeat
_NAMED = 6  # Values of one sort that are named; of more the number is stated

_NOT_EXAMPLE = r"(?!(?:user|you|your|me|my|name|example|some|runner|app|project|repo|path)\b)[\w.-]{1,40}"
_UNIX = re.compile(rf"(?<![\w.~$}}-])/(?:home|Users)/{_NOT_EXAMPLE}(?:/[\w.@+%-]{{1,80}}){{0,12}}/?")
_WINDOWS = re.compile(
    rf"(?<!\w)[A-Z]:\\{{1,2}}Users\\{{1,2}}{_NOT_EXAMPLE}(?:\\{{1,2}}[\w.@+ -]{{1,80}}){{0,12}}", re.IGNORECASE
)


class Tie(NamedTuple):
    """Text at `start` that belongs to one machine or project; `sort` names which."""

    sort: str
    value: str
    start: int


def ties(text: str, projects: Iterable[str] = ()) -> list[Tie]:
    """Paths of a home folder and these names of projects (of three letters or more), in their order; linear time."""
    result = [
        Tie("path of one machine", match[0].rstrip(".%"), match.start())  # the end of the sentence it stands in
        for shape in (_UNIX, _WINDOWS)
        for match in shape.finditer(text)
    ]
    folded = text.casefold()
    for words in {tuple(name.split()) for name in projects if len(name.strip()) >= 3}:
        if words[0].casefold() in folded:
            spaced = r"\s+".join(map(re.escape, words))
            matches = re.finditer(rf"(?<!\w){spaced}(?!\w)", text, re.IGNORECASE)
            result += [Tie("name of a project", match[0], match.start()) for match in matches]
    return sorted(result, key=lambda tie: tie.start)


Recommendation = Literal["approve", "revise", "reject"]
NOTE, WARNING, STOP = "note", "warning", "stop"
_FOLLOWS: Final[Mapping[str, Recommendation]] = {STOP: "reject", WARNING: "revise"}


class EvaluationFinding(NamedTuple):
    """A finding (`message`, without full stop); `where` is `path:line`, or empty.

    `check` is secrets, duplicates, contradictions or specificity. `severity`: a `note` is to be known, a `warning` asks
    for a revision, a `stop` speaks against it.
    """

    check: str
    severity: str
    message: str
    where: str = ""


@json_fields("recommendation", "findings")
class EvaluationReport(NamedTuple):
    """The findings about an entry."""

    findings: tuple[EvaluationFinding, ...] = ()

    @property
    def recommendation(self) -> Recommendation:
        """By the gravest finding; a person decides."""
        severities = {finding.severity for finding in self.findings}
        return next((follows for severity, follows in _FOLLOWS.items() if severity in severities), "approve")


def specific(files: Mapping[str, str], projects: Sequence[str]) -> Iterator[EvaluationFinding]:
    """One finding for each sort of tie in these texts (by path), at the place of the first."""
    values: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for path, text in files.items():
        for tie in ties(text, projects):
            values[tie.sort].setdefault(tie.value, f"{path}:{text.count(chr(10), 0, tie.start) + 1}")
    for sort, places in values.items():
        named = ", ".join(one_line(value, 80) for value in list(places)[:_NAMED])
        omitted = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        what = sort if len(places) == 1 else f"{sort} ({len(places)})"
        yield EvaluationFinding("specificity", WARNING, f"{what}: {named}{omitted}", next(iter(places.values())))


def render(report: EvaluationReport) -> str:
    """Short Markdown for a commit message: the recommendation, and a line for each finding."""
    lines = [f"- {finding_line(finding)}" for finding in report.findings] or [
        "- nothing was found that speaks against it"
    ]
    return "\n".join([f"Evaluation: {report.recommendation}", "", *lines]) + "\n"


def finding_line(finding: EvaluationFinding) -> str:
    """A finding in one line: `warning, specificity: … (path:line)`; what others wrote makes no lines of its own."""
    severity = "" if finding.severity == NOTE else f"{finding.severity}, "
    message, where = one_line(finding.message, LONGEST), one_line(finding.where, LONGEST)
    return f"{severity}{finding.check}: {message}" + (f" ({where})" if where else "")
