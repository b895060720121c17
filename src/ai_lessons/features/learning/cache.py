"""The sums of all events, kept beside the logs: a SQLite file that may be deleted."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.learning.parameters import DEFINITIONS
from ai_lessons.model import entries, events
from ai_lessons.model.events import USES, Event
from ai_lessons.model.tallies import RuleSessions, Tallies
from ai_lessons.search.database import Database, Schema, version_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ai_lessons.git.event_log import LogFile

OF_A_CLONE, OF_OTHERS = 2, 5
"""At most so many events of a kind about an entry count of one other clone, and of all.

Any clone can push events.
"""

# how often each word was said of an entry by this clone, and by others
_LOCAL = [f"sum(n * (word = '{word}' AND clone = ''))" for word in USES]
_REMOTE = [f"min(sum(n * (word = '{word}' AND clone <> '')), {OF_OTHERS})" for word in USES]
_ALL = [f"{local} + {remote}" for local, remote in zip(_LOCAL, _REMOTE, strict=True)]
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


def _in_sql(words: Iterable[str]) -> str:
    """Words of events, as SQL lists them."""
    return ", ".join(f"'{word}'" for word in words)


_USED = _in_sql((events.HELPFUL, events.FOLLOWED, events.HELD, events.RESTORED))
_AGAINST = _in_sql((events.IGNORED, events.CONTRADICTED, events.RECURRED))
_FOR = _in_sql(events.SPEAKS_FOR)
_CHECKED = (events.IN_SCOPE, events.BROKEN, events.STOPPED, events.ALLOWED)
_BY_CHECKS = _in_sql(_CHECKED)
_BY_TELLING = _in_sql((events.TOLD, events.INJECTED))
_BROUGHT = f"session LIKE '{events.IMPORTED}%'"
_LAST = """
    SELECT coalesce(max(id), '') FROM events
    WHERE entry = :entry AND word IN ({}) AND clone = ''
"""
# The tallies of an entry.
# `back`: when it was last restored here; what speaks against it counts only since then.
# `used`: when it was last of use here; `unused` counts the sessions that were shown it since then.
_FOLD = f"""
WITH since(back, used) AS (
    SELECT ({_LAST.format(f"'{events.RESTORED}'")}), ({_LAST.format(_USED)})
), counted AS (
    SELECT
        entry, word, clone,
        max(CASE WHEN word <> '{events.LEFT_OUT}' THEN at END) AS last,
        min(
            sum(word NOT IN ({_AGAINST}) OR id > back),
            CASE WHEN clone = '' THEN count(*) ELSE {OF_A_CLONE} END
        ) AS n,
        count(DISTINCT CASE
            WHEN word = '{events.INJECTED}' AND clone = '' AND session <> '' AND NOT {_BROUGHT}
                AND id > used
            THEN session
        END) AS unused,
        sum(word IN ({_FOR}) AND {_BROUGHT}) AS brought
    FROM events, since
    WHERE entry = :entry AND word <> ''
    GROUP BY word, clone
)
SELECT
    entry, {", ".join(_LOCAL)}, {", ".join(_ALL)},
    coalesce(max(last), ''), max(unused), sum(brought)
FROM counted GROUP BY entry
"""  # noqa: S608 - our own words
# What a ULID says of its time
_MILLISECOND = "substr(id, 1, 10)"
# The counts of `RuleSessions`.
# What a rule is told at a breach comes after what the check saw, so it is not before.
_KEPT = f"""
WITH seen AS (
    SELECT
        entry, word,
        CASE session WHEN '' THEN id ELSE session END AS session,
        min({_MILLISECOND}) AS first
    FROM events
    WHERE entry {_LISTED} AND clone = '' AND NOT {_BROUGHT}
    GROUP BY 1, 2, 3
), sessions AS (
    SELECT
        entry,
        {", ".join(f"max(word = '{word}') AS {word}" for word in (*_CHECKED, events.IGNORED))},
        max(word IN ({_BY_CHECKS})) AS by_check,
        max(word IN ({_BY_TELLING})) AS by_telling,
        min(CASE WHEN word IN ({_BY_TELLING}) THEN first END)
            <= min(CASE WHEN word IN ({_BY_CHECKS}) THEN first END) AS told_before
    FROM seen
    GROUP BY entry, session
)
SELECT
    entry, sum(by_check), sum(by_check AND NOT by_telling), sum(by_telling), sum(broken),
    sum(broken AND coalesce(told_before, 0)), sum(stopped), sum(allowed), sum(ignored)
FROM sessions GROUP BY entry
"""  # noqa: S608 - our own words
# An event of this clone wins over others with its id.
_OURS = "(excluded.clone = '' AND clone <> '')"
# Of two of the same side that say different things none counts: the word is emptied.
_DIFFERENT = """
    (clone = '') = (excluded.clone = '')
    AND (entry, word, at, session, value, weight) IS NOT (
        excluded.entry, excluded.word, excluded.at, excluded.session, excluded.value,
        excluded.weight
    )
