import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ai_lessons.errors import UsageError
from ai_lessons.model.entries import Pattern
from ai_lessons.model.lessons import TITLE_LENGTH, build, parse, part, title_of

READ_FIRST = Pattern("tmux.conf edit", "read first", "avoid wrong assumptions")

AMBIGUOUS = re.compile(r"(->|→)\s*(do|don['\u2019]?t|because)(\s|\[|->|→|$)", re.IGNORECASE)


@st.composite
def parts(draw: st.DrawFn) -> str:
    """One part as it comes out of the parser: single blanks, no brackets round it, no arrow and word of another."""
    words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
    special = st.sampled_from(
        ["->", "→", "[", "]", "DO", "NOT", "not", "WHEN", "because", "a->b", "don't", "[x]"]
    )
    text = part(" ".join(draw(st.lists(st.one_of(words, special), min_size=1, max_size=6))))
    assume(text and not AMBIGUOUS.search(f"{text} "))
    return text


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    when, action, because, negative = (
        draw(parts()),
        draw(parts()),
        draw(parts()),
        draw(st.booleans()),
    )
    assume(negative or not re.match(r"not(\s|\[|->|→|$)", action, re.IGNORECASE))
    return Pattern(when, action, because, negative)


@given(patterns())
def test_what_a_pattern_prints_is_read_as_the_same_pattern(pattern: Pattern) -> None:
    assert parse(str(pattern)) == pattern


@given(patterns())
def test_parts_given_one_by_one_are_the_same_pattern(pattern: Pattern) -> None:
    do, dont = (None, pattern.action) if pattern.negative else (pattern.action, None)
    assert build(pattern.when, do, dont, pattern.because) == pattern


@given(st.text(st.sampled_from("WHENDOTBCAUS wo[]->→\n'"), max_size=60))
def test_any_text_is_a_pattern_that_reads_back_or_a_named_fault(text: str) -> None:
    try:
        pattern = parse(text)
    except UsageError as error:
        fault = error.message
    else:
        assert parse(str(pattern)) == pattern
        return
    assert re.search(r"at (line \d+, )?column \d+$", fault), fault


@pytest.mark.parametrize(
    "text",
    [
        "WHEN tmux.conf edit -> DO read first -> BECAUSE avoid wrong assumptions",
        "WHEN [tmux.conf edit] -> DO [read first] -> BECAUSE [avoid wrong assumptions]",
        "when tmux.conf edit → do read first → because avoid wrong assumptions",
        "WHEN tmux.conf edit\n-> DO read first\n-> BECAUSE avoid wrong assumptions\n",
        "WHEN tmux.conf edit ->\n  DO read\n  first ->\n  BECAUSE avoid wrong assumptions",
        "  When[tmux.conf edit]->Do[read first]->Because[avoid wrong assumptions]  ",
        "WHEN [[ tmux.conf edit ]] -> DO read first -> BECAUSE avoid wrong assumptions",
    ],
)
def test_one_pattern_in_many_forms(text: str) -> None:
    assert parse(text) == READ_FIRST


@pytest.mark.parametrize(
    "do", ["DO NOT", "do  not", "DON'T", "don\u2019t", "Dont", "DO\nNOT", "DO [not", "DO [[NOT"]
)
def test_what_not_to_do_in_many_forms(do: str) -> None:
    closing = "]" * do.count("[")
    found = parse(f"WHEN debugging -> {do} kill the server{closing} -> BECAUSE sessions die")
    assert found == Pattern("debugging", "kill the server", "sessions die", negative=True)


def test_brackets_and_arrows_inside_a_part_are_letters() -> None:
    found = parse("WHEN [a] or [b] -> DO turn x->y into x -> z -> BECAUSE list[0] -> first")
    assert found == Pattern("[a] or [b]", "turn x->y into x -> z", "list[0] -> first")


def test_words_that_only_begin_like_a_keyword_are_words() -> None:
    found = parse("WHEN whenever it is -> DO notify and do it -> BECAUSE because")
    assert found == Pattern("whenever it is", "notify and do it", "because")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the pattern is empty at column 1"),
        ("read first", "the pattern does not begin with WHEN at column 1"),
        ("  DO a -> BECAUSE b", "the pattern does not begin with WHEN at column 3"),
        ("WHENEVER a -> DO b -> BECAUSE c", "the pattern does not begin with WHEN at column 1"),
        ("WHEN a", "the pattern has no -> DO or -> DO NOT at column 7"),
        ("WHEN a -> BECAUSE c", "the pattern has no -> DO or -> DO NOT at column 8"),
        ("WHEN a -> BECAUSE c -> DO b", "the pattern has no -> BECAUSE at column 28"),
        ("WHEN a -> DO b", "the pattern has no -> BECAUSE at column 15"),
        ("WHEN a\n-> DO b\n", "the pattern has no -> BECAUSE at line 2, column 8"),
        ("WHEN a DO b -> BECAUSE c", "the pattern has no -> DO or -> DO NOT at column 13"),
        ("WHEN a -> DO b BECAUSE c", "the pattern has no -> BECAUSE at column 25"),
        ("WHEN -> DO b -> BECAUSE c", "WHEN is empty at column 5"),
        ("WHEN [ ] -> DO b -> BECAUSE c", "WHEN is empty at column 5"),
        ("WHEN a -> DO -> BECAUSE c", "DO is empty at column 13"),
        ("WHEN a -> DO NOT [] -> BECAUSE c", "DO NOT is empty at column 17"),
        ("WHEN a -> DO [not] -> BECAUSE c", "DO NOT is empty at column 13"),
        ("WHEN a\n-> DO b\n-> BECAUSE", "BECAUSE is empty at line 3, column 11"),
    ],
)
def test_a_fault_names_the_part_and_the_place(text: str, fault: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(text)
    assert raised.value.message == fault
    assert "WHEN … -> DO … -> BECAUSE …" in raised.value.hint


@pytest.mark.parametrize(
    ("given_parts", "fault"),
    [
        ((None, "b", None, "c"), "the pattern has no WHEN"),
        (("a", None, None, None), "the pattern has no DO or DO NOT and BECAUSE"),
        (("a", "b", None, " [] "), "the pattern has no BECAUSE"),
        (("a", "b", "b", "c"), "a pattern has DO or DO NOT, not both"),
        (
            ("a -> DO x", "b", None, "c"),
            "a part of the pattern holds the arrow and word of the next part",
        ),
        (
            ("a", "b -> because x", None, "c"),
            "a part of the pattern holds the arrow and word of the next part",
        ),
        (("a", "[not]", None, "c"), "DO NOT is empty at column 17"),
    ],
)
def test_parts_that_make_no_pattern_are_named(
    given_parts: tuple[str | None, ...], fault: str
) -> None:
    with pytest.raises(UsageError) as raised:
        build(*given_parts)
    assert raised.value.message == fault


def test_a_title_says_when_and_what_in_one_printable_line() -> None:
    assert title_of(READ_FIRST) == "tmux.conf edit: read first"
    assert title_of(READ_FIRST._replace(negative=True)) == "tmux.conf edit: do not read first"
    long = title_of(READ_FIRST._replace(action="word " * 100))
    assert len(long) <= TITLE_LENGTH
    assert long.endswith("word…")
    assert title_of(READ_FIRST._replace(action="a\x1bb")) == "tmux.conf edit: a b"
