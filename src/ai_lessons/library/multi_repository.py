"""Several repositories read as one, nearest first; an id that two have is the nearer one's. One thread at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from ai_lessons.errors import AmbiguousName, NotFound
from ai_lessons.index import ranking
from ai_lessons.index.catalog_reading import Filter, Tally
from ai_lessons.index.rows import Candidates, IndexRefresh, PassageFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ai_lessons.index.catalog import Catalog
    from ai_lessons.index.rows import Match
    from ai_lessons.knowledge.config import RepositoryConfig
    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.failures import Shape
    from ai_lessons.knowledge.relations import Edge
    from ai_lessons.learning.fold import UsageTally
    from ai_lessons.library.session import RepositorySession

    Key = Callable[[Light], tuple[object, ...]]
    Reader: TypeAlias = "Catalog | Catalogs"  # What a job that reads asks: one catalog, or several as one


class MultiRepository:
    """Opened repositories, `every` of them. `notes` are about tiers that could not be opened."""

    def __init__(self, repos: Sequence[RepositorySession], notes: Sequence[str] = ()) -> None:
        self.every, self._notes = tuple(repos), tuple(notes)
        self.options = repos[0].options
        self.catalog = Catalogs([repo.catalog for repo in repos])
        self.indexing = SeveralIndexes(repos)
        self.usages = SeveralUsages(repos)
        self._place = {repo.options.tier: place for place, repo in enumerate(repos)}

    def current(self) -> Catalogs:
        """The catalogs, brought up to date with the files on disk and the rules in force."""
        for repo in self.every:
            repo.current()
        self.catalog = Catalogs([repo.catalog for repo in self.every])
        return self.catalog

    def notes(self) -> list[str]:
        """What a reader should know; what is not of the nearest repository says which one it is of."""
        notes = [f"{repo.options.tier}: {note}" for repo in self.every[1:] for note in repo.notes()]
        return [*self._notes, *self.every[0].notes(), *notes]

    @property
    def reading_config(self) -> RepositoryConfig:
        """The settings of the nearest, with the tag aliases of all."""
        aliases: dict[str, str] = {}
        for repo in reversed(self.every):
            aliases |= repo.reading_config.tag_aliases
        return replace(self.every[0].reading_config, tag_aliases=aliases)

    def resolve(self, ref: str) -> Light:
        """As `RepositorySession.resolve`, in whichever repository; AmbiguousName also where two of them know it."""
        matches: dict[str, Light] = {}
        missing: list[NotFound] = []
        for repo in self.every:
            try:
                light = repo.resolve(ref)
                matches.setdefault(light.id, light)
            except AmbiguousName:
                raise
            except NotFound as error:
                missing.append(error)
        if len(matches) > 1:
            raise AmbiguousName(ref, [f"{light.id} ({light.tier}: {light.title})" for light in matches.values()])
        if not matches:
            raise next((error for error in missing if error.hint), missing[0])
        return next(iter(matches.values()))

    def of(self, entry_id: str) -> RepositorySession:
        """The repository that has the entry with this full id; of several the nearest, of none the first."""
        return next((repo for repo in self.every if repo.catalog.many([entry_id])), self.every[0])

    def nearness(self, tier: str) -> int:
        """How far a tier is from the working directory: 0 is the nearest."""
        return self._place.get(tier, len(self._place))


class SeveralIndexes:
    """The search indexes of all, asked at the same time."""

    def __init__(self, repos: Sequence[RepositorySession]) -> None:
        self._repos = repos

    def refresh(self) -> IndexRefresh:
        """Bring them up to date with their catalogs (refresh those first), as far as one search has time for it."""
        done = [repo.indexing.refresh() for repo in self._repos]
        return IndexRefresh(
            missing=sum(refresh.missing for refresh in done),
            rebuilt=next((refresh.rebuilt for refresh in done if refresh.rebuilt), ""),
            notes=tuple(dict.fromkeys(note for refresh in done for note in refresh.notes)),
        )

    def begin(self, text: str, filters: PassageFilter, depth: int) -> Callable[[], Candidates]:
        """As `Indexing.begin`, in one list of each sort. Where models differ, that of the nearest decides."""
        begun = [repo.indexing.begin(text, filters, depth) for repo in self._repos]
        return lambda: self._together([finish() for finish in begun], depth)

    def _together(self, candidates: Sequence[Candidates], depth: int) -> Candidates:
        model = next((result.model for result in candidates if result.model), "")
        notes = [result.note for result in candidates if result.note]
        pairs = zip(self._repos, candidates, strict=True)
        other_tiers = [part.options.tier for part, result in pairs if result.vectors and result.model != model]
        if other_tiers:
            notes.append(
                f"the vectors of {' and '.join(other_tiers)} are of another model: only their texts are searched"
            )
        texts: list[list[Match]] = []
        vectors: list[Match] = []
        for place, result in enumerate(candidates):
            ids = {hit.entry_id for hit in (*result.text, *result.vectors)}
            nearer = {entry_id for part in self._repos[:place] for entry_id in part.catalog.many(ids)} if ids else set()
            texts.append([hit for hit in result.text if hit.entry_id not in nearer])
            vectors += [hit for hit in result.vectors if hit.entry_id not in nearer and result.model == model]
        sizes = [part.indexing.passages() for part in self._repos] if sum(map(bool, texts)) > 1 else [0] * len(texts)
        blended = ranking.blend(list(zip(texts, sizes, strict=True)), depth)
        nearest = tuple(sorted(vectors, key=lambda hit: -hit.score)[:depth])
        return Candidates(blended, nearest, depth, "; ".join(dict.fromkeys(notes)), model)

    def passages(self) -> int:
        """How many passages there are."""
        return sum(repo.indexing.passages() for repo in self._repos)


class SeveralUsages:
    """What happened to entries, as the repositories say in which they lie."""

    def __init__(self, repos: Sequence[RepositorySession]) -> None:
        self._repos = repos

    def several(self, lights: Sequence[Light]) -> dict[str, UsageTally]:
        """As `Usages.several`."""
        usages: dict[str, UsageTally] = {}
        for repo in self._repos:
            usages |= repo.usages.several([light for light in lights if light.tier == repo.options.tier])
        return usages

    def silent(self, lights: Iterable[Light]) -> dict[str, str]:
        """As `Usages.silent`."""
        lights, reasons = list(lights), dict[str, str]()
        for repo in self._repos:
            reasons |= repo.usages.silent([light for light in lights if light.tier == repo.options.tier])
        return reasons


class Catalogs:
    """What jobs that read ask of one `Catalog`; the methods are those of it. For one job: links are remembered."""

    def __init__(self, catalogs: Sequence[Catalog]) -> None:
        self._all = tuple(catalogs)
        self._edges: dict[str | None, list[Edge]] = {}

    def many(self, ids: Iterable[str]) -> dict[str, Light]:
        """The entries with these full ids; ids that do not exist are left out."""
        unseen = set(ids)
        lights: dict[str, Light] = {}
        for catalog in self._all:
            lights |= catalog.many(unseen - lights.keys())
        return lights

    def select(self, filters: Filter) -> list[Light]:
        """The entries that pass a filter, in its order over all."""
        lights = _distinct(light for catalog in self._all for light in catalog.select(filters))
        for key, backward in reversed(_ORDERS[filters.sort]):
            lights.sort(key=key, reverse=backward)
        return lights[: filters.limit]

    def count(self, filters: Filter) -> int:
        """How many entries pass a filter, whatever its limit; one that two have is counted twice."""
        return sum(catalog.count(filters) for catalog in self._all)

    def with_globs(self, kinds: Collection[str]) -> list[Light]:
        """The active entries of these kinds that say what files they apply to."""
        return _distinct(light for catalog in self._all for light in catalog.with_globs(kinds))

    def about_commands(self) -> list[Light]:
        """The active rules and lessons that may be told before a command."""
        return _distinct(light for catalog in self._all for light in catalog.about_commands())

    def openings(self, ids: Iterable[str]) -> dict[str, str]:
        """How the texts of these begin, by id."""
        return {entry_id: text for catalog in reversed(self._all) for entry_id, text in catalog.openings(ids).items()}

    def failures(self) -> list[tuple[str, Shape]]:
        """The failures that active entries keep, each with the entry's id."""
        return [row for catalog in self._all for row in catalog.failures()]

    def edges(self, entry_id: str | None = None) -> list[Edge]:
        """The links that start or end at an entry, or the whole graph, also from one repository to another."""
        if entry_id not in self._edges:
            self._edges[entry_id] = list(
                dict.fromkeys(edge for catalog in self._all for edge in catalog.edges(entry_id))
            )
        return self._edges[entry_id]

    def tags(self) -> list[Tally]:
        """The tags of active entries, most used first."""
        return _together(catalog.tags() for catalog in self._all)

    def versions(self, project: str | None = None) -> list[Tally]:
        """The versions of active entries, of one project or all, most used first."""
        return _together(catalog.versions(project) for catalog in self._all)

    def versions_of_projects(self) -> dict[str, frozenset[str]]:
        """The versions of active entries, by project."""
        projects: dict[str, frozenset[str]] = {}
        for project, versions in (pair for catalog in self._all for pair in catalog.versions_of_projects().items()):
            projects[project] = projects.get(project, frozenset()) | versions
        return projects

    def projects(self) -> list[Tally]:
        """The projects of active entries, largest first."""
        return _together(catalog.projects() for catalog in self._all)

    def complete(self, what: str, prefix: str, limit: int = 50) -> list[tuple[str, str]]:
        """Values of `what` that start with `prefix`, each with a word of help, those of nearer repositories first."""
        values: dict[str, str] = {}
        for catalog in self._all:
            values = dict(catalog.complete(what, prefix, limit)) | values
        return list(islice(values.items(), limit))


def created(light: Light) -> tuple[object, ...]:
    """A key that sorts entries by when they were made."""
    return (str(light.details.get("created") or ""), light.id)


# The orders of `catalog_reading`, each a list of (key, backward), the first key deciding
_ORDERS: Mapping[str, tuple[tuple[Key, bool], ...]] = {
    "newest": ((created, True),),
    "created": ((created, False),),
    "title": ((lambda light: (light.title.lower(), light.id), False),),
    "path": ((lambda light: (light.path, light.id), False),),
    "firm": ((lambda light: (bool(light.details.get("firm")),), True), (created, True)),
}


def _distinct(lights: Iterable[Light]) -> list[Light]:
    """Each id once, as it comes first."""
    by_id: dict[str, Light] = {}
    for light in lights:
        by_id.setdefault(light.id, light)
    return list(by_id.values())


def _together(several: Iterable[Sequence[Tally]]) -> list[Tally]:
    sums: dict[str, Counter[str]] = {}
    for tallies in several:
        for tally in tallies:
            sums.setdefault(tally.name, Counter()).update(tally.by_kind)
    return sorted(
        (Tally(name, by_kind.total(), dict(by_kind)) for name, by_kind in sums.items()),
        key=lambda t: (-t.total, t.name),
    )
