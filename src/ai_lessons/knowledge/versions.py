"""How well the versions of an entry fit the versions that were asked for. A table, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.knowledge.entries import UNVERSIONED

if TYPE_CHECKING:
    from collections.abc import Iterable

EXACT = 1.00
MORE = 0.95
FEWER = 0.85
OVERLAP = 0.75
NONE_STATED = 0.70


def score(asked: Iterable[str], have: Iterable[str]) -> float | None:
    """The factor of design 7: 1.00 for the same versions, less the further apart, None where none is in common.

    Versions are names, not numbers: `1.10` is not near `1.9`. Case and a `v` before a digit do not count, so `v3.5`
    is `3.5`. Nothing asked fits everything. An entry without versions fits everything a little; only such entries
    fit `unversioned`.
    """
    wanted, stated = _names(asked), _names(have) - {UNVERSIONED}
    if wanted == {UNVERSIONED}:
        return None if stated else EXACT
    wanted -= {UNVERSIONED}
    if not wanted or wanted == stated:
        return EXACT
    if not stated:
        return NONE_STATED
    if stated > wanted:
        return MORE
    if stated < wanted:
        return FEWER
    return OVERLAP if stated & wanted else None


def _names(versions: Iterable[str]) -> frozenset[str]:
    return frozenset(_comparable(version) for version in versions if version.strip())


def _comparable(version: str) -> str:
    name = version.strip().casefold()
    return name[1:] if name[:1] == "v" and name[1:2].isdigit() else name
