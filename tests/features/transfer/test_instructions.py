"""A text cut into its statements: their titles, their reasons, and that nothing of it is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.transfer.instructions import cut, title_of
from ai_lessons.model.sections import sections
from ai_lessons.model.statements import prescribes, sentences_of_paragraph

GUIDE = """# Guide

Notes for agents.

## Packages

- ONLY use uv, NEVER pip
- Pin every version

## Tests

1. **New features** need [tests](docs/tests.md)
2. Never mock the database,
   because the mock hid a bug.

   ```sh
   make test
   ```

## Style

Functions have type hints. Catch the error you mean: a bare `except Exception` is FORBIDDEN outside the entry point.
"""


def titles(text: str) -> list[str]:
    return [statement.title for statement in cut(text).statements]


def test_each_item_and_sentence_that_prescribes_is_a_statement_with_the_text_around_it() -> None:
    pieces = cut(GUIDE)
    assert [(statement.title, statement.line) for statement in pieces.statements] == [
        ("ONLY use uv, NEVER pip", 5),
        ("Pin every version", 8),
        ("New features need tests", 10),
        ("Never mock the database, because the mock hid a bug.", 13),
        (
            "Catch the error you mean: a bare `except Exception` is FORBIDDEN outside the entry point.",
            20,
        ),
    ]
    assert pieces.statements[0].text == "## Packages\n\n- ONLY use uv, NEVER pip"
    assert pieces.statements[1].text == "- Pin every version"
    mock = pieces.statements[3]
    assert (mock.reason, mock.text.count("make test")) == ("the mock hid a bug.", 1)
    assert "Functions have type hints." in pieces.statements[4].text
    assert pieces.described == "# Guide\n\nNotes for agents."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # what stands above says whether to do it
        ("## Don't\n\n- Commit secrets\n- `any`\n", ["Don't: Commit secrets", "Don't: `any`"]),
        ("Never do any of these:\n\n- commit secrets\n", ["Never do any of these: commit secrets"]),
        (
            "When you write tests:\n- never mock\n- Style is free\n",
            ["When you write tests: never mock"],
        ),
        (
            "Follow these rules:\n\n- Never push to main\n- Pin versions\n",
            ["Never push to main", "Pin versions"],
        ),
        (
            "Run these in order:\n\n1. `make lint`\n2. `make test`\n",
            ["Run these in order: `make lint`; `make test`"],
        ),
        ("- Avoid sleeps. Instead:\n  - Use events\n  - Use clocks\n", ["Avoid sleeps."]),
        ("- Packages\n  - ONLY use uv\n    - never pip\n", ["ONLY use uv", "Packages: never pip"]),
        # a paragraph makes several, unless they only go on
        (
            "Use uv for all. Never use pip here. It is slow.\n",
            ["Use uv for all.", "Never use pip here."],
        ),
        ("Do not use pip. Use uv instead.\n", ["Do not use pip.", "Use uv instead."]),
        ("Do not use pip. Instead use uv.\n", ["Do not use pip."]),
        # what is too short says it with its heading
        ("# Types\n\nNo any.\n", ["Types: No any."]),
        ("# Never use floats for money\n\nThey lose cents.\n", ["Never use floats for money"]),
        ("Audit before pushing:\n\n```sh\ngit diff\n```\n", ["Audit before pushing: `git diff`"]),
        ("> [!IMPORTANT]\n> Never push to main.\n", ["Never push to main."]),
        ("- [ ] Run the linter first\n", ["Run the linter first"]),
        ("- Immer zuerst testen\n- 必须先测试\n", ["Immer zuerst testen", "必须先测试"]),
        ("| a | b |\n| - | - |\n| never | x |\n\n<!-- never -->\n\n```\nNever this\n```\n", []),
    ],
)
def test_titles_say_what_to_do_as_the_text_means_it(text: str, found: list[str]) -> None:
    assert titles(text) == found


def test_a_second_frontmatter_is_no_title() -> None:
    pieces = cut("---\ndescription: All of it\nname: x\n---\n\n- Never push\n")
    assert [(statement.title, statement.line) for statement in pieces.statements] == [
        ("Never push", 1)
    ]
    assert "name: x" in pieces.statements[0].text


def test_a_long_sentence_is_told_by_its_first_clause() -> None:
    long = (
        f"Never push to main without a review, even where {'it is urgent and ' * 20}nobody looks."
    )
    assert titles(f"- {long}\n") == ["Never push to main without a review"]
    assert cut(f"- {long}\n").statements[0].text == f"- {long}"
    assert len(title_of("Use " + "x" * 500)) <= 200


def test_the_reason_of_a_statement_is_the_nearest_that_gives_one() -> None:
    text = "- Use uv. It keeps the lock right.\n- Pin versions\n\n## B\n\nRun tests alone.\n\nWhy: it is slow.\n"
    reasons = {statement.title: statement.reason for statement in cut(text).statements}
    assert reasons == {
        "Use uv.": "It keeps the lock right.",
        "Pin versions": "",
        "Run tests alone.": "it is slow.",
    }


ROWS = st.sampled_from([
    "# A", "## B", "### Don't", "- Never push", "- It sells", "  - use uv", "    - deep words", "1. Pin it", "plain",
    "Always test. It is old.", "Run:", "Notes:", "", "", "```", "> quoted never", "| a | b |", "| - | - |", "---",
    "key: x", "<!-- c -->", "    code", "[a]: b.md", "* * *", "Title", "===", "Because: of it", "\t- tabbed",
    "+ plus must", "- ", "-", "@docs/a.md", "- - both", "&nbsp;", "Use `a",
])  # fmt: skip


@given(st.lists(ROWS, max_size=14))
def test_no_line_of_a_text_is_lost(rows: list[str]) -> None:
    pieces = cut("\n".join(rows))
    texts = [*(statement.text for statement in pieces.statements), pieces.described]
    there = {row.strip() for text in texts for row in text.split("\n")}
    imports = {row for row in rows if row.startswith("@")}
    assert {row.strip() for row in rows} - {""} - imports <= there
    assert all(
        statement.title.strip() and "\n" not in statement.title for statement in pieces.statements
    )
    assert all(len(statement.title) <= 200 for statement in pieces.statements)


WORDS = st.lists(
    st.sampled_from(("Never ", "use ", "tabs", ". ", "- ", "# ", "\n", "\u2028", "`", "x" * 90)),
    max_size=12,
).map("".join)


@given(st.text(max_size=200) | WORDS)
def test_any_text_is_cut_and_each_title_is_one_line(text: str) -> None:
    pieces = cut(text)
    assert all(
        statement.title.strip() and len(statement.title) <= 200 for statement in pieces.statements
    )
    assert "".join("".join(sentences_of_paragraph(text)).split()) == "".join(text.split())
    assert prescribes(text) in {True, False}


@given(st.text(alphabet="# a`\n~@:", max_size=80))
def test_no_text_is_lost_between_sections(text: str) -> None:
    kept = "".join(section.body for section in sections(text))
    words = [row for row in text.split("\n") if row and not row.lstrip(" ").startswith(("#", "@"))]
    assert all(row in kept for row in words if row.strip())
