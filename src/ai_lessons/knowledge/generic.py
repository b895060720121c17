"""The generic form of a text: without code, and without what ties it to one place. Pure.

Code blocks go as a whole, inline code where it carries a name or is more than a word or two; names, addresses and
paths make way for a word in capitals that says what stood there. Of the frontmatter only title, pattern and rationale
are touched. Doing it again changes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.knowledge import markdown
from ai_lessons.knowledge.bundle import one_line
from ai_lessons.knowledge.evaluation import NO_NAMES, PLACEHOLDER, TOLD, Names, specifics
from ai_lessons.knowledge.passages import code_lines, lines_of
from ai_lessons.knowledge.texts import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BLOCK, INLINE = "(code left out)", "CODE"
"""What stands in the place of code."""

SHORT = 40
"""Characters of inline code that may be a word, a key or the name of a command."""

_PARTS = ("when", "do", "dont", "because")
_FENCED = re.compile(r"((?:[ \t]*>)*[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?:`{3}|~{3})")
_QUOTED = re.compile(r"(?:[ \t]{0,3}>)*[ \t]*")
_HTML = re.compile(r"<(pre|code|script|style)\b[^>]{0,200}>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)


_ROUNDS = 100
"""Passes until nothing changes; what is left after one is a name that its neighbours hid."""


class Generic(NamedTuple):
    """A text in its generic form, and a line for each thing that made way, in order, with what stands there now."""

    text: str
    replaced: tuple[str, ...] = ()


def generic(text: str, names: Names = NO_NAMES) -> Generic:
    """The generic form of the text of a file, with frontmatter or without.

    Raises InvalidEntry: the frontmatter cannot be read, or not be changed key by key.
    """
    said: Counter[str] = Counter()
    matter = _matter(text, names, said)
    head = cut(matter)
    return Generic(matter[: len(matter) - len(head.body)] + _settled(head.body, names, said, _body), _told(said))


def generic_words(text: str, names: Names = NO_NAMES) -> Generic:
    """The generic form of a sentence, or of a text of several lines."""
    said: Counter[str] = Counter()
    return Generic(_settled(text, names, said, _any), _told(said))


def diff(before: str, after: str, path: str = "") -> str:
    """A unified diff of two texts; empty where they are the same."""
    old, new = (text.removesuffix("\n").split("\n") for text in (before, after))
    return "".join(f"{row}\n" for row in unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))


def _told(said: Counter[str]) -> tuple[str, ...]:
    return tuple(what if count == 1 else f"{what} ({count} times)" for what, count in said.items())


def _settled(text: str, names: Names, said: Counter[str], change: Callable[[str, Names, Counter[str]], str]) -> str:
    """The text after as many passes as change anything. Each takes words away that are no placeholders, so it ends."""
    for _ in range(_ROUNDS):
        before, text = text, change(text, names, said)
        if text == before:
            break
    return text


def _matter(text: str, names: Names, said: Counter[str]) -> str:
    old = _sentences(markdown.parse(text).fields)
    new = {key: _settled(value, names, said, _any) for key, value in old.items()}
    changes = {key: one_line(value) if key == "title" else value for key, value in new.items() if value != old[key]}
    return markdown.edit(text, dict(changes)) if changes else text


def _sentences(fields: Mapping[str, Any]) -> dict[str, str]:
    """What of the frontmatter people read as sentences, by its key."""
    pattern = fields.get("pattern")
    parts = {f"pattern.{part}": pattern.get(part) for part in _PARTS} if isinstance(pattern, dict) else {}
    stated = {key: fields.get(key) for key in ("title", "rationale")} | parts
    return {key: value for key, value in stated.items() if isinstance(value, str)}


def _body(text: str, names: Names, said: Counter[str]) -> str:
    text = _without_blocks(text, said)
    text = _HTML.sub(lambda _: _counted(said, "a block of code", BLOCK), text)
    return _sentence(text, names, said)


def _any(text: str, names: Names, said: Counter[str]) -> str:
    """A text of several lines may hold blocks of code, wherever it stands."""
    return (_body if "\n" in text else _sentence)(text, names, said)


def _sentence(text: str, names: Names, said: Counter[str]) -> str:
    def shortened(span: re.Match[str]) -> str:
        if len(span[2]) <= SHORT and "\n" not in span[2] and not specifics(span[2], names):
            return span[0]
        return _counted(said, "inline code", INLINE)

    return _words(_SPAN.sub(shortened, text), names, said)


def _counted(said: Counter[str], what: str, now: str) -> str:
    said[f"{what} -> {now}"] += 1
    return now


def _words(text: str, names: Names, said: Counter[str]) -> str:
    parts, end = [], 0
    for one in specifics(text, names):
        now = PLACEHOLDER[one.sort]
        if one.value != now:
            said[f"{TOLD[one.sort]} {' '.join(one.value.split())} -> {now}"] += 1
        parts += [text[end : one.start], now]
        end = one.end
    return "".join([*parts, text[end:]])


def _without_blocks(text: str, said: Counter[str]) -> str:
    """The text without its fenced and indented blocks of code, wherever they are nested."""
    rows = lines_of(text)
    kept, end = [], 0
    for start, stop in code_lines(text):
        if start < end:  # a block of HTML that holds one
            continue
        before = _before(rows[start])
        newline = "\n" if "\n" in "".join(rows[start:stop]) else ""
        kept += [*rows[end:start], before + _counted(said, "a block of code", BLOCK) + newline]
        end = stop
    return "".join([*kept, *rows[end:]])


def _before(row: str) -> str:
    """What of the first line of a block says to which list or quotation it belongs."""
    fenced = _FENCED.match(row)
    if fenced:
        return fenced[1]
    quoted = _QUOTED.match(row)
    before = quoted[0].expandtabs(4) if quoted else ""
    marks = before.rstrip(" ")
    return marks + " " * max(len(before) - len(marks) - 4, 0)  # four columns made it code
