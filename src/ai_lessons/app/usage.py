"""What happened to entries: recorded as events, cached, and added up for the other jobs."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from ai_lessons import extensions
from ai_lessons.app import secrets
from ai_lessons.app.answers import Judged, KeptRule
from ai_lessons.errors import AiLessonsError, UsageError
from ai_lessons.git.event_log import EventLog
from ai_lessons.git.store import Job
from ai_lessons.git.worktree import shared_files
from ai_lessons.learning import selection, statistics
from ai_lessons.learning.kept import RuleSessions, line_of
from ai_lessons.learning.selection import CHOICE, unused
from ai_lessons.learning.statistics import USES, Event
from ai_lessons.model import entries, expression
from ai_lessons.model.entries import EntrySummary, Kind, Status
from ai_lessons.model.layout import CONFIG_PATH
from ai_lessons.model.links import derived_from
from ai_lessons.search.database import Database, Schema, version_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from ai_lessons.app.open_repository import OpenRepository
    from ai_lessons.git.event_log import LogFile
    from ai_lessons.learning.statistics import ParameterState, UsageTally
    from ai_lessons.search.catalog_reader import CatalogReader

OF_A_CLONE, OF_OTHERS = 2, 5
"""At most so many events of a kind about an entry count of one other clone, and of all.

