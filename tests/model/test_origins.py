from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from ai_lessons.errors import UsageError
from ai_lessons.model import frontmatter, lessons, markdown
from ai_lessons.model.checks import check_entry, check_together
from ai_lessons.model.entries import Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import new_path
from ai_lessons.model.lessons import Scope, of_entry, place_of, read_scope
from ai_lessons.model.markdown import parse, render

LESSON = "01JD3Z8QK5W7M2X9V4T68F3K2A"
ORIGINAL = "01JD3Z8QK5W7M2X9V4T6QQQ111"
BLOCKS: dict[str, dict[str, Any]] = {
    "transcript": {"type": "transcript", "how": "observed", "session": "7f3a", "index": 12},
    "user_created": {"type": "user_created"},
    "promoted": {"type": "promoted", "from_scope": "project:/home/alex/web", "original": ORIGINAL},
    "imported": {"type": "imported", "file": "knowledge.json", "at": "2026-11-21T20:14:00Z"},
    "enterprise_curated": {"type": "enterprise_curated", "how": "tested", "curator": "Ada"},
}


def entry_with(source: Any, **more: Any) -> tuple[Any, str]:
    fields = {
        "id": LESSON,
        "kind": "lesson",
        "title": "T",
        "source": source,
        "created": "2026-11-21",
        **more,
    }
    text = markdown.render(fields, "Body.\n")
    return read_entry("web/lessons/a.md", text.encode()), text


def problems(source: Any, **more: Any) -> list[str]:
    entry, text = entry_with(source, **more)
    return [problem.message for problem in check_entry(entry, text)]


@pytest.mark.parametrize("source", [*BLOCKS.values(), "tested"])
def test_a_word_and_every_sort_of_block_are_valid(source: Any) -> None:
    assert problems(source) == []


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ({}, "source has no type"),
        (
            {"type": "dream"},
            "source.type 'dream' is none of transcript, user_created, promoted, imported, ",
        ),
        ({"type": ["transcript"]}, "source.type ['transcript'] is none of"),
        (
            {"type": "transcript", "session": "x"},
            "source has no index, which type transcript needs",
        ),
        (BLOCKS["transcript"] | {"index": -1}, "source.index cannot be -1"),
        (BLOCKS["transcript"] | {"session": " "}, "source.session cannot be ' '"),
        (BLOCKS["transcript"] | {"how": "dreamt"}, "source.how cannot be 'dreamt'"),
        (BLOCKS["promoted"] | {"original": "L-1"}, "source.original cannot be 'L-1'"),
        (BLOCKS["promoted"] | {"from_scope": "planet:x"}, "source.from_scope cannot be 'planet:x'"),
        (
            BLOCKS["enterprise_curated"] | {"curater": "x"},
            "source has no key 'curater' (type, how, curator)",
        ),
        (BLOCKS["user_created"] | {"zebra": "x"}, "source has no key 'zebra' (type, how)"),
    ],
)
def test_what_is_wrong_with_a_block_is_named_with_its_line(
    block: dict[str, Any], fault: str
) -> None:
    entry, text = entry_with(block)
    found = check_entry(entry, text)
    assert len(found) == 1
    assert fault in found[0].message
    assert found[0].line == 1 + text.splitlines().index(
        next(x for x in text.splitlines() if x.startswith("source"))
    )


def test_an_unknown_word_is_named_as_before() -> None:
    assert problems("dreamt") == [
        "source 'dreamt' is none of tested, documented, observed, inferred, hearsay"
    ]
    assert problems(["tested"])[0].startswith("source ['tested'] is none of")


def test_a_scope_and_days_are_checked() -> None:
    assert (
        problems("tested", scope="user:alex", review_by="2027-05-21", reviewed="2026-11-21") == []
    )
    found = problems("tested", scope="planet:x", review_by="soon", reviewed="2026-02-30")
    assert found == [
        "review_by 'soon' is not a day such as 2027-05-21",
        "reviewed '2026-02-30' is not a day such as 2027-05-21",
        "scope 'planet:x' is none of global, user:NAME, project:PATH",
    ]


