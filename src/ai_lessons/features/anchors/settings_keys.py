"""The keys of a file of settings with their values: TOML and JSON as they are parsed, YAML by its lines. Pure."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from ai_lessons.features.anchors.parts import Definition, plain, shown
from ai_lessons.model import expression
from ai_lessons.model.texts import toml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Keys of a file that are looked at
_MOST_KEYS = 20_000
# Characters of a line that is looked at
_WIDEST = 2_000
_PARSED: Mapping[str, Callable[[str], Any]] = {".toml": toml, ".json": json.loads, ".lock": toml}
_A_KEY = expression(r"(?<![\w@/-])[\w@/-]++(?=[\"']?\s*[:=\]])")
_YAML_KEY = r"( *)(?:- +)?[\"']?([^\s\"':#{}\[\],&*-][^\"':#{}\[\]]*?)[\"']? *:(?: +(.*))?$"
_YAML_COMMENT = expression(r"\s#.*")


def definition(path: str, text: str, name: str) -> Definition | None:
    """What a file has under a key, or under the end of a key's path if that is one alone."""
    entries = keys(path, text)
    if name in entries:
        return entries[name]
    ending_so = [key for key in entries if key.endswith(f".{name}")]
    if len(ending_so) == 1:
        return entries[ending_so[0]]
    return None


def keys(path: str, text: str) -> dict[str, Definition]:
    """The keys of a file, `table.key`, with their values."""
    suffix = path[path.rfind(".") :].lower()
    parse = _PARSED.get(suffix)
    if parse is None:
        return _yaml_keys(text)
    try:
        whole = parse(text)
    except (ValueError, RecursionError):
        return {}
    rows = _rows_of_keys(text)
    entries: dict[str, Definition] = {}
    # tables to look into: what stands before their keys, and the line of the table
    todo = [("", whole, 0)]
    while todo and len(entries) < _MOST_KEYS:
        within, table, row_above = todo.pop()
        if not isinstance(table, dict):
            continue
        for key, value in table.items():
            row = _first_from(rows.get(str(key), []), row_above)
            name, held = f"{within}{key}", shown(value)
            entries[name] = Definition(held, ((row, row),), held, held)
            todo.append((f"{name}.", value, row))
    return entries


def _rows_of_keys(text: str) -> dict[str, list[int]]:
    """The numbers of the lines in which a word stands as a key."""
    rows: dict[str, list[int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for key in _A_KEY.findall(line[:_WIDEST]):
            rows.setdefault(key, []).append(number)
    return rows


def _first_from(rows: list[int], row_above: int) -> int:
    """The first of these lines that is not above another; else that one."""
    at = bisect_right(rows, row_above - 1)
    if at < len(rows):
        return rows[at]
    return row_above or 1


def _yaml_keys(text: str) -> dict[str, Definition]:
    """The keys of YAML by the indentation of their lines.

    No anchor, tag or flow mapping is looked into.
    """
    # the keys that a line stands below, with their indentation
    above: list[tuple[int, str]] = []
    entries: dict[str, Definition] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(_YAML_KEY, line[:_WIDEST])
        if match is None or len(entries) > _MOST_KEYS:
            continue
        indent = len(match[1])
        if line[indent:].startswith("-"):
            indent += 1
        above = [(at, key) for at, key in above if at < indent]
        above.append((indent, match[2]))
        name = ".".join(key for _, key in above)
        value = plain(_YAML_COMMENT.sub("", match[3] or ""))
        place = ((number, number),)
        entries.setdefault(name, Definition(value, place, value, value or None))
    return entries
