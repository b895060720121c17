"""What links do to results.

Superseded entries go, contradictions are named, copies of a farther tier go; the graph.
"""

from __future__ import annotations

from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.answers import Hit, Query, Related
from ai_lessons.app.authorship import may_silence
from ai_lessons.errors import Conflict
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    KINDS,
    EntrySummary,
    Filter,
    Kind,
    Relation,
    Status,
    json_fields,
)
from ai_lessons.model.lessons import trust
from ai_lessons.model.links import ACYCLIC, GraphStep, Line, clusters, derived_from, drawing, reach

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.model.entries import Edge
    from ai_lessons.model.tallies import UsageTally
    from ai_lessons.search.catalog_reader import CatalogReader


class LinkLimits(NamedTuple):
    """How many entries links may bring to an answer."""

    # Results asked for beyond the limit, for those that take the places of superseded ones
    spare: int = 20
    # Results that are asked for what is related to them, and related entries that are named
    see_also: int = 3
    # Steps along `supersedes`, or back over `derived_from`: no chain is longer, but a pulled one may be
    chain: int = 20


LINK_LIMITS = LinkLimits()


def edges_of(catalog: CatalogReader, entry_id: str, relation: str) -> list[Edge]:
    """The links of a relation that start or end at an entry."""
    results: list[Edge] = []
    for edge in catalog.edges(entry_id):
        if edge.relation == relation:
            results.append(edge)
    return results


def drop_superseded(repo: Reading, query: Query, hits: Sequence[Hit]) -> list[Hit]:
    """The best hits, as many as asked for, without superseded ones.

    `query.every`: with these, at half of their score.
    """
    kept: list[Hit] = []
    farther = farther_copies(repo, [hit.entry for hit in hits])
    for hit in nearer_first(repo, hits):
        if not query.every and len(kept) == query.limit:
            break
        if hit.entry.id in farther:
            continue
        # a rule is in force until a person withdraws it, whatever links to it
        old = hit.entry.kind is not Kind.RULE and superseded_by(repo, hit.entry.id) is not None
        if not old:
            kept.append(hit)
        elif query.every:
            # shown all the same, with half of its score, so that what supersedes it comes first
            factors = {**hit.factors, "superseded": 0.5} if hit.factors else hit.factors
            entry = hit.entry._replace(score=(hit.entry.score or 0.0) * 0.5)
            kept.append(hit._replace(entry=entry, factors=factors))
    if query.every:
        kept.sort(key=lambda hit: -(hit.entry.score or 0.0))
    return kept[: query.limit]


def nearer_first(repo: Reading, hits: Sequence[Hit]) -> list[Hit]:
    """The same hits; of two that contradict each other over tiers the nearer stands first."""
    ordered = list(hits)
    if len(repo.every) == 1:
        return ordered
    summaries = [hit.entry for hit in hits]
    for a, b in contradictions(repo, summaries):
        first, second = sorted((a, b), key=lambda summary: repo.tier_distance(summary.tier))
        places = {}
        for place, hit in enumerate(ordered):
            places[hit.entry.id] = place
        if places[first.id] > places[second.id]:
            ordered.insert(places[second.id], ordered.pop(places[first.id]))
    return ordered


def usages_of(repo: Reading, summaries: Sequence[EntrySummary]) -> dict[str, UsageTally]:
    """How entries have done, by id; the repository of each is asked."""
    usages: dict[str, UsageTally] = {}
    for place in repo.every:
        usages |= place.learned.several(
            [summary for summary in summaries if summary.tier == place.options.tier]
        )
    return usages


def silent(repo: Reading, summaries: Collection[EntrySummary]) -> dict[str, str]:
    """Why entries are not shown unasked, by id; the repository of each is asked."""
    reasons: dict[str, str] = {}
    for place in repo.every:
        reasons |= place.learned.silent(
            summary for summary in summaries if summary.tier == place.options.tier
        )
    return reasons


