"""Sorts what an import brings: what is new, rules to propose, what is here, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.write_checks import checked, noting
from ai_lessons.errors import InvalidEntry, Problem, UsageError
from ai_lessons.features.transfer.arriving import Item, as_imported
from ai_lessons.model import frontmatter, layout, markdown
from ai_lessons.model.entries import Entry, Kind, stated_id
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.links import wrong_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.features.transfer.arriving import Bundle


class Arrival(NamedTuple):
    """An item that was found to be this entry."""

    item: Item
    entry: Entry


class Sorting:
    """Sorts the items of an import, one after the other.

    `fresh` are new entries, `rules` such as are to be proposed, `known` those that are here, and
    `skipped` parts that are left out, as (where, reason). Rules never reach the working tree from
    here.
    """

    def __init__(self, repo: RepositorySession, damaged: Iterable[tuple[str, str]]) -> None:
        self._repo = repo
        self._here = {place.id for place in repo.current().locations()}
        # paths of this import, as file systems compare them that know no case
        self._taken: set[str] = set()
        self._seen: set[str] = set()
        self.fresh: list[Arrival] = []
        self.rules: list[Arrival] = []
        self.known: list[Arrival] = []
        self.skipped = [*damaged]

    @property
    def arrived(self) -> list[Arrival]:
        """What is to be written or proposed."""
        return [*self.fresh, *self.rules]

    def take(self, item: Item) -> None:
        """Sort an item; a fault of it is noted."""
        with noting(item.where, self.skipped):
            layout.check_path(item.path)
            item = _without_standing(item)
            entry = checked(item.path, item.data, item.side)
            if entry.id in self._seen:
                raise UsageError("it has the id of another one in the same file")
            self._seen.add(entry.id)
            if entry.kind is Kind.RULE:
                self.rules.append(_with_id(item, entry))
            elif entry.id in self._here:
                self.known.append(Arrival(item, entry))
            else:
                self.fresh.append(self._placed(item, entry))

    def _placed(self, item: Item, entry: Entry) -> Arrival:
        """The entry at its path, or beside what is there. Raises UsageError: neither is free."""
        if self._free(item):
            return Arrival(item, entry)
        moved = item._replace(path=layout.beside(item.path, entry.id))
        # an id that is made of the path would be another one there
        if entry.derived or not self._free(moved):
            raise UsageError("another file is in its place")
        return Arrival(moved, checked(moved.path, moved.data, moved.side))

    def _free(self, item: Item) -> bool:
        """Whether nothing is at the path of an item, which is then taken."""
        paths = [item.path]
        if item.side is not None:
            paths.append(layout.side_of(item.path))
        folded = {path.casefold() for path in paths}
        if folded & self._taken or any(map(self._repo.store.exists, paths)):
            return False
        self._taken |= folded
        return True

    def skip_wrong_links(self) -> None:
        """Skip every entry with a link between kinds that its relation does not join.

        Once all kinds are known.
        """
        kinds = self._kinds()
        for arrival in self.arrived:
            reason = _wrong_link(arrival.entry, kinds)
            if not reason:
                continue
            if arrival.entry.kind is Kind.RULE:
                self.rules.remove(arrival)
            else:
                self.fresh.remove(arrival)
            self.skipped.append((arrival.item.where, reason))

    def _kinds(self) -> dict[str, Kind]:
        """The kind of each entry that arrived, or that one of these links to, by its id."""
        targets = set()
        for arrival in self.arrived:
            for link in arrival.entry.links:
                targets.add(link.target)
        kinds = {}
        for summary in self._repo.catalog.many(targets).values():
            kinds[summary.id] = summary.kind
        for arrival in self.arrived:
            kinds[arrival.entry.id] = arrival.entry.kind
        return kinds


def _wrong_link(entry: Entry, kinds: Mapping[str, Kind]) -> str:
    """Why a link of the entry means nothing; empty where all do."""
    for link in entry.links:
        if link.target in kinds:
            reason = wrong_kinds(link.relation, entry.kind, kinds[link.target])
            if reason:
                return reason
    return ""


def sort(repo: RepositorySession, bundle: Bundle, name: str) -> Sorting:
    """Sort what a source called `name` holds. Raises InvalidEntry: nothing of it can be read."""
    sorting = Sorting(repo, bundle.damaged)
    for item in repo.options.each("reading", bundle.items):
        sorting.take(item)
    sorting.skip_wrong_links()
    if sorting.skipped and not bundle.items:
        problems = []
        for where, reason in sorting.skipped[:20]:
            problems.append(Problem(name, f"{where}: {reason}"))
        raise InvalidEntry(problems)
    return sorting


def _without_standing(item: Item) -> Item:
    """The item with what its author stated of its standing kept apart: it holds where it was stated."""
    changes = as_imported(read_entry(item.path, item.data, item.side).fields)
    if not changes:
        return item
    if item.side is None:
        return item._replace(data=markdown.edit(item.data.decode(), changes).encode())
    return item._replace(side=markdown.edit(item.side.decode(), changes).encode())


def _with_id(item: Item, entry: Entry) -> Arrival:
    """A rule that says its id: a proposal is about an id, not about a place."""
    if not entry.derived and stated_id(entry.fields.get("id")):
        return Arrival(item, entry)
    data = markdown.edit(item.data.decode(), frontmatter.identity(entry)).encode()
    return Arrival(item._replace(data=data), checked(item.path, data))
