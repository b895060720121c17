"""Ranks two lists of passages as one list of entries with an explained score. Pure: knows no database.

Score of an entry = match x version x context x standing, where match is the mix of full text and vectors for its
best passage. The caller leaves hidden entries out of `facts`.
"""

from __future__ import annotations

import re
from math import log
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.index.rows import Match, places
from ai_lessons.knowledge.versions import score as version_score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet


VECTOR_WEIGHT = 0.5
"""Share of the vectors in the mix. Measured over twelve judged sets: .4 .546, .5 .550, .6 .538 nDCG@10."""

LEAD = 0.5  # Where some passages lead, they have scores above this, and all others below
MATCH_BONUS = 0.1  # What a context tag of weight 1 adds to the factor of an entry that carries it
DEFAULT_CONTEXT_WEIGHT = 1.5  # Weight of context tags where none has an explicit one


class RankingFacts(NamedTuple):
    """An entry besides its text. `standing` is a factor, 1.0 where nothing was learned.

    `asked` are the versions that are asked of it. Of equal scores the smaller `distance` (to the working directory)
    comes first.
    """

    id: str
    tags: frozenset[str] = frozenset()
    versions: frozenset[str] = frozenset()
    standing: float = 1.0
    versioned: bool = True
    asked: AbstractSet[str] = frozenset()
    distance: int = 0


class Ranked(NamedTuple):
    """An entry in its place. The product of `factors` (match, version, context, standing) is `score`."""

    match: Match
    score: float
    factors: Mapping[str, float] = MappingProxyType({})


def normalised(hits: Sequence[Match], depth: int, floor: float | None = None) -> dict[tuple[str, int], float]:
    """Scores moved to 0..1, the best of them at 1 (min-max).

    A list shorter than `depth` is complete, so that its last hit is not the worst there is: `floor`, if not None,
    is the score of what was not found.
    """
    if not hits:
        return {}
    scores = [hit.score for hit in hits]
    high, low = max(scores), min(scores)
    if floor is not None and len(hits) < depth:
        low = min(low, floor)
    width = high - low
    return {(hit.entry_id, hit.ordinal): (hit.score - low) / width if width else 1.0 for hit in hits}


def fuse(
    text: Sequence[Match],
    vectors: Sequence[Match],
    depth: int = 100,
    weight: float = VECTOR_WEIGHT,
    lead: AbstractSet[tuple[str, int]] = frozenset(),
) -> tuple[Match, ...]:
    """The mix of both lists, best passage per entry, best entry first (equal scores: by id).

    A passage that a list does not have counts 0 there. With one list empty the other decides alone. `depth` is the
    limit with which both lists were asked for. The passages of `lead` (entry id, ordinal) come before all others.
    """
    weight = 0.0 if not vectors else weight if text else 1.0
    by_text = normalised(text, depth, floor=0.0)
    by_vector = normalised(vectors, depth)
    best: dict[str, Match] = {}
    for hit in (*text, *vectors):
        key = (hit.entry_id, hit.ordinal)
        score = (1 - weight) * by_text.get(key, 0.0) + weight * by_vector.get(key, 0.0)
        if lead:
            score = LEAD * score + (1 - LEAD) * (key in lead)
        previous = best.get(hit.entry_id)
        if previous is None or (-score, hit.ordinal) < (-previous.score, previous.ordinal):
            best[hit.entry_id] = hit._replace(score=score)
    return tuple(sorted(best.values(), key=lambda match: (-match.score, match.entry_id)))


def context_weights(context: Mapping[str, float | None], aliases: Mapping[str, str]) -> dict[str, float]:
    """The weight of every context tag, aliases resolved first.

    A tag without one gets the mean of the explicit weights, or 1.5 if there are none. Two names of one tag: the
    explicit weight wins, of two explicit ones the greater.
    """
    weights: dict[str, float | None] = {}
    for name, weight in context.items():
        tag = aliases.get(name, name)
        previous = weights.get(tag)
        weights[tag] = weight if previous is None else previous if weight is None else max(previous, weight)
    explicit = [weight for weight in weights.values() if weight is not None]
    default = sum(explicit) / len(explicit) if explicit else DEFAULT_CONTEXT_WEIGHT
    return {tag: default if weight is None else weight for tag, weight in weights.items()}


def context_boost(weights: Mapping[str, float], tags: AbstractSet[str], aliases: Mapping[str, str]) -> float:
    """1 + sum of (weight x 0.1) over the context tags that the entry carries."""
    carried = {aliases.get(tag, tag) for tag in tags}
    return 1.0 + sum(weight * MATCH_BONUS for tag, weight in weights.items() if tag in carried)