def farther_copies(repo: Reading, summaries: Iterable[EntrySummary]) -> set[str]:
    """The ids of these that a nearer tier has as well.

    One was promoted from the other, or both from a third.
    """
    titled: dict[str, list[EntrySummary]] = {}
    for summary in summaries:
        titled.setdefault(summary.title, []).append(summary)

    def origins(summary: EntrySummary) -> set[str]:
        return {summary.id, *derived_from(repo.catalog.edges(summary.id), summary.id)}

    pairs = (pair for same in titled.values() for pair in combinations(same, 2))
    twice = ((a, b) for a, b in pairs if a.tier != b.tier and origins(a) & origins(b))
    return {max(pair, key=lambda summary: repo.tier_distance(summary.tier)).id for pair in twice}


def origins(catalog: CatalogReader, entry_id: str) -> list[GraphStep]:
    """What an entry is derived from, over up to `LINK_LIMITS.chain` links, the nearest first; each once."""
    steps, seen, border = list[GraphStep](), {entry_id}, [entry_id]
    for depth in range(1, LINK_LIMITS.chain + 1):
        edges = (
            x
            for name in border
            for x in edges_of(catalog, name, Relation.DERIVED_FROM)
            if x.source == name
        )
        ring = {edge.target: edge for edge in edges if edge.target not in seen}
        for edge in ring.values():
            steps.append(
                GraphStep(
                    edge.target,
                    edge.relation,
                    outgoing=True,
                    weight=edge.weight,
                    depth=depth,
                    source=edge.source,
                )
            )
        seen.update(ring)
        border = list(ring)
    return steps


def weakest_origin(repo: Reading, summary: EntrySummary) -> EntrySummary | None:
    """The lesson that can be trusted least of those that an entry is derived from.

    None where none is below it.
    """
    ids = []
    for step in origins(repo.catalog, summary.id):
        ids.append(step.target)
    summaries = [summary, *(repo.catalog.many(ids).values() if ids else ())]
    weakest = min(
        (each for each in summaries if each.kind is Kind.LESSON), key=trust, default=summary
    )
    if weakest.id == summary.id:
        return None
    return weakest


def vouched(repo: Reading, summary: EntrySummary) -> EntrySummary:
    """The entry with the weakest of its origins: a copy is no surer than what it was made of."""
    weakest = weakest_origin(repo, summary)
    if weakest is None:
        return summary
    stated = {}
    for key in KINDS[weakest.kind].in_results:
        stated[key] = weakest.value(key)
    named = {
        "id": weakest.id,
        "handle": weakest.handle,
        "title": weakest.title,
        "tier": weakest.tier,
    }
    return summary._replace(origin=summary.origin._replace(weakest=named | stated))


def superseded_by(
    repo: Reading, entry_id: str, summary: EntrySummary | None = None
) -> EntrySummary | None:
    """The newest active entry that takes the place of this one (`summary`, if known).

    None if it stands.

    Follows up to `LINK_LIMITS.chain` links; of a firm lesson only those count that may silence one.
    """
    newest: EntrySummary | None = None
    seen, border = {entry_id}, [entry_id]
    if summary:
        summaries = {entry_id: summary}
    else:
        summaries = {}
    for _ in range(LINK_LIMITS.chain):
        edges = (
            x
            for old in border
            for x in edges_of(repo.catalog, old, Relation.SUPERSEDES)
            if x.target == old
        )
        steps = []
        for edge in edges:
            if edge.source not in seen:
                steps.append((edge.source, edge.target))
        if not steps:
            break
        summaries |= repo.catalog.many(
            {end for step in steps for end in step if end not in summaries}
        )
        newer = []
        for source, old in steps:
            if may_silence(repo.every, source, old, summaries):
                newer.append(source)
        seen.update(newer)
        active = [
            summaries[source]
            for source in newer
            if source in summaries and _is_active(summaries[source])
        ]
        if active:
            newest = active[0]
        border = newer
    return newest


def superseded(repo: Reading) -> frozenset[str]:
    """The ids of all entries that something active takes the place of.

    Never of rules: what is approved holds.
    """
    old = set()
    for edge in repo.catalog.edges():
        if edge.relation == Relation.SUPERSEDES:
            old.add(edge.target)
    if old:
        summaries = repo.catalog.many(old)
    else:
        summaries = {}
    results = []
    for x in summaries.values():
        if x.kind is not Kind.RULE and superseded_by(repo, x.id, x):
            results.append(x.id)
    return frozenset(results)


