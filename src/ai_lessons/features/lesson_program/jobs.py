"""Loads and shows lessons, and gives them in the form of the program `lesson`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.app.lessons import is_firm, lesson
from ai_lessons.app.link_effects import superseded
from ai_lessons.model.entries import LESSONS, EntrySummary, Filter, pattern_of
from ai_lessons.model.lessons import ScopePlace, named, place_of

if TYPE_CHECKING:
    from ai_lessons.app.answers import Shown
    from ai_lessons.app.workspace import Library, Reading


class LessonGroup(NamedTuple):
    """Active lessons of one scope, in the order to read them."""

    scope: str
    lessons: tuple[EntrySummary, ...]

    def as_json(self) -> dict[str, Any]:
        """The lessons in the form of the program `lesson`."""
        lessons = []
        for summary in self.lessons:
            lessons.append(lesson_json(summary))
        return {"scope": self.scope, "lessons": lessons}

    def for_agents(self) -> dict[str, Any]:
        """Without what is the same for all lessons of the group."""
        lessons = []
        for summary in self.lessons:
            data = lesson_json(summary)
            for key in ("id", "scope", "status", "created", "path"):
                del data[key]
            lessons.append(data)
        return {"scope": self.scope, "lessons": lessons}


class Loaded(NamedTuple):
    """Lessons that a session begins with.

    `active` counts also those beyond the limit of the call.
    """

    groups: tuple[LessonGroup, ...]
    active: int
    notes: tuple[str, ...] = ()


def lesson_json(summary: EntrySummary, *, scored: bool = False) -> dict[str, Any]:
    """A lesson of a list in the form of the program `lesson`."""
    data: dict[str, Any] = {
        "id": summary.id,
        "handle": summary.handle,
        "scope": named(summary.project, summary.stated.scope),
        "from": summary.stated.from_ or None,
        "status": summary.status or None,
        "created": summary.created or None,
        "pattern": summary.stated.pattern or None,
        "title": summary.title,
        "path": summary.path,
    }
    if scored:
        data["score"] = summary.score
    return data


def shown_json(value: Shown) -> dict[str, Any]:
    """A lesson in full in the form of the program `lesson`."""
    data = lesson_json(value.entry)
    for key in ("reason", "promoted_to"):
        if value.frontmatter.get(key):
            data[key] = value.frontmatter[key]
    data["parsed"] = pattern_of(value.frontmatter)
    data["text"] = value.body
    return data


def show(library: Library, ref: str) -> Shown:
    """One lesson in full. Raises as `lesson`."""
    _, summary = lesson(library.holding, ref)
    return app.entries.show(library, summary.id)


def load(library: Library, scope: str | None = None, *, limit: int | None = None) -> Loaded:
    """The active lessons that hold everywhere, then those of `scope`.

    In each the firm first, then the oldest.

    Of more than `limit` the firm and the newest are taken; what is superseded, or did harm and is
    not firm, stays away.
    """
    reading = library.reading
    catalog = reading.current()
    left_out = superseded(reading) | _harmful(reading)
    if limit is None:
        order = "created"
    else:
        order = "firm"
    # both are the same where no scope is asked for, or the global one
    places = list(dict.fromkeys((place_of(None), place_of(scope))))
    scopes: dict[str, str] = {}
    every: list[EntrySummary] = []
    total = 0
    for place in places:
        query = _lessons_at(place, order, limit or 0, left_out)
        lessons = catalog.select(query)
        every += lessons
        scopes |= {summary.id: place.name for summary in lessons}
        total += len(lessons) if limit is None else catalog.count(query)
    # the limit holds for all scopes together
    every.sort(key=lambda summary: (is_firm(summary), *_age(summary)), reverse=True)
    taken = every[:limit]
    taken.sort(key=lambda summary: (not is_firm(summary), *_age(summary)))
    groups = []
    for place in places:
        lessons = [summary for summary in taken if scopes[summary.id] == place.name]
        if lessons:
            groups.append(LessonGroup(place.name, tuple(lessons)))
    return Loaded(tuple(groups), total, tuple(reading.notes()))


def _lessons_at(place: ScopePlace, order: str, limit: int, left_out: frozenset[str]) -> Filter:
    return Filter(
        kinds=LESSONS,
        project=place.project,
        sort=order,
        limit=limit,
        without=left_out,
        scopes=place.scopes,
    )


def _harmful(reading: Reading) -> frozenset[str]:
    """The lessons that did more harm than good, but for the firm ones.

    Anybody can push records of use.
    """
    names: list[str] = []
    for repo in reading.every:
        names += repo.learned.harmful()
    if not names:
        return frozenset()
    summaries = reading.catalog.many(names)
    results = []
    for name, summary in summaries.items():
        if not is_firm(summary):
            results.append(name)
    return frozenset(results)


def _age(summary: EntrySummary) -> tuple[str, str]:
    return summary.created, summary.id
