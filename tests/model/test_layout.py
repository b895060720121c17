import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from ai_lessons.app.answers import Answer, Hit
from ai_lessons.app.link_effects import Graph
from ai_lessons.errors import Refused
from ai_lessons.interfaces import output, text, text_graphs
from ai_lessons.interfaces.output import View
from ai_lessons.model import checks, chunks, frontmatter, layout, links, markdown
from ai_lessons.model.config import Chunking
from ai_lessons.model.entries import (
    KINDS,
    Entry,
    EntrySummary,
    Kind,
    Relation,
    Status,
    handle,
    id_end,
)
from ai_lessons.model.layout import Place, check_path, place
from ai_lessons.search import catalog_reader, catalog_records, query_text

ULID_1 = "01JD3Z8QK5W7M2X9V4T68F3K2A"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("jira/lessons/2026-11/put-8f3k2a.md", Place("jira", Kind.LESSON)),
        ("jira/lessons/deep/er/x.markdown", Place("jira", Kind.LESSON)), ("jira/rules/x.md", Place("jira", Kind.RULE)),
        ("rules/x.md", Place("global", Kind.RULE)), ("jira/docs/3.1/a/b.md", Place("jira", Kind.DOC, "3.1")),
        ("jira/docs/x.TXT", Place("jira", Kind.DOC)), ("jira/docs/shared/x.rst", Place("jira", Kind.DOC, "shared")),
        ("jira/docs/1/rules/x.md", Place("jira", Kind.DOC, "1")),
        ("jira/scripts/1.0/run", Place("jira", Kind.SCRIPT, "1.0")),
        ("jira/scripts/run.sh.md", Place("jira", Kind.SCRIPT)), ("notes/today.md", Place("notes", None)),
        ("notes/a/b/today.md", Place("notes", None)), ("today.md", Place("global", None)),
    ],
)  # fmt: skip
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
    assert (
        lesson == "jira/lessons/2026-11/put-workflows-replaces-the-entire-resource-always-8f3k2a.md"
    )
    assert layout.slug("部署前先备份 数据库") == "部署前先备份-数据库"
    assert layout.slug("Straße Ünlü й") == "strasse-unlu-й"
    assert [layout.slug(name, keep="+#") for name in ("C++ lib", "C#")] == ["c++-lib", "c#"]
    assert layout.slug("C++") == "c"
    assert (
        layout.new_path(Kind.RULE, "jira", "No é — ever", ULID_1, "")
        == "jira/rules/no-e-ever-8f3k2a.md"
    )
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
        if len(path) < layout.PATH_LIMITS.name_bytes // 4:
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
    "path",
    ["a/b.md", "größe/日本語 notes.md", "a/b c (1).md", "a/v1.2.3-rc+1/x.sh", "a/connect.md"],
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
def test_a_list_with_commas_is_a_list_of_globs_and_braces_stay(
    stated: object, globs: list[str]
) -> None:
    assert layout.globs(stated) == globs


ID = "01JD3Z8QK5W7M2X9V4T68F3K2A"
VIEW = View()
EVERY = pytest.mark.parametrize("kind", list(Kind), ids=str)


def written(kind: Kind) -> Entry:
    """An entry of the kind with all that is demanded, as a new one is written and read."""
    stated = dict.fromkeys(KINDS[kind].required, "because it is so")
    fields = frontmatter.new_fields(kind, ID, "2026-11-21T20:14:00Z", title="A title", **stated)
    path = layout.new_path(kind, "p", "A title", ID, "2026-11")
    return frontmatter.read_entry(
        path, markdown.render(fields | {"path": "/x"}, "Words.\n").encode()
    )


def light_of(kind: Kind) -> EntrySummary:
    entry = written(kind)
    fields = catalog_reader.in_parts(catalog_records.summary_fields(entry))
    return EntrySummary(
        ID, handle(kind, ID), kind, entry.title, "p", (), (), entry.path, "Words.", **fields
    )


def test_letters_folders_and_names_tell_kinds_apart() -> None:
    assert set(KINDS) == set(Kind)
    assert (
        len({row.letter for row in KINDS.values()})
        == len({row.folder for row in KINDS.values()})
        == len(Kind)
    )


@EVERY
def test_a_kind_is_written_read_checked_and_found_by_its_folder_and_letter(kind: Kind) -> None:
    entry = written(kind)
    assert (entry.kind, entry.id, entry.status) == (kind, ID, Status.ACTIVE)
    assert checks.check_entry(entry) == []
    where = layout.place(f"p/{kind.folder}/x.md")
    assert where is not None
    assert where.kind is kind
    assert id_end(handle(kind, ID)) == ID[-6:]
    for name in (kind, kind.folder):
        assert query_text.parse_query(f"x kind:{name}")[1].kinds == {kind}


@EVERY
def test_what_a_kind_demands_is_missed(kind: Kind) -> None:
    for key in KINDS[kind].required:
        entry = written(kind)
        lacking = entry._replace(
            fields={name: value for name, value in entry.fields.items() if name != key}
        )
        assert any(f"needs a {key}" in problem.message for problem in checks.check_entry(lacking))


@EVERY
def test_a_kind_has_passages_and_may_be_linked(kind: Kind) -> None:
    text = " ".join(passage.text for passage in chunks.split(written(kind), Chunking()))
    assert "Words." in text
    assert all(
        "because it is so" in text for key in KINDS[kind].required if key == KINDS[kind].opening
    )
    assert links.joins(Relation.RELATED_TO, kind, kind)
    assert links.joins(Relation.SUPERSEDES, kind, kind)


@EVERY
def test_a_kind_is_shown_in_text_json_and_graphs(kind: Kind) -> None:
    summary = light_of(kind)
    answer = Answer("q", (Hit(summary),))
    assert KINDS[kind].heading in text.answer(answer, VIEW)
    assert output.encode(answer)[kind.folder][0]["handle"] == summary.handle
    assert set(KINDS[kind].in_results) <= summary.as_json().keys()
    graph = Graph((summary,))
    assert summary.handle in text_graphs.dot(graph, VIEW)
    assert summary.handle in text_graphs.mermaid(graph, VIEW)
