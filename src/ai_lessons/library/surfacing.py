"""The rules that come along with a search: asked of the index apart, so that they take nobody's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.index.ranking import snippet
from ai_lessons.index.surfacing import Rule, Work, near, surfaced
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.answers import Hit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.index.surfacing import Near
    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.answers import Query
    from ai_lessons.library.multi_repository import Reader
    from ai_lessons.library.opened import Reading

DEPTH = 50
"""Passages of rules asked of each half: far more than can surface."""


def rules_for(parts: Reading, query: Query, results: Sequence[Light], *, complete: bool) -> list[Hit]:
    """The rules in force that surface beside these results, best first.

    `complete` says that no passage lacks its vector. The catalog and the index are up to date already. Neither the
    project nor the tags that the results are filtered by keep a rule out: they say what one is working on.
    """
    found = parts.indexing.rules(query.text, DEPTH)
    joined = linked(parts.catalog, (light.id for light in results))
    known = parts.catalog.many({hit.entry_id for hit in (*found.text, *found.vectors)} | joined)
    rules = {light.id: light for light in known.values() if light.kind is Kind.RULE}
    titles = {entry_id: light.title for entry_id, light in rules.items()}
    close = near(query.text, found.text, found.vectors, titles, complete=complete and bool(found.vectors))
    ranked = surfaced(
        close,
        [Rule(light.id, light.project, frozenset(light.tags)) for light in rules.values()],
        joined,
        Work(query.context_tags, frozenset(query.tags), query.project),
        parts.reading_config.tag_aliases,
    )
    return [
        Hit(
            _light(rules[one.match.entry_id], close.get(one.match.entry_id), query.text)._replace(score=one.score),
            one.match.heading,
            one.factors if query.explain else {},
        )
        for one in ranked
    ]


def linked(catalog: Reader, ids: Iterable[str]) -> set[str]:
    """Whatever a link joins with one of these entries, either way round."""
    return {end for entry_id in ids for edge in catalog.edges(entry_id) for end in (edge.source, edge.target)}


def _light(light: Light, close: Near | None, query: str) -> Light:
    text = close.match.text if close else ""
    return light._replace(snippet=snippet(text, query) or light.snippet)
