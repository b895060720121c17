"""Markdown with frontmatter: text to fields and body, and changes that leave the rest alone.

Reads and writes strings only. Where the frontmatter ends is decided in `texts`, what may stand in it in `yaml_tree`,
how it is written in `yaml_text`, where the knife goes in `surgery`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.knowledge.surgery import Splice, Surgeon, apply, merged
from ai_lessons.knowledge.texts import cut, split
from ai_lessons.knowledge.yaml_text import SORTED_KEYS, mapping_lines, normal, same
from ai_lessons.knowledge.yaml_tree import Node, compose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class _Remove:
    """The type of `REMOVE`."""

    def __repr__(self) -> str:
        return "REMOVE"


REMOVE: Final = _Remove()
"""As a value in the changes of `edit`: take the key away."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text taken apart. `body` is exactly what stands below the frontmatter, first blank line and all."""

    fields: dict[str, Any]
    body: str
    has_frontmatter: bool


def parse(text: str, path: str = "") -> Document:
    """Take a text apart.

    Raises:
        InvalidEntry: the frontmatter is no plain mapping, too big or too deep, uses anchors, aliases, tags or
            a key twice, or is no YAML at all. Lines count from the start of the file.
    """
    matter, body = split(text)
    if matter is None:
        return Document({}, body, has_frontmatter=False)
    return Document(parse_mapping(matter, path, first_line=2), body, has_frontmatter=True)


def parse_mapping(matter: str, path: str = "", *, first_line: int = 1) -> dict[str, Any]:
    """The fields of YAML text that is not wrapped in a Markdown file; the same limits and errors as `parse`."""
    root = compose(matter, path, first_line)
    fields: dict[str, Any] = root.plain() if root else {}
    return fields


def key_lines(text: str) -> dict[str, int]:
    """The line of the file (from 1) on which each top-level key stands; empty where there is no valid frontmatter."""
    matter, _ = split(text)
    try:
        root = compose(matter, "") if matter is not None else None
    except InvalidEntry:
        return {}
    keys = root.keys or [] if root is not None and matter is not None else []
    return {key.value: (matter or "").count("\n", 0, key.start) + 2 for key in keys}


def render(fields: Mapping[str, Any], body: str) -> str:
    """The text of a new file, LF, keys in the fixed order. Never for a file that a person may have written."""
    return "---\n" + "".join(f"{line}\n" for line in mapping_lines(fields)) + f"---\n{body}"


def edit(text: str, changes: Mapping[str, Any], body: str | None = None) -> str:
    """The same text with some keys changed, and nothing else: comments, order, quotes, line ends all stay.

    A key may be dotted to reach below a mapping (`pattern.do`); `REMOVE` takes it away; a mapping as the value
    replaces a mapping key by key. `tags`, `versions` and `contexts` are sets: what stays keeps its place, additions
    are sorted in. A key that has the value already is not touched. `body` replaces the body exactly as given.
    A file without frontmatter gets one in front.

    Raises:
        InvalidEntry: the frontmatter is invalid, or written so that a key cannot be changed without touching others.
    """
    opening, matter, closing, old_body = cut(text)
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    changed = edit_mapping(matter or "", changes, newline, first_line=2)
    new_body = old_body if body is None else body
    if matter is None:
        if not changed:
            return opening + new_body
        opening, closing = f"{opening}---{newline}", f"---{newline}"
    if new_body and not closing.endswith("\n"):
        closing += newline
    return opening + changed + closing + new_body


def edit_mapping(
    matter: str, changes: Mapping[str, Any], newline: str = "\n", *, first_line: int = 1, nesting: int = 1
) -> str:
    """`edit` for YAML text that is not wrapped in a Markdown file. Its last line must have its line end.

    `nesting`: how many dots of a key may lead below mappings.
    """
    root = compose(matter, "", first_line)
    for name, value in changes.items():
        for keys, target in _steps(root, _keys(root, name, nesting), value):
            matter = _change(matter, root, keys, target, newline, first_line)
            root = compose(matter, "", first_line)
    return matter


def _keys(root: Node | None, name: str, nesting: int) -> list[str]:
    """A dotted name as the way to its value; a key that has dots of its own is meant itself."""
    return [name] if root is not None and root.find(name) >= 0 else name.split(".", nesting)


def _steps(node: Node | None, keys: list[str], value: Any) -> list[tuple[list[str], Any]]:
    """The single changes that give the key its value; none if it has it."""
    old = _at(node, keys)
    if value is REMOVE:
        return [(keys, REMOVE)] if old is not None else []
    value = normal(value)
    if keys[-1] in SORTED_KEYS and isinstance(value, list):
        before = old.plain() if old is not None else []
        value = merged(before if isinstance(before, list) else [], value)
    if old is None:
        return [_shortest(node, keys, value)]
    if same(old.plain(), value):
        return []
    if isinstance(value, dict) and value and old.is_mapping and old.items:
        gone: dict[str, Any] = {key.value: REMOVE for key in old.keys or () if key.value not in value}
        return [step for key, item in {**value, **gone}.items() for step in _steps(node, [*keys, key], item)]
    return [(keys, value)]


def _shortest(node: Node | None, keys: list[str], value: Any) -> tuple[list[str], Any]:
    """Set the first key that is missing, or is no mapping, to a mapping of the rest."""
    for count in range(1, len(keys)):
        found = _at(node, keys[:count])
        if found is None or not found.is_mapping:
            for key in reversed(keys[count:]):
                value = {key: value}
            return keys[:count], value
    return keys, value


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
        result = apply(matter, splices)
        if _reads_as(result, expected):
            return result
    line = matter.count("\n", 0, found.start) + first_line if (found := _at(root, keys)) else first_line
    message = f"key {'.'.join(keys)!r} is written so that it cannot be changed alone"
    raise InvalidEntry([Problem("", message, line)], hint="change it in an editor")


def _cuts(matter: str, root: Node | None, keys: list[str], value: Any, newline: str) -> Iterator[list[Splice]]:
    """Ways to make the change, finest first."""
    surgeon = Surgeon(matter, newline)
    parent = _at(root, keys[:-1])
    if parent is None:
        parent = Node(len(matter), len(matter), keys=[], items=[])
    at = parent.find(keys[-1])
    if at < 0:
        yield surgeon.insert(parent, keys[-1], value)
    elif value is REMOVE:
        yield surgeon.remove(parent, at)
        yield surgeon.remove_with_blanks(parent, at)
    else:
        yield surgeon.replace(parent, at, value)
        yield surgeon.rewrite(parent, at, value)


def _expected(fields: dict[str, Any], keys: list[str], value: Any) -> dict[str, Any]:
    """The fields as they must read after the change."""
    head, *rest = keys
    if rest:
        old = fields.get(head)
        value = _expected(old if isinstance(old, dict) else {}, rest, value)
    if value is REMOVE:
        return {key: item for key, item in fields.items() if key != head}
    return {**fields, head: value}


def _reads_as(matter: str, expected: dict[str, Any]) -> bool:
    try:
        root = compose(matter)
    except InvalidEntry:
        return False
    return same(root.plain() if root else {}, expected)
