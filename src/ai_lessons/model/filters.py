"""What a line of search asks for (words, phrases, `tag:git`), and the globs of `applies_to`, in linear time."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import UsageError
from ai_lessons.model.entries import Kind
from ai_lessons.model.versions import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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


PREFIXES = ("tag", "project", "kind", "type", "version")
_TOKEN = re.compile(
    rf"""
    (?P<prefix>{"|".join(PREFIXES)}):
        (?: "(?P<quoted>[^"]*)"
          | (?<=version:)(?P<range>[^\s"]\S*(?:\s+(?:[<>]=?|[!=]=)\s*\d\S*)*)
          | (?P<value>[^\s"]\S*) )
    | "(?P<phrase>[^"]*)"
    | (?P<word>\S+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MANY_LINES = 8
_QUOTES = str.maketrans("“”„‟", '""""')  # the quotes that phones and word processors type
_KINDS = {name: kind for kind in Kind for name in (kind.value, kind.folder)}


class Asked(NamedTuple):
    """A parsed query. `text` is all words in their order, those of phrases too, without quotes and filters.

    An answer holds every phrase word by word; an entry carries all `tags`, is one of the `kinds` (empty: any), and fits
    the `versions` as `versions.score` has it.
    """

    text: str = ""
    phrases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: frozenset[Kind] = frozenset()
    versions: tuple[str, ...] = ()
    project: str | None = None


def parse(query: str) -> Asked:
    """A query as it was typed, taken apart. Raises UsageError: a kind that does not exist, or two projects."""
    words: list[str] = []
    phrases: list[str] = []
    filters: dict[str, list[str]] = {}
    for token in _TOKEN.finditer(query.translate(_QUOTES)):
        value = " ".join((token["quoted"] or token["range"] or token["value"] or token["phrase"] or "").split())
        # `type:ignore` and its like are what programs write; a `kind:` that does not exist is a slip
        prefix = (token["prefix"] or "").lower()
        is_code = prefix == "type" and not all(part.casefold() in _KINDS for part in _commas(value))
        if prefix and value.strip(", ") and not is_code:
            filters.setdefault(prefix, []).append(value)
        elif not prefix and any(map(str.isalnum, value)):
            phrases.append(value)
            words.append(value)
        else:
            words.append(token[0])
    return Asked(
        " ".join(words),
        tuple(dict.fromkeys(phrases)),
        _listed(filters.get("tag", []), _commas),
        frozenset(map(_kind, _listed([*filters.get("kind", []), *filters.get("type", [])], _commas))),
        _listed(filters.get("version", []), listed),
        one_project(filters.get("project", [])),
    )


def gist(text: str) -> str:
    """The lines of a long output that show the error, see `transcripts.telling`; a short text as it is."""
    if len([line for line in text.splitlines() if line.strip()]) < _MANY_LINES:
        return text
    from ai_lessons.model.transcripts import telling  # noqa: PLC0415 - a question is short

    return telling(text)


def one_project(names: Sequence[str]) -> str | None:
    """The project that all of these name, or None if there are none.

    Raises UsageError: they name more than one; an entry lies in one only.
    """
    if len(set(names)) > 1:
        raise UsageError(f"an entry lies in one project, so not in all of: {', '.join(names)}", hint="name one project")
    return names[0] if names else None


def _kind(name: str) -> Kind:
    kind = _KINDS.get(name.casefold())
    if kind is None:
        raise UsageError(
            f"no kind {name!r}", hint=f"one of: {', '.join(Kind)}; if it is text to be found, put it into quotes"
        )
    return kind


def _listed(values: Iterable[str], split: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for value in values for part in split(value)))


def _commas(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
