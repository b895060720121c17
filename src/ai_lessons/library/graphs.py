"""The graph of what is linked, or a part of it, for drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.entries import Relation
from ai_lessons.knowledge.relations import clusters, drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.relations import Line
    from ai_lessons.library.opened import Library


class Graph(NamedTuple):
    """Entries in their order, the links between them and to `missing` ids, which no entry has.

    `clusters` are the ids of three or more entries that hang together over `related_to`, the largest first.
    """

    entries: tuple[Light, ...] = ()
    missing: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: tuple[tuple[str, ...], ...] = ()


def graph(library: Library, refs: Sequence[str] = (), *, depth: int = 1, most: int = 200) -> Graph:
    """What is linked within `depth` steps of these entries, or everything that is; at most so many entries.

    Raises:
        NotFound: no such entry; AmbiguousName: several entries answer to one of `refs`.
    """
    parts = library.reading
    catalog = parts.current()
    starts = [parts.resolve(ref).id for ref in refs]
    drawn = drawing(catalog.edges(), starts, depth=depth, most=most)
    lights = catalog.many(drawn.ids)
    notes = parts.notes()
    if drawn.left_out:
        every = len(drawn.ids) + drawn.left_out
        notes.append(f"{drawn.left_out} of {every} left out: --limit {every} shows all")
    return Graph(
        tuple(lights[name] for name in drawn.ids if name in lights),
        tuple(name for name in drawn.ids if name not in lights),
        drawn.lines,
        tuple(notes),
        clusters(
            (one.source, one.target)
            for one in drawn.lines
            if one.relation == Relation.RELATED_TO and {one.source, one.target} <= lights.keys()
        ),
    )
