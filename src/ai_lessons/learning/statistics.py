"""Events and what they add up to: one line of a log, confidence of entries, adaptive parameters.

Pure.
"""

from __future__ import annotations

import json
import re
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.entries import json_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Draw = Callable[[float, float], float]
    """A sample of the Beta distribution of these two parameters.

    `random.Random(seed).betavariate`.
    """

INJECTED, LEFT_OUT = "injected", "left_out"
HELPFUL, IGNORED, CONTRADICTED = "helpful", "ignored", "contradicted"
SCRIPT_OK, SCRIPT_FAILED = "script_ok", "script_failed"
WRONG, RESTORED = "wrong", "restored"
# Seen in a session, not stated by a person
FOLLOWED, RECURRED = "followed", "recurred"
# The command that a lesson says will fail did fail, or worked
HELD, PASSED = "held", "passed"
# A prompt, an edit or a command of a session was about it, by its words
NEEDED = "needed"
# The start of a session told a rule with a check, or an instruction file of the host has it
TOLD = "told"
IN_SCOPE, BROKEN, STOPPED, ALLOWED = "in_scope", "broken", "stopped", "allowed"
"""What a check saw in a session, each once a session and rule.

Something that the rule is about; a breach of it; a breach at which the host was to ask, refuse or
hold the end; and what would be a breach, had a person not allowed it.
"""

OBSERVED, RESET = "observed", "reset"
# What another tool counted, which came with an import: no sum takes it in
COUNTED = "counted"

# What a person or an agent can state of an entry that was shown
OUTCOMES = (HELPFUL, IGNORED, CONTRADICTED)
USES = (
    INJECTED, HELPFUL, IGNORED, CONTRADICTED, SCRIPT_OK, SCRIPT_FAILED, WRONG, RESTORED, LEFT_OUT,
    FOLLOWED, RECURRED, HELD, PASSED, NEEDED, TOLD, IN_SCOPE, BROKEN, STOPPED, ALLOWED,
)  # fmt: skip
"""Words about an entry. Their order is that of `Tallies`."""

# Words of older logs: that a prompt was like an entry says only that it was needed
_FORMER = {"unheeded": NEEDED}

# Words about a parameter: these are folded in the order of their ids
TURNS = (OBSERVED, RESET)


class EventLimits(NamedTuple):
    """Sizes of an event as it is written down, in bytes or characters."""

    # Longer lines are not read, and not written: a note is cut
    line_bytes: int = 4096
    # Characters of a note, so that its line stays below LINE_BYTES
    note_length: int = 500
    # Characters of the name of a session; hosts use UUIDs
    session_length: int = 64


EVENT = EventLimits()

SPEAKS_FOR = (HELPFUL, FOLLOWED, HELD)
# Before the session of an event that an import brought
IMPORTED = "import/"

_ULID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_AT = r"20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"
_NUMBER = r"-?\d{1,9}(?:\.\d{1,9})?"
_EDGE = rf'(?:,"edge":\{{"[a-z_]{{1,40}}":{_NUMBER}(?:,"[a-z_]{{1,40}}":{_NUMBER}){{0,4}}\}})?'
# A use exactly as `line_of` writes it: read as JSON, a million of these take 9 seconds
_PLAIN = expression(
    rf'\{{"id":"({_ULID})","at":"({_AT})","event":"({"|".join(USES)})","entry":"({_ULID})"'
    rf'(?:,"session":"([\w.:@/+-]{{1,{EVENT.session_length}}})")?{_EDGE}\}}',
    re.ASCII,
)
_IS_ULID = expression(_ULID)
_IS_AT = expression(_AT, re.ASCII)
_IS_WORD = expression("[a-z_]{1,40}")
_NOT_IN_SESSION = expression(r"[^\w.:@/+-]+", re.ASCII)


class Event(NamedTuple):
    """One event.

    `edge` of an injected lesson: where the parameters stood (0 to 1) at whose limit it was. `value`
    is the outcome of an observation (0 to 1), `weight` its weight.
    """

    id: str
    at: str
    event: str
    entry: str
    session: str = ""
    edge: Mapping[str, float] = MappingProxyType({})
    value: float | None = None
    weight: float | None = None
    note: str = ""


def line_of(event: Event) -> bytes:
    """The line, line end included, in a form that this module reads back as the same event.

    Long texts are cut.
    """
    fields: dict[str, Any] = {
        "id": event.id,
        "at": event.at,
        "event": event.event,
        "entry": event.entry,
    }
    if session := clean_session(event.session):
        fields["session"] = session
    if event.edge:
        fields["edge"] = {name: round(at, 6) for name, at in sorted(event.edge.items())}
    if event.value is not None:
        fields["value"] = event.value
    if event.weight is not None:
        fields["weight"] = event.weight
    if event.note:
        fields["note"] = event.note[: EVENT.note_length]
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def clean_session(name: str) -> str:
    """The name of a session as a log may hold it: letters, digits and a few signs."""
    return _NOT_IN_SESSION.sub("_", name)[: EVENT.session_length]


def read_lines(data: bytes) -> tuple[list[Event], int]:
    """The events of the lines of a log in their order, uses without their edge.

    And how many lines state none.
    """
    lines = [line for line in data.decode("utf-8", "replace").split("\n") if line.strip()]
    events = []
    for line in lines:
        if plain := _PLAIN.fullmatch(line):
            entry_id, at, word, entry, session = plain.groups("")
            events.append(Event(entry_id, at, word, entry, session))
        elif event := read_line(line):
            events.append(event)
    return events, len(lines) - len(events)


