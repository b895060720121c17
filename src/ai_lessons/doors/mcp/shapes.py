"""Structured answers: the JSON shapes of the command line, with the notice that content is data; and their schemas.

The schemas are written by hand and name the keys that matter most, not all that come: what pydantic generates would
take half of the room that all tools together have in an agent's context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.doors.encode import encode
from ai_lessons.doors.mcp.framing import NOTICE, PROPOSED, cut, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.library.answers import Answer, Context, Shown
    from ai_lessons.library.rule_answers import Pending

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


def encoded(value: object) -> Data:
    """An answer as the command line gives it."""
    return _plain(encode(value))


def listed(key: str, values: Sequence[object]) -> Data:
    """Several answers; MCP wants an object round the list."""
    return _plain({key: encode(values)})


def framed(value: object) -> Data:
    """An answer with texts of others, and the notice that these are data."""
    return _plain({"notice": NOTICE} | encode(value))


def ruled(found: Answer | Context) -> Data:
    """What was found, every rule with who approved it."""
    data = framed(found)
    approvals = encode(found.approvals)
    return data | {"rules": [rule | {"approval": plain(approvals.get(rule["id"]))} for rule in data["rules"]]}


def shown(value: Shown) -> Data:
    """One entry in full, its texts no longer than an agent gets at once."""
    data = encode(value)
    texts = {key: cut(data[key], value.entry.path) for key in ("body", "code") if data.get(key)}
    if texts.get("code") == texts.get("body"):
        texts["code"] = ""
    return _plain({"notice": NOTICE} | data | {key: text for key, text in texts.items() if key in data})


def pending(values: Sequence[Pending]) -> Data:
    """Proposals that wait, and the notice that none of them counts yet."""
    return _plain({"notice": PROPOSED, "pending": encode(values)})


def _plain(data: Data) -> Data:
    return {key: plain(value) for key, value in data.items()}
