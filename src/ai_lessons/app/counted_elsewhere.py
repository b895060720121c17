"""What another tool counted of lessons and parameters.

Kept as it came, beside the events of here, and handed on.

Each is one event `counted` of the log, which no sum takes in: it says what stood elsewhere, not
what happened here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.learning import statistics
from ai_lessons.learning.statistics import COUNTED, Counted, Event

if TYPE_CHECKING:
    from ai_lessons.app.usage import Usages

# Characters of a ULID that say when; what stands later in a log is later
_TIME = 10
_MARK = f'"event":"{COUNTED}"'.encode()


def events(usages: Usages) -> dict[str, Event]:
    """The newest of each entry and parameter, by id and name."""
    newest: dict[str, Event] = {}
    for file in usages.log.files():
        data = file.read()
        if _MARK not in data:
            # a log may hold a million lines
            continue
        rows = (row for row in data.split(b"\n") if _MARK in row)
        for event in filter(
            None, (statistics.read_line(row.decode("utf-8", "replace")) for row in rows)
        ):
            before = newest.get(event.entry)
            if event.event == COUNTED and (before is None or before.id[:_TIME] <= event.id[:_TIME]):
                newest[event.entry] = event
    return newest


def of_entries(usages: Usages) -> dict[str, Counted]:
    """What was counted of entries, by their ids."""
    every = events(usages)
    entries: dict[str, Counted] = {}
    for name, event in every.items():
        if name not in statistics.DEFINITIONS:
            entries[name] = Counted.of(event)
    return entries


def of_parameters(usages: Usages) -> dict[str, str]:
    """Where another tool left each parameter, in words."""
    rows = {}
    for name, event in events(usages).items():
        if name in statistics.DEFINITIONS:
            rows[name] = event.edge
    return {
        name: f"{row.get('value', 0):g} after {row.get('observations', 0):g} outcomes"
        for name, row in rows.items()
    }
