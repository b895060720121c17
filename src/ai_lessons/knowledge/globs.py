"""What `applies_to` means: which files a pattern names. Patterns may come from a pulled repository.

As editors and .gitignore have it, by segments of the path: `*` any characters of one segment, `?` one, `[a-c]` and
`[!a]` one of a set, `**` as a whole segment any number of folders, `{py,pyi}` either; a backslash takes the next
character as it is. A pattern without a slash names files in every folder (`*.py`); with one it begins at the root of
the project, with or without a leading slash; ending in a slash it names everything below. Hidden files are like any
other, case matters, and `!` begins a file name. Every question takes time in proportion to pattern times path.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

LONGEST = 500  # Characters of a pattern; a longer one names nothing
MOST_ALTERNATIVES = 64  # What the braces of one pattern may come to; with more it names nothing
_ANY = "*"
_DEEP = "**"
_CLASS = re.compile(r"\[([!^]?)((?:\\.|[^\\\[])(?:\\.|[^\]\\])*)\]", re.DOTALL)
_RANGE = re.compile(r"(?:\\(.)|(.))(?:-(?:\\(.)|([^\]])))?", re.DOTALL)

Character = str | tuple[bool, tuple[tuple[str, str], ...]]
"""A character itself, or whether a set is negated and its ranges, both ends included; `*` and `?` stand for themselves,
an escaped one is a range of one."""


def matches(pattern: str, path: str) -> bool:
    """Whether the pattern names the file. `path` is relative to the root of the project, with `/`."""
    segments = _segments(path)
    return bool(segments) and any(
        _in_order(wanted, segments, _DEEP, _fits_segment) for wanted in _compiled(pattern.strip())
    )


def any_match(patterns: Iterable[str], paths: Iterable[str]) -> bool:
    """Whether one of the patterns names one of the files."""
    wanted = list(patterns)
    return any(matches(pattern, path) for path in paths for pattern in wanted)


EXACT, BELOW, BY_NAME, BY_KIND, ANYTHING = 4, 3, 2, 1, 0


def specificity(patterns: Iterable[str], paths: Iterable[str]) -> int:
    """How closely the patterns that match name one of the files.

    `EXACT`: its path, `BELOW`: a folder of it, `BY_NAME`: a part of its name, `BY_KIND`: its extension, or `ANYTHING`.
    """
    files = list(paths)
    return max((_specific(one) for one in patterns if any(matches(one, path) for path in files)), default=ANYTHING)


def _specific(pattern: str) -> int:
    *folders, name = pattern.strip().strip("/").split("/")
    plain = [not _MAGIC.intersection(one) for one in (*folders, name)]
    if all(plain) and not pattern.endswith("/"):
        return EXACT if folders or pattern.startswith("/") else BY_NAME
    if any(plain[: len(folders)]) or (plain[-1] and pattern.endswith("/")):
        return BELOW
    stem = name.rpartition(".")[0] or name
    return BY_NAME if re.search(r"\w", re.sub(r"\[[^]]*\]", "", stem)) else BY_KIND if "." in name else ANYTHING


_MAGIC = frozenset("*?[{\\")


def stated(value: object) -> list[str]:
    """The patterns that an entry states, as a list whatever it wrote."""
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _segments(path: str) -> list[str]:
    """The folders and the name; none for a path that leads upwards, whose place is not known."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    return [] if ".." in parts else parts


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> tuple[tuple[Any, ...], ...]:
    """The pattern's alternatives, each a row of segments: `_DEEP`, or the characters of one segment."""
    if not pattern or len(pattern) > LONGEST:
        return ()
    several: list[tuple[Any, ...]] = []
    for one in _alternatives(pattern):
        if len(several) == MOST_ALTERNATIVES:
            return ()
        several.append(tuple(_rows(one)))
    return tuple(several)


def _rows(pattern: str) -> Iterator[Any]:
    below = pattern.endswith("/")
    parts = [part for part in pattern.split("/") if part not in {"", "."}]
    if len(parts) == 1 and "/" not in pattern:
        yield _DEEP
    for part in parts:
        yield _DEEP if part == _DEEP else tuple(_characters(part))
    if parts and (below or parts[-1] == _DEEP):  # what is below, not the folder itself
        if parts[-1] != _DEEP:
            yield _DEEP
        yield (_ANY,)


def _characters(part: str) -> Iterator[Character]:
    at = 0
    while at < len(part):
        found = _CLASS.match(part, at) if part[at] == "[" else None
        if found:
            yield bool(found[1]), tuple(_ranges(found[2]))
            at = found.end()
        elif part[at] == "\\" and at + 1 < len(part):
            yield False, ((part[at + 1], part[at + 1]),)
            at += 2
        else:
            yield part[at]
            at += 1


def _ranges(inside: str) -> Iterator[tuple[str, str]]:
    for found in _RANGE.finditer(inside):
        first = found[1] or found[2]
        yield first, found[3] or found[4] or first


def _alternatives(pattern: str) -> Iterator[str]:
    """The pattern with its first pair of braces resolved each way, and so on. Braces without a comma are letters."""
    waiting, steps = [(pattern, 0)], 0
    while waiting:
        text, start = waiting.pop()
        steps += 1
        found = _braces(text, start) if steps <= LONGEST else None
        if found is None:
            yield text
            continue
        begin, end, choices = found
        waiting += [(text[:begin] + choice + text[end:], begin) for choice in reversed(choices)]


def _braces(text: str, start: int) -> tuple[int, int, list[str]] | None:
    """Where the first braces with a comma begin and end, and what they let choose."""
    for begin in range(start, len(text)):
        if text[begin] == "{" and not _is_escaped(text, begin):
            found = _choices(text, begin)
            if found and len(found[1]) > 1:
                return begin, found[0], found[1]
    return None


def _choices(text: str, begin: int) -> tuple[int, list[str]] | None:
    depth, last, choices = 0, begin + 1, []
    for at in range(begin, len(text)):
        character = "" if _is_escaped(text, at) else text[at]
        if character == "{":
            depth += 1
        elif character == "," and depth == 1:
            choices.append(text[last:at])
            last = at + 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return at + 1, [*choices, text[last:at]]
    return None


def _is_escaped(text: str, at: int) -> bool:
    before = len(text[:at]) - len(text[:at].rstrip("\\"))
    return before % 2 == 1


def _in_order(wanted: Sequence[Any], given: Sequence[Any], star: str, fits: Callable[[Any, Any], bool]) -> bool:
    """Whether the given things are the wanted ones in order, where a star stands for any number of them.

    The usual walk: after a mismatch the last star takes one more. An earlier star never needs to.
    """
    want = have = 0
    last_star, taken = -1, 0
    while have < len(given):
        if want < len(wanted) and wanted[want] == star:
            last_star, taken = want, have
            want += 1
        elif want < len(wanted) and fits(wanted[want], given[have]):
            want, have = want + 1, have + 1
        elif last_star >= 0:
            taken += 1
            want, have = last_star + 1, taken
        else:
            return False
    return all(rest == star for rest in wanted[want:])


def _fits_segment(wanted: Sequence[Character], segment: str) -> bool:
    return _in_order(wanted, segment, _ANY, _fits_character)


def _fits_character(wanted: Character, character: str) -> bool:
    if isinstance(wanted, str):
        return wanted in {"?", character}
    negated, ranges = wanted
    return any(first <= character <= last for first, last in ranges) != negated
