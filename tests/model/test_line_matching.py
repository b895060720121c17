from difflib import SequenceMatcher
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model import merge
from ai_lessons.model.merge import LineMatcher

TEXTS = st.lists(st.sampled_from([*"abcdefgh", *map(str, range(30))]), max_size=40)


@given(TEXTS, TEXTS)
def test_short_texts_are_matched_as_difflib_has_it(before: list[str], after: list[str]) -> None:
    assert LineMatcher(before, after).get_opcodes() == SequenceMatcher(None, before, after).get_opcodes()


@given(TEXTS, TEXTS, st.integers(0, 300))
def test_with_few_steps_what_is_matched_is_the_same_in_order_and_all_is_there(
    before: list[str], after: list[str], steps: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merge, "_STEPS", steps)
        blocks = LineMatcher(before, after).get_matching_blocks()
    assert all(before[one.a : one.a + one.size] == after[one.b : one.b + one.size] for one in blocks)
    assert all(one.a + one.size <= next_.a and one.b + one.size <= next_.b for one, next_ in pairwise(blocks))
    assert blocks[-1] == (len(before), len(after), 0)
    assert all(one.size for one in blocks[:-1])


def test_lines_that_both_have_once_are_matched_without_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "_STEPS", -1)
    kept = LineMatcher(["a", "x", "b", "y", "c"], ["new", "a", "b", "z", "c"]).get_opcodes()
    assert [tag for tag, *_ in kept] == ["insert", "equal", "delete", "equal", "replace", "equal"]
