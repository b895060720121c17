"""What was useful, as plain data, in the shapes of the interface reference. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.doors.as_json import light

if TYPE_CHECKING:
    from ai_lessons.library.answers import Usage
    from ai_lessons.library.writes import Feedback


def usage(value: Usage) -> dict[str, Any]:
    """How an entry has done."""
    return {
        "times_injected": value.times_injected,
        "times_helpful": value.times_helpful,
        "times_ignored": value.times_ignored,
        "times_contradicted": value.times_contradicted,
        "last_used": value.last_used,
        "alpha": value.alpha,
        "beta": value.beta,
        "confidence": value.confidence,
    }


def feedback(value: Feedback) -> dict[str, Any]:
    """What was said of an entry, and how it stands with that."""
    return light(value.entry, scored=False) | {
        "outcome": value.outcome,
        "usage": usage(value.usage),
        "notes": list(value.notes),
    }
