"""What the jobs of the program `lesson` take and give. Frozen values, no behaviour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ai_lessons.knowledge.entries import Light, Pattern


class Targets(NamedTuple):
    """The folders of this user that lessons are promoted into: `skills/NAME/SKILL.md` and `tools/NAME.md`."""

    skills: Path
    tools: Path


class Loaded(NamedTuple):
    """The active lessons of some scopes, for the start of a session: (scope, lessons), in the order to read them.

    `total` is how many are active there; those beyond the limit of the call are left out of `groups`.
    """

    groups: tuple[tuple[str, tuple[Light, ...]], ...]
    total: int
    notes: tuple[str, ...] = ()


class LessonShown(NamedTuple):
    """One lesson in full. `pattern` is None where the lesson is free text."""

    entry: Light
    pattern: Pattern | None
    fields: Mapping[str, Any]
    body: str
    notes: tuple[str, ...] = ()


class LessonChange(NamedTuple):
    """What became of one lesson: `change` is added, confirmed, wrong, promoted or unchanged.

    `commit` is None where nothing was written or the write waits. `target` is the file that the lesson stands in now
    besides its own, as an absolute path; `tier` is of which repository.
    """

    id: str
    handle: str
    title: str
    path: str
    commit: str | None
    change: str
    origin: str = ""
    target: str = ""
    notes: tuple[str, ...] = ()
    tier: str = ""
