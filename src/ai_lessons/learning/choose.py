"""Which entries come unasked: by moment, confidence, similarity, harm and budget; and whether showing them helps."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain, zip_longest
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge import failures
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Kind, Light, Moment, Status
from ai_lessons.knowledge.globs import BY_KIND, EXACT
from ai_lessons.knowledge.json_fields import json_fields
from ai_lessons.learning.events import (
    CONTRADICTED,
    HELPFUL,
    INJECTED,
    LEFT_OUT,
    SCRIPT_FAILED,
    SCRIPT_OK,
    WRONG,
)
from ai_lessons.learning.fold import BUDGET, CONFIDENCE, NOTHING, SIMILARITY, Tallies, UsageTally

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence


NEAR = 0.06  # A lesson this close above a threshold came through only just
FEW = 2  # Entries that come unasked, but for the start of a session
SURE = 0.5  # Chance of an answer from which something is told at a prompt, or where a pattern names every file
STARTER = "starter"  # Tag of what the starter set brought
TIRED = 12  # Sessions that a lesson is told in without use, before it is told no more
TIE = 0.1  # Chances that differ by no more do not tell which entry helps


UNUSED = UsageTally(NOTHING, 1.0, 1.0)


class Fit(NamedTuple):
    """An entry that may be told at a moment, `why`, how it has done so far, and how well it fits.

    `level`: how closely it names what is touched (`globs.specificity`), or how much speaks for it. `chance`: that it is
    about the text, or helps with the failure; `similarity`: to the words of who asked. `own`: 0 to 1, more for what is
    of this project. `against`: the word and the sentence for why another entry comes in its place.
    """

    entry: Light
    why: str = ""
    usage: UsageTally = UNUSED
    level: float = EXACT
    chance: float = 1.0
    own: float = 0.0
    against: tuple[str, str] | None = None
    similarity: float | None = None

    @property
    def firm(self) -> bool:
        """Whether a person stated or approved it: then no record of use keeps it away, as anybody can push those."""
        return self.entry.kind is Kind.RULE or bool(self.entry.details.get("firm"))


class Bars(NamedTuple):
    """What a lesson has to pass, and the positions (0 to 1) of the parameters that set it."""

    budget: int
    confidence: float
    similarity: float
    positions: Mapping[str, float]


@json_fields(entry=True)
class LeftOut(NamedTuple):
    """An entry that fitted and does not come: a word for why, and a sentence with the figures.

    The words: harm, confidence, similarity, budget, ablation, superseded, specialized, contradicts; at a moment of a
    session also starter, told, unused, chance, room.
    """

    entry: Light
    reason: str
    detail: str


class Choice(NamedTuple):
    """What comes, in its order, and what does not.

    `edges`: of lessons that come, by id, the parameters whose bar they passed only just, with their positions.
    """

    chosen: tuple[Fit, ...]
    edges: Mapping[str, Mapping[str, float]]
    left_out: tuple[LeftOut, ...]


def choose(candidates: Sequence[Fit], bars: Bars, ablate: Callable[[str], bool] = lambda _: False) -> Choice:
    """Take candidates in order while the budget lasts; `ablate` says whether to leave one out that is not firm."""
    chosen: list[Fit] = []
    left_out: list[LeftOut] = []
    for one in candidates:
        reason = _objection(one, bars)
        if not reason and len(chosen) >= bars.budget:
            reason = "budget", f"the budget of {bars.budget} is spent"
        if not reason and not one.firm and ablate(one.entry.id):
            reason = "ablation", "left out on purpose, to measure whether it makes a difference"
        if reason:
            left_out.append(LeftOut(one.entry, *reason))
        else:
            chosen.append(one)
    spent = any(one.reason == "budget" for one in left_out)
    return Choice(tuple(chosen), _edges(chosen, bars, spent=spent), tuple(left_out))


def tell(
    moment: Moment | None,
    fits: Sequence[Fit],
    told: Collection[str] | None,
    bars: Bars,
    ablate: Callable[[str], bool] = lambda _: False,
) -> Choice:
    """What is told at a moment of a session, best first, and why the others are not: decided from these values alone.

    At no moment (None), that for which most speaks comes first, the surest of it. Before a tool runs, it is what names
    its file or command most closely; at a prompt and a failure, what is likeliest; at the start, what holds everywhere
    and what is of the project take turns, in each rules and what a person stated first. `told` has the ids of what the
    agent was told before (None: a person asks, who is told starters, too); at a failure that keeps its place, so that
    the next best is not told in its stead. `ablate` is as in `choose`.
    """
    best = max((one.chance for one in fits if told is None or STARTER not in one.entry.tags), default=0.0)
    unfit = [LeftOut(one.entry, *why) for one in fits if (why := _unfit(moment, one, told, best))]
    out = {one.entry.id for one in unfit}
    ranked = _ranked(moment, [one for one in fits if one.entry.id not in out], best)
    if moment is Moment.TOOL_FAILED and sum(best - one.chance <= TIE for one in ranked) > 1 and bars.budget <= FEW:
        bars = bars._replace(budget=1)  # words do not tell which of them helps: one is tried
    choice, before = choose(ranked, bars, ablate), told or ()
    fresh = tuple(one for one in choice.chosen if one.entry.id not in before)
    known = (LeftOut(one.entry, *_KNOWN) for one in choice.chosen if one.entry.id in before)
    return choice._replace(chosen=fresh, left_out=(*unfit, *known, *choice.left_out))


_KNOWN = "told", "told earlier in this session"


def _unfit(moment: Moment | None, one: Fit, told: Collection[str] | None, best: float) -> tuple[str, str] | None:
    failure = moment is Moment.TOOL_FAILED
    if told is not None and STARTER in one.entry.tags:
        return "starter", "of the starter set, which is told only to those who ask"
    if told is not None and not one.firm and (tired := unused(one.usage.tallies)):
        return "unused", tired
    if one.entry.id in (told or ()) and not failure:
        return _KNOWN
    bar = SURE if moment is Moment.PROMPT or (moment is Moment.BEFORE_TOOL and one.level <= BY_KIND) else 0.0
    if failure:
        bar = failures.BAR if best - one.chance <= TIE else failures.SECOND
    return (
        ("chance", f"the chance that it helps is {one.chance:.2f}, below {bar:.2f}")
        if one.chance < bar
        else one.against
    )


def _ranked(moment: Moment | None, fits: Sequence[Fit], best: float) -> list[Fit]:
    """The best first."""
    if moment is Moment.TOOL_FAILED:  # of those that words do not tell apart, what happened after they were told does
        tied = [one for one in fits if best - one.chance <= TIE]
        tied.sort(key=lambda one: -one.usage.confidence)
        return tied + sorted((one for one in fits if best - one.chance > TIE), key=lambda one: -one.chance)
    if moment is Moment.PROMPT:
        return sorted(fits, key=lambda one: -one.chance)
    if moment is Moment.BEFORE_TOOL:
        return sorted(fits, key=lambda one: -(one.level + one.own))
    surest = sorted(fits, key=lambda one: (-one.level, -one.usage.confidence))
    if moment is None:
        return surest
    surest.sort(key=lambda one: (one.entry.kind is not Kind.RULE, not one.firm))
    slots = ([one for one in surest if (one.entry.project == GLOBAL_PROJECT) is side] for side in (True, False))
    return [one for one in chain.from_iterable(zip_longest(*slots)) if one]


def _objection(one: Fit, bars: Bars) -> tuple[str, str] | None:
    tallies = one.usage.tallies
    harm = "" if one.firm else harmful(tallies)
    if harm:
        return "harm", harm
    if one.usage.confidence < bars.confidence and not one.firm:
        return "confidence", f"confidence {one.usage.confidence:.2f} is below {bars.confidence:.2f}"
    if one.similarity is not None and one.similarity < bars.similarity:
        return "similarity", f"similarity {one.similarity:.2f} is below {bars.similarity:.2f}"
    return None


def _edges(chosen: Sequence[Fit], bars: Bars, *, spent: bool) -> dict[str, Mapping[str, float]]:
    """For each lesson the bars that it passed only just; the budget's for the last one, if another stayed outside."""
    edges: dict[str, Mapping[str, float]] = {}
    for one in (one for one in chosen if one.entry.kind is Kind.LESSON):
        near = {
            CONFIDENCE: one.usage.confidence - bars.confidence <= NEAR,
            SIMILARITY: one.similarity is not None and one.similarity - bars.similarity <= NEAR,
            BUDGET: spent and one is chosen[-1],
        }
        just = {name: bars.positions[name] for name, is_near in near.items() if is_near and name in bars.positions}
        edges |= {one.entry.id: just} if just else {}
    return edges


