"""What is meant by a name, and in which forms a text is looked for."""

from __future__ import annotations

import html
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import UsageError
from ai_lessons.features.forget.target import FEWEST, forms, of_entry, of_text
from ai_lessons.model.frontmatter import read_entry

LINES = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\x85"),
    min_size=FEWEST,
).filter(lambda text: len(text.strip()) >= FEWEST)


@given(LINES, st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_found_in_every_form_in_which_a_file_may_hold_it(text: str, around: str) -> None:
    target = of_text(text)
    plain = f"{around}{text.strip()}{around}"
    assert target.is_in(plain.encode())
    assert target.is_in(json.dumps({"a": plain}).encode())
    assert target.is_in(json.dumps([plain], ensure_ascii=False).encode())
    assert target.is_in(html.escape(plain).encode())
    assert target.is_in(f"title: '{plain.replace(chr(39), chr(39) * 2)}'".encode())


def test_the_same_letter_in_other_bytes_is_the_same_text() -> None:
    assert of_text("Caf\u00e9 Noir").is_in("at the Cafe\u0301 Noir".encode())
    assert not of_text("Caf\u00e9 Noir").is_in(b"at the Cafe Noir")


def test_plain_words_have_one_form() -> None:
    assert set(forms("4711 secret")) == {b"4711 secret"}


@pytest.mark.parametrize("text", ["", "  ", "token", "  abcde \n"])
def test_a_short_text_is_refused_with_what_to_give_instead(text: str) -> None:
    with pytest.raises(UsageError, match="fewer than 6") as refusal:
        of_text(text)
    assert "handle" in refusal.value.hint


def test_a_text_of_several_lines_is_refused() -> None:
    with pytest.raises(UsageError, match="several lines"):
        of_text("first line of it\nsecond line of it\n")


def test_a_refusal_does_not_say_the_text() -> None:
    with pytest.raises(UsageError) as refusal:
        of_text("s3cr")
    assert "s3cr" not in refusal.value.message + refusal.value.hint


ENTRY = """---
id: 01JD3Z8QK5W7M2X9V4T68F3K2A
kind: lesson
title: Short title
pattern:
  when: updating the workflow of a customer
  do: ask first
  because: they have an agreement about this
---
The contract number of the customer is 4711.
Short.
"""


def test_an_entry_is_known_by_its_id_its_title_and_its_long_lines() -> None:
    entry = read_entry("global/lessons/x.md", ENTRY.encode())
    target = of_entry(entry.id, "L-8F3K2A", [entry])
    assert set(target.texts) == {
        "The contract number of the customer is 4711.",
        "they have an agreement about this",
        "updating the workflow of a customer",
        "Short title",
    }
    assert target.is_stated(b"---\nid: 01JD3Z8QK5W7M2X9V4T68F3K2A\n---\n")
    assert target.is_stated(b'---\nid: "01JD3Z8QK5W7M2X9V4T68F3K2A"\n---\n')
    assert not target.is_stated(b"links:\n  - related_to: 01JD3Z8QK5W7M2X9V4T68F3K2A\n")
    assert not target.is_in(b"Short. ask first")
