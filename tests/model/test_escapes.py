"""What of a text a terminal would obey, or nobody sees, is printed as an escape: by properties of all characters."""

import sys
from unicodedata import category, name

import pytest

from ai_lessons.model.texts import escaped

DRAWN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Signs before numbers: format characters that are drawn."""

IGNORED = {
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x200B, 0x200E, 0x200F),
    *(*range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE0E), 0xFEFF, 0xFFA0),
    *(*range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)),
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
    marks = [chr(code) for code in range(sys.maxunicode + 1) if category(chr(code)) in {"Mn", "Mc", "Me"}]
    for before in ("", "\n", "word ", "word\u3000", "\t"):
        assert [mark for mark in marks if mark in escaped(f"{before}{mark}a")] == []
        assert [mark for mark in marks if mark in escaped(f"{before}{mark}\u0301{mark}")] == []


def test_no_more_than_four_marks_stand_on_a_letter() -> None:
    marks = [
        chr(code) for code in range(sys.maxunicode + 1) if category(chr(code)) in {"Mn", "Mc"} and not is_hidden(code)
    ]
    for mark in marks:
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
