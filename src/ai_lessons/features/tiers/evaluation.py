"""What speaks against an entry in a repository: secrets, duplicates, contradictions, ties to one place.

A person decides; the report recommends.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ai_lessons.app import alike_entries, secrets
from ai_lessons.app.repetitions import REPETITIONS, opposed
from ai_lessons.errors import AiLessonsError
from ai_lessons.model import expression
from ai_lessons.model.entries import LESSONS, Entry, EntrySummary, Filter, Kind, json_fields
from ai_lessons.model.texts import first_of, one_line
from ai_lessons.search.terms import TERMS, likeness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import RepositorySession

# Characters of a line of what others wrote and we repeat
LONGEST = 300
_NOT_EXAMPLE = (
    r"(?!(?:user|you|your|me|my|name|example|some|runner|app|project|repo|path)\b)[\w.-]{1,40}"
)


_UNIX = expression(
    rf"(?<![\w.~$}}-])/(?:home|Users)/{_NOT_EXAMPLE}(?:/[\w.@+%-]{{1,80}}){{0,12}}/?"
)


_WINDOWS = expression(
    rf"(?<!\w)[A-Z]:\\{{1,2}}Users\\{{1,2}}{_NOT_EXAMPLE}(?:\\{{1,2}}[\w.@+ -]{{1,80}}){{0,12}}",
    re.IGNORECASE,
)


class Tie(NamedTuple):
    """Text at `start` that belongs to one machine or project; `sort` names which."""

    sort: str
    value: str
    start: int


def ties(text: str, projects: Iterable[str] = ()) -> list[Tie]:
    """Paths of a home folder and these names of projects (of three letters or more), in their order; linear time."""
    result = []
    for shape in (_UNIX, _WINDOWS):
        for match in shape.finditer(text):
            result.append(Tie("path of one machine", match[0].rstrip(".%"), match.start()))
    folded = text.casefold()
    names = set()
    for name in projects:
        # a name of one or two letters is in every text
        if len(name.strip()) >= 3:
            names.add(tuple(name.split()))
    for words in names:
        if words[0].casefold() in folded:
            spaced = r"\s+".join(map(re.escape, words))
            matches = re.finditer(rf"(?<!\w){spaced}(?!\w)", text, re.IGNORECASE)
            for match in matches:
                result.append(Tie("name of a project", match[0], match.start()))
    return sorted(result, key=lambda tie: tie.start)


Recommendation = Literal["approve", "revise", "reject"]


NOTE, WARNING, STOP = "note", "warning", "stop"


_FOLLOWS: Final[Mapping[str, Recommendation]] = {STOP: "reject", WARNING: "revise"}


class EvaluationFinding(NamedTuple):
    """A finding (`message`, without full stop); `where` is `path:line`, or empty.

    `check` is secrets, duplicates, contradictions or specificity. `severity`: a `note` is to be
    known, a `warning` asks for a revision, a `stop` speaks against it.
    """

    check: str
    severity: str
    message: str
    where: str = ""

    @property
    def line(self) -> str:
        """`warning, specificity: … (path:line)`; what others wrote makes no lines of its own."""
        if self.severity == NOTE:
            severity = ""
        else:
            severity = f"{self.severity}, "
        message, where = one_line(self.message, LONGEST), one_line(self.where, LONGEST)
        return f"{severity}{self.check}: {message}" + (f" ({where})" if where else "")


@json_fields("recommendation", "findings")
class EvaluationReport(NamedTuple):
    """The findings about an entry."""

    findings: tuple[EvaluationFinding, ...] = ()

    @property
    def recommendation(self) -> Recommendation:
        """By the gravest finding; a person decides."""
        severities = set()
        for finding in self.findings:
            severities.add(finding.severity)
        # the gravest comes first
        for severity, follows in _FOLLOWS.items():
            if severity in severities:
                return follows
        return "approve"


def specific(files: Mapping[str, str], projects: Sequence[str]) -> Iterator[EvaluationFinding]:
    """One finding for each sort of tie in these texts (by path), at the place of the first."""
    values: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for path, text in files.items():
        for tie in ties(text, projects):
            values[tie.sort].setdefault(
                tie.value, f"{path}:{text.count(chr(10), 0, tie.start) + 1}"
            )
    for sort, places in values.items():
        named = first_of([one_line(value, 80) for value in places], 6)
        if len(places) == 1:
            what = sort
        else:
            what = f"{sort} ({len(places)})"
        yield EvaluationFinding(
            "specificity", WARNING, f"{what}: {named}", next(iter(places.values()))
        )


def render(report: EvaluationReport) -> str:
    """Short Markdown for a commit message: the recommendation, and a line for each finding."""
    lines = []
    for finding in report.findings:
        lines.append(f"- {finding.line}")
    if not lines:
        lines.append("- nothing was found that speaks against it")
    return "\n".join([f"Evaluation: {report.recommendation}", "", *lines]) + "\n"


_NEGATIVE: Final = expression(r"(?:never|do not|don['\u2019]?t|must not|avoid)\s+", re.IGNORECASE)


def evaluate(
    target: RepositorySession,
    entry: Entry,
    files: Mapping[str, str],
    projects: Sequence[str] = (),
    same: Sequence[str] = (),
) -> EvaluationReport:
    """The report on an entry of `projects` for the repository `target`.

    `files`: its new texts, by path.

    `same`: what is known to say the same there; then nothing else is compared with it.
    """
    target.current()
    findings = list(_secrets(entry, files))
    for name in same:
        sentence = f"the same is there already: {name}"
        findings.append(EvaluationFinding("duplicates", STOP, sentence))
    if not same:
        findings += _compared(target, entry)
    findings += specific(files, projects)
    # a title that others wrote may be of any length
    for at, finding in enumerate(findings):
        findings[at] = finding._replace(message=one_line(finding.message, LONGEST))
    return EvaluationReport(tuple(findings))


def _compared(target: RepositorySession, entry: Entry) -> Iterator[EvaluationFinding]:
    """What in the target says nearly the same, or the opposite."""
    for name in alike_entries.alike(alike_entries.comparable(entry), _like(target, entry)):
        yield EvaluationFinding("duplicates", WARNING, f"close to {name}")
    for sentence in _opposed(target, entry):
        yield EvaluationFinding("contradictions", WARNING, sentence)


def _secrets(entry: Entry, files: Mapping[str, str]) -> Iterator[EvaluationFinding]:
    may_stay = secrets.allowed(entry.fields)
    for path, text in files.items():
        for secret in secrets.secrets_in(text):
            severity, sentence = STOP, f"holds what looks like a secret ({secret.sort})"
            if secret.fingerprint in may_stay:
                severity, sentence = NOTE, f"{sentence}, which its file allows"
            yield EvaluationFinding("secrets", severity, sentence, f"{path}:{secret.line}")


def _like(repo: RepositorySession, entry: Entry) -> Iterator[alike_entries.ComparableText]:
    """Entries of the same kind that may say the same: its copies, and those with a like title."""
    summaries = {}
    titled: list[str] = []
    for summary in repo.catalog.select(Filter(kinds=frozenset({entry.kind}), status=None)):
        summaries[summary.id] = summary
        if likeness(summary.title, entry.title) >= TERMS.alike:
            titled.append(summary.id)
    for entry_id in dict.fromkeys(
        [*alike_entries.copies(repo, entry), *titled[: REPETITIONS.compared]]
    ):
        with suppress(AiLessonsError):
            # removed or broken since the catalog looked
            known_entry = summaries.get(entry_id)
            if known_entry:
                near, _ = repo.load(entry_id)
                yield alike_entries.comparable(near, known_entry.handle, known_entry.tier)


def _opposed(repo: RepositorySession, entry: Entry) -> Iterator[str]:
    """Sentences about what here says the opposite, by a link or in the same words."""
    catalog, pattern = repo.catalog, entry.pattern
    linked = catalog.many(alike_entries.contradicted(repo, entry))
    for summary in linked.values():
        yield f"it contradicts {_name(summary)}"
    if pattern is None:
        return
    for summary in opposed(catalog.select(Filter(kinds=LESSONS)), pattern):
        if summary.id not in linked:
            yield f"{_name(summary)} says the opposite for the same case"
    for summary in catalog.select(Filter(kinds=frozenset({Kind.RULE}), status=None)):
        begins = _NEGATIVE.match(summary.title)
        # one forbids, the other demands
        differs = bool(begins) is not pattern.negative
        if begins:
            action = summary.title[begins.end() :]
        else:
            action = summary.title
        if summary.id not in linked and differs and likeness(action, pattern.action) >= TERMS.alike:
            yield f"{_name(summary)} says the opposite"


def _name(summary: EntrySummary) -> str:
    if summary.kind is Kind.RULE:
        state = "in force"
    else:
        state = summary.kind.value
    return f"{summary.handle} {summary.title!r} ({state})"
