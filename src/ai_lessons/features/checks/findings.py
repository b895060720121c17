"""Lines that break rules, and the answer of `ai-lessons check`."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.entries import EntrySummary, id_end, json_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ERROR, WARNING, NOTE = "error", "warning", "note"
# characters of a line that are shown
_SHOWN = 200
_ALLOW = expression(
    r"ai-lessons: allow ((?:[A-Za-z]-)?[0-9A-Za-z]{4,26})\b(?:\s++because\s++(.*\w))?"
)


@json_fields(hidden=("mark", "named", "first", "last", "key", "near", "breach"))
class Finding(NamedTuple):
    """A line that breaks a rule (`level` error where it refuses edits, else warning), or that an entry is about (note).

    Without an id: what could not be looked at, and why. `text` is the line itself
    without what looks like a secret; `mark` names it in a baseline, by `named` where that is set.
    `first` and `last` are the lines of the statement; 0: there is none. `key` names the check; `near` are marks of the
    lines that say something above and below it. `breach`: the check saw the rule broken; else it
    says why it saw nothing.
    """

    path: str
    line: int
    level: str
    id: str
    handle: str
    title: str
    message: str
    text: str = ""
    first: int = 0
    last: int = 0
    key: str = ""
    near: tuple[str, str] = ("", "")
    breach: bool = False
    named: str = ""

    @property
    def mark(self) -> str:
        """The same for the same text in the same file, on whatever line."""
        return self.named or mark_of(self.text)


class CheckedRule(NamedTuple):
    """What a check saw of one rule, and who approved it, by which commit of its repository.

    `in_scope`: files that it is about, and changes; `broken`: new breaches; `allowed`: by a
    comment.
    """

    id: str
    handle: str
    title: str
    level: str
    in_scope: int
    broken: int
    allowed: int
    commit: str = ""
    approved_by: str = ""
    approved_at: str = ""


@json_fields(
    "findings",
    "files",
    "rules",
    "allowed",
    "in_baseline",
    "notes",
    "by_rule",
    "project",
    "revision",
    "at",
    "warn",
    "would_stop",
)
class CheckReport(NamedTuple):
    """What breaks rules in the `files` that were looked at.

    `allowed`: by a comment; `in_baseline`: known before.

    `checked`: the rules, and the entries of notes. `project`, `revision` and `at` say of which
    code, at which commit, and when. `warn`: nothing is stopped.
    """

    findings: tuple[Finding, ...]
    files: int
    rules: int
    allowed: int = 0
    in_baseline: int = 0
    notes: tuple[str, ...] = ()
    checked: tuple[EntrySummary, ...] = ()
    by_rule: tuple[CheckedRule, ...] = ()
    project: str = ""
    revision: str = ""
    at: str = ""
    warn: bool = False

    @property
    def broken(self) -> bool:
        """Whether a rule is."""
        return any(finding.level != NOTE for finding in self.findings)

    @property
    def would_stop(self) -> int:
        """How many findings would have stopped what is only warned of."""
        if not self.warn:
            return 0
        return sum(finding.level != NOTE for finding in self.findings)


def about(summary: EntrySummary, path: str, line: int, level: str, message: str) -> Finding:
    """A finding that an entry is the reason of."""
    return Finding(path, line, level, summary.id, summary.handle, summary.title, message)


def shown_text(row: str) -> str:
    """What is shown of a line."""
    return row.strip()[:_SHOWN]


# --- a finding where it was before ---


def mark_of(text: str) -> str:
    """Names a line, however it is indented."""
    words = " ".join(text.split())
    return sha256(words.encode("utf-8", "replace")).hexdigest()[:16]


def neighbours(rows: Sequence[str], at: range) -> tuple[str, str]:
    """Marks of the nearest lines above and below a statement that hold a word; empty: there is none."""
    above = reversed(rows[: at.start - 1])
    below = rows[at.stop - 1 :]
    return _first_mark(above), _first_mark(below)


def _first_mark(rows: Iterable[str]) -> str:
    for row in rows:
        if re.search(r"\w", row):
            return mark_of(row)
    return ""


# --- comments that allow a rule to be broken ---


def names_rule(summary: EntrySummary, reference: str) -> bool:
    """Whether an allowance names this rule."""
    return summary.id.endswith(id_end(reference))


def allowance(summary: EntrySummary, rows: Sequence[str], at: range) -> str | None:
    """The reason for which a comment on these lines, or alone on the one above, allows a rule to be broken.

    None: no comment does; empty: one does, and states no reason.
    """
    reason = None
    for number in (at.start - 1, *at):
        row = rows[number - 1] if number > 0 else ""
        match = _ALLOW.search(row)
        if match is None or not names_rule(summary, match[1]):
            continue
        is_alone = not re.search(r"\w", row[: match.start()])
        if is_alone or number >= at.start:
            reason = max(reason or "", match[2] or "")
    return reason


def allowing_line(summary: EntrySummary, text: str, lines: Iterable[float]) -> int:
    """The first of these lines that has an allowance of the rule; 0: none has."""
    if "ai-lessons: allow" not in text:
        return 0
    rows = text.split("\n")
    for number in sorted(lines):
        if number != int(number):
            # between two lines, where some were taken away
            continue
        for match in _ALLOW.finditer(rows[int(number) - 1]):
            if names_rule(summary, match[1]):
                return int(number)
    return 0
