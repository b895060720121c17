"""The `source` of a lesson: one word for how it is known, or a block that says where it comes from.

    source: tested

    source:
      type: transcript
      how: observed
      session: 7f3a
      index: 12

The five types are those of groove; `how` is the word. A promoted one may also say the `tier` that it comes from, and
with `alpha` and `beta` how it stood there: its events stay where they happened.
"""

from __future__ import annotations

from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.knowledge import scopes
from ai_lessons.knowledge.entries import Source, stated_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TYPE, HOW, ORIGINAL = "type", "how", "original"
TIER, ALPHA, BETA = "tier", "alpha", "beta"
PROMOTED = "promoted"
_MOST = 1e9


class Type(NamedTuple):
    """`name` as groove has it, the keys it must have (ours to theirs), how people read it, and keys it may have."""

    name: str
    keys: Mapping[str, str]
    told: str
    may: tuple[str, ...] = ()


TYPES: Mapping[str, Type] = {
    "transcript": Type(
        "Transcript",
        {"session": "session_id", "index": "message_index"},
        "transcript of session {session}, message {index}",
    ),
    "user_created": Type("UserCreated", {}, "created by the user"),
    "promoted": Type(
        "Promoted",
        {"from_scope": "from_scope", "original": "original_id"},
        "promoted from {from_scope}, there {original}",
        (TIER, ALPHA, BETA),
    ),
    "imported": Type("Imported", {"file": "source_file", "at": "imported_at"}, "imported from {file} on {at}"),
    "enterprise_curated": Type("EnterpriseCurated", {"curator": "curator"}, "curated by {curator}"),
}


def with_word(source: object, how: object) -> object:
    """The source after a person said how it is known: where it comes from stays."""
    return {**source, HOW: how} if isinstance(source, dict) else how


def told(source: object) -> str:
    """For people, in one line."""
    if not isinstance(source, dict):
        return str(source)
    kind = TYPES.get(str(source.get(TYPE)))
    if kind is None or not all(key in source for key in kind.keys):
        return ", ".join(f"{key} {value}" for key, value in source.items())
    how = f"{source[HOW]}; " if HOW in source else ""
    return how + kind.told.format_map({key: str(source[key]) for key in kind.keys})


def faults(source: Mapping[str, Any]) -> Iterator[str]:
    """Everything that is wrong with a block."""
    said = source.get(TYPE)
    kind = TYPES.get(said) if isinstance(said, str) else None
    if kind is None:
        yield "source has no type" if said is None else f"source.type {said!r} is none of {', '.join(TYPES)}"
        return
    if HOW in source and source[HOW] not in tuple(Source):
        yield f"source.{HOW} {source[HOW]!r} is none of {', '.join(Source)}"
    for key in kind.keys:
        if key not in source:
            yield f"source has no {key}, which says where a {said} one comes from"
        elif fault := _fault(key, source[key]):
            yield f"source.{key} {source[key]!r} {fault}"
    known = (TYPE, HOW, *kind.keys, *kind.may)
    for key in kind.may:
        if key in source and (fault := _fault(key, source[key])):
            yield f"source.{key} {source[key]!r} {fault}"
    for key in source:
        if key not in known:
            meant = get_close_matches(str(key), known, n=1)
            yield f"source has no key {key!r}" + (
                f", did you mean {meant[0]!r}?" if meant else f" ({', '.join(known)})"
            )


def promoted(source: object, original: str, scope: str, tier: str, start: tuple[float, float] | None) -> dict[str, Any]:
    """The block of an entry that was promoted; `source` is what the original says, of which the word stays.

    `start`: the alpha and beta with which it begins, where it stood otherwise than its author said.
    """
    said = source.get(HOW) if isinstance(source, dict) else source
    word = {HOW: said} if said in tuple(Source) else {}
    numbers = {ALPHA: f"{start[0]:.6f}", BETA: f"{start[1]:.6f}"} if start else {}  # as YAML here reads them
    return {TYPE: PROMOTED, **word, "from_scope": scope, ORIGINAL: original, TIER: tier, **numbers}


def original_of(source: object) -> str | None:
    """The id of the entry that this one was promoted from; None if it was not."""
    if not isinstance(source, dict) or source.get(TYPE) != PROMOTED:
        return None
    return stated_id(source.get(ORIGINAL))


def start_of(source: object) -> float | None:
    """Where an entry that was promoted begins, 0 to 1, as it stood when it was; None if nothing is written down."""
    if original_of(source) is None or not isinstance(source, dict):
        return None
    alpha, beta = _number(source.get(ALPHA)), _number(source.get(BETA))
    return alpha / (alpha + beta) if alpha and beta else None


def _fault(key: str, value: Any) -> str:
    if key in {ALPHA, BETA}:
        return "" if _number(value) else "is not a number above 0"
    if key == "index":
        return "" if _is_count(value) else "is not the number of a message, from 0 up"
    if not isinstance(value, str) or not value.strip():
        return "" if _is_count(value) and key == "session" else "is not text"
    if key == ORIGINAL:
        return "" if stated_id(value) else "is not an id"
    if key == "at":
        return "" if _is_time(value) else "is not a time such as 2026-11-21T20:14:00Z"
    if key == "from_scope":
        return "" if scopes.is_scope(value) else "is no scope (global, user:NAME, project:PATH)"
    return ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number(value: Any) -> float | None:
    """A number above 0; YAML here keeps one with a point as the text that it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 < number <= _MOST else None


def _is_time(value: str) -> bool:
    try:
        datetime.fromisoformat(value.upper())
    except ValueError:
        return False
    return True
