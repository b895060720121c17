"""What is said of an entry before it goes to another tier: findings, and a recommendation that decides nothing."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.entries import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.knowledge.entries import Entry

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


class EvaluationCheck(StrEnum):
    """What was looked at."""

    SECRETS = "secrets"
    DUPLICATES = "duplicates"
    CONTRADICTIONS = "contradictions"
    SPECIFICITY = "specificity"
    STATUS = "status"


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


class EvaluationFinding(NamedTuple):
    """One thing that was found, as a sentence without its end. `where` is `path:line`, or empty."""

    check: EvaluationCheck
    severity: Severity
    message: str
    where: str = ""


_Row = tuple[EvaluationCheck, Severity, str, str]


class SecretFinding(NamedTuple):
    """What looks like a secret: where, of what sort, and whether its file gives a reason for which it may stay."""

    path: str
    line: int
    sort: str
    allowed: bool = False


class Similar(NamedTuple):
    """An entry of the target that says much the same (`likeness` 0 to 1), or word for word the same."""

    name: str
    likeness: float
    same: bool = False


class Facts(NamedTuple):
    """What the text alone does not tell: names of projects, sentences about contradictions, and so on."""

    projects: Sequence[str] = ()
    secrets: Sequence[SecretFinding] = ()
    similar: Sequence[Similar] = ()
    contradictions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """An entry as it was found to be."""

    findings: tuple[EvaluationFinding, ...] = ()

    @property
    def recommendation(self) -> Recommendation:
        """What follows from the gravest finding."""
        severities = {one.severity for one in self.findings}
        if Severity.STOP in severities:
            return Recommendation.REJECT
        return Recommendation.REVISE if Severity.WARNING in severities else Recommendation.APPROVE


def examine(entry: Entry, files: Mapping[str, str], facts: Facts = Facts()) -> EvaluationReport:  # noqa: B008 - frozen
    """The report on an entry whose files hold these texts, by path. Never raises, whatever they hold."""
    rows = [*_known(facts), *_specific(files, facts.projects)]
    rows += [(EvaluationCheck.STATUS, Severity.STOP, "it is marked wrong", "")] if entry.status is Status.WRONG else []
    return EvaluationReport(tuple(EvaluationFinding(*row[:2], plain(row[2]), row[3]) for row in rows))


def _known(facts: Facts) -> Iterator[_Row]:
    for secret in facts.secrets:
        severity = Severity.NOTE if secret.allowed else Severity.STOP
        said = f"holds what looks like a secret ({secret.sort})" + (", which its file allows" if secret.allowed else "")
        yield EvaluationCheck.SECRETS, severity, said, f"{secret.path}:{secret.line}"
    for one in sorted(facts.similar, key=lambda one: not one.same):
        said = f"the same is there already: {one.name}" if one.same else f"much like {one.name} ({one.likeness:.2f})"
        yield EvaluationCheck.DUPLICATES, Severity.STOP if one.same else Severity.WARNING, said, ""
    yield from ((EvaluationCheck.CONTRADICTIONS, Severity.WARNING, said, "") for said in facts.contradictions)


def _specific(files: Mapping[str, str], projects: Sequence[str]) -> Iterator[_Row]:
    """One for each sort of thing that ties the texts to one place; where the first of them is."""
    values: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for path, text in files.items():
        for one in ties(text, projects):
            values[one.sort].setdefault(one.value, f"{path}:{text.count(chr(10), 0, one.start) + 1}")
    for sort, found in values.items():
        named = ", ".join(plain(value, 80) for value in list(found)[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        what = sort if len(found) == 1 else f"{sort} ({len(found)})"
        yield EvaluationCheck.SPECIFICITY, Severity.WARNING, f"{what}: {named}{more}", next(iter(found.values()))


def render(report: EvaluationReport) -> str:
    """Short Markdown, for the message of a commit: a line that says it, and a line for each finding."""
    found = [f"- {told(one)}" for one in report.findings] or ["- nothing was found that speaks against it"]
    return "\n".join([f"Evaluation: {report.recommendation.value}", "", *found]) + "\n"


def told(one: EvaluationFinding) -> str:
    """A finding in one line: `warning, specificity: … (path:line)`."""
    severity = "" if one.severity is Severity.NOTE else f"{one.severity.value}, "
    return f"{severity}{one.check.value}: {plain(one.message)}" + (f" ({plain(one.where)})" if one.where else "")


def plain(text: object, longest: int = LONGEST) -> str:
    """One short line of printable characters: what others wrote must not draw, or pass for lines of ours."""
    words = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in str(text)[: 4 * longest]).split()
    line = " ".join(words)
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "\u2026"
