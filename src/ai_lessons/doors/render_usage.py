"""What was useful, as text for people: feedback, how an entry has done. Pure: takes answers, returns text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import View, line

if TYPE_CHECKING:
    from ai_lessons.library.answers import Usage
    from ai_lessons.library.writes import Feedback


def feedback(value: Feedback, view: View) -> str:
    """What was said of which entry, and how it stands with that."""
    entry = value.entry
    head = f"{view.paint(f'[{line(entry.handle)}]', 'handle')} {line(entry.title)}: {line(value.outcome)}"
    return "\n".join([head, *(f"  {row}" for row in usage(value.usage))])


def usage(value: Usage) -> list[str]:
    """Two lines: how sure it is by now, and what happened to it."""
    counts = (
        ("injected", value.times_injected), ("helpful", value.times_helpful), ("ignored", value.times_ignored),
        ("contradicted", value.times_contradicted), ("runs", value.script_ok), ("failed runs", value.script_failed),
    )  # fmt: skip
    said = ", ".join(f"{name} {number:,}" for name, number in counts if number or name == "helpful")
    last = f" | last used: {line(value.last_used)}" if value.last_used else ""
    return [f"learned confidence: {value.confidence:.2f} (alpha {value.alpha:g}, beta {value.beta:g})", said + last]
