"""What happened to entries: writing it down, and what it adds up to, as the other jobs ask for it."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import AiLessonsError, UsageError
from ai_lessons.index.usage_cache import UsageCache
from ai_lessons.knowledge import entries
from ai_lessons.knowledge.entries import Kind, Light, Status
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.knowledge.relations import derived_from
from ai_lessons.learning import choose, events, fold
from ai_lessons.learning.choose import TIRED, unused
from ai_lessons.learning.events import Event
from ai_lessons.library import secret_scan
from ai_lessons.library.reports import Judged
from ai_lessons.repository.events import EventLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ai_lessons.learning.fold import ParameterState, UsageTally
    from ai_lessons.library.open_repository import OpenRepository

AT_ONCE = 2.0  # Seconds between an edit and its commit where one job does both; git keeps whole seconds
JUDGED = 5  # Entries with the best feedback, and as many with the worst
BATCH = 500  # Events of another repository that are written down at once

SHARE_BYTES = 16 * 1024
"""So much has to wait before a write takes it along: not every lesson shall bring a commit of events with it."""

_SETTING = re.compile(rb"\bevents[\"']?\s*:\s*[\"']?(\w*)")
_ON = frozenset((b"true", b"auto", b"local", b"shared"))
_EVENT_ID = re.compile(rb'"id": ?"([0-7][0-9A-HJKMNP-TV-Z]{25})"')


class Usages:
    """The events of one repository. Nothing is opened before it is asked for."""

    def __init__(self, repo: OpenRepository) -> None:
        self._repo = repo
        self.log = EventLog(repo.store.root, repo.store.state_dir)
        self._cache: UsageCache | None = None

    def close(self) -> None:
        """Close the cache."""
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    @property
    def recording(self) -> bool:
        """Whether events are recorded at all. YAML is loaded only where the settings could say no."""
        try:
            values = _SETTING.findall(self._repo.store.read(CONFIG_PATH))
        except AiLessonsError:  # where the settings cannot be read, the defaults hold
            return True
        return set(values) <= _ON or self._repo.reading_config.events

    @property
    def cache(self) -> UsageCache | None:
        """The sums, with all that is in the logs now; None while nothing ever happened."""
        files = self.log.files()
        if not files:
            return None
        if self._cache is None:
            self._cache = UsageCache(self._repo.store.state_dir / "usage.sqlite", events.USES)
        self._cache.refresh(files, events.read_lines)
        return self._cache

    def history(self, entry_id: str) -> list[tuple[str, str]]:
        """(time, word) of every event of an entry, the oldest first."""
        cache = self.cache
        return cache.history(entry_id) if cache else []

    def tallies(self, entries: Iterable[str] | None = None) -> dict[str, fold.Tallies]:
        """What happened to each of these entries, or to all; those to which nothing happened are left out."""
        cache = self.cache
        rows = cache.tallies(entries) if cache else {}
        local = cache.local_counts(rows) if cache else {}
        return {entry: fold.tallies(row, local.get(entry, ())) for entry, row in rows.items()}

    def parameters(self) -> dict[str, ParameterState]:
        """The parameters of this repository as they stand."""

        def fold_lines(lines: list[str]) -> str:
            return fold.dumped(fold.fold_parameters(filter(None, map(events.read_line, lines))))

        cache = self.cache
        return fold.fold_parameters((), fold.loaded(cache.parameters(fold_lines) if cache else ""))

    def edge_of(self, entry_id: str) -> Mapping[str, float]:
        """Of which parameters this entry was the last one through when it last came here; empty once it was judged.

        Only of this session, if the session has a name.
        """
        name = self._repo.options.session
        session = events.clean_session(name) if name else None
        for line in reversed(self.log.recent().split(b"\n")):
            event = events.read_line(line.decode("utf-8", "replace")) if entry_id.encode() in line else None
            if event and event.entry == entry_id and session in {None, event.session}:
                if event.event in events.OUTCOMES:
                    break
                if event.event == events.INJECTED:
                    return event.edge
        return {}

    def record(self, happened: Iterable[Event]) -> None:
        """Write events down; ids and times are set here where they are not yet. Nothing where nothing is recorded.

        Raises StorageFailed: the log cannot be written. UsageError: a note holds a secret.
        """
        new = list(happened)
        if not new or not self.recording:
            return
        if any(event.note and secret_scan.secrets_in(event.note) for event in new):
            raise UsageError("the note holds what looks like a secret, and notes are shared", hint="say it without")
        now, session = self._repo.options.now(), secret_scan.masked(self._repo.options.session or "")
        masked = (event._replace(session=secret_scan.masked(event.session) or session) for event in stamped(new, now))
        self.log.append([events.line_of(event) for event in masked], f"{now.astimezone(UTC):%Y-%m}")

    def record_if_possible(self, happened: Iterable[Event]) -> list[str]:
        """`record`, for jobs whose answer does not depend on it; a note if it could not be."""
        try:
            self.record(happened)
        except AiLessonsError as error:
            return [f"what was used could not be written down: {error.message}"]
        return []

    def note_status(self, light: Light, status: str | None) -> None:
        """Write down that an entry, which stood as `light` says, was marked wrong or is active again."""
        wrong, before = Status.WRONG.value, light.details.get("status")
        word = events.WRONG if status == wrong != before else ""
        if status == Status.ACTIVE.value and (before == wrong or self.silent([light])):
            word = events.RESTORED
        if word:
            self.record_if_possible([Event("", "", word, light.id)])

    def share(self, *, at_least: int = SHARE_BYTES) -> tuple[list[str], list[str]]:
        """Put this clone's events into the repository, as a job of its own, if they are shared and so many bytes wait.

        The commit, if there is one already, and notes: events are in no hurry, so what is in their way is no error of
        the job that takes them along.
        """
        try:
            # where commits are the user's to make, files that change by themselves would be in the way
            config = self._repo.reading_config
            shared = (
                self._repo.store.commits(config.autocommit) if config.events_shared is None else config.events_shared
            )
            changes = self.log.unshared(at_least=at_least) if shared else []
            commit = self._repo.commit_events(changes) if changes else None
        except AiLessonsError as error:
            return [], [f"events are not shared: {error.message}"]
        return [commit] if commit else [], []

    def of(self, light: Light) -> UsageTally:
        """How one entry has done. The catalog is up to date."""
        return self.several([light])[light.id]

    def several(self, lights: Sequence[Light]) -> dict[str, UsageTally]:
        """How entries have done, by id; those nothing happened to stand where their author put them."""
        by_id = {light.id: light for light in lights}
        lessons = [entry_id for entry_id, light in by_id.items() if light.kind is Kind.LESSON]
        parents = {lesson: derived_from(self._repo.catalog.edges(lesson), lesson) for lesson in lessons}
        parent_ids = {parent for ids in parents.values() for parent in ids}
        tallies = self.tallies({*by_id, *parent_ids})
        with_parents = by_id | self._repo.catalog.many(parent_ids - set(by_id))
        usages = {
            entry_id: _usage(light, tallies, [with_parents[x] for x in parents.get(entry_id, ()) if x in with_parents])
            for entry_id, light in by_id.items()
        }
        for lesson in lessons:
            usage = usages[lesson]
            if unused(usage.tallies) and (since := self._unused_since_edit(by_id[lesson])) < usage.tallies.unused:
                usages[lesson] = usage._replace(tallies=usage.tallies._replace(unused=since))
        return usages

    def _unused_since_edit(self, light: Light) -> int:
        """In how many sessions an entry came since its file was edited, however that was done.

        A file that is as in its last commit is as old as that: a clone or a checkout makes it anew.
        """
        cache, path = self.cache, self._repo.file_of(light)
        if cache is None:
            return 0
        try:
            edited = (self._repo.store.root / path).lstat().st_mtime
        except OSError:  # gone since the catalog looked
            return 0
        since = _came_since(cache, light.id, edited)
        if since < TIRED and not self._repo.history.dirty(path):
            for revision in self._repo.history.log(path, 1):
                committed = datetime.fromisoformat(revision.when).timestamp()
                since = _came_since(cache, light.id, committed) if committed < edited - AT_ONCE else since
        return since

    def silent(self, lights: Iterable[Light]) -> dict[str, str]:
        """Why these entries are not shown unasked, by id; those that are shown are left out."""
        bar = self.parameters()[fold.CONFIDENCE].value
        by_id = {light.id: light for light in lights}
        usages = self.several(list(by_id.values()))
        return {name: why for name, usage in usages.items() if (why := choose.silent(by_id[name], usage, bar))}

    def standings(self, lights: Iterable[Light]) -> dict[str, float]:
        """By how much what was learned moves each lesson from here in a search; those that it does not are left out."""
        lessons = [x for x in lights if x.kind is Kind.LESSON and x.tier == self._repo.options.tier]
        if not lessons or not self.log.files():
            return {}
        return {entry_id: usage.standing for entry_id, usage in self.several(lessons).items() if usage.standing != 1.0}

    def judged(self) -> tuple[tuple[Judged, ...], tuple[Judged, ...]]:
        """The entries with the best feedback, best first, and those with the worst, worst first. None is in both."""
        tallies = self.tallies()
        lights = self._repo.catalog.many(entry for entry, tally in tallies.items() if tally.outcomes)
        worth = {name: fold.worth(tallies[name]) for name in sorted(lights)}
        best = sorted(worth, key=lambda name: -worth[name])
        good = [name for name in best if worth[name] > 0][:JUDGED]
        bad = [name for name in reversed(best) if worth[name] < 0][:JUDGED]
        judged = {}
        for name, usage in self.several([lights[name] for name in (*good, *bad)]).items():
            tally, light = usage.tallies, lights[name]
            counts = (tally.helpful, tally.ignored, tally.contradicted, round(usage.confidence, 6))
            judged[name] = Judged(light.handle, light.title, *counts)
        return tuple(judged[name] for name in good), tuple(judged[name] for name in bad)

    def take_over(
        self, lines: Iterable[Mapping[str, Any]], arrived: AbstractSet[str], *, dry_run: bool
    ) -> tuple[int, int, tuple[str, ...]]:
        """Write down events of another repository that are not here yet: how many, about how many parameters, notes.

        `lines` are JSON objects; `arrived` are the ids of entries that come along with them.
        """
        subjects = {*arrived, *fold.DEFINITIONS, *(place.id for place in self._repo.catalog.locations())}
        new: dict[str, Event] = {}
        for line in lines:
            event = events.read_line(json.dumps(line))
            if event and event.event in {*events.USES, *events.TURNS} and event.entry in subjects:
                new[event.id] = event._replace(note="") if secret_scan.secrets_in(event.note) else event
        logged = (name.decode() for file in self.log.files() for name in _EVENT_ID.findall(file.read())) if new else ()
        for name in logged:
            new.pop(name, None)
        if new and not self.recording and not dry_run:
            return 0, 0, ("this repository records no events, so none were taken over",)
        if not dry_run:
            self._append_by_month(sorted(new.values()))
        return len(new), len({event.entry for event in new.values() if event.event in events.TURNS}), ()

    def _append_by_month(self, new: Sequence[Event]) -> None:
        """In batches: a log begins a new part between two."""
        for month in sorted({event.at[:7] for event in new}):
            lines = [events.line_of(event) for event in new if event.at[:7] == month]
            for start in range(0, len(lines), BATCH):
                self.log.append(lines[start : start + BATCH], month)

    def all_events(self, entries: set[str]) -> list[dict[str, Any]]:
        """Every event about these entries and parameters, by id; ids that say different things are left out."""
        by_id: dict[str, Event] = {}
        ambiguous: set[str] = set()
        for file in self.log.files():
            for line in file.read().decode("utf-8", "replace").split("\n"):
                event = events.read_line(line) if line else None
                if event is None or not (event.entry in entries or event.event in events.TURNS):
                    continue
                if by_id.setdefault(event.id, event) != event:
                    ambiguous.add(event.id)
        return [json.loads(events.line_of(by_id[name])) for name in sorted(by_id.keys() - ambiguous)]


def stamped(happened: Iterable[Event], now: datetime) -> list[Event]:
    """The events with an id and a time, where they have none yet."""
    at, milliseconds = f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", int(now.timestamp() * 1000)
    return [x._replace(id=x.id or entries.ulid(milliseconds, os.urandom(10)), at=x.at or at) for x in happened]


def _came_since(cache: UsageCache, entry_id: str, seconds: float) -> int:
    return cache.sessions_since(entry_id, entries.ulid(int(seconds * 1000), bytes(10)))


def _usage(light: Light, tallies: Mapping[str, fold.Tallies], parents: Sequence[Light]) -> UsageTally:
    prior = fold.prior(light.details.get("confidence"))
    proven = [fold.usage(tallies[x.id], fold.prior(x.details.get("confidence"))) for x in parents if x.id in tallies]
    start = fold.inherited(prior, proven)
    brought = light.details.get("start")
    if not proven and isinstance(brought, float):  # the events of its original lie in another tier
        start = brought
    usage = fold.usage(tallies.get(light.id, fold.NOTHING), start)
    return usage._replace(standing=fold.standing(usage, prior))
