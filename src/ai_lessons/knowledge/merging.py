"""What two people made of the same file, as one: typed where we know what the parts mean, or not at all.

Frontmatter is merged key by key (lists as sets, links by relation and target, mappings key by key again), the body line
by line (Khanna, Kunal, Pierce: A Formal Investigation of Diff3, 2007), event logs line by line and never shorter. What
both changed differently is a conflict and is named; no merge holds conflict markers. Rules, decisions about them and
signers are never merged: a text that no person approved could come of it.
"""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ai_lessons.errors import InvalidEntry
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.layout import CONFIG_PATH, is_markdown, place
from ai_lessons.knowledge.markdown import parse
from ai_lessons.knowledge.texts import Cut, cut, decode
from ai_lessons.knowledge.yaml_edit import REMOVE, edit_mapping, line_end
from ai_lessons.knowledge.yaml_text import SORTED_KEYS, same
from ai_lessons.knowledge.yaml_tree import compose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ai_lessons.knowledge.yaml_tree import Node

EVENTS: Final = ".ai-lessons/events/"
BODY: Final = "the text"
FRONTMATTER: Final = "the frontmatter"
WHOLE: Final = "the file"
RULE: Final = "a rule, which is never merged"

_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#[^\r\n]*", re.MULTILINE)


class Merged(NamedTuple):
    """What came of it: the bytes, or None and what both sides changed (keys, `the text`, …)."""

    data: bytes | None
    conflicts: tuple[str, ...] = ()


_MISSING: Final[Any] = object()
"""The value of a key that is not there."""


class _Clash(Exception):
    """Both sides changed the same value, each in its own way."""


def merge_file(path: str, base: bytes | None, ours: bytes, theirs: bytes) -> Merged:
    """One file of the repository as both sides left it; `base` is what both began with, None if neither had it.

    With nothing changed on one side it is the other, byte for byte; the same change on both sides is no conflict.
    """
    if ours == theirs or theirs == base:
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    if path.startswith(EVENTS):
        return Merged(merge_events(ours, theirs))
    if path.startswith(".ai-lessons/") and path != CONFIG_PATH:
        return Merged(None, (WHOLE,))
    try:
        texts = [decode(data, path) for data in (base or b"", ours, theirs)]
    except InvalidEntry:
        return Merged(None, (WHOLE,))
    if any(_is_rule(path, text) for text in texts):
        return Merged(None, (RULE,))
    if path == CONFIG_PATH:
        merged, faults = _merge_matter(*texts)
    elif is_markdown(path):
        merged, faults = merge_entry(*texts)
    else:
        plain = merge_lines(*texts)
        merged, faults = plain or "", () if plain is not None else (BODY,)
    return Merged(None, faults) if faults else Merged(merged.encode())


def merge_events(ours: bytes, theirs: bytes) -> bytes:
    """Every line of both event logs: a line that is in both is the same event, because each has its ULID."""
    mine = ours.splitlines()
    known = set(mine)
    return b"".join(line + b"\n" for line in (*mine, *(x for x in theirs.splitlines() if x not in known)) if line)


def _is_rule(path: str, text: str) -> bool:
    where = place(path)
    if where is not None and where.kind is not None:
        return where.kind is Kind.RULE
    try:
        return parse(text).fields.get("kind") == Kind.RULE.value
    except InvalidEntry:
        return False


