"""What happened to entries elsewhere, as events of this repository: each once, however often it is imported."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.knowledge.portable.bundle import EPOCH, moment
from ai_lessons.learning import events
from ai_lessons.learning.fold import DEFINITIONS
from ai_lessons.library.secrets import secret_scan
from ai_lessons.repository.events import PART_BYTES, EventLog

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ai_lessons.knowledge.portable.bundle import Bundle, Moved
    from ai_lessons.learning.events import Event
    from ai_lessons.library.session import Parts

MOST = 1000
"""Events of one word that are made from the counts of one entry: more of the same hardly moves a confidence."""

_ID = re.compile(rb'"id": ?"([0-7][0-9A-HJKMNP-TV-Z]{25})"')


class Came(NamedTuple):
    """How many events and parameters came in."""

    events: int = 0
    params: int = 0
    notes: tuple[str, ...] = ()


def gather(parts: Parts, entries: AbstractSet[str]) -> list[Event]:
    """Every event about these entries and about parameters, in the order of their ids; each once.

    Lines that say different things under one id are left out, as they are where events are folded.
    """
    found: dict[str, Event] = {}
    void: set[str] = set()
    for file in _log(parts).files():
        for line in file.read().decode("utf-8", "replace").split("\n"):
            one = events.read_line(line) if line else None
            wanted = one and (one.entry in entries or one.event in events.TURNS)
            if one and wanted and found.setdefault(one.id, one) != one:
                void.add(one.id)
    return [found[name] for name in sorted(found.keys() - void)]


def as_data(event: Event) -> dict[str, Any]:
    """An event as its line has it."""
    said: dict[str, Any] = json.loads(events.line_of(event))
    return said


def bring_events(parts: Parts, bundle: Bundle, arrived: AbstractSet[str], *, dry_run: bool) -> Came:
    """Write down the events of a bundle that are not here yet. Counts become events only for entries that are new."""
    known = arrived | {place.id for place in parts.catalog.locations()}
    wanted = [one for one in map(_read, bundle.events) if one and (one.entry in known or one.entry in DEFINITIONS)]
    for entry, tallies in bundle.tallies.items():
        wanted += _of_tallies(entry, tallies) if entry in arrived else ()
    params = parts.usages.parameters() if bundle.moved else {}
    moved = [one for one in bundle.moved if one.name in params and not params[one.name].updated_at and one.observations]
    for one in moved:
        wanted += _of_parameter(one)
    there = {name.decode() for file in _log(parts).files() for name in _ID.findall(file.read())} if wanted else set()
    new = {one.id: one for one in wanted if one.id not in there}
    if not new:
        return Came()
    turned = {one.entry for one in new.values() if one.event in events.TURNS}
    came = Came(len(new), len(turned))
    if dry_run:
        return came
    if not parts.usages.recording:
        return Came(notes=("this repository records no events, so none were taken over",))
    _append(_log(parts), sorted(new.values()))
    return came


def _log(parts: Parts) -> EventLog:
    return EventLog(parts.store.root, parts.store.state_dir)


def _read(said: Mapping[str, Any]) -> Event | None:
    one = events.read_line(json.dumps(said))
    if one is None or one.event not in {*events.USES, *events.TURNS}:
        return None
    return one._replace(note="") if one.note and secret_scan.secrets_in(one.note) else one


def _append(log: EventLog, new: Sequence[Event]) -> None:
    """By months, in pieces of which none is larger than a part of a log."""
    for month in sorted({one.at[:7] for one in new}):
        piece: list[bytes] = []
        size = 0
        for line in (events.line_of(one) for one in new if one.at[:7] == month):
            if size + len(line) > PART_BYTES:
                log.append(piece, month)
                piece, size = [], 0
            piece.append(line)
            size += len(line)
        log.append(piece, month)


def _of_tallies(entry: str, tallies: Mapping[str, Any]) -> Iterator[Event]:
    at = _moment(tallies.get("last_used"))
    for word in (events.INJECTED, *events.OUTCOMES):
        for number in range(min(int(tallies.get(word, 0)), MOST)):
            yield events.Event(_made(at, entry, word, number), at, word, entry)


def _of_parameter(moved: Moved) -> Iterator[Event]:
    """Start where the other tool stood, with as many observations: then it is as hard to move as it was there."""
    about, at = DEFINITIONS[moved.name], _moment(moved.at)
    ids = sorted(_made(at, moved.name, number) for number in range(min(moved.observations, MOST) + 1))
    value = about.low + moved.position * (about.high - about.low)
    yield events.Event(ids[0], at, events.RESET, moved.name, value=round(value, 9))
    for name in ids[1:]:
        yield events.Event(name, at, events.OBSERVED, moved.name, value=round(moved.position, 9), weight=1.0)


def _moment(said: object) -> str:
    """A time as events have it: of this century."""
    at = str(said or EPOCH)
    return at if at.startswith("20") and moment(at) else "2000-01-01T00:00:00Z"


def _made(at: str, *said: object) -> str:
    """The id of an event that was made from a count: the same wherever it is made."""
    found = moment(at)
    milliseconds = int(found.timestamp() * 1000) if found else 0
    return events.event_id(milliseconds, sha256(json.dumps(said).encode()).digest()[:10])
