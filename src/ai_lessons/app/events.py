"""What happened to entries, written down: the log of one repository, which clones may share."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ai_lessons.app import secrets
from ai_lessons.errors import AiLessonsError, UsageError
from ai_lessons.git.event_log import EventLog
from ai_lessons.git.store import Job
from ai_lessons.git.worktree import shared_files
from ai_lessons.model import entries, events, expression
from ai_lessons.model.layout import CONFIG_PATH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from ai_lessons.app.open_repository import OpenRepository
    from ai_lessons.model.events import Event

# Bytes of events that wait before a write commits them, too: not every lesson shall bring a second
# commit
SHARE_BYTES = 16 * 1024

_SETTING = expression(rb"\bevents[\"']?\s*:\s*[\"']?(\w*)")
_ON = frozenset((b"true", b"auto", b"local", b"shared"))
_EVENT_ID = expression(rb'"id": ?"([0-7][0-9A-HJKMNP-TV-Z]{25})"')


class Events:
    """The events of one repository. Nothing is opened before it is asked for."""

    def __init__(self, repo: OpenRepository) -> None:
        self._repo = repo
        self.log = EventLog(repo.store.root, repo.store.worktree.common_state_dir)

    @property
    def recording(self) -> bool:
        """Whether events are recorded at all.

        YAML is loaded only where the settings could say no.
        """
        try:
            values = _SETTING.findall(self._repo.store.read(CONFIG_PATH))
        except AiLessonsError:
            # where the settings cannot be read, the defaults hold
            return True
        return set(values) <= _ON or self._repo.reading_config.events

    # --- what happens is written down ---

    def record(self, happened: Iterable[Event]) -> None:
        """Write events down; ids and times are set here where they are not yet.

        Nothing where nothing is recorded. Raises StorageFailed: the log cannot be written.
        UsageError: a note holds a secret.
        """
        new = list(happened)
        if not new or not self.recording:
            return
        for event in new:
            if event.note and secrets.secrets_in(event.note):
                raise UsageError(
                    "the note holds what looks like a secret, and notes are shared",
                    hint="say it without",
                )
        now, session = self._repo.options.now(), secrets.masked(self._repo.options.session or "")
        lines = []
        for event in stamped(new, now):
            masked = event._replace(session=secrets.masked(event.session) or session)
            lines.append(events.line_of(masked))
        with shared_files(self._repo.store.worktree):
            self.log.append(lines, f"{now.astimezone(UTC):%Y-%m}")

    def record_if_possible(self, happened: Iterable[Event]) -> list[str]:
        """`record`, for jobs whose answer does not depend on it; a note if it could not be."""
        try:
            self.record(happened)
        except AiLessonsError as error:
            return [f"what was used could not be written down: {error.message}"]
        return []

    def share(self, *, at_least: int = SHARE_BYTES) -> tuple[list[str], list[str]]:
        """Put this clone's events into the repository, as a job of its own.

        If they are shared and so many bytes wait. Returns the commit, if there is one already, and
        notes. Raises nothing: events can wait for the next job.
        """
        try:
            if not self._shared:
                return [], []
            changes = self.log.unshared(at_least=at_least)
            if not changes:
                return [], []
            self._repo.set_autocommit()
            commit = self._repo.store.apply(Job("Record events", changes)).commit
        except AiLessonsError as error:
            return [], [f"events are not shared: {error.message}"]
        return [commit] if commit else [], []

    @property
    def _shared(self) -> bool:
        """Whether other clones get them. Raises InvalidEntry: the settings cannot be read."""
        config, store = self._repo.reading_config, self._repo.store
        if config.events_shared is None:
            # where commits are the user's to make, files that change by themselves would be in the
            # way
            return store.commits(config.autocommit)
        return config.events_shared and not store.protected

    # --- those of other repositories ---

    def take_over(
        self, lines: Iterable[Mapping[str, Any]], arrived: AbstractSet[str], *, dry_run: bool
    ) -> tuple[int, int, tuple[str, ...]]:
        """Write down events of another repository that are not here yet.

        How many, about how many parameters, notes. `lines` are JSON objects; `arrived` are the ids
        of entries that come along with them, and the names of parameters.
        """
        new = self._new(lines, arrived)
        if new and not self.recording and not dry_run:
            return 0, 0, ("this repository records no events, so none were taken over",)
        by_month: dict[str, list[bytes]] = {}
        for event in sorted(new.values()):
            by_month.setdefault(event.at[:7], []).append(events.line_of(event))
        if not dry_run:
            for month, rows in sorted(by_month.items()):
                self.log.append(rows, month)
        parameters = {event.entry for event in new.values() if event.event in events.TURNS}
        return len(new), len(parameters), ()

    def _new(
        self, lines: Iterable[Mapping[str, Any]], arrived: AbstractSet[str]
    ) -> dict[str, Event]:
        """The events of these lines that are about something here, and in no log yet."""
        subjects = {*arrived, *(place.id for place in self._repo.catalog.locations())}
        new: dict[str, Event] = {}
        for line in lines:
            event = events.read_line(json.dumps(line))
            if event is None or event.event not in {*events.USES, *events.TURNS}:
                continue
            if event.entry not in subjects:
                continue
            session = events.IMPORTED + event.session.removeprefix(events.IMPORTED)
            note = event.note
            if secrets.secrets_in(note):
                note = ""
            new[event.id] = event._replace(session=session, note=note)
        if new:
            for file in self.log.files():
                for name in _EVENT_ID.findall(file.read()):
                    new.pop(name.decode(), None)
        return new

    def all_events(self, about: set[str]) -> list[dict[str, Any]]:
        """Every event about these entries and parameters, by id.

        Ids that say different things are left out.
        """
        by_id: dict[str, Event] = {}
        ambiguous: set[str] = set()
        for event in self._logged():
            is_turn = event.event in events.TURNS
            if event.event == events.COUNTED or not (event.entry in about or is_turn):
                continue
            here = event._replace(session=event.session.removeprefix(events.IMPORTED))
            if by_id.setdefault(here.id, here) != here:
                ambiguous.add(here.id)
        rows: list[dict[str, Any]] = []
        for name in sorted(by_id.keys() - ambiguous):
            rows.append(json.loads(events.line_of(by_id[name])))
        return rows

    def _logged(self) -> Iterator[Event]:
        for file in self.log.files():
            for line in file.read().decode("utf-8", "replace").split("\n"):
                event = None
                if line:
                    event = events.read_line(line)
                if event is not None:
                    yield event


def stamped(happened: Iterable[Event], now: datetime) -> list[Event]:
    """The events with an id and a time, where they have none yet."""
    at, milliseconds = f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", int(now.timestamp() * 1000)
    results: list[Event] = []
    for event in happened:
        entry_id = event.id or entries.ulid(milliseconds, os.urandom(10))
        results.append(event._replace(id=entry_id, at=event.at or at))
    return results
