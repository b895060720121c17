"""Finding the lesson that a reference names, for all jobs of the program `lesson`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, UsageError
from ai_lessons.knowledge.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.parts import Parts


def lesson(parts: Parts, ref: str) -> Light:
    """The lesson that is meant. The catalog is up to date.

    Raises:
        NotFound, AmbiguousName. UsageError: the entry is of another kind.
    """
    light = parts.resolve(ref)
    if light.kind is not Kind.LESSON:
        raise UsageError(
            f"{light.handle} is a {light.kind}, not a lesson", hint=f"ai-lessons recall show {light.handle}"
        )
    return light


def is_firm(light: Light) -> bool:
    """Whether the user stated it in person, as far as this machine and git's history tell; see `statements`."""
    return bool(light.details.get("firm"))


def place_of(place: Callable[[str], Parts], ref: str) -> Parts:
    """The repository of a lesson; where there is none, with a word on how to find it."""
    try:
        return place(ref)
    except NotFound as error:
        error.hint = error.hint or "`lesson list` names them, with --all also the wrong and the promoted"
        raise
