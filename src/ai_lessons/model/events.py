"""What happened to entries, an event a line of a log: the words, and how a line is written and read.

Pure.
"""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    # Characters of a note, so that its line stays below `line_bytes`
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
