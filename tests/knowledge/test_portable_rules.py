from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.knowledge.entries import Entry, Kind
from ai_lessons.knowledge.portable.portable_rules import agents_md, claude_rule, is_ours, refreshed


def rule(body: str = "Send all back.\n", **fields: object) -> Entry:
    said = {"rationale": "PUT replaces\nall"} | fields
    return Entry(
        "01JD3Z8QK5W7M2X9V4T65N1QTC", Kind.RULE, "GET before PUT", "x/rules/a.md", "jira", fields=said, body=body
    )


def test_a_rule_says_why_and_where_it_applies() -> None:
    text = agents_md([("R-5N1QTC", rule(applies_to=["**/*.py"]))])
    assert text.endswith(
        "### GET before PUT (R-5N1QTC)\n\nBecause: PUT replaces all\n\n"
        "Applies in the project jira for `**/*.py`.\n\nSend all back."
    )


def test_a_file_of_claude_is_loaded_for_the_globs_of_its_rule() -> None:
    assert claude_rule("R-5N1QTC", rule(applies_to=["**/*.py", "a.ts"])).startswith(
        '---\npaths:\n  - "**/*.py"\n  - a.ts\n---\n<!-- >>> ai-lessons rules >>> -->\n# GET'
    )


@given(st.binary(max_size=60), st.sampled_from(["x", "<!-- <<< ai-lessons rules <<< -->\n", "```\n---\n"]))
def test_what_people_add_below_our_part_stays_byte_for_byte(added: bytes, body: str) -> None:
    first = refreshed(None, claude_rule("R-1", rule(body)))
    assert first is not None
    newer = claude_rule("R-1", rule("another", applies_to=["a/*"]))
    assert refreshed(first + added, newer) == newer.encode() + added
    assert refreshed(first + added, None) == (added or None)


@given(st.binary(max_size=60))
def test_a_file_of_somebody_else_is_left_alone(there: bytes) -> None:
    assert refreshed(there, claude_rule("R-1", rule())) == there
    assert not is_ours(there)
