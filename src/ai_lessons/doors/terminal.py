"""Text on a terminal: what may reach it, how wide it is, how columns line up. Knows nothing of entries."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, east_asian_width

from ai_lessons.knowledge.texts import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

STYLES = {"heading": "1", "handle": "36", "dim": "2", "good": "32", "warn": "33", "bad": "31"}
NARROWEST = 12  # A column is never squeezed below this many cells


class View(NamedTuple):
    """How to draw: `width` in cells (None: cut nothing); paths are below `root`, in other tiers below their `roots`."""

    width: int | None = None
    colour: bool = False
    root: str = ""
    home: str = ""
    roots: Mapping[str, str] = MappingProxyType({})

    def paint(self, text: str, style: str) -> str:
        """`text` in a style, where there is colour."""
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.colour and text else text

    def named(self, handle: str, title: str) -> str:
        """`[HANDLE] title`."""
        return f"{self.paint(f'[{line(handle)}]', 'handle')} {line(title)}"

    def place(self, path: str, tier: str = "") -> str:
        """A path of the repository (of a tier) as a person would type it, with `~` for the home folder."""
        root = self.roots.get(tier, self.root)
        full = str(Path(root, path)) if root else path
        home = self.home.rstrip("/")
        return line("~" + full[len(home) :] if home and full.startswith(home + "/") else full)


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person is at the other end. Python has no stream at all where the caller closed it (`<&-`)."""
    return stream is not None and not stream.closed and stream.isatty()


def clean(text: str) -> str:
    """Text of many lines, harmless: line ends become LF, tabs stay, what a terminal would obey is escaped."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return escaped(text.replace("\r\n", "\n"))


def line(text: str) -> str:
    """Text of one line, harmless: any run of white space becomes one space."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text
    return " ".join(clean(text).split())


def cells(text: str) -> int:
    """How many cells of a terminal the text takes: East Asian wide characters two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if east_asian_width(character) in {"W", "F"} else 1


def clip(text: str, width: int) -> str:
    """The text, or as much of its beginning as leaves room for `…`."""
    if cells(text) <= width:
        return text
    used = 0
    for position, character in enumerate(text):
        used += _cell(character)
        if used > width - 1:
            return text[:position].rstrip() + "…"
    return text


def pad(text: str, width: int) -> str:
    """The text with spaces up to `width` cells."""
    return text + " " * (width - cells(text))


def squeeze(widths: Sequence[int], flexible: Sequence[int], room: int) -> list[int]:
    """Column widths that fit into `room` cells (two between columns): the flexible ones give way in their order."""
    fitted = list(widths)
    too_much = sum(fitted) + 2 * (len(fitted) - 1) - room
    for n in flexible:
        given = min(max(too_much, 0), max(fitted[n] - NARROWEST, 0))
        fitted[n] -= given
        too_much -= given
    return fitted


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], view: View, *, flexible: Sequence[int] = ()
) -> list[str]:
    """Aligned lines, two spaces between columns, the header first. Cells are made harmless here.

    On a terminal the `flexible` columns are cut so that a line fits; never the first, which people copy.
    """
    columns = [_harmless(column) for column in zip(*rows, strict=True)] or [[] for _ in header]
    fast = ["".join(column).isascii() for column in columns]
    wide = [max(map(len if plain else cells, column), default=0) for column, plain in zip(columns, fast, strict=True)]
    widths = [max(pair) for pair in zip(map(cells, header), wide, strict=True)]
    if view.width is not None:
        fitted = squeeze(widths, flexible, view.width)
        for n in flexible:
            if fitted[n] < widths[n]:
                columns[n], fast[n] = [clip(cell, fitted[n]) for cell in columns[n]], False
        widths = fitted
    padded = [
        [cell.ljust(width) if plain else pad(cell, width) for cell in column]
        for column, width, plain in zip(columns[:-1], widths, fast, strict=False)
    ]
    first, *others = [*padded, columns[-1]]
    if view.colour:
        first = [view.paint(cell, "handle") for cell in first]
    names = [pad(name, width) for name, width in zip(header[:-1], widths, strict=False)]
    return [view.paint("  ".join([*names, header[-1]]), "heading"), *map("  ".join, zip(first, *others, strict=True))]


def _harmless(column: Sequence[str]) -> list[str]:
    """The cells of a column, harmless; `-` for nothing. One look at the whole column, since most need no more."""
    text = "".join(column)
    if text.isascii() and text.isprintable() and "  " not in text:
        return [cell or "-" for cell in column]
    return [line(cell) or "-" for cell in column]


def size(number: int) -> str:
    """Bytes for people: `1.2 MiB`."""
    value, unit = float(number), 0
    while value >= 1024 and unit < 3:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {('B', 'KiB', 'MiB', 'GiB')[unit]}" if unit else f"{number} B"


def count(number: int, noun: str) -> str:
    """`1 entry`, `1,200 entries`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"
