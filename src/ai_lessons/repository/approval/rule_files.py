"""Which files of a tree matter for approval, and whose rule a text is. Looks at names and texts, touches nothing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from ai_lessons.errors import InvalidEntry
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.layout import CONFIG_PATH, MARKDOWN_SUFFIXES, place
from ai_lessons.knowledge.markdown import parse
from ai_lessons.knowledge.texts import decode

APPROVALS: Final = ".ai-lessons/approvals/"
REJECTED: Final = ".ai-lessons/rejected/"
RELEASES: Final = ".ai-lessons/releases/"
SIGNERS: Final = ".ai-lessons/allowed_signers"
TEXT_LIMIT: Final = 1024 * 1024
"""Bytes. A longer text is no rule: nobody could have read it before approving it."""

_ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_MATTER: Final = re.compile(rb"---\n((?:[^\n]+\n)+?)---\n")
# Lines that can mean only one thing: printable ASCII, nothing quoted over several lines, no flow collections, block
# scalars or anchors; a list only below a key without a value, where it cannot go on with the line above.
_TEXT: Final = rb"[A-Za-z0-9._/(][ -\"$-9;-~]*(?::[!-\"$-9;-~][ -\"$-9;-~]*)*"
_PLAIN: Final = re.compile(
    rb"(?:[a-z_]+: +(?:"
    + _TEXT
    + rb"|\"[ !#-\[\]-~]*\")\n|[a-z_]+:\n(?: *- "
    + _TEXT
    + rb"(?:: "
    + _TEXT
    + rb")?\n)*)+"
)
_PLAIN_ID: Final = re.compile(rb"^id: ([0-7][0-9A-HJKMNP-TV-Z]{25})$", re.MULTILINE)


@lru_cache(maxsize=1 << 16)
def is_rule(path: str) -> bool:
    """True for a file below a rules folder. A rule that lies elsewhere is never in force, whatever it says it is."""
    if not path.lower().endswith(MARKDOWN_SUFFIXES) or "rules/" not in path:
        return False
    where = place(path)
    return where is not None and where.kind is Kind.RULE


def is_watched(path: str) -> bool:
    """True for the other files that approval reads from the branch: settings, signed records, rejections, signers."""
    return path.startswith((APPROVALS, REJECTED, SIGNERS)) or path == CONFIG_PATH


def is_release(path: str) -> bool:
    """True for the record of a release. Verdicts on rules do not depend on them; they are proposed like entries."""
    return path.startswith(RELEASES) and path.lower().endswith(MARKDOWN_SUFFIXES)


def stated_id(data: bytes) -> str | None:
    """The id that a rule's text states, as the reader of entries would see it; None if it states none.

    Thousands of texts pass here, so frontmatter that can be read in only one way is not given to the YAML reader.
    """
    if len(data) > TEXT_LIMIT or not _is_text(data):
        return None
    found = _MATTER.match(data)
    if found is not None and _PLAIN.fullmatch(found[1]):
        ids = _PLAIN_ID.findall(found[1])
        keys = found[1].count(b"\nid:") + found[1].startswith(b"id:")
        if len(ids) == keys == 1 and not ids[0].isdigit():  # digits alone are a number to YAML
            return str(ids[0].decode())
    return parsed_id(data)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def parsed_id(data: bytes) -> str | None:
    """The same by way of the YAML reader, whatever the text looks like."""
    try:
        value = parse(decode(data, "")).fields.get("id")
    except InvalidEntry:
        return None
    return value.upper() if isinstance(value, str) and _ULID.fullmatch(value.upper()) else None
