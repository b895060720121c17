"""From lists of passages to ranked entries, with a score that can be explained. Pure.

Begin with `fuse`: it mixes what was found by words and by vectors; `rank` orders what comes of it.
"""

from __future__ import annotations

from math import log
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.versions import score as version_score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.search.rows import Match

    JudgedPassage = tuple[str, int]

# bench.retrieval loses nothing; of 25 questions to the pages of Celery and pytest one more finds
# its guide
LOG = 0.8
# bench.versions: share of the best score from which on a result is about as good
NEAR_BEST = 0.8


class LongTexts(NamedTuple):
    """How much less vectors count where what was found is parts of long texts.

    Such a part speaks of much, and its vector of all of it at once. Of 768 questions to 272
    conversations of three passages, which were not used to choose it, the right one is first for
    .707 in place of .691, and among the best five for .921 in place of .913; of 100 to pages of a
    manual nDCG@10 is .835 in place of .824. Where texts are short, nothing changes.
    """

    # Share of what was found that is no first passage of its entry: from where on, and for all
    least: float = 0.25
    most: float = 0.75
    # Weight that vectors lose for words where all are such
    lost: float = 0.15


LONG = LongTexts()


def weight_of_vectors(text: Sequence[Match], vectors: Sequence[Match]) -> float:
    """How much vectors count beside words for what they both found, 0 to 1."""
    hits = [*text, *vectors]
    parts = sum(hit.ordinal > 0 for hit in hits) / max(len(hits), 1)
    long = (parts - LONG.least) / (LONG.most - LONG.least)
    return 0.5 - LONG.lost * min(max(long, 0.0), 1.0)


class RankingFacts(NamedTuple):
    """An entry besides its text. `standing` is a factor, 1.0 where nothing was learned.

    `asked` are the versions that are asked of it. Of equal scores the smaller `distance` (to the
    working directory) comes first.
    """

    id: str
    tags: frozenset[str] = frozenset()
    versions: frozenset[str] = frozenset()
    standing: float = 1.0
    versioned: bool = True
    asked: AbstractSet[str] = frozenset()
    distance: int = 0


class Ranked(NamedTuple):
    """An entry in its place.

    The product of `factors` (match, version, context, standing) is `score`.
    """

    match: Match
    score: float
    factors: Mapping[str, float] = MappingProxyType({})


def normalised(
    hits: Sequence[Match], depth: int, floor: float | None = None, scale: Sequence[Match] = ()
) -> dict[tuple[str, int], float]:
    """Scores moved to 0..1, the best of `scale` (else of them) at 1 (min-max).

    A list shorter than `depth` is complete, so that its last hit is not the worst there is:
    `floor`, if not None, is the score of what was not found. BM25 depends on what a filter lets
    pass, so that the score in `scale` counts; what is not there is worse than all that is: it
    shares one place of `depth`.
    """
    if not hits:
        return {}
    scores: dict[tuple[str, int], float] = {}
    for hit in scale or hits:
        scores[(hit.entry_id, hit.ordinal)] = hit.score
    high, low = max(scores.values()), min(scores.values())
    if floor is not None and len(scores) < depth:
        low = min(low, floor)
    width = high - low
    # of nothing but zeros each part is zero, too
    best = max(hit.score for hit in hits) or 1.0
    moved: dict[tuple[str, int], float] = {}
    for hit in hits:
        key = (hit.entry_id, hit.ordinal)
        if key not in scores:
            # worse than all that the scale holds
            moved[key] = max(hit.score, 0.0) / best / depth
        elif width:
            moved[key] = (scores[key] - low) / width
        else:
            moved[key] = 1.0
    return moved


def fuse(
    text: Sequence[Match],
    vectors: Sequence[Match],
    depth: int = 100,
    weight: float = 0.5,
    lead: AbstractSet[JudgedPassage] = frozenset(),
    headed: Mapping[JudgedPassage, float] = MappingProxyType({}),
    scale: tuple[Sequence[Match], Sequence[Match]] = ((), ()),
) -> tuple[Match, ...]:
    """The mix of both lists, best passage per entry, best entry first.

    Of equal ones first what holds the words.

    A passage that a list does not have counts 0 there. Over twelve judged sets the mean was best:
    nDCG@10 .550; with a `weight` of the vectors of .4 .546, of .6 .538. With one list empty the
    other decides alone. `depth` is the limit with which both lists were asked for, `scale` what
    they hold without filters. The passages of `lead` (entry id, ordinal) come before all others;
    `headed` is as the function of this name gives it.
    """
    if not (vectors or scale[1]):
        weight = 0.0
    elif not (text or scale[0]):
        weight = 1.0
    by_text = normalised(text, depth, 0.0, scale[0])
    by_vector = normalised(vectors, depth, None, scale[1])
    best: dict[str, Match] = {}
    for hit in (*text, *vectors):
        key = (hit.entry_id, hit.ordinal)
        score = (1 - weight) * by_text.get(key, 0.0) + weight * by_vector.get(key, 0.0)
        # bench.retrieval: what is added where title and headings hold all words of the question; .1
        # and .3 less
        score += 0.2 * headed.get(key, 0.0)
        if lead:
            score = (min(score, 1.0) + (key in lead)) / 2
        previous = best.get(hit.entry_id)
        if previous is None or (-score, hit.ordinal) < (-previous.score, previous.ordinal):
            best[hit.entry_id] = hit._replace(score=score)

    def place(match: Match) -> tuple[float, float, str]:
        return -match.score, -by_text.get((match.entry_id, match.ordinal), 0.0), match.entry_id

    return tuple(sorted(best.values(), key=place))


