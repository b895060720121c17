import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import InvalidEntry
from ai_lessons.model.entries import Entry, Kind, Link, Status
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import derived_id

ID = "01JD3Z8QK5W7M2X9V4T68F3K2A"
OTHER = "01JD3Z8QK5W7M2X9V4T68F3K2B"


def read(path: str, text: str, side: str | None = None) -> Entry:
    return read_entry(path, text.encode(), side.encode() if side is not None else None)


def test_a_lesson_reads_as_written() -> None:
    entry = read(
        "jira/lessons/2026-11/put.md",
        f"---\nid: {ID}\nkind: lesson\ntitle: PUT replaces\ntags:\n  - api\nstatus: wrong\n"
        f"pattern:\n  when: a\n  dont: b\n  because: c\n"
        f"links:\n  - has_script: {OTHER.lower()}\n    weight: 0.5\n---\nFree text.\n",
    )
    assert (entry.id, entry.kind, entry.title, entry.project) == (
        ID,
        Kind.LESSON,
        "PUT replaces",
        "jira",
    )
    assert entry.tags == ("api",)
    assert entry.links == (Link("has_script", OTHER, 0.5),)
    assert entry.status is Status.WRONG
    assert str(entry.pattern) == "WHEN a -> DO NOT b -> BECAUSE c"
    assert entry.body == "Free text.\n"
    assert not entry.derived


def test_plain_markdown_is_a_doc_with_a_derived_id() -> None:
    entry = read("notes/a.md", "Intro\n\n# The *title* ##\n\ntext\n")
    assert (entry.kind, entry.title, entry.project, entry.derived) == (
        Kind.DOC,
        "The *title*",
        "notes",
        True,
    )
    assert entry.id == derived_id("notes/a.md")
    assert entry.body.startswith("Intro")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", "some-note"), ("no heading\n", "some-note"), ("#hashtag first\n", "some-note"),
        ("```\n# a comment\n```\n# Real\n", "Real"), ("Underlined\n==========\n\n# Later\n", "Underlined"),
        ("\ufeff# With mark\r\ntext\r\n", "With mark"),
        ("---\ntitle: From frontmatter\n---\n# Heading\n", "From frontmatter"),
        ("---\ntitle: [no, text]\n---\n## Heading\n", "Heading"),
        ("---\ntitle: '  two \n\n  lines '\n---\n", "two lines"), ("---\ntitle: 404\n---\n", "404"), ("# C#\n", "C#"),
        ("# #\n", "#"), ("Text.\n\n## Middle\n\nMore.\n", "some-note"),
        ("<!-- note -->\n\n## Stands first\n\nText.\n", "Stands first"), ("First\n-----\n\nText.\n", "First"),
        ("---\ntitle: Dotted\n...\n# Heading\n", "Dotted"),
        ('+++\ntitle = "Heron"\ndate = 2024-01-02\n+++\nText.\n', "Heron"),
        ('{\n  "title": "Egret",\n  "tags": ["a"]\n}\n\nText.\n', "Egret"),
        ('{\n  "title": broken\n}\n', "some-note"), (f"# {'word ' * 60}\n", " ".join(["word"] * 39) + "…"),
    ],
)  # fmt: skip
def test_a_title_comes_from_the_frontmatter_then_the_heading_then_the_file_name(
    text: str, title: str
) -> None:
    assert read("p/some-note.md", text).title == title


@pytest.mark.parametrize(
    ("path", "said", "kind"),
    [
        ("p/lessons/x.md", "", Kind.LESSON), ("p/docs/x.md", "", Kind.DOC), ("p/x.md", "", Kind.DOC),
        ("p/x.md", "kind: lesson", Kind.LESSON), ("p/x.md", "kind: post", Kind.DOC),
        ("p/x.md", "kind: [a]", Kind.DOC), ("p/docs/x.md", "kind: lesson", Kind.LESSON),
        ("p/rules/x.md", "", Kind.RULE), ("p/rules/x.md", "kind: doc", Kind.RULE),
        ("p/docs/x.md", "kind: rule", Kind.RULE), ("p/x.md", "kind: ' Rule'", Kind.RULE),
        ("rules/x.md", "kind: lesson", Kind.RULE), ("docs/rules/x.md", "description: of a linter", Kind.DOC),
        ("docs/rules/x.md", "kind: rule", Kind.RULE), ("docs/rules/x.md", "rationale: so", Kind.RULE),
        ("docs/rules/x.md", f"id: {ID}", Kind.RULE), ("p/scripts/README.md", "", Kind.DOC),
        ("p/scripts/README.md", "kind: rule", Kind.RULE),
    ],
)  # fmt: skip
def test_the_kind_is_what_the_file_says_but_among_rules_everything_is_a_rule(
    path: str, said: str, kind: Kind
) -> None:
    assert read(path, f"---\n{said}\n---\n").kind is kind


def test_foreign_frontmatter_is_kept_and_read_leniently() -> None:
    matter = "id: 20240101\ntags: '#one, two'\nversions: 1.10\naliases: [x]\nlinks: http://x"
    entry = read("vault/a.md", f"---\n{matter}\n---\n# T\n")
    assert (entry.kind, entry.title, entry.derived) == (Kind.DOC, "T", True)
    assert entry.tags == ("one", "two")
    assert entry.versions == ("1.10",)
    assert entry.fields["aliases"] == ["x"]
    assert entry.links == ()


