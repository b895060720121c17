"""What goes out: answers as JSON, and text aligned for a terminal. Knows no entries.

How text is made harmless, for agents, too, is in `model.plain`, whose names stand here as well.

`--help` loads it, so it compiles no expression and loads nothing else of ours before it is used.
"""

from __future__ import annotations

import os
import re
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model.plain import (
    DATA,
    AgentText,
    answered,
    behind,
    cells,
    clean,
    clip,
    count,
    line,
    origin,
    refused,
    short_name,
    short_note,
    short_place,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import IO

    from ai_lessons.errors import AiLessonsError

__all__ = (  # what `model.plain` does, under the name by which interfaces call it
    "DATA",
    "AgentText",
    "answered",
    "behind",
    "cells",
    "clean",
    "clip",
    "count",
    "line",
    "origin",
    "refused",
    "short_name",
    "short_note",
    "short_place",
)

SCALARS = frozenset({str, int, float, bool, type(None)})


def dump(value: object) -> str:
    """An answer as JSON text.

    An array has one element a line (10,000 entries stay fast and greppable).
    """
    import json

    data = encode(value)
    if isinstance(data, list):
        if data:
            return "[\n" + ",\n".join(map(json.dumps, data)) + "\n]"
        return "[]"
    return json.dumps(data, indent=2)


def encode(value: Any, *, for_agents: bool = False) -> Any:
    """The value as JSON has it. What JSON does not know, such as a path or a date, becomes text.

    A class may have another shape than its fields: `as_json()`, and `for_agents()` for what a model
    reads.
    """
    from ai_lessons.model.entries import fields_of, record

    if type(value) in SCALARS:
        return value
    if isinstance(value, str | int | float | Enum):
        if isinstance(value, Enum):
            return value.value
        return value
    shape = (getattr(value, "for_agents", None) if for_agents else None) or getattr(
        value, "as_json", None
    )
    if shape:
        value = shape()
    elif fields_of(type(value)):
        value = record(value)
    if hasattr(value, "items"):
        by_key = {}
        for key, held in value.items():
            by_key[key if isinstance(key, str | int | float | None) else str(key)] = encode(
                held, for_agents=for_agents
            )
        return by_key
    if isinstance(value, list | tuple):
        results = []
        for element in value:
            results.append(encode(element, for_agents=for_agents))
        return results
    return str(value)


def error(value: AiLessonsError) -> dict[str, Any]:
    """An error, for stderr; an invalid entry also brings its problems."""
    data = {"error": type(value).__name__, "message": value.message, "hint": value.hint}
    problems = getattr(value, "problems", None)
    if problems:
        return data | {"problems": encode(problems)}
    return data


STYLES = {
    "heading": "1",
    "handle": "36",
    "dim": "2",
    "good": "32",
    "warn": "33",
    "bad": "31",
    "match": "1;33",
}
# cells of a readable column
NARROWEST = 12
AGES = (
    (31_557_600, "year"),
    (2_629_800, "month"),
    (604_800, "week"),
    (86_400, "day"),
    (3600, "hour"),
    (60, "minute"),
)
_STYLE = r"\x1b\[[\d;]*m"
# scripts that break a line anywhere
_WIDE = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef"
_PIECE = rf"\s+|[{_WIDE}]|[^\s{_WIDE}]+"
_LEAD = r" *(?:\[[^\]]+\] |[-*+>] |\d+[.)] |(?:note|error|hint): |(?<= ))"


class View(NamedTuple):
    """How to draw: `width` in cells (None: cut nothing).

    Paths are below `root`, in other tiers below their `roots`.

    With `now`, dates show their age. `verbose`: every detail. `framed`: an agent reads it, so each
    result names its origin.
    """

    width: int | None = None
    colour: bool = False
    verbose: bool = False
    framed: bool = False
    now: datetime | None = None
    root: str = ""
    home: str = ""
    roots: Mapping[str, str] = MappingProxyType({})

    def paint(self, text: str, style: str) -> str:
        """`text` in a style, where there is colour."""
        if self.colour and style and text:
            return f"\x1b[{STYLES[style]}m{text}\x1b[0m"
        return text

    def named(self, entry: Any) -> str:
        """`[HANDLE] title` of what has both."""
        return f"{self.paint(f'[{line(entry.handle)}]', 'handle')} {line(entry.title)}"

    def mark(self, text: str, query: str) -> str:
        """`text` with the longer words of a query marked, where there is colour."""
        words = []
        for word in re.findall(r"\w+", query):
            if len(word) > 3 or not word.isascii():
                words.append(re.escape(word))
        if not words or not self.colour:
            return text
        return re.sub(
            rf"(?i)\b(?:{'|'.join(words)})", lambda match: self.paint(match[0], "match"), text
        )

    def day(self, stamp: str) -> str:
        """The day of a date, for a column; on a terminal with its age."""
        if self.now:
            return self.when(stamp)
        return line(stamp[:10])

    def when(self, stamp: str) -> str:
        """A date as a file or git has it; on a terminal the day and its age."""
        from datetime import UTC, datetime

        try:
            then = datetime.fromisoformat(stamp)
        except ValueError:
            then = None
        if then is None or self.now is None:
            return line(stamp)
        seconds = (self.now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds()
        ages = (
            f"{count(int(seconds // size), name)} ago" for size, name in AGES if seconds >= size
        )
        return f"{then:%Y-%m-%d} ({next(ages, 'just now')})"

    def clip(self, text: str, indent: int, *, rows: int = 1) -> str:
        """A text cut to one line of the terminal, or more, each after `indent` cells."""
        if self.width is None:
            return text
        return clip(text, rows * max(self.width - indent, NARROWEST))

    def fit(self, text: str) -> str:
        """Wrap lines at words to the width of the terminal, except fenced code and rows of tables."""
        if self.width is None:
            return text
        rows, fenced = [], False
        for row in text.split("\n"):
            start = row.lstrip()
            fence = start.startswith(("```", "~~~"))
            fenced ^= fence
            rows += [row] if fence or fenced or start.startswith("|") else _broken(row, self.width)
        return "\n".join(rows)

    def place(self, path: str, tier: str = "") -> str:
        """A path of the repository (of a tier) with `~` for the home folder."""
        root = self.roots.get(tier, self.root)
        return self.short(os.path.join(root, path) if root else path)

    def short(self, path: str) -> str:
        """A path with `~` for the home folder."""
        home = self.home.rstrip("/")
        return line("~" + path[len(home) :] if home and f"{path}/".startswith(f"{home}/") else path)


# for agents: paths are relative to the repository, which the head names
BARE = View(verbose=True, framed=True)


def block(head: str, rows: Iterable[str], indent: str = "  ") -> str:
    """A line and, indented below it, the rows that are not empty."""
    return "\n".join([head, *(indent + row.replace("\n", f"\n{indent}") for row in rows if row)])


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether the stream is a terminal. It is None where the caller closed it (`<&-`)."""
    return stream is not None and not stream.closed and stream.isatty()


def _broken(row: str, width: int) -> list[str]:
    """One line wrapped to `width` cells; the lines after the first are indented to its text."""
    if cells(row) <= width:
        return [row]
    lead = re.match(_LEAD, re.sub(_STYLE, "", row))
    if lead:
        hanging = min(len(lead[0]) + 2 * lead[0].isspace(), width // 3)
    else:
        hanging = 0
    rows, used = [""], 0
    for piece in re.findall(_PIECE, row):
        wide = cells(piece)
        if used + wide > width and used > hanging and not piece.isspace():
            rows[-1] = rows[-1].rstrip()
            rows.append(" " * hanging)
            used = hanging
        if not piece.isspace() or used > hanging or len(rows) == 1:
            rows[-1] += piece
            used += wide
    return rows


def pad(text: str, width: int) -> str:
    """The text with spaces up to `width` cells."""
    return text + " " * (width - cells(text))


def squeeze(widths: Sequence[int], flexible: Sequence[int], room: int) -> list[int]:
    """Column widths that fit into `room` cells (two between columns).

    0 for a column that is left out.

    The last of `flexible` is the most important: the others are narrowed first, in their order.
    """
    fitted = list(widths)
    *minor, main = flexible
    # titles get 45 cells before other columns get any
    spare = max(widths[main] - 45, 0)
    too_much = sum(fitted) + 2 * (len(fitted) - 1) - room
    for n in minor:
        if too_much > spare:
            before, fitted[n] = fitted[n] + 2, fitted[n] - (too_much - spare)
            fitted[n] = fitted[n] if fitted[n] >= NARROWEST else 0
            too_much -= before - (fitted[n] + 2 if fitted[n] else 0)
    fitted[main] -= min(max(too_much, 0), max(fitted[main] - NARROWEST, 0))
    return fitted


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    view: View,
    empty: str = "",
    *,
    flexible: Sequence[int] = (),
) -> str:
    """Aligned lines, two spaces between columns, the header first; without rows `empty`.

    Cells are escaped here.

    On a terminal the `flexible` columns are cut or left out so that a line fits: see `squeeze`.
    """
    if not rows:
        return empty
    columns = []
    for name, column in zip(header, zip(*rows, strict=True), strict=True):
        columns.append([name, *_escaped_cells(column)])
    widths = [max(map(cells, column)) for column in columns]
    if view.width is not None and flexible:
        widths = squeeze(widths, flexible, view.width)
        columns = [
            [clip(cell, wide) for cell in column]
            for column, wide in zip(columns, widths, strict=True)
            if wide
        ]
        widths = list(filter(None, widths))
    columns[:-1] = [
        [pad(cell, wide) for cell in column]
        for column, wide in zip(columns[:-1], widths, strict=False)
    ]
    columns[0][1:] = [view.paint(cell, "handle") for cell in columns[0][1:]]
    heading, *lines = map("  ".join, zip(*columns, strict=True))
    return "\n".join([view.paint(heading, "heading"), *lines])


def columns(rows: Sequence[Sequence[str]], view: View) -> str:
    """Aligned lines without a header; the last column is wrapped."""
    if not rows:
        return ""
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)][:-1]
    indent = sum(widths) + 2 * len(widths)
    room = None
    if view.width is not None:
        room = max(view.width - indent, NARROWEST)
    lines = []
    for *before, last in rows:
        start = "".join(pad(cell, wide) + "  " for cell, wide in zip(before, widths, strict=True))
        first, *wrapped = _broken(last, room) if room else [last]
        lines.append(
            "\n".join([(start + first).rstrip(), *(" " * indent + row for row in wrapped)])
        )
    return "\n".join(lines)


def _escaped_cells(column: Sequence[str]) -> list[str]:
    """The cells of a column, safe to print; `-` for an empty one.

    Most columns need only the check of all at once.
    """
    text = "".join(column)
    if text.isascii() and text.isprintable() and "  " not in text:
        return [cell or "-" for cell in column]
    cells: list[str] = []
    for cell in column:
        cells.append(line(cell) or "-")
    return cells


def size(number: int) -> str:
    """Bytes for people: `1.2 MiB`."""
    value, unit = float(number), 0
    while value >= 1024 and unit < 3:
        value, unit = value / 1024, unit + 1
    if unit:
        return f"{value:.1f} {('B', 'KiB', 'MiB', 'GiB')[unit]}"
    return f"{number} B"
