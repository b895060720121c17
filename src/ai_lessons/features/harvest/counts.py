"""What a lesson about a command rests on, its key `seen`: how often that was called and failed."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model.entries import Kind
from ai_lessons.model.texts import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.app.workspace import Reading
    from ai_lessons.model.entries import Entry

KEY = "seen"
# the name of this feature, by which the catalog keeps its facts
NAME = "harvest"
# Share of the calls that fail, above which the lesson is told before the command: it fails more
# often than not
BAR = 0.5
# Sessions in which a form failed before it is a pattern: one session may have its own fault
LEAST_SESSIONS = 2
# Calls of each outcome that count as seen before the first: Beta(1/2, 1/2), after Jeffreys
_PRIOR = 0.5
# No count is larger
_LARGEST = 10**9


class CallCounts(NamedTuple):
    """How often a form of a command was called and failed, and in how many sessions it failed."""

    calls: int = 0
    failures: int = 0
    sessions: int = 0

    @property
    def least(self) -> float:
        """The lower end of the 90 % interval of Beta(1/2, 1/2) after this, 0 to 1.

        By its normal approximation.
        """
        failed = _PRIOR + self.failures
        every = 2 * _PRIOR + self.calls
        mean = failed / every
        deviation = sqrt(mean * (1 - mean) / (every + 1))
        # 1.64 standard deviations below a mean: 95 of 100 lie above
        return mean - 1.64 * deviation

    def chance(self, failed: int = 0, passed: int = 0) -> float:
        """The mean of Beta(1/2, 1/2) after this and what happened since.

        That the next call fails, 0 to 1.
        """
        weight = 0.0
        if self.calls:
            # What was seen before a lesson was kept counts as at most so many calls: machines
            # change
            weight = min(1.0, 12.0 / self.calls)
        bad = _PRIOR + weight * self.failures + failed
        every = 2 * _PRIOR + weight * self.calls + failed + passed
        return bad / every


def of_entry(entry: Entry) -> Mapping[str, int]:
    """The counts of a lesson, as the catalog keeps them; nothing of what are none."""
    stated = entry.fields[KEY]
    if entry.kind is not Kind.LESSON or not isinstance(stated, dict):
        return {}
    counts = {}
    for name in CallCounts._fields:
        count = stated.get(name)
        if type(count) is not int or not 0 <= count < _LARGEST:
            return {}
        counts[name] = count
    return counts


def counts_by_entry(reading: Reading) -> dict[str, CallCounts]:
    """The counts of the lessons that state any, by id. The catalog is up to date.

    All are 0 where nobody vouches for the lesson.
    """
    counts = {}
    for entry_id, facts in reading.catalog.facts(NAME).items():
        counts[entry_id] = CallCounts(**facts)
    return counts


def problems(entry: Entry) -> Iterator[tuple[str, str]]:
    """What is wrong with the counts of a lesson."""
    fault = _fault(entry.fields[KEY])
    if fault and _states_it(entry):
        yield KEY, fault


def _states_it(entry: Entry) -> bool:
    """Whether the key means what it means here: a page of another program may have its own."""
    if entry.kind is not Kind.LESSON or entry.faults:
        return False
    ours = entry.fields.get(OURS)
    if isinstance(ours, dict):
        return KEY in ours
    return not entry.derived or entry.fields.get("kind") is not None


def _fault(stated: object) -> str:
    """What is wrong with a value of the key; empty for nothing."""
    if stated is None:
        return ""
    if not isinstance(stated, dict) or stated.keys() != set(CallCounts._fields):
        names = ", ".join(f"`{name}:`" for name in CallCounts._fields)
        return f"seen is not {names}, one a line"
    for value in stated.values():
        if not isinstance(value, int) or not 0 <= value < _LARGEST:
            return "seen holds what is no count"
    if stated["failures"] > stated["calls"]:
        return "seen has more failures than calls"
    return ""
