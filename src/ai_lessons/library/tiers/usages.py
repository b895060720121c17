"""What happened to entries of several repositories: each has its own events, and what is derived inherits over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.learning import fold
    from ai_lessons.learning.events import Event
    from ai_lessons.learning.fold import ParameterState
    from ai_lessons.library.answers import Usage
    from ai_lessons.library.parts import Parts


class SeveralUsages:
    """What jobs that read ask of one `Usages`; the methods are those of it. `of_id(id)` is whose entry it is."""

    def __init__(self, parts: Sequence[Parts], of_id: Callable[[str], Parts]) -> None:
        self._parts, self._of_id = tuple(parts), of_id

    def tallies(self, entries: Iterable[str] | None = None) -> dict[str, fold.Tallies]:
        """What happened to each of these entries, or to all, where each lies."""
        wanted = None if entries is None else set(entries)
        found: dict[str, fold.Tallies] = {}
        for one in self._parts:
            found = one.usages.tallies(wanted) | found
        return found

    def parameters(self) -> dict[str, ParameterState]:
        """The parameters of the nearest repository: they belong to where one works."""
        return self._parts[0].usages.parameters()

    def of(self, light: Light) -> Usage:
        """How one entry has done."""
        return self.several([light])[light.id]

    def several(self, lights: Sequence[Light]) -> dict[str, Usage]:
        """How entries have done, by id."""
        found: dict[str, Usage] = {}
        for one in self._parts:
            own = [light for light in lights if light.tier == one.options.tier]
            found |= one.usages.several(own) if own else {}
        return found

    def standings(self, lights: Iterable[Light]) -> dict[str, float]:
        """By how much what was learned moves each lesson in a search; lessons that it does not move are left out."""
        every = list(lights)
        found: dict[str, float] = {}
        for one in self._parts:
            found |= one.usages.standings([light for light in every if light.tier == one.options.tier])
        return found

    def record_if_possible(self, happened: Iterable[Event]) -> list[str]:
        """Write each event down where its entry lies; notes where that could not be."""
        by_place: dict[int, list[Event]] = {}
        for event in happened:
            by_place.setdefault(self._parts.index(self._of_id(event.entry)), []).append(event)
        return [
            note
            for place, several in by_place.items()
            for note in self._parts[place].usages.record_if_possible(several)
        ]
