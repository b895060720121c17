"""What is said of an entry before it goes to another tier: findings, and a recommendation that decides nothing."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ai_lessons.knowledge.json_fields import json_fields
from ai_lessons.knowledge.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LONGEST = 300  # Characters of a line of what others wrote and we repeat
_NAMED = 6  # Values of one sort that are named; of more the number is told


_NOT_EXAMPLE = r"(?!(?:user|you|your|me|my|name|example|some|runner|app|project|repo|path)\b)[\w.-]{1,40}"
_UNIX = re.compile(rf"(?<![\w.~$}}-])/(?:home|Users)/{_NOT_EXAMPLE}(?:/[\w.@+%-]{{1,80}}){{0,12}}/?")
_WINDOWS = re.compile(
    rf"(?<!\w)[A-Z]:\\{{1,2}}Users\\{{1,2}}{_NOT_EXAMPLE}(?:\\{{1,2}}[\w.@+ -]{{1,80}}){{0,12}}", re.IGNORECASE
)


class Tie(NamedTuple):
    """Something that ties a text to one place, at `start` of it; `sort` says what it is."""

    sort: str
    value: str
    start: int


def ties(text: str, projects: Iterable[str] = ()) -> list[Tie]:
    """Paths of a home folder and these names of projects (of three letters or more), in their order; linear time."""
    found = [
        Tie("path of one machine", match[0].rstrip(".%"), match.start())  # the end of the sentence it stands in
        for shape in (_UNIX, _WINDOWS)
        for match in shape.finditer(text)
    ]
    folded = text.casefold()
    for words in {tuple(name.split()) for name in projects if len(name.strip()) >= 3}:
        if words[0].casefold() in folded:
            spaced = r"\s+".join(map(re.escape, words))
            matches = re.finditer(rf"(?<!\w){spaced}(?!\w)", text, re.IGNORECASE)
            found += [Tie("name of a project", match[0], match.start()) for match in matches]
    return sorted(found, key=lambda one: one.start)


Recommendation = Literal["approve", "revise", "reject"]
NOTE, WARNING, STOP = "note", "warning", "stop"
_FOLLOWS: Final[Mapping[str, Recommendation]] = {STOP: "reject", WARNING: "revise"}


class EvaluationFinding(NamedTuple):
    """What was found (`message`, a sentence without its end); `where` is `path:line`, or empty.

    `check` is secrets, duplicates, contradictions or specificity. `severity`: a `note` is to be known, a `warning` asks
    for a revision, a `stop` speaks against it.
    """

    check: str
    severity: str
    message: str
    where: str = ""


@json_fields("recommendation", "findings")
class EvaluationReport(NamedTuple):
    """An entry as it was found to be."""

    findings: tuple[EvaluationFinding, ...] = ()

    @property
    def recommendation(self) -> Recommendation:
        """What follows from the gravest finding; it decides nothing."""
        severities = {one.severity for one in self.findings}
        return next((follows for severity, follows in _FOLLOWS.items() if severity in severities), "approve")


def specific(files: Mapping[str, str], projects: Sequence[str]) -> Iterator[EvaluationFinding]:
    """One for each sort of thing that ties these texts (by path) to one place; where the first of them is."""
    values: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for path, text in files.items():
        for one in ties(text, projects):
            values[one.sort].setdefault(one.value, f"{path}:{text.count(chr(10), 0, one.start) + 1}")
    for sort, found in values.items():
        named = ", ".join(one_line(value, 80) for value in list(found)[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        what = sort if len(found) == 1 else f"{sort} ({len(found)})"
        yield EvaluationFinding("specificity", WARNING, f"{what}: {named}{more}", next(iter(found.values())))


def render(report: EvaluationReport) -> str:
    """Short Markdown, for the message of a commit: a line that says it, and a line for each finding."""
    found = [f"- {told(one)}" for one in report.findings] or ["- nothing was found that speaks against it"]
    return "\n".join([f"Evaluation: {report.recommendation}", "", *found]) + "\n"


def told(one: EvaluationFinding) -> str:
    """A finding in one line: `warning, specificity: … (path:line)`; what others wrote makes no lines of its own."""
    severity = "" if one.severity == NOTE else f"{one.severity}, "
    message, where = one_line(one.message, LONGEST), one_line(one.where, LONGEST)
    return f"{severity}{one.check}: {message}" + (f" ({where})" if where else "")
