import json
import re
import sys
import unicodedata
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.app.outdated import Outdated
from ai_lessons.app.sharing import Conflicts, EntryConflict, Resolved
from ai_lessons.app.written import Suggested, Written
from ai_lessons.errors import InvalidEntry, NotFound, Problem
from ai_lessons.interfaces import output
from ai_lessons.interfaces.output import View, cells, clean, line, table
from ai_lessons.model.entries import EntrySummary, Kind, Stated
from ai_lessons.model.outcomes import NotShown

OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


@given(st.text(alphabet=st.characters()))
def test_nothing_that_a_terminal_would_obey_gets_through(text: str) -> None:
    assert not OBEYED.search(clean(text))
    assert not OBEYED.search(line(text))
    assert "\n" not in line(text)
    clean(text).encode()


@pytest.mark.parametrize(
    ("dangerous", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"), ("abc\rX", "abc\\rX"), ("user\u202ecod.exe", "user\\u202ecod.exe"), ("\r\n\t", "\n\t"),
        ("\U000e0041hidden", "\\U000e0041hidden"), ("pay\u200dpal \u200c", "pay\\u200dpal \\u200c"),
        ("go\ufe00od\ufe0f 1\ufe0f", "go\\ufe00od\\ufe0f 1\\ufe0f"), ("\u1820\u180b\u180f", "\u1820\\u180b\\u180f"),
        ("\u043f\u200d\u0435\u200c\u0442", "\u043f\\u200d\u0435\\u200c\u0442"),
        ("\U0001f600\ufe0f\ufe0e\ufe0f\u200d\u200d", "\U0001f600\ufe0f\\ufe0e\\ufe0f\\u200d\\u200d"),
    ],
)  # fmt: skip
def test_what_a_terminal_would_obey_is_shown_instead(dangerous: str, shown: str) -> None:
    assert clean(dangerous) == shown


IGNORABLE = (  # Default_Ignorable_Code_Point of Unicode, of which Python's tables know nothing
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
DRAWN = {"\u0600", "\u0601", "\u0602", "\u0603", "\u0604", "\u0605", "\u06dd", "\u070f", "\u0890", "\u0891", "\u08e2",
         "\U000110bd", "\U000110cd"}  # fmt: skip


def test_no_character_that_nobody_sees_gets_through_between_words() -> None:
    unseen = {chr(one) for first, last in IGNORABLE for one in range(first, last + 1)}
    unseen |= {
        chr(one)
        for one in range(sys.maxunicode + 1)
        if unicodedata.category(chr(one)) in {"Cf", "Zl", "Zp"}
    }
    told = {
        one
        for one in unseen - DRAWN
        for text in (f"a{one}b", f"日{one}本", f"é{one}")
        if one in line(clean(text))
    }
    assert {f"{ord(one):x}" for one in told} == set()
    assert all(clean(f"a{one}b") == f"a{one}b" for one in DRAWN)


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "Grüße",
        "日本語のメモ",
        "می‌خواهم",
        "क्‍ष",
        "👩‍💻 code",
        "❤️‍🔥 ✔️ ⚠️ ☎︎",
        "1️⃣ #️⃣",
        "🏳️‍🌈",
        "a\tb\nc",
    ],
)
def test_honest_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


def test_a_table_lines_up_whatever_is_in_it() -> None:
    lines = table(
        ("ID", "TITLE", "TAGS"),
        [("L-1", "日本語", "x"), ("L-22", "plain", ""), ("L-3", "e\u0301t\x1b[0m", "y")],
        View(),
    ).split("\n")
    assert lines == [
        "ID    TITLE      TAGS",
        "L-1   日本語     x",
        "L-22  plain      -",
        "L-3   e\u0301t\\x1b[0m  y",
    ]


def test_a_table_is_cut_to_the_terminal_but_never_in_its_first_column() -> None:
    rows = [("L-ABCDEF", "a very long title that will not fit at all", "alpha, beta, gamma, delta")]
    lines = table(("ID", "TITLE", "TAGS"), rows, View(width=50), flexible=(2, 1)).split("\n")
    assert all(cells(text) <= 50 for text in lines)
    assert lines[1].startswith("L-ABCDEF  a very long title that")
    assert "…" in lines[1]


