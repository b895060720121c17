"""YAML as a tree of values that know their place. The only home of the YAML package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import yaml

from ai_lessons.errors import InvalidEntry, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 64 * 1024
MAX_DEPTH = 20
MAX_NODES = 5000
BLOCK_SCALARS = frozenset("|>")

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML built without libyaml has only the slow one
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?[0-9]{1,17}\.[0-9]{1,17}")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(slots=True)
class Node:
    """One value with the characters it covers, `start` to `end` of the text; a block ends with its last child.

    `value` holds a scalar; `items` the children of a list; `keys` and `items` in step those of a mapping.
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
            return [item.plain() for item in self.items]
        return {key.value: item.plain() for key, item in zip(self.keys, self.items, strict=True)}


def compose(matter: str, path: str = "", first_line: int = 1) -> Node | None:
    """The positioned nodes of a mapping, which begins on `first_line` of its file; None for comments or nothing.

    Raises InvalidEntry: no plain mapping, larger than `MAX_BYTES`, deeper than `MAX_DEPTH`, more values than
    `MAX_NODES`, with anchors, aliases, tags, several documents or a key twice, or no YAML at all.
    """
    reader = _Reader(matter, path, first_line)
    if len(matter) > MAX_BYTES or len(matter.encode("utf-8", "replace")) > MAX_BYTES:
        reader.refuse(f"the frontmatter is larger than {MAX_BYTES // 1024} KiB", 0)
    try:
        return reader.read()
    except yaml.MarkedYAMLError as error:
        position = error.problem_mark.index if error.problem_mark else 0
        reader.refuse(f"not valid YAML{reader.near()}: {error.problem or error.context}", position, cause=error)
    except yaml.YAMLError as error:
        match = _UNPRINTABLE.search(matter)
        reader.refuse("the frontmatter holds a control character", match.start() if match else 0, cause=error)


class _Reader:
    """Builds nodes from parser events and refuses what we do not read, before any of it is composed."""

    def __init__(self, matter: str, path: str, first_line: int) -> None:
        self._matter, self._path, self._first_line, self._last_key = matter, path, first_line, ""
        self._stack: list[Node] = []
        self._problems: list[Problem] = []

    def read(self) -> Node | None:
        """The root of the tree. One loop and few calls: every file of a repository goes through it."""
        root: Node | None = None
        stack, count = self._stack, 0
        next_event = _Parser(self._matter).get_event  # half the cost of yaml.parse, which asks before it takes
        while (event := next_event()) is not None:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                node = Node(event.start_mark.index, event.end_mark.index, event.value, event.style or "")
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                node = Node(event.start_mark.index, event.end_mark.index, None, "", event.flow_style, [])
                node.keys = [] if kind is yaml.MappingStartEvent else None
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._close(stack.pop(), event.end_mark.index)
                continue
            else:
                self._check_frame(event)
                continue
            count += 1
            if event.anchor is not None or event.tag is not None:
                what = "tags (!name)" if event.anchor is None else "anchors (&name)"
                self.refuse(f"{what} are not read{self.near()}", event.start_mark.index)
            if count > MAX_NODES:
                self.refuse(f"the frontmatter has more than {MAX_NODES} values", event.start_mark.index)
            if stack:
                self._place(stack[-1], node, plain=kind is yaml.ScalarEvent and event.implicit[0])
            elif node.keys is None:
                self.refuse("the frontmatter is not `key: value` (for a horizontal rule write `***`)", node.start)
            else:
                root = node
            if node.items is not None:
                stack.append(node)
                if len(stack) > MAX_DEPTH:
                    self.refuse(f"nested deeper than {MAX_DEPTH} levels{self.near()}", node.start)
        if self._problems:
            raise InvalidEntry(self._problems)
        return root

    def _place(self, parent: Node, node: Node, *, plain: bool) -> None:
        """Hang a node below its parent: as a key if the parent is a mapping that has a value for each key so far."""
        keys, items = parent.keys, parent.items
        if items is None:
            return
        if keys is not None and len(keys) == len(items):
            if node.items is not None or not node.value:
                self.refuse(f"a key is not a word{self.near()}", node.start)
            if len(self._stack) == 1:
                self._last_key = node.value
            keys.append(node)
            return
        if plain and not node.style:
            node.value = _typed(node.value, keys[-1].value if keys else "")
        elif node.style in BLOCK_SCALARS:
            node.end = self._end_of_block(node)
        items.append(node)

    def _close(self, node: Node, end: int) -> None:
        node.end = end if node.is_flow or not node.items else node.items[-1].end
        keys = node.keys
        if keys and len(first := {key.value: key for key in reversed(keys)}) != len(keys):
            again = (key for key in keys if first[key.value] is not key)
            self._problems += [self._problem(f"key {key.value!r} appears twice", key.start) for key in again]

    def _end_of_block(self, node: Node) -> int:
        """The end of a literal or folded text: before its last line end, blank lines included only if they count."""
        written = self._matter[node.start : node.end]
        if "+" in written.partition("\n")[0].partition("#")[0]:
            return node.start + len(written.removesuffix("\n").removesuffix("\r"))
        return node.start + len(written.rstrip())

    def _check_frame(self, event: Any) -> None:
        """Everything that is no value: aliases, and documents within the document."""
        kind = type(event)
        if kind is yaml.AliasEvent:
            self.refuse(f"aliases (*name) are not read{self.near()}", event.start_mark.index)
        if kind in {yaml.DocumentStartEvent, yaml.DocumentEndEvent} and event.explicit:
            self.refuse("more than one YAML document", event.start_mark.index)

    def near(self) -> str:
        """Names the last top-level key that was seen, for messages."""
        return f" at key {self._last_key[:60]!r}" if self._last_key else ""

    def refuse(self, message: str, position: int, *, cause: Exception | None = None) -> NoReturn:
        """Give up on this frontmatter."""
        raise InvalidEntry([*self._problems, self._problem(message, position)]) from cause

    def _problem(self, message: str, position: int) -> Problem:
        return Problem(self._path, message, self._matter.count("\n", 0, position) + self._first_line)


def _typed(text: str, key: str) -> Any:
    """A plain scalar as what it is meant to be; see the head of this module for what stays text."""
    if text in _PLAIN_WORDS:
        return _PLAIN_WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if key == "weight" and _FLOAT.fullmatch(text) else text
