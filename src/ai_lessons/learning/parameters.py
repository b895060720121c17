"""Parameters of a whole repository that learn from outcomes: a Beta distribution each, updated and sampled. Pure.

The distribution is that of the *position* of the best setting between the two ends of the parameter's range (0 to 1);
what is used is a sample of it (Thompson, Biometrika 25, 1933), turned into the range's own unit and kept inside the
bounds that somebody set. The update is that of the specification: an outcome from 0 to 1 with a weight, of which the
share 1 / (1 + uncertainty) counts.

An outcome of a lesson says on which side of the setting the best one lies, where that lesson came through only just: a
helpful one asks to let more through, another one to let less through. The outcome that is observed is therefore the
position that was used, moved by the same reach either way, with what the lesson was worth as weight; it comes to rest
where the lessons that come through only just are worth nothing on average, which is where the sum of all is largest
(Robbins and Monro, Annals of Mathematical Statistics 22, 1951).
"""

from __future__ import annotations

import json
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.learning.events import BOUNDS, OBSERVED, RESET, Event
from ai_lessons.learning.folding import WORTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Draw = Callable[[float, float], float]
    """A sample of the Beta distribution of these two parameters: `random.Random(seed).betavariate`."""

BUDGET = "injection_budget"
CONFIDENCE = "confidence_threshold"
SIMILARITY = "semantic_similarity_threshold"
ASSESSMENT = "assessment_sample_rate"
ABLATION = "ablation_frequency"

SETTING_STRENGTH = 4.0
"""alpha + beta before anything was observed: the setting that we ship counts as much as four outcomes."""

REACH = 0.25
"""How far an outcome is from the position that was used, at most."""

HEAVIEST = 10.0
"""No observation weighs more, whatever a log says."""


class Definition(NamedTuple):
    """What a parameter is: the ends of its range, where it starts; `opens`: a higher one lets more lessons through."""

    help: str
    low: float
    high: float
    start: float
    opens: bool = False
    whole: bool = False


DEFINITIONS: Mapping[str, Definition] = {
    BUDGET: Definition("lessons and rules that one context may bring", 1, 20, 10, opens=True, whole=True),
    CONFIDENCE: Definition("least confidence of a lesson that comes unasked", 0, 0.9, 0.2),
    SIMILARITY: Definition("least similarity to the words of the question", 0, 0.9, 0.3),
    ASSESSMENT: Definition("share of sessions that are asked how lessons did", 0, 1, 0.3),
    ABLATION: Definition("how often a lesson is left out on purpose, to measure it", 0, 0.2, 0.02),
}


class ParameterState(NamedTuple):
    """One parameter as it stands. `value`, `low` and `high` are in its own unit; `alpha` and `beta` of its position."""

    name: str
    alpha: float
    beta: float
    uncertainty: float = 1.0
    observations: int = 0
    low: float = 0.0
    high: float = 1.0
    updated_at: str = ""

    @property
    def position(self) -> float:
        """The mean of the distribution: 0 at the low end of the range, 1 at the high one."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def value(self) -> float:
        """What it stands at."""
        return self.at(self.position)

    def at(self, position: float) -> float:
        """A position in the parameter's own unit, inside the bounds that are set."""
        about = DEFINITIONS[self.name]
        found = about.low + position * (about.high - about.low)
        return min(max(float(round(found)) if about.whole else found, self.low), self.high)

    def update(self, outcome: float, weight: float = 1.0, at: str = "") -> ParameterState:
        """With one more outcome (0 to 1)."""
        counts = weight / (1.0 + self.uncertainty)
        seen = self.observations + 1
        return self._replace(
            alpha=self.alpha + outcome * counts,
            beta=self.beta + (1.0 - outcome) * counts,
            observations=seen,
            uncertainty=1.0 / (1.0 + sqrt(seen)),
            updated_at=at,
        )

    def sample(self, draw: Draw) -> float:
        """A position to try: a sample of the distribution; before anything was observed, its mean.

        (Nobody who never says how things did shall get other answers to the same question.)
        """
        return draw(self.alpha, self.beta) if self.observations else self.position


def initial(name: str, start: float | None = None) -> ParameterState:
    """A parameter of which nothing was observed, at `start` or where we ship it."""
    about = DEFINITIONS[name]
    wanted = min(max(about.start if start is None else start, about.low), about.high)
    # never quite at an end, where the distribution has no width
    position = min(max((wanted - about.low) / (about.high - about.low), 0.01), 0.99)
    return ParameterState(
        name, SETTING_STRENGTH * position, SETTING_STRENGTH * (1 - position), low=about.low, high=about.high
    )


def fold_parameters(
    happened: Iterable[Event], before: Mapping[str, ParameterState] = MappingProxyType({})
) -> dict[str, ParameterState]:
    """Every parameter after these events, which come in the order of their ids. Nonsense in them changes nothing.

    `before`: what earlier events came to.
    """
    state = {name: before.get(name) or initial(name) for name in DEFINITIONS}
    for event in happened:
        if event.entry in state:
            state[event.entry] = _turned(state[event.entry], event)
    return state


def dumped(state: Mapping[str, ParameterState]) -> str:
    """Parameters as text that `loaded` takes."""
    return json.dumps([list(one) for one in state.values()])


def loaded(text: str) -> dict[str, ParameterState]:
    """Parameters from their text; none from none."""
    return {one.name: one for one in map(ParameterState._make, json.loads(text or "[]"))}


def _turned(known: ParameterState, event: Event) -> ParameterState:
    about = DEFINITIONS[known.name]
    if event.event == OBSERVED and event.value is not None:
        weight = 1.0 if event.weight is None else event.weight
        fits = 0 <= event.value <= 1 and 0 <= weight <= HEAVIEST
        return known.update(event.value, weight, event.at) if fits else known
    if event.event == BOUNDS:
        low = about.low if event.value is None else max(event.value, about.low)
        high = about.high if event.weight is None else min(event.weight, about.high)
        return known._replace(low=low, high=high, updated_at=event.at) if low <= high else known
    if event.event == RESET:
        fresh = initial(known.name, event.value)._replace(updated_at=event.at)
        return fresh if event.value is None else fresh._replace(low=known.low, high=known.high)
    return known


def learned(outcome: str, edge: Mapping[str, float]) -> list[Event]:
    """What an outcome of a lesson says about the parameters at whose edge it was; their positions are in `edge`."""
    worth = WORTH[outcome]
    said = []
    for name, position in edge.items():
        if name in DEFINITIONS and 0 <= position <= 1:
            up = (worth > 0) == DEFINITIONS[name].opens
            reach = min(position, 1 - position, REACH)
            aim = position + reach if up else position - reach
            said.append(Event("", "", OBSERVED, name, value=round(aim, 6), weight=abs(worth)))
    return said


def curiosity(known: int) -> float:
    """How much there is to learn from one more trial, after so many: 1 before the first, then less and less.

    The uncertainty of the specification, as an outcome for how often to ask and how often to leave out.
    """
    return 1.0 / (1.0 + sqrt(known))
