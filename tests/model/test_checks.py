from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model.checks import check_entry, check_together, fixes
from ai_lessons.model.entries import Entry, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.markdown import render

ID = "01JD3Z8QK5W7M2X9V4T68F3K2A"
OTHER = "01JD3Z8QK5W7M2X9V4T68F3K2B"
THIRD = "01JD3Z8QK5W7M2X9V4T68F3K2C"

GOOD: dict[str, dict[str, Any]] = {
    "lesson": {
        "confidence": "high", "source": "tested", "from": "ai", "status": "active", "category": "solution",
        "created": "2026-11-21T20:14:00Z", "tags": ["a", "b"], "contexts": ["c"],
        "applies_to": ["src/**/*.py", "*.{md,txt}", "[a-z]*", "docs/"],
        "pattern": {"when": "w", "do": "d", "because": "b"}, "links": [{"has_script": OTHER, "weight": 0.5}],
    },
    "rule": {"rationale": "Because.", "tags": ["a"], "created": "2026-11-21"},
    "doc": {"versions": ["1.0"], "source_path": "~/x.md", "content_hash": "sha256:x"},
    "script": {"versions": ["1.0"], "interpreter": "bash", "proves": [OTHER]},
}  # fmt: skip
PATHS = {
    "lesson": "p/lessons/2026-11/x.md", "rule": "p/rules/x.md",
    "doc": "p/docs/1.0/x.md", "script": "p/scripts/1.0/x.sh",
}  # fmt: skip


def make(kind: str, path: str = "", /, **changes: Any) -> Entry:
    fields = {"id": ID, "kind": kind, "title": "A title", **GOOD[kind], **changes}
    data = render(
        {key: value for key, value in fields.items() if value is not ...}, "body\n"
    ).encode()
    path = path or PATHS[kind]
    return read_entry(path, b"#!/bin/sh\n", data) if kind == "script" else read_entry(path, data)


def complaints(entry: Entry) -> list[str]:
    return [problem.message for problem in check_entry(entry)]


@pytest.mark.parametrize("kind", list(GOOD))
def test_a_good_entry_has_no_problems(kind: str) -> None:
    assert complaints(make(kind)) == []


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("lesson", {"kind": "leson"}, "unknown kind 'leson', did you mean 'lesson'?"),
        ("doc", {"kind": "page"}, "unknown kind 'page' (lesson, rule, doc, script)"),
        ("rule", {"kind": "doc"}, "lies among rules"),
        ("lesson", {"id": "7"}, "id '7' is not a ULID"),
        ("lesson", {"id": "01JD3Z8QK5W7M2X9V4T68F3K2U"}, "is not a ULID"),
        ("lesson", {"title": ...}, "title is missing"),
        ("lesson", {"title": "  "}, "title is empty"),
        ("lesson", {"title": ["a"]}, "title is not text"),
        ("lesson", {"title": "x" * 201}, "201 characters, more than 200"),
        ("lesson", {"title": "a\nb"}, "line break"),
        (
            "lesson",
            {"confidence": "certain"},
            "confidence 'certain' is none of very-low, low, medium, high, very-high",
        ),
        ("lesson", {"from": "agent"}, "from 'agent' is none of ai, user"),
        ("lesson", {"status": True}, "status True is none of"),
        ("lesson", {"tags": "a, b"}, "tags is not a list"),
        ("lesson", {"tags": ["a", None]}, "tags holds None"),
        ("lesson", {"tags": [" "]}, "tags holds ' '"),
        ("lesson", {"applies_to": ["/etc/*"]}, "relative to the project"),
        ("lesson", {"applies_to": ["a/../../b"]}, "outside the project"),
        ("lesson", {"applies_to": ["src\\*.py"]}, "divided by `/`"),
        ("lesson", {"applies_to": ["[a-z"]}, "a `[` is never closed"),
        ("lesson", {"applies_to": ["src/**, !src/made/**"]}, "none leaves files out"),
        ("lesson", {"applies_to": ["src/**,../x"]}, "outside the project"),
        ("lesson", {"created": "yesterday"}, "created 'yesterday' is not a time"),
        ("lesson", {"created": "2026-13-45"}, "is not a time"),
        ("lesson", {"pattern": "WHEN a -> DO b"}, "pattern is not `when:`"),
        ("lesson", {"pattern": {"when": "a", "do": "b"}}, "pattern has no because"),
        ("lesson", {"pattern": {"do": "b", "because": "c"}}, "pattern has no when"),
        ("lesson", {"pattern": {"when": "a", "because": "c"}}, "pattern has no do or dont"),
        (
            "lesson",
            {"pattern": {"when": "a", "do": "b", "dont": "b", "because": "c"}},
            "both do and dont",
        ),
        ("lesson", {"pattern": {"when": "", "do": "b", "because": "c"}}, "pattern.when is empty"),
        ("rule", {"rationale": ...}, "needs a rationale"),
        ("rule", {"approved": True}, "a rule has no approved"),
        ("rule", {"suggested_by": "ai"}, "a rule has no suggested_by"),
        ("lesson", {"links": OTHER}, "links is not a list"),
        ("lesson", {"links": [OTHER]}, "is not `relation: id`"),
        (
            "lesson",
            {"links": [{"has_scripts": OTHER}]},
            "unknown relation 'has_scripts', did you mean 'has_script'?",
        ),
        (
            "lesson",
            {"links": [{"has_script": "deploy.sh"}]},
            "has_script leads to 'deploy.sh', which is not an id",
        ),
        ("lesson", {"links": [{"related_to": ID}]}, "leads to the entry itself"),
        ("lesson", {"links": [{"related_to": OTHER, "proves": OTHER}]}, "must have one relation"),
        (
            "lesson",
            {"links": [{"related_to": OTHER, "weight": "much"}]},
            "weight 'much' is not a number",
        ),
        ("script", {"proves": "it"}, "proves 'it', which is not an id"),
    ],
)
def test_each_fault_is_named(kind: str, changes: dict[str, Any], words: str) -> None:
    found = complaints(make(kind, **changes))
    assert len(found) == 1, found
    assert words in found[0]