@pytest.mark.parametrize(
    ("source", "word", "told"),
    [
        ("tested", "tested", "tested"),
        (BLOCKS["transcript"], "observed", "observed; transcript of session 7f3a, message 12"),
        (BLOCKS["user_created"], "user_created", "created by the user"),
        (BLOCKS["imported"], "imported", "imported from knowledge.json on 2026-11-21T20:14:00Z"),
        ({"type": "dream", "night": 3}, "dream", "type dream, night 3"),
        ({"type": 3}, None, "type 3"),
    ],
)
def test_a_source_in_a_word_and_in_a_sentence(source: Any, word: str | None, told: str) -> None:
    assert entry_with(source)[0].source == word
    assert lessons.source_line(source) == told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = st.sampled_from(
    ["type", "how", "session", "index", "from_scope", "original", "file", "at", "curator"]
)


@given(st.dictionaries(KEYS, JSON | st.sampled_from([*lessons.TYPES])))
def test_whatever_a_block_holds_it_is_told(
    block: dict[str, Any],
) -> None:
    assert isinstance(lessons.source_line(block), str)


STOOD = BLOCKS["promoted"] | {"tier": "enterprise:acme", "alpha": 3.5, "beta": 1.5}


def test_a_promoted_block_may_say_its_tier_and_how_the_original_stood() -> None:
    assert problems(STOOD) == []
    assert lessons.original_of(STOOD) == ORIGINAL
    assert lessons.start_of(STOOD) == 0.7


@pytest.mark.parametrize("alpha", [0, -1, "much", True, float("nan"), float("inf")])
def test_a_number_that_is_none_is_a_problem_and_begins_nothing(alpha: Any) -> None:
    block = STOOD | {"alpha": alpha}
    assert lessons.start_of(block) is None
    assert list(lessons.faults(block)) == [f"source.alpha cannot be {alpha!r}"]


def test_a_block_keeps_the_word_of_the_original_and_nothing_else_of_its_source() -> None:
    assert lessons.promoted(BLOCKS["transcript"], ORIGINAL, "project:shop", "project", (1.0, 1.0)) == {
        "type": "promoted", "how": "observed", "from_scope": "project:shop", "original": ORIGINAL, "tier": "project",
        "alpha": "1.000000", "beta": "1.000000",
    }  # fmt: skip
    assert "how" not in lessons.promoted("rumour", ORIGINAL, "global", "user", None)


def test_where_it_came_from_need_not_lie_here() -> None:
    entry, _ = entry_with(
        BLOCKS["promoted"], links=[{"derived_from": ORIGINAL}, {"related_to": LESSON[:-1] + "B"}]
    )
    (fault,) = check_together([entry])
    assert fault.message == f"related_to leads to {LESSON[:-1]}B, and no entry has that id"


SCOPES = st.just(Scope("global")) | st.builds(
    Scope, st.sampled_from(["user", "project"]), st.text()
)


@given(SCOPES)
def test_every_scope_is_read_back_from_both_of_its_spellings(scope: Scope) -> None:
    assert read_scope(scope.tagged) == scope
    assert read_scope(str(scope)) == scope


@given(st.text() | st.from_regex(r"(global|user|project|planet):?.{0,5}", fullmatch=True))
def test_what_is_read_is_written_as_it_was(text: str) -> None:
    try:
        assert str(read_scope(text)) == (text if text not in {"", "Global"} else "global")
    except UsageError:
        assert not lessons.is_scope(text)
        assert text != "global"
        assert text.partition(":")[:2] not in {("user", ":"), ("project", ":")}