def read_line(line: str) -> Event | None:
    """The event that one line states; None if it states none."""
    if len(line) > EVENT.line_bytes:
        return None
    try:
        fields = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    keys: list[Any] = []
    for key in ("id", "at", "event", "entry", "value", "weight"):
        keys.append(fields.get(key))
    entry_id, at, word, entry, value, weight = keys
    if isinstance(word, str):
        word = _FORMER.get(word, word)
    session, note, edge = fields.get("session", ""), fields.get("note", ""), fields.get("edge", {})
    is_event = (
        _is(_IS_ULID, entry_id)
        and _is(_IS_AT, at)
        and _is(_IS_WORD, word)
        and _is_subject(word, entry)
        and isinstance(session, str)
        and isinstance(note, str)
        and isinstance(edge, dict)
        and all(_is(_IS_WORD, name) and _is_number(position) for name, position in edge.items())
        and all(number is None or _is_number(number) for number in (value, weight))
    )
    if is_event:
        return Event(entry_id, at, word, entry, clean_session(session), edge, value, weight, note)
    return None


def _is_subject(word: str, subject: object) -> bool:
    """Whether an event of this word may be about this.

    A parameter by its name, an entry by its id.
    """
    of_parameter = word in TURNS or (word == COUNTED and not _is(_IS_ULID, subject))
    return _is(_IS_WORD if of_parameter else _IS_ULID, subject)


def _refuse(name: str) -> float:
    raise ValueError(name)


def _is(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_number(value: object) -> bool:
    # a pulled log may hold any number: a larger one, or infinity, would spoil every mean
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e9


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


class Tallies(NamedTuple):
    """How often each event happened to one entry.

    `last_used` is ISO 8601 in UTC, empty if it never was used.

    Ignored, contradicted and recurred count since the entry was last restored. `unused`: in how
    many sessions it came here since it last helped, proved right (`held`), was restored or edited.
    `brought`: how many of what speaks for it an import brought. `local`: the counts of this clone;
    None where all are.
    """

    injected: int = 0
    helpful: int = 0
    ignored: int = 0
    contradicted: int = 0
    script_ok: int = 0
    script_failed: int = 0
    wrong: int = 0
    restored: int = 0
    left_out: int = 0
    followed: int = 0
    recurred: int = 0
    held: int = 0
    passed: int = 0
    needed: int = 0
    told: int = 0
    in_scope: int = 0
    broken: int = 0
    stopped: int = 0
    allowed: int = 0
    last_used: str = ""
    unused: int = 0
    brought: int = 0
    local: Tallies | None = None

    @property
    def outcomes(self) -> int:
        """How often a person or agent stated an outcome."""
        return self.helpful + self.ignored + self.contradicted

    @property
    def confirmed(self) -> bool:
        """Whether anything but an import speaks for it."""
        return self.helpful + self.followed + self.held > self.brought


NOTHING = Tallies()
TIMES = (INJECTED, *OUTCOMES)
"""What other tools count of a lesson."""


class Counted(NamedTuple):
    """What another tool counted of a lesson.

    `last_used` is ISO 8601 in UTC, empty if it says none.
    """

    injected: int = 0
    helpful: int = 0
    ignored: int = 0
    contradicted: int = 0
    alpha: float = 0.0
    beta: float = 0.0
    last_used: str = ""

    @classmethod
    def of(cls, event: Event) -> Counted:
        """What an event of the log keeps."""
        injected, helpful, ignored, contradicted = (
            round(event.edge.get(word, 0)) for word in TIMES
        )
        alpha, beta = event.edge.get("alpha", 0.0), event.edge.get("beta", 0.0)
        return cls(injected, helpful, ignored, contradicted, alpha, beta, event.note)

    def event(self, entry: str) -> Event:
        """The event that keeps it in the log."""
        numbers = self._asdict()
        last = numbers.pop("last_used")
        return Event("", "", COUNTED, entry, edge=numbers, note=last)

    def as_json(self) -> dict[str, float | str]:
        """As an export has it."""
        times = {}
        for word in TIMES:
            times[f"times_{word}"] = getattr(self, word)
        priors = {"confidence_alpha": self.alpha, "confidence_beta": self.beta}
        return {**times, **priors, **({"last_used": self.last_used} if self.last_used else {})}


class UsageTally(NamedTuple):
    """How an entry has done.

    `alpha` and `beta` begin with the author's word; a search multiplies with `standing`.

    `elsewhere`: what another tool counted, which is only shown.
    """

    tallies: Tallies
    alpha: float
    beta: float
    standing: float = 1.0
    elsewhere: Counted | None = None

    @property
    def confidence(self) -> float:
        """The mean of its Beta distribution: how sure it is that it helps, 0 to 1."""
        return round(self.alpha / (self.alpha + self.beta), 9)

    def as_json(self) -> dict[str, object]:
        """The counts by what happened, and what was learned from them.

        `last_used` is None before the first time.
        """
        counts = self.tallies
        if self.elsewhere:
            elsewhere = {"imported": self.elsewhere.as_json()}
        else:
            elsewhere = {}
        return elsewhere | {
            "times_injected": counts.injected,
            "times_helpful": counts.helpful,
            "times_ignored": counts.ignored,
            "times_contradicted": counts.contradicted,
            "last_used": counts.last_used or None,
            "alpha": self.alpha,
            "beta": self.beta,
            "confidence": self.confidence,
            "seen_helpful": counts.followed,
            "seen_again": counts.recurred,
        }


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
