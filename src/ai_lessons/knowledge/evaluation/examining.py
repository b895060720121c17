"""Examines an entry for a report: what can be seen in its text, and what the caller found out about its surroundings.

Pure. The two measures:

- generalizability: 1, times (1 - weight) for each thing that ties the text to one place, of a sort at most three times;
- quality of a lesson or rule: 0.35 for a reason (a pattern, a rationale, a "because"), up to 0.20 for length, 0.20 for
  evidence (a link, an address, code), up to 0.15 for how it is known, up to 0.10 for how sure its author is;
  of a doc: 0.40 for a heading, up to 0.40 for length, 0.20 for where it comes from;
  of a script: 0.50 for saying what it does, 0.30 for how it is run, 0.20 for what it belongs to.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.drafts import description
from ai_lessons.knowledge.entries import Confidence, Entry, Kind, Source, Status
from ai_lessons.knowledge.evaluation.report import Check, Finding, Flag, Report, Severity, judged, plain
from ai_lessons.knowledge.evaluation.risks import risks
from ai_lessons.knowledge.evaluation.specifics import NOBODY, TOLD, Names, Sort, specifics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WEIGHT = {
    Sort.ADDRESS: 0.25,
    Sort.PERSON: 0.25,
    Sort.PROJECT: 0.25,
    Sort.HOST: 0.25,
    Sort.PATH: 0.15,
    Sort.IP: 0.1,
    Sort.TICKET: 0.1,
}
"""How much less a text says to others for one such thing."""

COUNTED = 3
"""Things of one sort that are counted."""

_NOTED = frozenset({Sort.IP, Sort.TICKET})
"""What examples are full of: to be known, and no reason to revise by itself."""

ENOUGH, ENOUGH_OF_A_DOC = 40, 80
"""Words from which on a text is long enough."""

READ = 400_000
"""Characters of a file that are examined; more is said to be left out."""

MANY_ADDRESSES = 3
"""Addresses of people from which on a text is a list of them."""

_KNOWN: Mapping[object, float] = {
    Source.TESTED.value: 1.0,
    Source.DOCUMENTED.value: 0.9,
    Source.OBSERVED.value: 0.8,
    Source.INFERRED.value: 0.4,
    Source.HEARSAY.value: 0.0,
}
_SURE: Mapping[object, float] = {word.value: place / (len(Confidence) - 1) for place, word in enumerate(Confidence)}
_BECAUSE = re.compile(
    r"\b(?:because|since|so that|the reason|otherwise|therefore|this is why|due to|caused by)\b", re.I
)
_EVIDENCE = re.compile(r"https?://|^[ \t]*(?:```|~~~|\$ )|`[^`\n]{3,}`|\b\d+\.\d+(?:\.\d+)?\b", re.MULTILINE)
_WORD = re.compile(r"\w+")
_NAMED = 6
"""Values of one sort that are named; of more the number is told."""


class Secret(NamedTuple):
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
    """What the text alone does not tell. `contradictions` are sentences; `by_words`: no vectors could be compared."""

    names: Names = NOBODY
    secrets: Sequence[Secret] = ()
    similar: Sequence[Similar] = ()
    contradictions: Sequence[str] = ()
    by_words: bool = True


def examine(entry: Entry, files: Mapping[str, str], facts: Facts = Facts()) -> Report:  # noqa: B008 - frozen
    """The report on an entry whose files hold these texts, by path. Never raises, whatever they hold."""
    findings = [*_secrets(facts), *_surroundings(facts), *_standing(entry)]
    general, addresses = 1.0, 0
    values: defaultdict[Sort, dict[str, str]] = defaultdict(dict)
    marks: dict[tuple[Flag | None, str], str] = {}
    for path, whole in files.items():
        text = whole[:READ]
        if len(whole) > READ:
            findings.append(Finding(Check.QUALITY, Severity.NOTE, f"only its first {READ} characters were examined"))
        for one in specifics(text, facts.names):
            values[one.sort].setdefault(one.value, _place(path, text, one.start))
        for risk in risks(text):
            marks.setdefault((risk.flag, risk.message), _place(path, text, risk.start))
    for sort, found in values.items():
        general *= (1 - WEIGHT[sort]) ** min(len(found), COUNTED)
        findings.append(_specific(sort, found))
        addresses += len(found) if sort is Sort.ADDRESS else 0
    findings += [_mark(flag, message, where) for (flag, message), where in marks.items()]
    if addresses >= MANY_ADDRESSES:
        told = f"holds the e-mail addresses of {addresses} people"
        findings.append(Finding(Check.RISK, Severity.WARNING, told, Flag.COMPLIANCE_RISK))
    quality, lacking = _quality(entry)
    findings += [Finding(Check.QUALITY, Severity.NOTE, one) for one in lacking]
    return judged(entry.title, entry.kind.value, findings, general, quality, by_words=facts.by_words)


def _place(path: str, text: str, start: int) -> str:
    return f"{path}:{text.count(chr(10), 0, start) + 1}"


def _secrets(facts: Facts) -> Iterator[Finding]:
    for one in facts.secrets:
        severity = Severity.NOTE if one.allowed else Severity.STOP
        said = f"holds what looks like a secret ({one.sort})" + (", which its file allows" if one.allowed else "")
        yield Finding(Check.SECRETS, severity, said, Flag.CONTAINS_SECRETS, f"{one.path}:{one.line}")


def _surroundings(facts: Facts) -> Iterator[Finding]:
    for one in facts.similar:
        if one.same:
            yield Finding(Check.DUPLICATES, Severity.STOP, f"the same is there already: {one.name}")
        else:
            yield Finding(Check.DUPLICATES, Severity.WARNING, f"much like {one.name} ({one.likeness:.2f})")
    for said in facts.contradictions:
        yield Finding(Check.CONTRADICTIONS, Severity.WARNING, said)


def _standing(entry: Entry) -> Iterator[Finding]:
    if entry.status is Status.WRONG:
        yield Finding(Check.QUALITY, Severity.STOP, "it is marked wrong")


def _specific(sort: Sort, found: Mapping[str, str]) -> Finding:
    """The values of one sort; where the first of them is."""
    named = ", ".join(plain(value, 80) for value in list(found)[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    severity = Severity.NOTE if sort in _NOTED else Severity.WARNING
    what = TOLD[sort] + (":" if len(found) == 1 else f" ({len(found)}):")
    return Finding(Check.SPECIFICITY, severity, f"{what} {named}{more}", where=next(iter(found.values())))


def _mark(flag: Flag | None, message: str, where: str) -> Finding:
    severity = Severity.WARNING if flag else Severity.NOTE
    about = Check.LICENSE if flag in {None, Flag.LICENSE_CONFLICT} else Check.RISK
    return Finding(about, severity, message, flag, where)


def _quality(entry: Entry) -> tuple[float, list[str]]:
    """The measure, and what keeps it down."""
    parts = (
        _of_doc(entry)
        if entry.kind is Kind.DOC
        else _of_script(entry)
        if entry.kind is Kind.SCRIPT
        else _of_word(entry)
    )
    return sum(share * had for share, had, _ in parts), [lack for _, had, lack in parts if had < 0.5]


def _of_word(entry: Entry) -> list[tuple[float, float, str]]:
    """(share, how much of it is there, what to say if little is) of a lesson or a rule."""
    pattern = entry.pattern
    text = f"{entry.body}\n{entry.fields.get('rationale') or ''}\n{pattern or ''}"
    why = bool(pattern or str(entry.fields.get("rationale") or "").strip() or _BECAUSE.search(text))
    words = min(len(_WORD.findall(text)) / ENOUGH, 1.0)
    evidence = bool(entry.links or _EVIDENCE.search(text))
    parts = [
        (0.35, float(why), "does not say why: a pattern (when, do, because) or a reason is missing"),
        (0.2, words, "says little"),
        (0.2, float(evidence), "gives no evidence: no link, address, command or version"),
    ]
    if entry.kind is Kind.RULE:  # who approves it answers for the rest
        return [(share / 0.75, had, lack) for share, had, lack in parts]
    known, sure = entry.source, str(entry.fields.get("confidence"))
    return [
        *parts,
        (0.15, _KNOWN.get(known, 0.4), f"its source is {plain(known or 'not stated', 40)}"),
        (0.1, _SURE.get(sure, 0.5), f"its author's confidence is {plain(sure, 40)}"),
    ]


def _of_doc(entry: Entry) -> list[tuple[float, float, str]]:
    said = entry.fields
    named = bool(said.get("title") or re.search(r"^#{1,6} |^\S.*\n=+[ \t]*$", entry.body, re.MULTILINE))
    words = min(len(_WORD.findall(entry.body)) / ENOUGH_OF_A_DOC, 1.0)
    origin = bool(said.get("source_path") or said.get("source_ref") or "http" in entry.body)
    return [
        (0.4, float(named), "has no heading"),
        (0.4, words, "says little"),
        (0.2, float(origin), "does not say where it comes from"),
    ]


def _of_script(entry: Entry) -> list[tuple[float, float, str]]:
    said = entry.body.strip() or description(entry.code.encode("utf-8", "replace"))
    starts = entry.code.startswith("#!") or entry.fields.get("interpreter") or "." in entry.path.rpartition("/")[2]
    belongs = bool(entry.links or entry.versions or entry.tags)
    return [
        (0.5, float(len(said) > len(entry.title) / 2 and bool(said)), "does not say what it does"),
        (0.3, float(bool(starts)), "nothing says how to run it"),
        (0.2, float(belongs), "has no tags, versions or links"),
    ]
