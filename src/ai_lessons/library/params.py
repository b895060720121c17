"""Looking at the parameters of a repository, setting their bounds, and starting one anew. Each change is an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, Refused, UsageError
from ai_lessons.learning.events import BOUNDS, RESET, Event
from ai_lessons.learning.fold import DEFINITIONS
from ai_lessons.library.reports import Parameter

if TYPE_CHECKING:
    from ai_lessons.learning.fold import Definition
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import Parts


def params(library: Library, name: str | None = None) -> tuple[Parameter, ...]:
    """The parameters that learn, or one of them.

    Raises:
        NotFound: no such parameter.
    """
    parts = library.primary
    if name is not None:
        _known(name)
    found = parts.usages.parameters()
    return tuple(
        Parameter(
            one.name, DEFINITIONS[one.name].help, round(one.value, 6), round(one.uncertainty, 6), one.observations,
            round(one.alpha, 6), round(one.beta, 6), one.low, one.high, one.updated_at or None,
        )
        for one in found.values()
        if name in {None, one.name}
    )  # fmt: skip


def params_set(library: Library, name: str, value: float) -> tuple[Parameter, ...]:
    """Put a parameter at a value; it learns on from there.

    Raises:
        NotFound: no such parameter. UsageError: outside of its bounds. Refused: events are not recorded here.
    """
    parts = library.primary
    about, now = _known(name), parts.usages.parameters()[name]
    if not now.low <= value <= now.high:
        where = "its bounds" if (now.low, now.high) != (about.low, about.high) else "its range"
        raise UsageError(f"{value:g} is outside of {where}, {now.low:g} to {now.high:g}")
    return _turn(library, Event("", "", RESET, name, value=value))


def params_bounds(library: Library, name: str, low: float | None, high: float | None) -> tuple[Parameter, ...]:
    """Keep a parameter between two values; None leaves one as it is.

    Raises:
        NotFound: no such parameter. UsageError: outside of its range. Refused: events are not recorded here.
    """
    parts = library.primary
    about, now = _known(name), parts.usages.parameters()[name]
    wanted = (now.low if low is None else low, now.high if high is None else high)
    if not about.low <= wanted[0] <= wanted[1] <= about.high:
        raise UsageError(
            f"{name} cannot be bounded to {wanted[0]:g} to {wanted[1]:g}",
            hint=f"its range is {about.low:g} to {about.high:g}",
        )
    return _turn(library, Event("", "", BOUNDS, name, value=wanted[0], weight=wanted[1]))


def params_reset(library: Library, name: str | None = None) -> tuple[Parameter, ...]:
    """Forget what one parameter, or all, learned, and their bounds.

    Raises:
        NotFound: no such parameter. Refused: events are not recorded here.
    """
    parts = library.primary
    names = list(DEFINITIONS) if name is None else [name]
    for one in names:
        _known(one)
    _record(parts, [Event("", "", RESET, one) for one in names])
    return params(library, name)


def _turn(library: Library, event: Event) -> tuple[Parameter, ...]:
    _record(library.primary, [event])
    return params(library, event.entry)


def _record(parts: Parts, happened: list[Event]) -> None:
    parts.refuse_other_formats()
    if not parts.usages.recording:
        raise Refused("this repository records no events", hint="record them: ai-lessons admin config set events true")
    parts.usages.record(happened)


def _known(name: str) -> Definition:
    if name not in DEFINITIONS:
        raise NotFound("parameter", name, hint="one of: " + ", ".join(DEFINITIONS))
    return DEFINITIONS[name]
