"""A query as a person types it: words, phrases in quotes, and filters such as `kind:doc`. Pure."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from ai_lessons.errors import UsageError
from ai_lessons.model import expression
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.model.versions import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

PREFIXES = ("tag", "project", "kind", "type", "version")
_QUERY_TOKEN = expression(
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
# the quotes that phones and word processors type
_QUOTES = str.maketrans("“”„‟", '""""')
_KIND_NAMES = {name: kind for kind in Kind for name in (kind.value, kind.folder)}


def parse_query(query: str) -> tuple[str, Filter]:
    """A query as it was typed: its words, those of phrases too, without quotes and filters.

    And these.

    Raises UsageError: a kind that does not exist, or two projects.
    """
    words: list[str] = []
    phrases: list[str] = []
    filters: dict[str, list[str]] = {}
    for token in _QUERY_TOKEN.finditer(query.translate(_QUOTES)):
        stated = token["quoted"] or token["range"] or token["value"] or token["phrase"] or ""
        value = " ".join(stated.split())
        prefix = (token["prefix"] or "").lower()
        is_code = False
        if prefix == "type":
            # `type:ignore` and its like are what programs write; a `kind:` that does not exist is
            # a slip
            is_code = not all(part.casefold() in _KIND_NAMES for part in _commas(value))
        if prefix and value.strip(", ") and not is_code:
            filters.setdefault(prefix, []).append(value)
        elif not prefix and any(map(str.isalnum, value)):
            phrases.append(value)
            words.append(value)
        else:
            words.append(token[0])
    # both words for the same
    kinds = [*filters.get("kind", []), *filters.get("type", [])]
    return " ".join(words), Filter(
        phrases=tuple(dict.fromkeys(phrases)),
        tags=_listed(filters.get("tag", []), _commas),
        kinds=frozenset(map(_kind, _listed(kinds, _commas))),
        versions=_listed(filters.get("version", []), listed),
        project=one_project(filters.get("project", [])),
    )


def gist(text: str) -> str:
    """The lines of a long output that show the error, see `transcripts.telling`.

    A short text as it is.
    """
    if len([line for line in text.splitlines() if line.strip()]) < 8:
        # few lines are a question, more are pasted
        return text
    from ai_lessons.model.failures import telling  # noqa: PLC0415 - a question is short

    return telling(text)


def one_project(names: Sequence[str]) -> str | None:
    """The project that all of these name, or None if there are none.

    Raises UsageError: they name more than one; an entry lies in one only.
    """
    if len(set(names)) > 1:
        raise UsageError(
            f"an entry lies in one project, so not in all of: {', '.join(names)}",
            hint="name one project",
        )
    if names:
        return names[0]
    return None


def _kind(name: str) -> Kind:
    kind = _KIND_NAMES.get(name.casefold())
    if kind is None:
        raise UsageError(
            f"no kind {name!r}",
            hint=f"one of: {', '.join(Kind)}; if it is text to be found, put it into quotes",
        )
    return kind


def _listed(values: Iterable[str], split: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(map(split, values))))


def _commas(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(","))))
