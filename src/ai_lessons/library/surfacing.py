"""The rules that come along with a search: asked of the index apart, so that they take no place of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.index.ranking import (
    QUERY_WORD,
    SHORT_WORD,
    Ranked,
    context_boost,
    context_weights,
    snippet,
    stem,
)
from ai_lessons.index.rows import Candidates, Match, PassageFilter
from ai_lessons.knowledge.entries import Kind, Light
from ai_lessons.library.answers import Hit, Query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ai_lessons.library.multi_repository import Reader
    from ai_lessons.library.opened import Reading

MOST = 5  # Rules that come along with one answer: agents read no more

# Cosine similarity from which a rule is about what was asked, for the pinned model. Of 24 rules, and 48 questions in
# other words, it lets 75 % pass that were meant (.50: 92, .60: 56), and 29 % of the others of the same domain (65, 12).
SIMILARITY = 0.55

WORDS = 0.5  # Share of the question's words from which a rule is about it, where there is no vector to tell

_COMMON = frozenset(
    QUERY_WORD.findall(
        "about and any are but can could did does for from get had has have how into its not our should that the their "
        "then there these this was were what when where which who why will with would you your"
    )
)


class Near(NamedTuple):
    """A rule as the searches found it, scored from 0 to 1; `enough` says that it is about what was asked."""

    match: Match
    enough: bool


def near(
    query: str, text: Sequence[Match], vectors: Sequence[Match], titles: Mapping[str, str], *, complete: bool
) -> dict[str, Near]:
    """How close every rule is that the searches found, by its best passage; `titles` by id.

    By cosine, else (unless `complete`: every passage has a vector) by the share of the question's words; all: always.
    """
    nearest: dict[str, Near] = {}
    for hit in vectors:
        _keep(nearest, hit, max(hit.score, 0.0), enough=hit.score >= SIMILARITY)
    with_vector = set(nearest)
    asked = _words(query)
    for hit in text:
        passage_words = _words(f"{titles.get(hit.entry_id, '')} {hit.heading} {hit.text}")
        share = len(asked & passage_words) / len(asked) if asked else 0.0
        if share == 1.0 or not (complete or hit.entry_id in with_vector):
            _keep(nearest, hit, share, enough=share >= WORDS)
    return nearest


def _keep(nearest: dict[str, Near], hit: Match, similarity: float, *, enough: bool) -> None:
    best = nearest.get(hit.entry_id)
    if best is None or (enough, similarity) > (best.enough, best.match.score):
        nearest[hit.entry_id] = Near(hit._replace(score=similarity), enough)


def _words(text: str) -> set[str]:
    words = (word for word in QUERY_WORD.findall(text.lower()) if len(word) >= SHORT_WORD)
    return {stem(word) for word in words if word not in _COMMON}


def surfaced(
    close: Mapping[str, Near],
    rules: Iterable[Light],
    linked: AbstractSet[str],
    query: Query,
    aliases: Mapping[str, str],
) -> tuple[Ranked, ...]:
    """The rules that surface, at most `MOST`, by similarity x context boost, then id; `linked` are close enough."""
    weights = context_weights(query.context_tags, aliases)
    ranked = []
    for rule in rules:
        rule_near = close.get(rule.id)
        is_linked = rule.id in linked
        if not (is_linked or (rule_near and rule_near.enough and belongs(rule, query, aliases))):
            continue
        similarity = max(rule_near.match.score if rule_near else 0.0, SIMILARITY if is_linked else 0.0)
        boost = context_boost(weights, frozenset(rule.tags), aliases)
        match = rule_near.match if rule_near else Match(rule.id, 0, similarity)
        ranked.append(Ranked(match, similarity * boost, {"match": similarity, "context": boost}))
    ranked.sort(key=lambda rank: (-rank.score, rank.match.entry_id))
    return tuple(ranked[:MOST])


def belongs(rule: Light, query: Query, aliases: Mapping[str, str]) -> bool:
    """Whether a rule and what one is working on have a tag or project (whose name counts as a tag) in common.

    A context tag of weight <= 0 is no tag.
    """
    weights = context_weights(query.context_tags, aliases)
    tags = {tag for tag, weight in weights.items() if weight > 0}
    tags |= {aliases.get(tag, tag) for tag in (*query.tags, *([query.project] if query.project else []))}
    return not tags.isdisjoint(aliases.get(tag, tag) for tag in (*rule.tags, rule.project))


ALL_RULES = PassageFilter(kinds=frozenset({Kind.RULE.value}))
DEPTH = 50  # Passages of rules asked of each half: far more than can surface


def rules_for(
    repo: Reading, query: Query, candidates: Candidates, results: Sequence[Light], *, complete: bool
) -> list[Hit]:
    """Of the rules `found`, those that surface beside these results, best first; `complete`: no vector is missing."""
    joined = linked(repo.catalog, (light.id for light in results))
    lights = repo.catalog.many({hit.entry_id for hit in (*candidates.text, *candidates.vectors)} | joined)
    rules = {light.id: light for light in lights.values() if light.kind is Kind.RULE}
    titles = {entry_id: light.title for entry_id, light in rules.items()}
    close = near(
        query.text, candidates.text, candidates.vectors, titles, complete=complete and bool(candidates.vectors)
    )
    shown = surfaced(close, rules.values(), joined, query, repo.reading_config.tag_aliases)
    return [hit_of(ranked, rules[ranked.match.entry_id], query) for ranked in shown]


def hit_of(
    ranked: Ranked, light: Light, query: Query, phrases: Sequence[str] = (), also_in: tuple[str, ...] = ()
) -> Hit:
    """A ranked entry as a result."""
    text = snippet(ranked.match.text, query.text, phrases=phrases) or light.snippet
    light = light._replace(score=ranked.score, snippet=text)
    return Hit(light, ranked.match.heading, ranked.factors if query.explain else {}, also_in, ranked.match.section)


def linked(catalog: Reader, ids: Iterable[str]) -> set[str]:
    """Whatever a link joins with one of these entries, either way round."""
    return {end for entry_id in ids for edge in catalog.edges(entry_id) for end in (edge.source, edge.target)}
