"""Merges two edits of a file: field by field where the format is known, else line by line."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from difflib import Match, SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ai_lessons.errors import InvalidEntry
from ai_lessons.model import expression
from ai_lessons.model.entries import ABOUT, Kind
from ai_lessons.model.layout import CONFIG_PATH, is_markdown, place
from ai_lessons.model.markdown import parse
from ai_lessons.model.texts import SORTED_KEYS, cut, decode, same
from ai_lessons.model.yaml_edit import REMOVE, Node, compose, edit_mapping, line_end, reads_as

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class LineMatcher(SequenceMatcher[str]):
    """As its base class.

    In texts that would take that minutes it matches only lines that both have once.

    To each such line belong the same lines that follow it on both sides.
    """

    # A few seconds. Texts of 4,000 lines, each there once, take fewer
    def __init__(self, before: Sequence[str], after: Sequence[str], most: int = 20_000_000) -> None:
        """Of two texts, by lines, in so many steps."""
        super().__init__(None, before, after)
        self._both, self._most = (before, after), most

    def get_matching_blocks(self) -> list[Match]:
        """The stretches that are the same, and an empty one at the end."""
        before, after = self._both
        if _steps(before, after) <= self._most:
            return super().get_matching_blocks()
        end = len(before), len(after)
        blocks: list[Match] = []
        for (a, b), (next_a, next_b) in pairwise([(0, 0), *_in_order(before, after), end]):
            size = 0
            most = min(next_a - a, next_b - b)
            while size < most and before[a + size] == after[b + size]:
                size += 1
            last = blocks[-1] if blocks else Match(0, 0, 0)
            if blocks and (last.a + last.size, last.b + last.size) == (a, b):
                # it goes on where the last stretch ended: one stretch
                blocks[-1] = Match(last.a, last.b, last.size + size)
            elif size:
                blocks.append(Match(a, b, size))
        return [*blocks, Match(*end, 0)]


def _steps(before: Sequence[str], after: Sequence[str]) -> int:
    """How many difflib takes at most.

    Each stretch that it finds compares every line with its like.
    """
    counts = Counter(after)
    return (len(before) + sum(counts[line] for line in before)) * min(len(before), len(after))


def _in_order(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """The places of lines that both have once, the longest row that has the same order in both."""
    places = {line: at for at, line in enumerate(after)}
    ours, theirs = Counter(before), Counter(after)
    ends: list[int] = []
    # the last pair of the best row of each length, with its beginning
    rows: list[tuple[tuple[int, int], object]] = []
    for a, line in enumerate(before):
        if ours[line] == theirs[line] == 1:
            at = bisect_left(ends, places[line])
            shorter = rows[at - 1] if at else None
            ends[at : at + 1] = [places[line]]
            rows[at : at + 1] = [((a, places[line]), shorter)]
    pairs: list[tuple[int, int]] = []
    if rows:
        row: object = rows[-1]
    else:
        row = None
    while isinstance(row, tuple):
        pairs.append(row[0])
        row = row[1]
    return pairs[::-1]


EVENTS: Final = ".ai-lessons/events/"
BODY: Final = "the text"
FRONTMATTER: Final = "the frontmatter"
WHOLE: Final = "the file"
RULE: Final = "a rule, which is never merged"

Text = TypeVar("Text", str, bytes)
_COMMENT = expression(r"(?:^|(?<=[ \t]))#[^\r\n]*", re.MULTILINE)


class Merged(NamedTuple):
    """What came of it: the bytes, or None and what both sides changed (keys, `the text`, …)."""

    data: bytes | None
    conflicts: tuple[str, ...] = ()


# the value of a key that is not there
_MISSING: Final[Any] = object()


class _Conflict(Exception):
    """Both sides changed the same value differently."""


def _one_side(base: Text | None, ours: Text, theirs: Text) -> Text | None:
    """What both have, or what the one side has that alone changed something; None if both did."""
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    return None


def merge_file(path: str, base: bytes | None, ours: bytes, theirs: bytes) -> Merged:
    """One file of the repository as both sides left it.

    `base` is what both began with, None if neither had it.
    """
    if (only := _one_side(base, ours, theirs)) is not None:
        return Merged(only)
    if path.startswith(EVENTS):
        # a line that is in both is the same event, because each has its ULID
        lines = ours.splitlines()
        our_events = set(lines)
        lines += [line for line in theirs.splitlines() if line not in our_events]
        return Merged(b"".join(line + b"\n" for line in lines if line))
    if path.startswith(".ai-lessons/") and path != CONFIG_PATH:
        return Merged(None, (WHOLE,))
    try:
        texts = []
        for data in (base or b"", ours, theirs):
            texts.append(decode(data, path))
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
        if plain is None:
            return Merged(None, (BODY,))
        merged, faults = plain, ()
    if faults:
        return Merged(None, faults)
    return Merged(merged.encode())


def _is_rule(path: str, text: str) -> bool:
    where = place(path)
    if where is not None and where.kind is not None:
        return where.kind is Kind.RULE
    try:
        return parse(text).fields.get("kind") == Kind.RULE.value
    except InvalidEntry:
        return False


def merge_entry(base: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """The text of one entry and what is in conflict; with conflicts the text means nothing.

    An empty base is none.
    """
    if (only := _one_side(base, ours, theirs)) is not None:
        return only, ()
    before, our, their = cut(base), cut(ours), cut(theirs)
    matter, faults = _merge_matter(before.matter or "", our.matter or "", their.matter or "")
    body = merge_lines(before.body, our.body, their.body)
    if body is None:
        return "", (*faults, BODY)
    # the lines around the frontmatter, of a side that has some; nothing is lost between `---` and
    # `--- `
    frames = []
    for parts in (our, their):
        if parts.matter is not None:
            frames.append((parts.opening, parts.closing))
    changed = []
    for frame in frames:
        if frame != (before.opening, before.closing):
            changed.append(frame)
    opening, closing = (changed or frames or [(our.opening, "")])[0]
    if body and closing and not closing.endswith("\n"):
        closing += "\n"
    return opening + matter + closing + body, faults


def _merge_matter(base: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    if (only := _one_side(base, ours, theirs)) is not None:
        return only, ()
    try:
        before, our, their = _Matter(base), _Matter(ours), _Matter(theirs)
    except InvalidEntry:
        return "", (FRONTMATTER,)
    blocks: dict[str, str] = {}
    expected: dict[str, Any] = {}
    clashes: list[str] = []
    for key in _order(list(our.values), list(their.values)):
        try:
            sides = [side.values.get(key, _MISSING) for side in (before, our, their)]
            value = _merge_values(key, *sides)
            blocks[key] = _merge_block(key, value, before, our, their)
        except (_Conflict, InvalidEntry):
            clashes.append(key)
        else:
            if value is not _MISSING:
                expected[key] = value
    if clashes:
        return "", tuple(clashes)
    tail = merge_lines(before.tail, our.tail, their.tail)
    if tail is None:
        # comments behind the last key: nothing that either side added is left out
        our_comments = {*lines_of(our.tail), *lines_of(before.tail)}
        tail = our.tail + "".join(line for line in lines_of(their.tail) if line not in our_comments)
    text = "".join(blocks.values()) + tail
    if reads_as(text, expected, _sorted):
        return (text, ())
    return ("", (FRONTMATTER,))


class _Matter:
    """Frontmatter cut into blocks of whole lines.

    A key and its value, with the comments that stand above.
    """

    def __init__(self, text: str) -> None:
        root = compose(text)
        if "\r\n" in text:
            self.newline = "\r\n"
        else:
            self.newline = "\n"
        if root:
            self.values: dict[str, Any] = root.plain()
        else:
            self.values = {}
        self.blocks: dict[str, str] = {}
        at = 0
        keys: Sequence[Node] = ()
        items: Sequence[Node] = ()
        if root:
            keys, items = root.keys or (), root.items or ()
        for key, item in zip(keys, items, strict=True):
            end = line_end(text, item.end)
            self.blocks[key.value] = text[at:end]
            at = max(at, end)
        self.tail = text[at:]


def _order(ours: list[str], theirs: list[str]) -> list[str]:
    """Our keys, and each of theirs that we lack behind the one that it follows there."""
    order = list(ours)
    for number, key in enumerate(theirs):
        if key not in order:
            at = 0
            if number:
                at = order.index(theirs[number - 1]) + 1
            order.insert(at, key)
    return order


def _merge_block(key: str, value: Any, before: _Matter, our: _Matter, their: _Matter) -> str:
    """The lines that say `value`, with the comments of both sides.

    InvalidEntry: neither's can be changed to say it.
    """
    base = before.blocks.get(key, "")
    ours, theirs = our.blocks.get(key, ""), their.blocks.get(key, "")
    if value is _MISSING:
        expected, change = {}, REMOVE
    else:
        expected, change = {key: value}, value
    lines = merge_lines(base, ours, theirs)
    if lines is not None and reads_as(lines, expected, _sorted):
        return lines
    first, second, newline = ours, theirs, our.newline
    if not ours:
        first, second, newline = theirs, ours, their.newline
    made = edit_mapping(first, {key: change}, newline)
    # A comment that one side took away stays away
    present = {*_comments(base), *_comments(made)}
    added = ""
    for comment in dict.fromkeys((*_comments(first), *_comments(second))):
        if comment not in present:
            added += f"{comment}{newline}"
    return added + made


def _sorted(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with those lists sorted whose order says nothing.

    So an addition stands where it belongs.
    """
    ordered: dict[str, Any] = {}
    for key, value in values.items():
        if key in SORTED_KEYS and isinstance(value, list):
            ordered[key] = sorted(value, key=repr)
        else:
            ordered[key] = value
    return ordered


