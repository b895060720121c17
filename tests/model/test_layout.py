import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from ai_lessons.errors import Refused
from ai_lessons.model import layout
from ai_lessons.model.entries import Kind
from ai_lessons.model.layout import Place, check_path, place

ULID_1 = "01JD3Z8QK5W7M2X9V4T68F3K2A"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("jira/lessons/2026-11/put-8f3k2a.md", Place("jira", Kind.LESSON)),
        ("jira/lessons/deep/er/x.markdown", Place("jira", Kind.LESSON)),
        ("jira/rules/x.md", Place("jira", Kind.RULE)),
        ("rules/x.md", Place("global", Kind.RULE)),
        ("jira/docs/3.1/a/b.md", Place("jira", Kind.DOC, "3.1")),
        ("jira/docs/x.TXT", Place("jira", Kind.DOC)),
        ("jira/docs/shared/x.rst", Place("jira", Kind.DOC, "shared")),
        ("jira/docs/1/rules/x.md", Place("jira", Kind.DOC, "1")),
        ("jira/scripts/1.0/run", Place("jira", Kind.SCRIPT, "1.0")),
        ("jira/scripts/run.sh.md", Place("jira", Kind.SCRIPT)),
        ("notes/today.md", Place("notes", None)),
        ("notes/a/b/today.md", Place("notes", None)),
        ("today.md", Place("global", None)),
    ],
)
def test_a_path_says_what_its_entry_is(path: str, expected: Place) -> None:
    assert place(path) == expected


@pytest.mark.parametrize(
    "path",
    [
        "README.md", "readme.markdown", "CLAUDE.md", "AGENTS.md", "CODEOWNERS", "LICENSE", "LICENSE.md", "photo.png",
        ".hidden.md", "git/scripts/shared/__pycache__/tool.cpython-311.pyc", "jira/.obsidian/x.md",
        ".ai-lessons/config.yaml", "jira/lessons/x.txt", "jira/rules/x.py", "jira/docs/x.png", "notes/x.txt",
        "lessons/x.txt",
    ],
)  # fmt: skip
def test_other_files_are_not_entries(path: str) -> None:
    assert place(path) is None


def test_new_entries_lie_where_the_design_says() -> None:
    title = "PUT /workflows replaces the entire resource, always and everywhere, and that is a long title"
    lesson = layout.new_path(Kind.LESSON, "jira", title, ULID_1, "2026-11-21T20:14:00Z")
    assert lesson == "jira/lessons/2026-11/put-workflows-replaces-the-entire-resource-always-8f3k2a.md"
    assert layout.slug("部署前先备份 数据库") == "部署前先备份-数据库"
    assert layout.slug("Straße Ünlü й") == "strasse-unlu-й"
    assert (layout.slug("C++ lib", keep="+#"), layout.slug("C#", keep="+#"), layout.slug("C++")) == (
        "c++-lib",
        "c#",
        "c",
    )
    assert layout.new_path(Kind.RULE, "jira", "No é — ever", ULID_1, "") == "jira/rules/no-e-ever-8f3k2a.md"
    assert layout.resource_path(Kind.DOC, "jira", ["3.1"], "api/x.md") == "jira/docs/3.1/api/x.md"
    assert layout.side_of("jira/scripts/3.1/x.sh") == "jira/scripts/3.1/x.sh.md"


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([], "unversioned"), (["1.0"], "1.0"), (["1.0", "1.0"], "1.0"), (["1.0", "2.0"], "shared"),
        (["release/1.0"], "release-1.0"), ([".."], "v-"), (["con"], "v-con"),
    ],
)  # fmt: skip
def test_the_bucket_follows_from_the_versions(versions: list[str], expected: str) -> None:
    assert layout.bucket(versions) == expected


@given(st.text())
def test_whatever_is_written_can_be_read_back_as_its_kind(title: str) -> None:
    for path, kind in (
        (layout.new_path(Kind.LESSON, "p", title, ULID_1, "2026-11-21T20:14:00Z"), Kind.LESSON),
        (layout.new_path(Kind.RULE, "p", title, ULID_1, ""), Kind.RULE),
        (layout.resource_path(Kind.SCRIPT, "p", [title], "x"), Kind.SCRIPT),
    ):
        found = place(path)
        assert found is not None
        assert found.kind is kind
        if len(path) < layout.NAME_BYTES // 4:
            check_path(path)


def test_a_derived_id_is_a_ulid_of_time_zero_that_depends_on_the_path_alone() -> None:
    first = layout.derived_id("notes/a.md")
    assert first == layout.derived_id("notes/a.md")
    assert first != layout.derived_id("notes/b.md")
    assert ULID.from_str(first).bytes[:6] == bytes(6)
    assert str(ULID.from_str(first)) == first


@pytest.mark.parametrize(
    "path",
    [
        "", "/etc/passwd", "C:/x", "C:x", "a//b", "a/../b", "./a", "a/./b", ".git/config", "a/.git/hooks/x",
        "a/.GIT/x", "a/git~1/x", "a/.git /x", "a/.g\u200cit/x", "a\\b", "a/.hidden/x.md", "a/b:c.md", "a/nul",
        "a/CON.md", "a/com1.txt", "a/trailing.", "a/trailing ", "a/new\nline", "a/bell\x07", "a/\u202egnp.md",
        "a/zero\u200bwidth.md", "x" * 256, "a/" * 600 + "x",
    ],
)  # fmt: skip
def test_unsafe_paths_are_refused(path: str) -> None:
    with pytest.raises(Refused):
        check_path(path)


@pytest.mark.parametrize(
    "path", ["a/b.md", "größe/日本語 notes.md", "a/b c (1).md", "a/v1.2.3-rc+1/x.sh", "a/connect.md"]
)
def test_ordinary_paths_pass(path: str) -> None:
    check_path(path)


def test_our_own_hidden_folder_passes_when_asked_for_but_git_never_does() -> None:
    check_path(".ai-lessons/config.yaml", hidden=True)
    with pytest.raises(Refused):
        check_path(".git/config", hidden=True)
    with pytest.raises(Refused):
        check_path("git~1/config", hidden=True)


@pytest.mark.parametrize(
    ("stated", "globs"),
    [
        ("src/**,tests/**", ["src/**", "tests/**"]), ("src/**/*.{ts,tsx}, *.md", ["src/**/*.{ts,tsx}", "*.md"]),
        (["a,b", "c"], ["a", "b", "c"]), ("*.{a,{b,c}},d", ["*.{a,{b,c}}", "d"]), ("a}[,],b", ["a}[,]", "b"]),
        (",", []), ("", []), (None, []), (["x", 1], ["x"]),
    ],
)  # fmt: skip
def test_a_list_with_commas_is_a_list_of_globs_and_braces_stay(stated: object, globs: list[str]) -> None:
    assert layout.globs(stated) == globs
