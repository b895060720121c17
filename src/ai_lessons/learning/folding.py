"""Many events to few numbers: how often each entry was shown, helped, was ignored or contradicted, and how sure it is.

Pure. Only counts are folded, each id once, so that logs may be merged, repeated and read in any order. Everything that
is not a whole number (alpha, beta, confidence) is worked out from the counts when it is asked for: sums of tenths would
come out differently in another order.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.learning.events import CONTRADICTED, HELPFUL, IGNORED, LEFT_OUT, USES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ai_lessons.learning.events import Row

HELPFUL_ALPHA, IGNORED_BETA, CONTRADICTED_BETA = 1.0, 0.1, 1.5
"""What one outcome adds to the Beta distribution of a lesson: the update rules of the specification."""

PRIOR_STRENGTH = 2.0
"""alpha + beta before anything happened: as much as two outcomes."""

PRIOR = {"very-low": 0.1, "low": 0.3, "medium": 0.5, "high": 0.7, "very-high": 0.9}
"""Where a lesson starts, by the word of its author."""

UNSTATED = PRIOR["medium"]

STANDING_SWING = 0.15
"""How far what was learned moves the score of a search, either way."""


class Tallies(NamedTuple):
    """What happened to one entry. `last_used` is ISO 8601 in UTC, empty if it never was used."""

    injected: int = 0
    helpful: int = 0
    ignored: int = 0
    contradicted: int = 0
    script_ok: int = 0
    script_failed: int = 0
    wrong: int = 0
    restored: int = 0
    left_out: int = 0
    last_used: str = ""

    @property
    def outcomes(self) -> int:
        """How often somebody said how it did."""
        return self.helpful + self.ignored + self.contradicted


NOTHING = Tallies()


class UsageTally(NamedTuple):
    """How an entry has done. Confidence is alpha / (alpha + beta)."""

    tallies: Tallies
    alpha: float
    beta: float

    @property
    def confidence(self) -> float:
        """The mean of its Beta distribution: how sure it is that it helps, 0 to 1."""
        return self.alpha / (self.alpha + self.beta)


def fold(rows: Iterable[Row]) -> dict[str, Tallies]:
    """The tallies of every entry. An id that comes again is the same event; said with other words, it is none at all.

    (An order that decides which of the two counts would differ between clones.)
    """
    known: dict[str, Row] = {}
    void: set[str] = set()
    for row in rows:
        if known.setdefault(row[0], row) != row:
            void.add(row[0])
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[str, str] = {}
    for event_id, at, event, entry, _ in known.values():
        if event_id in void:
            continue
        counts[entry, event] += 1
        last[entry] = max(last.get(entry, ""), "" if event == LEFT_OUT else at)
    return {entry: Tallies._make((*(counts[entry, word] for word in USES), last[entry])) for entry in last}


def prior(word: object) -> float:
    """Where a lesson starts whose author is `word` sure; the middle for a word that we do not know."""
    return PRIOR.get(word, UNSTATED) if isinstance(word, str) else UNSTATED


def usage(tallies: Tallies, start: float) -> UsageTally:
    """The Beta distribution after these outcomes, for an entry that began at `start` (0 to 1)."""
    return UsageTally(
        tallies,
        PRIOR_STRENGTH * start + HELPFUL_ALPHA * tallies.helpful,
        PRIOR_STRENGTH * (1 - start) + IGNORED_BETA * tallies.ignored + CONTRADICTED_BETA * tallies.contradicted,
    )


def standing(used: UsageTally, start: float) -> float:
    """The factor of a lesson's score: 1 where nothing was learned, at most 0.15 away from it.

    What counts is how far the outcomes moved the confidence from the author's word, so that the word alone, which says
    how sure a thing is and not whether it fits a question, moves nothing.
    """
    return 1.0 + STANDING_SWING * (used.confidence - start) / max(start, 1 - start)


def inherited(own: float, parents: Iterable[UsageTally]) -> float:
    """Where a lesson starts that was derived from others: between the author's word and the best proven of them.

    The more outcomes a parent has, the more of it is inherited: half of the way after two, nine tenths after eighteen.
    """
    proven = [(used.tallies.outcomes / (used.tallies.outcomes + PRIOR_STRENGTH), used.confidence) for used in parents]
    share, confidence = max(proven, default=(0.0, own))
    return own + share * (confidence - own)


def worth(had: Tallies) -> float:
    """What the outcomes of an entry add up to: as they move its distribution."""
    return HELPFUL_ALPHA * had.helpful - IGNORED_BETA * had.ignored - CONTRADICTED_BETA * had.contradicted


def by_worth(tallied: Mapping[str, Tallies]) -> list[str]:
    """Entries that somebody said something about, most useful first, then by id."""
    said = [entry for entry, had in tallied.items() if had.outcomes]
    return sorted(said, key=lambda entry: (-worth(tallied[entry]), entry))


WORTH = {HELPFUL: HELPFUL_ALPHA, IGNORED: -IGNORED_BETA, CONTRADICTED: -CONTRADICTED_BETA}
"""What showing a lesson was worth, by its outcome."""
