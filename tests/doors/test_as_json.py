from __future__ import annotations

import json

from ai_lessons.doors import as_json
from ai_lessons.errors import InvalidEntry, NotFound, Problem
from ai_lessons.knowledge.entries import Kind, Light
from ai_lessons.library.answers import Answer, Hit, Listing, Related, Section, Shown
from ai_lessons.library.reports import ModelState
from ai_lessons.library.writes import Imported, Written

LESSON = Light(
    "01J",
    "L-1",
    Kind.LESSON,
    "t",
    "p",
    ("a",),
    (),
    "p/lessons/x.md",
    "said",
    score=0.5,
    details={"confidence": "high", "source": "tested", "status": "active", "from": "ai"},
)
COMMON = ["id", "handle", "kind", "title", "project", "tier", "tags", "versions", "path", "snippet"]


def test_a_light_entry_has_the_common_keys_and_those_of_its_kind() -> None:
    assert list(as_json.light(LESSON)) == [*COMMON, "score", "confidence", "source", "status"]
    rule = Light("01R", "R-1", Kind.RULE, "t", "p", (), (), "x", details={"rationale": "why"})
    assert list(as_json.light(rule)) == [*COMMON, "score", "rationale", "applies_to"]
    assert as_json.light(rule)["applies_to"] is None


def test_a_list_is_an_array_without_scores() -> None:
    data = as_json.listing(Listing((LESSON,), 1))
    assert list(data[0]) == [*COMMON, "confidence", "source", "status"]
    assert as_json.dump(data).count("\n") == 2
    assert json.loads(as_json.dump([])) == []


def test_a_search_has_its_four_groups_and_factors_only_if_explained() -> None:
    found = Answer("q", lessons=(Hit(LESSON, "H", {"vector": 0.5}),), notes=("full text only",))
    data = as_json.answer(found)
    assert list(data) == ["query", "rules", "scripts", "lessons", "docs", "prompt", "notes"]
    assert "factors" not in data["lessons"][0]
    assert data["lessons"][0]["heading"] == "H"
    assert as_json.answer(found, explain=True)["lessons"][0]["factors"] == {"vector": 0.5}


def test_an_entry_in_full_brings_body_frontmatter_related_and_sections() -> None:
    edge = Related(None, "01X", "derived_from", outgoing=True)
    shown = Shown(LESSON, "body", "raw", {"id": "01J"}, related=(edge,), sections=(Section(1, "h", 1, 3),))
    data = as_json.shown(shown)
    assert data["body"] == "body"
    assert data["related"] == [
        {"relation": "derived_from", "direction": "out", "target": "01X", "weight": None, "depth": 1, "entry": None}
    ]
    assert data["sections"] == [{"number": 1, "heading": "h", "level": 1, "lines": 3}]
    assert "code" not in data


def test_a_write_has_exactly_four_keys_and_null_while_it_waits() -> None:
    data = as_json.written(Written("01J", "L-1", Kind.LESSON, "t", "p", None))
    assert data == {"id": "01J", "handle": "L-1", "path": "p", "commit": None}
    waiting = Written("01J", "L-1", Kind.LESSON, "t", "p", None, ("waiting: merge",))
    assert as_json.written(waiting)["notes"] == ["waiting: merge"]


def test_an_import_says_what_it_skipped_and_why() -> None:
    data = as_json.imported(Imported((), 2, (("a", "binary"),), "c"))
    assert data["skipped"] == [{"path": "a", "reason": "binary"}]
    assert data["unchanged"] == 2


def test_errors_carry_class_message_and_hint() -> None:
    error = as_json.error(NotFound("entry", "L-9", suggestions=["L-8"]))
    assert error == {"error": "NotFound", "message": "no entry 'L-9'", "hint": "did you mean L-8?"}
    invalid = as_json.error(InvalidEntry([Problem("a.md", "no title", 2)]))
    assert invalid["problems"] == [{"path": "a.md", "line": 2, "message": "no title", "fixable": False}]


def test_what_a_terminal_would_obey_is_escaped_by_json() -> None:
    text = as_json.dump({"a": "\x1b[2J\u202e\x9b\udcff日"})
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == {"a": "\x1b[2J\u202e\x9b\udcff日"}


def test_the_model_is_plain_data() -> None:
    assert as_json.model(ModelState("m", present=False, path=None, source=None, tried=(("hub", "gone"),)))["tried"] == [
        {"source": "hub", "outcome": "gone"}
    ]