def harmful(had: Tallies) -> str:
    """Why a lesson must not come unasked, in a sentence; empty if it may. What others pushed does not keep it away."""
    had = had.own or had
    if had.contradicted > had.helpful:
        return f"contradicted more often ({had.contradicted}) than helpful ({had.helpful})"
    helped = had.helpful + had.followed + had.worked
    if had.recurred > max(helped, 2):
        return f"the same failure came again in {had.recurred} sessions that were told, and {helped} times it helped"
    return ""


def unused(had: Tallies) -> str:
    """Why a lesson is not told any more to those who do not ask, in a sentence; empty if it is."""
    if had.unused < TIRED:
        return ""
    return f"told in {had.unused} sessions without use since it was written, edited, or last helped"


def silent(light: Light, used: UsageTally, bar: float) -> str:
    """Why an entry is told to nobody who does not ask, whatever the moment, in a sentence; empty if it is told.

    `bar`: the confidence that a lesson needs; one that its author put below it is no matter of what happened.
    """
    if light.details.get("status") == Status.WRONG:
        return "marked wrong"
    if light.kind is not Kind.LESSON or light.details.get("firm"):
        return ""
    had = used.tallies
    low = (had.outcomes or had.recurred) and used.confidence < bar
    return harmful(had) or unused(had) or (f"confidence {used.confidence:.2f} is below {bar:.2f}" if low else "")