def _comments(block: str) -> list[str]:
    """The comments of a block: what begins with `#` outside of every value."""
    root = compose(block)
    if root:
        for node in _scalars(root):
            # A `#` in a value begins no comment
            block = block[: node.start] + "x" * (node.end - node.start) + block[node.end :]
    comments: list[str] = []
    for comment in _COMMENT.findall(block):
        comments.append(comment.rstrip())
    return comments


def _scalars(node: Node) -> list[Node]:
    children = (*(node.keys or ()), *(node.items or ()))
    scalars: list[Node] = []
    for child in children:
        if child.items is None:
            scalars.append(child)
        else:
            scalars += _scalars(child)
    return scalars


def _merge_values(key: str, base: Any, ours: Any, theirs: Any) -> Any:
    """One value of both sides; `_MISSING` for no such key.

    Raises _Conflict: both changed it differently.
    """
    if key == "id" and _MISSING not in (ours, theirs) and not same(ours, theirs):
        # two different entries: git took one for the other renamed, or a person replaced it
        raise _Conflict(key)
    if same(ours, theirs) or same(theirs, base):
        return ours
    if same(ours, base):
        return theirs
    if key in {"reviewed", "seen"} and isinstance(ours, str) and isinstance(theirs, str):
        # The later of two looks counts: days sort as text. Where fingerprints differ the next look
        # decides.
        return max(ours, theirs)
    present = []
    for value in (base, ours, theirs):
        if value is not _MISSING:
            present.append(value)
    if all(isinstance(value, list) for value in present):
        lists = ([] if value is _MISSING else value for value in (base, ours, theirs))
        return _merge_lists(key, *lists) or _MISSING
    if (
        isinstance(ours, dict)
        and isinstance(theirs, dict)
        and all(isinstance(value, dict) for value in present)
    ):
        sides = [{} if base is _MISSING else base, ours, theirs]
        names = _order(list(ours), list(theirs))
        merged = {}
        for name in names:
            merged[name] = _merge_values(name, *(side.get(name, _MISSING) for side in sides))
        return {name: value for name, value in merged.items() if value is not _MISSING} or _MISSING
    raise _Conflict(key)


