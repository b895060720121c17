"""The catalogs of several repositories read as one, nearest first. An id that two of them have is the nearer one's."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from ai_lessons.index.catalog_reading import Sizes, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ai_lessons.index.catalog import Catalog
    from ai_lessons.index.catalog_reading import Filter, LinkRow
    from ai_lessons.knowledge.entries import Light

    Key = Callable[[Light], tuple[object, ...]]
    Reader: TypeAlias = "Catalog | Catalogs"
    """What a job that reads asks: one catalog, or several as one."""


class Catalogs:
    """What jobs that read ask of one `Catalog`; the methods are those of it.

    For one job: links are remembered, because a search asks again and again for those of its few results.
    """

    def __init__(self, catalogs: Sequence[Catalog]) -> None:
        self._all = tuple(catalogs)
        self._edges: dict[str | None, list[LinkRow]] = {}

    def many(self, ids: Iterable[str]) -> dict[str, Light]:
        """The entries with these full ids; ids that do not exist are left out."""
        wanted = set(ids)
        found: dict[str, Light] = {}
        for one in self._all:
            found |= one.many(wanted - found.keys())
        return found

    def select(self, wanted: Filter) -> list[Light]:
        """The entries that pass a filter, in its order over all."""
        limit = None if wanted.limit is None else wanted.limit + wanted.offset
        each = wanted._replace(limit=limit, offset=0)
        found = _distinct(light for one in self._all for light in one.select(each))
        for key, backward in reversed(_ORDERS[wanted.sort]):
            found.sort(key=key, reverse=backward)
        return found[wanted.offset : limit]

    def count(self, wanted: Filter) -> int:
        """How many entries pass a filter, whatever its limit and offset; one that two have is counted twice."""
        return sum(one.count(wanted) for one in self._all)

    def with_globs(self, kinds: Collection[str]) -> list[Light]:
        """The active entries of these kinds that say what files they apply to."""
        return _distinct(light for one in self._all for light in one.with_globs(kinds))

    def edges(self, entry_id: str | None = None) -> list[LinkRow]:
        """The links that start or end at an entry, or the whole graph, also from one repository to another."""
        if entry_id not in self._edges:
            self._edges[entry_id] = list(dict.fromkeys(edge for one in self._all for edge in one.edges(entry_id)))
        return self._edges[entry_id]

    def tags(self) -> list[Tally]:
        """The tags of active entries, most used first."""
        return _together(one.tags() for one in self._all)

    def versions(self) -> list[Tally]:
        """The versions of active entries, most used first."""
        return _together(one.versions() for one in self._all)

    def projects(self) -> list[Tally]:
        """The projects of active entries, largest first."""
        return _together(one.projects() for one in self._all)

    def complete(self, what: str, prefix: str, limit: int = 50) -> list[tuple[str, str]]:
        """Values of `what` that start with `prefix`, each with a word of help, those of nearer repositories first."""
        found: dict[str, str] = {}
        for one in self._all:
            found = dict(one.complete(what, prefix, limit)) | found
        return list(islice(found.items(), limit))

    def sizes(self) -> Sizes:
        """Counts for statistics. Projects and tags that several have are counted for each."""
        every = [one.sizes() for one in self._all]
        entries: Counter[str] = Counter()
        for one in every:
            entries.update(one.entries)
        return Sizes(
            entries=dict(entries),
            projects=sum(one.projects for one in every),
            tags=sum(one.tags for one in every),
            files=sum(one.files for one in every),
            bytes=sum(one.bytes for one in every),
            unreadable=sum(one.unreadable for one in every),
            working_rules=sum(one.working_rules for one in every),
            catalog_bytes=sum(one.catalog_bytes for one in every),
            oldest=min((one.oldest for one in every if one.oldest), default=None),
            newest=max((one.newest for one in every if one.newest), default=None),
        )


def _created(light: Light) -> tuple[object, ...]:
    return (str(light.details.get("created") or ""), light.id)


def _firm(light: Light) -> tuple[object, ...]:
    return (bool(light.details.get("firm")),)


_ORDERS: Mapping[str, tuple[tuple[Key, bool], ...]] = {
    "newest": ((_created, True),),
    "created": ((_created, False),),
    "title": ((lambda light: (light.title.lower(), light.id), False),),
    "path": ((lambda light: (light.path, light.id), False),),
    "firm": ((_firm, True), (_created, True)),
}
"""The orders of `catalog_reading`, each a list of (key, backward), the first key deciding."""


def _distinct(lights: Iterable[Light]) -> list[Light]:
    """Each id once, as it comes first."""
    found: dict[str, Light] = {}
    for light in lights:
        found.setdefault(light.id, light)
    return list(found.values())


def _together(several: Iterable[Sequence[Tally]]) -> list[Tally]:
    sums: dict[str, Counter[str]] = {}
    for tallies in several:
        for one in tallies:
            sums.setdefault(one.name, Counter()).update(one.by_kind)
    return sorted((Tally(name, had.total(), dict(had)) for name, had in sums.items()), key=lambda t: (-t.total, t.name))