GOOD = frozenset({HELPFUL, SCRIPT_OK})
BAD = frozenset({CONTRADICTED, SCRIPT_FAILED, WRONG})

NORMAL_95 = 1.959964  # Standard deviations on either side that hold 95 % of a normal distribution


class Effect(NamedTuple):
    """What showing a lesson changed: the difference of the shares of good sessions, with its 95 % interval.

    `shown` and `left_out` count the sessions on either side, one for each lesson that was tried in it.
    """

    shown: int
    left_out: int
    difference: float
    low: float
    high: float


def effect(good_shown: int, shown: int, good_left_out: int, left_out: int) -> Effect | None:
    """The difference between sessions with and without, and its interval; None while one of the two is missing.

    One success and one failure are added to each side (Agresti and Caffo, The American Statistician 54, 2000): the
    interval keeps what it promises for a handful of sessions, too.
    """
    if not shown or not left_out:
        return None
    one, other = (good_shown + 1) / (shown + 2), (good_left_out + 1) / (left_out + 2)
    width = NORMAL_95 * sqrt(one * (1 - one) / (shown + 2) + other * (1 - other) / (left_out + 2))
    middle = one - other
    difference = good_shown / shown - good_left_out / left_out
    return Effect(shown, left_out, difference, max(middle - width, -1.0), min(middle + width, 1.0))


def measured(happened: Iterable[tuple[str, str, str]]) -> Effect | None:
    """The effect over all lessons that were ever left out, from (session, entry, event) rows.

    A session went well if more of what happened in it was good than bad, other entries than the lesson itself counted:
    what is said of a lesson cannot be said where it was not shown. Sessions of which nothing is known are left out.
    """
    balance: dict[str, Counter[str]] = defaultdict(Counter)
    arms: dict[tuple[str, str], set[str]] = defaultdict(set)
    for session, entry, event in happened:
        if event in GOOD or event in BAD:
            balance[session][entry] += 1 if event in GOOD else -1
        elif event in {INJECTED, LEFT_OUT}:
            arms[session, entry].add(event)
    tried = {entry for (_, entry), arm in arms.items() if LEFT_OUT in arm}
    counts: Counter[tuple[str, bool]] = Counter()
    for (session, entry), arm in arms.items():
        others = [value for one, value in balance[session].items() if one != entry]
        if entry in tried and len(arm) == 1 and others:
            counts[next(iter(arm)), sum(others) > 0] += 1
    shown, left = (counts[word, True] + counts[word, False] for word in (INJECTED, LEFT_OUT))
    return effect(counts[INJECTED, True], shown, counts[LEFT_OUT, True], left)
