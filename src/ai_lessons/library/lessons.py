"""Lessons as the program `lesson` reads them, from the catalog alone; a scope is a project, unless one is stated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import Conflict, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import Kind, Light, Pattern, Status
from ai_lessons.knowledge.origins import ScopePlace, place_of
from ai_lessons.learning.choose import harmful
from ai_lessons.library.answers import Listing
from ai_lessons.library.browsing import contents_of
from ai_lessons.library.multi_repository import created
from ai_lessons.library.relating import superseded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession


def lesson(place: Callable[[str], tuple[RepositorySession, Light]], ref: str) -> tuple[RepositorySession, Light]:
    """The lesson that is meant, and its repository, by `place`. Raises as that; UsageError: it is no lesson."""
    repo, light = place(ref)
    if light.kind is not Kind.LESSON:
        hint = f"ai-lessons recall show {light.handle}"
        raise UsageError(f"{light.handle} is a {light.kind}, not a lesson", hint=hint)
    return repo, light


def is_firm(light: Light) -> bool:
    """Whether the user stated it in person, as far as this machine and git's history tell; see `statements`."""
    return bool(light.details.get("firm"))


def refuse_wrong(light: Light) -> None:
    """What is marked wrong goes nowhere. Raises Conflict."""
    if light.details.get("status") == Status.WRONG:
        raise Conflict(
            f"{light.handle} is marked wrong, so it is not promoted",
            hint=f"if it is right after all: ai-lessons contribute update {light.handle} --status active",
        )


class Targets(NamedTuple):
    """The folders of this user that lessons are promoted into: `skills/NAME/SKILL.md` and `tools/NAME.md`."""

    skills: Path
    tools: Path


class Loaded(NamedTuple):
    """Active lessons by scope, in the order to read them; `total` counts also those beyond the limit of the call."""

    groups: tuple[tuple[str, tuple[Light, ...]], ...]
    total: int
    notes: tuple[str, ...] = ()


class LessonShown(NamedTuple):
    """One lesson in full. `pattern` is None where the lesson is free text."""

    entry: Light
    pattern: Pattern | None
    fields: Mapping[str, Any]
    body: str


_LESSONS = frozenset({Kind.LESSON})


def list_lessons(
    library: Library, *, scope: str | None = None, origin: str | None = None, every: bool = False
) -> Listing:
    """Lessons, oldest first; the active ones, or with `every` also the wrong and the promoted."""
    status = None if every else Status.ACTIVE
    reading = library.reading
    at = place_of(scope) if scope else ScopePlace("")
    wanted = Filter(_LESSONS, at.project or None, status=status, sort="created", scopes=at.scopes)
    found = reading.current().select(wanted)
    entries = tuple(one for one in found if origin in {None, one.details.get("from")})
    return Listing(entries, len(entries), tuple(reading.notes()))


def load(library: Library, scope: str | None = None, *, limit: int | None = None) -> Loaded:
    """The active lessons that hold everywhere, then those of `scope`; in each the firm first, then the oldest.

    Of more than `limit` the firm and the newest are taken; what is superseded, or did harm and is not firm, stays away.
    """
    reading = library.reading
    catalog = reading.current()
    harm = [entry for one in reading.every for entry, had in one.usages.tallies().items() if harmful(had)]
    known = catalog.many(harm) if harm else {}
    left_out = frozenset(entry for entry, light in known.items() if not is_firm(light))
    without = superseded(reading) | left_out
    places = dict.fromkeys((place_of(None), place_of(scope)))
    order = "created" if limit is None else "firm"
    asked = [Filter(_LESSONS, at.project, sort=order, limit=limit, without=without, scopes=at.scopes) for at in places]
    found = [(one, at.name) for at, wanted in zip(places, asked, strict=True) for one in catalog.select(wanted)]
    total = len(found) if limit is None else sum(map(catalog.count, asked))
    taken = sorted(found, key=lambda pair: (is_firm(pair[0]), created(pair[0])), reverse=True)[:limit]
    groups: dict[str, list[Light]] = {at.name: [] for at in places}
    for one, name in sorted(taken, key=lambda pair: (not is_firm(pair[0]), created(pair[0]))):
        groups[name].append(one)
    filled = tuple((name, tuple(group)) for name, group in groups.items() if group)
    return Loaded(filled, total, tuple(reading.notes()))


def show(library: Library, ref: str) -> LessonShown:
    """One lesson in full. Raises as `lesson`."""
    repo, light = lesson(library.holding, ref)
    entry, _ = contents_of(repo, light)
    return LessonShown(light, entry.pattern, entry.fields, entry.body)
