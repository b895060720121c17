"""The status that an architecture decision record states of itself: accepted, superseded, …. Pure.

It is in its frontmatter, in a line at the top (`* Status: Accepted`), or in a section of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.model import expression
from ai_lessons.model.entries import GLOBAL_PROJECT, Status
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.sections import sections
from ai_lessons.model.texts import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.entries import Entry

# The tag of every record
TAG = "adr"
ACCEPTED = "accepted"

# In English, German, French, Spanish, Portuguese, Italian, Dutch, Polish and Russian
_WORDS = {
    Status.SUPERSEDED: (
        r"super(?:s|c|sc)ee?ded|replaced|obsoleted|ersetzt|abgelöst|remplacée?|re[ei]mplazad[oa]"
        r"|sustituid[oa]|substituíd[oa]|sostituit[oa]|vervangen|zastąpion[aey]|замен[её]н\w?"
    ),
    Status.DEPRECATED: (
        "deprecated|retired|obsolete|veraltet|überholt|obsolète|dépréciée?|obsolet[oa]|en desuso"
        r"|deprecad[oa]|depreciad[oa]|deprecat[oa]|verouderd|przestarzał[aey]|устарел\w?"
    ),
    Status.REJECTED: (
        "rejected|declined|withdrawn|abandoned|abgelehnt|verworfen|rejetée?|refusée?|rechazad[oa]"
        r"|re[jc]eitad[oa]|rifiutat[oa]|afgewezen|verworpen|odrzucon[aey]|отклонен\w?"
    ),
    Status.PROPOSED: (
        "proposed|draft|pending|open|vorgeschlagen|entwurf|proposée?|propuest[oa]|propost[oa]"
        r"|voorgesteld|zaproponowan[aey]|предложен\w?"
    ),
    ACCEPTED: (
        "accepted|approved|adopted|decided|implemented|akzeptiert|angenommen|beschlossen"
        "|acceptée?|adoptée?|validée?|aceptad[oa]|aprobad[oa]|aceit[oa]|aprovad[oa]|accettat[oa]"
        r"|approvat[oa]|geaccepteerd|goedgekeurd|zaakceptowan[aey]|przyjęt[aey]|принят\w?"
    ),
}
# In Chinese, Japanese and Korean, which set no blanks around words
_SIGNS = {
    Status.SUPERSEDED: "取代|替代|置き換え|대체",
    Status.DEPRECATED: "弃用|廃止|非推奨|폐기",
    Status.REJECTED: "拒绝|却下|否決|거부",
    Status.PROPOSED: "提议|提案|草案|제안",
    ACCEPTED: "接受|采纳|批准|承認|採用|採択|승인|채택",
}
_STATUS = expression(
    "(?i)"
    + "|".join(rf"(?P<{status}>\b(?:{_WORDS[status]})\b|{_SIGNS[status]})" for status in _WORDS)
)
_NOT = expression(r"(?i)\b(?:not|never|no longer)(?: yet)?\s+\Z")

NEWER = expression(
    r"(?i)\b(?:super(?:s|c|sc)ee?ded[ -]by|replaced[ -]by|obsoleted[ -]by"
    r"|(?:ersetzt|abgelöst)\s+(?:durch|von)|remplacée?\s+par|(?:re[ei]mplazad[oa]|sustituid[oa]"
    r"|substituíd[oa])\s+(?:por|pel[oa])|sostituit[oa]\s+da(?:l|lla)?|vervangen\s+door"
    r"|zastąpion[aey]\s+przez|замен[её]н\w?\s+на)\b:?"
)
OLDER = expression(
    r"(?i)\b(?:super(?:s|c|sc)ee?des|replaces|obsoletes|remplace|reemplaza|sustituye|substitui"
    r"|sostituisce|vervangt|zastępuje|заменяет"
    # "ersetzt" is also what German says of one that is replaced
    r"|ersetzt(?=:?\s+(?:\[|adr|#|\d))|löst(?=.{0,300}\bab\b))\b:?"
)
BESIDE = expression(
    r"(?i)\b(?:amends|amended[ -]by|clarifies|clarified[ -]by|relates[ -]to|related[ -]to)\b:?"
)
PARTLY = expression(
    r"(?i)\b(?:part(?:ly|ially)|in[ -]part|teilweise|partiellement|en partie|parcialmente"
    r"|parzialmente|gedeeltelijk|częściowo|частично|sections?|parts? of)\b|§|一部|部分"
)
LINK = expression(
    r"\[([^\[\]]*+)\](?:\(\s*+<?([^()<>\s]*+)>?[^()]*+\))?"
    r"|\[\[([^\[\]|]++)(?:\|[^\[\]]*+)?\]\]"
)
# Marks of Markdown around a word, and the borders of a table
MARKS = expression(r"[*_`|]+")
# What a text crosses out or comments on
_COMMENT = expression(r"<!--.*?(?:-->|\Z)|~~.*?~~", re.DOTALL)
_FIRST_CELL = expression(r"\A\s*+\|([^|]++)\|")
# What a line or heading is called that states the status, or the date
_STATUS_NAMES = "status|statut|estado|stato|статус|状态|ステータス|상태"
_DATE_NAMES = "date|datum|fecha|data|дата|日期|日付|날짜"
_STATED = expression(
    rf"(?i)^\s*(?:[-+>]\s+|#+\s+)?(?:(?P<status>{_STATUS_NAMES})|(?P<date>{_DATE_NAMES})"
    r"|(?P<tags>tags))\s*:.*$"
)
# What stands around the words of a heading: `2. Status`, `✅ Decision`, `Context {#context}`
_BEFORE_HEADING = expression(r"\A[\W\d_]+")
# read from its end
_BEHIND_HEADING = expression(r"(?:\}[^{}]*\{|[*_`#\s])*")
_FIRST_WORDS = expression(r"(?:[\W\d_]*\w+)?[\W\d_]*")
_ARROW = expression(r"(?m)^.*(?:->|=>|→)")
_OPTIONS = expression(r"[|/]")
# Of so many states in a list with commas a record chose none
_LISTED = 3


def status_in(name: str, data: bytes) -> str:
    """The status that a file states now, in one word; "" where it states none.

    Raises InvalidEntry: it is no text.
    """
    text = decode(data.replace(b"\r\n", b"\n"), name)
    file = name.rpartition("/")[2]
    entry = read_entry(f"{GLOBAL_PROJECT}/docs/unversioned/{file}", text.encode())
    return status_of_record(entry, stated_in(entry.body, parts_of(entry.body)))


def parts_of(body: str) -> dict[str, str]:
    """The text of each section by its last heading, in lower case.

    `## Status: Accepted` has its text behind it.
    """
    parts: dict[str, str] = {}
    for part in sections(body):
        last_heading = part.title.rpartition(": ")[2]
        heading, _, behind = last_heading.partition(":")
        texts = [text for text in (behind.strip(), part.body) if text]
        parts.setdefault(_bare(heading), "\n".join(texts))
    return parts


def _bare(heading: str) -> str:
    """The words of a heading without its number, pictures, marks and id, in lower case."""
    words = _BEHIND_HEADING.sub("", without_comments(heading)[::-1], count=1)[::-1]
    return _BEFORE_HEADING.sub("", words).casefold()


def stated_in(body: str, parts: Mapping[str, str]) -> dict[str, str]:
    """What lines such as `* Status: Accepted` state, and the section on the status."""
    stated: dict[str, str] = {}
    for plain in rows_at_top(body):
        match = _STATED.match(MARKS.sub("", plain))
        if match and match.lastgroup:
            stated.setdefault(match.lastgroup, _value(plain))
    for name in _STATUS_NAMES.split("|"):
        if name in parts:
            stated["status"] = parts[name]
    return stated


def rows_at_top(body: str) -> list[str]:
    """The lines among which a record states its status and date; `| a | b |` as `a: b |`."""
    return [
        _FIRST_CELL.sub(lambda cell: f"{cell[1].strip()}: ", row, count=1)
        for row in body.split("\n")[:60]
    ]


def _value(row: str) -> str:
    """What stands behind the first colon of a line."""
    return row.partition(":")[2].strip().strip("*_|: ").strip()


def status_of_record(entry: Entry, stated: Mapping[str, str]) -> str:
    """The status in one word: of its frontmatter, else of its text."""
    in_matter, in_text = status_texts(entry, stated)
    return status_of(in_matter) or status_of(in_text)


def status_texts(entry: Entry, stated: Mapping[str, str]) -> tuple[str, str]:
    """What a record says of its status, in its frontmatter and in its text."""
    in_matter: list[str] = []
    for key, value in entry.fields.items():
        if key.casefold() in _STATUS_NAMES.split("|"):
            values = value if isinstance(value, list) else [value]
            in_matter.extend(str(text) for text in values)
    return without_comments("\n".join(in_matter)), without_comments(stated.get("status", ""))


def without_comments(text: str) -> str:
    """A text without what it crosses out or comments on."""
    return _COMMENT.sub(" ", text)


def status_of(text: str) -> str:
    """The status in one word.

    The last line that begins with one counts, because a history is written downwards; else the
    first line that holds one.

    Empty where none is stated, or where a template still offers all of them.
    """
    status = ""
    for row in text.split("\n"):
        plain = MARKS.sub(" ", LINK.sub(" ", row))
        if offers_several(row):
            continue
        # of "Proposed -> Accepted" the last one
        behind_arrow = _ARROW.sub("", plain)
        if _STATUS.search(behind_arrow):
            plain = behind_arrow
        partly = PARTLY.search(plain) is not None
        if NEWER.search(plain) and not partly:
            status = Status.SUPERSEDED.value
            continue
        for match in _STATUS.finditer(_before_relations(plain)):
            before = plain[: match.start()]
            if _NOT.search(before) or (partly and match.lastgroup == Status.SUPERSEDED):
                continue
            if not status or _FIRST_WORDS.fullmatch(before):
                status = str(match.lastgroup)
            break
    return status


def _before_relations(row: str) -> str:
    """A line up to where it names what it supersedes or amends."""
    for relation in (OLDER, BESIDE):
        match = relation.search(row)
        if match:
            row = row[: match.start()]
    return row


def offers_several(row: str) -> bool:
    """Whether a line lists states to choose from."""
    bare = row.strip().strip("|")
    options = {match.lastgroup for match in _STATUS.finditer(bare)}
    between = len(_OPTIONS.findall(bare))
    if bare.startswith(("[", "{")) and between > 1:
        return True
    return (len(options) > 1 and between >= len(options) - 1) or (
        len(options) >= _LISTED and bare.count(",") >= len(options) - 1
    )