def _merge_lists(key: str, *lists: list[Any]) -> list[Any]:
    """Lists as sets: what either added is in, what either took out is not.

    Ours come first, in their order.
    """
    sides = []
    # Two links are the same with other weights, two anchors with other fingerprints; all else by
    # the whole value.
    beside = {"links": {"weight"}, ABOUT: {"seen", "in"}}.get(key, set())
    for items in lists:
        side = {}
        for item in items:
            keyed = beside and isinstance(item, dict)
            if keyed:
                identity = {name: value for name, value in item.items() if name not in beside}
            else:
                identity = item
            side[json.dumps(identity, sort_keys=True, default=str)] = item
        if len(side) != len(items):
            # an item is there twice, so the list is no set
            raise _Conflict(key)
        sides.append(side)
    merged = []
    for name in {**sides[1], **sides[2]}:
        merged.append(_merge_values(key, *(side.get(name, _MISSING) for side in sides)))
    return [item for item in merged if item is not _MISSING]


# The lines of a text with their ends.
# Only a newline ends one, as git has it; a form feed does not.
lines_of = expression(r"[^\n]*\n|[^\n]+").findall


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """The text with the changes of both.

    None where they change the same lines, or lines next to each other.
    """
    if (only := _one_side(base, ours, theirs)) is not None:
        return only
    before, our_lines, their_lines = lines_of(base), lines_of(ours), lines_of(theirs)
    to_ours, to_theirs = _line_map(before, our_lines), _line_map(before, their_lines)
    shared = []
    for at in range(len(before)):
        if at in to_ours and at in to_theirs:
            shared.append((at, to_ours[at], to_theirs[at]))
    made: list[str] = []
    b = m = o = 0
    for next_b, next_m, next_o in (*shared, (len(before), len(our_lines), len(their_lines))):
        old_part, our_part, their_part = (
            before[b:next_b],
            our_lines[m:next_m],
            their_lines[o:next_o],
        )
        if our_part not in (old_part, their_part) and their_part != old_part:
            return None
        made += their_part if our_part == old_part else our_part
        made += before[next_b : next_b + 1]
        b, m, o = next_b + 1, next_m + 1, next_o + 1
    return "".join(made)


def _line_map(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """Which line of `after` each line of `before` became, where it stayed."""
    blocks = LineMatcher(before, after).get_matching_blocks()
    stayed: dict[int, int] = {}
    for block in blocks:
        for n in range(block.size):
            stayed[block.a + n] = block.b + n
    return stayed
