"""Which tiers are known here, and why each is read, written, or neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, NoRepository
from ai_lessons.git.store import Store
from ai_lessons.model import PROJECT, TierPlace

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from ai_lessons.app.options import Options

READS, WRITES, MISSING, DAMAGED, ELSEWHERE = "reads", "writes", "missing", "damaged", "not here"


class TierState(NamedTuple):
    """One tier, its `state` (as above), `why`, and the next command (`hint`).

    `path` is empty where it is not known here.
    """

    tier: str
    state: str
    path: str
    why: str
    hint: str = ""


def tier_states(root: Path, options: Options) -> tuple[TierState, ...]:
    """Every tier that is known, nearest first.

    `root` is the repository that would be written to.
    """
    places = options.places
    reads = {}
    for place in places.reads or (TierPlace(options.tier, root),):
        reads[place.root] = place
    named = {place.root: place for place in places.known}
    # those that are read come first, and say why
    by_root = reads | named | reads
    states = []
    for place in by_root.values():
        states.append(_state(place, root, reads, options))
    names = {place.name for place in by_root.values()}
    if places.belongs_to and places.belongs_to not in names:
        name = places.belongs_to.partition(":")[2]
        why = "the project belongs to it, and config.toml does not name it"
        hint = f'in {places.file}: [enterprise.{name}] path = "…"'
        states.append(TierState(places.belongs_to, MISSING, "", why, hint))
    return tuple(states)


def _state(place: TierPlace, root: Path, reads: Collection[Path], options: Options) -> TierState:
    path, name, why = str(place.root), place.name, place.why
    if place.root not in reads:
        return TierState(name, ELSEWHERE, path, _why_not(place, options))
    if name == options.places.belongs_to:
        why = options.places.because or "the project's .ai-lessons.toml names it"
    try:
        Store(place.root)
    except NoRepository as error:
        return TierState(name, MISSING, path, why, place.remedy(error.hint))
    except AiLessonsError as error:
        return TierState(name, DAMAGED, path, error.message, error.hint)
    if place.root == root:
        return TierState(name, WRITES, path, why)
    return TierState(name, READS, path, why)


def _why_not(place: TierPlace, options: Options) -> str:
    if options.places.named:
        return "another one was named"
    if place.name == PROJECT:
        return f"there is none; to make one: ai-lessons admin init {place.root}"
    if options.places.belongs_to:
        return "the project belongs to another one"
    return "the project does not belong to it"
