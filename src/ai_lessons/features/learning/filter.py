"""Tells by what was learned (groove's filter): outcomes, thresholds and a budget decide.

The thresholds are drawn anew in each session, so that what comes of an entry teaches them (Thompson
sampling). Now and then a lesson is left out on purpose, to measure whether it makes a difference.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.learning import objections
from ai_lessons.features.learning.objections import LIMITS
from ai_lessons.features.learning.parameters import (
    ABLATION,
    ASSESSMENT,
    BUDGET,
    CONFIDENCE,
    SIMILARITY,
)
from ai_lessons.features.learning.usages import usages
from ai_lessons.model.entries import Kind
from ai_lessons.telling.filtering import EntryFilter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.app.workspace import Reading
    from ai_lessons.model.outcomes import Why
    from ai_lessons.telling.filtering import Candidate, Choice

ASKING = (
    "say afterwards how these did: ai-lessons contribute feedback ID helpful|ignored|contradicted"
)


class Thresholds(NamedTuple):
    """The thresholds of a lesson, and the positions (0 to 1) of the parameters that set them."""

    budget: int
    confidence: float
    similarity: float
    positions: Mapping[str, float]


def objection(fit: Candidate, bars: Thresholds, *, unasked: bool) -> Why | None:
    """Why an entry is not told, as a word and a sentence, by its outcomes and these thresholds."""
    if not fit.firm:
        tallies, confidence = fit.usage.tallies, fit.usage.confidence
        unused = objections.unused(tallies)
        if unasked and unused:
            return "unused", unused
        harm = objections.harmful(tallies)
        if harm:
            return "harm", harm
        if confidence < bars.confidence:
            return "confidence", f"confidence {confidence:.2f} is below {bars.confidence:.2f}"
    if fit.similarity is not None and fit.similarity < bars.similarity:
        return "similarity", f"similarity {fit.similarity:.2f} is below {bars.similarity:.2f}"
    return None


def edges(choice: Choice, bars: Thresholds) -> dict[str, Mapping[str, float]]:
    """Of chosen lessons, by id, the parameters whose threshold they passed only just.

    With their positions. The budget's is for the last one, if another stayed outside.
    """
    spent = any(left.reason == "budget" for left in choice.left_out)
    positions: dict[str, Mapping[str, float]] = {}
    for fit in choice.taken:
        if fit.entry.kind is not Kind.LESSON:
            continue
        near = set()
        if fit.usage.confidence - bars.confidence <= LIMITS.near:
            near.add(CONFIDENCE)
        if fit.similarity is not None and fit.similarity - bars.similarity <= LIMITS.near:
            near.add(SIMILARITY)
        if spent and fit is choice.taken[-1]:
            near.add(BUDGET)
        just = {name: bars.positions[name] for name in bars.positions if name in near}
        if just:
            positions[fit.entry.id] = just
    return positions


class LearningFilter(EntryFilter):
    """One context being put together. In a session the same question is answered the same way."""

    def __init__(self, repo: Reading, budget: int | None, most: int | None = None) -> None:
        """`budget` None: as many entries as has proved best, and not more than `most`."""
        super().__init__(repo, budget, most)
        self._session = repo.options.session or ""
        self._parameters = usages(repo.every[0]).by_name()
        draw = self._chance("bars").betavariate
        positions, values = {}, {}
        for name in (BUDGET, CONFIDENCE, SIMILARITY):
            positions[name] = self._parameters[name].sample(draw)
            values[name] = self._parameters[name].at(positions[name])
        if budget is None:
            self.budget = int(values[BUDGET])
        if budget is not None or (most and most <= self.budget):
            # the caller said how many: what comes last then says nothing about the parameter
            del positions[BUDGET]
        self.budget = min(self.budget, most or self.budget)
        self._bars = Thresholds(self.budget, values[CONFIDENCE], values[SIMILARITY], positions)

    def _chance(self, what: str) -> Random:
        """Chance that is the same all through a session."""
        if self._session:
            return Random(f"{self._session}/{what}")  # noqa: S311 - picks lessons, no keys
        return Random()  # noqa: S311 - as above

    def objection(self, fit: Candidate, *, unasked: bool) -> Why | None:
        """Why an entry is not told, by its outcomes and the thresholds of this session."""
        return objection(fit, self._bars, unasked=unasked)

    def omitted(self, candidates: Sequence[Candidate]) -> frozenset[str]:
        """Lessons to leave out on purpose.

        Where the user wants that, in a session with a name that is recorded.
        """
        often = []
        for fit in candidates:
            if fit.entry.kind is Kind.LESSON and fit.usage.tallies.injected >= LIMITS.often:
                often.append(fit.entry.id)
        recorded = self._session and all(place.events.recording for place in self._repo.every)
        if not (self._repo.options.measure and often and recorded):
            return frozenset()
        rate = self._parameters[ABLATION].value
        omitted = set()
        for entry_id in often:
            if self._chance(f"without {entry_id}").random() < rate:
                omitted.add(entry_id)
        return frozenset(omitted)

    def edges(self, choice: Choice) -> Mapping[str, Mapping[str, float]]:
        """The thresholds that each chosen lesson passed only just."""
        return edges(choice, self._bars)

    def question(self) -> list[str]:
        """In some sessions, the request to say how the lessons did."""
        rate = self._parameters[ASSESSMENT].value
        if self._session and self._chance("question").random() < rate:
            return [ASKING]
        return []
