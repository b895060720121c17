"""Changes of YAML text that touch only the lines of the keys that they mean to change: comments and order stay."""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.knowledge.yaml_text import (
    SORTED_KEYS,
    entry_lines,
    flow,
    head_and_lines,
    item_lines,
    normal,
    rank,
    same,
    scalar,
)
from ai_lessons.knowledge.yaml_tree import BLOCK_SCALARS, Node, compose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


REMOVE: Final[Any] = object()  # as a value in the changes of `edit_mapping`: take the key away

Splice = tuple[int, int, str]  # Replace text[start:end] by a string


def line_start(text: str, position: int) -> int:
    """Start of the line that holds `position`."""
    return text.rfind("\n", 0, position) + 1


def line_end(text: str, position: int) -> int:
    """Start of the line after the one that holds `position`."""
    return text.find("\n", position) + 1 or len(text)


def _merged(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """The items of `new` in the order of `old`; additions stand before the first greater item."""
    wanted = {_identity(item): item for item in reversed(new)}
    result = [item for item in old if _identity(item) in wanted]
    for item in result:
        wanted.pop(_identity(item), None)
    for name, item in sorted(wanted.items()):
        result.insert(next((n for n, other in enumerate(result) if _identity(other) > name), len(result)), item)
    return result


def _identity(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, sort_keys=True, default=str)


def edit_mapping(
    matter: str, changes: Mapping[str, Any], newline: str = "\n", *, first_line: int = 1, nesting: int = 1
) -> str:
    """The same YAML text with some keys changed, see `markdown.edit`. Its last line must have its line end.

    `nesting`: how many dots of a key may lead below mappings; a key that has dots of its own is meant itself.
    """
    root = compose(matter, "", first_line)
    for name, value in changes.items():
        way = [name] if root is not None and root.find(name) >= 0 else name.split(".", nesting)
        for keys, target in _steps(root, way, value):
            matter = _change(matter, root, keys, target, newline, first_line)
            root = compose(matter, "", first_line)
    return matter


def _steps(node: Node | None, keys: list[str], value: Any) -> list[tuple[list[str], Any]]:
    """The single changes that give the key its value; none if it has it."""
    old = _at(node, keys)
    if value is REMOVE:
        return [(keys, REMOVE)] if old is not None else []
    value = normal(value)
    if keys[-1] in SORTED_KEYS and isinstance(value, list):
        before = old.plain() if old is not None else []
        value = _merged(before if isinstance(before, list) else [], value)
    if old is None:  # set the first key that is missing, or is no mapping, to a mapping of the rest
        while len(keys) > 1 and not ((above := _at(node, keys[:-1])) and above.is_mapping):
            keys, value = keys[:-1], {keys[-1]: value}
        return [(keys, value)]
    if same(old.plain(), value):
        return []
    if isinstance(value, dict) and value and old.is_mapping and old.items:
        gone: dict[str, Any] = {key.value: REMOVE for key in old.keys or () if key.value not in value}
        return [step for key, item in {**value, **gone}.items() for step in _steps(node, [*keys, key], item)]
    return [(keys, value)]


def _at(node: Node | None, keys: list[str]) -> Node | None:
    for key in keys:
        if node is None or (place := node.find(key)) < 0 or node.items is None:
            return None
        node = node.items[place]
    return node


def _change(matter: str, root: Node | None, keys: list[str], value: Any, newline: str, first_line: int) -> str:
    """One change of one key: the finest cut whose result reads back as meant."""
    above = _at(root, keys[:-1])
    if value is REMOVE and len(keys) > 1 and above is not None and len(above.keys or ()) == 1:
        keys = keys[:-1]  # a mapping that lost its last key would read as null
    expected = _expected(root.plain() if root else {}, keys, value)
    for splices in _cuts(matter, root, keys, value, newline):
        result = matter
        for start, end, new in sorted(splices, key=lambda splice: splice[:2])[::-1]:
            result = result[:start] + new + result[end:]
        if reads_as(result, expected):
            return result
    line = matter.count("\n", 0, found.start) + first_line if (found := _at(root, keys)) else first_line
    message = f"key {'.'.join(keys)!r} is written so that it cannot be changed alone"
    raise InvalidEntry([Problem("", message, line)], hint="change it in an editor")


def _cuts(matter: str, root: Node | None, keys: list[str], value: Any, newline: str) -> Iterator[list[Splice]]:
    """Ways to make the change, finest first."""
    for count in range(len(keys)):
        above = _at(root, keys[:count])
        if above is not None and above.is_flow and above.is_mapping:
            written = flow(_expected(above.plain(), keys[count:], value))
            if "#" not in matter[above.start : above.end]:
                yield [(above.start, above.end, written)]
            return
    cutter = _Cutter(matter, newline)
    parent = _at(root, keys[:-1]) or Node(len(matter), len(matter), keys=[], items=[])
    at = parent.find(keys[-1])
    if at < 0:
        yield cutter.insert(parent, keys[-1], value)
    elif value is REMOVE:
        yield cutter.remove(parent, at)
        yield cutter.remove(parent, at, blanks=True)
    else:
        old = (parent.items or [])[at]
        if not (old.is_flow and "#" in matter[old.start : old.end]):
            yield cutter.replace(parent, at, value)
            yield cutter.rewrite(parent, at, value)


def _expected(fields: dict[str, Any], keys: list[str], value: Any) -> dict[str, Any]:
    """The fields as they must read after the change."""
    head, *rest = keys
    if rest:
        old = fields.get(head)
        value = _expected(old if isinstance(old, dict) else {}, rest, value)
    if value is REMOVE:
        return {key: item for key, item in fields.items() if key != head}
    return {**fields, head: value}


def reads_as(matter: str, expected: Mapping[str, Any], shown: Callable[[Any], Any] = dict) -> bool:
    """Whether the text reads as these fields, both as they are `shown`."""
    try:
        root = compose(matter)
    except InvalidEntry:
        return False
    return same(shown(root.plain() if root else {}), shown(expected))


class _Cutter:
    """Plans the splices for one text whose lines end with `newline`, in mappings that are written line by line."""

    def __init__(self, text: str, newline: str) -> None:
        self._text, self._newline = text, newline

    def insert(self, mapping: Node, key: str, value: Any) -> list[Splice]:
        """A new key behind the nearest earlier known key; unknown ones at the end, the earliest at the top."""
        keys, items = mapping.keys or [], mapping.items or []
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

    def remove(self, mapping: Node, at: int, *, blanks: bool = False) -> list[Splice]:
        """Take one key and its value away; `blanks`: with blank lines below, which a `|+` above would take for its."""
        keys, items = mapping.keys or [], mapping.items or []
        end = line_end(self._text, items[at].end)
        if blanks and (blank := re.compile(r"(?:[ \t]*\r?\n)*").match(self._text, end)):
            end = blank.end()
        return [(line_start(self._text, keys[at].start), end, "")]

    def rewrite(self, mapping: Node, at: int, value: Any) -> list[Splice]:
        """Replace a key's lines whole: for values of a shape that finer cuts cannot follow."""
        key = (mapping.keys or [])[at]
        lines = entry_lines(key.value, value, self._column(key.start))
        return [(*self.remove(mapping, at)[0][:2], self._lines(lines))]

    def replace(self, mapping: Node, at: int, value: Any) -> list[Splice]:
        """Give a key another value with the smallest change that keeps comments and style."""
        key, old = (mapping.keys or [])[at], (mapping.items or [])[at]
        if isinstance(value, list) and value and old.items and old.is_block and not old.is_mapping:
            before = [_identity(item.plain()) for item in old.items]
            matcher = SequenceMatcher(None, before, [*map(_identity, value)], autojunk=False)
            changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
            return [s for _, i1, i2, j1, j2 in changed for s in self._change_items(key, old, (i1, i2), value[j1:j2])]
        head, lines = head_and_lines(key.value, value, self._column(key.start))
        if old.is_flow and isinstance(value, list | dict):
            head, lines = flow(value), []
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

    def _change_items(self, key: Node, old: Node, span: tuple[int, int], new: list[Any]) -> list[Splice]:
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
        header = self._text[old.start : line_end(self._text, old.start)].rstrip("\r\n")
        _, sign, comment = header.partition(" #")
        return sign + comment if old.style in BLOCK_SCALARS else ""

    def _column(self, position: int) -> int:
        return position - line_start(self._text, position)

    def _lines(self, lines: list[str]) -> str:
        return "".join(line + self._newline for line in lines)
