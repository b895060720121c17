"""The sums of the event logs, in a small SQLite file: only what is new in a log is read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

from ai_lessons.index.database import Database, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    # uses (id, at, event, entry, session or ""), lines of parameters (id, the line in one form), lines left out
    Lines = tuple[Sequence[tuple[str, str, str, str, str]], Sequence[tuple[str, str]], int]

VERSION = 8
WORDS = 14  # Kinds of uses; their numbers are their places in the tuple that the caller hands in

INJECTED, HELPFUL, IGNORED, CONTRADICTED, RESTORED, LEFT_OUT, FOLLOWED, RECURRED, HELD = 0, 1, 2, 3, 7, 8, 9, 11, 12
OF_A_CLONE, OF_OTHERS = 2, 5
"""At most so many events of a kind about an entry count of one other clone, and of all: any clone can push events."""

_SUMS = ", ".join(
    f"sum(n * (kind = {kind} AND source = 0)) + min(sum(n * (kind = {kind} AND source > 0)), {OF_OTHERS})"
    for kind in range(WORDS)
)
_COUNTS = f"(kind NOT IN ({IGNORED}, {CONTRADICTED}, {RECURRED}) OR id > {{}})"
"""Of what speaks against an entry only that since it was last restored here."""
_TABLES = f"""
CREATE TABLE logs (
    name TEXT PRIMARY KEY, mtime INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    done INTEGER NOT NULL, digest BLOB NOT NULL, damaged INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE names (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE events (
    id TEXT PRIMARY KEY, entry INTEGER NOT NULL, kind INTEGER NOT NULL, at TEXT NOT NULL, session INTEGER NOT NULL,
    source INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX events_entry ON events (entry, kind, at);
CREATE TABLE turns (id TEXT PRIMARY KEY, line TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE kept (changes INTEGER NOT NULL, folded INTEGER NOT NULL, value TEXT NOT NULL);
INSERT INTO kept VALUES (0, 0, '');
CREATE TABLE tallies (
    entry INTEGER PRIMARY KEY, {", ".join(f"n{kind} INTEGER NOT NULL" for kind in range(WORDS))}, last TEXT NOT NULL,
    unused INTEGER NOT NULL
);
"""  # noqa: S608 - only numbers
SCHEMA = Schema("usage cache", _TABLES, VERSION)
_LAST = "(SELECT coalesce(max(id), '') FROM events e WHERE e.entry = {} AND kind IN ({}) AND source = 0)"
_FOLD = f"""
WITH since(back, used) AS (
    SELECT {_LAST.format(":entry", RESTORED)}, {_LAST.format(":entry", f"{HELPFUL}, {FOLLOWED}, {HELD}, {RESTORED}")}
)
SELECT entry, {_SUMS}, coalesce(max(last), ''), max(unused) FROM (
    SELECT entry, kind, source, max(CASE WHEN kind <> {LEFT_OUT} THEN at END) AS last,
        min(sum({_COUNTS.format("back")}), CASE WHEN source = 0 THEN count(*) ELSE {OF_A_CLONE} END) AS n,
        count(DISTINCT CASE WHEN kind = {INJECTED} AND source = 0 AND session > 0 AND id > used THEN session END)
            AS unused
    FROM events, since WHERE entry = :entry AND kind >= 0 GROUP BY kind, source
) GROUP BY entry
"""  # noqa: S608 - only numbers
_EVENT = (  # an event of this clone wins over other events with its id
    "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
    " kind = CASE WHEN excluded.source < min(source, 1) THEN excluded.kind ELSE -1 END,"
    " entry = CASE WHEN excluded.source < min(source, 1) THEN excluded.entry ELSE entry END,"
    " at = excluded.at, session = excluded.session, source = min(source, excluded.source)"
    " WHERE excluded.source < min(source, 1) OR (min(source, 1) = min(excluded.source, 1) AND"
    " (entry, kind, at, session) <> (excluded.entry, excluded.kind, excluded.at, excluded.session))"
)
_LOG = (
    "INSERT INTO logs VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET mtime = excluded.mtime,"
    " size = excluded.size, inode = excluded.inode, done = excluded.done, digest = excluded.digest,"
    " damaged = damaged + excluded.damaged"
)
_NAMED = "WHERE name IN (SELECT value FROM json_each(?))"
_ENTRIES_OF = "SELECT entry FROM events WHERE id IN (SELECT value FROM json_each(?))"
_CHANGED = "UPDATE kept SET changes = changes + 1"
_TURN = "INSERT INTO turns VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET line = '' WHERE line <> excluded.line"


class EventFile(Protocol):
    """One file of events, as it was when it was looked at."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def stamp(self) -> tuple[int, int, int]:
        """Time of change in nanoseconds, size in bytes, inode."""
        ...

    @property
    def clone(self) -> str:
        """Which other clone wrote it; empty for this one."""
        ...

    def read(self) -> bytes:
        """All of it; empty if it cannot be read."""
        ...


class UsageCache(Database):
    """The sums of all logs. For one thread at a time, and for any number of processes."""

    def __init__(self, path: Path, kinds: Sequence[str]) -> None:
        """`kinds` are the words of uses; what they are is up to the caller, their order is not to change."""
        self._words, self._kinds = kinds, {word: number for number, word in enumerate(kinds)}
        super().__init__(path, SCHEMA)

    def refresh(self, logs: Iterable[EventFile], parse: Callable[[bytes], Lines]) -> None:
        """Fold what is new in these logs, which are all there are.

        A log that only grew is read from where it ended; where one was rewritten or is gone, all are folded anew.
        """
        by_name = {log.name: log for log in logs}
        self.ask(lambda _: self._refresh(by_name, parse))

    def damaged(self) -> int:
        """Lines of all logs that were left out."""
        return int(self._rows("SELECT coalesce(sum(damaged), 0) FROM logs")[0][0])

    def local_counts(self, entries: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """The counts of `tallies` for this clone alone, not capped."""
        counted = _COUNTS.format(_LAST.format("events.entry", RESTORED))
        rows = self._rows(
            f"SELECT name, kind, sum({counted}) FROM events JOIN names ON key = entry {_NAMED}"  # noqa: S608 - our own words
            " AND source = 0 AND kind >= 0 GROUP BY name, kind",
            (json.dumps(list(entries)),),
        )
        counts: dict[str, list[int]] = {}
        for entry, kind, number in rows:
            counts.setdefault(entry, [0] * WORDS)[kind] = number
        return {entry: tuple(numbers) for entry, numbers in counts.items()}

    def tallies(self, entries: Iterable[str] | None = None) -> dict[str, tuple[int | str, ...]]:
        """For each entry (of these, or all) that has any: a count for each kind, when it was last used, and `unused`.

        `unused`: in how many sessions it was shown since it last helped. Outcomes against it count since a restore.
        """
        sums = ", ".join(f"n{kind}" for kind in range(WORDS))
        every = f"SELECT name, {sums}, last, unused FROM tallies JOIN names ON key = entry"  # noqa: S608 - only numbers
        rows = self._rows(every) if entries is None else self._rows(f"{every} {_NAMED}", (json.dumps(list(entries)),))
        return {row[0]: row[1:] for row in rows}

    def sessions_since(self, entry: str, event: str) -> int:
        """In how many sessions of this clone an entry was shown after an event with this id."""
        query = "SELECT count(DISTINCT session) FROM events WHERE entry = (SELECT key FROM names WHERE name = ?)"
        return int(
            self._rows(f"{query} AND kind = {INJECTED} AND source = 0 AND session > 0 AND id > ?", (entry, event))[0][0]
        )

    def parameters(self, fold: Callable[[list[str]], str]) -> str:
        """The fold of all lines about parameters, in the order of their ids; cached until there is another line."""
        ((changes, folded, value),) = self._rows("SELECT changes, folded, value FROM kept")
        if changes != folded:
            value = fold([line for (line,) in self._rows("SELECT line FROM turns WHERE line <> '' ORDER BY id")])
            with suppress(sqlite3.OperationalError):  # read-only, or another process folds: the next one keeps it
                self.connection.execute(
                    "UPDATE kept SET folded = ?, value = ? WHERE changes = ?", (changes, value, changes)
                )
        return str(value)

    def in_sessions(self) -> list[tuple[str, str, str]]:
        """(session, entry, event) of every event of this clone that says in which session it was."""
        rows = self._rows(
            "SELECT s.name, e.name, kind FROM events JOIN names s ON s.key = session JOIN names e ON e.key = entry"
            " WHERE session > 0 AND source = 0 AND kind >= 0 GROUP BY session, entry, kind"
        )
        return [(session, entry, self._words[kind]) for session, entry, kind in rows]

    def history(self, entry: str) -> list[tuple[str, str]]:
        """(time, word) of every event of an entry, the oldest first."""
        rows = self._rows(
            "SELECT at, kind FROM events WHERE entry = (SELECT key FROM names WHERE name = ?) AND kind >= 0"
            " ORDER BY at, id",
            (entry,),
        )
        return [(at, self._words[kind]) for at, kind in rows]

    def _refresh(self, logs: Mapping[str, EventFile], parse: Callable[[bytes], Lines]) -> None:
        if {name: stamp for name, (stamp, *_) in self._folded().items()} == {n: log.stamp for n, log in logs.items()}:
            return
        with self.transaction() as db:
            folded = self._folded()  # another process may have folded meanwhile
            changed = [log for name, log in logs.items() if name not in folded or folded[name][0] != log.stamp]
            grown = [(log, *folded[log.name][1:]) for log in changed if log.name in folded]
            if folded.keys() - logs.keys() or any(_digest(log.read()[:done]) != begin for log, done, begin in grown):
                for table in ("logs", "events", "turns", "tallies", "names"):
                    db.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
                db.execute(_CHANGED)
                changed, folded = list(logs.values()), {}
            done = {name: size for name, (_, size, _) in folded.items()}
            keys = {key for log in changed for key in self._fold(log, done.get(log.name, 0), parse)}
            values = [{"entry": key} for key in keys]
            db.executemany("DELETE FROM tallies WHERE entry = :entry", values)
            db.executemany(f"INSERT INTO tallies {_FOLD}", values)

    def _folded(self) -> dict[str, tuple[tuple[int, int, int], int, bytes]]:
        """Of each log its stamp, how many bytes are folded, and their digest."""
        rows = self._rows("SELECT name, mtime, size, inode, done, digest FROM logs")
        return {name: ((mtime, size, inode), done, digest) for name, mtime, size, inode, done, digest in rows}

    def _fold(self, log: EventFile, done: int, parse: Callable[[bytes], Lines]) -> set[int]:
        """Fold the lines after `done` bytes, inside a transaction. The keys of their entries."""
        db, data = self.connection, log.read()
        # the last line may still be being written
        end = max(data.rfind(b"\n") + 1, done)
        uses, turns, damaged = parse(data[done:end]) if end > done else ((), (), 0)
        turns = () if log.clone else turns  # parameters of other clones do not count here
        names = sorted({log.clone, *(name for *_, entry, session in uses for name in (entry, session))} - {""})
        db.executemany("INSERT OR IGNORE INTO names (name) VALUES (?)", [(name,) for name in names])
        key = dict(db.execute(f"SELECT name, key FROM names {_NAMED}", (json.dumps(names),)))  # noqa: S608 - our own words
        source = key.get(log.clone, 0)
        rows = [
            (i, key.get(entry, 0), self._kinds[event], at, key.get(of, 0), source) for i, at, event, entry, of in uses
        ]
        # an event that comes again with another entry takes the old one away
        before = db.execute(_ENTRIES_OF, (json.dumps([row[0] for row in rows]),)).fetchall()
        db.executemany(_EVENT, rows)
        if turns:
            db.execute(_CHANGED)
            db.executemany(_TURN, turns)
        db.execute(_LOG, (log.name, *log.stamp, end, _digest(data[:end]), damaged))
        return {row[1] for row in rows} | {entry for (entry,) in before}


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
