"""Of what is offered the entries that may come: by chance, links, code and a budget.

A feature that learns puts more in the way (`filter` of its row), see `EntryFilter`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app, extensions
from ai_lessons.app.answers import Context
from ai_lessons.app.link_effects import suppressed, usages_of
from ai_lessons.model import failures
from ai_lessons.model.entries import EntrySummary, Kind, Moment
from ai_lessons.model.events import INJECTED, LEFT_OUT, Event
from ai_lessons.model.layout import EXACT
from ai_lessons.model.outcomes import NotShown, Why
from ai_lessons.model.tallies import UNUSED, UsageTally

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ai_lessons.app.workspace import Reading


class TellingLimits(NamedTuple):
    """What decides how many entries are told, and which."""

    # No bench sets it: whoever is interrupted reads little. Two whole entries are about the
    # `max_chars` of a moment. Entries that come unasked at a moment of a session; its start has a
    # budget of its own
    few: int = 2
    # `bench.moment`, whose lessons have no outcomes, is the same from 0 to 0.3; at 0.9 more of what
    # it tells is wrong. Chances that differ by less than words can tell: of such lessons the one
    # that helped most is tried
    tie: float = 0.1
    # So many entries come to a question, and so like it are they at least, where nothing is learned
    most: int = 10
    least_like: float = 0.3


CHOICE = TellingLimits()

# Tag of the entries of the starter set
STARTER = "starter"

_SHOWN = "told", "told earlier in this session"
_OMITTED = "left out on purpose, to measure whether it makes a difference"


class Candidate(NamedTuple):
    """An entry that may be shown at a moment, `why`, its usage so far, and how well it fits.

    `level`: how closely it names the touched file or command (`layout.specificity`), or its
    evidence. `chance`: that it is about the text, or helps with the failure; `similarity`: to the
    words of the question. `closeness`: 0 to 1, more for entries of this project.
    """

    entry: EntrySummary
    why: str = ""
    usage: UsageTally = UNUSED
    level: float = EXACT
    chance: float = 1.0
    closeness: float = 0.0
    similarity: float | None = None

    @property
    def firm(self) -> bool:
        """Whether a person stated or approved it.

        Then no usage keeps it away, because any clone can push usage.
        """
        return self.entry.kind is Kind.RULE or bool(self.entry.origin.firm)


class Choice(NamedTuple):
    """The chosen entries in their order, and those left out.

    `taken`: those that have a place in the budget, also by being told before.
    """

    chosen: tuple[Candidate, ...]
    taken: tuple[Candidate, ...]
    left_out: tuple[NotShown, ...]


def passing(
    moment: Moment | None,
    fits: Sequence[Candidate],
    shown: Collection[str] | None,
    objection: Callable[[Candidate], Why | None] = lambda _: None,
) -> tuple[list[Candidate], list[NotShown]]:
    """The entries that may be shown at a moment of a session, best first, and why the others may not.

    At no moment (None) the entry with most evidence comes first, the surest of equal ones; at a
    failure the likeliest; else the one of the highest level, of equal ones what is firm. `shown`
    has the ids of entries shown before (None: a person asks, who gets starters, too).
    """
    likely = [0.0]
    for fit in fits:
        if shown is None or STARTER not in fit.entry.tags:
            likely.append(fit.chance)
    best = max(likely)
    kept, left_out = [], []
    for fit in fits:
        why = _unfit(moment, fit, shown, best) or objection(fit)
        if why:
            left_out.append(NotShown(fit.entry, *why))
        else:
            kept.append(fit)
    return _ranked(moment, kept, best), left_out


def choose(
    moment: Moment | None,
    ranked: Sequence[Candidate],
    budget: int,
    shown: Collection[str] = (),
    omitted: Collection[str] = (),
) -> Choice:
    """Take entries in their order while the budget lasts.

    `omitted`: the ids of those to leave out on purpose, unless they are firm. What was `shown`
    before keeps its place, so that the next best does not take it.
    """
    likeliest = max((fit.chance for fit in ranked), default=0.0)
    tied = [fit for fit in ranked if likeliest - fit.chance <= CHOICE.tie]
    if moment is Moment.TOOL_FAILED and len(tied) > 1 and budget <= CHOICE.few:
        # words do not decide which of them helps: one is tried
        budget = 1
    taken: list[Candidate] = []
    chosen: list[Candidate] = []
    left_out: list[NotShown] = []
    told_before: list[NotShown] = []
    for fit in ranked:
        if len(taken) >= budget:
            left_out.append(NotShown(fit.entry, "budget", f"the budget of {budget} is spent"))
        elif not fit.firm and fit.entry.id in omitted:
            left_out.append(NotShown(fit.entry, "ablation", _OMITTED))
        else:
            taken.append(fit)
            if fit.entry.id in shown:
                told_before.append(NotShown(fit.entry, *_SHOWN))
            else:
                chosen.append(fit)
    return Choice(tuple(chosen), tuple(taken), (*left_out, *told_before))


def _unfit(
    moment: Moment | None, fit: Candidate, shown: Collection[str] | None, best: float
) -> Why | None:
    failure = moment is Moment.TOOL_FAILED
    if shown is not None and STARTER in fit.entry.tags:
        return "starter", "of the starter set, which is shown only on request"
    if fit.entry.id in (shown or ()) and not failure:
        return _SHOWN
    bar = failures.SECOND
    if best - fit.chance <= CHOICE.tie:
        bar = failures.BAR
    if failure and fit.chance < bar:
        return "chance", f"the chance that it helps is {fit.chance:.2f}, below {bar:.2f}"
    return None


def _ranked(moment: Moment | None, fits: Sequence[Candidate], best: float) -> list[Candidate]:
    """The best first."""
    if moment is Moment.TOOL_FAILED:
        # among equal chances the outcomes after earlier showings decide
        tied = [fit for fit in fits if best - fit.chance <= CHOICE.tie]
        unlikely = [fit for fit in fits if best - fit.chance > CHOICE.tie]
        tied.sort(key=lambda fit: -fit.usage.confidence)
        unlikely.sort(key=lambda fit: -fit.chance)
        return [*tied, *unlikely]
    if moment is None:
        return sorted(fits, key=lambda fit: (-fit.level, -fit.usage.confidence))
    # among equals what is firm, and what is nearer
    return sorted(
        fits,
        key=lambda fit: (-fit.level, not fit.firm, fit.entry.kind is not Kind.RULE, -fit.closeness),
    )


class EntryFilter:
    """One context being put together.

    A feature has a class below it, with other objections, other entries that are `omitted`, and a
    note of what came through only just (`edges`).
    """

    def __init__(self, repo: Reading, budget: int | None, most: int | None = None) -> None:
        """`budget` None: as many entries as there is room for, and not more than `most`."""
        self._repo = repo
        self.budget = CHOICE.most
        if budget is not None:
            self.budget = budget
        self.budget = min(self.budget, most or self.budget)

    def objection(self, fit: Candidate, *, unasked: bool) -> Why | None:  # noqa: ARG002  # for those that learn
        """Why an entry is not told, as a word and a sentence; None: it is."""
        if fit.similarity is not None and fit.similarity < CHOICE.least_like:
            return "similarity", f"similarity {fit.similarity:.2f} is below {CHOICE.least_like:.2f}"
        return None

    def omitted(self, candidates: Sequence[Candidate]) -> frozenset[str]:  # noqa: ARG002  # as above
        """The ids of entries to leave out on purpose."""
        return frozenset()

    def edges(self, choice: Choice) -> Mapping[str, Mapping[str, float]]:  # noqa: ARG002  # as above
        """Of chosen lessons, by id, what they passed only just."""
        return {}

    def question(self) -> list[str]:
        """What the agent is asked about the entries, if anything."""
        return []

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

        `rules`: so many come beside them, and take at most half of the budget while lessons are
        left.
        """
        unasked, told_before = shown_ids is not None, shown_ids or ()
        usages = usages_of(self._repo, [candidate.entry for candidate in fits])
        every = []
        for candidate in fits:
            every.append(candidate._replace(usage=usages[candidate.entry.id]))
        ranked, left_out = passing(
            moment, every, shown_ids, lambda fit: self.objection(fit, unasked=unasked)
        )
        could = [candidate for candidate in ranked if candidate.entry.id not in told_before]
        lessons = []
        for candidate in could:
            if candidate.entry.kind is Kind.LESSON:
                lessons.append(candidate.entry)
        entries = [candidate.entry for candidate in could]
        looked_at, gone = self._code_of(entries, unasked=unasked)
        still_there = [summary for summary in lessons if summary.id not in gone]
        away = suppressed(self._repo, still_there, project) | gone
        for summary in lessons:
            if summary.id in away:
                left_out.append(NotShown(summary, *away[summary.id]))
        ranked = [candidate for candidate in ranked if candidate.entry.id not in away]
        left = len(lessons) - len(away)
        beside = min(rules, max((self.budget + 1) // 2, self.budget - left))
        choice = choose(moment, ranked, self.budget - beside, told_before, self.omitted(could))
        return self._context(choice, looked_at, left_out)

    def _context(
        self, choice: Choice, looked_at: Mapping[str, EntrySummary], left_out: Sequence[NotShown]
    ) -> Context:
        entries, why = [], {}
        for candidate in choice.chosen:
            entry_id = candidate.entry.id
            entries.append(looked_at.get(entry_id, candidate.entry))
            why[entry_id] = candidate.why
        approved = [summary for summary in entries if summary.kind is Kind.RULE]
        approvals = {}
        if approved:
            approvals = app.history_of_entries.approvals_of(self._repo, approved)
        return Context(
            tuple(entries),
            why,
            self._repo.catalog.openings(why),
            approvals,
            (*left_out, *choice.left_out),
            self.edges(choice),
            tuple(self._repo.notes()),
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
        of_lessons = {name: why for name, why in gone.items() if name in lessons}
        return {summary.id: summary for summary in seen}, of_lessons


def entry_filter(repo: Reading, budget: int | None, most: int | None = None) -> EntryFilter:
    """What puts a context together here; that of the feature that learns, where there is one."""
    for _, of_feature in extensions.added("filter"):
        made: EntryFilter = of_feature(repo, budget, most)
        return made
    return EntryFilter(repo, budget, most)


def injection_events(result: Context) -> list[Event]:
    """That these entries came, and which were left out on purpose, to measure whether it makes a difference."""
    events = []
    for summary in result.entries:
        edge = result.edges.get(summary.id, {})
        events.append(Event("", "", INJECTED, summary.id, edge=edge))
    for left in result.left_out:
        if left.reason == "ablation":
            events.append(Event("", "", LEFT_OUT, left.entry.id))
    return events
