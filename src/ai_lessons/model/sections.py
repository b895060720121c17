"""The sections of a Markdown text, each titled by the headings above it. Pure."""

from __future__ import annotations

from typing import NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.chunks import blocks, lines_of

_IMPORT = expression(r"@\S+\s*")


class MarkdownSection(NamedTuple):
    """A part of a text with the headings above it, `line` (from 1) where it begins."""

    title: str
    body: str
    line: int


def sections(text: str) -> list[MarkdownSection]:
    """The sections of a text that hold more than imports (`@docs/more.md`).

    Each is titled by the headings from level 2 on.
    """
    rows = lines_of(text)
    headings = [block for block in blocks(text) if block.level]
    parts = []
    # (level, words) of the headings that a section stands below
    above: list[tuple[int, str]] = []
    title, line, start = "", 1, 0
    for heading in headings:
        body = rows[start : heading.start]
        if _says_something(body):
            parts.append(MarkdownSection(title, "".join(body).strip("\n"), line))
        while above and above[-1][0] >= heading.level:
            above.pop()
        above.append((heading.level, heading.heading))
        title = _title(above)
        line, start = heading.start + 1, heading.end
    body = rows[start:]
    if _says_something(body):
        parts.append(MarkdownSection(title, "".join(body).strip("\n"), line))
    return parts


def _says_something(rows: list[str]) -> bool:
    """Whether a row is neither blank nor an import."""
    for row in rows:
        if row.strip() and not _IMPORT.fullmatch(row):
            return True
    return False


def _title(above: list[tuple[int, str]]) -> str:
    """The headings above a text in one line; that of the whole file only where it is the last."""
    words = []
    for level, heading in above:
        # the heading of level 1 titles the file, and says nothing of a section
        if level > 1 or level == above[-1][0]:
            words.append(heading)
    return ": ".join(words)
