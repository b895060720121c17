"""Writes and reads the lines of event logs. Pure; reading never raises.

A line is one JSON object: `id` (a ULID), `at` (ISO 8601 in UTC), `event` (a word), `entry` (the id of what it is about,
or the name of a parameter), and where set `session`, `edge`, `value`, `weight`, `note`. A
line that is damaged, too long or not of this form is counted and left out; one with an unknown word quietly.
"""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

INJECTED, LEFT_OUT = "injected", "left_out"
HELPFUL, IGNORED, CONTRADICTED = "helpful", "ignored", "contradicted"
SCRIPT_OK, SCRIPT_FAILED = "script_ok", "script_failed"
WRONG, RESTORED = "wrong", "restored"
FOLLOWED, WORKED, RECURRED = "followed", "worked", "recurred"  # Seen in a session, not stated by a person
HELD, PASSED = "held", "passed"  # The command that a lesson says will fail did fail, or worked
OBSERVED, BOUNDS, RESET = "observed", "bounds", "reset"

OUTCOMES = (HELPFUL, IGNORED, CONTRADICTED)  # What a person or an agent can state of an entry that was shown
USES = (
    INJECTED, HELPFUL, IGNORED, CONTRADICTED, SCRIPT_OK, SCRIPT_FAILED, WRONG, RESTORED, LEFT_OUT,
    FOLLOWED, WORKED, RECURRED, HELD, PASSED,
)  # fmt: skip
"""Words about an entry. Their order is that of `Tallies`."""

TURNS = (OBSERVED, BOUNDS, RESET)  # Words about a parameter: these are folded in the order of their ids
LINE_BYTES = 4096  # Longer lines are not read, and not written: a note is cut
LARGEST = 1e9  # No number of ours is larger
NOTE_LENGTH = 500
SESSION_LENGTH = 64

Row = tuple[str, str, str, str, str]  # A use as caches take it: id, at, event, entry, session (empty for none)
_ULID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_AT = r"20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"
_NUMBER = r"-?\d{1,9}(?:\.\d{1,9})?"
_EDGE = rf'(?:,"edge":\{{"[a-z_]{{1,40}}":{_NUMBER}(?:,"[a-z_]{{1,40}}":{_NUMBER}){{0,4}}\}})?'
_PLAIN = re.compile(
    rf'^\{{"id":"({_ULID})","at":"({_AT})","event":"({"|".join(USES)})","entry":"({_ULID})"'
    rf'(?:,"session":"([\w.:@/+-]{{1,{SESSION_LENGTH}}})")?{_EDGE}\}}$',
    re.ASCII | re.MULTILINE,
)  # A use exactly as `line_of` writes it: a million of these take half a second, as JSON six times as long
_IS_ULID = re.compile(_ULID)
_IS_AT = re.compile(_AT, re.ASCII)
_IS_WORD = re.compile("[a-z_]{1,40}")
_NOT_IN_SESSION = re.compile(r"[^\w.:@/+-]+", re.ASCII)
_USES, _TURNS = frozenset(USES), frozenset(TURNS)


class Event(NamedTuple):
    """One event.

    `edge` of an injected lesson: where the parameters stood (0 to 1) at whose limit it was. `value` is the outcome of
    an observation (0 to 1) or the lower bound, `weight` that of the observation or the upper bound.
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


class Read(NamedTuple):
    """What some bytes of a log hold: uses as rows, and how many lines were left out as damaged.

    `turns` are events about parameters: id and line, in the one form that `line_of` gives them.
    """

    rows: list[Row]
    turns: list[tuple[str, str]]
    damaged: int


def line_of(event: Event) -> bytes:
    """The line, line end included, in a form that this module reads back as the same event; long texts are cut."""
    fields: dict[str, Any] = {"id": event.id, "at": event.at, "event": event.event, "entry": event.entry}
    if session := clean_session(event.session):
        fields["session"] = session
    if event.edge:
        fields["edge"] = {name: round(at, 6) for name, at in sorted(event.edge.items())}
    if event.value is not None:
        fields["value"] = event.value
    if event.weight is not None:
        fields["weight"] = event.weight
    if event.note:
        fields["note"] = event.note[:NOTE_LENGTH]
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def clean_session(name: str) -> str:
    """The name of a session as a log may hold it: letters, digits and a few signs."""
    return _NOT_IN_SESSION.sub("_", name)[:SESSION_LENGTH]


def read_lines(data: bytes) -> Read:
    """The events of whole lines of a log, in their order; the end of `data` counts as a line end."""
    text = data.decode("utf-8", "replace")
    rows: list[Row] = _PLAIN.findall(text)
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    if len(rows) == lines:
        return Read(rows, [], 0)
    turns: list[tuple[str, str]] = []
    damaged = 0
    for line in text.split("\n"):
        if not line.strip() or _PLAIN.fullmatch(line):
            continue
        event = read_line(line)
        if event is None:
            damaged += 1
        elif event.event in _TURNS:
            turns.append((event.id, line_of(event).decode()))
        elif event.event in _USES:
            rows.append((event.id, event.at, event.event, event.entry, event.session))
    return Read(rows, turns, damaged)


def read_line(line: str) -> Event | None:
    """The event that one line states; None if it states none."""
    if len(line) > LINE_BYTES:
        return None
    try:
        fields = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    entry_id, at, word, entry = (fields.get(key) for key in ("id", "at", "event", "entry"))
    if not (_is(_IS_ULID, entry_id) and _is(_IS_AT, at) and _is(_IS_WORD, word) and isinstance(entry, str)):
        return None
    if not (_IS_WORD if word in _TURNS else _IS_ULID).fullmatch(entry):
        return None
    session, note, edge = fields.get("session", ""), fields.get("note", ""), fields.get("edge", {})
    value, weight = fields.get("value"), fields.get("weight")
    if not (isinstance(session, str) and isinstance(note, str) and isinstance(edge, dict)):
        return None
    if not all(number is None or _is_number(number) for number in (value, weight)):
        return None
    if not all(_is(_IS_WORD, name) and _is_number(position) for name, position in edge.items()):
        return None
    return Event(str(entry_id), str(at), str(word), entry, clean_session(session), edge, value, weight, note)


def _refuse(name: str) -> float:
    raise ValueError(name)


def _is(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
