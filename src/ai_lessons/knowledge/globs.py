"""What `applies_to` means: which files a pattern names. Patterns may come from a pulled repository.

As editors and .gitignore have it, by segments of the path: `*` any characters of one segment, `?` one, `[a-c]` and
`[!a]` one of a set, `**` as a whole segment any number of folders, `{py,pyi}` either; a backslash takes the next
character as it is. A pattern without a slash names files in every folder (`*.py`); with one it begins at the root of
the project, with or without a leading slash; ending in a slash it names everything below. Hidden files are like any
other, case matters, and `!` begins a file name. Every question takes time in proportion to pattern times path.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LONGEST = 500  # Characters of a pattern; a longer one names nothing
MOST_ALTERNATIVES = 64  # What the braces of one pattern may come to; with more it names nothing
_DEEP = "**"
_BRACES = re.compile(r"(?<!\\)\{((?:[^{},\\]|\\.)*,(?:[^{}\\]|\\.)*)\}", re.DOTALL)
"""The innermost that let choose: braces without a comma are letters."""

_COMMA = re.compile(r"(?<!\\),")
_SIGN = re.compile(r"\\(.)|\[\^", re.DOTALL)


def matches(pattern: str, path: str) -> bool:
    """Whether the pattern names the file. `path` is relative to the root of the project, with `/`."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if ".." in parts:  # whose place is not known
        return False
    return bool(parts) and any(_in_order(rows, parts) for rows in _compiled(pattern.strip()))


def any_match(patterns: Iterable[str], paths: Iterable[str]) -> bool:
    """Whether one of the patterns names one of the files."""
    globs = list(patterns)
    return any(matches(pattern, path) for path in paths for pattern in globs)


EXACT, BELOW, BY_NAME, BY_KIND, ANYTHING = 4, 3, 2, 1, 0


def specificity(patterns: Iterable[str], paths: Iterable[str]) -> int:
    """How closely the patterns that match name one of the files.

    `EXACT`: its path, `BELOW`: a folder of it, `BY_NAME`: a part of its name, `BY_KIND`: its extension, or `ANYTHING`.
    """
    files = list(paths)
    matching = (pattern for pattern in patterns if any(matches(pattern, path) for path in files))
    return max(map(_specific, matching), default=ANYTHING)


def _specific(pattern: str) -> int:
    *folders, name = pattern.strip().strip("/").split("/")
    plain = [not _MAGIC.intersection(part) for part in (*folders, name)]
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
    return [pattern for pattern in value if isinstance(pattern, str)] if isinstance(value, list) else []


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> tuple[tuple[str, ...], ...]:
    """The pattern's alternatives, each what the folders and the name must be."""
    if not pattern or len(pattern) > LONGEST:
        return ()
    several = list(islice(_alternatives(pattern), MOST_ALTERNATIVES + 1))
    return tuple(tuple(_rows(alternative)) for alternative in several) if len(several) <= MOST_ALTERNATIVES else ()


def _alternatives(pattern: str) -> Iterator[str]:
    """The pattern with its braces resolved each way."""
    braces = _BRACES.search(pattern)
    if braces is None:
        yield pattern
        return
    for choice in _COMMA.split(braces[1]):
        yield from _alternatives(pattern[: braces.start()] + choice + pattern[braces.end() :])


def _rows(pattern: str) -> list[str]:
    parts = [part for part in pattern.split("/") if part not in {"", "."}]
    if len(parts) == 1 and "/" not in pattern:
        parts.insert(0, _DEEP)
    if pattern.endswith("/") and parts and parts[-1] != _DEEP:
        parts.append(_DEEP)
    if parts[-1:] == [_DEEP]:  # what is below, not the folder itself
        parts.append("*")
    return parts


@lru_cache(maxsize=1024)
def _segment(part: str) -> re.Pattern[str]:
    """As `fnmatch` has it, whose patterns never go back behind a star; it knows no backslash and no `[^a]`."""

    def plain(match: re.Match[str]) -> str:
        character = match[1] or "[!"
        return f"[{character}]" if character in "*?[" else character

    return re.compile(translate(_SIGN.sub(plain, part)))


def _in_order(segments: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the folders and the name are the wanted ones in order.

    The usual walk: after a mismatch the last `**` takes one more. An earlier one never needs to.
    """
    want = have = 0
    last, taken = -1, 0

    def fits(segment: str, name: str) -> bool:
        return segment == name if _MAGIC.isdisjoint(segment) else _segment(segment).match(name) is not None

    while have < len(names):
        if want < len(segments) and segments[want] == _DEEP:
            last, taken = want, have
            want += 1
        elif want < len(segments) and fits(segments[want], names[have]):
            want, have = want + 1, have + 1
        elif last >= 0:
            taken += 1
            want, have = last + 1, taken
        else:
            return False
    return all(segment == _DEEP for segment in segments[want:])
