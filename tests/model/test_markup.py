import json
import sys
from unicodedata import category, name

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ai_lessons.errors import InvalidEntry
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.markup import adoc, notebook, rst
from ai_lessons.model.texts import escaped, may_have_headings


def test_titles_of_restructured_text_become_headings_in_the_order_of_their_lines() -> None:
    text = (
        "=======\nRetries\n=======\n\nHow.\n\nBackoff\n-------\n\n.. note::\n\n   Kept as it is\n   -------------\n\n"
        "Jitter\n~~~~~~\n\nAgain\n-----\n\n==== ====\none  two\n==== ====\n\nshort line here\n---\n"
    )
    assert rst(text) == (
        "# Retries\n\nHow.\n\n## Backoff\n\n   Kept as it is\n   -------------\n\n"
        "### Jitter\n\n## Again\n\n==== ====\none  two\n==== ====\n\nshort line here\n---\n"
    )


def test_marks_of_restructured_text_are_none_of_its_words() -> None:
    text = (
        ".. _queue:\n\n=======\n Depth\n=======\n\nSee :ref:`queues <queues>`, :class:`Worker` and `a <https://a.b>`_.\n\n"
        "Call it so::\n\n   w = 1\n\n.. code-block:: python\n   :linenos:\n\n   :ref:`kept`\n\n"
        ".. toctree::\n\n   pages\n\n"
        ".. note:: Wait for ``it``\n.. versionadded:: 2\n"
    )
    assert [row for row in rst(text).split("\n") if row] == [
        "# Depth", "See `queues`, `Worker` and [a](https://a.b).", "Call it so:", "```", "w = 1", "```",
        "```python", ":ref:`kept`", "```", "Wait for `it`",
    ]  # fmt: skip


def test_titles_and_code_of_asciidoc_are_those_of_markdown() -> None:
    text = "= Retries\n\n== Backoff\n\n[source,sh]\n----\n== no title\ntool -r\n----\n\n....\nplain\n....\n\n=== Jitter\n"
    assert adoc(text) == (
        "# Retries\n\n## Backoff\n\n```sh\n== no title\ntool -r\n```\n\n```\nplain\n```\n\n### Jitter\n"
    )


def test_a_title_of_asciidoc_has_the_values_of_attributes_above_it() -> None:
    text = "// ours\n:product: Kiwi\n= The {product} manual of {unknown}\n\nSee {product}.\n"
    assert "\n# The Kiwi manual of {unknown}\n\nSee {product}.\n" in adoc(text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('<h1 align="center">\n  <img src="x"> Kiwi\n</h1>\n\n## Install\n', "Kiwi"),
        ('<h1><img src="x"></h1>\n\n# Kiwi\n', "Kiwi"),
        ("# Using the <Code>Widget</Code> {#using}\n", "Using the Widget"),
        ("# A Vec<String> of *args and **kwargs\n", "A Vec<String> of *args and **kwargs"),
        ("import X from 'x'\n\nexport const a = {\n  title: 1,\n}\n\n## Kiwi\n", "Kiwi"),
        ("{/* made by\nhand */}\n\n## Kiwi\n", "Kiwi"),
        ("[#kiwi]\n## Kiwi\n", "Kiwi"),
        ("Text.\n\n## Not the title\n", "page"),
    ],
)
def test_a_title_is_its_words(text: str, title: str) -> None:
    assert read_entry("p/docs/unversioned/page.md", text.encode()).title == title


def test_cells_of_a_notebook_are_text_and_code() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Retries\n", "How."]},
        {"cell_type": "code", "source": "retry(3)", "outputs": [{"text": "secret"}]},
        {"cell_type": "code", "source": []},
    ]
    whole = {"metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "cells": cells}
    assert notebook(json.dumps(whole)) == "# Retries\nHow.\n\n```python\nretry(3)\n```\n"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}', "[" * 100_000]
)
def test_what_is_no_notebook_says_so(text: str) -> None:
    with pytest.raises(InvalidEntry, match="not a Jupyter notebook"):
        notebook(text)


@given(st.text(alphabet="=-~ab \n", max_size=60))
def test_no_word_of_a_text_is_lost(text: str) -> None:
    for convert in (rst, adoc):
        assert [c for c in convert(text) if c in "ab"] == [c for c in text if c in "ab"]


# --- a heading that is overlooked is a section that cannot be asked for: held against the parser itself ---


PARSER = MarkdownIt("commonmark").enable("table")
PIECES = st.sampled_from(
    [
        "#",
        "##",
        "####### x",
        " ",
        "    ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "=",
        "--",
        "a",
        "- ",
        "> ",
        "```",
        "*",
    ]
)