"""
_EVENT = f"""
INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
    word = CASE WHEN {_OURS} THEN excluded.word ELSE '' END,
    entry = CASE WHEN {_OURS} THEN excluded.entry ELSE entry END,
    at = excluded.at, session = excluded.session, value = excluded.value,
    weight = excluded.weight, clone = min(clone, excluded.clone)
WHERE {_OURS} OR ({_DIFFERENT})
"""  # noqa: S608 - our own words
_LOG = """
INSERT INTO logs VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET
    mtime = excluded.mtime, size = excluded.size, inode = excluded.inode,
    done = excluded.done, digest = excluded.digest, damaged = damaged + excluded.damaged
"""
_WORDS = frozenset((*USES, *events.TURNS))


class _Folded(NamedTuple):
    """Of a log its stamp, how many bytes are folded, and their digest."""

    stamp: tuple[int, int, int]
    done: int
    digest: bytes


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

    def tallies(self, entries: Iterable[str] | None = None) -> dict[str, Tallies]:
        """What happened to each entry (of these, or all), of those to which anything did."""
        query = "SELECT * FROM tallies"
        if entries is None:
            rows = self.rows(query)
        else:
            rows = self.rows(f"{query} WHERE entry {_LISTED}", (json.dumps(list(entries)),))
        tallies: dict[str, Tallies] = {}
        for entry, *values in rows:
            of_this_clone, of_all = values[: len(USES)], values[len(USES) :]
            tallies[entry] = Tallies._make([*of_all, Tallies(*of_this_clone)])
        return tallies

    def kept(self, rules: Iterable[str]) -> dict[str, RuleSessions]:
        """In how many sessions of this clone what happened to each of these rules.

        None to which nothing did.
        """
        rows = self.rows(_KEPT, (json.dumps(list(rules)),))
        return {rule: RuleSessions(*counts) for rule, *counts in rows}

    def sessions_since(self, entry: str, seconds: float) -> int:
        """In how many sessions of this clone an entry was shown after a time (seconds since 1970)."""
        query = """
            SELECT count(DISTINCT session) FROM events
            WHERE entry = ? AND word = ? AND id > ? AND clone = '' AND session <> ''
        """
        first_id = entries.ulid(int(seconds * 1000), bytes(10))
        return int(self.rows(query, (entry, events.INJECTED, first_id))[0][0])

    def turns(self) -> list[Event]:
        """The events of this clone about parameters, in the order of their ids.

        None whose id says different things.
        """
        where = f"entry {_LISTED} AND word <> '' AND clone = ''"
        query = f"SELECT * FROM events WHERE {where} ORDER BY id"  # noqa: S608 - our own words
        turns: list[Event] = []
        for i, at, word, name, who, value, weight, _ in self.rows(
            query, (json.dumps(list(DEFINITIONS)),)
        ):
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
        if self._is_current(logs):
            return
        with self.transaction() as db:
            # another process may have folded meanwhile
            folded = self._folded()
            if _was_rewritten(folded, logs):
                for table in ("logs", "events", "tallies"):
                    db.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
                folded = {}
            if not folded:
                # one sort in place of a million insertions saves 7 seconds of 20
                db.execute("DROP INDEX events_entry")
            touched: set[str] = set()
            for name, log in logs.items():
                before = folded.get(name)
                if before is None:
                    touched |= self._fold(log, 0)
                elif before.stamp != log.stamp:
                    touched |= self._fold(log, before.done)
            if not folded:
                db.execute(_INDEX)
            entries = [{"entry": entry} for entry in touched - DEFINITIONS.keys()]
            db.executemany("DELETE FROM tallies WHERE entry = :entry", entries)
            db.executemany(f"INSERT INTO tallies {_FOLD}", entries)

    def _is_current(self, logs: Mapping[str, LogFile]) -> bool:
        folded = self._folded()
        if folded.keys() != logs.keys():
            return False
        return all(folded[name].stamp == log.stamp for name, log in logs.items())

    def _folded(self) -> dict[str, _Folded]:
        """What is folded of each log, by its name."""
        folded: dict[str, _Folded] = {}
        rows = self.rows("SELECT name, mtime, size, inode, done, digest FROM logs")
        for name, mtime, size, inode, done, digest in rows:
            folded[name] = _Folded((mtime, size, inode), done, digest)
        return folded

    def _fold(self, log: LogFile, done: int) -> set[str]:
        """Fold the lines after `done` bytes, inside a transaction.

        Their entries, and those that lost an event.
        """
        db, data = self.connection, log.read()
        # another process may still write the last line
        end = max(data.rfind(b"\n") + 1, done)
        happened, damaged = events.read_lines(data[done:end])
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


def _was_rewritten(folded: Mapping[str, _Folded], logs: Mapping[str, LogFile]) -> bool:
    """Whether a log is gone, or begins otherwise than what is folded of it."""
    for name, before in folded.items():
        log = logs.get(name)
        if log is None:
            return True
        if log.stamp != before.stamp and _digest(log.read()[: before.done]) != before.digest:
            return True
    return False


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
