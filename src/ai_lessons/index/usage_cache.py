"""What the event logs add up to, in a small SQLite file: only what is new in a log is read.

A projection: it may be deleted at any time, and a file that is damaged, of another version or cannot be written is
replaced by an empty one, in memory if need be. It knows rows, not what the words mean: reading lines is handed in.
Every event is kept by its id, so that one that comes again (another copy of a log, a merge) counts once; one that comes
again with other words counts for nothing, whichever came first.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ai_lessons.index.wal import closed_on_error, use_wal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

VERSION = 2
PATIENCE = 20.0
"""Seconds to wait for another process that folds."""

VOID = -1
"""The kind of an event that came with two meanings."""

BULK = 50_000
"""From so many bytes of new log on the index of the events is made after them, which takes a third of the time."""

WORDS = 9
"""Kinds of uses; their numbers are their places in the tuple that the caller hands in."""

ASK_AT_ONCE = 500

WORTH_KEEPING = 50
"""From so many new lines about parameters on, what they come to is written down."""

_SUMS = ", ".join(f"sum(kind = {kind})" for kind in range(WORDS))
_TABLES = f"""
CREATE TABLE logs (
    name TEXT PRIMARY KEY, mtime INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    done INTEGER NOT NULL, digest BLOB NOT NULL, damaged INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE names (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE events (
    id TEXT PRIMARY KEY, entry INTEGER NOT NULL, kind INTEGER NOT NULL, at TEXT NOT NULL, session INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE turns (id TEXT PRIMARY KEY, line TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE kept (disturbed INTEGER NOT NULL, upto TEXT NOT NULL, value TEXT NOT NULL);
INSERT INTO kept VALUES (0, '', '');
CREATE TABLE tallies (
    entry INTEGER PRIMARY KEY, {", ".join(f"n{kind} INTEGER NOT NULL" for kind in range(WORDS))}, last TEXT NOT NULL
);
PRAGMA user_version = {VERSION};
"""  # noqa: S608 - only numbers
_INDEX = "CREATE INDEX IF NOT EXISTS events_entry ON events (entry, kind, at)"
_FOLD = f"SELECT entry, {_SUMS}, coalesce(max(CASE WHEN kind <> 8 THEN at END), '') FROM events WHERE kind >= 0"  # noqa: S608 - only numbers
_EVENT = (
    "INSERT INTO events VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET kind = -1"
    " WHERE (entry, kind, at, session) <> (excluded.entry, excluded.kind, excluded.at, excluded.session)"
)
_LOG = (
    "INSERT INTO logs VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET mtime = excluded.mtime,"
    " size = excluded.size, inode = excluded.inode, done = excluded.done, digest = excluded.digest,"
    " damaged = damaged + excluded.damaged"
)
_DISTURB = "UPDATE kept SET disturbed = disturbed + 1, upto = '', value = ''"
_TURN = "INSERT INTO turns VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET line = '' WHERE line <> excluded.line"


class EventFile(Protocol):
    """One file of events, as it was when it was looked at."""

    @property
    def name(self) -> str:
        """What tells it from the others."""
        ...

    @property
    def stamp(self) -> tuple[int, int, int]:
        """Time of change in nanoseconds, size in bytes, inode."""
        ...

    def read(self) -> bytes:
        """All of it; empty if it cannot be read."""
        ...


class Lines(Protocol):
    """What some lines say."""

    @property
    def rows(self) -> Sequence[tuple[str, str, str, str, str]]:
        """Uses: id, at, event, entry, session; the last one empty for none."""
        ...

    @property
    def turns(self) -> Sequence[tuple[str, str]]:
        """Of parameters: id, and the line in a form that is the same for the same meaning."""
        ...

    @property
    def damaged(self) -> int:
        """How many lines say nothing that can be used."""
        ...


class CachedLog(NamedTuple):
    """What the cache remembers of a log: its stamp, the bytes that are folded, and their digest."""

    stamp: tuple[int, int, int]
    done: int
    digest: bytes


class UsageCache:
    """The sums of all logs. For one thread at a time, and for any number of processes."""

    def __init__(self, path: Path, kinds: Sequence[str]) -> None:
        """`kinds` are the words of uses; what they are is up to the caller, their order is not to change."""
        self._path = path
        self._kinds = {word: number for number, word in enumerate(kinds)}
        self._db: sqlite3.Connection | None = None

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def refresh(self, logs: Iterable[EventFile], parse: Callable[[bytes], Lines]) -> None:
        """Fold what is new in these logs, which are all there are.

        A log that only grew is read from where it ended; where one was rewritten or is gone, all are folded anew.
        """
        there = {log.name: log for log in logs}
        try:
            self._refresh(there, parse)
        except sqlite3.DatabaseError as error:
            self._start_again(error)
            self._refresh(there, parse)

    def damaged(self) -> int:
        """Lines of all logs that were left out."""
        return int(self._open().execute("SELECT coalesce(sum(damaged), 0) FROM logs").fetchone()[0])

    def tallies(self, entries: Iterable[str] | None = None) -> dict[str, tuple[int | str, ...]]:
        """For each entry (of these, or all) that has any: a count for each kind, and when it was last used."""
        every = f"SELECT name, {', '.join(f'n{kind}' for kind in range(WORDS))}, last FROM tallies JOIN names ON key = entry"  # noqa: E501, S608 - only numbers
        if entries is None:
            return {row[0]: row[1:] for row in self._open().execute(every)}
        wanted = list(dict.fromkeys(entries))
        found = {}
        for start in range(0, len(wanted), ASK_AT_ONCE):
            part = wanted[start : start + ASK_AT_ONCE]
            rows = self._open().execute(f"{every} WHERE name IN ({','.join('?' * len(part))})", part)
            found.update({row[0]: row[1:] for row in rows})
        return found

    def turned(self, fold: Callable[[str, list[str]], str]) -> str:
        """What all lines about parameters come to, in the order of their ids.

        `fold` takes what it gave before (empty at first) and the lines since then. Its result is kept until a line
        turns up whose place is before the last one.
        """
        db = self._open()
        disturbed, upto, value = db.execute("SELECT disturbed, upto, value FROM kept").fetchone()
        new = db.execute("SELECT id, line FROM turns WHERE id > ? ORDER BY id", (upto,)).fetchall()
        if new:
            value = fold(value, [line for _, line in new if line])
        if len(new) >= WORTH_KEEPING:
            with suppress(sqlite3.OperationalError):  # read-only, or somebody is folding: the next one keeps it
                db.execute("UPDATE kept SET upto = ?, value = ? WHERE disturbed = ?", (new[-1][0], value, disturbed))
        return str(value)

    def in_sessions(self) -> list[tuple[str, str, str]]:
        """(session, entry, event) of every event that says in which session it was."""
        words = {number: word for word, number in self._kinds.items()}
        rows = self._open().execute(
            "SELECT s.name, e.name, kind FROM events JOIN names s ON s.key = session JOIN names e ON e.key = entry"
            " WHERE session > 0 AND kind >= 0 GROUP BY session, entry, kind"
        )
        return [(session, entry, words[kind]) for session, entry, kind in rows]

    def latest(self, entry: str, words: Sequence[str], most: int) -> list[str]:
        """The last events of an entry that are of these words, the newest first."""
        named = {self._kinds[word]: word for word in words}
        rows = self._open().execute(
            "SELECT kind FROM events WHERE entry = (SELECT key FROM names WHERE name = ?)"
            " AND kind IN (SELECT value FROM json_each(?)) ORDER BY at DESC, id DESC LIMIT ?",
            (entry, json.dumps(list(named)), most),
        )
        return [named[kind] for (kind,) in rows]

    def _refresh(self, there: Mapping[str, EventFile], parse: Callable[[bytes], Lines]) -> None:
        if not self._changed(there):
            return
        with self._writing() as db:
            changed = self._changed(there)  # another process may have folded meanwhile
            grown = self._grown(changed, there)
            if grown is None:
                _empty(db)
                changed, grown = list(there), {}
            _Folding(db, self._kinds, parse).fold([there[name] for name in changed], grown)

    def _changed(self, there: Mapping[str, EventFile]) -> list[str]:
        """Names of logs that are not as they were; of those that are gone, too."""
        known = self._known()
        return [name for name in {**known, **there} if name not in there or name not in known
                or known[name].stamp != there[name].stamp]  # fmt: skip

    def _known(self) -> dict[str, CachedLog]:
        rows = self._open().execute("SELECT name, mtime, size, inode, done, digest FROM logs")
        return {name: CachedLog((mtime, size, inode), done, digest) for name, mtime, size, inode, done, digest in rows}

    def _grown(self, changed: Iterable[str], there: Mapping[str, EventFile]) -> dict[str, int] | None:
        """Of changed logs that were folded before, how many bytes were; None if one of them no longer begins so."""
        known = self._known()
        grown = {}
        for name in changed:
            if name not in there:
                return None
            if name in known:
                grown[name] = known[name].done
                if _digest(there[name].read()[: known[name].done]) != known[name].digest:
                    return None
        return grown

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        db = self._open()
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
        except BaseException:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._db = _connected(str(self._path))
            except (OSError, sqlite3.OperationalError):
                self._db = _connected(":memory:")
        return self._db

    def _start_again(self, error: sqlite3.DatabaseError) -> None:
        """Without a file that is damaged; in memory where it cannot be used (read-only, full, locked for ever)."""
        self.close()
        if isinstance(error, sqlite3.OperationalError):
            self._db = _connected(":memory:")
            return
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


class _Folding:
    """One round of folding, inside a transaction."""

    def __init__(self, db: sqlite3.Connection, kinds: Mapping[str, int], parse: Callable[[bytes], Lines]) -> None:
        self._db, self._kinds, self._parse = db, kinds, parse
        self._names: dict[str, int] = {}
        self._entries: set[int] = set()

    def fold(self, logs: Sequence[EventFile], grown: Mapping[str, int]) -> None:
        """Fold these logs; of those in `grown` so many bytes are folded already."""
        bulk = sum(log.stamp[1] - grown.get(log.name, 0) for log in logs) > BULK
        if bulk:
            self._db.execute("DROP INDEX IF EXISTS events_entry")
        for log in logs:
            self._log(log, grown.get(log.name, 0), bulk=bulk)
        self._db.execute(_INDEX)
        if bulk:
            self._db.execute("DELETE FROM tallies")
            self._db.execute(f"INSERT INTO tallies {_FOLD} GROUP BY entry")
            return
        keys = [(key,) for key in self._entries]
        self._db.executemany("DELETE FROM tallies WHERE entry = ?", keys)
        self._db.executemany(f"INSERT INTO tallies {_FOLD} AND entry = ? GROUP BY entry", keys)

    def _log(self, log: EventFile, done: int, *, bulk: bool) -> None:
        """Fold whole lines only: the last one may still be being written."""
        data = log.read()
        end = max(data.rfind(b"\n") + 1, done)
        found = self._parse(data[done:end]) if end > done else None
        if found:
            kinds, key = self._kinds, self._key
            rows = [(i, key(entry), kinds[event], at, key(said)) for i, at, event, entry, said in found.rows]
            if not bulk:
                self._entries.update(row[1] for row in rows)
                self._entries.update(self._told_before([row[0] for row in rows]))
            self._db.executemany(_EVENT, rows)
            self._turn(found.turns)
        self._db.execute(_LOG, (log.name, *log.stamp, end, _digest(data[:end]), found.damaged if found else 0))

    def _turn(self, turns: Sequence[tuple[str, str]]) -> None:
        """Add lines about parameters; those that do not come last change what was made of the others."""
        (last,) = self._db.execute("SELECT coalesce(max(id), '') FROM turns").fetchone()
        if turns and min(turns)[0] <= last:
            self._db.execute(_DISTURB)
        self._db.executemany(_TURN, turns)

    def _told_before(self, ids: Sequence[str]) -> Iterator[int]:
        """The entries of events that are there already: those that come again with another entry take it away."""
        for start in range(0, len(ids), ASK_AT_ONCE):
            part = ids[start : start + ASK_AT_ONCE]
            rows = self._db.execute(f"SELECT entry FROM events WHERE id IN ({','.join('?' * len(part))})", part)  # noqa: S608 - only marks
            yield from (entry for (entry,) in rows)

    def _key(self, name: str) -> int:
        """The number of a name; 0 for none."""
        if not name:
            return 0
        found = self._names.get(name)
        if found is None:
            row = self._db.execute("SELECT key FROM names WHERE name = ?", (name,)).fetchone()
            found = row[0] if row else self._db.execute("INSERT INTO names (name) VALUES (?)", (name,)).lastrowid or 0
            self._names[name] = found
        return found


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _empty(db: sqlite3.Connection) -> None:
    for table in ("logs", "events", "turns", "tallies", "names"):
        db.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
    db.execute(_DISTURB)


def _connected(path: str) -> sqlite3.Connection:
    opened = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    with closed_on_error(opened) as db:
        if path != ":memory:":
            use_wal(db, PATIENCE)
        # losing the last sums in a power cut costs a moment of folding; waiting for the disk costs more
        db.executescript("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;")
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            _lay_tables(db)
        return db


def _lay_tables(db: sqlite3.Connection) -> None:
    """Anew, unless another process was quicker."""
    db.execute("BEGIN IMMEDIATE")
    if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        db.execute("COMMIT")
        return
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        db.execute(f"DROP TABLE {name}")
    for statement in filter(str.strip, _TABLES.split(";\n")):
        db.execute(statement)
    db.execute("COMMIT")
