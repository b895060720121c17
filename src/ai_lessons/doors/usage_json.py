"""What was useful, as plain data, in the shapes of the interface reference. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ai_lessons.doors.as_json import light, usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.library.reports import Outdated, Parameter
    from ai_lessons.library.writes import Feedback


def feedback(value: Feedback) -> dict[str, Any]:
    """What was said of an entry, and how it stands with that."""
    return light(value.entry, scored=False) | {
        "outcome": value.outcome,
        "usage": usage(value.usage),
        "notes": list(value.notes),
    }


def outdated(values: Iterable[Outdated]) -> list[dict[str, Any]]:
    """What a person should look at again, once for each reason."""
    return [light(one.entry, scored=False) | {"reason": one.reason, "detail": one.detail} for one in values]


def params(values: Iterable[Parameter]) -> list[dict[str, Any]]:
    """Parameters that learn."""
    return [asdict(one) for one in values]
