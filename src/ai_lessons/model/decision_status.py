"""The status that an architecture decision record states of itself: accepted, superseded, …. Pure.

It is in its frontmatter, in a line at the top (`* Status: Accepted`), or in a section of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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

_WORDS = {
    Status.SUPERSEDED: "superseded superceded replaced obsoleted",
    Status.DEPRECATED: "deprecated retired obsolete",
    Status.REJECTED: "rejected declined withdrawn abandoned",
    Status.PROPOSED: "proposed draft pending open",
    ACCEPTED: "accepted approved adopted decided implemented",
}
_STATUS_OF = {word: str(status) for status, words in _WORDS.items() for word in words.split()}
_STATUS = expression(rf"(?i)\b({'|'.join(_STATUS_OF)})\b")

OLDER = expression(r"(?i)\b(?:supersedes|supercedes|replaces|obsoletes)\b:?")
BESIDE = expression(
    r"(?i)\b(?:amends|amended[ -]by|clarifies|clarified[ -]by|relates[ -]to|related[ -]to)\b:?"
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
_STATED = expression(r"(?i)^\s*(?:[-+]\s+|#+\s+)?(status|date|deciders|tags|links?)\s*:\s*(.*)$")


def status_in(name: str, data: bytes) -> str:
    """The status that a file states now, in one word; "" where it states none.

    Raises InvalidEntry: it is no text.
    """
    text = decode(data.replace(b"\r\n", b"\n"), name)
    file = name.rpartition("/")[2]
    entry = read_entry(f"{GLOBAL_PROJECT}/docs/unversioned/{file}", text.encode())
    stated = stated_in(entry.body, parts_of(entry.body))
    return status_of(status_text(entry, stated))


def parts_of(body: str) -> dict[str, str]:
    """The text of each section by its last heading, in lower case.

    `## Status: Accepted` has its text behind it.
    """
    parts: dict[str, str] = {}
    for part in sections(body):
        last_heading = part.title.rpartition(": ")[2]
        heading, _, behind = last_heading.partition(":")
        texts = [text for text in (behind.strip(), part.body) if text]
        parts.setdefault(heading.strip().casefold(), "\n".join(texts))
    return parts


def stated_in(body: str, parts: Mapping[str, str]) -> dict[str, str]:
    """What lines such as `* Status: Accepted` state, and the section on the status."""
    stated: dict[str, str] = {}
    # Lines at the top of a text, among which a record states its status and date
    for row in body.split("\n")[:60]:
        # some stand in a row of a table
        plain = _FIRST_CELL.sub(lambda cell: f"{cell[1].strip()}: ", row, count=1)
        match = _STATED.match(MARKS.sub("", plain))
        if match:
            stated.setdefault(match[1].casefold(), _value(plain))
    if "status" in parts:
        stated["status"] = parts["status"]
    return stated


def _value(row: str) -> str:
    """What stands behind the first colon of a line."""
    return row.partition(":")[2].strip().strip("*_| ").strip()


def status_text(entry: Entry, stated: Mapping[str, str]) -> str:
    """What a record says of its status: in its frontmatter, else in its text."""
    in_matter: Any = entry.fields.get("status")
    if isinstance(in_matter, str):
        return without_comments(in_matter)
    return without_comments(stated.get("status", ""))


def without_comments(text: str) -> str:
    """A text without what it crosses out or comments on."""
    return _COMMENT.sub(" ", text)


def status_of(text: str) -> str:
    """The status in one word.

    The last line that states one counts, because a history is written downwards.

    Empty where none is stated, or where a template still offers all of them.
    """
    status = ""
    for row in text.split("\n"):
        plain = row.strip()
        offers_several = plain.count("|") > 1
        if offers_several or OLDER.search(plain) or BESIDE.search(plain):
            continue
        match = _STATUS.search(LINK.sub(" ", plain))
        if match:
            status = _STATUS_OF[match[1].casefold()]
    return status