Any clone can push events.
"""

_LOCAL = [f"sum(n * (word = '{word}' AND clone = ''))" for word in USES]
_REMOTE = [f"min(sum(n * (word = '{word}' AND clone <> '')), {OF_OTHERS})" for word in USES]
_SUMS = ", ".join(
    [*_LOCAL, *(f"{local} + {remote}" for local, remote in zip(_LOCAL, _REMOTE, strict=True))]
)
# holds all that a sum reads
_INDEX = "CREATE INDEX events_entry ON events (entry, word, clone, at, session)"
_TABLES = f"""
CREATE TABLE logs (
    name TEXT PRIMARY KEY, mtime INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    done INTEGER NOT NULL, digest BLOB NOT NULL, damaged INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE events (
    id TEXT PRIMARY KEY, at TEXT NOT NULL, word TEXT NOT NULL, entry TEXT NOT NULL, session TEXT NOT NULL,
    value REAL, weight REAL, clone TEXT NOT NULL
) WITHOUT ROWID;
{_INDEX};
CREATE TABLE tallies (
    entry TEXT PRIMARY KEY, {", ".join(f"local_{word} INTEGER NOT NULL" for word in USES)},
    {", ".join(f"{word} INTEGER NOT NULL" for word in USES)}, last TEXT NOT NULL, unused INTEGER NOT NULL,
    brought INTEGER NOT NULL
) WITHOUT ROWID;
"""
# raised when it is counted in another way
SCHEMA = Schema("usage cache", _TABLES, version_of(_TABLES, 15))
_LISTED = "IN (SELECT value FROM json_each(?))"
_LAST = "(SELECT coalesce(max(id), '') FROM events WHERE entry = :entry AND word IN ({}) AND clone = '')"
_USED = (
    f"'{statistics.HELPFUL}', '{statistics.FOLLOWED}', '{statistics.HELD}', '{statistics.RESTORED}'"
)
_AGAINST = f"'{statistics.IGNORED}', '{statistics.CONTRADICTED}', '{statistics.RECURRED}'"
_FOR = ", ".join(f"'{word}'" for word in statistics.SPEAKS_FOR)
_CHECKED = (statistics.IN_SCOPE, statistics.BROKEN, statistics.STOPPED, statistics.ALLOWED)
_BY_CHECKS = ", ".join(f"'{word}'" for word in _CHECKED)
_BY_TELLING = f"'{statistics.TOLD}', '{statistics.INJECTED}'"
_BROUGHT = f"session LIKE '{statistics.IMPORTED}%'"
"""Of what speaks against an entry only that counts since it was last restored here."""
_FOLD = f"""
WITH since(back, used) AS (SELECT {_LAST.format(f"'{statistics.RESTORED}'")}, {_LAST.format(_USED)})
SELECT entry, {_SUMS}, coalesce(max(last), ''), max(unused), sum(brought) FROM (
    SELECT entry, word, clone, max(CASE WHEN word <> '{statistics.LEFT_OUT}' THEN at END) AS last,
        min(sum(word NOT IN ({_AGAINST}) OR id > back), CASE WHEN clone = '' THEN count(*) ELSE {OF_A_CLONE} END) AS n,
        count(DISTINCT CASE WHEN word = '{statistics.INJECTED}' AND clone = '' AND session <> '' AND NOT {_BROUGHT}
            AND id > used THEN session END) AS unused,
        sum(word IN ({_FOR}) AND {_BROUGHT}) AS brought
    FROM events, since WHERE entry = :entry AND word <> '' GROUP BY word, clone
) GROUP BY entry
"""  # noqa: S608 - our own words
# What a ULID says of its time
_MILLISECOND = "substr(id, 1, 10)"
_KEPT = f"""
WITH seen AS (
    SELECT entry, word, CASE session WHEN '' THEN id ELSE session END AS session, min({_MILLISECOND}) AS first
    FROM events WHERE entry {_LISTED} AND clone = '' AND NOT {_BROUGHT} GROUP BY 1, 2, 3
), sessions AS (
    SELECT entry, {", ".join(f"max(word = '{word}') AS {word}" for word in (*_CHECKED, statistics.IGNORED))},
        max(word IN ({_BY_CHECKS})) AS by_check, max(word IN ({_BY_TELLING})) AS by_telling,
        min(CASE WHEN word IN ({_BY_TELLING}) THEN first END)
            <= min(CASE WHEN word IN ({_BY_CHECKS}) THEN first END) AS told_before
    FROM seen GROUP BY entry, session
)
SELECT entry, sum(by_check), sum(by_check AND NOT by_telling), sum(by_telling), sum(broken),
    sum(broken AND coalesce(told_before, 0)), sum(stopped), sum(allowed), sum(ignored)
FROM sessions GROUP BY entry
"""  # noqa: S608 - our own words
"""The counts of `RuleSessions`.

What a rule is told at a breach comes after what the check saw, so it is not before.
"""
# An event of this clone wins over others with its id
_OURS = "(excluded.clone = '' AND clone <> '')"
_EVENT = (
    "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"  # noqa: S608 - our own words
    f" word = CASE WHEN {_OURS} THEN excluded.word ELSE '' END,"
    f" entry = CASE WHEN {_OURS} THEN excluded.entry ELSE entry END,"
    " at = excluded.at, session = excluded.session, value = excluded.value, weight = excluded.weight,"
    f" clone = min(clone, excluded.clone) WHERE {_OURS} OR ((clone = '') = (excluded.clone = '') AND"
    " (entry, word, at, session, value, weight) IS NOT"
    " (excluded.entry, excluded.word, excluded.at, excluded.session, excluded.value, excluded.weight))"
)
_LOG = (
    "INSERT INTO logs VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET mtime = excluded.mtime,"
    " size = excluded.size, inode = excluded.inode, done = excluded.done, digest = excluded.digest,"
    " damaged = damaged + excluded.damaged"
)
_WORDS = frozenset((*USES, *statistics.TURNS))


class UsageCache(Database):
    """The sums of all logs. For one thread at a time, and for any number of processes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, SCHEMA)

    def refresh(self, logs: Iterable[LogFile]) -> None:
        """Fold what is new in these logs, which are all there are.

        A log that only grew is read from where it ended; where one was rewritten or is gone, all
        are folded anew.
        """
        by_name = {log.name: log for log in logs}
        self.ask(lambda _: self._refresh(by_name))

    def damaged(self) -> int:
        """Lines of all logs that were left out."""
        return int(self.rows("SELECT coalesce(sum(damaged), 0) FROM logs")[0][0])

    def tallies(self, entries: Iterable[str] | None = None) -> dict[str, statistics.Tallies]:
        """What happened to each entry (of these, or all), of those to which anything did."""
        every = "SELECT * FROM tallies"
        listed = f"{every} WHERE entry {_LISTED}"
        if entries is None:
            rows = self.rows(every)
        else:
            rows = self.rows(listed, (json.dumps(list(entries)),))
        tally, words = statistics.Tallies, len(USES)
        tallies: dict[str, statistics.Tallies] = {}
        for entry, *values in rows:
            tallies[entry] = tally._make([*values[words:], tally(*values[:words])])
        return tallies

    def kept(self, rules: Iterable[str]) -> dict[str, RuleSessions]:
        """In how many sessions of this clone what happened to each of these rules.

        None to which nothing did.
        """
        rows = self.rows(_KEPT, (json.dumps(list(rules)),))
        by_key: dict[str, RuleSessions] = {}
        for rule, *counts in rows:
            by_key[rule] = RuleSessions(*counts)
        return by_key

    def sessions_since(self, entry: str, seconds: float) -> int:
        """In how many sessions of this clone an entry was shown after a time (seconds since 1970)."""
        query = "SELECT count(DISTINCT session) FROM events WHERE entry = ? AND word = ? AND id > ?"
        values = entry, statistics.INJECTED, entries.ulid(int(seconds * 1000), bytes(10))
        return int(self.rows(f"{query} AND clone = '' AND session <> ''", values)[0][0])

    def turns(self) -> list[Event]:
        """The events of this clone about parameters, in the order of their ids.

        None whose id says different things.
        """
        query = (
            f"SELECT * FROM events WHERE entry {_LISTED} AND word <> '' AND clone = '' ORDER BY id"  # noqa: S608 - ours
        )
        rows = self.rows(query, (json.dumps(list(statistics.DEFINITIONS)),))
        turns: list[Event] = []
        for i, at, word, name, who, value, weight, _ in rows:
            turns.append(Event(i, at, word, name, who, value=value, weight=weight))
        return turns

    def in_sessions(self) -> list[tuple[str, str, str]]:
        """(session, entry, event) of every event of this clone that says in which session it was."""
        where = f"session <> '' AND NOT {_BROUGHT} AND clone = '' AND word <> ''"
        return self.rows(f"SELECT DISTINCT session, entry, word FROM events WHERE {where}")  # noqa: S608 - our own words

    def history(self, entry: str) -> list[tuple[str, str]]:
        """(time, word) of every event of an entry, the oldest first."""
        return self.rows(
            "SELECT at, word FROM events WHERE entry = ? AND word <> '' ORDER BY at, id", (entry,)
        )

    def _refresh(self, logs: Mapping[str, LogFile]) -> None:
        if {name: stamp for name, (stamp, *_) in self._folded().items()} == {
            n: log.stamp for n, log in logs.items()
        }:
            return
        with self.transaction() as db:
            # another process may have folded meanwhile
            folded = self._folded()
            changed = []
            for name, log in logs.items():
                if name not in folded or folded[name][0] != log.stamp:
                    changed.append(log)
            grown = [(log, *folded[log.name][1:]) for log in changed if log.name in folded]
            if folded.keys() - logs.keys() or any(
                _digest(log.read()[:done]) != begin for log, done, begin in grown
            ):
                for table in ("logs", "events", "tallies"):
                    db.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
                changed, folded = list(logs.values()), {}
            done = {name: size for name, (_, size, _) in folded.items()}
            if not done:
                # for a million events, one sort in place of as many insertions saves 7 seconds of
                # 20
                db.execute("DROP INDEX events_entry")
            entries = {entry for log in changed for entry in self._fold(log, done.get(log.name, 0))}
            if not done:
                db.execute(_INDEX)
            values = []
            for entry in entries - statistics.DEFINITIONS.keys():
                values.append({"entry": entry})
            db.executemany("DELETE FROM tallies WHERE entry = :entry", values)
            db.executemany(f"INSERT INTO tallies {_FOLD}", values)

    def _folded(self) -> dict[str, tuple[tuple[int, int, int], int, bytes]]:
        """Of each log its stamp, how many bytes are folded, and their digest."""
        rows = self.rows("SELECT name, mtime, size, inode, done, digest FROM logs")
        by_key: dict[str, tuple[tuple[int, int, int], int, bytes]] = {}
        for name, mtime, size, inode, done, digest in rows:
            by_key[name] = ((mtime, size, inode), done, digest)
        return by_key

    def _fold(self, log: LogFile, done: int) -> set[str]:
        """Fold the lines after `done` bytes, inside a transaction.

        Their entries, and those that lost an event.
        """
        db, data = self.connection, log.read()
        # another process may still write the last line
        end = max(data.rfind(b"\n") + 1, done)
        happened, damaged = statistics.read_lines(data[done:end])
        rows = []
        for event in happened:
            if event.event in _WORDS:
                rows.append((*event[:5], event.value, event.weight, log.clone))
        # an event that comes again with another entry takes the old one away
        ids = json.dumps([row[0] for row in rows])
        before = db.execute(f"SELECT entry FROM events WHERE id {_LISTED}", (ids,)).fetchall()  # noqa: S608 - our own words
        db.executemany(_EVENT, rows)
        db.execute(_LOG, (log.name, *log.stamp, end, _digest(data[:end]), damaged))
        return {row[3] for row in rows} | {entry for (entry,) in before}


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


