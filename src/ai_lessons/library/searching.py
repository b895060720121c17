"""One search from question to ranked entries: refresh, candidates, fusion, factors, snippets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import UsageError
from ai_lessons.index.ranking import VECTOR_WEIGHT, Facts, fuse, rank, snippet
from ai_lessons.index.rows import Filter
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.versions import score as version_score
from ai_lessons.library.answers import Hit, Query
from ai_lessons.library.surfacing import rules_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.index.ranking import Match, Ranked
    from ai_lessons.index.rows import Candidates, Refreshed
    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.parts import Parts

DEPTH = 100
"""Passages asked of each half, more only for more results; measured in the recipe that `ranking` follows."""


def find(parts: Parts, query: Query) -> tuple[list[Hit], list[str]]:
    """Hits, best first, and notes on how the answer came about.

    With no kind asked for, the rules that surface come first and beside the limit. With some, only those are found:
    rules then as everything else is, by how well they match, whatever one is working on.

    Raises:
        UsageError: nothing to search for.
    """
    if not query.text.strip():
        raise UsageError("the query is empty", hint="say what you look for, or use `ai-lessons recall list`")
    parts.current()
    done = parts.indexing.refresh()
    surfacing = not query.kinds and parts.rules.count > 0
    depth = max(DEPTH, query.limit)
    found = parts.indexing.candidates(query.text, _wanted(parts, query, without_rules=surfacing), depth)
    matches = fuse(found.text, found.vectors, found.depth, VECTOR_WEIGHT * _coverage(parts, done.missing))
    hits = _hits(parts, query, matches)
    if surfacing:
        hits = rules_for(parts, query, [hit.entry for hit in hits], complete=not done.missing) + hits
    return hits, _notes(parts, done, found)


def _wanted(parts: Parts, query: Query, *, without_rules: bool) -> Filter:
    kinds = query.kinds or frozenset(kind for kind in Kind if without_rules and kind is not Kind.RULE)
    return Filter(
        kinds=frozenset(kind.value for kind in kinds),
        project=query.project,
        tags=tuple(query.tags),
        versions=_spellings(parts, query.versions),
    )


def _notes(parts: Parts, done: Refreshed, found: Candidates) -> list[str]:
    notes = [*parts.notes(), *parts.config_notes(), done.rebuilt, *done.notes, found.note]
    if done.missing and found.vectors:
        notes.append(
            f"vectors of {done.missing} passages are still missing (their text is searched): "
            "`ai-lessons admin reindex` completes them"
        )
    return [note for note in dict.fromkeys(notes) if note]


def _hits(parts: Parts, query: Query, matches: Sequence[Match]) -> list[Hit]:
    lights = parts.catalog.many(match.entry_id for match in matches)
    ranked = rank(
        matches,
        {entry_id: _facts(light) for entry_id, light in lights.items() if _shown(light)},
        versions=frozenset(query.versions),
        context=query.context_tags,
        aliases=parts.reading_config.tag_aliases,
        limit=query.limit,
    )
    return [
        Hit(
            _light(lights[one.match.entry_id], one, query.text), one.match.heading, one.factors if query.explain else {}
        )
        for one in ranked
    ]


def _light(light: Light, one: Ranked, text: str) -> Light:
    return light._replace(score=one.score, snippet=snippet(one.match.text, text) or light.snippet)


def _coverage(parts: Parts, missing: int) -> float:
    """The share of passages that have a vector: the best of a few vectors must not outrank the best of all texts."""
    if not missing:
        return 1.0
    status = parts.index.status()
    return status.vectors / status.passages if status.passages else 0.0


def _spellings(parts: Parts, asked: Sequence[str]) -> frozenset[str] | None:
    """The versions in this repository that fit what was asked for, as they are written; None if nothing was."""
    if not asked:
        return None
    names = (tally.name for tally in parts.catalog.versions())
    return frozenset(name for name in names if version_score(asked, {name}) is not None)


def _shown(light: Light) -> bool:
    return light.details.get("status", "active") in {"active", None}


def _facts(light: Light) -> Facts:
    return Facts(light.id, frozenset(light.tags), frozenset(light.versions), versioned=light.kind.is_resource)
