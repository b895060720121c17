"""The parser of search queries: words, phrases in quotes, and filters like `tag:git`. Pure.

    undo "merge commit" tag:git,branches kind:lesson project:"my shop" version:>=2.40 <3

A filter is one of `PREFIXES`, a colon and a value, in quotes if it has blanks. Everything else is text, also what only
looks like syntax: an unknown prefix (`std::vector`), a quote without its other half, a filter without a value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import UsageError
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.versions import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
    """The lines of a long output that show the error, see `failures.telling`; a short text as it is."""
    if len([line for line in text.splitlines() if line.strip()]) < _MANY_LINES:
        return text
    from ai_lessons.knowledge.failures import telling  # noqa: PLC0415 - a question is short

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
