"""Parameters that learn: what each is, where it stands, and what an outcome teaches it. Pure."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.learning.confidence import WORTH
from ai_lessons.model.entries import json_fields
from ai_lessons.model.events import OBSERVED, RESET, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    # A sample of the Beta distribution of these two parameters: `random.Random(seed).betavariate`
    Draw = Callable[[float, float], float]

BUDGET = "injection_budget"
CONFIDENCE = "confidence_threshold"
SIMILARITY = "semantic_similarity_threshold"
ASSESSMENT = "assessment_sample_rate"
ABLATION = "ablation_frequency"

# No bench sets it: how soon a parameter comes to rest depends on it, and not where.
# How far an outcome moves the position that was used, at most: it says only which way is better
REACH = 0.25


class Definition(NamedTuple):
    """What a parameter is: the ends of its range, where it starts.

    `opens`: a higher one lets more lessons through.
    """

    help: str
    low: float
    high: float
    start: float
    opens: bool = False
    whole: bool = False


DEFINITIONS: Mapping[str, Definition] = {
    BUDGET: Definition(
        "lessons and rules that one context may bring", 1, 20, 10, opens=True, whole=True
    ),
    CONFIDENCE: Definition("least confidence of a lesson that comes unasked", 0, 0.9, 0.2),
    SIMILARITY: Definition("least similarity to the words of the question", 0, 0.9, 0.3),
    ASSESSMENT: Definition("share of sessions that are asked how lessons did", 0, 1, 0.3),
    ABLATION: Definition("how often a lesson is left out on purpose, to measure it", 0, 0.2, 0.02),
}


@json_fields(
    "name",
    "help",
    "value",
    "uncertainty",
    "observations",
    "alpha",
    "beta",
    "low",
    "high",
    "updated_at",
)
class ParameterState(NamedTuple):
    """One parameter as it stands.

    `value`, `low` and `high` are in its own unit; `alpha` and `beta` of its position.

    `elsewhere`: where another tool left it, in words; it counts for nothing here.
    """

    name: str
    alpha: float
    beta: float
    uncertainty: float = 1.0
    observations: int = 0
    updated_at: str | None = None
    elsewhere: str = ""

    @property
    def help(self) -> str:
        """What it is."""
        return DEFINITIONS[self.name].help

    @property
    def low(self) -> float:
        """The low end of its range."""
        return DEFINITIONS[self.name].low

    @property
    def high(self) -> float:
        """The high end of its range."""
        return DEFINITIONS[self.name].high

    @property
    def position(self) -> float:
        """The mean of the distribution: 0 at the low end of the range, 1 at the high one."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def value(self) -> float:
        """What it stands at."""
        return self.at(self.position)

    def at(self, position: float) -> float:
        """A position in the parameter's own unit."""
        value = self.low + position * (self.high - self.low)
        if DEFINITIONS[self.name].whole:
            return float(round(value))
        return value

    def update(self, outcome: float, weight: float = 1.0, at: str | None = None) -> ParameterState:
        """With one more outcome (0 to 1)."""
        counts = weight / (1.0 + self.uncertainty)
        seen = self.observations + 1
        return self._replace(
            alpha=self.alpha + outcome * counts,
            beta=self.beta + (1.0 - outcome) * counts,
            observations=seen,
            uncertainty=curiosity(seen),
            updated_at=at,
        )

    def sample(self, draw: Draw) -> float:
        """A position to try: a sample of the distribution.

        Its mean as long as there are no observations.
        """
        if self.observations:
            return draw(self.alpha, self.beta)
        return self.position


def initial(name: str) -> ParameterState:
    """A parameter without observations, at our default."""
    definition = DEFINITIONS[name]
    position = (definition.start - definition.low) / (definition.high - definition.low)
    # alpha + beta: the setting that we ship counts as much as four outcomes
    strength = 4.0
    return ParameterState(name, strength * position, strength * (1 - position))


def fold_parameters(happened: Iterable[Event]) -> dict[str, ParameterState]:
    """Every parameter after these events, in the order of their ids. Nonsense changes nothing."""
    states = {}
    for name in DEFINITIONS:
        states[name] = initial(name)
    for event in (event for event in happened if event.entry in states):
        if event.weight is None:
            weight = 1.0
        else:
            weight = event.weight
        if event.event == RESET:
            states[event.entry] = initial(event.entry)._replace(updated_at=event.at)
        # a pulled log may state any weight: more than ten of our own observations is nonsense
        elif (
            event.event == OBSERVED
            and event.value is not None
            and 0 <= event.value <= 1
            and 0 <= weight <= 10.0
        ):
            states[event.entry] = states[event.entry].update(event.value, weight, event.at)
    return states


def learned(outcome: str, edge: Mapping[str, float]) -> list[Event]:
    """The observations of parameters at whose edge a lesson with this outcome was.

    `edge` holds their positions.
    """
    value = WORTH[outcome]
    observations = []
    for name, position in edge.items():
        if name in DEFINITIONS and 0 <= position <= 1:
            reach = min(position, 1 - position, REACH) * (
                1 if (value > 0) == DEFINITIONS[name].opens else -1
            )
            observations.append(
                Event("", "", OBSERVED, name, value=round(position + reach, 6), weight=abs(value))
            )
    return observations


def curiosity(trials: int) -> float:
    """How much one more trial teaches after so many: 1 before the first, then less and less."""
    return 1.0 / (1.0 + sqrt(trials))