def replaced(repo: Reading, summaries: Mapping[str, EntrySummary]) -> set[str]:
    """The ids of those of these entries that something active takes the place of.

    Never of rules.
    """
    old = {
        edge.target for edge in repo.catalog.edges() if edge.relation == Relation.SUPERSEDES
    } & summaries.keys()
    kinds = {}
    for entry_id in old:
        kinds[entry_id] = summaries[entry_id].kind
    results: set[str] = set()
    for x in old:
        if kinds[x] is not Kind.RULE and superseded_by(repo, x, summaries[x]):
            results.add(x)
    return results


def _is_active(summary: EntrySummary) -> bool:
    return summary.status != Status.WRONG


def contradictions(
    repo: Reading, summaries: Iterable[EntrySummary]
) -> list[tuple[EntrySummary, EntrySummary]]:
    """Pairs of these entries that contradict each other, in their order."""
    shown = {}
    for summary in summaries:
        shown[summary.id] = summary
    edges = (
        edge
        for entry_id in shown
        for edge in edges_of(repo.catalog, entry_id, Relation.CONTRADICTS)
    )
    pairs = set()
    for edge in edges:
        pairs.add(frozenset((edge.source, edge.target)))
    contradictions: list[tuple[EntrySummary, EntrySummary]] = []
    for a, b in combinations(shown.values(), 2):
        if frozenset((a.id, b.id)) in pairs:
            contradictions.append((a, b))
    return contradictions


def warnings(repo: Reading, summaries: Iterable[EntrySummary]) -> list[str]:
    """A sentence for each pair of results that contradict each other.

    Both are never shown without saying so.
    """
    sentences = []
    for a, b in contradictions(repo, summaries):
        near = min(a, b, key=lambda summary: repo.tier_distance(summary.tier))
        if a.tier == b.tier:
            why = ""
        else:
            why = f": [{near.handle}] of the {near.tier} tier is nearer, so it counts"
        sentences.append(f"[{a.handle}] and [{b.handle}] contradict each other{why}")
    return sentences


def see_also(repo: Reading, summaries: Sequence[EntrySummary]) -> list[str]:
    """A sentence that names what is related to the best results and is not among them.

    None without such a link.
    """
    shown = {summary.id for summary in summaries}
    handles: dict[str, str] = {}
    for summary in summaries[: LINK_LIMITS.see_also]:
        for edge in edges_of(repo.catalog, summary.id, Relation.RELATED_TO):
            handles.setdefault(
                edge.target if edge.source == summary.id else edge.source, summary.handle
            )
    if handles:
        related = repo.catalog.many(handles.keys() - shown)
    else:
        related = {}
    standing = []
    for x in handles:
        if x in related and _is_active(related[x]) and not superseded_by(repo, x):
            standing.append(related[x])
    sentences = [
        f"{summary.handle} {summary.title} (related to {handles[summary.id]})"
        for summary in standing
    ]
    if sentences:
        return [f"see also: {'; '.join(sentences[: LINK_LIMITS.see_also])}"]
    return []


def suppressed(
    repo: Reading, summaries: Sequence[EntrySummary], project: str | None
) -> dict[str, tuple[str, str]]:
    """Which of these lessons are left out because of a link to another one of them.

    By id, a word and a sentence.

    They come the nearest first, in each place the surest first.
    """
    away: dict[str, tuple[str, str]] = {}
    by_id = {summary.id: summary for summary in summaries}
    for summary in summaries:
        if newer := superseded_by(repo, summary.id):
            away[summary.id] = "superseded", f"superseded by [{newer.handle}]"
    # a general lesson is left out beside the one that specializes it
    for summary in summaries:
        for edge in edges_of(repo.catalog, summary.id, Relation.SPECIALIZES):
            special = edge.source == summary.id and edge.target in by_id
            special = special and summary.id not in away and edge.target not in away
            if special and may_silence(repo.every, summary.id, edge.target, by_id):
                away[edge.target] = "specialized", f"[{summary.handle}] says it for this case"
    for first, second in contradictions(repo, summaries):
        if first.id in away or second.id in away:
            continue
        # Of two that contradict each other the nearer one stays: by tier, then by project (this
        # one, what holds everywhere, another one), else the first.
        steps = {GLOBAL_PROJECT: 1} | {project: 0}
        far, near = ((repo.tier_distance(x.tier), steps.get(x.project, 2)) for x in (first, second))
        wins, loses = (second, first) if far > near else (first, second)
        if not may_silence(repo.every, wins.id, loses.id, by_id):
            wins, loses = loses, wins
        away[loses.id] = "contradicts", f"contradicts [{wins.handle}], which is nearer or surer"
    return away


