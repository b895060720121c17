import json
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ai_lessons.app.answers import EvaluationFinding, EvaluationReport, Outdated, Promoted, Skipped, Suggested, Written
from ai_lessons.app.lessons import LessonGroup, Loaded
from ai_lessons.app.running import Ran
from ai_lessons.app.sharing import Conflicts, EntryConflict, Resolved
from ai_lessons.app.transfer import Exported, ExportedFile, Ported, Seen
from ai_lessons.app.workspace import TierState
from ai_lessons.errors import InvalidEntry, NotFound, Problem
from ai_lessons.interfaces import output
from ai_lessons.learning.selection import NotShown
from ai_lessons.model.entries import EntrySummary, Kind

LESSON = EntrySummary(
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
    confidence="high",
    source="tested",
    status="active",
    from_="ai",
)


def test_errors_carry_class_message_and_hint() -> None:
    error = output.error(NotFound("entry", "L-9", suggestions=["L-8"]))
    assert error == {"error": "NotFound", "message": "no entry 'L-9'", "hint": "did you mean L-8?"}
    invalid = output.error(InvalidEntry([Problem("a.md", "no title", 2)]))
    assert invalid["problems"] == [{"path": "a.md", "line": 2, "message": "no title", "fixable": False}]


def test_what_a_terminal_would_obey_is_escaped_by_json() -> None:
    text = output.dump({"a": "\x1b[2J\u202e\x9b\udcff日"})
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == {"a": "\x1b[2J\u202e\x9b\udcff日"}


class Odd(NamedTuple):
    """A record of all that an answer may hold."""

    kind: Kind
    path: Path
    day: object
    many: tuple[object, ...]
    nothing: None = None


def test_a_record_becomes_its_fields_with_members_of_enums_paths_and_dates_as_text() -> None:
    one = Odd(Kind.RULE, Path("a/b"), date(2026, 11, 22), ({"n": 1, date(2026, 1, 2): True}, 0.5))
    data = output.encode(one)
    assert data == {
        "kind": "rule", "path": "a/b", "day": "2026-11-22", "nothing": None,
        "many": [{"n": 1, "2026-01-02": True}, 0.5],
    }  # fmt: skip
    assert type(data["kind"]) is str
    assert json.loads(output.dump(one)) == data


WRITTEN = Written("01J", "L-1", Kind.LESSON, "t", "p", "c")
WROTE = {"id": "01J", "handle": "L-1", "path": "p", "commit": "c"}
TORN = EntryConflict("L-1", "t", "p", ("why",), "ours", None, "diff", "diff")
CHANGE = Written("01J", "L-1", Kind.LESSON, "t", "p", None, change="added", origin="ai")
ROW = {
    "id": "01J", "handle": "L-1", "scope": "p", "from": "ai", "status": "active", "created": None, "pattern": None,
    "title": "t", "path": "p/lessons/x.md",
}  # fmt: skip
LIGHT = output.encode(LESSON)
PROPOSED = Suggested("01R", "R-1", "t", "p", "b", "c")
SAID = {
    "id": "01R", "handle": "R-1", "title": "t", "path": "p", "branch": "b", "commit": "c", "warnings": [],
}  # fmt: skip
FOUND = EvaluationReport((EvaluationFinding("duplicates", "stop", "it is there"),))

SHAPED: list[tuple[Any, Any]] = [
    (TORN, {"id": "L-1", "title": "t", "path": "p", "reasons": ["why"], "ours": "ours", "theirs": None}),
    (Resolved("L-1", "p", "ours", ("L-1",), None),
     {"id": "L-1", "path": "p", "take": "ours", "left": ["L-1"], "commit": None, "shared": None, "notes": []}),
    (Conflicts("origin", ()), []),
    (CHANGE, {"id": "01J", "handle": "L-1", "path": "p", "commit": None, "change": "added"}),
    (CHANGE._replace(target="/t", notes=("n",)),
     {"id": "01J", "handle": "L-1", "path": "p", "commit": None, "change": "added", "target": "/t", "notes": ["n"]}),
    (Loaded((LessonGroup("global", (LESSON,)),), 1),
     {"active": 1, "groups": [{"scope": "global", "lessons": [ROW]}], "notes": []}),
    (NotShown(LESSON, "harm", "it was"), {**LIGHT, "reason": "harm", "detail": "it was"}),
    (Outdated(LESSON, "asked", "it was"), {**LIGHT, "reason": "asked", "detail": "it was"}),
    (TierState("user", "reads", "/p", "why"),
     {"tier": "user", "state": "reads", "path": "/p", "why": "why", "hint": ""}),
    (Ran(LESSON, 1, timed_out=False, stdout="out", stderr="err", omitted_bytes=5),
     {"handle": "L-1", "exit_code": 1, "timed_out": False, "stdout": "out", "stderr": "err", "omitted_bytes": 5}),
    (Ported((WRITTEN,), 0, (Skipped("p", "r"),), "c", (), 1, 2, 3, (PROPOSED,), "B1", (Seen("p", "skipped", "r"),)),
     {"written": [WROTE], "unchanged": 0, "skipped": [{"path": "p", "reason": "r"}], "relations": 1, "params": 2,
      "events": 3, "queued": [SAID], "batch": "B1", "commit": "c", "dry_run": False, "notes": [],
      "seen": [{"where": "p", "became": "skipped", "about": "r"}]}),
    (Exported("f", (ExportedFile("p", "written"),), skipped=(Skipped("q", "r"),)),
     {"form": "f", "files": [{"path": "p", "done": "written"}], "lessons": 0, "rules": 0, "docs": 0, "scripts": 0,
      "events": 0, "skipped": [{"path": "q", "reason": "r"}], "notes": []}),
    (Promoted(LESSON, "project", "user", "copied", FOUND, copy=WRITTEN),
     {"id": "01J", "handle": "L-1", "title": "t", "from": "project", "to": "user", "outcome": "copied",
      "copy": WROTE, "proposal": None, "policy": "", "decided_in": "",
      "notes": [],
      "evaluation": {"recommendation": "reject", "findings": [
          {"check": "duplicates", "severity": "stop", "message": "it is there", "where": ""}]}}),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "data"), SHAPED, ids=lambda value: type(value).__name__)
def test_an_answer_has_its_documented_shape(answer: Any, data: Any) -> None:
    assert output.encode(answer) == data
