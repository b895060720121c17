"""How a value is written in frontmatter: block style, two-space indent, quotes only where YAML asks for them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

SORTED_KEYS = frozenset({"tags", "versions", "contexts"})
"""Lists whose order says nothing; kept sorted, because additions in different gaps merge cleanly."""

TIMES = frozenset({"created", "review_by", "reviewed", "source_date"})

KEY_ORDER = (
    "id", "kind", "title", "rationale", "versions", "tags", "confidence", "source", "from", "status", "reason",
    "promoted_to", "path", "source_path", "source_ref", "source_url", "source_date", "etag", "content_hash",
    "interpreter", "created", "category", "review_by", "reviewed", "scope", "contexts", "applies_to", "pattern",
    "links", "when", "do", "dont", "because",
)  # fmt: skip
"""The fixed order of the keys we know, those below `pattern` last. Unknown keys follow in the order they came."""

_PLAIN = re.compile(
    r"[^\W_](?:[^\x00-\x1f\x7f#:]|:(?=[^\s:])|(?<=\S)#)*|[./_(](?:[^\x00-\x1f\x7f#:]|:(?=[^\s:])|(?<=\S)#)*"
)
_WORDS = re.compile(r"(?:y|n|yes|no|on|off|true|false|null|none|nan|inf)", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?[.0-9][0-9_.,:]*(?:e[-+]?[0-9]*)?|0[xob][0-9a-f_]*|[.][a-z]+", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2})?)?")
_FLOW_INDICATOR = re.compile(r"[,\[\]{}:?]")
_ESCAPED = re.compile('[\\\\"\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
_SHORT_ESCAPES = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\", "\r": "\\r"}


def normal(value: Any) -> Any:
    """The value as a parser would give it back: lists, dicts and bare scalars, whatever they were made of."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return list(map(normal, sorted(value) if isinstance(value, set | frozenset) else value))
    return value


def same(left: Any, right: Any) -> bool:
    """Equality of normal values that keeps `1`, `1.0` and `true` apart."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def scalar(value: Any, *, flow: bool = False, timestamp: bool = False) -> str:
    """One value on one line. `flow`: inside `[]` or `{}`. `timestamp`: a day or date-time may stand without quotes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if "e" not in repr(value) else f"{value:.17f}".rstrip("0")  # no exponents: readers differ
    if not isinstance(value, str):
        return repr(value)
    if timestamp and _TIMESTAMP.fullmatch(value):
        return value
    plain = _PLAIN.fullmatch(value) and value.isprintable() and value[-1] not in " :"
    read = _WORDS.fullmatch(value) or _NUMBER.fullmatch(value) or _DATE.fullmatch(value)
    if plain and not read and not (flow and _FLOW_INDICATOR.search(value)):
        return value
    return '"' + _ESCAPED.sub(lambda match: _SHORT_ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}", value) + '"'


def flow(value: Any) -> str:
    """Any value on one line, collections in `[]` and `{}`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key, flow=True)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value, flow=True)


def head_and_lines(key: str, value: Any, indent: int) -> tuple[str, list[str]]:
    """What stands behind `key:` on its line, and the lines below; `indent` is the column of the key."""
    if isinstance(value, dict) and value:
        return "", [line for name, item in value.items() for line in entry_lines(name, item, indent + 2)]
    if isinstance(value, list) and value:
        return "", [line for item in value for line in item_lines(item, indent + 2)]
    if isinstance(value, str) and _is_literal(value):
        lines = value.removesuffix("\n").split("\n")
        return ("|" if value.endswith("\n") else "|-"), [" " * (indent + 2) + line if line else "" for line in lines]
    if isinstance(value, dict | list):
        return flow(value), []
    return scalar(value, timestamp=key in TIMES), []


def _is_literal(text: str) -> bool:
    """True for text of several lines that a literal block carries unchanged and unadorned."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 2 or not lines[0] or not lines[-1] or lines[0][0] in " \t":
        return False
    return all(not line or (not line.isspace() and line.replace("\t", "").isprintable()) for line in lines)


def entry_lines(key: str, value: Any, indent: int = 0) -> list[str]:
    """A key and its value as lines without line ends."""
    head, lines = head_and_lines(key, value, indent)
    first = f"{' ' * indent}{scalar(key)}:"
    return [f"{first} {head}" if head else first, *lines]


def item_lines(value: Any, indent: int) -> list[str]:
    """One item of a block list as lines without line ends; `indent` is the column of the dash."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        lines = [line for key, item in value.items() for line in entry_lines(key, item, indent + 2)]
        return [f"{pad}- {lines[0][indent + 2 :]}", *lines[1:]]
    return [f"{pad}- {flow(value) if isinstance(value, list | dict) else scalar(value)}"]


def rank(key: str) -> int:
    """Place of a key in the fixed order; unknown keys after all others."""
    return KEY_ORDER.index(key) if key in KEY_ORDER else len(KEY_ORDER)


def mapping_lines(fields: Mapping[str, Any]) -> list[str]:
    """The lines of a whole new frontmatter: known keys in the fixed order, then the rest; sorted where sorted."""
    lines = []
    for key in sorted(fields, key=rank):
        value = normal(fields[key])
        if key in SORTED_KEYS and isinstance(value, list):
            value = sorted(value, key=lambda item: (str(item), json.dumps(item, default=str)))
        lines += entry_lines(key, value)
    return lines