def test_text_files_among_docs_are_docs_without_frontmatter() -> None:
    entry = read("p/docs/1.0/notes.txt", "---\nid: x\n---\nwords\n")
    assert (entry.kind, entry.title, entry.fields) == (Kind.DOC, "notes", {})
    assert entry.body.startswith("---")


def test_a_script_is_its_code_and_its_side_file() -> None:
    plain = read("p/scripts/1.0/run.sh", "#!/bin/sh\n# Does it\n")
    assert (plain.kind, plain.title, plain.code, plain.side_path) == (
        Kind.SCRIPT, "run.sh", "#!/bin/sh\n# Does it\n", None,
    )  # fmt: skip
    assert plain.file == "p/scripts/1.0/run.sh.md"
    side = f"---\nid: {ID}\nkind: script\ntitle: Runs it\nproves: {OTHER}\n---\nHow to call it.\n"
    described = read("p/scripts/1.0/run.sh", "#!/bin/sh\n", side)
    assert (described.id, described.title, described.path) == (
        ID,
        "Runs it",
        "p/scripts/1.0/run.sh",
    )
    assert described.side_path == "p/scripts/1.0/run.sh.md"
    assert described.body == "How to call it.\n"
    assert described.links == (Link("proves", OTHER),)


def test_a_program_that_is_described_need_not_be_text() -> None:
    entry = read_entry("p/scripts/tool", b"\x7fELF\0", b"---\ntitle: A tool\n---\n")
    assert (entry.title, entry.code) == ("A tool", "")
    with pytest.raises(InvalidEntry):
        read_entry("p/scripts/tool", b"\x7fELF\0")


def test_a_side_file_alone_is_a_script_that_lies_elsewhere() -> None:
    entry = read(
        "p/scripts/unversioned/deploy.sh.md",
        f"---\nid: {ID}\nkind: script\npath: /opt/deploy.sh\n---\nx",
    )
    assert (entry.kind, entry.path, entry.side_path) == (
        Kind.SCRIPT, "p/scripts/unversioned/deploy.sh", "p/scripts/unversioned/deploy.sh.md",
    )  # fmt: skip
    assert (entry.title, entry.fields["path"]) == ("deploy.sh", "/opt/deploy.sh")
    with pytest.raises(InvalidEntry, match=r"no 'p/scripts/gone.sh' beside it"):
        read("p/scripts/gone.sh.md", "---\nkind: script\n---\n")


def test_what_cannot_be_read_names_file_and_line() -> None:
    with pytest.raises(InvalidEntry, match=r"^p/lessons/x.md:3: key 'a' appears twice"):
        read("p/lessons/x.md", "---\na: 1\na: 2\n---\n")
    with pytest.raises(InvalidEntry, match=r"^p/scripts/x.md:2: not valid YAML"):
        read("p/scripts/x", "code", "---\na: b: c\n---\n")
    with pytest.raises(InvalidEntry, match="UTF-8"):
        read_entry("p/x.md", b"\xff")
    with pytest.raises(InvalidEntry, match="no entry"):
        read_entry("README.md", b"")


def test_a_page_whose_frontmatter_cannot_be_read_is_text_with_a_note() -> None:
    text = "---\na: 1\na: 2\n---\nWords.\n"
    entry = read("guide/x.md", text)
    assert (entry.kind, entry.title, entry.body, entry.derived) == (Kind.DOC, "x", text, True)
    assert [str(fault) for fault in entry.faults] == ["guide/x.md:3: key 'a' appears twice"]
    assert read("guide/x.md", "---\na: 1\na: 2\n---\n## Herons\n\nWords.\n").title == "Herons"


def test_mdx_is_markdown_and_docs_at_the_top_may_be_rst() -> None:
    page = read(
        "p/docs/a.mdx", 'import X from "x"\nexport const a = 1\n\n## Stands first\n\nText.\n'
    )
    assert page.title == "Stands first"
    assert read("p/a.mdx", "---\ntitle: Otters\n---\n## Abstract\n").title == "Otters"
    assert read("docs/guide/a.rst", ".. _here:\n\n-----\nGuide\n-----\n\nText.\n").title == "Guide"


def test_keys_of_ours_below_their_own_key_go_before_those_of_another_program() -> None:
    theirs = "id: intro\nkind: Deployment\ntitle: I\n"
    entry = read("guide/x.md", f"---\n{theirs}ai-lessons:\n  id: {ID}\n  kind: doc\n---\n")
    assert (entry.id, entry.kind, entry.title, entry.derived) == (ID, Kind.DOC, "I", False)


@given(
    st.binary(max_size=200),
    st.sampled_from(["p/x.md", "p/lessons/x.md", "p/docs/x.txt", "p/scripts/x", "x.md"]),
)
def test_any_bytes_are_an_entry_or_an_invalid_entry(data: bytes, path: str) -> None:
    try:
        entry = read_entry(path, data)
    except InvalidEntry as error:
        assert str(error).startswith(path)  # noqa: PT017
        return
    assert entry.title
    assert len(entry.id) == 26
