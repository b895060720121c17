"""Jobs that write an edge between two entries, or take it away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app import authorship
from ai_lessons.app.editing import change
from ai_lessons.app.link_effects import refuse_circle
from ai_lessons.app.write_checks import refuse_wrong_kinds
from ai_lessons.errors import NotFound, UsageError
from ai_lessons.model import frontmatter
from ai_lessons.model.entries import Relation
from ai_lessons.model.yaml_edit import REMOVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.app.workspace import Library
    from ai_lessons.app.written import Written
    from ai_lessons.model.entries import EntrySummary, Link


def links_to(library: Library, refs: Sequence[str]) -> list[str]:
    """A sentence for each link to these entries that another one states."""
    entries = {summary.id: summary for _, summary in map(library.writing, refs)}
    sentences = []
    for summary in entries.values():
        for edge in library.reading.catalog.edges(summary.id):
            if edge.target == summary.id and edge.source not in entries:
                source = library.reading.catalog.many([edge.source])[edge.source]
                words = Relation(edge.relation).words()
                sentences.append(
                    f"{source.handle} {source.title!r} links to {summary.handle}: {words}"
                )
    return sentences


def link(library: Library, a: str, b: str, relation: str, weight: float | None = None) -> Written:
    """Write an edge into `a`.

    The same again, or a symmetric one that `b` states, only changes its weight.

    Raises UsageError: wrong kinds, or both are the same entry. Conflict: it would close a circle.
    """
    start, end = _pair(library, a, b)
    refuse_wrong_kinds(library.reading.catalog, start.kind, [(relation, end.id)])
    refuse_circle(library.reading, start, relation, end)
    end_entry, _ = library.reading.of(end.id).load(end.id)
    stated = {(link.relation, link.target) for link in end_entry.links}
    if Relation(relation).symmetric and (relation, start.id) in stated:
        start, end = end, start
    entry, _ = library.reading.of(start.id).load(start.id)
    kept = [link for link in entry.links if (link.relation, link.target) != (relation, end.id)]
    links = frontmatter.link_items(kept, add=(relation, end.id, weight))
    subject = f"Link: {start.title} {relation} {end.title}"
    repo, _ = library.writing(start.id)
    done = change(repo, start, {"links": links}, subject)
    if relation in authorship.SILENCING:
        authorship.remember_link(repo, start.id, end.id)
    return done


def unlink(library: Library, a: str, b: str, relation: str | None = None) -> Written:
    """Take the edges between two entries away (of one relation, or all).

    Raises NotFound: there is none.
    """
    start, end = _pair(library, a, b)
    for summary, other in ((start, end), (end, start)):
        entry, _ = library.reading.of(summary.id).load(summary.id)
        kept: list[Link] = []
        for link in entry.links:
            if link.target != other.id or relation not in {None, link.relation}:
                kept.append(link)
        if len(kept) != len(entry.links):
            links = frontmatter.link_items(kept) or REMOVE
            subject = f"Unlink: {summary.title} and {other.title}"
            return change(library.writing(summary.id)[0], summary, {"links": links}, subject)
    raise NotFound(
        f"link between {start.handle} and",
        end.handle,
        hint=f"ai-lessons recall related {start.handle}",
    )


def _pair(library: Library, a: str, b: str) -> tuple[EntrySummary, EntrySummary]:
    reading = library.reading
    reading.current()
    start, end = reading.resolve(a), reading.resolve(b)
    if start.id == end.id:
        raise UsageError("an entry cannot be linked to itself")
    return start, end