def refuse_circle(repo: Reading, start: EntrySummary, relation: str, end: EntrySummary) -> None:
    """Raises Conflict: the edge would close a circle of a relation that makes no sense in one."""
    if relation not in ACYCLIC:
        return
    reached = [end.id]
    for entry_id in reached:
        # it grows on the way
        ends = set()
        for edge in edges_of(repo.catalog, entry_id, relation):
            if edge.source == entry_id:
                ends.add(edge.target)
        reached += ends.difference(reached)
    if start.id in reached:
        raise Conflict(
            (
                f"{end.handle} {relation.replace('_', ' ')} {start.handle} already, if over "
                "others: this closes a circle"
            ),
            hint=f"ai-lessons recall related {end.handle} --depth 3",
        )


def around(catalog: CatalogReader, entry_id: str, depth: int = 1) -> tuple[Related, ...]:
    """Entries reached from one over at most `depth` links, either way, nearest first."""
    if depth == 1:
        edges = catalog.edges(entry_id)
    else:
        edges = catalog.edges(None)
    return related_of(catalog, reach(edges, entry_id, depth))


def related_of(catalog: CatalogReader, steps: Collection[GraphStep]) -> tuple[Related, ...]:
    """What these steps over the graph lead to."""
    summaries = catalog.many(step.target for step in steps)
    results = []
    for step in steps:
        results.append(
            Related(
                summaries.get(step.target),
                step.target,
                step.relation,
                step.outgoing,
                step.weight,
                step.depth,
            )
        )
    return tuple(results)


@json_fields(hidden=("confidence", "left_out"))
class Graph(NamedTuple):
    """Entries, the links between them and to `missing` ids.

    `clusters`: ids that hang together over `related_to`.

    `left_out`: entries that were one too many.
    """

    entries: tuple[EntrySummary, ...] = ()
    missing: tuple[str, ...] = ()
    links: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: tuple[tuple[str, ...], ...] = ()
    confidence: Mapping[str, float] = MappingProxyType({})
    left_out: int = 0


def graph(
    library: Library,
    refs: Sequence[str] = (),
    *,
    depth: int = 1,
    most: int = 200,
    project: str | None = None,
) -> Graph:
    """What is linked within `depth` steps of these entries, or everything (of a project, and what is linked with it).

    `confidence` is by lesson, as it was learned. Raises NotFound, AmbiguousName.
    """
    repo = library.reading
    catalog = repo.current()
    starts = []
    for ref in refs:
        starts.append(repo.resolve(ref).id)
    edges = catalog.edges()
    if project:
        inside = set()
        for summary in catalog.select(Filter(project=project, status=None)):
            inside.add(summary.id)
        edges = [edge for edge in edges if {edge.source, edge.target} & inside]
    drawn = drawing(edges, starts, depth=depth, most=most)
    summaries = catalog.many(drawn.ids)
    notes = repo.notes()
    if drawn.left_out:
        every = len(drawn.ids) + drawn.left_out
        notes.append(f"{drawn.left_out} of {every} left out: --limit {every} shows all")
    joined = []
    for line in drawn.lines:
        if line.relation == Relation.RELATED_TO:
            joined.append((line.source, line.target))
    missing = tuple(name for name in drawn.ids if name not in summaries)
    entries = tuple(summaries[name] for name in drawn.ids if name in summaries)
    groups = clusters(pair for pair in joined if {*pair} <= summaries.keys())
    lessons = [summary for summary in entries if summary.kind is Kind.LESSON]
    confidence = {}
    for lesson, used in usages_of(repo, lessons).items():
        confidence[lesson] = used.confidence
    return Graph(entries, missing, drawn.lines, tuple(notes), groups, confidence, drawn.left_out)
