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
    from ai_lessons.library.opened import Library, Reading
    from ai_lessons.library.session import RepositorySession

CACHE_FILE = "usage.sqlite"
AT_ONCE = 2.0  # Seconds between an edit and its commit where one job does both; git keeps whole seconds

SHARE_BYTES = 16 * 1024
"""So much has to wait before a write takes it along: not every lesson shall bring a commit of events with it."""

_SAID = re.compile(rb"\bevents[\"']?\s*:\s*[\"']?(\w*)")
_ON = frozenset((b"true", b"auto", b"local", b"shared"))


class Usages:
    """The events of one repository. Nothing is opened before it is asked for."""

    def __init__(self, repo: RepositorySession) -> None:
        self._repo = repo
        self.log = EventLog(repo.store.root, repo.store.state_dir)
        self._cache: UsageCache | None = None

    def close(self) -> None:
        """Let go of the cache."""
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    @property
    def recording(self) -> bool:
        """Whether events are recorded at all. YAML is loaded only where the settings could say no."""
        try:
            said = _SAID.findall(self._repo.store.read(CONFIG_PATH))
        except AiLessonsError:  # where the settings cannot be read, the defaults hold
            return True
        return set(said) <= _ON or self._repo.reading_config.events

    @property
    def cache(self) -> UsageCache | None:
        """The sums, with all that is in the logs now; None while nothing ever happened."""
        files = self.log.files()
        if not files:
            return None
        if self._cache is None:
            self._cache = UsageCache(self._repo.store.state_dir / CACHE_FILE, events.USES)
        self._cache.refresh(files, events.read_lines)
        return self._cache

    def tallies(self, entries: Iterable[str] | None = None) -> dict[str, fold.Tallies]:
        """What happened to each of these entries, or to all; those to which nothing happened are left out."""
        cache = self.cache
        rows = cache.tallies(entries) if cache else {}
        local = cache.local_counts(rows) if cache else {}
        return {entry: fold.tallies(row, local.get(entry, ())) for entry, row in rows.items()}

    def parameters(self) -> dict[str, ParameterState]:
        """The parameters of this repository as they stand."""
        cache = self.cache
        return fold.fold_parameters((), fold.loaded(cache.parameters(_turned) if cache else ""))

    def edge_of(self, entry_id: str) -> Mapping[str, float]:
        """Of which parameters this entry was the last one through when it last came here; empty once it was judged.

        Only of this session, if the session has a name.
        """
        wanted = self._repo.options.session
        session = events.clean_session(wanted) if wanted else None
        for line in reversed(self.log.recent().split(b"\n")):
            one = events.read_line(line.decode("utf-8", "replace")) if entry_id.encode() in line else None
            if one and one.entry == entry_id and session in {None, one.session}:
                if one.event in events.OUTCOMES:
                    break
                if one.event == events.INJECTED:
                    return one.edge
        return {}

    def record(self, happened: Iterable[Event]) -> None:
        """Write events down; ids and times are set here where they are not yet. Nothing where nothing is recorded.

        Raises StorageFailed: the log cannot be written. UsageError: a note holds a secret.
        """
        new = list(happened)
        if not new or not self.recording:
            return
        if any(one.note and secret_scan.secrets_in(one.note) for one in new):
            raise UsageError("the note holds what looks like a secret, and notes are shared", hint="say it without")
        now, session = self._repo.options.now(), secret_scan.masked(self._repo.options.session or "")
        masked = (one._replace(session=secret_scan.masked(one.session) or session) for one in stamped(new, now))
        self.log.append([events.line_of(one) for one in masked], f"{now.astimezone(UTC):%Y-%m}")

    def record_if_possible(self, happened: Iterable[Event]) -> list[str]:
        """`record`, for jobs whose answer does not depend on it; a note if it could not be."""
        try:
            self.record(happened)
        except AiLessonsError as error:
            return [f"what was used could not be written down: {error.message}"]
        return []

    def note_status(self, light: Light, status: str | None) -> list[str]:
        """Write down that an entry, which stood as `light` says, was marked wrong or is active again."""
        wrong, before = Status.WRONG.value, light.details.get("status")
        word = events.WRONG if status == wrong != before else ""
        if status == Status.ACTIVE.value and (before == wrong or self.silent([light])):
            word = events.RESTORED
        return self.record_if_possible([Event("", "", word, light.id)]) if word else []

    def share(self, *, at_least: int = SHARE_BYTES) -> tuple[list[str], list[str]]:
        """Put this clone's events into the repository, as a job of its own, if they are shared and so many bytes wait.

        The commit, if there is one already, and notes: events are in no hurry, so what is in their way is no error of
        the job that takes them along.
        """
        try:
            changes = self.log.unshared(at_least=at_least) if self._shared else []
            commit = self._repo.commit_events(changes) if changes else None
        except AiLessonsError as error:
            return [], [f"events are not shared: {error.message}"]
        return [commit] if commit else [], []

    @property
    def _shared(self) -> bool:
        """Where commits are the user's to make, files that change by themselves would be in the way."""
        config = self._repo.reading_config
        if config.events_shared is None:
            return self._repo.store.commits(config.autocommit)
        return config.events_shared

    def of(self, light: Light) -> UsageTally:
        """How one entry has done. The catalog is up to date."""
        return self.several([light])[light.id]

    def several(self, lights: Sequence[Light]) -> dict[str, UsageTally]:
        """How entries have done, by id; those nothing happened to stand where their author put them."""
        wanted = {light.id: light for light in lights}
        lessons = [one for one, light in wanted.items() if light.kind is Kind.LESSON]
        parents = {one: derived_from(self._repo.catalog.edges(one), one) for one in lessons}
        told = self.tallies({*wanted, *(one for several in parents.values() for one in several)})
        known = wanted | self._repo.catalog.many({one for several in parents.values() for one in several} - set(wanted))
        found = {
            entry_id: _usage(light, told, [known[one] for one in parents.get(entry_id, ()) if one in known])
            for entry_id, light in wanted.items()
        }
        for entry_id in lessons:
            used = found[entry_id]
            if unused(used.tallies) and (since := self._unused_since_edit(wanted[entry_id])) < used.tallies.unused:
                found[entry_id] = used._replace(tallies=used.tallies._replace(unused=since))
        return found

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
            for one in self._repo.history.log(path, 1):
                committed = datetime.fromisoformat(one.when).timestamp()
                since = _came_since(cache, light.id, committed) if committed < edited - AT_ONCE else since
        return since

    def silent(self, lights: Sequence[Light]) -> dict[str, str]:
        """Why these entries are told to nobody who does not ask, by id; those that are told are left out."""
        bar = self.parameters()[fold.CONFIDENCE].value
        known = {light.id: light for light in lights}
        return {one: why for one, used in self.several(lights).items() if (why := choose.silent(known[one], used, bar))}

    def standings(self, lights: Iterable[Light]) -> dict[str, float]:
        """By how much what was learned moves each lesson from here in a search; those that it does not are left out."""
        lessons = [one for one in lights if one.kind is Kind.LESSON and one.tier == self._repo.options.tier]
        if not lessons or not self.log.files():
            return {}
        return {entry_id: used.standing for entry_id, used in self.several(lessons).items() if used.standing != 1.0}