def merge_entry(base: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """The text of one entry and what is in conflict; with conflicts the text means nothing. An empty base is none."""
    if ours == theirs or theirs == base:
        return ours, ()
    if ours == base:
        return theirs, ()
    before, mine, other = cut(base), cut(ours), cut(theirs)
    matter, faults = _merge_matter(before.matter or "", mine.matter or "", other.matter or "")
    body = merge_lines(before.body, mine.body, other.body)
    if body is None:
        return "", (*faults, BODY)
    opening, closing = _frame(before, mine, other)
    if body and closing and not closing.endswith("\n"):
        closing += "\n"
    return opening + matter + closing + body, faults


def _frame(before: Cut, mine: Cut, other: Cut) -> tuple[str, str]:
    """The lines around the frontmatter, of whoever has some; nothing is lost between `---` and `--- `."""
    frames = [(one.opening, one.closing) for one in (mine, other) if one.matter is not None]
    changed = [frame for frame in frames if frame != (before.opening, before.closing)]
    return (changed or frames or [(mine.opening, "")])[0]


def _merge_matter(base: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    if ours == theirs or theirs == base:
        return ours, ()
    if ours == base:
        return theirs, ()
    try:
        before, mine, other = _Matter(base), _Matter(ours), _Matter(theirs)
    except InvalidEntry:
        return "", (FRONTMATTER,)
    blocks: dict[str, str] = {}
    wanted: dict[str, Any] = {}
    clashes: list[str] = []
    for key in _order(list(mine.values), list(other.values)):
        try:
            value = _merge_values(key, before.value(key), mine.value(key), other.value(key))
            blocks[key] = _merge_block(key, value, before, mine, other)
        except (_Clash, InvalidEntry):
            clashes.append(key)
        else:
            wanted |= {} if value is _MISSING else {key: value}
    if clashes:
        return "", tuple(clashes)
    text = "".join(blocks.values()) + _merge_tail(before.tail, mine.tail, other.tail)
    return (text, ()) if _reads_as(text, wanted) else ("", (FRONTMATTER,))


class _Matter:
    """Frontmatter cut into blocks of whole lines: a key and its value, with the comments that stand above.

    Raises InvalidEntry: it cannot be read.
    """

    def __init__(self, text: str) -> None:
        root = compose(text)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.values: dict[str, Any] = root.plain() if root else {}
        self.blocks: dict[str, str] = {}
        at = 0
        for key, item in zip(root.keys or (), root.items or (), strict=True) if root else ():
            end = line_end(text, item.end)
            self.blocks[key.value] = text[at:end]
            at = max(at, end)
        self.tail = text[at:]

    def value(self, key: str) -> Any:
        """The value of a key, `_MISSING` if it is not there."""
        return self.values.get(key, _MISSING)

    def block(self, key: str) -> str:
        """The lines of a key; empty if it is not there."""
        return self.blocks.get(key, "")


def _order(ours: list[str], theirs: list[str]) -> list[str]:
    """Our keys, and each of theirs that we lack behind the one that it follows there."""
    order = list(ours)
    for number, key in enumerate(theirs):
        if key not in order:
            order.insert(order.index(theirs[number - 1]) + 1 if number else 0, key)
    return order


def _merge_block(key: str, value: Any, before: _Matter, mine: _Matter, other: _Matter) -> str:
    """The lines that say `value`, with the comments of both sides.

    Raises InvalidEntry: neither side's lines can be changed to say it.
    """
    base, ours, theirs = (matter.block(key) for matter in (before, mine, other))
    lines = merge_lines(base, ours, theirs)
    if lines is not None and _reads_as(lines, {} if value is _MISSING else {key: value}):
        return lines
    start, rest, newline = (ours, theirs, mine.newline) if ours else (theirs, ours, other.newline)
    made = edit_mapping(start, {key: REMOVE if value is _MISSING else value}, newline)
    known = {*_comments(base), *_comments(made)}
    new = dict.fromkeys(comment for comment in (*_comments(start), *_comments(rest)) if comment not in known)
    return "".join(f"{comment}{newline}" for comment in new) + made


def _merge_tail(base: str, ours: str, theirs: str) -> str:
    """The comments behind the last key: nothing that either side added is left out."""
    merged = merge_lines(base, ours, theirs)
    if merged is not None:
        return merged
    return ours + "".join(line for line in lines_of(theirs) if line not in {*lines_of(ours), *lines_of(base)})


def _reads_as(matter: str, wanted: Mapping[str, Any]) -> bool:
    try:
        root = compose(matter)
    except InvalidEntry:
        return False
    return same(_sorted(root.plain() if root else {}), _sorted(wanted))


def _sorted(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with those lists sorted whose order says nothing: an addition stands where it belongs."""
    return {
        key: sorted(value, key=repr) if key in SORTED_KEYS and isinstance(value, list) else value
        for key, value in values.items()
    }


def _comments(block: str) -> list[str]:
    """The comments of a block: what begins with `#` outside of every value."""
    root = compose(block)
    for node in _scalars(root) if root else ():
        block = block[: node.start] + "x" * (node.end - node.start) + block[node.end :]
    return [found.rstrip() for found in _COMMENT.findall(block)]


def _scalars(node: Node) -> Iterator[Node]:
    for child in (*(node.keys or ()), *(node.items or ())):
        if child.items is None:
            yield child
        else:
            yield from _scalars(child)


def _merge_values(key: str, base: Any, ours: Any, theirs: Any) -> Any:
    """One value of both sides; `_MISSING` for no such key. Raises _Clash: both changed it, and not in the same way."""
    if same(ours, theirs) or same(theirs, base):
        return ours
    if same(ours, base):
        return theirs
    if key == "reviewed" and isinstance(ours, str) and isinstance(theirs, str):
        return max(ours, theirs)  # of two looks the later one counts, and days sort as text
    present = [value for value in (base, ours, theirs) if value is not _MISSING]
    if all(isinstance(value, list) for value in present):
        lists = ([] if value is _MISSING else value for value in (base, ours, theirs))
        return _merge_lists(key, *lists) or _MISSING
    if isinstance(ours, dict) and isinstance(theirs, dict) and all(isinstance(value, dict) for value in present):
        return _merge_mappings({} if base is _MISSING else base, ours, theirs) or _MISSING
    raise _Clash(key)


def _merge_mappings(base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    merged = {
        name: _merge_values(name, *(side.get(name, _MISSING) for side in (base, ours, theirs)))
        for name in _order(list(ours), list(theirs))
    }
    return {name: value for name, value in merged.items() if value is not _MISSING}


def _merge_lists(key: str, base: list[Any], ours: list[Any], theirs: list[Any]) -> list[Any]:
    """Lists as sets: what either added is in, what either took out is not; ours come first, in their order."""
    before, mine, other = (_by_identity(key, items) for items in (base, ours, theirs))
    merged = [
        _merge_values(key, *(side.get(name, _MISSING) for side in (before, mine, other))) for name in {**mine, **other}
    ]
    return [item for item in merged if item is not _MISSING]


def _by_identity(key: str, items: list[Any]) -> dict[str, Any]:
    """The items by what makes two of them the same. Raises _Clash: an item is there twice, so the list is no set."""
    found = {_identity(key, item): item for item in items}
    if len(found) != len(items):
        raise _Clash(key)
    return found


def _identity(key: str, item: Any) -> str:
    """A link is known by relation and target, whatever its weight; everything else by all of its value."""
    if key == "links" and isinstance(item, dict):
        item = {name: value for name, value in item.items() if name != "weight"}
    return json.dumps(item, sort_keys=True, default=str)


_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def lines_of(text: str) -> list[str]:
    """The lines with their ends. Only a newline ends one, as git has it; a form feed does not."""
    return _LINE.findall(text)


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """The text with the changes of both; None where they change the same lines, or lines next to each other.

    With nothing changed on one side it is the other, byte for byte. The same change on both sides is one change.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    before, mine, other = lines_of(base), lines_of(ours), lines_of(theirs)
    to_mine, to_other = _kept(before, mine), _kept(before, other)
    shared = [(at, to_mine[at], to_other[at]) for at in range(len(before)) if at in to_mine and at in to_other]
    made: list[str] = []
    b = m = o = 0
    for next_b, next_m, next_o in (*shared, (len(before), len(mine), len(other))):
        chunk = _pick(before[b:next_b], mine[m:next_m], other[o:next_o])
        if chunk is None:
            return None
        made += chunk
        made += before[next_b : next_b + 1]
        b, m, o = next_b + 1, next_m + 1, next_o + 1
    return "".join(made)


def _pick(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Sequence[str] | None:
    if ours in (base, theirs):
        return theirs
    return ours if theirs == base else None


def _kept(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """Which line of `after` each line of `before` became, where it stayed."""
    blocks = SequenceMatcher(None, before, after).get_matching_blocks()
    return {block.a + n: block.b + n for block in blocks for n in range(block.size)}
