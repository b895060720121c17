"""The rules that come along with a search: asked of the index apart, so that they take nobody's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.index.ranking import (
    QUERY_WORD,
    SHORT_WORD,
    Match,
    Ranked,
    context_boost,
    context_weights,
    snippet,
    stem,
)
from ai_lessons.index.rows import PassageFilter
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.answers import Hit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ai_lessons.index.rows import Candidates
    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.answers import Query
    from ai_lessons.library.multi_repository import Reader
    from ai_lessons.library.opened import Reading

MOST = 5
"""Rules that come along with one answer: more would be read by nobody."""

SIMILARITY = 0.55
"""Cosine similarity from which a rule is about what was asked, for the pinned model.

Measured with 24 rules of 8 domains and 48 questions that use other words than the rule: it lets 75 % of the rules pass
that were meant (.50: 92, .60: 56), 29 % of the others of the same domain (65, 12) and 14 % of the rest (38, 3), which
the second condition holds back. A rule missed costs more than one too many.
"""

WORDS = 0.5
"""Share of the question's words from which a rule is about it, where there is no vector to tell."""

_COMMON = frozenset(
    QUERY_WORD.findall(
        "about and any are but can could did does for from get had has have how into its not our should that the their "
        "then there these this was were what when where which who why will with would you your"
    )
)


@dataclass(frozen=True, slots=True)
class Near:
    """A rule as the searches found it. `similarity` is 0 to 1; `enough` says that it is about what was asked."""

    match: Match
    similarity: float
    enough: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule belongs to."""

    id: str
    project: str
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Work:
    """What one is working on: context tags with their weights (None: the default), the tags and project asked for."""

    context: Mapping[str, float | None]
    tags: AbstractSet[str] = frozenset()
    project: str | None = None


def near(
    query: str, text: Sequence[Match], vectors: Sequence[Match], titles: Mapping[str, str], *, complete: bool
) -> dict[str, Near]:
    """How close every rule is that the searches found, by its best passage; `titles` by id.

    By cosine where its vector was found; `complete` says that every passage has one, so that a rule without is far
    away. Else, and always where title and passage hold all words of the question, by the share of its words.
    """
    found: dict[str, Near] = {}
    for hit in vectors:
        _keep(found, hit, max(hit.score, 0.0), enough=hit.score >= SIMILARITY)
    with_vector = set(found)
    asked = _words(query)
    for hit in text:
        own = _words(f"{titles.get(hit.entry_id, '')} {hit.heading} {hit.text}")
        share = len(asked & own) / len(asked) if asked else 0.0
        if share == 1.0 or not (complete or hit.entry_id in with_vector):
            _keep(found, hit, share, enough=share >= WORDS)
    return found


def _keep(found: dict[str, Near], hit: Match, similarity: float, *, enough: bool) -> None:
    known = found.get(hit.entry_id)
    if known is None or (enough, similarity) > (known.enough, known.similarity):
        match = Match(hit.entry_id, hit.ordinal, similarity, hit.heading, hit.text)
        found[hit.entry_id] = Near(match, similarity, enough)


def _words(text: str) -> set[str]:
    words = (word for word in QUERY_WORD.findall(text.lower()) if len(word) >= SHORT_WORD)
    return {stem(word) for word in words if word not in _COMMON}


def surfaced(
    found: Mapping[str, Near],
    rules: Sequence[Rule],
    linked: AbstractSet[str],
    work: Work,
    aliases: Mapping[str, str],
) -> tuple[Ranked, ...]:
    """The rules that surface, best first, at most `MOST`; equal scores by id.

    `linked` are ids of rules that a link, either way round, joins with a result: they count as just close enough if
    they are not closer. Score and factors are those of `ranking`: similarity x context boost.
    """
    weights = context_weights(work.context, aliases)
    ranked = []
    for rule in rules:
        one = found.get(rule.id)
        is_linked = rule.id in linked
        if not is_linked and not (one is not None and one.enough and belongs(rule, work, aliases)):
            continue
        similarity = max(one.similarity if one else 0.0, SIMILARITY if is_linked else 0.0)
        boost = context_boost(weights, rule.tags, aliases)
        match = one.match if one else Match(rule.id, 0, similarity)
        ranked.append(Ranked(match, similarity * boost, {"match": similarity, "context": boost}))
    ranked.sort(key=lambda rank: (-rank.score, rank.match.entry_id))
    return tuple(ranked[:MOST])


def belongs(rule: Rule, work: Work, aliases: Mapping[str, str]) -> bool:
    """Whether the rule and the work have a tag or project in common; the name of a project counts as a tag.

    A context tag of weight 0 or less says what the work is not about.
    """
    weights = context_weights(work.context, aliases)
    wanted = {tag for tag, weight in weights.items() if weight > 0} | {aliases.get(tag, tag) for tag in work.tags}
    if work.project:
        wanted.add(aliases.get(work.project, work.project))
    own = {aliases.get(tag, tag) for tag in (*rule.tags, rule.project)}
    return not wanted.isdisjoint(own)


ALL_RULES = PassageFilter(kinds=frozenset({Kind.RULE.value}))
DEPTH = 50
"""Passages of rules asked of each half: far more than can surface."""


def rules_for(
    parts: Reading, query: Query, found: Candidates, results: Sequence[Light], *, complete: bool
) -> list[Hit]:
    """Of the rules that were `found`, those that surface beside these results, best first.

    `complete` says that no passage lacks its vector. Neither the project nor the tags that the results are filtered by
    keep a rule out: they say what one is working on.
    """
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
