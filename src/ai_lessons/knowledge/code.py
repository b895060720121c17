"""Cutting a script into stretches that belong together, whatever its language. Looks at blank lines and indentation.

Parses no language: a block begins at an unindented line behind a blank one, so that a function stays with the comment
above it. A text inside a string may be cut where it looks like code; nothing is lost by that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.knowledge.cutting import Span, packed, span

if TYPE_CHECKING:
    from ai_lessons.knowledge.config import Chunking

_BLOCK = re.compile(r"\n[ \t]*\r?\n(?=[^\s)\]}])(?!(?:fi|done|esac|end|else|elif|except|finally|EOF)\b)")
_DEFINITION = re.compile(
    r"^(?:export\s+|pub\s+|public\s+|static\s+|async\s+|default\s+)*"
    r"(?:(?:def|class|function|func|fn|sub|proc|module|interface|struct)\s+(\w[\w:.\-]*)|(\w[\w:.\-]*)\s*\(\s*\)\s*\{)",
    re.MULTILINE,
)
_COMMENT = re.compile(r"[ \t]*(?:#+(?!!)|//+|--|;+|%+|REM\b|::|\*|/\*+|\"\"\"|''')[ \t]*(\w[^\n]*)", re.IGNORECASE)
_NOT_ABOUT = re.compile(r"(?:vim|author|date|copyright|\(c\)|licen[cs]e|spdx|https?|shellcheck|[\w-]+=)", re.IGNORECASE)
_OPENERS = ("#", "<?", '"""', "'''", "/*", "//", "--", ";")
_HEADER_LINES = 40
_SUMMARY = 120
_NAMES = 3


def cut_code(code: str, chunking: Chunking) -> list[Span]:
    """Blocks of a script joined up to the target; a function begins a new stretch."""
    starts = [0, *(match.end() for match in _BLOCK.finditer(code))]
    blocks = (
        span(code, start, end, opens=_DEFINITION.search(code, start, end) is not None)
        for start, end in zip(starts, [*starts[1:], len(code)], strict=True)
    )
    return packed(code, blocks, chunking)


def summary(code: str) -> str:
    """The first sentence-like line of the leading comment; empty if there is none near the top."""
    for line in code.split("\n", _HEADER_LINES)[:_HEADER_LINES]:
        found = _COMMENT.match(line)
        if found and len(found[1].split()) > 2 and not _NOT_ABOUT.match(found[1]):
            return found[1].strip()[:_SUMMARY]
        if line.strip() and not found and not line.startswith(_OPENERS):
            return ""
    return ""


def names(code: str) -> str:
    """What is defined at the left margin of a stretch of code, the first few names."""
    found = [match[1] or match[2] for match in _DEFINITION.finditer(code)]
    return ", ".join(found[:_NAMES])