def test_a_date_tells_its_age_on_a_terminal() -> None:
    view = View(now=datetime(2026, 11, 24, 12, tzinfo=UTC))
    ages = {
        "2026-11-24T11:59:30Z": "2026-11-24 (just now)", "2026-11-24T09:00:00+00:00": "2026-11-24 (3 hours ago)",
        "2026-11-23": "2026-11-23 (1 day ago)", "2025-01-01T00:00:00Z": "2025-01-01 (1 year ago)", "no date": "no date",
    }  # fmt: skip
    assert {stamp: view.when(stamp) for stamp in ages} == ages
    assert [View().when(stamp) for stamp in ages] == [*ages]


LESSON = EntrySummary(
    "01J", "L-1", Kind.LESSON, "t", "p", ("a",), (), "p/lessons/x.md", "said", score=0.5, confidence="high",
    status="active", stated=Stated(source="tested", from_="ai"),
)  # fmt: skip


def test_errors_carry_class_message_and_hint() -> None:
    error = output.error(NotFound("entry", "L-9", suggestions=["L-8"]))
    assert error == {"error": "NotFound", "message": "no entry 'L-9'", "hint": "did you mean L-8?"}
    invalid = output.error(InvalidEntry([Problem("a.md", "no title", 2)]))
    assert invalid["problems"] == [
        {"path": "a.md", "line": 2, "message": "no title", "fixable": False}
    ]


def test_what_a_terminal_would_obey_is_escaped_by_json() -> None:
    text = output.dump({"a": "\x1b[2J\u202e\x9b\udcff日"})
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == {"a": "\x1b[2J\u202e\x9b\udcff日"}


class Odd(NamedTuple):
    """A record of all that an answer may hold."""

    kind: Kind
    path: Path
    day: object
    many: tuple[object, ...]
    nothing: None = None


def test_a_record_becomes_its_fields_with_members_of_enums_paths_and_dates_as_text() -> None:
    one = Odd(Kind.RULE, Path("a/b"), date(2026, 11, 22), ({"n": 1, date(2026, 1, 2): True}, 0.5))
    data = output.encode(one)
    assert data == {
        "kind": "rule", "path": "a/b", "day": "2026-11-22", "nothing": None,
        "many": [{"n": 1, "2026-01-02": True}, 0.5],
    }  # fmt: skip
    assert type(data["kind"]) is str
    assert json.loads(output.dump(one)) == data


WRITTEN = Written("01J", "L-1", Kind.LESSON, "t", "p", "c")
WROTE = {"id": "01J", "handle": "L-1", "path": "p", "commit": "c"}
TORN = EntryConflict("L-1", "t", "p", ("why",), "ours", None, "diff", "diff")
CHANGE = Written("01J", "L-1", Kind.LESSON, "t", "p", None, change="added", origin="ai")
LIGHT = output.encode(LESSON)
PROPOSED = Suggested("01R", "R-1", "t", "p", "b", "c")
SAID = {
    "id": "01R", "handle": "R-1", "title": "t", "path": "p", "branch": "b", "commit": "c", "warnings": [],
}  # fmt: skip

SHAPED: list[tuple[Any, Any]] = [
    (PROPOSED, SAID),
    (TORN, {"id": "L-1", "title": "t", "path": "p", "reasons": ["why"], "ours": "ours", "theirs": None}),
    (Resolved("L-1", "p", "ours", ("L-1",), None),
     {"id": "L-1", "path": "p", "take": "ours", "left": ["L-1"], "commit": None, "shared": None, "notes": []}),
    (Conflicts("origin", ()), []),
    (CHANGE, {"id": "01J", "handle": "L-1", "path": "p", "commit": None, "change": "added"}),
    (CHANGE._replace(target="/t", notes=("n",)),
     {"id": "01J", "handle": "L-1", "path": "p", "commit": None, "change": "added", "target": "/t", "notes": ["n"]}),
    (NotShown(LESSON, "harm", "it was"), {**LIGHT, "reason": "harm", "detail": "it was"}),
    (Outdated(LESSON, "asked", "it was"), {**LIGHT, "reason": "asked", "detail": "it was"}),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "data"), SHAPED, ids=lambda value: type(value).__name__)
def test_an_answer_has_its_documented_shape(answer: Any, data: Any) -> None:
    assert output.encode(answer) == data
