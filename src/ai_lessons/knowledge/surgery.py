"""Changes of YAML text that touch only the lines they mean to. Works on positions; parses nothing, checks nothing.

`markdown.edit` gives it a tree of positioned nodes, applies the splices it plans, and verifies the outcome. So a
splice here may be wrong for YAML of a strange shape (the caller then rewrites the entry), but never silently.
"""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from ai_lessons.knowledge.yaml_text import entry_lines, flow, head_and_lines, item_lines, rank, scalar
from ai_lessons.knowledge.yaml_tree import BLOCK_SCALARS, Node

if TYPE_CHECKING:
    from collections.abc import Sequence

Splice = tuple[int, int, str]
"""Replace text[start:end] by a string."""


def apply(text: str, splices: Sequence[Splice]) -> str:
    """Carry out splices that do not overlap; of two at the same place the first stands first."""
    for start, end, new in sorted(splices, key=lambda splice: splice[:2])[::-1]:
        text = text[:start] + new + text[end:]
    return text


def line_start(text: str, position: int) -> int:
    """Start of the line that holds `position`."""
    return text.rfind("\n", 0, position) + 1


def line_end(text: str, position: int) -> int:
    """Start of the line after the one that holds `position`."""
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


def merged(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """The items of `new` in the order of `old`; additions stand before the first greater item."""
    wanted = {_identity(item) for item in new}
    result = [item for item in old if _identity(item) in wanted]
    present = {_identity(item) for item in result}
    for item in sorted(new, key=_identity):
        if _identity(item) not in present:
            present.add(_identity(item))
            place = next((n for n, other in enumerate(result) if _identity(other) > _identity(item)), len(result))
            result.insert(place, item)
    return result


def _identity(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, sort_keys=True, default=str)


class Surgeon:
    """Plans the splices for one text whose lines end with `newline` and whose nodes are at hand."""

    def __init__(self, text: str, newline: str) -> None:
        self._text = text
        self._newline = newline

    def insert(self, mapping: Node, key: str, value: Any) -> list[Splice]:
        """A new key behind the nearest earlier known key; unknown ones at the end, the earliest at the top."""
        keys, items = mapping.keys or [], mapping.items or []
        if mapping.is_flow:
            return [self._insert_in_flow(mapping, key, value)]
        place = len(keys)
        if (own := rank(key)) < rank(""):
            earlier = [(rank(other.value), n + 1) for n, other in enumerate(keys) if rank(other.value) < own]
            place = max(earlier, default=(0, 0))[1]
        indent = self._column(keys[0].start) if keys else 0
        if place:
            position = line_end(self._text, items[place - 1].end)
        else:
            position = line_start(self._text, keys[0].start) if keys else mapping.end
        return [(position, position, self._lines(entry_lines(key, value, indent)))]

    def _insert_in_flow(self, mapping: Node, key: str, value: Any) -> Splice:
        written = f"{scalar(key, flow=True)}: {flow(value)}"
        if mapping.items:
            end = mapping.items[-1].end
            return end, end, f", {written}"
        return mapping.start, mapping.end, f"{{{written}}}"

    def remove(self, mapping: Node, at: int) -> list[Splice]:
        """Take one key and its value away, and nothing else."""
        keys, items = mapping.keys or [], mapping.items or []
        if not mapping.is_flow:
            return [(line_start(self._text, keys[at].start), line_end(self._text, items[at].end), "")]
        if len(keys) == 1:
            return [(mapping.start, mapping.end, "{}")]
        if at + 1 < len(keys):
            return [(keys[at].start, keys[at + 1].start, "")]
        return [(items[at - 1].end, items[at].end, "")]

    def remove_with_blanks(self, mapping: Node, at: int) -> list[Splice]:
        """Take one key away with the blank lines below it, which a `|+` above would else take for its own."""
        start, end, _ = self.remove(mapping, at)[0]
        blank = re.compile(r"(?:[ \t]*\r?\n)*").match(self._text, end)
        return [(start, blank.end() if blank else end, "")]

    def rewrite(self, mapping: Node, at: int, value: Any) -> list[Splice]:
        """Replace a key's lines whole: for values of a shape that finer cuts cannot follow."""
        key = (mapping.keys or [])[at]
        lines = entry_lines(key.value, value, self._column(key.start))
        return [(*self.remove(mapping, at)[0][:2], self._lines(lines))]

    def replace(self, mapping: Node, at: int, value: Any) -> list[Splice]:
        """Give a key another value with the smallest change that keeps comments and style."""
        key, old = (mapping.keys or [])[at], (mapping.items or [])[at]
        if isinstance(value, list) and value and old.items and not old.is_mapping:
            return self._change_list(key, old, value)
        if mapping.is_flow:
            return [(old.start, old.end, self._after_colon(old) + flow(value))]
        head, lines = head_and_lines(key.value, value, self._column(key.start))
        if old.is_flow and isinstance(value, list | dict):
            head, lines = flow(value), []
        return self._replace_value(key, old, head, lines)

    def _replace_value(self, key: Node, old: Node, head: str, lines: list[str]) -> list[Splice]:
        below = self._lines(lines)
        if old.is_block:
            colon = self._colon(key)
            first = (colon, colon, f" {head}" if head else "")
            return [first, (line_start(self._text, old.start), line_end(self._text, old.end), below)]
        comment = self._block_comment(old)
        end = line_end(self._text, old.end)
        if not lines:
            return [(old.start, old.end, self._after_colon(old) + head + comment)]
        return [(self._colon(key), old.end, (f" {head}" if head else "") + comment), (end, end, below)]

    def _change_list(self, key: Node, old: Node, new: list[Any]) -> list[Splice]:
        before = [item.plain() for item in old.items or ()]
        matcher = SequenceMatcher(None, [*map(_identity, before)], [*map(_identity, new)], autojunk=False)
        splices: list[Splice] = []
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag == "equal":
                continue
            change = self._change_flow if old.is_flow else self._change_block
            splices += change(key, old, (i1, i2), new[j1:j2])
        return splices

    def _change_flow(self, _key: Node, old: Node, span: tuple[int, int], new: list[Any]) -> list[Splice]:
        items, (i1, i2), written = old.items or [], span, ", ".join(map(flow, new))
        if i1 < i2 and new:
            return [(items[i1].start, items[i2 - 1].end, written)]
        if new and i1 < len(items):
            return [(items[i1].start, items[i1].start, f"{written}, ")]
        if new:
            return [(items[-1].end, items[-1].end, f", {written}")]
        if i2 < len(items):
            return [(items[i1].start, items[i2].start, "")]
        return [(items[i1 - 1].end, items[-1].end, "")]

    def _change_block(self, key: Node, old: Node, span: tuple[int, int], new: list[Any]) -> list[Splice]:
        items, (i1, i2) = old.items or [], span
        column = self._column(old.start)
        paired = min(i2 - i1, len(new))
        splices = [self._change_item(old, n, item) for n, item in zip(range(i1, i1 + paired), new, strict=False)]
        splices += [(self._dash_line(old, n), line_end(self._text, items[n].end), "") for n in range(i1 + paired, i2)]
        if more := new[paired:]:
            before = i1 + paired
            position = line_end(self._text, items[before - 1].end if before else self._colon(key))
            splices.append((position, position, self._lines([x for item in more for x in item_lines(item, column)])))
        return splices

    def _change_item(self, old: Node, at: int, value: Any) -> Splice:
        item = (old.items or [])[at]
        if item.items is None and item.style not in BLOCK_SCALARS and not isinstance(value, list | dict):
            return item.start, item.end, self._after_colon(item) + scalar(value)
        lines = item_lines(value, self._column(old.start))
        return self._dash_line(old, at), line_end(self._text, item.end), self._lines(lines)

    def _dash_line(self, old: Node, at: int) -> int:
        """Start of the line with the dash of an item, whose value may begin further down."""
        column, first = self._column(old.start), line_start(self._text, old.start)
        start = line_start(self._text, (old.items or [])[at].start)
        while start > first and self._text[start : start + column + 1] != " " * column + "-":
            start = line_start(self._text, start - 1)
        return start

    def _colon(self, key: Node) -> int:
        return self._text.index(":", key.end) + 1

    def _after_colon(self, old: Node) -> str:
        """An empty value sits right behind its colon or dash and needs a space in front."""
        return " " if self._text[old.start - 1 : old.start] in {":", "-"} and old.start == old.end else ""

    def _block_comment(self, old: Node) -> str:
        """The comment behind the `|` or `>` of a block scalar, with the space before it."""
        if old.style not in BLOCK_SCALARS:
            return ""
        header = self._text[old.start : line_end(self._text, old.start)].rstrip("\r\n")
        found = header.find(" #")
        return header[found:] if found >= 0 else ""

    def _column(self, position: int) -> int:
        return position - line_start(self._text, position)

    def _lines(self, lines: list[str]) -> str:
        return "".join(line + self._newline for line in lines)
