"""Which lessons come unasked: confidence, similarity, harm, budget, and leaving one out on purpose. Pure."""

from __future__ import annotations

from math import exp, lgamma, log, log1p
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.learning.parameters import BUDGET, CONFIDENCE, SIMILARITY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ai_lessons.learning.folding import Tallies, UsageTally

HARM_BAR = 0.25
"""A lesson that is wrong more often than this harms, whatever else it does."""

CREDIBLE = 0.95
"""How probable that must be."""


NEAR = 0.06
"""A lesson this close above a threshold came through only just."""


class Candidate(NamedTuple):
    """A lesson that fits what one is about to do; `similarity` where words were asked for.

    `firm`: a person stated it, so that no record of use keeps it away. Anybody can push such records.
    """

    id: str
    usage: UsageTally
    similarity: float | None = None
    firm: bool = False


class Bars(NamedTuple):
    """What a lesson has to pass, and the positions (0 to 1) of the parameters that set it."""

    budget: int
    confidence: float
    similarity: float
    positions: Mapping[str, float]


class ChosenLesson(NamedTuple):
    """A lesson that comes. `edge`: the parameters whose bar it passed only just, with their positions."""

    id: str
    edge: Mapping[str, float]


class LeftOut(NamedTuple):
    """A lesson that does not come: a word for why, and a sentence with the figures."""

    id: str
    reason: str
    detail: str


class Choice(NamedTuple):
    """The lessons that come, in the order in which they were given, and those that do not."""

    chosen: tuple[ChosenLesson, ...]
    left_out: tuple[LeftOut, ...]


def choose(candidates: Sequence[Candidate], bars: Bars, ablate: Callable[[str], bool] = lambda _: False) -> Choice:
    """Take candidates in their order while the budget lasts; `ablate` says of an id whether to leave it out."""
    chosen: list[Candidate] = []
    left_out: list[LeftOut] = []
    for one in candidates:
        reason = _objection(one, bars)
        if not reason and len(chosen) >= bars.budget:
            reason = "budget", f"the budget of {bars.budget} is spent"
        if not reason and ablate(one.id):
            reason = "ablation", "left out on purpose, to measure whether it makes a difference"
        if reason:
            left_out.append(LeftOut(one.id, *reason))
        else:
            chosen.append(one)
    edges = _edges(chosen, bars, spent=any(one.reason == "budget" for one in left_out))
    return Choice(tuple(ChosenLesson(one.id, edges.get(one.id, {})) for one in chosen), tuple(left_out))


def _objection(one: Candidate, bars: Bars) -> tuple[str, str] | None:
    tallies = one.usage.tallies
    harm = "" if one.firm else harmful(tallies)
    if harm:
        return "harm", harm
    if one.usage.confidence < bars.confidence and not one.firm:
        return "confidence", f"confidence {one.usage.confidence:.2f} is below {bars.confidence:.2f}"
    if one.similarity is not None and one.similarity < bars.similarity:
        return "similarity", f"similarity {one.similarity:.2f} is below {bars.similarity:.2f}"
    return None


def _edges(chosen: Sequence[Candidate], bars: Bars, *, spent: bool) -> dict[str, dict[str, float]]:
    """Who came through only just: of the budget the last one, if somebody stayed outside for it.

    What passes a threshold with room to spare says nothing about where it should be.
    """
    edges: dict[str, dict[str, float]] = {one.id: {} for one in chosen}
    for one in chosen:
        if one.usage.confidence - bars.confidence <= NEAR:
            edges[one.id][CONFIDENCE] = 0.0
        if one.similarity is not None and one.similarity - bars.similarity <= NEAR:
            edges[one.id][SIMILARITY] = 0.0
    if spent and chosen:
        edges[chosen[-1].id][BUDGET] = 0.0
    return {
        entry: {name: bars.positions[name] for name in names if name in bars.positions}
        for entry, names in edges.items()
    }


def harmful(had: Tallies) -> str:
    """Why a lesson must not come unasked, in a sentence; empty if it may."""
    if had.contradicted > had.helpful:
        return f"contradicted more often ({had.contradicted}) than helpful ({had.helpful})"
    if harm_is_credible(had):
        return f"wrong in {had.contradicted} of {had.outcomes} cases: more than {HARM_BAR:.0%}, surely enough"
    return ""


def harm_is_credible(had: Tallies) -> bool:
    """Whether the rate of contradictions is above the bar with the credibility that is asked for.

    With a uniform prior the rate is Beta(c + 1, n - c + 1) distributed, and its probability to be at most x is that of
    at least c + 1 successes in n + 1 trials of probability x (Abramowitz and Stegun, 26.5.24).
    """
    if not had.contradicted:
        return False
    return binomial_tail(had.outcomes + 1, had.contradicted + 1, HARM_BAR) <= 1 - CREDIBLE


def binomial_tail(trials: int, least: int, probability: float) -> float:
    """The probability of at least so many successes."""
    if least <= 0:
        return 1.0
    whole = lgamma(trials + 1)
    yes, no = log(probability), log1p(-probability)
    terms = (
        exp(whole - lgamma(k + 1) - lgamma(trials - k + 1) + k * yes + (trials - k) * no)
        for k in range(least, trials + 1)
    )
    return min(sum(terms), 1.0)