@given(SCOPES)
def test_the_place_of_a_scope_gives_the_scope_back_where_it_states_it(scope: Scope) -> None:
    try:
        project = scope.project
    except UsageError:
        return  # no folder can be named so
    assert of_entry(project, str(scope)) == scope
    assert of_entry(project).project == project


@pytest.mark.parametrize(
    ("text", "project"),
    [
        ("global", "global"), ("user:alex", "global"), ("project:/home/alex/myrepo", "myrepo"),
        ("project:C:\\code\\myrepo\\", "myrepo"),
    ],
)  # fmt: skip
def test_a_scope_has_a_project(text: str, project: str) -> None:
    assert read_scope(text).project == project
    assert place_of(text).project == project, "where a project is named a scope is understood"


@pytest.mark.parametrize("text", ["planet:x", "user", "project", " global", "globally"])
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no scope"):
        read_scope(text)


def test_an_entry_that_was_moved_has_the_scope_of_its_place() -> None:
    assert str(of_entry("web", "user:alex")) == "project:web"
    assert str(of_entry("web", "nonsense")) == "project:web"
    assert str(of_entry("global", "project:/x/web")) == "global"


NOW = datetime(2026, 11, 21, 20, 14, 7, 999_000, tzinfo=UTC)
ID = "01JD3Z8QK5W7M2X9V4T68F3K2A"
OTHER = "01JD3Z8QK5W7M2X9V4T68F3K2B"


def test_an_id_holds_its_moment_and_a_stamp_is_utc_to_the_second() -> None:
    assert ULID.from_str(frontmatter.new_id(NOW)).datetime == NOW
    assert frontmatter.new_id(NOW) != frontmatter.new_id(NOW)
    assert frontmatter.stamp(NOW) == "2026-11-21T20:14:07Z"
    assert (
        frontmatter.stamp(NOW.astimezone(timezone(timedelta(hours=-8)))) == "2026-11-21T20:14:07Z"
    )


def test_a_full_lesson_passes_all_checks() -> None:
    fields = frontmatter.lesson_fields(
        ID, frontmatter.stamp(NOW), title="  PUT\nreplaces ", tags=["b", "a", "b"], confidence="high", source="tested",
        origin="ai", category="solution", contexts=["jira cloud"], applies_to=["src/**/*.py"],
        links=[("has_script", OTHER)], when="w", dont="d", because="b",
    )  # fmt: skip
    text = render(fields, frontmatter.body_of("Free text.\n\n"))
    entry = read_entry(
        new_path(Kind.LESSON, "jira", "PUT replaces", ID, frontmatter.stamp(NOW)), text.encode()
    )
    assert check_entry(entry) == []
    assert (entry.title, entry.tags, entry.body) == ("PUT replaces", ("a", "b"), "Free text.\n")
    assert str(entry.pattern) == "WHEN w -> DO NOT d -> BECAUSE b"
    assert list(parse(text).fields) == [
        "id", "kind", "title", "tags", "confidence", "source", "from", "status", "created", "category", "contexts",
        "applies_to", "pattern", "links",
    ]  # fmt: skip


def test_the_identity_of_a_plain_file_is_what_it_was_read_as() -> None:
    entry = read_entry("p/docs/1.0/x.md", b"# Title\n")
    assert frontmatter.identity(entry) == {
        "id": entry.id,
        "kind": "doc",
        "title": "Title",
        "versions": ["1.0"],
    }
    adopted = read_entry(
        "p/docs/1.0/x.md", render(frontmatter.identity(entry), entry.body).encode()
    )
    assert (adopted.id, adopted.title, adopted.derived) == (entry.id, "Title", False)
    assert check_entry(adopted) == []
    assert (
        frontmatter.versions_of_place("p/docs/shared/x.md")
        == frontmatter.versions_of_place("notes/1.0/x.md")
        == ()
    )


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
            b'#!/bin/python3\n# (c) 2026\n"""Does it.\n\n    More.\n    """\nx = """not this"""\n',
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
