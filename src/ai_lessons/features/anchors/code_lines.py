"""Definitions in languages that are not parsed: a line like a definition, and the block below it. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.features.anchors.parts import Definition, plain
from ai_lessons.model import expression
from ai_lessons.model.code_comments import scanner, skeleton, style

if TYPE_CHECKING:
    from collections.abc import Sequence

# Characters of a line that is looked at
_WIDEST = 2_000
_KEYWORDS = (
    "def|class|function|func|fn|fun|sub|proc|struct|enum|union|interface|trait|impl|type|typedef|module|namespace|record|"
    "object|protocol|extension|const|let|var|val|static|final|define|macro_rules!|table|view|procedure|resource|defmodule"
)
_LISTED = expression(
    rf"(?m)^[^\n=;]{{0,80}}?\b(?:{_KEYWORDS})[ \t]+(?:\([^)\n]{{0,80}}\)[ \t]*)?([A-Za-z_$][\w$]*)"
)
_NO_DEFINITION = expression(
    r"\s*(?:return|if|else|while|for|switch|case|new|await|throw|yield|delete|not|in|import|use)\b"
)
_BRACKET = expression(r"[{}()\[\];]")
_CLOSING_WORD = expression(r"\s*(?:end|fi|done|esac|\}|\))")

# Lines from and to (not with it), from 0
Span = tuple[int, int]


def names(path: str, text: str) -> list[str]:
    """The names that a file defines."""
    found_names = (match[1] for match in _LISTED.finditer(skeleton(path, text)))
    return list(dict.fromkeys(found_names))


def definition(path: str, text: str, name: str) -> Definition | None:
    """What a file has under a name; None: nothing."""
    code, rows = skeleton(path, text).split("\n"), text.split("\n")
    spans = _spans_of(code, name)
    if not spans:
        return None
    value = None
    if len(spans) == 1:
        first, end = spans[0]
        if end - first == 1:
            value = _value_in(rows[first], name.rpartition(".")[2])
    lines = tuple((first + 1, end) for first, end in spans)
    parts = "\n".join("\n".join(rows[first:end]) for first, end in spans)
    bare = scanner(style(path)).sub(lambda part: "" if part[1] else part[0], parts)
    return Definition(parts, lines, "".join(bare.split()), value)


def _spans_of(code: Sequence[str], name: str) -> list[Span]:
    """Where a name is defined, inside of what stands before it in its path."""
    *outer, last = name.split(".")
    around: list[Span] = [(0, len(code))]
    for part in outer:
        inside: list[Span] = []
        for start, end in around:
            inside += _spans(code, part, start + (start > 0), end)
        around = inside
    spans: list[Span] = []
    for start, end in around:
        spans += _spans(code, last, start + bool(outer), end)
    if outer:
        # Go, C++, and prototypes of JavaScript define a method outside of its type
        owner = re.escape(outer[-1])
        before = rf"func\s*\([^)]*\b{owner}\b[^)]*\)\s*|{owner}(?:::|\.prototype\.)"
        spans += _spans(code, last, 0, len(code), before)
    return list(dict.fromkeys(spans))


def _value_in(row: str, name: str) -> str | None:
    """What a line assigns to a name."""
    assigned = re.match(
        rf".*?\b{re.escape(name)}\b[^=\n]{{0,80}}?:?=(?![=>])\s*(\S.*?)[;,]?\s*$", row[:_WIDEST]
    )
    if assigned:
        return plain(assigned[1])
    return None


def _spans(code: Sequence[str], name: str, start: int, end: int, before: str = "") -> list[Span]:
    """First line and end of each definition of a name between two lines.

    `before`: what must stand in front of it.
    """
    defines = _defining(name, before)
    spans = []
    row = start
    while row < end:
        line = code[row]
        is_likely = name in line and len(line) <= _WIDEST
        if is_likely and defines.match(line) and not _NO_DEFINITION.match(line):
            last = _block_end(code, row, end)
            spans.append((row, last))
            row = last
        else:
            row += 1
    return spans


def _defining(name: str, before: str) -> re.Pattern[str]:
    """Matches a line that defines a name: behind a keyword, as a function, as a value, as a key."""
    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    if before:
        return re.compile(rf"[^=;]*?(?:{before}){word}")
    behind_keyword = (
        rf"[^=;\n]{{0,200}}?\b(?:{_KEYWORDS})\b[^=;({{]{{0,200}}?(?:\([^)]{{0,200}}\)\s*)?{word}"
    )
    function = rf"\s*(?:[\w<>\[\],.*&:?~@]+\s+){{0,8}}[*&]?{word}\s*(?:<[^>]{{0,200}}>\s*)?\([^;]*$"
    value = (
        rf"\s*(?:[\w.$<>\[\]:]+\s+){{0,4}}(?:[\w$]+\.){{0,3}}{word}\s*(?::[^=]{{0,80}})?:?=(?!=)"
    )
    key = rf"\s*{word}\s*:\s*(?:async\s+)?(?:function|\()"
    return re.compile("|".join((behind_keyword, function, value, key)))


def _block_end(code: Sequence[str], start: int, end: int) -> int:
    """The line behind the block that begins in a line.

    That of its braces, else what is indented below it.
    """
    braces = brackets = 0
    for row in range(start, end):
        for sign in _BRACKET.findall(code[row]):
            brackets += (sign in "([") - (sign in ")]")
            braces += (sign == "{") - (sign == "}")
            is_closed = sign == "}" and braces <= 0
            is_statement = sign == ";" and braces == 0 and brackets <= 0
            if is_closed or is_statement:
                return row + 1
        follows = code[row + 1].lstrip() if row + 1 < end else ""
        # A brace may stand so many lines below the line that defines
        brace_comes = row - start < 3 and follows.startswith("{")
        if braces == 0 and brackets <= 0 and not brace_comes:
            return _indented_end(code, start, row + 1, end)
    return end


def _indented_end(code: Sequence[str], start: int, row: int, end: int) -> int:
    """The end of what is indented deeper than the first line, with its closing word."""
    margin = _indent(code[start])
    last = row
    for at in range(row, end):
        line = code[at].expandtabs()
        if not line.strip():
            continue
        depth = _indent(line)
        if depth > margin:
            last = at + 1
        elif depth == margin and _CLOSING_WORD.match(line):
            return at + 1
        else:
            return last
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
