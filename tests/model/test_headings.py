"""A heading that is overlooked is a section that cannot be asked for: held against the parser itself."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ai_lessons.model.texts import may_have_headings

PARSER = MarkdownIt("commonmark").enable("table")
PIECES = st.sampled_from(
    ["#", "##", "####### x", " ", "    ", "\t", "\n", "\r", "\r\n", "=", "--", "a", "- ", "> ", "```", "*"]
)


@given(st.lists(PIECES, max_size=14).map("".join))
def test_no_text_with_a_heading_passes_for_one_without(text: str) -> None:
    headings = [token for token in PARSER.parse(text) if token.type == "heading_open" and token.level == 0]
    assert may_have_headings(text) or not headings


def test_plain_text_is_known_to_have_none() -> None:
    assert not may_have_headings("What was seen.\n\n- one\n- #tag\n\n    # code\n")
