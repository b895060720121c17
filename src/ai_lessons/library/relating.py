"""What relations do to results: the superseded make way, the contradicting are named, the general are not repeated."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from ai_lessons.errors import Conflict, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Kind, Relation, Status
from ai_lessons.knowledge.patterns import parse
from ai_lessons.knowledge.relations import ACYCLIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.knowledge.entries import Light, Pattern
    from ai_lessons.library.answers import Hit, Query
    from ai_lessons.library.parts import Parts

SPARE = 20
"""Results asked for beyond the limit, for those that take the places of superseded ones."""

LOWERED = 0.5
"""What is left of the score of a superseded entry where it is shown all the same."""

_WORD = re.compile(r"\w+")

SEE_ALSO = 3
"""Results that are asked for what is related to them, and related entries that are named."""

CHAIN = 20
"""Steps along `supersedes`; longer chains are mistakes."""


def with_room(query: Query) -> Query:
    """The same search with places to spare."""
    return query._replace(limit=query.limit + SPARE)


def settled(parts: Parts, query: Query, hits: Sequence[Hit]) -> list[Hit]:
    """The best of these hits, as many as were asked for: without the superseded, or with `query.every` with less score.

    Rules are never touched: whether one counts is decided by approval alone.
    """
    kept: list[Hit] = []
    for hit in hits:
        if not query.every and len(kept) == query.limit:
            break
        old = hit.entry.kind is not Kind.RULE and superseded_by(parts, hit.entry.id) is not None
        if not old:
            kept.append(hit)
        elif query.every:
            factors = {**hit.factors, "superseded": LOWERED} if hit.factors else hit.factors
            entry = hit.entry._replace(score=(hit.entry.score or 0.0) * LOWERED)
            kept.append(hit._replace(entry=entry, factors=factors))
    if query.every:
        kept.sort(key=lambda hit: -(hit.entry.score or 0.0))
    return kept[: query.limit]


def superseded_by(parts: Parts, entry_id: str) -> Light | None:
    """The newest active entry that takes the place of this one, over however many steps; None if it stands."""
    found: Light | None = None
    seen, border = {entry_id}, [entry_id]
    for _ in range(CHAIN):
        newer = [
            edge.source
            for one in border
            for edge in parts.catalog.edges(one)
            if edge.relation == Relation.SUPERSEDES and edge.target == one and edge.source not in seen
        ]
        if not newer:
            break
        seen.update(newer)
        lights = parts.catalog.many(newer)
        active = [lights[one] for one in newer if one in lights and _is_active(lights[one])]
        found = active[0] if active else found
        border = newer
    return found


def superseded(parts: Parts) -> frozenset[str]:
    """The ids of all entries that something active takes the place of; of rules none, see `settled`."""
    old = {edge.target for edge in parts.catalog.edges() if edge.relation == Relation.SUPERSEDES}
    known = parts.catalog.many(old) if old else {}
    return frozenset(
        one for one, light in known.items() if light.kind is not Kind.RULE and superseded_by(parts, one) is not None
    )


def _is_active(light: Light) -> bool:
    return light.details.get("status", Status.ACTIVE) in {Status.ACTIVE, None}


def contradictions(parts: Parts, lights: Iterable[Light]) -> list[tuple[Light, Light]]:
    """Pairs of these entries that contradict each other, in their order."""
    shown = {light.id: light for light in lights}
    pairs = {
        frozenset((edge.source, edge.target))
        for one in shown
        for edge in parts.catalog.edges(one)
        if edge.relation == Relation.CONTRADICTS
    }
    return [(a, b) for a, b in combinations(shown.values(), 2) if frozenset((a.id, b.id)) in pairs]


def warnings(parts: Parts, lights: Iterable[Light]) -> list[str]:
    """A sentence for each pair of results that contradict each other: both are never shown without saying so."""
    return [f"[{a.handle}] and [{b.handle}] contradict each other" for a, b in contradictions(parts, lights)]


def see_also(parts: Parts, lights: Sequence[Light]) -> list[str]:
    """A sentence that names what is related to the best results and is not among them; none without such a link."""
    shown = {light.id for light in lights}
    others: dict[str, str] = {}
    for light in lights[:SEE_ALSO]:
        for edge in parts.catalog.edges(light.id):
            other = edge.target if edge.source == light.id else edge.source
            if edge.relation == Relation.RELATED_TO and other not in shown:
                others.setdefault(other, light.handle)
    known = parts.catalog.many(others) if others else {}
    found = [
        f"{known[one].handle} {known[one].title} (related to {handle})"
        for one, handle in others.items()
        if one in known and _is_active(known[one]) and superseded_by(parts, one) is None
    ]
    return [f"see also: {'; '.join(found[:SEE_ALSO])}"] if found else []


def giving_way(parts: Parts, lights: Sequence[Light], project: str | None) -> dict[str, tuple[str, str]]:
    """Of lessons that would come together, those that do not, each with a word and a sentence for why.

    `lights` are in their order, the surest of the nearest first. Of two that contradict each other the one nearer to
    the project comes, else the first; a general one is not repeated beside the one that specializes it.
    """
    away: dict[str, tuple[str, str]] = {}
    by_id = {light.id: light for light in lights}
    for light in lights:
        newer = superseded_by(parts, light.id)
        if newer is not None:
            away[light.id] = "superseded", f"superseded by [{newer.handle}]"
    for light in lights:
        for edge in parts.catalog.edges(light.id):
            special = edge.relation == Relation.SPECIALIZES and edge.source == light.id
            if special and edge.target in by_id and light.id not in away and edge.target not in away:
                away[edge.target] = "specialized", f"[{light.handle}] says it for this case"
    for one, other in contradictions(parts, lights):
        if one.id in away or other.id in away:
            continue
        wins, loses = (other, one) if _farther(one, project) > _farther(other, project) else (one, other)
        away[loses.id] = "contradicts", f"contradicts [{wins.handle}], which is nearer or surer"
    return away


def _farther(light: Light, project: str | None) -> int:
    """How far an entry is from the project one works in: its own, what holds everywhere, another one's."""
    return 0 if light.project == project else 1 if light.project == GLOBAL_PROJECT else 2