def test_all_faults_are_named_at_once_with_file_and_line() -> None:
    text = f"---\nid: {ID}\nkind: lesson\ntitle: ''\nstatus: maybe\ntags:\n  - a\nlinks:\n  - likes: {OTHER}\n---\n"
    entry = read_entry("p/lessons/x.md", text.encode())
    assert [str(problem) for problem in check_entry(entry, text)] == [
        "p/lessons/x.md:4: title is empty",
        "p/lessons/x.md:5: status 'maybe' is none of active, wrong, promoted",
        "p/lessons/x.md:8: unknown relation 'likes'",
    ]
    assert [problem.line for problem in check_entry(entry)] == [0, 0, 0]


def test_the_fault_of_a_script_is_in_its_side_file() -> None:
    assert check_entry(make("script", title=""))[0].path == "p/scripts/1.0/x.sh.md"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("notes/a.md", "# Hi\n"),
        (
            "notes/a.md",
            "---\nid: 20260101\ntags: a, b\ncreated: yesterday\nkind: ConfigMap\nlinks: x\n---\n",
        ),
        ("p/docs/9.9/a.md", "# Hi\n"),
        ("p/docs/9.9/a.txt", "Hi\n"),
        ("p/lessons/a.md", "only words\n"),
        ("p/scripts/README.md", "# Scripts\n"),
    ],
)
def test_plain_foreign_files_have_no_problems(path: str, text: str) -> None:
    entry = read_entry(path, text.encode())
    assert entry.derived
    assert check_entry(entry) == []
    assert fixes(entry) == []


def test_whatever_lies_among_rules_is_held_to_be_a_rule() -> None:
    assert complaints(read_entry("p/rules/a.md", b"# Do it\n")) == [
        "title is missing",
        "a rule needs a rationale: why it is so",
    ]


@pytest.mark.parametrize(
    ("kind", "path", "versions", "target"),
    [
        ("doc", "p/docs/1.0/x.md", ["2.0"], "p/docs/2.0/x.md"),
        ("doc", "p/docs/1.0/a/x.md", ["1.0", "2.0"], "p/docs/shared/a/x.md"),
        ("doc", "p/docs/1.0/x.md", ..., "p/docs/unversioned/x.md"),
        ("doc", "p/docs/shared/x.md", ..., "p/docs/unversioned/x.md"),
        ("doc", "p/docs/x.md", ["1.0"], "p/docs/1.0/x.md"),
        ("script", "p/scripts/1.0/x.sh", ["1.1"], "p/scripts/1.1/x.sh"),
        ("lesson", "p/docs/1.0/x.md", ..., "p/lessons/2026-11/x.md"),
        ("doc", "p/lessons/2026-11/x.md", ["1.0"], "p/docs/1.0/x.md"),
        ("rule", "p/docs/1.0/x.md", ..., "p/rules/x.md"),
    ],
)
def test_an_entry_in_the_wrong_folder_can_be_moved(
    kind: str, path: str, versions: Any, target: str
) -> None:
    entry = make(kind, path, versions=versions)
    (fix,) = fixes(entry)
    assert fix.path == target
    assert [p.message for p in check_entry(entry)] == [fix.message]
    assert [p.fixable for p in check_entry(entry)] == [kind != "rule"]
    assert fixes(entry._replace(path=target)) == []


