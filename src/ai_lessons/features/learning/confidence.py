"""How sure it is that an entry helps: where it begins, and what outcomes make of that. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.model.events import CONTRADICTED, FOLLOWED, HELPFUL, IGNORED, RECURRED
from ai_lessons.model.tallies import Tallies, UsageTally

if TYPE_CHECKING:
    from collections.abc import Iterable

HELPFUL_ALPHA, IGNORED_BETA, CONTRADICTED_BETA = 1.0, 0.1, 1.5
"""What one outcome adds to the Beta distribution of a lesson.

The update rules of the specification.
"""

SEEN = {FOLLOWED: 1.0, RECURRED: 0.25}
"""The weight of an outcome that a session showed, compared with one that a person stated (helpful, contradicted)."""

WORTH = {HELPFUL: HELPFUL_ALPHA, IGNORED: -IGNORED_BETA, CONTRADICTED: -CONTRADICTED_BETA}
"""The worth of showing a lesson, by its outcome."""

# alpha + beta before anything happened: as much as two outcomes
PRIOR_STRENGTH = 2.0
PRIOR = {"very-low": 0.1, "low": 0.3, "medium": 0.5, "high": 0.7, "very-high": 0.9}
"""Where a lesson starts, by the word of its author."""

UNSTATED = PRIOR["medium"]


def prior(word: object) -> float:
    """Where a lesson starts whose author is `word` sure.

    The middle for a word that we do not know.
    """
    if isinstance(word, str):
        return PRIOR.get(word, UNSTATED)
    return UNSTATED


def claimed(word: object, claim: float) -> float:
    """Where a lesson starts whose author elsewhere was so sure (0 to 1).

    His own word, where a person changed it since.

    The word that an import writes is no more than medium.
    """
    stated = prior(word)
    written = min(PRIOR.values(), key=lambda value: abs(value - min(claim, UNSTATED)))
    if stated == written:
        return claim
    return stated


def unconfirmed(used: UsageTally) -> UsageTally:
    """As an import counts until something here speaks for it: no surer than the middle."""
    if used.confidence <= UNSTATED:
        return used
    half = round((used.alpha + used.beta) / 2, 9)
    return used._replace(alpha=half, beta=half)


def usage(tallies: Tallies, start: float) -> UsageTally:
    """The Beta distribution after these outcomes, for an entry that began at `start` (0 to 1)."""
    good = tallies.helpful + SEEN[FOLLOWED] * tallies.followed
    bad = tallies.contradicted + SEEN[RECURRED] * tallies.recurred
    return UsageTally(
        tallies,
        round(PRIOR_STRENGTH * start + HELPFUL_ALPHA * good, 9),
        round(
            PRIOR_STRENGTH * (1 - start) + IGNORED_BETA * tallies.ignored + CONTRADICTED_BETA * bad,
            9,
        ),
    )


def standing(used: UsageTally, start: float) -> float:
    """The factor of a lesson's score.

    1 as long as outcomes have not moved it from the author's word (`start`).
    """
    # what was learned moves the score of a search by 15 % at most, so that the words of the
    # question decide
    return 1.0 + 0.15 * (used.confidence - start) / max(start, 1 - start)


def inherited(start: float, parents: Iterable[UsageTally]) -> float:
    """Where a derived lesson starts.

    Half way from its author's word to its best parent after two outcomes, then on.
    """
    proven = []
    for used in parents:
        proven.append(
            (used.tallies.outcomes / (used.tallies.outcomes + PRIOR_STRENGTH), used.confidence)
        )
    share, confidence = max(proven, default=(0.0, start))
    return start + share * (confidence - start)


def worth(tallies: Tallies) -> float:
    """The sum of the outcomes of an entry, weighted as they move its distribution."""
    outcomes = {
        HELPFUL: tallies.helpful,
        IGNORED: tallies.ignored,
        CONTRADICTED: tallies.contradicted,
    }
    return sum(WORTH[outcome] * count for outcome, count in outcomes.items())