# Entries with the best feedback, and as many with the worst
JUDGED = 5

SHARE_BYTES = 16 * 1024
"""Bytes of events that wait before a write commits them, too.

Not every lesson shall bring a second commit.
"""

_SETTING = expression(rb"\bevents[\"']?\s*:\s*[\"']?(\w*)")
_ON = frozenset((b"true", b"auto", b"local", b"shared"))
_EVENT_ID = expression(rb'"id": ?"([0-7][0-9A-HJKMNP-TV-Z]{25})"')


class Usages:
    """The events of one repository. Nothing is opened before it is asked for."""

    def __init__(self, repo: OpenRepository) -> None:
        self._repo = repo
        self.log = EventLog(repo.store.root, repo.store.worktree.common_state_dir)
        self._cache: UsageCache | None = None

    def close(self) -> None:
        """Close the cache."""
        if self._cache is not None:
            self._cache.close()
            self._cache = None

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

    @property
    def cache(self) -> UsageCache | None:
        """The sums, with all that is in the logs now; None while nothing ever happened."""
        files = self.log.files()
        if not files:
            return None
        if self._cache is None:
            self._cache = UsageCache(self._repo.store.state_dir / "usage.sqlite")
        self._cache.refresh(files)
        return self._cache

    def history(self, entry_id: str) -> list[tuple[str, str]]:
        """(time, word) of every event of an entry, the oldest first."""
        cache = self.cache
        if cache:
            return cache.history(entry_id)
        return []

    def tallies(self, entries: Iterable[str] | None = None) -> dict[str, statistics.Tallies]:
        """What happened to each of these entries, or to all.

        Those to which nothing happened are left out.
        """
        cache = self.cache
        if cache:
            return cache.tallies(entries)
        return {}

    def kept(self, rules: Iterable[EntrySummary]) -> dict[str, KeptRule]:
        """By id, in how many sessions of this clone what happened to these rules.

        None of which nothing can be said.
        """
        cache = self.cache
        if cache is None:
            return {}
        by_id = {rule.id: rule for rule in rules}
        kept: dict[str, KeptRule] = {}
        decisions = _decisions(self._repo.catalog)
        for entry_id, sessions in cache.kept(by_id).items():
            rule = by_id[entry_id]
            of_rule = None
            if decisions is not None:
                of_rule = decisions.get(entry_id, [])
            if line := line_of(sessions, of_rule):
                kept[entry_id] = KeptRule(rule.handle, rule.title, sessions, line)
        return kept

    def parameters(self) -> dict[str, ParameterState]:
        """The parameters of this repository as they stand."""
        cache = self.cache
        return statistics.fold_parameters(cache.turns() if cache else ())

    def edge_of(self, entry_id: str) -> Mapping[str, float]:
        """The parameters whose threshold this entry passed only just when it last came here.

        Empty once it was judged.

        Only of this session, if the session has a name.
        """
        name = self._repo.options.session
        session = None
        if name:
            session = statistics.clean_session(name)
        for line in reversed(self.log.recent().split(b"\n")):
            event = None
            if entry_id.encode() in line:
                event = statistics.read_line(line.decode("utf-8", "replace"))
            if event and event.entry == entry_id and session in {None, event.session}:
                if event.event in statistics.OUTCOMES:
                    break
                if event.event == statistics.INJECTED:
                    return event.edge
        return {}

    def record(self, happened: Iterable[Event]) -> None:
        """Write events down; ids and times are set here where they are not yet.

        Nothing where nothing is recorded.

        Raises StorageFailed: the log cannot be written. UsageError: a note holds a secret.
        """
        new = list(happened)
        if not new or not self.recording:
            return
        if any(event.note and secrets.secrets_in(event.note) for event in new):
            raise UsageError(
                "the note holds what looks like a secret, and notes are shared",
                hint="say it without",
            )
        now, session = self._repo.options.now(), secrets.masked(self._repo.options.session or "")
        masked = (
            event._replace(session=secrets.masked(event.session) or session)
            for event in stamped(new, now)
        )
        with shared_files(self._repo.store.worktree):
            self.log.append(
                [statistics.line_of(event) for event in masked], f"{now.astimezone(UTC):%Y-%m}"
            )

    def record_if_possible(self, happened: Iterable[Event]) -> list[str]:
        """`record`, for jobs whose answer does not depend on it; a note if it could not be."""
        try:
            self.record(happened)
        except AiLessonsError as error:
            return [f"what was used could not be written down: {error.message}"]
        return []

    def note_status(self, summary: EntrySummary, status: str | None) -> None:
        """Write down that an entry, which stood as `summary` says, was marked wrong or is active again."""
        wrong, before = Status.WRONG.value, summary.status
        if status == wrong != before:
            word = statistics.WRONG
        else:
            word = ""
        if status == Status.ACTIVE.value and (before == wrong or self.silent([summary])):
            word = statistics.RESTORED
        if word:
            self.record_if_possible([Event("", "", word, summary.id)])

    def share(self, *, at_least: int = SHARE_BYTES) -> tuple[list[str], list[str]]:
        """Put this clone's events into the repository, as a job of its own, if they are shared and so many bytes wait.

        Returns the commit, if there is one already, and notes. Raises nothing: events can wait for the next job.
        """
        try:
            # where commits are the user's to make, files that change by themselves would be in the
            # way
            config = self._repo.reading_config
            store, stated = self._repo.store, config.events_shared
            if stated is None:
                shared = store.commits(config.autocommit)
            else:
                shared = stated and not store.protected
            if shared:
                changes = self.log.unshared(at_least=at_least)
            else:
                changes = []
            if not changes:
                return [], []
            self._repo.set_autocommit()
            commit = store.apply(Job("Record events", changes)).commit
        except AiLessonsError as error:
            return [], [f"events are not shared: {error.message}"]
        return [commit] if commit else [], []

    def of(self, summary: EntrySummary) -> UsageTally:
        """How one entry has done. The catalog is up to date."""
        return self.several([summary])[summary.id]

    def several(
        self, summaries: Sequence[EntrySummary], *, as_claimed: bool = False
    ) -> dict[str, UsageTally]:
        """How entries have done, by id.

        Those nothing happened to stand where their author put them.

        `as_claimed`: an import stands where it stood elsewhere, also before something here speaks
        for it.
        """
        by_id = {}
        for summary in summaries:
            by_id[summary.id] = summary
        lessons = [entry_id for entry_id, summary in by_id.items() if summary.kind is Kind.LESSON]
        parents = {
            lesson: derived_from(self._repo.catalog.edges(lesson), lesson) for lesson in lessons
        }
        parent_ids = set()
        for ids in parents.values():
            for parent in ids:
                parent_ids.add(parent)
        tallies = self.tallies({*by_id, *parent_ids})
        with_parents = by_id | self._repo.catalog.many(parent_ids - set(by_id))
        usages = {
            entry_id: _usage(
                summary,
                tallies,
                [with_parents[x] for x in parents.get(entry_id, ()) if x in with_parents],
                as_claimed=as_claimed,
            )
            for entry_id, summary in by_id.items()
        }
        for lesson in lessons:
            usage = usages[lesson]
            if (
                unused(usage.tallies)
                and (since := self._unused_since_edit(by_id[lesson])) < usage.tallies.unused
            ):
                usages[lesson] = usage._replace(tallies=usage.tallies._replace(unused=since))
        return usages

    def _unused_since_edit(self, summary: EntrySummary) -> int:
        """In how many sessions an entry came since its file was edited, however that was done.

        A file that is as in its last commit is as old as that: a clone or a checkout makes it anew.
        """
        cache, path = self.cache, self._repo.file_of(summary)
        if cache is None:
            return 0
        try:
            edited = (self._repo.store.root / path).lstat().st_mtime
        except OSError:
            # gone since the catalog looked
            return 0
        since = cache.sessions_since(summary.id, edited)
        if since < CHOICE.tired and not self._repo.history.dirty(path):
            for revision in self._repo.history.log(path, 1):
                committed = datetime.fromisoformat(revision.when).timestamp()
                # One job may both edit and commit, and git keeps whole seconds: up to two lie
                # between.
                if committed < edited - 2.0:
                    since = cache.sessions_since(summary.id, committed)
        return since

    def silent(self, summaries: Iterable[EntrySummary]) -> dict[str, str]:
        """Why these entries are not shown unasked, by id; those that are shown are left out."""
        bar = self.parameters()[statistics.CONFIDENCE].value
        by_id = {}
        for summary in summaries:
            by_id[summary.id] = summary
        usages = self.several(list(by_id.values()))
        return {
            name: why
            for name, usage in usages.items()
            if (why := selection.silent(by_id[name], usage, bar))
        }

    def standings(self, summaries: Iterable[EntrySummary]) -> dict[str, float]:
        """By how much what was learned moves each lesson from here in a search.

        Those that it does not are left out.
        """
        lessons = []
        for x in summaries:
            if x.kind is Kind.LESSON and x.tier == self._repo.options.tier:
                lessons.append(x)
        if not lessons or not self.log.files():
            return {}
        standings: dict[str, float] = {}
        for entry_id, usage in self.several(lessons).items():
            if usage.standing != 1.0:
                standings[entry_id] = usage.standing
        return standings

    def judged(self) -> tuple[tuple[Judged, ...], tuple[Judged, ...]]:
        """The entries with the best feedback, best first, and those with the worst, worst first.

        None is in both.
        """
        tallies = self.tallies()
        summaries = self._repo.catalog.many(
            entry for entry, tally in tallies.items() if tally.outcomes
        )
        worth = {name: statistics.worth(tallies[name]) for name in sorted(summaries)}
        best = sorted(worth, key=lambda name: -worth[name])
        good = [name for name in best if worth[name] > 0][:JUDGED]
        bad = [name for name in reversed(best) if worth[name] < 0][:JUDGED]
        judged = {}
        for name, usage in self.several([summaries[name] for name in (*good, *bad)]).items():
            tally, summary = usage.tallies, summaries[name]
            counts = (tally.helpful, tally.ignored, tally.contradicted, round(usage.confidence, 6))
            judged[name] = Judged(summary.handle, summary.title, *counts)
        return tuple(judged[name] for name in good), tuple(judged[name] for name in bad)

    def take_over(
        self, lines: Iterable[Mapping[str, Any]], arrived: AbstractSet[str], *, dry_run: bool
    ) -> tuple[int, int, tuple[str, ...]]:
        """Write down events of another repository that are not here yet.

        How many, about how many parameters, notes.

        `lines` are JSON objects; `arrived` are the ids of entries that come along with them.
        """
        subjects = {
            *arrived,
            *statistics.DEFINITIONS,
            *(place.id for place in self._repo.catalog.locations()),
        }
        new: dict[str, Event] = {}
        for line in lines:
            event = statistics.read_line(json.dumps(line))
            if (
                event
                and event.event in {*statistics.USES, *statistics.TURNS}
                and event.entry in subjects
            ):
                session = statistics.IMPORTED + event.session.removeprefix(statistics.IMPORTED)
                note = "" if secrets.secrets_in(event.note) else event.note
                new[event.id] = event._replace(session=session, note=note)
        logged = (
            (name.decode() for file in self.log.files() for name in _EVENT_ID.findall(file.read()))
            if new
            else ()
        )
        for name in logged:
            new.pop(name, None)
        if new and not self.recording and not dry_run:
            return 0, 0, ("this repository records no events, so none were taken over",)
        for month in sorted({event.at[:7] for event in new.values()}) if not dry_run else ():
            lines_of_month = (
                statistics.line_of(event) for event in sorted(new.values()) if event.at[:7] == month
            )
            self.log.append([*lines_of_month], month)
        return (
            len(new),
            len({event.entry for event in new.values() if event.event in statistics.TURNS}),
            (),
        )

    def all_events(self, entries: set[str]) -> list[dict[str, Any]]:
        """Every event about these entries and parameters, by id.

        Ids that say different things are left out.
        """
        by_id: dict[str, Event] = {}
        ambiguous: set[str] = set()
        for file in self.log.files():
            for line in file.read().decode("utf-8", "replace").split("\n"):
                event = None
                if line:
                    event = statistics.read_line(line)
                if event is None or event.event == statistics.COUNTED:
                    continue
                if not (event.entry in entries or event.event in statistics.TURNS):
                    continue
                event = event._replace(session=event.session.removeprefix(statistics.IMPORTED))
                if by_id.setdefault(event.id, event) != event:
                    ambiguous.add(event.id)
        events: list[dict[str, Any]] = []
        for name in sorted(by_id.keys() - ambiguous):
            events.append(json.loads(statistics.line_of(by_id[name])))
        return events