@given(st.lists(PIECES, max_size=14).map("".join))
def test_no_text_with_a_heading_passes_for_one_without(text: str) -> None:
    headings = [
        token for token in PARSER.parse(text) if token.type == "heading_open" and token.level == 0
    ]
    assert may_have_headings(text) or not headings


def test_plain_text_is_known_to_have_none() -> None:
    assert not may_have_headings("What was seen.\n\n- one\n- #tag\n\n    # code\n")


DRAWN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Signs before numbers: format characters that are drawn."""

IGNORED = {
    *(
        0xAD,
        0x34F,
        0x61C,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        *range(0x180B, 0x1810),
        0x200B,
        0x200E,
        0x200F,
    ),
    *(
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        0x3164,
        *range(0xFE00, 0xFE0E),
        0xFEFF,
        0xFFA0,
    ),
    *(
        *range(0xFFF0, 0xFFF9),
        *range(0x1BCA0, 0x1BCA4),
        *range(0x1D173, 0x1D17B),
        *range(0xE0000, 0xE1000),
    ),
}
"""The default ignorable code points, as Unicode lists them."""

LATER = {*range(0x13430, 0x13440), 0x13441, 0x13442, 0x16FE4}
"""Format characters and blanks that an older Python does not know."""

BLANK = ("SCRIPT FILLER", "BLANK", "NULL NOTEHEAD")
SEEN = {"BLANK SYMBOL"}


def is_hidden(code: int) -> bool:
    """Whether a terminal obeys the character or nobody sees it, alone between two letters."""
    sign = chr(code)
    named = name(sign, "")
    return (
        (category(sign) in {"Cc", "Cs", "Zl", "Zp", "Me"} and sign not in "\t\n")
        or (category(sign) == "Cf" and code not in DRAWN)
        or code in IGNORED
        or code in LATER
        or (code & 0xFFFE) == 0xFFFE
        or 0xFDD0 <= code <= 0xFDEF
        or (named.endswith(BLANK) and named not in SEEN)
        or code in {0xFE0E, 0xFE0F}
    )


def test_all_that_is_not_seen_is_escaped_and_nothing_else() -> None:
    codes = [code for code in range(sys.maxunicode + 1) if chr(code) != "\n"]
    rows = [f"a{chr(code)}b" for code in codes]
    found = escaped("\n".join(rows)).split("\n")
    escapes = {code for code, row, shown in zip(codes, rows, found, strict=True) if shown != row}
    assert escapes == {code for code in codes if is_hidden(code)}


def test_a_mark_on_no_letter_is_escaped() -> None:
    marks = [
        chr(code) for code in range(sys.maxunicode + 1) if category(chr(code)) in {"Mn", "Mc", "Me"}
    ]
    for before in ("", "\n", "word ", "word\u3000", "\t"):
        assert [mark for mark in marks if mark in escaped(f"{before}{mark}a")] == []
        assert [mark for mark in marks if mark in escaped(f"{before}{mark}\u0301{mark}")] == []


def test_no_more_than_four_marks_stand_on_a_letter() -> None:
    codes = [code for code in range(sys.maxunicode + 1) if category(chr(code)) in {"Mn", "Mc"}]
    for mark in (chr(code) for code in codes if not is_hidden(code)):
        assert escaped(f"a{mark * 4}b") == f"a{mark * 4}b"
        assert escaped(f"a{mark * 6}b").count(mark) == 4
    assert escaped("a" + "\u0301\u0323" * 3) == "a" + "\u0301\u0323" * 2 + "\\u0301\\u0323"


@pytest.mark.parametrize(
    "text",
    [
        "naïve cafe\u0301", "हिन्दी में क्ष्म", "ภาษาไทย น้ำ", "בְּרֵאשִׁ֖ית", "السَّلَامُ عَلَيْكُمْ",
        "བོད་ཡིག བསྒྲུབས", "தமிழ் ស្រី မြန်မာ", "Việt Nam e\u0302\u0301", "1\ufe0f\u20e3 #\ufe0f\u20e3 9\u20e3",
        "⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙", "👨\u200d👩\u200d👧 ❤\ufe0f", "……——»«“” §§§§§§ ─────── ░░░░░░",
    ],
)  # fmt: skip
def test_the_scripts_of_the_world_are_left_alone(text: str) -> None:
    assert escaped(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "\u2800", "a\u2800b", "⠓\u2800 b", "\u2800\u2800", "a\u0488", "x\u20dd", "x\u20e3",
        "a\u0301\u0301\u0301\u0301\u0301",
    ],
)  # fmt: skip
def test_blanks_and_what_covers_a_letter_are_escaped(text: str) -> None:
    assert "\\u" in escaped(text)
