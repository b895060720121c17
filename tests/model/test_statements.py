"""Sentences that say what to do, and the one line of an entry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model import statements
from ai_lessons.model.statements import (
    decision,
    is_heading,
    prescribes,
    reason_in,
    sentences,
    shortened,
)


@pytest.mark.parametrize(
    "sentence",
    [
        "ONLY use uv, NEVER pip",
        "Pin every version",
        "New features need tests",
        "a bare `except Exception` is FORBIDDEN outside the entry point.",
        "Do not mock the database",
        "Don't push to main",
        "`uv run` must be used",
        "Test each branch of it",
        "Niemals auf main pushen",
        "必ずテストを書く",
    ],
)
def test_an_order_prescribes(sentence: str) -> None:
    assert prescribes(sentence)


@pytest.mark.parametrize(
    "text",
    [
        "Code Quality",
        "Testing",
        "Test Coverage",
        "Guide",
        "Note: this is old",
        "This is the shop.",
        "Should it be so?",
    ],
)
def test_a_heading_or_a_plain_statement_prescribes_nothing(text: str) -> None:
    assert not prescribes(text)


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("Never mock, because the mock hid a bug.", "the mock hid a bug."),
        ("Because they drift.", "they drift."),
        ("Since it is slow, run it alone.", "it is slow"),
        ("Since 2024 use uv.", ""),
        ("Use a lock so that two do not write.", "so that two do not write."),
        ("Pass `--frozen` so uv doesn't rewrite it.", "so uv doesn't rewrite it."),
        ("Pin versions, otherwise the build breaks.", "otherwise the build breaks."),
        ("Never use floats — this loses cents.", "this loses cents."),
        ("Use functions — write no classes.", ""),
        ("Unless they say otherwise.", ""),
        ("This keeps diffs small.", "This keeps diffs small."),
        ("Nie mocken, weil es Fehler verdeckt.", "es Fehler verdeckt."),
        ("不要用 pip,因为它很慢", "它很慢"),
        ("Use uv.", ""),
    ],
)
def test_a_reason_is_what_the_sentence_says_of_it(sentence: str, reason: str) -> None:
    assert reason_in(sentence) == reason


def test_sentences_leave_marks_and_code_out() -> None:
    text = "# Guide\n\nNotes for\nagents. Use uv.\n\n- [ ] Pin `x`\n1. Go on\n\n```sh\nNever this\n```\nThe end"
    assert sentences(text) == [
        "Guide",
        "Notes for agents.",
        "Use uv.",
        "Pin `x`",
        "Go on",
        "The end",
    ]


def test_the_line_of_an_entry_is_never_a_mere_heading_where_a_sentence_says_what_to_do() -> None:
    assert decision("Code Quality", "We care.\n\n- Type hints are required for all code") == (
        "Code Quality: Type hints are required for all code"
    )
    assert decision("Never mock the database", "Use a real one.") == "Never mock the database"
    assert decision("History", "It began in 2020.") == "History"


def test_a_long_line_is_cut_at_a_word() -> None:
    line = decision(
        "Session state keeps the full 40-character base commit; only branch names use the short hash",
        "",
    )
    assert line.endswith("…")
    assert len(line) <= statements.STATEMENTS.line
    assert (
        line[:-1]
        in "Session state keeps the full 40-character base commit; only branch names use the short hash"
    )


@given(st.text(), st.text(), st.integers(min_value=10, max_value=200))
def test_any_text_has_a_line_of_its_width(title: str, text: str, width: int) -> None:
    assert len(decision(title, text, width)) <= width
    assert "\n" not in decision(title, text, width)
    assert shortened(title, width) == " ".join(title.split()) or shortened(title, width).endswith(
        "…"
    )
    assert is_heading(title) in {True, False}


@given(st.lists(st.sampled_from(["Use x.", "- a", "```", "# H", "", "b c", "1. d"])))
def test_each_word_outside_of_code_is_in_a_sentence(rows: list[str]) -> None:
    text = "\n".join(rows)
    assert all(sentence.strip() for sentence in sentences(text))
    if "```" not in rows:
        words = {
            word
            for row in rows
            for word in row.replace("-", " ").replace("#", " ").replace("1.", " ").split()
        }
        assert words <= {word for sentence in sentences(text) for word in sentence.split()}
