"""Says how entries did, and shows or forgets what the parameters learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app import counted_elsewhere
from ai_lessons.errors import NotFound
from ai_lessons.features.learning.parameters import DEFINITIONS
from ai_lessons.features.learning.usages import refuse_unrecorded, usages
from ai_lessons.model.entries import json_fields
from ai_lessons.model.events import RESET, Event

if TYPE_CHECKING:
    from ai_lessons.app.workspace import Library
    from ai_lessons.features.learning.parameters import ParameterState
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.model.tallies import UsageTally


@json_fields(entry=True)
class Feedback(NamedTuple):
    """What was said of an entry, and how it stands with that."""

    entry: EntrySummary
    outcome: str
    usage: UsageTally
    notes: tuple[str, ...] = ()

    def for_agents(self) -> dict[str, Any]:
        """Of the entry only how to call it."""
        entry = {"id": self.entry.id, "handle": self.entry.handle, "title": self.entry.title}
        return entry | {"outcome": self.outcome, "usage": self.usage, "notes": self.notes}


def feedback(library: Library, ref: str, outcome: str, note: str = "") -> Feedback:
    """Say that an entry was helpful, ignored or contradicted: one event. Raises Refused."""
    repo, summary = library.holding(ref)
    notes = repo.learned.say(summary, outcome, note)
    return Feedback(summary, outcome, repo.learned.of(summary), notes)


def params(library: Library, name: str | None = None) -> tuple[ParameterState, ...]:
    """The parameters that learn, or one of them. Raises NotFound: no such parameter."""
    if name is not None and name not in DEFINITIONS:
        raise NotFound("parameter", name, hint="one of: " + ", ".join(DEFINITIONS))
    repo = library.primary
    elsewhere = counted_elsewhere.of_parameters(repo.events)
    states = []
    for state in usages(repo).parameters():
        if name in {None, state.name}:
            states.append(state._replace(elsewhere=elsewhere.get(state.name, "")))
    return tuple(states)


def params_reset(library: Library, name: str | None = None) -> tuple[ParameterState, ...]:
    """Forget what one parameter, or all, learned. Raises NotFound, Refused: no events here."""
    params(library, name)
    repo = library.primary
    repo.refuse_other_formats()
    refuse_unrecorded(repo)
    names = list(DEFINITIONS)
    if name:
        names = [name]
    repo.events.record([Event("", "", RESET, parameter) for parameter in names])
    return params(library, name)