def stamped(happened: Iterable[Event], now: datetime) -> list[Event]:
    """The events with an id and a time, where they have none yet."""
    at, milliseconds = f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", int(now.timestamp() * 1000)
    results: list[Event] = []
    for x in happened:
        results.append(
            x._replace(id=x.id or entries.ulid(milliseconds, os.urandom(10)), at=x.at or at)
        )
    return results


def _usage(
    summary: EntrySummary,
    tallies: Mapping[str, statistics.Tallies],
    parents: Sequence[EntrySummary],
    *,
    as_claimed: bool,
) -> UsageTally:
    tally, prior = tallies.get(summary.id, statistics.NOTHING), statistics.prior(summary.confidence)
    doubted = not as_claimed and not tally.confirmed and prior <= statistics.UNSTATED
    if summary.claimed is not None:
        claimed = statistics.claimed(summary.confidence, summary.claimed)
        if doubted:
            prior = min(claimed, statistics.UNSTATED)
        else:
            prior = claimed
    proven = []
    for x in parents:
        if x.id in tallies:
            proven.append(statistics.usage(tallies[x.id], statistics.prior(x.confidence)))
    start = statistics.inherited(prior, proven)
    brought = summary.start
    if not proven and isinstance(brought, float):
        # the events of its original lie in another tier
        start = brought
    usage = statistics.usage(tally, start)
    if doubted and (summary.claimed is not None or tally.brought):
        usage = statistics.unconfirmed(usage)
    return usage._replace(standing=statistics.standing(usage, prior))


def _decisions(catalog: CatalogReader) -> dict[str, list[str]] | None:
    """By rule what hosts do where it is broken, a word each (empty: they tell it).

    None: no feature enforces rules.
    """
    enforcing = [feature for feature in extensions.rows() if feature.enforce]
    if not enforcing:
        return None
    by_rule: dict[str, list[str]] = {}
    for feature in enforcing:
        facts: Mapping[str, Mapping[str, Any]] = catalog.facts(feature.name)
        for rule, kept in facts.items():
            by_rule.setdefault(rule, []).extend(kept["decisions"])
    return by_rule
