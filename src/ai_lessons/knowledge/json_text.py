"""Changes in the text of a JSON file that leave every other byte as it is: parts are added at the end and cut out."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Ours: TypeAlias = Callable[[tuple[str | int, ...], Any], bool]

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\"")
_DECODER = json.JSONDecoder()


class JsonValue(NamedTuple):
    """A value from `start` to `end` of the text, and its parts by key or place; `since` ends what stands before it."""

    since: int
    start: int
    end: int
    parts: Mapping[str | int, JsonValue]


def with_added(text: str, additions: Mapping[str, Any]) -> str:
    """The text of a table with what `more` has: tables are joined, elements of lists put behind those that are there.

    Raises ValueError: it is no table, or something else stands in the place of a table or list of `more`.
    """
    indent = _INDENT.search(text)
    step, feed = indent[1] if indent else "  ", "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        return json.dumps(additions, indent=step, ensure_ascii=False).replace("\n", feed)
    spots = sorted(_insertions(text, _read(text, _skip(text, 0)), additions, (feed, step), 1), key=lambda spot: spot[0])
    for at, new in reversed(spots):
        text = text[:at] + new + text[at:]
    return text


def _insertions(
    text: str, part: JsonValue, additions: Any, style: tuple[str, str], depth: int
) -> Iterator[tuple[int, str]]:
    """What to put where; of one place all at once."""
    if text[part.start] != ("{" if isinstance(additions, dict) else "["):
        raise ValueError(f"{text[part.start : part.end]:.40} stands in the way")
    feed, step = style
    new = []
    for key, value in additions.items() if isinstance(additions, dict) else ((None, value) for value in additions):
        if key is not None and key in part.parts:
            yield from _insertions(text, part.parts[key], value, style, depth + 1)
        else:
            name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
            lines = json.dumps(value, indent=step, ensure_ascii=False).split("\n")
            new.append(f"{feed}{step * depth}{name}" + f"{feed}{step * depth}".join(lines))
    if new:
        last = max((value_part.end for value_part in part.parts.values()), default=part.start + 1)
        yield last, ("," if part.parts else "") + ",".join(new)


def without(text: str, ours: Ours) -> str:
    """The text without the parts that are ours by path and value; what `with_added` has put in goes to the byte.

    A table or list that spans lines goes when nothing is left in it; `{}`, as people write it, was there before. Empty:
    nothing is left. Raises ValueError: the text is no JSON.
    """
    whole = _read(text, _skip(text, 0))
    gone = list(_cuts(text, whole, json.loads(text), ours, ()))
    if (whole.start, whole.end) in gone:
        return ""
    for start, end in reversed(gone):
        text = text[:start] + text[end:]
    return text


def _cuts(text: str, part: JsonValue, value: Any, ours: Ours, path: tuple[str | int, ...]) -> Iterator[tuple[int, int]]:
    """Spans to cut, in the order of the text; the whole value where nothing is left in it."""
    cuts: list[tuple[int, int]] = []
    end, stays = part.start + 1, False
    for key, inner in part.parts.items():
        below = (*path, key)
        whole = [(inner.start, inner.end)]
        inner_cuts = whole if ours(below, value[key]) else list(_cuts(text, inner, value[key], ours, below))
        if inner_cuts != whole:
            cuts, stays = [*cuts, *inner_cuts], True
        elif stays:
            cuts.append((inner.since, inner.end))
        else:  # before the first that stays it is the comma behind it that goes
            comma = _skip(text, inner.end)
            cuts.append((end, comma + 1 if text[comma] == "," else inner.end))
            end = cuts[-1][1]
    emptied = cuts and not stays and "\n" in text[end : part.end]
    yield from [(part.start, part.end)] if emptied else cuts


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _read(text: str, at: int, since: int = 0) -> JsonValue:
    """The value at this place. Raises ValueError."""
    if text[at : at + 1] not in {"{", "["}:
        return JsonValue(since, at, _DECODER.raw_decode(text, at)[1], {})
    parts: dict[str | int, JsonValue] = {}
    end = at + 1
    while text[here := _skip(text, end)] not in "}]":
        here = _skip(text, here + 1) if text[here] == "," else here
        key: str | int = len(parts)
        if text[at] == "{":
            key, colon = _DECODER.raw_decode(text, here)
            here = _skip(text, _skip(text, colon) + 1)
        if key in parts:
            raise ValueError(f"{key!r} is stated twice")
        parts[key] = _read(text, here, end)
        end = parts[key].end
    return JsonValue(since, at, here + 1, parts)
