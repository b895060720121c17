"""What somebody says of an entry after having used it: one event, and how the entry stands then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import Refused, UsageError
from ai_lessons.knowledge.entries import Kind
from ai_lessons.learning.events import CONTRADICTED, OBSERVED, OUTCOMES, Event
from ai_lessons.learning.fold import ABLATION, ASSESSMENT, NOTHING, curiosity, learned
from ai_lessons.library import statements
from ai_lessons.library.writes import Feedback

if TYPE_CHECKING:
    from ai_lessons.library.opened import Library


def feedback(library: Library, ref: str, outcome: str, note: str = "") -> Feedback:
    """Say that an entry was helpful, ignored or contradicted; its confidence moves by that. One event, no commit.

    Raises:
        UsageError: another word. NotFound, AmbiguousName: not one entry. Refused: events are not recorded here.
    """
    if outcome not in OUTCOMES:
        raise UsageError(f"no outcome {outcome!r}", hint="one of: " + ", ".join(OUTCOMES))
    parts = library.holding(ref)
    parts.refuse_other_formats()
    parts.current()
    light = parts.resolve(ref)
    if not parts.usages.recording:
        raise Refused("this repository records no events", hint="record them: ai-lessons admin config set events true")
    usages = parts.usages
    if outcome == CONTRADICTED and parts.options.agent and light.details.get("firm"):
        statements.ask(parts, light, f"says that it is contradicted{f': {note}' if note else ''}")
        kept = f"{light.handle} is firm: a person stated it, so this is kept as a question: ai-lessons admin review"
        return Feedback(light, outcome, usages.of(light), (kept,))
    before = usages.tallies([light.id]).get(light.id, NOTHING)
    said = [Event("", "", outcome, light.id, note=note), *learned(outcome, usages.edge_of(light.id))]
    if parts.options.session and light.kind is Kind.LESSON:
        # where there are sessions, how much is left to learn says how often to ask, and how often to leave out
        said += [
            Event("", "", OBSERVED, ASSESSMENT, value=round(curiosity(before.outcomes), 6), weight=1.0),
            Event("", "", OBSERVED, ABLATION, value=round(curiosity(before.left_out), 6), weight=1.0),
        ]
    usages.record(said)
    return Feedback(light, outcome, usages.of(light))
