"""One encoder for all answers: plain data in the shapes of the JSON reference, for `--json` and for MCP. Pure."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Any

from ai_lessons.knowledge.json_fields import fields_of, record

if TYPE_CHECKING:
    from ai_lessons.errors import AiLessonsError

SCALARS = frozenset({str, int, float, bool, type(None)})


def dump(value: object) -> str:
    """An answer as JSON text: an array has one element a line (10,000 entries stay fast and greppable)."""
    data = encode(value)
    if isinstance(data, list):
        return "[\n" + ",\n".join(map(json.dumps, data)) + "\n]" if data else "[]"
    return json.dumps(data, indent=2)


def encode(value: Any, *, for_agents: bool = False) -> Any:
    """The value as JSON has it. What JSON does not know, such as a path or a date, becomes text.

    A class may have another shape than its fields: `as_json()`, and `for_agents()` for what a model reads.
    """
    if type(value) in SCALARS:
        return value
    if isinstance(value, str | int | float | Enum):
        return value.value if isinstance(value, Enum) else value
    shape = (getattr(value, "for_agents", None) if for_agents else None) or getattr(value, "as_json", None)
    if shape:
        value = shape()
    elif fields_of(type(value)):
        value = record(value)
    if hasattr(value, "items"):
        return {
            key if isinstance(key, str | int | float | None) else str(key): encode(held, for_agents=for_agents)
            for key, held in value.items()
        }
    if isinstance(value, list | tuple):
        return [encode(element, for_agents=for_agents) for element in value]
    return str(value)


def error(value: AiLessonsError) -> dict[str, Any]:
    """An error, for stderr; an invalid entry also brings its problems."""
    data = {"error": type(value).__name__, "message": value.message, "hint": value.hint}
    problems = getattr(value, "problems", None)
    return data | {"problems": encode(problems)} if problems else data