def refuse_circle(parts: Parts, start: Light, relation: str, end: Light) -> None:
    """Refuse an edge that would close a circle of a relation that makes no sense in one.

    Raises:
        Conflict: it would.
    """
    if relation not in ACYCLIC:
        return
    seen, border = {end.id}, [end.id]
    while border:
        border = [
            edge.target
            for one in border
            for edge in parts.catalog.edges(one)
            if edge.relation == relation and edge.source == one and edge.target not in seen
        ]
        seen.update(border)
    if start.id in seen:
        raise Conflict(
            f"{end.handle} {relation.replace('_', ' ')} {start.handle} already, if over others: this closes a circle",
            hint=f"ai-lessons recall related {end.handle} --depth 3",
        )


def opposites(parts: Parts, written: str, pattern: Pattern) -> list[str]:
    """A suggestion for each active lesson that says the opposite of this new one for the same case; links nothing.

    Looks at lessons of the same project and those that hold everywhere. "The same" is half of the words, of the case as
    of the action: what means the same in other words is not noticed.
    """
    new = parts.catalog.many([written]).get(written)
    if new is None:
        return []
    known = [
        light
        for project in dict.fromkeys((new.project, GLOBAL_PROJECT))
        for light in parts.catalog.select(Filter(kinds=frozenset({Kind.LESSON}), project=project))
        if light.id != written and light.details.get("pattern")
    ]
    return [
        f"[{light.handle}] says the opposite for the same case; if so, say it: "
        f"ai-lessons contribute link {new.handle} {light.handle} --relation contradicts"
        for light in known
        if _opposed(str(light.details["pattern"]), pattern)
    ]


def _opposed(other: str, pattern: Pattern) -> bool:
    try:
        there = parse(other)
    except UsageError:
        return False  # a file may say anything
    return (
        there.negative != pattern.negative and _alike(there.when, pattern.when) and _alike(there.action, pattern.action)
    )


def _alike(one: str, other: str) -> bool:
    """Whether two texts share half of their words (Jaccard)."""
    a, b = (set(_WORD.findall(text.casefold())) for text in (one, other))
    return bool(a | b) and 2 * len(a & b) >= len(a | b)
