"""A user made up for measuring: whether budget and thresholds learn what is best for somebody with known habits.

In every session some lessons fit. Each has a worth that nobody sees; its confidence and its similarity to the task are
noisy views of how likely it helps. The user reads from the top, with less and less patience, and says how each lesson
that came did. The same `learning` that the library runs chooses and learns; only the user is made up.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.learning import statistics
from ai_lessons.learning.selection import Candidate, Thresholds, choose, fitting
from ai_lessons.learning.statistics import BUDGET, CONFIDENCE, DEFINITIONS, SIMILARITY, initial, learned
from ai_lessons.model.entries import EntrySummary, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAMES = (BUDGET, CONFIDENCE, SIMILARITY)


class User(NamedTuple):
    """Somebody with habits.

    `patience`: after so many lessons about a third of the attention is left. `harm`: how often a bad lesson harms.
    `fitting`: how many lessons fit a session, before anything is chosen.
    """

    name: str
    patience: float
    harm: float
    fitting: int


USERS = (
    User("impatient", 2.0, 0.3, 25),
    User("ordinary", 5.0, 0.3, 25),
    User("patient", 10.0, 0.3, 25),
    User("few lessons, bad ones harm", 8.0, 2.0, 6),
)


class Lesson(NamedTuple):
    """One that fits: what is seen of it, how likely it helps who reads it, how likely it is wrong for them."""

    confidence: float
    similarity: float
    helps: float
    harms: float


@dataclass(slots=True)
class Run:
    """One run of many sessions: what each was worth, and where the parameters stood after it."""

    worth: list[float]
    values: dict[str, list[float]]


def sessions(user: User, count: int, seed: int) -> list[list[tuple[Lesson, float]]]:
    """The lessons of each session, nearest first, each with the number that decides how it does."""
    dice = random.Random(f"{user.name} {seed}")
    return [
        sorted(((_lesson(user, dice), dice.random()) for _ in range(user.fitting)), key=_nearness) for _ in range(count)
    ]


def _lesson(user: User, dice: random.Random) -> Lesson:
    good, fits = dice.random(), dice.random()
    seen = min(max(good + dice.gauss(0, 0.1), 0.02), 0.98)
    similar = min(max(0.35 + 0.5 * fits + dice.gauss(0, 0.05), 0.0), 1.0)
    return Lesson(seen, similar, good * fits, user.harm * max(0.0, 0.4 - good))


def _nearness(one: tuple[Lesson, float]) -> float:
    return -one[0].similarity * one[0].confidence


def outcome(lesson: Lesson, place: int, user: User, number: float) -> str:
    """What the user says of a lesson that came at this place (from 0)."""
    attention = math.exp(-place / user.patience)
    if number < lesson.helps * attention:
        return "helpful"
    return "contradicted" if number > 1 - lesson.harms else "ignored"


def learn(user: User, count: int, seed: int) -> Run:
    """So many sessions with the parameters learning from each."""
    dice = random.Random(f"learning {seed}")
    parameters = {name: initial(name) for name in NAMES}
    run = Run([], {name: [] for name in NAMES})
    for met in sessions(user, count, seed):
        positions = {name: one.sample(dice.betavariate) for name, one in parameters.items()}
        at = {name: parameters[name].at(position) for name, position in positions.items()}
        candidates = [_candidate(n, lesson) for n, (lesson, _) in enumerate(met)]
        bars = Thresholds(int(at[BUDGET]), at[CONFIDENCE], at[SIMILARITY], positions)
        choice = choose(None, fitting(None, candidates, None, bars)[0], bars)
        worth = 0.0
        for place, entry in enumerate(one.entry.id for one in choice.chosen):
            lesson, number = met[int(entry)]
            said = outcome(lesson, place, user, number)
            worth += statistics.WORTH[said]
            for event in learned(said, choice.edges.get(entry, {})):
                assert event.value is not None
                assert event.weight is not None
                parameters[event.entry] = parameters[event.entry].update(event.value, event.weight)
        run.worth.append(worth)
        for name, one in parameters.items():
            run.values[name].append(one.value)
    return run


def _candidate(number: int, lesson: Lesson) -> Candidate:
    alpha, beta = statistics.PRIOR_STRENGTH * lesson.confidence, statistics.PRIOR_STRENGTH * (1 - lesson.confidence)
    usage = statistics.UsageTally(statistics.NOTHING, alpha, beta)
    light = EntrySummary(str(number), "", Kind.LESSON, "", "", (), (), "")
    return Candidate(light, usage=usage, level=-number, similarity=lesson.similarity)


def fixed(user: User, given: list[list[tuple[Lesson, float]]], setting: Mapping[str, float]) -> float:
    """What a session is worth on average under a setting that does not learn."""
    total = 0.0
    for met in given:
        place = 0
        for lesson, number in met:
            if place >= setting[BUDGET]:
                break
            if lesson.confidence >= setting[CONFIDENCE] and lesson.similarity >= setting[SIMILARITY]:
                total += statistics.WORTH[outcome(lesson, place, user, number)]
                place += 1
    return total / len(given)


def best(user: User, given: list[list[tuple[Lesson, float]]]) -> tuple[dict[str, float], float]:
    """The best fixed setting for these sessions, found by going round the parameters until none can be bettered."""
    steps = {
        name: [one.low + n * (one.high - one.low) / (19 if one.whole else 18) for n in range(20 if one.whole else 19)]
        for name, one in ((name, DEFINITIONS[name]) for name in NAMES)
    }
    setting = {name: DEFINITIONS[name].start for name in NAMES}
    reached = fixed(user, given, setting)
    while True:
        before = reached
        for name in NAMES:
            reached, setting[name] = max((fixed(user, given, setting | {name: value}), value) for value in steps[name])
        if reached <= before:
            return setting, reached


@dataclass(frozen=True, slots=True)
class Verdict:
    """How learning did for one user, next to the best fixed setting and to the one that we ship."""

    user: User
    best: Mapping[str, float]
    best_worth: float
    shipped_worth: float
    late_worth: float
    values: Mapping[str, float]
    runs: tuple[Run, ...]

    @property
    def regret(self) -> float:
        """What is lost in the last third of the sessions, as a share of what the best fixed setting is worth."""
        return 1 - self.late_worth / self.best_worth


def judge(user: User, count: int, runs: int) -> Verdict:
    """Learn in several runs, and look at the last third of each."""
    late = slice(2 * count // 3, count)
    given = [one for seed in range(runs) for one in sessions(user, count, seed)[late]]
    setting, worth = best(user, given)
    several = tuple(learn(user, count, seed) for seed in range(runs))
    return Verdict(
        user,
        setting,
        worth,
        fixed(user, given, {name: DEFINITIONS[name].start for name in NAMES}),
        fmean(fmean(run.worth[late]) for run in several),
        {name: fmean(run.values[name][-1] for run in several) for name in NAMES},
        several,
    )


def plot(verdicts: list[Verdict], folder: Path) -> list[Path]:
    """Draw the way of each parameter, one picture a parameter; needs the dependency group `bench`."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    made = []
    for name in NAMES:
        figure, axes = plt.subplots(figsize=(6, 3), dpi=80)
        for number, one in enumerate(verdicts):
            ways = [run.values[name] for run in one.runs]
            way = [fmean(step) for step in zip(*ways, strict=True)]
            axes.plot(range(1, len(way) + 1), way, color=f"C{number}", label=one.user.name)
            axes.axhline(one.best[name], color=f"C{number}", linestyle=":", linewidth=1)
        axes.set_xscale("log")
        axes.set_xlabel("session")
        axes.set_title(f"{name} (dotted: best fixed setting)", fontsize=9)
        axes.legend(fontsize=7)
        figure.tight_layout()
        made.append(folder / f"{name}.png")
        figure.savefig(made[-1], metadata={"Software": None})
        plt.close(figure)
    return made
