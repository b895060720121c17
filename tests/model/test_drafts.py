from datetime import UTC, datetime, timedelta, timezone

import pytest
from ulid import ULID

from ai_lessons.model import frontmatter
from ai_lessons.model.checks import check_entry
from ai_lessons.model.entries import Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import new_path
from ai_lessons.model.markdown import parse, render

NOW = datetime(2026, 11, 21, 20, 14, 7, 999_000, tzinfo=UTC)
ID = "01JD3Z8QK5W7M2X9V4T68F3K2A"
OTHER = "01JD3Z8QK5W7M2X9V4T68F3K2B"


def test_an_id_holds_its_moment_and_a_stamp_is_utc_to_the_second() -> None:
    assert ULID.from_str(frontmatter.new_id(NOW)).datetime == NOW
    assert frontmatter.new_id(NOW) != frontmatter.new_id(NOW)
    assert frontmatter.stamp(NOW) == "2026-11-21T20:14:07Z"
    assert frontmatter.stamp(NOW.astimezone(timezone(timedelta(hours=-8)))) == "2026-11-21T20:14:07Z"


def test_a_full_lesson_passes_all_checks() -> None:
    fields = frontmatter.lesson_fields(
        ID, frontmatter.stamp(NOW), title="  PUT\nreplaces ", tags=["b", "a", "b"], confidence="high", source="tested",
        origin="ai", category="solution", contexts=["jira cloud"], applies_to=["src/**/*.py"],
        links=[("has_script", OTHER)], when="w", dont="d", because="b",
    )  # fmt: skip
    text = render(fields, frontmatter.body_of("Free text.\n\n"))
    entry = read_entry(new_path(Kind.LESSON, "jira", "PUT replaces", ID, frontmatter.stamp(NOW)), text.encode())
    assert check_entry(entry) == []
    assert (entry.title, entry.tags, entry.body) == ("PUT replaces", ("a", "b"), "Free text.\n")
    assert str(entry.pattern) == "WHEN w -> DO NOT d -> BECAUSE b"
    assert list(parse(text).fields) == [
        "id", "kind", "title", "tags", "confidence", "source", "from", "status", "created", "category", "contexts",
        "applies_to", "pattern", "links",
    ]  # fmt: skip


def test_the_identity_of_a_plain_file_is_what_it_was_read_as() -> None:
    entry = read_entry("p/docs/1.0/x.md", b"# Title\n")
    assert frontmatter.identity(entry) == {"id": entry.id, "kind": "doc", "title": "Title", "versions": ["1.0"]}
    adopted = read_entry("p/docs/1.0/x.md", render(frontmatter.identity(entry), entry.body).encode())
    assert (adopted.id, adopted.title, adopted.derived) == (entry.id, "Title", False)
    assert check_entry(adopted) == []
    assert frontmatter.versions_of_place("p/docs/shared/x.md") == frontmatter.versions_of_place("notes/1.0/x.md") == ()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (b"#!/bin/sh\n# Does it.\n#\n# More.\nset -e\n# not this\n", "Does it.\n\nMore."),
        (b"// Does it.\ncode\n", "Does it."),
        (b"-- SQL\nSELECT 1;\n", "SQL"),
        (b"@echo off\nREM x\n", ""),
        (b"echo\n# late\n", ""),
        (b"", ""),
        (b"\xff\xfe# x\n", ""),
        (
            b'#!/usr/bin/env python3\n# (c) 2026\n"""Does it.\n\n    More.\n    """\nx = """not this"""\n',
            "Does it.\n\nMore.",
        ),
        (b"r'''Does it.'''\r\n", "Does it."),
        (b"/**\n * Does it.\n *\n * More.\n */\ncode()\n", "Does it.\n\nMore."),
        (b'x = 1\n"""Late."""\n', ""),
        (b'# Does it.\n"""never closed\n', "Does it."),
    ],
)
def test_a_script_is_described_by_its_docstring_or_leading_comment(code: bytes, said: str) -> None:
    assert frontmatter.description(code) == said
