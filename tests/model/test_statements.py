"""Sentences that say what to do, and the one line of an entry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model import statements
from ai_lessons.model.prescribing import prescribes
from ai_lessons.model.statements import decision, is_heading, sentences, shortened


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
    ["Code Quality", "Testing", "Test Coverage", "Guide", "Note: this is old", "This is the shop.", "Should it be so?"],
)
def test_a_heading_or_a_plain_statement_prescribes_nothing(text: str) -> None:
    assert not prescribes(text)


def test_sentences_leave_marks_and_code_out() -> None:
    text = "# Guide\n\nNotes for\nagents. Use uv.\n\n- [ ] Pin `x`\n1. Go on\n\n```sh\nNever this\n```\nThe end"
    assert sentences(text) == ["Guide", "Notes for agents.", "Use uv.", "Pin `x`", "Go on", "The end"]


def test_the_line_of_an_entry_is_never_a_mere_heading_where_a_sentence_says_what_to_do() -> None:
    assert decision("Code Quality", "We care.\n\n- Type hints are required for all code") == (
        "Code Quality: Type hints are required for all code"
    )
    assert decision("Never mock the database", "Use a real one.") == "Never mock the database"
    assert decision("History", "It began in 2020.") == "History"


def test_a_long_line_is_cut_at_a_word() -> None:
    line = decision("Session state keeps the full 40-character base commit; only branch names use the short hash", "")
    assert line.endswith("…")
    assert len(line) <= statements.LINE
    assert line[:-1] in "Session state keeps the full 40-character base commit; only branch names use the short hash"


@given(st.text(), st.text(), st.integers(min_value=10, max_value=200))
def test_any_text_has_a_line_of_its_width(title: str, text: str, width: int) -> None:
    assert len(decision(title, text, width)) <= width
    assert "\n" not in decision(title, text, width)
    assert shortened(title, width) == " ".join(title.split()) or shortened(title, width).endswith("…")
    assert is_heading(title) in {True, False}


@given(st.lists(st.sampled_from(["Use x.", "- a", "```", "# H", "", "b c", "1. d"])))
def test_each_word_outside_of_code_is_in_a_sentence(rows: list[str]) -> None:
    text = "\n".join(rows)
    assert all(sentence.strip() for sentence in sentences(text))
    if "```" not in rows:
        words = {word for row in rows for word in row.replace("-", " ").replace("#", " ").replace("1.", " ").split()}
        assert words <= {word for sentence in sentences(text) for word in sentence.split()}
