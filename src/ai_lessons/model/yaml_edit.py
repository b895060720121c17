"""The YAML of frontmatter: read with the place of each value, and changed without touching what stays.

Home of the YAML package.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

import yaml

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.model import expression
from ai_lessons.model.texts import (
    SORTED_KEYS,
    entry_lines,
    flow,
    head_and_lines,
    item_lines,
    normal,
    rank,
    same,
)

MAX_BYTES = 64 * 1024


class YamlLimits(NamedTuple):
    """How deep and large YAML may be: aliases can make a few lines into millions of nodes."""

    # Collections within each other: ours have three, and Python's recursion ends at about 1,000
    max_depth: int = 20
    # Values of one frontmatter: ours have dozens, and a pulled file must not cost seconds
    max_nodes: int = 5000


YAML = YamlLimits()

BLOCK_SCALARS = frozenset("|>")


# PyYAML built without libyaml has only the slow one
EventParser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_INTEGER = expression(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = expression(r"-?[0-9]{1,17}\.[0-9]{1,17}")
_UNPRINTABLE = expression("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


_PLAIN_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(slots=True)
class Node:
    """One value with the characters it covers, `start` to `end` of the text.

    A block ends with its last child.

    `value` holds a scalar; `items` the children of a list; `keys` and `items` in step those of a
    mapping.
    """

    start: int
    end: int
    value: Any = None
    style: str = ""
    is_flow: bool = False
    items: list[Node] | None = None
    keys: list[Node] | None = None

    @property
    def is_mapping(self) -> bool:
        """True for `key: value` pairs."""
        return self.keys is not None

    @property
    def is_block(self) -> bool:
        """True for a collection written over several lines by indentation."""
        return self.items is not None and not self.is_flow

    def find(self, name: str) -> int:
        """Index of a key of this mapping, -1 if it has none of that name."""
        return next((n for n, key in enumerate(self.keys or ()) if key.value == name), -1)

    def plain(self) -> Any:
        """The bare value: scalars, lists and dicts."""
        if self.items is None:
            return self.value
        if self.keys is None:
            values = []
            for item in self.items:
                values.append(item.plain())
            return values
        return {key.value: item.plain() for key, item in zip(self.keys, self.items, strict=True)}


def compose(matter: str, path: str = "", first_line: int = 1) -> Node | None:
    """The positioned nodes of a mapping, which begins on `first_line` of its file.

    None for comments or nothing.

    Raises InvalidEntry: no plain mapping, larger than `MAX_BYTES`, deeper than `YAML.max_depth`, more
    values than `YAML.max_nodes`, with anchors, aliases, tags, several documents or a key twice, or no
    YAML at all.
    """
    reader = _Reader(matter, path, first_line)
    if len(matter) > MAX_BYTES or len(matter.encode("utf-8", "replace")) > MAX_BYTES:
        reader.refuse(f"the frontmatter is larger than {MAX_BYTES // 1024} KiB", 0)
    try:
        return reader.read()
    except yaml.MarkedYAMLError as error:
        if error.problem_mark:
            position = error.problem_mark.index
        else:
            position = 0
        reader.refuse(
            f"not valid YAML{reader.near()}: {error.problem or error.context}",
            position,
            cause=error,
        )
    except yaml.YAMLError as error:
        match = _UNPRINTABLE.search(matter)
        reader.refuse(
            "the frontmatter holds a control character", match.start() if match else 0, cause=error
        )


class _Reader:
    """Builds nodes from parser events and refuses what we do not read, before any of it is composed."""

    def __init__(self, matter: str, path: str, first_line: int) -> None:
        self._matter, self._path, self._first_line, self._last_key, self._count = (
            matter,
            path,
            first_line,
            "",
            0,
        )
        self._problems: list[Problem] = []

    def read(self) -> Node | None:
        """The root of the tree."""
        root: Node | None = None
        # half the cost of yaml.parse, which asks before it takes
        self._next = EventParser(self._matter).get_event
        while (event := self._next()) is not None:
            position = event.start_mark.index
            if type(event) is yaml.MappingStartEvent:
                root = self._node(event, "", 0)
            elif isinstance(event, yaml.NodeEvent):
                self.refuse(
                    "the frontmatter is not `key: value` (for a horizontal rule write `***`)",
                    position,
                )
            elif getattr(event, "explicit", False):
                self.refuse("more than one YAML document", position)
        if self._problems:
            raise InvalidEntry(self._problems)
        return root

    def _node(self, event: Any, key: str | None, depth: int) -> Node:
        """The node that begins with an event, `depth` collections deep: the value of `key`.

        None: a key itself.
        """
        kind, start = type(event), event.start_mark.index
        self._count += 1
        if kind is yaml.AliasEvent:
            self.refuse(f"aliases (*name) are not read{self.near()}", start)
        if event.anchor is not None or event.tag is not None:
            if event.anchor is None:
                what = "tags (!name)"
            else:
                what = "anchors (&name)"
            self.refuse(f"{what} are not read{self.near()}", start)
        if self._count > YAML.max_nodes:
            self.refuse(f"the frontmatter has more than {YAML.max_nodes} values", start)
        node = Node(start, event.end_mark.index)
        if kind is yaml.ScalarEvent:
            node.value, node.style = event.value, event.style or ""
            if key is not None and event.implicit[0] and not node.style:
                node.value = _typed(node.value, key)
            elif node.style in BLOCK_SCALARS:
                node.end = self._end_of_block(node)
            return node
        if depth == YAML.max_depth:
            self.refuse(f"nested deeper than {YAML.max_depth} levels{self.near()}", start)
        node.is_flow, node.items = event.flow_style, []
        if kind is yaml.MappingStartEvent:
            keys: list[Node] | None = []
        else:
            keys = None
        node.keys = keys
        while type(event := self._next()) not in {yaml.MappingEndEvent, yaml.SequenceEndEvent}:
            if keys is None or len(keys) > len(node.items):
                node.items.append(self._node(event, keys[-1].value if keys else "", depth + 1))
            else:
                keys.append(self._key(event, depth + 1))
        if node.items and not node.is_flow:
            node.end = node.items[-1].end
        else:
            node.end = event.end_mark.index
        if keys and len(first := {name.value: name for name in reversed(keys)}) != len(keys):
            again = (name for name in keys if first[name.value] is not name)
            self._problems += [
                self._problem(f"key {name.value!r} appears twice", name.start) for name in again
            ]
        return node

    def _key(self, event: Any, depth: int) -> Node:
        key = self._node(event, None, depth)
        if not key.value:
            self.refuse(f"a key is not a word{self.near()}", key.start)
        if depth == 1:
            self._last_key = key.value
        return key

    def _end_of_block(self, node: Node) -> int:
        """The end of a literal or folded text.

        Before its last line end, blank lines included only if they count.
        """
        written = self._matter[node.start : node.end]
        if "+" in written.partition("\n")[0].partition("#")[0]:
            return node.start + len(written.removesuffix("\n").removesuffix("\r"))
        return node.start + len(written.rstrip())

    def near(self) -> str:
        """Names the last top-level key that was seen, for messages."""
        if self._last_key:
            return f" at key {self._last_key[:60]!r}"
        return ""

    def refuse(self, message: str, position: int, *, cause: Exception | None = None) -> NoReturn:
        """Give up on this frontmatter."""
        raise InvalidEntry([*self._problems, self._problem(message, position)]) from cause

    def _problem(self, message: str, position: int) -> Problem:
        return Problem(
            self._path, message, self._matter.count("\n", 0, position) + self._first_line
        )


def _typed(text: str, key: str) -> Any:
    """A plain scalar as null, a boolean, a whole number or a weight.

    All else, dates too, stays text.
    """
    if text in _PLAIN_WORDS:
        return _PLAIN_WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if key == "weight" and _FLOAT.fullmatch(text):
        return float(text)
    return text


# as a value in the changes of `edit_mapping`: take the key away
REMOVE: Final[Any] = object()


# Replace text[start:end] by a string
Splice = tuple[int, int, str]
_BLANK = expression(r"(?:[ \t]*\r?\n)+")


def line_start(text: str, position: int) -> int:
    """Start of the line that holds `position`."""
    return text.rfind("\n", 0, position) + 1


def line_end(text: str, position: int) -> int:
    """Start of the line after the one that holds `position`."""
    return text.find("\n", position) + 1 or len(text)


def _merged(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """The items of `new` in the order of `old`; additions stand before the first greater item."""
    additions = {_identity(item): item for item in reversed(new)}
    result = [item for item in old if _identity(item) in additions]
    for item in result:
        additions.pop(_identity(item), None)
    for name, item in sorted(additions.items()):
        result.insert(
            next((n for n, other in enumerate(result) if _identity(other) > name), len(result)),
            item,
        )
    return result


def _identity(item: Any) -> str:
    if isinstance(item, str):
        return item
    return json.dumps(item, sort_keys=True, default=str)


def edit_mapping(
    matter: str,
    changes: Mapping[str, Any],
    newline: str = "\n",
    *,
    first_line: int = 1,
    nesting: int = 1,
) -> str:
    """The same YAML text with some keys changed, see `markdown.edit`.

    Its last line must have its line end.

    `nesting`: how many dots of a key may lead below mappings; a key that has dots of its own is
    meant itself.
    """
    for name, value in changes.items():
        root = compose(matter, "", first_line) or Node(len(matter), len(matter), keys=[], items=[])
        if root.find(name) >= 0:
            keys = [name]
        else:
            keys = name.split(".", nesting)
        matter = _change(
            matter, root, keys, _changed(root.plain(), keys, value), newline, first_line
        )
    return matter


def _changed(fields: dict[str, Any], keys: Sequence[str], value: Any) -> dict[str, Any]:
    """The fields with a value below these keys.

    A mapping goes with its last key: an empty one would read as null.
    """
    head, *below = keys
    old = fields.get(head)
    if value is REMOVE and (head not in fields or (below and not isinstance(old, dict))):
        return fields
    if below:
        inner = _changed(old if isinstance(old, dict) else {}, below, value)
        value = inner or (REMOVE if old else inner)
    elif value is not REMOVE:
        value = normal(value)
        if head in SORTED_KEYS and isinstance(value, list):
            value = _merged(old if isinstance(old, list) else [], value)
    if value is REMOVE:
        remaining: dict[str, Any] = {}
        for key, item in fields.items():
            if key != head:
                remaining[key] = item
        return remaining
    return {**fields, head: value}


def _change(
    matter: str,
    root: Node,
    keys: Sequence[str],
    fields: dict[str, Any],
    newline: str,
    first_line: int,
) -> str:
    """The text that reads as these fields, which differ below some keys.

    With the finest cuts that do it.
    """
    if same(root.plain(), fields):
        return matter
    for fine in (True, False):
        result = matter
        cuts = sorted(_cuts(matter, root, fields, newline, fine=fine), key=lambda cut: cut[:2])
        for start, end, new in reversed(cuts):
            result = result[:start] + new + result[end:]
        if reads_as(result, fields):
            return result
    place = root.find(keys[0])
    if root.keys and place >= 0:
        line = matter.count("\n", 0, root.keys[place].start) + first_line
    else:
        line = first_line
    message = f"key {'.'.join(keys)!r} is written so that it cannot be changed alone"
    raise InvalidEntry([Problem("", message, line)], hint="change it in an editor")


def _cuts(
    matter: str, mapping: Node, fields: dict[str, Any], newline: str, *, fine: bool
) -> Iterator[Splice]:
    """What makes a mapping read as these fields.

    Not `fine`: whole lines for each value that changes.
    """
    if mapping.is_flow:
        if "#" not in matter[mapping.start : mapping.end]:
            yield mapping.start, mapping.end, flow(fields)
        return
    for key, old in zip(mapping.keys or (), mapping.items or (), strict=True):
        start, end = line_start(matter, key.start), line_end(matter, old.end)
        if key.value not in fields:
            # which a `|+` above would take for its own
            blank = None
            if not fine:
                blank = _BLANK.match(matter, end)
            yield start, blank.end() if blank else end, ""
            continue
        value = fields[key.value]
        if same(old.plain(), value):
            continue
        head, below = head_and_lines(key.value, value, key.start - start)
        if old.is_flow and isinstance(value, list | dict):
            head, below = flow(value), []
        if isinstance(value, dict) and value and old.is_mapping and old.items:
            yield from _cuts(matter, old, value, newline, fine=fine)
        elif old.is_flow and "#" in matter[old.start : old.end]:
            return
        elif fine and isinstance(value, list) and value and old.is_block and not old.is_mapping:
            yield _changed_items(matter, old, value, newline)
        elif fine and not (below or old.is_block or old.style in BLOCK_SCALARS):
            empty = old.start == old.end and matter[old.start - 1 : old.start] == ":"
            yield old.start, old.end, f" {head}" if empty else head
        else:
            yield start, end, _joined(entry_lines(key.value, value, key.start - start), newline)
    for name in sorted(fields, key=rank):
        if mapping.find(name) < 0:
            yield _insertion(matter, mapping, name, fields[name], newline)


def _insertion(matter: str, mapping: Node, key: str, value: Any, newline: str) -> Splice:
    """A new key behind the nearest earlier known key.

    Unknown ones at the end, the earliest at the top.
    """
    keys, items = mapping.keys or [], mapping.items or []
    place = len(keys)
    if (own_rank := rank(key)) < rank(""):
        earlier = []
        for n, other in enumerate(keys):
            if rank(other.value) < own_rank:
                earlier.append((rank(other.value), n + 1))
        place = max(earlier, default=(0, 0))[1]
    if keys:
        first = line_start(matter, keys[0].start)
    else:
        first = mapping.end
    if place:
        position = line_end(matter, items[place - 1].end)
    else:
        position = first
    return (
        position,
        position,
        _joined(entry_lines(key, value, keys[0].start - first if keys else 0), newline),
    )


def _changed_items(matter: str, old: Node, value: Sequence[Any], newline: str) -> Splice:
    """A block list with these items: items that it has keep their text, with the comments above."""
    start = at = line_start(matter, old.start)
    written: dict[str, str] = {}
    for item in old.items or ():
        end = line_end(matter, item.end)
        written[_identity(item.plain())] = matter[at:end]
        at = end
    new = (
        written.get(_identity(item)) or _joined(item_lines(item, old.start - start), newline)
        for item in value
    )
    return start, at, "".join(new)


def _joined(lines: Sequence[str], newline: str) -> str:
    return "".join(line + newline for line in lines)


def reads_as(matter: str, expected: Mapping[str, Any], shown: Callable[[Any], Any] = dict) -> bool:
    """Whether the text reads as these fields, both as they are `shown`."""
    try:
        root = compose(matter)
    except InvalidEntry:
        return False
    return same(shown(root.plain() if root else {}), shown(expected))
