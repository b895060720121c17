"""Rules in force as text for agents that have no program of ours: a part of AGENTS.md, files of `.claude/rules`.

Texts in, texts out. What stands outside of our part is the user's, and comes out byte for byte.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.knowledge.entries import GLOBAL_PROJECT, HANDLE_LENGTH
from ai_lessons.knowledge.layout import slug
from ai_lessons.knowledge.texts import escaped
from ai_lessons.knowledge.yaml_text import mapping_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.knowledge.entries import Entry

EVERYWHERE = GLOBAL_PROJECT
NAME = "ai-lessons rules"
"""What our markers in a file are called, beside those of the paragraph on how to use the program."""

PREFIX = "ai-lessons-"
"""How the names of our files in a folder of rules begin."""

_MADE_BY = "Approved by a person in the knowledge repository; made by `ai-lessons admin export`, so edit them there."
_BEGIN, _END = f"<!-- >>> {NAME} >>> -->", f"<!-- <<< {NAME} <<< -->"
_PART = re.compile(
    rb"\A(?:---\npaths:\n(?:  - [^\n]*\n)+---\n)?"
    + re.escape(_BEGIN).encode()
    + rb"\n.*?"
    + re.escape(_END).encode()
    + rb"\n",
    re.DOTALL,
)
_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_MARKER = re.compile(r"<!--(?= (?:>>>|<<<) ai-lessons)")


def agents_md(rules: Sequence[tuple[str, Entry]]) -> str:
    """The part of a file of instructions that states these (handle, rule), markers not included."""
    return "\n\n".join(["## Rules", _MADE_BY, *(_section(handle, rule, 3) for handle, rule in rules)])


def claude_name(rule: Entry) -> str:
    """The file of a rule in a folder of rules."""
    return f"{PREFIX}{slug(rule.title)}-{rule.id[-HANDLE_LENGTH:].lower()}.md"


def claude_rule(handle: str, rule: Entry) -> str:
    """Our part of that file; loaded only for the files that the rule applies to, where it says which."""
    globs = _globs(rule)
    matter = "".join(f"{row}\n" for row in ("---", *mapping_lines({"paths": globs}), "---")) if globs else ""
    return f"{matter}{_BEGIN}\n{_section(handle, rule, 1)}\n\n{_MADE_BY}\n{_END}\n"


def refreshed(there: bytes | None, part: str | None) -> bytes | None:
    """A file of a folder of rules with our part as it is now (None: it goes). None: there shall be no such file.

    A file that does not begin with a part of ours is the user's, and stays as it is.
    """
    found = _PART.match(there) if there is not None else None
    if there is None or found is None:
        return there if there is not None else part.encode() if part else None
    rest = there[found.end() :]
    return (part or "").encode() + rest if part or rest else None


def is_ours(there: bytes) -> bool:
    """Whether a file begins with a part of ours."""
    return _PART.match(there) is not None


def _section(handle: str, rule: Entry, level: int) -> str:
    lines = [
        f"{'#' * level} {_line(rule.title)} ({handle})",
        f"Because: {_line(str(rule.fields.get('rationale', '')))}",
    ]
    globs = ", ".join(f"`{_line(glob).replace('`', '?')}`" for glob in _globs(rule))
    about = [
        *([f"in the project {_line(rule.project)}"] if rule.project != EVERYWHERE else []),
        *([f"for {globs}"] if globs else []),
    ]
    lines += [f"Applies {' '.join(about)}."] if about else []
    body = _below(level, _safe(rule.body).strip("\n"))
    return "\n\n".join([*lines, *([body] if body else [])])


def _globs(rule: Entry) -> list[str]:
    said = rule.fields.get("applies_to")
    return [str(one) for one in said] if isinstance(said, list) else []


def _safe(text: str) -> str:
    """Without anything that would pass for a marker of ours, and with signs that nobody sees as escapes."""
    return _MARKER.sub("<! --", escaped(text.replace("\r\n", "\n")))


def _line(text: str) -> str:
    return " ".join(_safe(text).split())


def _below(level: int, text: str) -> str:
    """A text whose headings stand below one of that level, and which leaves no fence or comment open behind it."""
    rows: list[str] = []
    fence = ""
    for row in text.split("\n"):
        mark = _FENCE.match(row)
        if mark and (not fence or (mark[2].startswith(fence) and not mark[3].strip())):
            fence = "" if fence else mark[2]
        elif not fence and (heading := _HEADING.match(row)):
            rows.append(f"{'#' * min(len(heading[1]) + level, 6)}{row[heading.end(1) :]}")
            continue
        elif not fence and _UNDERLINE.fullmatch(row) and rows and rows[-1].strip():
            rows.append("\\" + row.strip())
            continue
        rows.append(row)
    opened = text.rfind("<!--") > text.rfind("-->")
    return "\n".join([*rows, *([fence] if fence else []), *(["-->"] if opened else [])])
