"""Structured answers: the JSON shapes of the command line, with the notice that content is data; and their schemas.

The schemas are written by hand and name the keys that matter most, not all that come: what pydantic generates would
take half of the room that all tools together have in an agent's context.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ai_lessons.doors import as_json, render_lessons, render_promoting, rules_json, usage_json
from ai_lessons.doors.mcp.framing import NOTICE, PROPOSED, cut, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.library.answers import Answer, Approval, Context, Related, Shown
    from ai_lessons.library.lessons.lesson_answers import LessonChange, Loaded
    from ai_lessons.library.promotion.promotions import Promoted
    from ai_lessons.library.reports import Stats
    from ai_lessons.library.rules.rule_answers import Pending, Suggested
    from ai_lessons.library.running import Ran
    from ai_lessons.library.writes import Feedback, Imported, Refreshed, Written

    Data = dict[str, Any]

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
WHOLE = {"type": "integer"}
TRUTH = {"type": "boolean"}
OBJECT = {"type": "object"}
MAYBE = {"type": ["string", "null"]}


def many(of: Mapping[str, Any]) -> Data:
    """The schema of a list."""
    return {"type": "array", "items": of}


def record(**keys: Mapping[str, Any]) -> Data:
    """The schema of an object with these keys, and perhaps more."""
    return {"type": "object", "properties": keys}


TEXTS = many(TEXT)
OBJECTS = many(OBJECT)
LIGHT = {"id": TEXT, "handle": TEXT, "kind": TEXT, "title": TEXT, "tags": TEXTS, "path": TEXT, "snippet": TEXT}
FOUND = many({"$ref": "#/$defs/entry"})
ENTRY = {"entry": record(**LIGHT, score={"type": ["number", "null"]})}

SEARCH = {
    **record(notice=TEXT, query=TEXT, rules=FOUND, scripts=FOUND, lessons=FOUND, docs=FOUND, prompt=TEXT, notes=TEXTS),
    "$defs": ENTRY,
}
RESOURCES = record(notice=TEXT, query=TEXT, scripts=OBJECTS, docs=OBJECTS, prompt=TEXT, notes=TEXTS)
CONTEXT = record(notice=TEXT, rules=OBJECTS, lessons=OBJECTS, notes=TEXTS)
SHOWN = record(
    notice=TEXT, **LIGHT, body=TEXT, code=TEXT, frontmatter=OBJECT, related=OBJECTS, sections=OBJECTS,
    section={"type": ["integer", "null"]}, approval={"type": ["object", "null"]}, notes=TEXTS,
)  # fmt: skip
WRITTEN = record(id=TEXT, handle=TEXT, path=TEXT, commit=MAYBE)
IMPORTED = record(written=OBJECTS, unchanged=WHOLE, skipped=OBJECTS, commit=MAYBE)
OUTCOME = record(id=TEXT, handle=TEXT, outcome=TEXT, usage=OBJECT)
SUGGESTED = record(id=TEXT, handle=TEXT, title=TEXT, path=TEXT, branch=TEXT, commit=TEXT, warnings=TEXTS)
RAN = record(handle=TEXT, exit_code=WHOLE, timed_out=TRUTH, stdout=TEXT, stderr=TEXT, omitted_bytes=WHOLE)
LOADED = record(notice=TEXT, active=WHOLE, groups=OBJECTS, notes=TEXTS)
PROMOTED = record(
    id=TEXT, handle=TEXT, outcome=TEXT, copy={"type": ["object", "null"]}, proposal={"type": ["object", "null"]},
    evaluation=OBJECT, policy=TEXT, dropped_links=TEXTS, notes=TEXTS,
)  # fmt: skip
REFRESHED = record(refreshed=OBJECTS)
RELATED = record(related=OBJECTS)
PENDING = record(notice=TEXT, pending=OBJECTS)


def outcome(value: Feedback) -> Data:
    """What was said of an entry, and how it stands with that."""
    return _plain(usage_json.feedback(value))


def search(found: Answer) -> Data:
    """A search in its four groups; every rule with who approved it."""
    data = as_json.answer(found)
    data["rules"] = _approved(data["rules"], found.approvals)
    return _framed(data)


def context(found: Context) -> Data:
    """What to know before starting; every rule with who approved it."""
    data = rules_json.context(found)
    data["rules"] = _approved(data["rules"], found.approvals)
    return _framed(data)


def shown(value: Shown) -> Data:
    """One entry in full, its texts no longer than an agent gets at once."""
    data = as_json.shown(value)
    texts = {key: cut(data[key], value.entry.path) for key in ("body", "code") if data.get(key)}
    if texts.get("code") == texts.get("body"):
        texts["code"] = ""
    return _framed(data | {key: text for key, text in texts.items() if key in data})


def ran(value: Ran) -> Data:
    """How a script ended and what it printed."""
    data = {
        "handle": value.entry.handle, "exit_code": value.code, "timed_out": value.timed_out, "stdout": value.stdout,
        "stderr": value.stderr, "omitted_bytes": value.omitted,
    }  # fmt: skip
    return _plain(data)


def written(value: Written) -> Data:
    """One write."""
    return _plain(as_json.written(value))


def imported(value: Imported) -> Data:
    """An import."""
    return _plain(as_json.imported(value))


def refreshed(values: Sequence[Refreshed]) -> Data:
    """Docs that were looked at again; MCP wants an object round the list."""
    return _plain({"refreshed": as_json.refreshed(values)})


def suggested(value: Suggested) -> Data:
    """A proposal."""
    return _plain(rules_json.suggested(value))


def promoted(value: Promoted) -> Data:
    """What became of an entry that goes to another tier."""
    return _plain(render_promoting.promoted_data(value))


def loaded(value: Loaded) -> Data:
    """The lessons for the start of a session, by scope."""
    return _framed(render_lessons.loaded_data(value))


def changed(value: LessonChange) -> Data:
    """What became of a lesson."""
    return _plain(render_lessons.changed_data(value))


def related(values: Sequence[Related]) -> Data:
    """Edges of the graph; MCP wants an object round the list."""
    return _plain({"related": as_json.related(values)})


def pending(values: Sequence[Pending]) -> Data:
    """Proposals that wait; MCP wants an object round the list."""
    return _plain({"notice": PROPOSED, "pending": rules_json.pending(values)})


def stats(value: Stats) -> Data:
    """Counts and sizes."""
    return _plain(as_json.stats(value))


def _approved(rules: Sequence[Mapping[str, Any]], approvals: Mapping[str, Approval]) -> list[Data]:
    return [{**rule, "approval": asdict(approvals[rule["id"]]) if rule["id"] in approvals else None} for rule in rules]


def _framed(data: Data) -> Data:
    return _plain({"notice": NOTICE} | data)


def _plain(data: Data) -> Data:
    return {key: plain(value) for key, value in data.items()}
