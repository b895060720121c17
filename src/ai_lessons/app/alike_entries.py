"""What stands beside an entry that is proposed or promoted: texts that are alike, opposites, copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.model import lessons
from ai_lessons.model.entries import Relation
from ai_lessons.search.terms import TERMS, likeness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.model.entries import Entry

# So many entries that are much alike are named, and people whose proposals are not listed
MOST_NAMED: Final = 5


class ComparableText(NamedTuple):
    """An entry as it is compared; `state` says what it is to others, such as `in force`."""

    id: str
    handle: str
    title: str
    rationale: str
    body: str
    state: str

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.handle} {self.title!r} ({self.state})"

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.title}\n{self.rationale}\n{self.body}"


def comparable(entry: Entry, handle: str = "", state: str = "") -> ComparableText:
    """An entry's text for comparison."""
    text = entry.body
    if entry.code:
        text += f"\n{entry.code}"
    return ComparableText(entry.id, handle, entry.title, entry.rationale, text, state)


def alike(text: ComparableText, texts: Iterable[ComparableText]) -> tuple[str, ...]:
    """Names of up to `MOST_NAMED` entries that say much the same, each with how much (0 to 1), most alike first."""
    likenesses: list[tuple[float, str]] = []
    for other in texts:
        score = _likeness(text, other)
        if score >= TERMS.alike and other.id != text.id:
            likenesses.append((score, other.name))
    # the names settle the order of equal ones
    likenesses.sort(key=lambda row: (-row[0], row[1]))
    return tuple(f"{name}, {score:.2f}" for score, name in likenesses[:MOST_NAMED])


def _likeness(text: ComparableText, other: ComparableText) -> float:
    """How alike two texts are.

    By their titles, or as a whole where the other is more than a title.
    """
    by_title = likeness(text.title, other.title)
    if not other.body and not other.rationale:
        return by_title
    return max(likeness(text.text, other.text), by_title)


def contradicted(repo: RepositorySession, entry: Entry) -> list[str]:
    """The ids that an entry contradicts by a link of either side."""
    ids: dict[str, None] = {}
    # its own links come from the text, because a proposed entry is not in the catalog
    for link in entry.links:
        if link.relation == Relation.CONTRADICTS:
            ids[link.target] = None
    for edge in repo.catalog.edges(entry.id):
        if edge.relation != Relation.CONTRADICTS:
            continue
        if edge.target == entry.id:
            ids[edge.source] = None
        else:
            ids[edge.target] = None
    return list(ids)


def copies(repo: RepositorySession, entry: Entry) -> list[str]:
    """The ids under which an entry may stand here.

    Those promoted from it, what it was promoted from, its own.
    """
    ids = promoted_from(repo, entry.id)
    original = lessons.original_of(entry.fields.get("source"))
    if original:
        ids.append(original)
    return [*ids, entry.id]


def promoted_from(repo: RepositorySession, entry_id: str) -> list[str]:
    """The ids of what here is derived from an entry."""
    ids: list[str] = []
    for edge in repo.catalog.edges(entry_id):
        if edge.relation == Relation.DERIVED_FROM and edge.target == entry_id:
            ids.append(edge.source)
    return ids