@pytest.mark.parametrize(
    ("kind", "path", "versions"),
    [
        ("doc", "p/docs/x.md", ...), ("doc", "p/docs/guides/x.md", ...), ("doc", "p/docs/unversioned/x.md", ...),
        ("doc", "p/docs/release-1.0/x.md", ["release/1.0"]), ("doc", "notes/1.0/x.md", ["2.0"]),
        ("lesson", "p/lessons/x.md", ...), ("lesson", "notes/x.md", ...),
    ],
)  # fmt: skip
def test_an_entry_in_a_fitting_folder_stays(kind: str, path: str, versions: Any) -> None:
    assert fixes(make(kind, path, versions=versions)) == []


def test_a_name_that_some_system_cannot_hold_is_named() -> None:
    assert "cannot be a file on Windows" in complaints(make("lesson", "p/lessons/con.md"))[0]


# together


def messages(*entries: Entry) -> list[str]:
    return [str(problem) for problem in check_together(entries)]


def test_an_id_belongs_to_one_entry() -> None:
    one, two = make("lesson", links=...), make("doc")
    assert messages(one, two) == [f"p/lessons/2026-11/x.md:1: has the id of p/docs/1.0/x.md: {ID}"]


def test_a_link_must_lead_somewhere() -> None:
    assert messages(make("lesson")) == [
        f"p/lessons/2026-11/x.md:1: has_script leads to {OTHER}, and no entry has that id"
    ]
    assert messages(make("lesson"), make("script", id=OTHER, proves=...)) == []


def test_a_link_must_join_kinds_that_its_relation_joins() -> None:
    (said,) = messages(make("lesson"), make("doc", id=OTHER))
    assert said.startswith(
        "p/lessons/2026-11/x.md:1: has_script leads from any entry to a script, not from a lesson"
    )
    assert said.endswith(
        f"what fits: has_doc, derived_from, contradicts, related_to (it leads to {OTHER})"
    )


def test_names_must_differ_by_more_than_case_or_accent() -> None:
    one, two = make("doc"), make("doc", "p/docs/1.0/X.md", id=OTHER)
    assert messages(one, two) == [
        "p/docs/1.0/x.md:1: is the same file as p/docs/1.0/X.md on systems that ignore case"
    ]
    composed, apart = (
        make("doc", "p/docs/1.0/\u00e9.md"),
        make("doc", "p/docs/1.0/e\u0301.md", id=OTHER),
    )
    assert len(messages(composed, apart)) == 1


def test_superseding_in_a_circle_is_named() -> None:
    def lesson(own: str, other: str) -> Entry:
        return make("lesson", f"p/lessons/{own[-1]}.md", id=own, links=[{"supersedes": other}])

    (found,) = messages(lesson(ID, OTHER), lesson(OTHER, THIRD), lesson(THIRD, ID))
    assert found.startswith(
        "p/lessons/A.md:1: supersedes leads round in a circle: p/lessons/A.md -> p/lessons/B.md ->"
    )
    assert messages(lesson(ID, OTHER), make("lesson", id=OTHER, links=...)) == []


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
)
known_keys = st.sampled_from(
    [
        "id", "kind", "title", "tags", "versions", "links", "pattern", "applies_to", "created", "status", "rationale",
        "proves",
    ]
)  # fmt: skip


@given(
    st.dictionaries(known_keys, anything),
    st.sampled_from([*PATHS.values(), "x.md"]),
    st.sampled_from(list(Kind)),
)
def test_any_frontmatter_is_checked_without_a_fall(
    fields: dict[str, Any], path: str, kind: Kind
) -> None:
    entry = Entry(ID, kind, "t", path, "p", fields=fields)
    assert check_entry(entry) == check_entry(entry)
    assert check_together([entry]) == []
