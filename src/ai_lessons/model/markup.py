"""Other markup as Markdown, as far as searches read it: ReStructuredText, AsciiDoc, notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.model import expression

_RST_TITLE = expression(
    r"^(?:(([^\w\s])\2+)[ \t]*\n[ \t]*|(?![ \t]))(?=[^\n]*\w)([^\n]+)\n(([^\w\s])\5+)[ \t]*$",
    re.MULTILINE,
)


_RST_ROLE = expression(
    r"(?<![\w`]):[a-zA-Z][\w:+.-]{0,60}:`[~!]?([^`<\n]{1,200}?)(?:\s*<[^`>\n]{1,200}>)?`"
)


_RST_LINK = expression(r"(?<![\w`])`([^`<\n]{1,200}?)\s*<([^`>\s]{1,500})>`__?")
_RST_NOTE = expression(r"[ \t]?\[(?:\d{1,4}|[#*][\w-]{0,40}|[A-Z][\w-]{0,40})\]_(?!\w)")
_RST_REFERENCE = expression(r"(?<![\w`:])`([^`<>\n]{1,200})`__?(?!\w)")
_RST_SUBSTITUTED = expression(r"(?<![\w|])\|([\w][\w .-]{0,60})\|(?:__?)?(?![\w|])")
_RST_FIELD = expression(
    r"\A([ \t]*+):(param|parameter|arg|type|raises|raise|returns?|rtype|yields?)[ "
    r"\t]?([^:\n]{0,100}):[ \t]++(?=\S)"
)


_RST_CODE = expression(
    r"\.\.[ \t]+(?:code-block|sourcecode|code|highlight)::[ \t]*+([\w+-]*+)[ "
    r"\t]*|(?!\.\.[ \t])(?:.*\S)?::"
)


_RST_DIRECTIVE = expression(r"\.\.[ \t]+(?:\|[^|\n]*\|[ \t]+)?([\w:+.-]+)::[ \t]*(.*)")
_RST_SILENT = expression(r"\.\.(?:[ \t]+(?:_|\[|(?![\w:+.|-]+::)).*)?")
_RST_OPTION = expression(r":[\w-]+:(?:\s.*)?")
_RST_TELLS = expression(
    "note|warning|tip|hint|important|caution|danger|attention|error|seealso|admonition|topic"
)


_ADOC_ATTRIBUTE = expression(r":([\w-]{1,60}):[ \t]+(\S[^\n]{0,200})")
_ADOC_USED = expression(r"\{([\w-]{1,60})\}")
_ADOC_TITLE = expression(r"(={1,6})[ \t]+(?=\S)")
_ADOC_SOURCE = expression(r"\[source,[ \t]*+(\w++).*\]")
_ADOC_CODE = expression(r"-{4,}|\.{4,}")


def rst(text: str) -> str:
    """ReStructuredText as far as searches read it.

    Titles are headings, code is fenced, roles and links are their text.

    Titles have a level for each sort of line in the order of their coming. What directives hold
    stays.
    """
    levels: list[tuple[bool, str]] = []

    def heading(match: re.Match[str]) -> str:
        over, title, under = match[1], match[3].strip(), match[4]
        if len(under) < len(title) or (over and over != under):
            return match[0]
        kind = (bool(over), under[0])
        if kind not in levels:
            levels.append(kind)
        return f"{'#' * min(levels.index(kind) + 1, 6)} {title}"

    return "\n".join(_rst_blocks(_RST_TITLE.sub(heading, text).split("\n")))


def _rst_blocks(rows: list[str]) -> Iterator[str]:
    """The lines with code in fences, and without the marks of directives, targets and comments."""
    at = 0
    while at < len(rows):
        row, at = rows[at], at + 1
        start = row.lstrip()
        margin, code = len(row) - len(start), _RST_CODE.fullmatch(start)
        directive = None
        if not code:
            directive = _RST_DIRECTIVE.fullmatch(start)
        end = at
        while end < len(rows) and (not rows[end].strip() or _indent(rows[end]) > margin):
            end += 1
        block = rows[at:end]
        while block and not block[-1].strip():
            block.pop()
        if code and any(map(str.strip, block)):
            if not start.startswith("..") and start != "::":
                # `Run it::` is a sentence, whose second colon says that code follows
                yield _rst_inline(row.rstrip()[:-1])
                yield ""
            yield from _fenced(block, code[1] or "")
            at = end
        elif directive or (_RST_SILENT.fullmatch(start) and not code):
            while at < end and (_RST_OPTION.fullmatch(rows[at].strip()) or not rows[at].strip()):
                at += 1
            if directive and _RST_TELLS.fullmatch(directive[1].lower()) and directive[2]:
                yield row[:margin] + _rst_inline(directive[2])
            if not (directive and directive[1] != "toctree"):
                at = end
        else:
            yield _rst_inline(row)


def _fenced(block: list[str], language: str) -> Iterator[str]:
    """An indented block as a fenced one, without the options above its code."""
    while block and (not block[0].strip() or _RST_OPTION.fullmatch(block[0].strip())):
        block = block[1:]
    margin = min((_indent(row) for row in block if row.strip()), default=0)
    if block:
        yield from (f"```{language}", *(row[margin:] for row in block), "```", "")


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def _rst_inline(row: str) -> str:
    row = _RST_LINK.sub(r"[\1](\2)", _RST_ROLE.sub(r"`\1`", row)).replace("``", "`")
    row = _RST_SUBSTITUTED.sub(r"\1", _RST_NOTE.sub("", _RST_REFERENCE.sub(r"\1", row)))
    if row.lstrip().startswith(":"):
        return _RST_FIELD.sub(_field, row, count=1)
    return row


def without_marks(text: str) -> str:
    """Markdown that was made of reStructuredText, without what its writer left.

    Substitutions, marks of footnotes.
    """
    return _RST_SUBSTITUTED.sub(r"\1", _FOOTNOTE.sub("", text))


_FOOTNOTE = expression(r"[ \t]?\[\[\d{1,4}\]\]\(#[\w-]{1,60}\)")


def _field(match: re.Match[str]) -> str:
    """`:param name: text` as people say it; of a type its name."""
    margin, what, name = match.groups()
    if not name:
        return f"{margin}{what}: "
    if what in {"type", "raises", "raise"}:
        return f"{margin}{name} ({what}): "
    return f"{margin}{name}: "


def adoc(text: str) -> str:
    """Titles become headings, with the values of attributes that stand above, and blocks of code are fenced."""
    attributes: dict[str, str] = {}
    rows, made = text.split("\n"), list[str]()
    # a block that nothing closes is none
    last = {row.rstrip(" \t"): at for at, row in enumerate(rows)}
    closing = ""
    for at, row in enumerate(rows):
        if closing and row.rstrip(" \t") == closing:
            made.append("```")
            closing = ""
        elif not closing and _ADOC_CODE.fullmatch(row) and last[row] > at:
            source = None
            if made:
                source = _ADOC_SOURCE.fullmatch(made[-1])
            fence = "```"
            if source:
                # the line above the block says its language
                made.pop()
                fence += source[1]
            made.append(fence)
            closing = row
        elif not closing and row.startswith("```") and last.get("```", at) > at:
            made.append(row)
            closing = "```"
        elif closing:
            made.append(row)
        else:
            stated = _ADOC_ATTRIBUTE.fullmatch(row.rstrip())
            if stated:
                attributes[stated[1]] = stated[2]
            made.append(_adoc_title(row, attributes))
    return "\n".join(made)


def _adoc_title(row: str, attributes: dict[str, str]) -> str:
    """A line that is a title as a heading; any other as it is."""
    match = _ADOC_TITLE.match(row)
    if not match:
        return row
    words = _ADOC_USED.sub(lambda used: attributes.get(used[1], used[0]), row[match.end() :])
    return f"{'#' * len(match[1])} {words}"


def notebook(text: str) -> str:
    """The cells of a Jupyter notebook, code in fences, without output.

    Raises InvalidEntry: it is none.
    """
    try:
        document: Any = json.loads(text)
        language = document.get("metadata", {}).get("language_info", {}).get("name", "")
        cells = []
        for cell in document["cells"]:
            cells.append((cell["cell_type"], "".join(cell["source"])))
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise InvalidEntry([Problem("notebook", "not a Jupyter notebook of version 4")]) from error
    shown = []
    for kind, source in cells:
        if not source.strip():
            continue
        if kind == "code":
            shown.append(f"```{language}\n{source}\n```")
        else:
            shown.append(source)
    return "\n\n".join(shown) + "\n"


# By how the name of a file ends.
MARKUPS: dict[str, Callable[[str], str]] = {
    ".rst": rst,
    ".adoc": adoc,
    ".asciidoc": adoc,
    ".ipynb": notebook,
}
