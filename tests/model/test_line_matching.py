from __future__ import annotations

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model.merge import LineMatcher

TEXTS = st.lists(st.sampled_from([*"abcdefgh", *map(str, range(30))]), max_size=40)


@given(TEXTS, TEXTS)
def test_short_texts_are_matched_as_difflib_has_it(before: list[str], after: list[str]) -> None:
    assert LineMatcher(before, after).get_opcodes() == SequenceMatcher(None, before, after).get_opcodes()