def stamped(happened: Iterable[Event], now: datetime) -> list[Event]:
    """The events with an id and a time, where they have none yet."""
    at, milliseconds = f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", int(now.timestamp() * 1000)
    return [one._replace(id=one.id or entries.ulid(milliseconds, os.urandom(10)), at=one.at or at) for one in happened]


def history(opened: Library, ref: str) -> list[tuple[str, str]]:
    """(time, word) of every event of an entry, the oldest first. Raises NotFound, AmbiguousName."""
    repo, light = opened.holding(ref)
    cache = repo.usages.cache
    return cache.history(light.id) if cache else []


def record(opened: Library, happened: Iterable[Event]) -> list[str]:
    """Write each event down where its entry lies; notes where that could not be."""
    by_place: dict[RepositorySession, list[Event]] = {}
    for event in happened:
        by_place.setdefault(opened.reading.of(event.entry), []).append(event)
    return [note for place, events in by_place.items() for note in place.usages.record_if_possible(events)]


def several(reading: Reading, lights: Sequence[Light]) -> dict[str, UsageTally]:
    """How entries have done, by id, as the repositories say in which they lie."""
    found: dict[str, UsageTally] = {}
    for place in reading.every:
        found |= place.usages.several([light for light in lights if light.tier == place.options.tier])
    return found


def silent(reading: Reading, lights: Iterable[Light]) -> dict[str, str]:
    """As `Usages.silent`, as the repositories say in which the entries lie."""
    several = list(lights)
    return {
        entry_id: why
        for place in reading.every
        for entry_id, why in place.usages.silent([one for one in several if one.tier == place.options.tier]).items()
    }


