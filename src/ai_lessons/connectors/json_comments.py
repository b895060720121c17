"""JSON as people write settings, with comments: what is added and taken out leaves every other byte. Pure.

Begin with `with_added` and `without`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Ours: TypeAlias = Callable[[tuple[str | int, ...], Any], bool]

_SPACE = expression(r"[ \t\r\n]*")
_INDENT = expression(r"\n([ \t]+)\"")
_DECODER = json.JSONDecoder()
_STRING = r'("(?:[^"\\\n]|\\.)*+"?)'
_COMMENT = expression(rf"{_STRING}|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = expression(rf"{_STRING}|,(?=\s*[}}\]])")


def plain_json(text: str) -> str:
    """JSON of the same length.

    Blanks in place of comments, of commas behind the last value and of a mark of UTF-8.

    Hosts read settings with these, and people write them.
    """
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    text = _COMMENT.sub(lambda match: match[1] or re.sub(r"[^\r\n]", " ", match[0]), text)
    return _LAST_COMMA.sub(lambda match: match[1] or " ", text)


class JsonValue(NamedTuple):
    """A value from `start` to `end` of the text, and its parts by key or place.

    `since` ends what stands before it.
    """

    since: int
    start: int
    end: int
    parts: Mapping[str | int, JsonValue]


def with_added(text: str, additions: Mapping[str, Any]) -> str:
    """The text of a table with what `more` has.

    Tables are joined, elements of lists put behind those that are there.

    Raises ValueError: it is no table, or something else stands in the place of a table or list of
    `more`.
    """
    indent = _INDENT.search(text)
    step, feed = "  ", "\n"
    if indent:
        step = indent[1]
    if "\r\n" in text:
        feed = "\r\n"
    if not text.strip():
        return json.dumps(additions, indent=step, ensure_ascii=False).replace("\n", feed)
    plain = plain_json(text)
    if not plain.strip():
        raise ValueError("nothing but comments")
    whole = _read(plain, _skip(plain, 0))
    spots = sorted(_insertions(plain, whole, additions, (feed, step), 1), key=lambda spot: spot[0])
    for at, new in reversed(spots):
        text = text[:at] + new + text[at:]
    return text


def _insertions(
    text: str, part: JsonValue, additions: Any, style: tuple[str, str], depth: int
) -> Iterator[tuple[int, str]]:
    """What to put where; of one place all at once."""
    is_table = isinstance(additions, dict)
    if text[part.start] != ("{" if is_table else "["):
        raise ValueError(f"{text[part.start : part.end]:.40} stands in the way")
    feed, step = style
    begin = feed + step * depth
    new: list[str] = []
    for key in additions:
        if not is_table:
            # the elements of a list have no keys
            name, value = "", key
        elif key in part.parts:
            yield from _insertions(text, part.parts[key], additions[key], style, depth + 1)
            continue
        else:
            name, value = json.dumps(key, ensure_ascii=False) + ": ", additions[key]
        lines = json.dumps(value, indent=step, ensure_ascii=False).split("\n")
        new.append(begin + name + begin.join(lines))
    if not new:
        return
    if part.parts:
        last = max(value_part.end for value_part in part.parts.values())
        yield last, "," + ",".join(new)
    else:
        yield part.start + 1, ",".join(new)


def without(text: str, ours: Ours) -> str:
    """The text without the parts that are ours by path and value.

    What `with_added` has put in goes to the byte.

    A table or list that spans lines goes when nothing is left in it; `{}`, as people write it, was
    there before. Empty: nothing is left. Raises ValueError: the text is no JSON.
    """
    plain = plain_json(text)
    if not plain.strip():
        return text
    whole = _read(plain, _skip(plain, 0))
    gone = list(_cuts((text, plain), whole, json.loads(plain), ours, ()))
    if (whole.start, whole.end) in gone and not _comments((text, plain), 0, len(text)):
        return ""
    for start, end in reversed(gone):
        text = text[:start] + text[end:]
    return text


def _comments(forms: tuple[str, str], start: int, end: int) -> bool:
    """Whether there are comments in a span of the text."""
    return forms[0][start:end].replace(",", " ") != forms[1][start:end].replace(",", " ")


def _cuts(
    forms: tuple[str, str], part: JsonValue, value: Any, ours: Ours, path: tuple[str | int, ...]
) -> Iterator[tuple[int, int]]:
    """Spans to cut, in the order of the text (and of its plain form).

    The whole value where nothing is left in it.
    """
    cuts: list[tuple[int, int]] = []
    text, (end, stays) = forms[1], (part.start + 1, False)
    for key, inner in part.parts.items():
        below = (*path, key)
        whole = [(inner.start, inner.end)]
        if ours(below, value[key]):
            inner_cuts = whole
        else:
            inner_cuts = list(_cuts(forms, inner, value[key], ours, below))
        if inner_cuts != whole:
            cuts, stays = [*cuts, *inner_cuts], True
        elif stays:
            comma = _skip(text, inner.since)
            name = _skip(text, comma + 1)
            # the user's
            kept = _comments(forms, inner.since, name)
            if kept:
                cuts += [(comma, comma + 1), (name, inner.end)]
            else:
                cuts.append((inner.since, inner.end))
        else:
            # nothing stays before it, so the comma behind it goes with it
            comma, name = _skip(text, inner.end), _skip(text, end)
            begin, behind = end, inner.end
            if _comments(forms, end, name):
                # a comment of the user's, before it
                begin = name
            if text[comma] == ",":
                behind = comma + 1
            cuts.append((begin, behind))
            end = behind
    if cuts and not stays and "\n" in text[end : part.end]:
        before = _comments(forms, part.start, cuts[0][0])
        if not before and not _comments(forms, cuts[-1][1], part.end):
            # a table that we made, of which nothing is left
            yield part.start, part.end
            return
    yield from cuts


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    if match:
        return match.end()
    return at


def _read(text: str, at: int, since: int = 0) -> JsonValue:
    """The value at this place. Raises ValueError."""
    if text[at : at + 1] not in {"{", "["}:
        return JsonValue(since, at, _DECODER.raw_decode(text, at)[1], {})
    parts: dict[str | int, JsonValue] = {}
    end = at + 1
    while text[here := _skip(text, end)] not in "}]":
        if text[here] == ",":
            here = _skip(text, here + 1)
        key: str | int = len(parts)
        if text[at] == "{":
            key, colon = _DECODER.raw_decode(text, here)
            here = _skip(text, _skip(text, colon) + 1)
        if key in parts:
            raise ValueError(f"{key!r} is stated twice")
        parts[key] = _read(text, here, end)
        end = parts[key].end
    return JsonValue(since, at, here + 1, parts)
