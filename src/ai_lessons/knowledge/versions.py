"""How well the versions of an entry fit the versions that were asked for. A table, and nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.knowledge.entries import UNVERSIONED

if TYPE_CHECKING:
    from collections.abc import Iterable

EXACT = 1.00
MORE = 0.95
FEWER = 0.85
OVERLAP = 0.75
NONE_STATED = 0.70

AUTO = "auto"  # Asks for the versions in use by the caller's own project

_COMMA = re.compile(r"\s*,\s*")
_BOUND = re.compile(r"[<>]|[!~]=")


def score(asked: Iterable[str], have: Iterable[str]) -> float | None:
    """The factor of design 7: 1.00 for the same versions, less the further apart, None where none is in common.

    A version is a release (`v3.5`, which is `3.5` and `3.5.0`), a series (`3.x`), a range (`>=1.4 <2`, `^1.2`), what is
    in use (`@3.5.1`, which `3.5` and `3` fit as well), or a name (`lts`, in any case). `1.10` is not near `1.9`, and
    `3` is not `3.5`. Nothing asked fits everything. An entry without versions fits everything a little; only such
    entries fit `unversioned`.
    """
    wanted, stated = _names(asked), _names(have) - {UNVERSIONED}
    if wanted == {UNVERSIONED}:
        return None if stated else EXACT
    wanted -= {UNVERSIONED}
    if not wanted or wanted == stated:
        return EXACT
    if not stated:
        return NONE_STATED
    from ai_lessons.knowledge.version_sets import asked_and_stated  # noqa: PLC0415  # packaging takes 8 ms to load

    one, other = asked_and_stated(wanted, stated)
    if not one.meets(other):
        return None
    return {(True, True): EXACT, (True, False): MORE, (False, True): FEWER}.get(
        (one.within(other), other.within(one)), OVERLAP
    )


def newest_first(versions: Iterable[str]) -> tuple[str, ...]:
    """Versions as people sort them: releases from the newest down, then names."""
    every = sorted(set(versions))
    if len(every) < 2:
        return tuple(every)
    from ai_lessons.knowledge.version_sets import release  # noqa: PLC0415  # packaging takes 8 ms to load

    known = {name: found for name in every if (found := release(name)) is not None}
    return (*sorted(known, key=known.__getitem__, reverse=True), *(name for name in every if name not in known))


def nearest(asked: str, stored: Iterable[str]) -> str | None:
    """See `version_sets.nearest`."""
    from ai_lessons.knowledge import version_sets  # noqa: PLC0415  # packaging takes 8 ms to load

    return version_sets.nearest(asked, stored)


def listed(text: str) -> tuple[str, ...]:
    """The versions of a list with commas, each once. Commas inside a range, as in `>=1.4,<2`, part nothing."""
    parts: list[str] = []
    for part in _COMMA.split(text.strip()):
        if parts and _BOUND.match(part) and _BOUND.match(parts[-1]):
            parts[-1] += f" {part}"
        elif part:
            parts.append(part)
    return tuple(dict.fromkeys(parts))


def _names(versions: Iterable[str]) -> frozenset[str]:
    return frozenset(_comparable(version) for version in versions if version.strip())


def _comparable(version: str) -> str:
    name = version.strip().casefold()
    return name[1:] if name[:1] == "v" and name[1:2].isdigit() else name
