"""Lessons listed, loaded and shown, as the program `lesson` does. A lesson's scope is its project.

The catalog alone is needed, because `load` runs at the start of every session of every agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Kind, Status
from ai_lessons.library.answers import Listing
from ai_lessons.library.lesson_answers import LessonShown, Loaded
from ai_lessons.library.lesson_lookup import is_firm, lesson, place_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.opened import Library, Reading

ORIGINS = ("ai", "user")
_LESSONS = frozenset({Kind.LESSON})


def list_lessons(
    library: Library, *, scope: str | None = None, origin: str | None = None, every: bool = False
) -> Listing:
    """Lessons, oldest first; the active ones, or with `every` also the wrong and the promoted."""
    status = None if every else Status.ACTIVE
    reading = library.reading
    found = reading.current().select(Filter(kinds=_LESSONS, project=scope, status=status, sort="created"))
    entries = tuple(one for one in found if origin in {None, one.details.get("from")})
    return Listing(entries, len(entries), tuple(reading.notes()))


def load(library: Library, scope: str | None = None, *, limit: int | None = None) -> Loaded:
    """The active lessons that hold everywhere, then those of `scope`; in each the firm first, then the oldest.

    Of more than `limit` the firm and the newest are taken. What something newer supersedes stays away, and what did
    more harm than good, unless a person stated it.
    """
    from ai_lessons.library.relating import superseded

    reading = library.reading
    catalog = reading.current()
    harmful = _harmful(reading)
    without = superseded(reading) | harmful
    groups: dict[str, list[Light]] = {GLOBAL_PROJECT: [], scope or GLOBAL_PROJECT: []}
    order = "created" if limit is None else "firm"
    asked = [Filter(_LESSONS, project, sort=order, limit=limit, without=without) for project in groups]
    found = [one for wanted in asked for one in catalog.select(wanted)]
    total = len(found) if limit is None else sum(map(catalog.count, asked))
    if limit is not None:
        most = sorted(sorted(found, key=_newest, reverse=True), key=_later)[:limit]
        found = sorted(most, key=_newest)
    for one in sorted(found, key=_later):
        groups[one.project].append(one)
    filled = tuple((name, tuple(group)) for name, group in groups.items() if group)
    return Loaded(filled, total, (*reading.notes(), *_told_of(catalog.many(harmful), groups)))


def show(library: Library, ref: str) -> LessonShown:
    """One lesson in full.

    Raises:
        NotFound: no such entry. UsageError: it is not a lesson.
    """
    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.showing import contents_of

    parts = place_of(library.holding, ref)
    light = lesson(parts, ref)
    found = contents_of(parts, light)
    entry = Entry(light.id, light.kind, light.title, light.path, light.project, fields=found.fields)
    return LessonShown(light, entry.pattern, found.fields, found.body)


def _harmful(reading: Reading) -> frozenset[str]:
    had = reading.usages.tallies()
    if not any(one.contradicted for one in had.values()):
        return frozenset()
    from ai_lessons.learning.choosing import harmful

    found = reading.catalog.many(entry for entry, one in had.items() if harmful(one))
    return frozenset(entry for entry, light in found.items() if not is_firm(light))


def _later(light: Light) -> bool:
    """What agents drafted comes after what people stated; otherwise the order stays."""
    return not is_firm(light)


def _newest(light: Light) -> tuple[str, str]:
    return str(light.details.get("created") or ""), light.id


def _told_of(harmful: Mapping[str, Light], scopes: Collection[str]) -> list[str]:
    """A note on the lessons of these scopes that were left out for the harm they did."""
    handles = [light.handle for light in harmful.values() if light.project in scopes]
    if not handles:
        return []
    return [f"left out, because contradicted more often than helpful: {', '.join(sorted(handles))}"]
