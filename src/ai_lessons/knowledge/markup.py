"""Texts in another markup as Markdown, as far as passages need it: headings and code. All else stays as it is written.

reStructuredText is not rendered: docutils leaves out what stands below a directive that it does not know, and those of
Sphinx are what most docs are made of. For AsciiDoc there is no converter in Python.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import InvalidEntry, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

_RST_TITLE = re.compile(r"^(?:(([^\w\s])\2+)[ \t]*\n)?(?![ \t])(?=[^\n]*\w)([^\n]+)\n(([^\w\s])\5+)[ \t]*$", re.M)
_ADOC_TITLE = re.compile(r"(={1,6})[ \t]+(?=\S)")
_ADOC_SOURCE = re.compile(r"\[source,[ \t]*(\w+).*\]")
_ADOC_CODE = re.compile(r"-{4,}|\.{4,}")


def rst(text: str) -> str:
    """Titles that are underlined become headings, of a level for each sort of line in the order of their coming."""
    levels: list[tuple[bool, str]] = []

    def heading(match: re.Match[str]) -> str:
        over, title, under = match[1], match[3].rstrip(), match[4]
        if len(under) < len(title.strip()) or (over and over != under):
            return match[0]
        kind = (bool(over), under[0])
        if kind not in levels:
            levels.append(kind)
        return f"{'#' * min(levels.index(kind) + 1, 6)} {title.strip()}"

    return _RST_TITLE.sub(heading, text)


def adoc(text: str) -> str:
    """Titles become headings, and blocks of code are fenced."""
    rows, made = text.split("\n"), list[str]()
    last = {row.rstrip(" \t"): at for at, row in enumerate(rows)}  # a block that nothing closes is none
    closing = ""
    for at, row in enumerate(rows):
        if closing and row.rstrip(" \t") == closing:
            made.append("```")
            closing = ""
        elif not closing and _ADOC_CODE.fullmatch(row) and last[row] > at:
            source = _ADOC_SOURCE.fullmatch(made[-1]) if made else None
            made[-1 if source else len(made) :] = [f"```{source[1] if source else ''}"]
            closing = row
        elif not closing and row.startswith("```") and last.get("```", at) > at:
            made.append(row)
            closing = "```"
        else:
            made.append(row if closing else _ADOC_TITLE.sub(lambda match: "#" * len(match[1]) + " ", row, count=1))
    return "\n".join(made)


def notebook(text: str) -> str:
    """The cells of a Jupyter notebook, code in fences, without output. Raises InvalidEntry: it is none."""
    try:
        document: Any = json.loads(text)
        language = document.get("metadata", {}).get("language_info", {}).get("name", "")
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in document["cells"]]
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise InvalidEntry([Problem("notebook", "not a Jupyter notebook of version 4")]) from error
    shown = (f"```{language}\n{text}\n```" if kind == "code" else text for kind, text in cells if text.strip())
    return "\n\n".join(shown) + "\n"


MARKUPS: dict[str, Callable[[str], str]] = {".rst": rst, ".adoc": adoc, ".asciidoc": adoc, ".ipynb": notebook}
"""By how the name of a file ends."""
