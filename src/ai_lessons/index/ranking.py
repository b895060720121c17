"""From two lists of passages to one list of entries with a score that can be explained. Pure: knows no database.

Score of an entry = match x version x context x standing, where match is the mix of full text and vectors for its
best passage. It decides nothing about what is hidden (the caller leaves such entries out of `facts`).
"""

from __future__ import annotations

import re
from math import log
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.index.rows import places
from ai_lessons.knowledge.versions import score as version_score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet


VECTOR_WEIGHT = 0.5
"""Share of the vectors in the mix. Measured over twelve judged sets: .4 .546, .5 .550, .6 .538 nDCG@10."""

LEAD = 0.5  # Where some passages lead, they have scores above this, and all others below
MATCH_BONUS = 0.1  # What a context tag of weight 1 adds to the factor of an entry that carries it
DEFAULT_CONTEXT_WEIGHT = 1.5  # Weight of context tags where none has an explicit one


class Match(NamedTuple):
    """A passage that was found. `score`: BM25, cosine similarity (-1 to 1), or the mix of both (0 to 1).

    `section` is the number of the section in which it begins, as `passages.sections` counts; 0: in none.
    """

    entry_id: str
    ordinal: int
    score: float
    heading: str = ""
    text: str = ""
    section: int = 0


class RankingFacts(NamedTuple):
    """What is known of an entry besides its text. `standing` is a factor, 1.0 where nothing was learned.

    `asked` are the versions that are asked of it. `distance` puts entries of equal scores in order: what is nearer to
    where one works comes first.
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

    A list shorter than `depth` is complete, so that its last hit is not the worst there is: `floor`, if given,
    stands for what was not found.
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
        known = best.get(hit.entry_id)
        if known is None or (-score, hit.ordinal) < (-known.score, known.ordinal):
            best[hit.entry_id] = hit._replace(score=score)
    return tuple(sorted(best.values(), key=lambda match: (-match.score, match.entry_id)))


def context_weights(context: Mapping[str, float | None], aliases: Mapping[str, str]) -> dict[str, float]:
    """The weight of every context tag, aliases resolved first.

    A tag without one gets the mean of the explicit weights, or 1.5 if there are none. Two names of one tag: the
    explicit weight wins, of two explicit ones the greater.
    """
    given: dict[str, float | None] = {}
    for name, weight in context.items():
        tag = aliases.get(name, name)
        known = given.get(tag)
        given[tag] = weight if known is None else known if weight is None else max(known, weight)
    explicit = [weight for weight in given.values() if weight is not None]
    default = sum(explicit) / len(explicit) if explicit else DEFAULT_CONTEXT_WEIGHT
    return {tag: default if weight is None else weight for tag, weight in given.items()}


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
        known = facts.get(match.entry_id)
        if known is None:
            continue
        version = version_score(known.asked, known.versions) if known.versioned else 1.0
        if version is None:
            continue
        boost = context_boost(weights, known.tags, aliases)
        factors = {"match": match.score, "version": version, "context": boost, "standing": known.standing}
        ranked.append(Ranked(match, match.score * version * boost * known.standing, factors))
    ranked.sort(key=lambda one: (-one.score, facts[one.match.entry_id].distance, one.match.entry_id))
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
    found = list(alike(flat, stems))
    quoted = places(flat, phrases)
    best = max(0, quoted[0] - LEAD_IN) if quoted else _densest(found, width)
    at = min(best, len(flat) - width)
    start = flat.find(" ", at, at + LEAD_IN) + 1 or at if at else 0
    end = start + width
    if end < len(flat):
        end = flat.rfind(" ", start + width // 2, end + 1)
        end = end if end > 0 else start + width
    return ("…" if start else "") + flat[start:end].rstrip() + ("…" if end < len(flat) else "")


def stem(word: str) -> str:
    """The word without its common English endings: enough to tell that two words may be one."""
    return SUFFIX.sub("", word) if len(word) > SHORT_WORD + 1 else word


def alike(text: str, stems: AbstractSet[str]) -> Iterator[tuple[int, str]]:
    """Where words with one of these stems begin, with the stem.

    Whatever has a stem begins with it, so that few words need a look of their own.
    """
    if stems:
        for found in re.finditer(rf"\b(?:{'|'.join(map(re.escape, sorted(stems)))})\w*", text.lower()):
            word = stem(found.group())
            if word in stems:
                yield found.start(), word


def _densest(found: Sequence[tuple[int, str]], width: int) -> int:
    """Where to start so that most different words of the query are inside; long words count more."""
    best, place = 0, 0
    for n, (at, _) in enumerate(found):
        inside = {stem for position, stem in found[n:] if position < at + width - LEAD_IN}
        weight = sum(map(len, inside))
        if weight > best:
            best, place = weight, at
    return max(0, place - LEAD_IN)


ADVICE: Mapping[str, str] = {
    "lessons": "If you had to try things out, or something surprised you, add what you learned as a lesson.",
    "scripts": "If you turn it into working steps, add them as a script and link it (has_script).",
    "docs": "If you used reference material to go further, add it as a doc.",
    "rules": "If something should always be done so, suggest a rule.",
}
"""What to contribute where a group is missing, what is wanted most first."""

NOTHING = (
    "Nothing is stored on this yet. If you find the answer by trying, add a lesson; "
    "if it took a command sequence, add the script too. If it stays unsolved, add a lesson whose title begins "
    "with [UNSOLVED]."
)
COMPLETE = "This is well covered. If something here was wrong or out of date, say so: update it or add a lesson."


def gap_prompt(counts: Mapping[str, int | bool]) -> str:
    """What to contribute, in a few sentences, from how many of each group an answer holds."""
    *others, last = [group for group in counts if counts[group]] or [""]
    missing = [group for group in ADVICE if not counts[group]]
    if not last or not missing:
        return COMPLETE if last else NOTHING
    advice = " ".join(ADVICE[group] for group in missing[:2])
    if not others:
        return f"Only {last} cover this. {advice}"
    return f"{', '.join(others).capitalize()} and {last} cover this, but no {' and no '.join(missing)}. {advice}"


class Found(NamedTuple):
    """The hits of one index, best first, and how many passages it has."""

    hits: Sequence[Match]
    passages: int


def blend(lists: Sequence[Found], depth: int) -> tuple[Match, ...]:
    """The hits of all lists, best first, at most `depth`; of equal ones those of an earlier list first."""
    several = [one for one in lists if one.hits]
    if len(several) < 2:
        return tuple(several[0].hits[:depth]) if several else ()
    most = _rarest(sum(one.passages for one in several))
    every = [
        hit._replace(score=hit.score * factor)
        for one in several
        for factor in [most / _rarest(one.passages)]
        for hit in one.hits
    ]
    return tuple(sorted(every, key=lambda hit: -hit.score)[:depth])


def _rarest(passages: int) -> float:
    """What a word weighs that is in one passage only.

    The inverse document frequency of BM25 (Robertson and Zaragoza 2009), with the 1 that keeps it positive.
    """
    return log(1 + (max(passages, 1) - 0.5) / 1.5)
