"""Frontmatter of other people, as far as it can be understood, and what was mended in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.transfer.lenient import mended
from ai_lessons.model.markdown import parse


@pytest.mark.parametrize(
    ("matter", "fields", "repairs"),
    [
        ("name: a\ndescription: Use it: when asked", {"name": "a", "description": "Use it: when asked"},
         ("line 3: `description` put in quotes",)),
        ("title: [Component Name] - Docs", {"title": "[Component Name] - Docs"}, ("line 2: `title` put in quotes",)),
        ("globs: *.ts,*.tsx\nx: 1", {"globs": "*.ts,*.tsx", "x": 1}, ("line 2: `globs` put in quotes",)),
        ("description: \"Says \"hi\" twice\"", {"description": "Says \"hi\" twice"},
         ("line 2: `description` put in quotes",)),
        ("description: One:\n  two: three\n  - four", {"description": "One: two: three - four"},
         ("line 2: `description` put in quotes",)),
        ("argument-hint: [action] — e.g. \"list\"", {"argument-hint": "[action] — e.g. \"list\""},
         ("line 2: `argument-hint` put in quotes",)),
        ("a: 1\na: 2", {"a": 1}, ("line 3: `a` a second time, left out",)),
        ("just words\na: 1", {"a": 1}, ("line 2: what belongs to no key, left out",)),
        ("tools:\n  - @read\n  - b: c: d", {"tools": ["@read", "b: c: d"]},
         ("line 2: items of `tools` put in quotes",)),
        ("a:\tx\nb: `y`", {"a": "x", "b": "`y`"}, ("line 3: `b` put in quotes",)),
    ],
)  # fmt: skip
def test_what_is_no_yaml_is_read_as_its_author_meant_it(
    matter: str, fields: object, repairs: tuple[str, ...]
) -> None:
    result = mended(f"---\n{matter}\n---\nText.\n")
    assert (parse(result.text).fields, parse(result.text).body, result.repairs) == (
        fields,
        "Text.\n",
        repairs,
    )


def test_what_can_be_read_stays_and_what_cannot_stands_in_the_text() -> None:
    for text in (
        "---\na: 1 # note\n---\nText.\n",
        "Text.\n",
        "---\n",
        "+++\na = 1\n+++\nText\n",
        "---\n---\nText\n",
    ):
        assert mended(text) == (text, ())
    assert mended("\ufeff\r\n---\r\na: 1\r\n---\r\nText\r\n") == (
        "---\na: 1\n---\nText\n", ("blank lines above it taken away",)
    )  # fmt: skip
    text, repairs = mended("---\na: \x01\x02[\n? - x\n---\nText.\n")
    assert parse(text).body.endswith("Text.\n")
    assert repairs


@given(st.text(max_size=200), st.text(max_size=40))
def test_whatever_stands_there_the_rest_of_the_text_is_kept_and_can_be_read(
    matter: str, body: str
) -> None:
    result = mended(f"---\n{matter}\n---\n{body}")
    parse(result.text)
    assert mended(result.text).repairs == ()