def _came_since(cache: UsageCache, entry_id: str, seconds: float) -> int:
    return cache.sessions_since(entry_id, entries.ulid(int(seconds * 1000), bytes(10)))


def _turned(lines: list[str]) -> str:
    """What the parameters come to after these lines of their log."""
    return fold.dumped(fold.fold_parameters(filter(None, map(events.read_line, lines))))


def _usage(light: Light, told: Mapping[str, fold.Tallies], parents: Sequence[Light]) -> UsageTally:
    own = fold.prior(light.details.get("confidence"))
    proven = [fold.usage(told[one.id], fold.prior(one.details.get("confidence"))) for one in parents if one.id in told]
    start = fold.inherited(own, proven)
    brought = light.details.get("start")
    if not proven and isinstance(brought, float):  # the events of its original lie in another tier
        start = brought
    used = fold.usage(told.get(light.id, fold.NOTHING), start)
    return used._replace(standing=fold.standing(used, own))


FEW = 5  # Entries named at either end


def judged(repo: RepositorySession) -> tuple[tuple[Judged, ...], tuple[Judged, ...]]:
    """The entries with the best feedback, best first, and those with the worst, worst first. None is in both."""
    tallies = repo.usages.tallies()
    known = repo.catalog.many(entry for entry, had in tallies.items() if had.outcomes)
    worth = {one: fold.worth(tallies[one]) for one in sorted(known)}
    best = sorted(worth, key=lambda one: -worth[one])
    good = [one for one in best if worth[one] > 0][:FEW]
    bad = [one for one in reversed(best) if worth[one] < 0][:FEW]
    told = {}
    for one, used in repo.usages.several([known[one] for one in (*good, *bad)]).items():
        had, light = used.tallies, known[one]
        counts = (had.helpful, had.ignored, had.contradicted, round(used.confidence, 6))
        told[one] = Judged(light.handle, light.title, *counts)
    return tuple(told[one] for one in good), tuple(told[one] for one in bad)


# --- from and to other repositories ---

PIECE = 500  # Events of another repository that are written down at once
_EVENT_ID = re.compile(rb'"id": ?"([0-7][0-9A-HJKMNP-TV-Z]{25})"')


def take_over(
    repo: RepositorySession, told: Iterable[Mapping[str, Any]], arrived: AbstractSet[str], *, dry_run: bool
) -> tuple[int, int, tuple[str, ...]]:
    """Write down those events of another repository that are not here yet: how many, about how many parameters, notes.

    `told` are JSON objects; `arrived` are the ids of entries that come along with them.
    """
    known = arrived | {place.id for place in repo.catalog.locations()}
    wanted = []
    for said in told:
        one = events.read_line(json.dumps(said))
        if one and one.event in {*events.USES, *events.TURNS} and (one.entry in known or one.entry in fold.DEFINITIONS):
            wanted.append(one._replace(note="") if secret_scan.secrets_in(one.note) else one)
    log = repo.usages.log
    there = {name.decode() for file in log.files() for name in _EVENT_ID.findall(file.read())} if wanted else set()
    new = {one.id: one for one in wanted if one.id not in there}
    if new and not repo.usages.recording and not dry_run:
        return 0, 0, ("this repository records no events, so none were taken over",)
    if not dry_run:
        _append(log, sorted(new.values()))
    return len(new), len({one.entry for one in new.values() if one.event in events.TURNS}), ()


def _append(log: EventLog, new: Sequence[Event]) -> None:
    """By months, in pieces: a log begins a new part between two."""
    for month in sorted({one.at[:7] for one in new}):
        lines = [events.line_of(one) for one in new if one.at[:7] == month]
        for start in range(0, len(lines), PIECE):
            log.append(lines[start : start + PIECE], month)


def all_events(repo: RepositorySession, entries: set[str]) -> list[dict[str, Any]]:
    """Every event about these entries and parameters, by id; ids that say different things are left out."""
    found: dict[str, Event] = {}
    void: set[str] = set()
    for file in repo.usages.log.files():
        for line in file.read().decode("utf-8", "replace").split("\n"):
            one = events.read_line(line) if line else None
            wanted = one and (one.entry in entries or one.event in events.TURNS)
            if one and wanted and found.setdefault(one.id, one) != one:
                void.add(one.id)
    return [json.loads(events.line_of(found[name])) for name in sorted(found.keys() - void)]