def rank(
    matches: Sequence[Match],
    facts: Mapping[str, RankingFacts],
    *,
    context: Mapping[str, float | None] = MappingProxyType({}),
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> list[Ranked]:
    """The entries that may be shown, best first; equal scores by distance, then by id.

    Left out: entries without facts, and versioned entries that have none of the versions asked for.
    """
    weights = context_weights(context, aliases)
    ranked = []
    for match in matches:
        fact = facts.get(match.entry_id)
        if fact is None:
            continue
        version = version_score(fact.asked, fact.versions) if fact.versioned else 1.0
        if version is None:
            continue
        boost = context_boost(weights, fact.tags, aliases)
        factors = {"match": match.score, "version": version, "context": boost, "standing": fact.standing}
        ranked.append(Ranked(match, match.score * version * boost * fact.standing, factors))
    ranked.sort(key=lambda rank: (-rank.score, facts[rank.match.entry_id].distance, rank.match.entry_id))
    return ranked


QUERY_WORD = re.compile(r"\w+")
SUFFIX = re.compile(r"(?:ing|ed|es|s)$")
SHORT_WORD = 3
LEAD_IN = 30  # Characters of a snippet before the first word that matched


def snippet(text: str, query: str, width: int = 150, phrases: Sequence[str] = ()) -> str:
    """About `width` characters of the text where most words of the query stand together, on one line.

    A phrase that stands in the text comes before all words. Cut ends are marked with an ellipsis. Compares words
    without their common endings; knows no meaning, so that a passage found by its vector alone gives its beginning.
    """
    flat = " ".join(text.split())
    if len(flat) <= width:
        return flat
    stems = {stem(word) for word in QUERY_WORD.findall(query.lower()) if len(word) >= SHORT_WORD}
    quoted = places(flat, phrases)
    best = max(0, quoted[0] - LEAD_IN) if quoted else _densest(list(stem_positions(flat, stems)), width)
    at = min(best, len(flat) - width)
    start = flat.find(" ", at, at + LEAD_IN) + 1 or at if at else 0
    end = start + width
    if end < len(flat):
        end = flat.rfind(" ", start + width // 2, end + 1)
        end = end if end > 0 else start + width
    return ("…" if start else "") + flat[start:end].rstrip() + ("…" if end < len(flat) else "")


def stem(word: str) -> str:
    """The word without its common English endings: enough to compare words."""
    return SUFFIX.sub("", word) if len(word) > SHORT_WORD + 1 else word


def stem_positions(text: str, stems: AbstractSet[str]) -> Iterator[tuple[int, str]]:
    """Where words with one of these stems begin, with the stem."""
    if stems:
        # a word begins with its stem, so that only few words have to be stemmed
        for match in re.finditer(rf"\b(?:{'|'.join(map(re.escape, sorted(stems)))})\w*", text.lower()):
            word = stem(match.group())
            if word in stems:
                yield match.start(), word


def _densest(positions: Sequence[tuple[int, str]], width: int) -> int:
    """Where to start so that most different words of the query are inside; long words count more."""
    best, start = 0, 0
    for n, (at, _) in enumerate(positions):
        weight = sum(map(len, {stem for position, stem in positions[n:] if position < at + width - LEAD_IN}))
        if weight > best:
            best, start = weight, at
    return max(0, start - LEAD_IN)


ADVICE: Mapping[str, str] = {
    "lessons": "If you had to try things out, or something surprised you, add what you learned as a lesson.",
    "scripts": "If you turn it into working steps, add them as a script and link it (has_script).",
    "docs": "If you used reference material to go further, add it as a doc.",
    "rules": "If something should always be done so, suggest a rule.",
}
"""What to contribute where a group is missing, the most useful first."""

NOTHING = (
    "Nothing is stored on this yet. If you find the answer by trying, add a lesson; "
    "if it took a command sequence, add the script too. If it stays unsolved, add a lesson whose title begins "
    "with [UNSOLVED]."
)
COMPLETE = "This is well covered. If something here was wrong or out of date, say so: update it or add a lesson."


def gap_prompt(counts: Mapping[str, int | bool]) -> str:
    """What to contribute, in a few sentences, from how many of each group an answer holds."""
    *first, last = [group for group in counts if counts[group]] or [""]
    missing = [group for group in ADVICE if not counts[group]]
    if not last or not missing:
        return COMPLETE if last else NOTHING
    advice = " ".join(ADVICE[group] for group in missing[:2])
    if not first:
        return f"Only {last} cover this. {advice}"
    return f"{', '.join(first).capitalize()} and {last} cover this, but no {' and no '.join(missing)}. {advice}"


def blend(lists: Sequence[tuple[Sequence[Match], int]], depth: int) -> tuple[Match, ...]:
    """The hits of several indexes, best first, at most `depth`; of equal scores those of an earlier list first.

    Each list comes with the number of passages of its index. BM25 of different indexes is compared by the inverse
    document frequency of a word in one passage only.
    """
    nonempty = [(hits, passages) for hits, passages in lists if hits]
    if len(nonempty) < 2:
        return tuple(nonempty[0][0][:depth]) if nonempty else ()
    highest = _rarest(sum(passages for _, passages in nonempty))
    scaled = [
        hit._replace(score=hit.score * (highest / _rarest(passages))) for hits, passages in nonempty for hit in hits
    ]
    return tuple(sorted(scaled, key=lambda hit: -hit.score)[:depth])


def _rarest(passages: int) -> float:
    """The inverse document frequency of BM25 (Robertson and Zaragoza 2009), with the 1 that keeps it positive."""
    return log(1 + (max(passages, 1) - 0.5) / 1.5)
