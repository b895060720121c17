"""The frontmatter of other people's files, as far as it can be understood, and what of it was mended. Pure.

Their tools read with parsers of their own: what is no YAML for us is plain text for them.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ai_lessons.errors import InvalidEntry
from ai_lessons.model import expression
from ai_lessons.model.markdown import parse_mapping
from ai_lessons.model.texts import BOM, cut, foreign
from ai_lessons.model.yaml_edit import MAX_BYTES

_KEY = expression(r"([^\s#\-\"'\[{][^:\n]{0,80}?)[ \t]*:(?:[ \t]+(.*)|[ \t]*)")
_BLOCK = expression(r"[>|][-+1-9]*[ \t]*(?:#.*)?")
_ITEM = expression(r"([ \t]*)-[ \t]+(.*)")


class Mended(NamedTuple):
    """A text whose frontmatter can be read, and in words what was mended in it, as few as that took."""

    text: str
    repairs: tuple[str, ...] = ()


def mended(text: str) -> Mended:
    """A text of another program with frontmatter that we can read.

    The same text where it can be read already.
    """
    text = text.replace("\r\n", "\n")
    plain = text.removeprefix(BOM)
    repairs: list[str] = []
    below = plain.lstrip("\n \t")
    if below != plain and below.startswith("---\n") and cut(below).matter is not None:
        plain = below
        repairs.append("blank lines above it taken away")
    opening, matter, closing, body = cut(plain)
    if matter is None or foreign(plain) or not matter.strip() or _is_read(matter):
        if repairs:
            return Mended(plain, tuple(repairs))
        return Mended(text)
    new, done = _mended_matter(matter)
    if not _is_read(new):
        # nothing is lost: a reader sees it above the text
        words = body.lstrip("\n")
        fenced = f"```yaml\n{matter}```\n\n{words}"
        return Mended(fenced, (*repairs, "it cannot be read, and stands in the text"))
    return Mended(f"{opening}{new}{closing}{body}", (*repairs, *done))


def _is_read(matter: str) -> bool:
    try:
        parse_mapping(matter)
    except InvalidEntry:
        return False
    return True


def _mended_matter(matter: str) -> tuple[str, list[str]]:
    """The lines of frontmatter, key by key, each as it is or as it can be read."""
    if len(matter) > MAX_BYTES:
        return matter, []
    blocks: list[list[str]] = [[]]
    for row in matter.removesuffix("\n").split("\n"):
        if _KEY.fullmatch(row):
            blocks.append([])
        blocks[-1].append(row)
    rows: list[str] = []
    repairs: list[str] = []
    keys: set[str] = set()
    # the first line is that of the fence
    line = 2
    for block in blocks:
        first, line = line, line + len(block)
        match = None
        if block:
            match = _KEY.fullmatch(block[0])
        if match and match[1] in keys:
            repairs.append(f"line {first}: `{match[1]}` a second time, left out")
            continue
        if match:
            keys.add(match[1])
        new, repair = _mended_block(block)
        rows += new
        if repair:
            repairs.append(f"line {first}: {repair}")
    return _joined(rows), repairs


def _joined(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _mended_block(block: list[str]) -> tuple[list[str], str]:
    """The lines of one key as they can be read, and what was done to them."""
    text = _joined(block)
    if not text.strip() or _is_read(text):
        return block, ""
    match = _KEY.fullmatch(block[0])
    if match is None:
        return [], "what belongs to no key, left out"
    key, value = match[1].strip(), (match[2] or "").strip()
    name = key
    if not _is_read(f"{key}: x\n"):
        name = json.dumps(key, ensure_ascii=False)
    items = _items(block[1:])
    if not value and items:
        quoted = [f"  - {_quoted(item)}" for item in items]
        return [f"{name}:", *quoted], f"items of `{key}` put in quotes"
    # a text over several lines is one
    words = []
    if not _BLOCK.fullmatch(value):
        words.append(value)
    for row in block[1:]:
        if row.strip():
            words.append(row.strip())
    joined = " ".join(words).strip()
    return [f"{name}: {_quoted(joined)}"], f"`{key}` put in quotes"


def _items(rows: list[str]) -> list[str]:
    """The items of a list, if every row is one; else none."""
    items = []
    for row in rows:
        item = _ITEM.fullmatch(row)
        if item is None:
            return []
        items.append(item[2])
    return items


def _quoted(value: str) -> str:
    """A value as YAML reads it: as it is, if it can be, else in quotes."""
    value = value.strip()
    if _is_read(f"x: {value}\n"):
        return value
    # its tool has read its quotes as marks
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    signs = []
    for sign in value:
        if sign.isprintable():
            signs.append(sign)
        else:
            signs.append(" ")
    return json.dumps("".join(signs), ensure_ascii=False)
