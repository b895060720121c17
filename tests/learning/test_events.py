"""Lines of event logs: what is written is read back, and nothing that is read does harm."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.learning.statistics import LINE_BYTES, NOTE_LENGTH, Event, line_of, read_line, read_lines
from ai_lessons.model.entries import ulid
from learning.events_world import ENTRIES, IDS, TIMES, turns, uses

EVENT = Event(IDS[0], TIMES[0], "helpful", ENTRIES[0], edge={})
GOOD = line_of(EVENT)

odd = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def changed(**keys: object) -> bytes:
    """The good line with other values; None takes a key away."""
    said = json.loads(GOOD) | keys
    return json.dumps({key: value for key, value in said.items() if value is not None}).encode() + b"\n"


@given(st.lists(uses | turns))
def test_every_line_that_we_write_is_read_back(events: list[Event]) -> None:
    read, damaged = read_lines(b"".join(map(line_of, events)))
    assert damaged == 0
    assert [event[:5] for event in read] == [event[:5] for event in events]


@given(uses | turns)
def test_a_line_keeps_all_that_was_said(event: Event) -> None:
    read = read_line(line_of(event).decode())
    assert read is not None
    assert read._replace(edge={}) == event._replace(edge={})
    assert read.edge == pytest.approx(event.edge, abs=1e-6)


@given(st.binary(max_size=300))
def test_no_bytes_are_too_odd_to_read(data: bytes) -> None:
    events, damaged = read_lines(data)
    assert len(events) + damaged <= data.count(b"\n") + 1
    assert EVENT in read_lines(data + b"\n" + GOOD)[0]


@given(odd)
def test_no_json_is_too_odd_to_read(value: object) -> None:
    for line in (json.dumps(value), json.dumps({**json.loads(GOOD), "note": value}), json.dumps({"id": value})):
        events, damaged = read_lines(line.encode())
        assert len(events) + damaged <= 1


@pytest.mark.parametrize(
    "line",
    [
        b"{", b"[]\n", b'"text"\n', GOOD[:40], GOOD.rstrip() + b" " * LINE_BYTES + b"\n", b"[" * 3000 + b"\n",
        changed(id="01JD3Z8QK5W7M2X9V4T68F3K2U"), changed(id="81JD3Z8QK5W7M2X9V4T68F3K2A"), changed(id=None),
        changed(at="2026-13-01T00:00:00Z"), changed(at="yesterday"), changed(entry="../../etc/passwd"),
        changed(entry=7), changed(event="HELPFUL"), changed(session=["s"]), changed(note={"a": 1}),
        changed(value=True), changed(value=1e300), changed(edge={"injection_budget": "all"}),
        GOOD.replace(b"}", b',"value":NaN}'), GOOD.replace(b"}", b',"value":1e999}'),
    ],
)  # fmt: skip
def test_a_damaged_or_hostile_line_is_counted_and_left_out(line: bytes) -> None:
    assert read_lines(GOOD + line) == ([EVENT], 1)


def test_a_word_of_a_newer_program_is_not_damage() -> None:
    assert read_lines(changed(event="applauded") + GOOD)[1] == 0


def test_other_keys_order_and_spaces_make_no_difference() -> None:
    said = json.loads(GOOD) | {"mood": "good"}
    turned = json.dumps(dict(reversed(said.items()))).encode()
    assert read_lines(b"\n \r\n" + turned) == ([EVENT], 0)


def test_a_long_note_is_cut_so_that_its_line_can_be_read() -> None:
    line = line_of(Event(IDS[0], TIMES[0], "helpful", ENTRIES[0], session="s" * 900, note="\u2603" * 9000))
    read = read_line(line.decode())
    assert read is not None
    assert len(read.note) == NOTE_LENGTH
    assert read_lines(line)[1] == 0


def test_ids_sort_by_time_and_are_ulids() -> None:
    early, late = ulid(1_700_000_000_000, b"\xff" * 10), ulid(1_700_000_000_001, b"\0" * 10)
    assert early < late
    assert early == "01HF7YAT00ZZZZZZZZZZZZZZZZ"
    assert ulid(0, b"\0" * 10) == "0" * 26
