"""Effects of links on results: superseded entries are dropped, contradictions are named, and the graph is drawn."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import Conflict, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Kind, Light, Pattern, Relation, Status
from ai_lessons.knowledge.json_fields import json_fields
from ai_lessons.knowledge.patterns import parse
from ai_lessons.knowledge.relations import ACYCLIC, GraphStep, Line, clusters, derived_from, drawing, wrong_kinds
from ai_lessons.library.answers import Hit, Query, Related
from ai_lessons.library.statements import may_silence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ai_lessons.library.multi_repository import Reader
    from ai_lessons.library.opened import Library, Reading

SPARE = 20  # Results asked for beyond the limit, for those that take the places of superseded ones
LOWERED = 0.5  # What is left of the score of a superseded entry where it is shown all the same

_WORD = re.compile(r"\w+")

SEE_ALSO = 3  # Results that are asked for what is related to them, and related entries that are named
CHAIN = 20  # Steps along `supersedes`, or back over `derived_from`; longer chains are mistakes


def settled(repo: Reading, query: Query, hits: Sequence[Hit]) -> list[Hit]:
    """The best hits, as many as asked for: no superseded (`query.every`: with less score); never of rules."""
    kept: list[Hit] = []
    farther = farther_copies(repo, [hit.entry for hit in hits])
    for hit in nearer_first(repo, hits):
        if not query.every and len(kept) == query.limit:
            break
        if hit.entry.id in farther:
            continue
        old = hit.entry.kind is not Kind.RULE and superseded_by(repo, hit.entry.id) is not None
        if not old:
            kept.append(hit)
        elif query.every:
            factors = {**hit.factors, "superseded": LOWERED} if hit.factors else hit.factors
            entry = hit.entry._replace(score=(hit.entry.score or 0.0) * LOWERED)
            kept.append(hit._replace(entry=entry, factors=factors))
    if query.every:
        kept.sort(key=lambda hit: -(hit.entry.score or 0.0))
    return kept[: query.limit]


def nearer_first(repo: Reading, hits: Sequence[Hit]) -> list[Hit]:
    """The same hits; of two that contradict each other over tiers the nearer stands first."""
    ordered = list(hits)
    if len(repo.every) == 1:
        return ordered
    lights = [hit.entry for hit in hits]
    for a, b in contradictions(repo, lights):
        first, second = sorted((a, b), key=lambda light: repo.nearness(light.tier))
        places = {hit.entry.id: place for place, hit in enumerate(ordered)}
        if places[first.id] > places[second.id]:
            ordered.insert(places[second.id], ordered.pop(places[first.id]))
    return ordered


def farther_copies(repo: Reading, lights: Iterable[Light]) -> set[str]:
    """The ids of these that a nearer tier has as well: one was promoted from the other, or both from a third."""
    titled: dict[str, list[Light]] = {}
    for light in lights:
        titled.setdefault(light.title, []).append(light)

    def origins(light: Light) -> set[str]:
        return {light.id, *derived_from(repo.catalog.edges(light.id), light.id)}

    pairs = (pair for same in titled.values() for pair in combinations(same, 2))
    twice = ((a, b) for a, b in pairs if a.tier != b.tier and origins(a) & origins(b))
    return {max(pair, key=lambda light: repo.nearness(light.tier)).id for pair in twice}


def superseded_by(repo: Reading, entry_id: str, light: Light | None = None) -> Light | None:
    """The newest active entry that takes the place of this one (`light`, if known); None if it stands.

    Follows up to `CHAIN` links; of a firm lesson only those count that may silence one.
    """
    newest: Light | None = None
    seen, border = {entry_id}, [entry_id]
    lights = {entry_id: light} if light else {}
    for _ in range(CHAIN):
        steps = [
            (edge.source, old)
            for old in border
            for edge in repo.catalog.edges(old)
            if edge.relation == Relation.SUPERSEDES and edge.target == old and edge.source not in seen
        ]
        if not steps:
            break
        lights |= repo.catalog.many({end for step in steps for end in step if end not in lights})
        newer = [source for source, old in steps if may_silence(repo.every, source, old, lights)]
        seen.update(newer)
        active = [lights[source] for source in newer if source in lights and _is_active(lights[source])]
        newest = active[0] if active else newest
        border = newer
    return newest


def superseded(repo: Reading) -> frozenset[str]:
    """The ids of all entries that something active takes the place of; of rules none, see `settled`."""
    old = {edge.target for edge in repo.catalog.edges() if edge.relation == Relation.SUPERSEDES}
    lights = repo.catalog.many(old) if old else {}
    return frozenset(x.id for x in lights.values() if x.kind is not Kind.RULE and superseded_by(repo, x.id, x))


def _is_active(light: Light) -> bool:
    return light.details.get("status") != Status.WRONG


def contradictions(repo: Reading, lights: Iterable[Light]) -> list[tuple[Light, Light]]:
    """Pairs of these entries that contradict each other, in their order."""
    shown = {light.id: light for light in lights}
    pairs = {
        frozenset((edge.source, edge.target))
        for entry_id in shown
        for edge in repo.catalog.edges(entry_id)
        if edge.relation == Relation.CONTRADICTS
    }
    return [(a, b) for a, b in combinations(shown.values(), 2) if frozenset((a.id, b.id)) in pairs]


def warnings(repo: Reading, lights: Iterable[Light]) -> list[str]:
    """A sentence for each pair of results that contradict each other: both are never shown without saying so."""
    sentences = []
    for a, b in contradictions(repo, lights):
        near = min(a, b, key=lambda light: repo.nearness(light.tier))
        why = "" if a.tier == b.tier else f": [{near.handle}] of the {near.tier} tier is nearer, so it counts"
        sentences.append(f"[{a.handle}] and [{b.handle}] contradict each other{why}")
    return sentences


def see_also(repo: Reading, lights: Sequence[Light]) -> list[str]:
    """A sentence that names what is related to the best results and is not among them; none without such a link."""
    shown = {light.id for light in lights}
    handles: dict[str, str] = {}
    for light in lights[:SEE_ALSO]:
        for edge in repo.catalog.edges(light.id):
            other = edge.target if edge.source == light.id else edge.source
            if edge.relation == Relation.RELATED_TO and other not in shown:
                handles.setdefault(other, light.handle)
    lights_related = repo.catalog.many(handles) if handles else {}
    sentences = [
        f"{lights_related[entry_id].handle} {lights_related[entry_id].title} (related to {handle})"
        for entry_id, handle in handles.items()
        if entry_id in lights_related and _is_active(lights_related[entry_id]) and superseded_by(repo, entry_id) is None
    ]
    return [f"see also: {'; '.join(sentences[:SEE_ALSO])}"] if sentences else []


def giving_way(repo: Reading, lights: Sequence[Light], project: str | None) -> dict[str, tuple[str, str]]:
    """Of lessons that would come together, the surest of the nearest first, those that do not: (word, sentence) by id.

    Of two that contradict each other the nearer one comes, by tier, then project, else the first; no general one comes
    beside the one that specializes it.
    """
    away: dict[str, tuple[str, str]] = {}
    by_id = {light.id: light for light in lights}
    for light in lights:
        if newer := superseded_by(repo, light.id):
            away[light.id] = "superseded", f"superseded by [{newer.handle}]"
    for light in lights:
        for edge in repo.catalog.edges(light.id):
            special = edge.relation == Relation.SPECIALIZES and edge.source == light.id
            special = special and edge.target in by_id and light.id not in away and edge.target not in away
            if special and may_silence(repo.every, light.id, edge.target, by_id):
                away[edge.target] = "specialized", f"[{light.handle}] says it for this case"
    for first, second in contradictions(repo, lights):
        if first.id in away or second.id in away:
            continue
        # its own project is nearer than what holds everywhere, that than another project
        steps = {GLOBAL_PROJECT: 1} | {project: 0}
        far, near = ((repo.nearness(x.tier), steps.get(x.project, 2)) for x in (first, second))
        wins, loses = (second, first) if far > near else (first, second)
        if not may_silence(repo.every, wins.id, loses.id, by_id):
            wins, loses = loses, wins
        away[loses.id] = "contradicts", f"contradicts [{wins.handle}], which is nearer or surer"
    return away


def refuse_circle(repo: Reading, start: Light, relation: str, end: Light) -> None:
    """Raises Conflict: the edge would close a circle of a relation that makes no sense in one."""
    if relation not in ACYCLIC:
        return
    reached = [end.id]
    for entry_id in reached:  # it grows on the way
        next_ones = {
            edge.target for edge in repo.catalog.edges(entry_id) if (edge.source, edge.relation) == (entry_id, relation)
        }
        reached += next_ones.difference(reached)
    if start.id in reached:
        raise Conflict(
            f"{end.handle} {relation.replace('_', ' ')} {start.handle} already, if over others: this closes a circle",
            hint=f"ai-lessons recall related {end.handle} --depth 3",
        )


def refuse_wrong_kinds(repo: Reading, source: Kind, links: Iterable[tuple[str, str]]) -> None:
    """Look at links (relation, id) to what is in the catalog. Raises UsageError: a relation does not join the kinds."""
    pairs = list(links)
    lights = repo.catalog.many({target for _, target in pairs}) if pairs else {}
    for relation, target in pairs:
        end = lights.get(target)
        if end and (wrong := wrong_kinds(relation, source, end.kind)):
            message, _, fitting = wrong.partition("; ")
            raise UsageError(f"{message} ({end.handle})", hint=fitting)


def opposites(repo: Reading, written: str, pattern: Pattern) -> list[str]:
    """A suggestion for each active lesson of its project and `global` that says the opposite for the same case."""
    new = repo.catalog.many([written]).get(written)
    if new is None:
        return []
    filters = [
        Filter(kinds=frozenset({Kind.LESSON}), project=name) for name in dict.fromkeys((new.project, GLOBAL_PROJECT))
    ]
    lessons = [light for query in filters for light in repo.catalog.select(query) if light.id != written]
    return [
        f"[{light.handle}] says the opposite for the same case; if so, say it: "
        f"ai-lessons contribute link {new.handle} {light.handle} --relation contradicts"
        for light in opposed(lessons, pattern)
    ]


def namesakes(repo: Reading, written: str, title: str) -> list[str]:
    """A suggestion for each active lesson of the same title."""
    lights = repo.catalog.select(Filter(kinds=frozenset({Kind.LESSON}), title=title))
    return [
        f"[{light.handle}] has the same title; to change that one: ai-lessons contribute update {light.handle}"
        for light in lights
        if light.id != written
    ]


def opposed(lessons: Iterable[Light], pattern: Pattern) -> list[Light]:
    """Those lessons whose pattern says the opposite of this one for the same case, as far as their words tell."""
    opposed_lessons = []
    for light in lessons:
        with suppress(UsageError):  # no pattern: a file may say anything
            stated = parse(str(light.details.get("pattern") or ""))
            same_case = alike(stated.when, pattern.when) and alike(stated.action, pattern.action)
            if stated.negative != pattern.negative and same_case:
                opposed_lessons.append(light)
    return opposed_lessons


def alike(a_text: str, b_text: str) -> bool:
    """Whether two texts share half of their words (Jaccard)."""
    a, b = set(_WORD.findall(a_text.casefold())), set(_WORD.findall(b_text.casefold()))
    return bool(a | b) and 2 * len(a & b) >= len(a | b)


def related_of(catalog: Reader, steps: Collection[GraphStep]) -> tuple[Related, ...]:
    """What these steps over the graph lead to."""
    lights = catalog.many(step.target for step in steps)
    return tuple(
        Related(lights.get(step.target), step.target, step.relation, step.outgoing, step.weight, step.depth)
        for step in steps
    )


@json_fields(hidden=("confidence",))
class Graph(NamedTuple):
    """Entries, the links between them and to `missing` ids; `clusters`: ids that hang together over `related_to`."""

    entries: tuple[Light, ...] = ()
    missing: tuple[str, ...] = ()
    links: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: tuple[tuple[str, ...], ...] = ()
    confidence: Mapping[str, float] = MappingProxyType({})


def graph(
    opened: Library, refs: Sequence[str] = (), *, depth: int = 1, most: int = 200, project: str | None = None
) -> Graph:
    """What is linked within `depth` steps of these entries, or everything (of a project, and what is linked with it).

    `confidence` is by lesson, as it was learned. Raises NotFound, AmbiguousName.
    """
    repo = opened.reading
    catalog = repo.current()
    starts = [repo.resolve(ref).id for ref in refs]
    edges = catalog.edges()
    if project:
        inside = {light.id for light in catalog.select(Filter(project=project, status=None))}
        edges = [edge for edge in edges if {edge.source, edge.target} & inside]
    drawn = drawing(edges, starts, depth=depth, most=most)
    lights = catalog.many(drawn.ids)
    notes = repo.notes()
    if drawn.left_out:
        every = len(drawn.ids) + drawn.left_out
        notes.append(f"{drawn.left_out} of {every} left out: --limit {every} shows all")
    joined = [(line.source, line.target) for line in drawn.lines if line.relation == Relation.RELATED_TO]
    missing = tuple(name for name in drawn.ids if name not in lights)
    entries = tuple(lights[name] for name in drawn.ids if name in lights)
    groups = clusters(pair for pair in joined if {*pair} <= lights.keys())
    lessons = [light for light in entries if light.kind is Kind.LESSON]
    confidence = {lesson: used.confidence for lesson, used in repo.usages.several(lessons).items()}
    return Graph(entries, missing, drawn.lines, tuple(notes), groups, confidence)
