"""Which tiers there are where one stands, what is read and written, and why. Opens each, and creates nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, NoRepository
from ai_lessons.library.options import PROJECT, TierPlace

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.library.options import Options

READS, WRITES, MISSING, DAMAGED, ELSEWHERE = "reads", "writes", "missing", "damaged", "not here"


class TierState(NamedTuple):
    """One tier. `state`: writes (and reads), reads, missing, damaged, or not here (it does not apply).

    `why` says what decides that, `hint` the next command where something is to be done; `path` is empty for an
    enterprise that nothing here knows.
    """

    name: str
    state: str
    path: str
    why: str
    hint: str = ""
    url: str | None = None


def tier_states(root: Path, options: Options) -> tuple[TierState, ...]:
    """Every tier that is known, nearest first; `root` is the repository that would be written to."""
    places = options.places
    reads = {place.root for place in places.reads} or {root}
    known = list(places.known)
    if root not in {place.root for place in known}:
        known.insert(0, TierPlace(options.tier, root, next((one.why for one in places.reads if one.root == root), "")))
    found = [_state(place, root, reads, options) for place in known]
    if places.belongs_to and places.belongs_to not in {place.name for place in known}:
        name = places.belongs_to.partition(":")[2]
        why = "the project belongs to it, and config.toml does not name it"
        hint = f'in {places.file}: [enterprise.{name}] path = "…"'
        found.append(TierState(places.belongs_to, MISSING, "", why, hint))
    return tuple(found)


def _state(place: TierPlace, root: Path, reads: set[Path], options: Options) -> TierState:
    path, name = str(place.root), place.name
    why = next((one.why for one in options.places.reads if one.root == place.root), place.why)
    if place.root not in reads:
        return TierState(name, ELSEWHERE, path, _why_not(place, options), url=place.url)
    if name == options.places.belongs_to:
        why = "the project's .ai-lessons.toml names it"
    from ai_lessons.repository.store import Store

    try:
        Store.open(place.root).close()
    except NoRepository as error:
        return TierState(name, MISSING, path, why, place.remedy(error.hint), place.url)
    except AiLessonsError as error:
        return TierState(name, DAMAGED, path, error.message, error.hint, place.url)
    return TierState(name, WRITES if place.root == root else READS, path, why, url=place.url)


def _why_not(place: TierPlace, options: Options) -> str:
    if options.places.named:
        return "another one was named"
    if place.name == PROJECT:
        return f"there is none; to make one: ai-lessons admin init {place.root}"
    return "the project belongs to another one" if options.places.belongs_to else "the project does not belong to it"
