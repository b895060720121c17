"""Which lessons come unasked, by what was learned: the bars of this session, the choice, and writing it down."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.entries import Kind
from ai_lessons.learning import fold
from ai_lessons.learning.choose import Bars, Candidate, choose
from ai_lessons.learning.events import INJECTED, LEFT_OUT, Event
from ai_lessons.learning.fold import ABLATION, ASSESSMENT, BUDGET, CONFIDENCE, SIMILARITY
from ai_lessons.library.answers import Left
from ai_lessons.library.relating import giving_way

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.answers import Context, ContextQuery, Usage
    from ai_lessons.library.opened import Reading

LOOKED_AT = 60
"""Nearest lessons among which are chosen, beside three times the budget."""

ASKING = "say afterwards how these did: ai-lessons contribute feedback ID helpful|ignored|contradicted"
DEPTH = 100


class Chosen(NamedTuple):
    """Lessons that come, those that do not, and of which parameters' bars each passed only just."""

    lessons: list[Light]
    left_out: list[Left]
    edges: Mapping[str, Mapping[str, float]]


class Injecting:
    """One context being put together. In a session the same question is answered the same way."""

    def __init__(self, parts: Reading, budget: int | None) -> None:
        """`budget` None: as many entries as has proved best."""
        self._parts = parts
        self._parameters = parts.usages.parameters()
        self._session = parts.options.session or ""
        chance = self._chance("bars")
        positions = {
            name: self._parameters[name].sample(chance.betavariate) for name in (BUDGET, CONFIDENCE, SIMILARITY)
        }
        self.budget = int(self._at(BUDGET, positions)) if budget is None else budget
        if budget is not None:
            del positions[BUDGET]  # somebody said how many: what comes last then says nothing about the parameter
        self._bars = Bars(self.budget, self._at(CONFIDENCE, positions), self._at(SIMILARITY, positions), positions)

    def _chance(self, what: str) -> Random:
        """Chance that is the same all through a session."""
        return Random(f"{self._session}/{what}") if self._session else Random()  # noqa: S311 - picks lessons, no keys

    def _at(self, name: str, positions: Mapping[str, float]) -> float:
        return self._parameters[name].at(positions[name])

    def choose(self, lessons: Sequence[Light], query: ContextQuery, rules: int) -> Chosen:
        """The lessons that come beside so many rules that would, those that do not, and the edges.

        Rules take at most half of the budget while there are lessons for the rest.
        """
        near = list(lessons[: LOOKED_AT + 3 * self.budget])
        usages = self._parts.usages.several(near)
        near.sort(key=lambda light: (-(light.score or 0), -usages[light.id].confidence))
        similar = self._similarities(query.query) if query.query.strip() else {}
        candidates = [_candidate(light, usages[light.id], similar.get(light.id)) for light in near]
        by_id = {light.id: light for light in near}
        fit = [by_id[one.id] for one in choose(candidates, self._bars._replace(budget=len(near) + 1)).chosen]
        away = giving_way(self._parts, fit, query.project)
        candidates = [one for one in candidates if one.id not in away]
        room = self.budget - self.room(rules, len(fit) - len(away))
        without = self._ablation(near)
        choice = choose(candidates, self._bars._replace(budget=room), without.__contains__)
        return Chosen(
            [by_id[one.id] for one in choice.chosen],
            [
                *(Left(by_id[one], *why) for one, why in away.items()),
                *(Left(by_id[one.id], one.reason, one.detail) for one in choice.left_out),
            ],
            {one.id: one.edge for one in choice.chosen if one.edge},
        )

    def room(self, rules: int, lessons: int) -> int:
        """How many of the rules come."""
        return min(rules, max((self.budget + 1) // 2, self.budget - lessons))

    def _ablation(self, lessons: Sequence[Light]) -> frozenset[str]:
        """Lessons to leave out on purpose. Only in a session with a name: else nobody could tell what it changed."""
        if not self._session:
            return frozenset()
        rate = self._parameters[ABLATION].value
        return frozenset(light.id for light in lessons if self._chance(f"without {light.id}").random() < rate)

    def _similarities(self, words: str) -> dict[str, float]:
        """Cosine similarity of each lesson's best passage, of those that the vectors found."""
        from ai_lessons.index.rows import PassageFilter

        found = self._parts.indexing.candidates(words, PassageFilter(kinds=frozenset({Kind.LESSON.value})), DEPTH)
        best: dict[str, float] = {}
        for hit in found.vectors:
            best[hit.entry_id] = max(hit.score, best.get(hit.entry_id, -1.0))
        return best

    def question(self) -> list[str]:
        """In some sessions, the request to say how the lessons did."""
        if not self._session:
            return []
        return [ASKING] if self._chance("question").random() < self._parameters[ASSESSMENT].value else []


def _candidate(light: Light, usage: Usage, similarity: float | None) -> Candidate:
    return Candidate(light.id, _used(usage), similarity, firm=bool(light.details.get("firm")))


def _used(usage: Usage) -> fold.UsageTally:
    tallies = fold.Tallies(usage.times_injected, usage.times_helpful, usage.times_ignored, usage.times_contradicted)
    return fold.UsageTally(tallies, usage.alpha, usage.beta)


def record(parts: Reading, found: Context, session: str = "") -> list[str]:
    """Write down what came, and what was left out on purpose; a note where that cannot be."""
    edges = found.edges
    came = [Event("", "", INJECTED, one.id, session, edges.get(one.id, {})) for one in (*found.rules, *found.lessons)]
    left = [Event("", "", LEFT_OUT, one.entry.id, session) for one in found.left_out if one.reason == "ablation"]
    return parts.usages.record_if_possible([*came, *left])