_LOG = expression(
    r"(?i)(?<![a-z])(?:change[-_ ]?logs?|release[-_ ]?notes?|what'?s[-_ ]?new)(?![a-z])"
)
_CHANGE = expression(
    r"(?i)\b(?:chang|releas|versio|upgrad|migrat|deprecat|remov|since\b|new\b|histor)"
)


def of_a_log(question: str, summary: EntrySummary) -> float:
    """`LOG` for a page that lists the changes of each release, unless the question is about such."""
    if _LOG.search(f"{summary.path} {summary.title}") and not _CHANGE.search(question):
        return LOG
    return 1.0


def context_weights(
    context: Mapping[str, float | None], aliases: Mapping[str, str]
) -> dict[str, float]:
    """The weight of every context tag, aliases resolved first.

    A tag without one gets the mean of the explicit weights, or 1.5 if there are none. Two names of
    one tag: the explicit weight wins, of two explicit ones the greater.
    """
    tags: dict[str, None] = {}
    explicit: dict[str, float] = {}
    for name, weight in context.items():
        tag = aliases.get(name, name)
        tags[tag] = None
        if weight is not None:
            explicit[tag] = max(weight, explicit.get(tag, weight))
    # by specification: the weight of context tags where none has an explicit one
    default = 1.5
    if explicit:
        default = sum(explicit.values()) / len(explicit)
    return {tag: explicit.get(tag, default) for tag in tags}


def context_boost(
    weights: Mapping[str, float], tags: AbstractSet[str], aliases: Mapping[str, str]
) -> float:
    """1 + sum of (weight x 0.1) over the context tags that the entry carries."""
    carried = {aliases.get(tag, tag) for tag in tags}
    boost = 0.0
    for tag, weight in weights.items():
        if tag in carried:
            # by specification: what a context tag of weight 1 adds to the factor of an entry
            boost += weight * 0.1
    return 1.0 + boost


def rank(
    matches: Sequence[Match],
    facts: Mapping[str, RankingFacts],
    *,
    context: Mapping[str, float | None] = MappingProxyType({}),
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> list[Ranked]:
    """The entries that may be shown, best first; equal scores by distance, then as they came.

    Left out: entries without facts, and versioned entries that have none of the versions asked for.
    """
    weights = context_weights(context, aliases)
    ranked = []
    for match in matches:
        fact = facts.get(match.entry_id)
        if fact is None:
            continue
        version: float | None = 1.0
        if fact.versioned:
            version = version_score(fact.asked, fact.versions)
        if version is None:
            # it is about other versions than those that are asked
            continue
        boost = context_boost(weights, fact.tags, aliases)
        factors = {
            "match": match.score,
            "version": version,
            "context": boost,
            "standing": fact.standing,
        }
        ranked.append(Ranked(match, match.score * version * boost * fact.standing, factors))
    # stable: of equal ones stays first what `fuse` put first, which holds the words
    ranked.sort(key=lambda rank: (-rank.score, facts[rank.match.entry_id].distance))
    return ranked


def blend(lists: Sequence[tuple[Sequence[Match], int]], depth: int) -> tuple[Match, ...]:
    """The hits of several indexes, best first, at most `depth`.

    Of equal scores those of an earlier list first.

    Each list comes with the number of passages of its index. BM25 of different indexes is compared
    by the inverse document frequency of a word in one passage only.
    """
    nonempty = [(hits, passages) for hits, passages in lists if hits]
    if not nonempty:
        return ()
    if len(nonempty) == 1:
        hits, _ = nonempty[0]
        return tuple(hits[:depth])
    highest = _rarest(sum(passages for _, passages in nonempty))
    scaled: list[Match] = []
    for hits, passages in nonempty:
        factor = highest / _rarest(passages)
        for hit in hits:
            scaled.append(hit._replace(score=hit.score * factor))
    # stable: of equal scores those of an earlier list stay first
    scaled.sort(key=lambda hit: -hit.score)
    return tuple(scaled[:depth])


def _rarest(passages: int) -> float:
    """The inverse document frequency of BM25 (Robertson and Zaragoza 2009), with the 1 that keeps it positive."""
    return log(1 + (max(passages, 1) - 0.5) / 1.5)
