"""Jobs of the program `lesson`: patterns written, listed, loaded, marked wrong and promoted.

What reads needs the catalog alone, because `load` runs at the start of every session of every agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Kind, Status
from ai_lessons.library.answers import Answer, Listing, Query
from ai_lessons.library.lessons.lesson_answers import LessonShown, Loaded
from ai_lessons.library.lessons.lesson_lookup import is_firm, lesson

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from ai_lessons.knowledge.entries import Light, Pattern
    from ai_lessons.library.lessons.lesson_answers import LessonChange, Targets
    from ai_lessons.library.parts import Parts
    from ai_lessons.library.tiers.opened import Reading, Tiers
    from ai_lessons.library.writes import Imported

ORIGINS = ("ai", "user")
_LESSONS = frozenset({Kind.LESSON})


class Lessons:
    """A lesson's scope is its project. `by` is who calls, ai or user: what a person stated only a person unsays."""

    def __init__(self, parts: Parts, tiers: Tiers) -> None:
        self._parts, self._tiers = parts, tiers

    def add(self, pattern: Pattern, *, scope: str = "", by: str = "ai") -> LessonChange:
        """A new lesson; `change` says what became of it.

        The same pattern in the same scope is not written twice (unchanged); a person who states what an agent has
        drafted makes it firm (confirmed).

        Raises:
            UsageError: the scope cannot be a folder. InvalidEntry: the pattern breaks the format.
        """
        from ai_lessons.library.lessons.lesson_writing import add

        return add(self._parts, pattern, scope, by)

    def list(self, *, scope: str | None = None, origin: str | None = None, every: bool = False) -> Listing:
        """Lessons, oldest first; the active ones, or with `every` also the wrong and the promoted."""
        status = None if every else Status.ACTIVE
        reading = self._tiers.reading
        found = reading.current().select(Filter(kinds=_LESSONS, project=scope, status=status, sort="created"))
        entries = tuple(one for one in found if origin in {None, one.details.get("from")})
        return Listing(entries, len(entries), tuple(reading.notes()))

    def load(self, scope: str | None = None, *, limit: int | None = None) -> Loaded:
        """The active lessons that hold everywhere, then those of `scope`; in each the firm first, then the oldest.

        Of more than `limit` the firm and the newest are taken. What something newer supersedes stays away, and what did
        more harm than good, unless a person stated it.
        """
        from ai_lessons.library.relating import superseded

        reading = self._tiers.reading
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

    def show(self, ref: str) -> LessonShown:
        """One lesson in full.

        Raises:
            NotFound: no such entry. UsageError: it is not a lesson.
        """
        from ai_lessons.knowledge.entries import Entry
        from ai_lessons.library.showing import contents_of

        parts = _in(self._tiers.holding, ref)
        light = lesson(parts, ref)
        found = contents_of(parts, light)
        entry = Entry(light.id, light.kind, light.title, light.path, light.project, fields=found.fields)
        return LessonShown(light, entry.pattern, found.fields, found.body)

    def wrong(self, ref: str, reason: str = "", *, by: str = "ai") -> LessonChange:
        """Mark a lesson as wrong: it leaves all results, its file and history stay. Again only changes the reason.

        Raises:
            Refused: an agent calls, and a person stated it. NotFound; UsageError: it is not a lesson.
        """
        from ai_lessons.library.lessons.lesson_writing import wrong

        return wrong(_in(self._tiers.writing, ref), ref, reason, by)

    def promote(self, ref: str, to: str, targets: Targets) -> LessonChange:
        """Append a lesson to `skill/NAME` or `tool/NAME`, once, and mark it promoted. A file that is not there is made.

        Raises:
            UsageError: no such target, or not a lesson. Conflict: the lesson is marked wrong. Refused: a link is in
            the way of the target. StorageFailed: it cannot be written.
        """
        from ai_lessons.library.lessons.lesson_promotion import promote

        return promote(_in(self._tiers.writing, ref), ref, to, targets)

    def search(self, text: str, *, scope: str | None = None, limit: int = 10) -> Answer:
        """Active lessons that fit the words, by meaning and by words, best first."""
        from ai_lessons.library.searching import find

        hits, notes = find(self._tiers.reading, Query(text, kinds=_LESSONS, project=scope, limit=limit))
        return Answer(query=text, lessons=tuple(hits), notes=tuple(notes))

    def import_log(self, file: Path) -> Imported:
        """The lessons of a `lessons.jsonl`, each as its last entry has it, in one commit. Twice adds nothing.

        Raises:
            NotFound: no such file. InvalidEntry: it cannot be read, or no line of it is a lesson.
        """
        from ai_lessons.library.lessons.lesson_log import import_log

        return import_log(self._parts, file)


def _in(place: Callable[[str], Parts], ref: str) -> Parts:
    """The repository of a lesson; where there is none, with a word on how to find it."""
    try:
        return place(ref)
    except NotFound as error:
        error.hint = error.hint or "`lesson list` names them, with --all also the wrong and the promoted"
        raise


def _harmful(reading: Reading) -> frozenset[str]:
    had = reading.usages.tallies()
    if not any(one.contradicted for one in had.values()):
        return frozenset()
    from ai_lessons.learning.choose import harmful

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
