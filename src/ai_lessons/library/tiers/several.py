"""Several repositories read as one, nearest first: what jobs that read ask of `Parts`, answered from all of them.

An id that two repositories have is the nearer one's. One thread at a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ai_lessons.errors import AmbiguousName, NotFound
from ai_lessons.index import ranking
from ai_lessons.index.rows import Candidates, IndexRefresh, IndexStatus, PassageFilter
from ai_lessons.library.tiers.catalogs import Catalogs
from ai_lessons.library.tiers.usages import SeveralUsages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ai_lessons.index.ranking import RawHit
    from ai_lessons.knowledge.config import RepositoryConfig
    from ai_lessons.knowledge.entries import Entry, Light
    from ai_lessons.library.parts import Parts


class Several:
    """Opened repositories, `every` of them. `notes` are about tiers that could not be opened."""

    def __init__(self, parts: Sequence[Parts], notes: Sequence[str] = ()) -> None:
        self.every, self._notes = tuple(parts), tuple(notes)
        self.options = parts[0].options
        self.catalog = Catalogs([one.catalog for one in parts])
        self.rules = SeveralRules(parts)
        self.usages = SeveralUsages(parts, self.of)
        self.indexing = SeveralIndexes(parts)
        self._place = {one.options.tier: place for place, one in enumerate(parts)}

    def current(self) -> Catalogs:
        """The catalogs, brought up to date with the files on disk and the rules in force."""
        for one in self.every:
            one.current()
        self.catalog = Catalogs([one.catalog for one in self.every])
        return self.catalog

    @property
    def index(self) -> SeveralIndexes:
        """The indexes themselves, as they were at the last refresh."""
        return self.indexing

    def notes(self) -> list[str]:
        """What a reader should know; what is not of the nearest repository says which one it is of."""
        told = [f"{one.options.tier}: {note}" for one in self.every[1:] for note in one.notes()]
        return [*self._notes, *self.every[0].notes(), *told]

    def config_notes(self) -> list[str]:
        """What a reader should know about the settings of each."""
        told = [f"{one.options.tier}: {note}" for one in self.every[1:] for note in one.config_notes()]
        return [*self.every[0].config_notes(), *told]

    @property
    def reading_config(self) -> RepositoryConfig:
        """The settings of the nearest, with the tag aliases of all."""
        aliases: dict[str, str] = {}
        for one in reversed(self.every):
            aliases |= one.reading_config.tag_aliases
        return replace(self.every[0].reading_config, tag_aliases=aliases)

    def resolve(self, ref: str) -> Light:
        """The entry that a handle, id, end of an id, or path names, in whichever repository. Call `current` first.

        Raises:
            NotFound, InvalidEntry: as `Parts.resolve`. AmbiguousName: also where two repositories know the name.
        """
        found: dict[str, Light] = {}
        missing: list[NotFound] = []
        for one in self.every:
            try:
                light = one.resolve(ref)
            except AmbiguousName:
                raise
            except NotFound as error:
                missing.append(error)
            else:
                found.setdefault(light.id, light)
        if len(found) > 1:
            raise AmbiguousName(ref, [f"{light.id} ({light.tier}: {light.title})" for light in found.values()])
        if not found:
            raise next((error for error in missing if error.hint), missing[0])
        return next(iter(found.values()))

    def of(self, entry_id: str) -> Parts:
        """The repository that has the entry with this full id; of several the nearest, of none the first."""
        return next((one for one in self.every if one.catalog.many([entry_id])), self.every[0])

    def nearness(self, tier: str) -> int:
        """How far a tier is from where one stands: 0 is the nearest."""
        return self._place.get(tier, len(self._place))

    def load(self, entry_id: str) -> tuple[Entry, str]:
        """As `Parts.load`."""
        return self.of(entry_id).load(entry_id)


class SeveralRules:
    """The rules in force of all, as far as reading asks for them together."""

    def __init__(self, parts: Sequence[Parts]) -> None:
        self._parts = parts

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(one.rules.count for one in self._parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the approval branches."""
        return tuple(dict.fromkeys(note for one in self._parts for note in one.rules.notes))


class SeveralIndexes:
    """The search indexes of all, asked at the same time."""

    def __init__(self, parts: Sequence[Parts]) -> None:
        self._parts = parts

    def refresh(self) -> IndexRefresh:
        """Bring them up to date with their catalogs (refresh those first), as far as one search has time for it."""
        done = [one.indexing.refresh() for one in self._parts]
        return IndexRefresh(
            sum(one.entries for one in done), sum(one.removed for one in done), sum(one.passages for one in done),
            sum(one.embedded for one in done), sum(one.missing for one in done),
            next((one.rebuilt for one in done if one.rebuilt), ""),
            tuple(dict.fromkeys(note for one in done for note in one.notes)),
        )  # fmt: skip

    def candidates(self, text: str, wanted: PassageFilter, depth: int) -> Candidates:
        """What the indexes find, in one list of each sort. Where their models differ, that of the nearest decides."""
        return self.begin(text, wanted, depth)()

    def begin(self, text: str, wanted: PassageFilter, depth: int) -> Callable[[], Candidates]:
        """As `candidates`, in two steps: others can be asked before the answer is waited for."""
        begun = [one.indexing.begin(text, wanted, depth) for one in self._parts]
        return lambda: self._together([finish() for finish in begun], depth)

    def _together(self, found: Sequence[Candidates], depth: int) -> Candidates:
        model = next((one.model for one in found if one.model), "")
        said = [one.note for one in found if one.note]
        others = [
            part.options.tier
            for part, one in zip(self._parts, found, strict=True)
            if one.vectors and one.model != model
        ]
        if others:
            said.append(f"the vectors of {' and '.join(others)} are of another model: only their texts are searched")
        taken = self._taken(found)
        texts = [_without(one.text, ids) for one, ids in zip(found, taken, strict=True)]
        vectors = [_without(one.vectors, ids) for one, ids in zip(found, taken, strict=True)]
        sizes = [part.index.passages() for part in self._parts] if sum(map(bool, texts)) > 1 else [0] * len(texts)
        return Candidates(
            ranking.blend(list(map(ranking.Found, texts, sizes)), depth),
            ranking.nearest([hits for hits, one in zip(vectors, found, strict=True) if one.model == model], depth),
            depth,
            "; ".join(dict.fromkeys(said)),
            model,
        )

    def _taken(self, found: Sequence[Candidates]) -> list[set[str]]:
        """The entries of each that a nearer repository has, too."""
        taken = []
        for place, one in enumerate(found):
            ids = {hit.entry_id for hits in (one.text, one.vectors) for hit in hits}
            taken.append({known for part in self._parts[:place] for known in part.catalog.many(ids)} if ids else set())
        return taken

    def passages(self) -> int:
        """How many passages there are."""
        return sum(one.index.passages() for one in self._parts)

    def status(self) -> IndexStatus:
        """Their sizes together."""
        every = [one.index.status() for one in self._parts]
        return IndexStatus(
            entries=sum(one.entries for one in every),
            passages=sum(one.passages for one in every),
            vectors=sum(one.vectors for one in every),
            bytes=sum(one.bytes for one in every),
            unindexed=sum(one.unindexed for one in every),
            model=every[0].model,
        )


def _without(hits: Sequence[RawHit], taken: set[str]) -> Sequence[RawHit]:
    return [hit for hit in hits if hit.entry_id not in taken] if taken else hits
