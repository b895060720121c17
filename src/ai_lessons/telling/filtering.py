"""Groove's filter.

Of what is offered the entries that may come, by outcomes, thresholds, links, code and a budget.

The thresholds are drawn anew in each session, so that what comes of an entry teaches them (Thompson
sampling).
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app
from ai_lessons.app.answers import Context
from ai_lessons.app.link_effects import suppressed, usages_of
from ai_lessons.learning import statistics
from ai_lessons.learning.selection import CHOICE, STARTER, UNUSED, NotShown, Why, harmful, unused
from ai_lessons.learning.statistics import (
    ABLATION,
    ASSESSMENT,
    BUDGET,
    CONFIDENCE,
    SIMILARITY,
    Event,
)
from ai_lessons.model import failures
from ai_lessons.model.entries import EntrySummary, Kind, Moment
from ai_lessons.model.layout import EXACT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ai_lessons.app.workspace import Reading

ASKING = (
    "say afterwards how these did: ai-lessons contribute feedback ID helpful|ignored|contradicted"
)


class Candidate(NamedTuple):
    """An entry that may be shown at a moment, `why`, its usage so far, and how well it fits.

    `level`: how closely it names the touched file or command (`layout.specificity`), or its
    evidence. `chance`: that it is about the text, or helps with the failure; `similarity`: to the
    words of the question. `closeness`: 0 to 1, more for entries of this project.
    """

    entry: EntrySummary
    why: str = ""
    usage: statistics.UsageTally = UNUSED
    level: float = EXACT
    chance: float = 1.0
    closeness: float = 0.0
    similarity: float | None = None

    @property
    def firm(self) -> bool:
        """Whether a person stated or approved it.

        Then no usage keeps it away, because any clone can push usage.
        """
        return self.entry.kind is Kind.RULE or bool(self.entry.firm)


class Thresholds(NamedTuple):
    """The thresholds of a lesson, and the positions (0 to 1) of the parameters that set them."""

    budget: int
    confidence: float
    similarity: float
    positions: Mapping[str, float]


class Choice(NamedTuple):
    """The chosen entries in their order, and those left out.

    `edges`: of chosen lessons, by id, the parameters whose threshold they passed only just, with
    their positions.
    """

    chosen: tuple[Candidate, ...]
    edges: Mapping[str, Mapping[str, float]]
    left_out: tuple[NotShown, ...]


def passing(
    moment: Moment | None,
    fits: Sequence[Candidate],
    shown: Collection[str] | None,
    bars: Thresholds,
) -> tuple[list[Candidate], list[NotShown]]:
    """The entries that may be shown at a moment of a session, best first, and why the others may not.

    At no moment (None) the entry with most evidence comes first, the surest of equal ones; at a failure the likeliest;
    else the one of the highest level, of equal ones what is firm. `shown` has the ids of entries shown before (None: a
    person asks, who gets starters, too).
    """
    best = max(
        (fit.chance for fit in fits if shown is None or STARTER not in fit.entry.tags), default=0.0
    )
    whys = []
    for fit in fits:
        whys.append((fit, _unfit(moment, fit, shown, best) or _objection(fit, bars)))
    ranked = _ranked(moment, [fit for fit, why in whys if not why], best)
    return ranked, [NotShown(fit.entry, *why) for fit, why in whys if why]


def choose(
    moment: Moment | None,
    ranked: Sequence[Candidate],
    bars: Thresholds,
    shown: Collection[str] = (),
    ablate: Callable[[str], bool] = lambda _: False,
) -> Choice:
    """Take entries in their order while the budget lasts.

    `ablate` says whether to leave one out that is not firm.

    What was `shown` before keeps its place, so that the next best does not take it.
    """
    budget, likeliest = bars.budget, max((fit.chance for fit in ranked), default=0.0)
    tied = sum(likeliest - fit.chance <= CHOICE.tie for fit in ranked) > 1
    if moment is Moment.TOOL_FAILED and tied and budget <= CHOICE.few:
        # words do not decide which of them helps: one is tried
        budget = 1
    chosen, left_out = list[Candidate](), list[NotShown]()
    for fit in ranked:
        if len(chosen) >= budget:
            left_out.append(NotShown(fit.entry, "budget", f"the budget of {budget} is spent"))
        elif not fit.firm and ablate(fit.entry.id):
            why = "left out on purpose, to measure whether it makes a difference"
            left_out.append(NotShown(fit.entry, "ablation", why))
        else:
            chosen.append(fit)
    edges = _edges(chosen, bars, spent=any(entry.reason == "budget" for entry in left_out))
    left_out += [NotShown(fit.entry, *_SHOWN) for fit in chosen if fit.entry.id in shown]
    return Choice(tuple(fit for fit in chosen if fit.entry.id not in shown), edges, tuple(left_out))


_SHOWN = "told", "told earlier in this session"


def _unfit(
    moment: Moment | None, fit: Candidate, shown: Collection[str] | None, best: float
) -> Why | None:
    failure = moment is Moment.TOOL_FAILED
    if shown is not None and STARTER in fit.entry.tags:
        return "starter", "of the starter set, which is shown only on request"
    if shown is not None and not fit.firm and (reason := unused(fit.usage.tallies)):
        return "unused", reason
    if fit.entry.id in (shown or ()) and not failure:
        return _SHOWN
    if best - fit.chance <= CHOICE.tie:
        bar = failures.BAR
    else:
        bar = failures.SECOND
    if failure and fit.chance < bar:
        return "chance", f"the chance that it helps is {fit.chance:.2f}, below {bar:.2f}"
    return None


def _ranked(moment: Moment | None, fits: Sequence[Candidate], best: float) -> list[Candidate]:
    """The best first."""
    if moment is Moment.TOOL_FAILED:
        # among equal chances the outcomes after earlier showings decide
        tied = [fit for fit in fits if best - fit.chance <= CHOICE.tie]
        tied.sort(key=lambda fit: -fit.usage.confidence)
        return tied + sorted(
            (fit for fit in fits if best - fit.chance > CHOICE.tie), key=lambda fit: -fit.chance
        )
    if moment is None:
        return sorted(fits, key=lambda fit: (-fit.level, -fit.usage.confidence))
    # among equals what is firm, and what is nearer
    return sorted(
        fits,
        key=lambda fit: (-fit.level, not fit.firm, fit.entry.kind is not Kind.RULE, -fit.closeness),
    )


def _objection(fit: Candidate, bars: Thresholds) -> Why | None:
    confidence = fit.usage.confidence
    if not fit.firm:
        if harm := harmful(fit.usage.tallies):
            return "harm", harm
        if confidence < bars.confidence:
            return "confidence", f"confidence {confidence:.2f} is below {bars.confidence:.2f}"
    if fit.similarity is not None and fit.similarity < bars.similarity:
        return "similarity", f"similarity {fit.similarity:.2f} is below {bars.similarity:.2f}"
    return None


def _edges(
    chosen: Sequence[Candidate], bars: Thresholds, *, spent: bool
) -> dict[str, Mapping[str, float]]:
    """The thresholds that each lesson passed only just.

    The budget's for the last, if another stayed outside.
    """
    edges: dict[str, Mapping[str, float]] = {}
    for fit in (fit for fit in chosen if fit.entry.kind is Kind.LESSON):
        near = {
            statistics.CONFIDENCE: fit.usage.confidence - bars.confidence <= CHOICE.near,
            statistics.SIMILARITY: fit.similarity is not None
            and fit.similarity - bars.similarity <= CHOICE.near,
            statistics.BUDGET: spent and fit is chosen[-1],
        }
        if just := {
            name: bars.positions[name]
            for name, is_near in near.items()
            if is_near and name in bars.positions
        }:
            edges[fit.entry.id] = just
    return edges


class EntryFilter:
    """One context being put together. In a session the same question is answered the same way."""

    def __init__(self, repo: Reading, budget: int | None, most: int | None = None) -> None:
        """`budget` None: as many entries as has proved best, and not more than `most`."""
        self._repo, self._parameters = repo, repo.every[0].usages.parameters()
        self._session = repo.options.session or ""
        draw = self._chance("bars").betavariate
        positions = {}
        for name in (BUDGET, CONFIDENCE, SIMILARITY):
            positions[name] = self._parameters[name].sample(draw)
        values = {name: self._parameters[name].at(position) for name, position in positions.items()}
        if budget is None:
            self.budget = int(values[BUDGET])
        else:
            self.budget = budget
        if budget is not None or (most and most <= self.budget):
            # the caller said how many: what comes last then says nothing about the parameter
            del positions[BUDGET]
        self.budget = min(self.budget, most or self.budget)
        self._bars = Thresholds(self.budget, values[CONFIDENCE], values[SIMILARITY], positions)

    def _chance(self, what: str) -> Random:
        """Chance that is the same all through a session."""
        return Random(f"{self._session}/{what}") if self._session else Random()  # noqa: S311 - picks lessons, no keys

    def tell(
        self,
        moment: Moment | None,
        fits: Sequence[Candidate],
        shown_ids: Collection[str] | None,
        project: str | None = None,
        *,
        rules: int = 0,
    ) -> Context:
        """What is told of these at a moment of a session, with its texts.

        `selection.choose` decides.

        `rules`: so many come beside them, and take at most half of the budget while lessons are
        left.
        """
        usages = usages_of(self._repo, [candidate.entry for candidate in fits])
        every = []
        for candidate in fits:
            every.append(candidate._replace(usage=usages[candidate.entry.id]))
        ranked, left_out = passing(moment, every, shown_ids, self._bars)
        could = [
            candidate.entry for candidate in ranked if candidate.entry.id not in (shown_ids or ())
        ]
        lessons = []
        for summary in could:
            if summary.kind is Kind.LESSON:
                lessons.append(summary)
        # A lesson is left out on purpose only after it was told ten times: before, there is nothing
        # to compare with.
        often = [summary for summary in lessons if usages[summary.id].tallies.injected >= 10]
        looked_at, gone = self._code_of(could, unasked=shown_ids is not None)
        away = (
            suppressed(
                self._repo, [summary for summary in lessons if summary.id not in gone], project
            )
            | gone
        )
        left_out += [
            NotShown(summary, *away[summary.id]) for summary in lessons if summary.id in away
        ]
        ranked = [candidate for candidate in ranked if candidate.entry.id not in away]
        beside = min(rules, max((self.budget + 1) // 2, self.budget - (len(lessons) - len(away))))
        bars = self._bars._replace(budget=self.budget - beside)
        choice = choose(moment, ranked, bars, shown_ids or (), self._ablation(often).__contains__)
        entries = tuple(
            looked_at.get(candidate.entry.id, candidate.entry) for candidate in choice.chosen
        )
        why = {candidate.entry.id: candidate.why for candidate in choice.chosen}
        approved = [summary for summary in entries if summary.kind is Kind.RULE]
        if approved:
            approvals = app.history_of_entries.approvals_of(self._repo, approved)
        else:
            approvals = {}
        texts, notes = self._repo.catalog.openings(why), tuple(self._repo.notes())
        return Context(
            entries, why, texts, approvals, (*left_out, *choice.left_out), choice.edges, notes
        )

    def _code_of(
        self, could: Sequence[EntrySummary], *, unasked: bool
    ) -> tuple[dict[str, EntrySummary], dict[str, tuple[str, str]]]:
        """By id: entries with what became of their code, and why lessons are not told for that (word, sentence)."""
        # each look reads code: ten for each entry that may come
        most = 10 * self.budget
        seen = app.notes.with_verdicts(self._repo, could[:most], unasked=unasked)
        gone = {}
        for summary in could[most:]:
            gone[summary.id] = ("budget", "too many fit to look at their code")
        for summary in seen:
            if summary.beside.silences:
                gone[summary.id] = summary.beside.verdict, summary.beside.warning
        # rules are told all the same, with the warning, and so is everything to a person who asks
        lessons = {summary.id for summary in could if summary.kind is Kind.LESSON and unasked}
        return {summary.id: summary for summary in seen}, {
            name: gone[name] for name in gone if name in lessons
        }

    def _ablation(self, lessons: Sequence[EntrySummary]) -> frozenset[str]:
        """Lessons to leave out on purpose.

        Where the user wants that, in a session with a name that is recorded.
        """
        recorded = self._session and all(place.usages.recording for place in self._repo.every)
        if not (self._repo.options.measure and lessons and recorded):
            return frozenset()
        rate = self._parameters[ABLATION].value
        results = []
        for summary in lessons:
            if self._chance(f"without {summary.id}").random() < rate:
                results.append(summary.id)
        return frozenset(results)

    def question(self) -> list[str]:
        """In some sessions, the request to say how the lessons did."""
        rate = self._parameters[ASSESSMENT].value
        if self._session and self._chance("question").random() < rate:
            return [ASKING]
        return []


def injection_events(result: Context) -> list[Event]:
    """That these entries came, and which were left out on purpose, to measure whether it makes a difference."""
    edges = result.edges
    events = []
    for summary in result.entries:
        events.append(
            Event("", "", statistics.INJECTED, summary.id, edge=edges.get(summary.id, {}))
        )
    omitted = (left.entry.id for left in result.left_out if left.reason == "ablation")
    return events + [Event("", "", statistics.LEFT_OUT, entry_id) for entry_id in omitted]
