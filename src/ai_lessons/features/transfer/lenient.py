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
    blanks = len(plain) - len(plain.lstrip("\n \t"))
    repairs = list[str]()
    if blanks and plain[blanks:].startswith("---\n") and cut(plain[blanks:]).matter is not None:
        plain, repairs = plain[blanks:], ["blank lines above it taken away"]
    opening, matter, closing, body = cut(plain)
    if matter is None or foreign(plain) or not matter.strip() or _is_read(matter):
        return Mended(plain if repairs else text, tuple(repairs))
    new, done = _mended_matter(matter)
    if not _is_read(new):
        fenced = f"```yaml\n{matter}```\n\n{body.lstrip(chr(10))}"
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
    rows, repairs, keys = list[str](), list[str](), set[str]()
    line = 2
    for block in blocks:
        first, line = line, line + len(block)
        new, repair = _mended_block(block)
        match = None
        if block:
            match = _KEY.fullmatch(block[0])
        if match and match[1] in keys:
            repairs.append(f"line {first}: `{match[1]}` a second time, left out")
            continue
        keys.update([match[1]] if match else [])
        rows += new
        if repair:
            repairs.append(f"line {first}: {repair}")
    return "".join(f"{row}\n" for row in rows), repairs


def _mended_block(block: list[str]) -> tuple[list[str], str]:
    """The lines of one key as they can be read, and what was done to them."""
    text = "".join(f"{row}\n" for row in block)
    if not text.strip() or _is_read(text):
        return block, ""
    match = _KEY.fullmatch(block[0])
    if match is None:
        return [], "what belongs to no key, left out"
    key, value = match[1].strip(), (match[2] or "").strip()
    if _is_read(f"{key}: x\n"):
        name = key
    else:
        name = json.dumps(key, ensure_ascii=False)
    items = []
    for row in block[1:]:
        items.append(_ITEM.fullmatch(row))
    if not value and items and all(items):
        quoted = []
        for item in items:
            if item:
                quoted.append(f"  - {_quoted(item[2])}")
        return [f"{name}:", *quoted], f"items of `{key}` put in quotes"
    following = []
    for row in block[1:]:
        if row.strip():
            following.append(row.strip())
    joined = " ".join([*([] if _BLOCK.fullmatch(value) else [value]), *following]).strip()
    return [f"{name}: {_quoted(joined)}"], f"`{key}` put in quotes"


def _quoted(value: str) -> str:
    """A value as YAML reads it: as it is, if it can be, else in quotes."""
    value = value.strip()
    if _is_read(f"x: {value}\n"):
        return value
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        inner = value[1:-1]
    else:
        inner = value
    return json.dumps(
        "".join(sign if sign.isprintable() else " " for sign in inner), ensure_ascii=False
    )
