"""What another tool counted of lessons and parameters.

Kept as it came, beside the events of here, and handed on.

Each is one event `counted` of the log, which no sum takes in: it says what stood elsewhere, not
what happened here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.model.entries import stated_id
from ai_lessons.model.events import COUNTED, Event, read_line
from ai_lessons.model.tallies import Counted

if TYPE_CHECKING:
    from ai_lessons.app.events import Events

# Characters of a ULID that say when; what stands later in a log is later
_TIME = 10
_MARK = f'"event":"{COUNTED}"'.encode()


def events(log: Events) -> dict[str, Event]:
    """The newest of each entry and parameter, by id and name."""
    newest: dict[str, Event] = {}
    for file in log.log.files():
        data = file.read()
        if _MARK not in data:
            # a log may hold a million lines
            continue
        for row in data.split(b"\n"):
            event = None
            if _MARK in row:
                event = read_line(row.decode("utf-8", "replace"))
            if event is None or event.event != COUNTED:
                continue
            before = newest.get(event.entry)
            if before is None or before.id[:_TIME] <= event.id[:_TIME]:
                newest[event.entry] = event
    return newest


def of_entries(log: Events) -> dict[str, Counted]:
    """What was counted of entries, by their ids."""
    entries: dict[str, Counted] = {}
    for name, event in events(log).items():
        # a parameter has a name, and no id
        if stated_id(name) is not None:
            entries[name] = Counted.of(event)
    return entries


def of_parameters(log: Events) -> dict[str, str]:
    """Where another tool left each parameter, in words."""
    words = {}
    for name, event in events(log).items():
        if stated_id(name) is None:
            value, seen = event.edge.get("value", 0), event.edge.get("observations", 0)
            words[name] = f"{value:g} after {seen:g} outcomes"
    return words
