"""What somebody says of an entry after having used it: one event, and how the entry stands then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import Refused, UsageError
from ai_lessons.learning.events import OUTCOMES, Event
from ai_lessons.library.writes import Feedback

if TYPE_CHECKING:
    from ai_lessons.library.parts import Parts


def feedback(parts: Parts, ref: str, outcome: str, note: str) -> Feedback:
    """See `Contribute.feedback`."""
    if outcome not in OUTCOMES:
        raise UsageError(f"no outcome {outcome!r}", hint="one of: " + ", ".join(OUTCOMES))
    parts.current()
    light = parts.resolve(ref)
    if not parts.usages.recording:
        raise Refused("this repository records no events", hint="record them: ai-lessons admin config set events true")
    parts.usages.record([Event("", "", outcome, light.id, note=note)])
    return Feedback(light, outcome, parts.usages.of(light))
