import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import InvalidEntry, UnsupportedRepository
from ai_lessons.features.transfer.groove import dump, read
from ai_lessons.model.checks import check_entry
from ai_lessons.model.frontmatter import read_entry

ONE, TWO = "018d3f2e-8c00-7000-8000-000000000001", "018d3f2e-8c00-7000-8000-000000000002"
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


def learning(entry_id: str = ONE, **more: Any) -> dict[str, Any]:
    """As the format's own program writes one."""
    return {
        "id": entry_id, "scope": {"Project": "/home/ana/work/Jira API"}, "category": "ErrorRecovery",
        "content": {"description": "Two statuses were gone.", "insight": "PUT replaces the workflow"},
        "confidence": 0.86, "created_at": "2026-10-01T10:00:00.123456Z", "updated_at": "2026-10-02T10:00:00Z",
        "source": {"Transcript": {"session_id": "s", "message_index": 3}},
        "usage_stats": {"times_injected": 3, "times_helpful": 2, "times_ignored": 1, "times_contradicted": 0},
    } | more  # fmt: skip


def document(*learnings: Any, **more: Any) -> str:
    said = {
        "version": 1,
        "exported_at": "2026-11-21T00:00:00Z",
        "learnings": learnings,
        "params": [],
        "relations": [],
    }
    return json.dumps(said | more)


def test_a_learning_of_another_program_becomes_a_lesson() -> None:
    pattern = {"when": "updating", "do": "GET first", "because": "PUT deletes"}
    content = {
        "description": "Two statuses were gone.",
        "insight": "PUT replaces the workflow",
        "pattern": pattern,
    }
    relation = {
        "from_id": ONE,
        "relation_type": "Supersedes",
        "to_id": TWO,
        "weight": 0.5,
        "created_at": "x",
    }
    found = read(document(learning(content=content), learning(TWO), relations=[relation]), "k.json")
    first = found.items[0]
    entry = read_entry(first.path, first.data)
    assert check_entry(entry, first.data.decode()) == []
    assert (entry.title, entry.project) == ("PUT replaces the workflow", "Jira API")
    assert entry.body == "Two statuses were gone.\n"
    assert (
        entry.path
        == f"Jira API/lessons/2026-10/put-replaces-the-workflow-{entry.id[-6:].lower()}.md"
    )
    assert entry.fields.items() >= {
        "confidence": "very-high", "from": "ai", "category": "error_recovery", "created": "2026-10-01T10:00:00Z",
    }.items()  # fmt: skip
    assert str(entry.pattern) == "WHEN updating -> DO GET first -> BECAUSE PUT deletes"
    second = read_entry(found.items[1].path, found.items[1].data)
    assert [(link.relation, link.target, link.weight) for link in entry.links] == [
        ("supersedes", second.id, 0.5)
    ]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("text", "not an object"),
        (learning("x"), "'x' is not a UUID"),
        (learning(content={}), "it has neither insight nor description"),
        (learning(created_at="soon"), "created_at 'soon' is not a time"),
        (learning(scope={"Planet": "x"}), "no scope {'Planet': 'x'}"),
        (learning(file={"path": "a/lessons/a.md"}), "it has no text"),
        (learning(file={"path": "a.bin", "base64": "=="}), "it has no text"),
    ],
)
def test_what_is_damaged_is_named_and_the_rest_is_read(raw: Any, reason: str) -> None:
    found = read(document(raw, learning(TWO)), "k.json")
    assert [message for _, message in found.damaged] == [reason]
    assert len(found.items) == 1


@pytest.mark.parametrize(
    ("scope", "project"),
    [
        ("Global", "global"), ({"User": "ana"}, "global"), ("global", "global"), ("project:web", "web"),
        ({"Project": "C:\\w\\con"}, "entry"),
    ],
)  # fmt: skip
def test_scopes_are_read_in_both_spellings(scope: Any, project: str) -> None:
    found = read(document(learning(scope=scope)), "k.json")
    expected = [project] if project != "entry" else []
    assert [item.path.partition("/")[0] for item in found.items] == expected


def test_a_pattern_of_another_sort_is_kept_as_text() -> None:
    content = {"description": "d", "insight": "i", "pattern": {"tool": ["grep"]}}
    body = read(document(learning(content=content)), "k.json").items[0].data.decode()
    assert '```json\n{\n  "tool": [\n    "grep"\n  ]\n}\n```' in body


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 1}', '{"learnings": []}', "[" * 100_000, '{"a": NaN}']
)
def test_what_is_no_export_says_so(text: str) -> None:
    with pytest.raises(InvalidEntry, match=r"k\.json"):
        read(text, "k.json")


def test_an_export_of_a_newer_version_is_refused() -> None:
    with pytest.raises(UnsupportedRepository, match="version 2, this program knows 1"):
        read(document(version=2), "k.json")


@given(
    st.fixed_dictionaries(
        {"version": st.just(1), "learnings": JSON | st.lists(JSON)},
        optional=dict.fromkeys(("relations", "params", "files", "events"), JSON | st.lists(JSON)),
    )
    | st.dictionaries(st.sampled_from(list(learning())), JSON).map(
        lambda said: {"version": 1, "learnings": [learning() | said]}
    )
)
def test_nothing_that_a_file_may_hold_is_an_error_of_ours(said: dict[str, Any]) -> None:
    found = read(dump(said).decode(), "k.json")
    assert all(reason for _, reason in found.damaged)


def test_half_a_surrogate_pair_survives_as_an_escape() -> None:
    assert b"\\ud800" in dump({"title": "\ud800"})
