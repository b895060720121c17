"""What approval remembers between two reads: the history of rules as far as it was read, and the verdicts.

A SQLite file in the state folder, made anew whenever it is missing, damaged, of another version or about a history that
was rewritten. Light to import, because every read of rules asks it first. Decides nothing.
"""

from __future__ import annotations

import json
import sqlite3
import time
from array import array
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Self

from ai_lessons.errors import StorageFailed
from ai_lessons.repository.approval.approval_stamp import boot
from ai_lessons.repository.approval.verdicts import Arrival, Evidence, Person, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

VERSION: Final = 1
_PATIENCE: Final = 30.0
_MANY: Final = 500

_SCHEMA: Final = """
create table meta (key text primary key, value text not null) without rowid;
create table commits (number integer primary key, ids blob not null, nodes blob not null);
create table nodes (node integer primary key, parents text not null);
create table steps (node integer primary key, details text not null);
create table changes (
  node integer not null, rule text not null, side integer not null, path text not null, old text, new text
);
create index changes_of_rule on changes (rule, node);
create table texts (blob text primary key, rule text) without rowid;
create table files (path text primary key, blob text not null, rule text) without rowid;
create index files_of_rule on files (rule);
create table verdicts (rule text primary key, verdict text not null) without rowid;
"""


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A commit that changed rules, by its node: `details` is JSON of whoever added it, changes are by rule."""

    node: int
    details: Mapping[str, Any]
    changes: tuple[tuple[str, int, str, str | None, str | None], ...]
    """(rule, side, path, old, new)"""


class ApprovalState:
    """One open state file. Use as a context manager; a write is one transaction or nothing."""

    def __init__(self, path: Path | None) -> None:
        """None: in memory, for a repository whose state folder cannot be written."""
        self._path = path
        self._db = sqlite3.connect(":memory:", isolation_level=None) if path is None else _open(path)
        if path is None:
            _prepare(self._db)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Everything in the block, or nothing; one writer at a time."""
        try:
            self._db.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._db.execute("rollback")
                raise
            self._db.execute("commit")
        except sqlite3.OperationalError as error:
            raise StorageFailed(f"{self._path} cannot be written: {error}") from error

    def clear(self) -> None:
        """Forget everything."""
        for table in ("meta", "commits", "nodes", "steps", "changes", "texts", "files", "verdicts"):
            self._db.execute(f"delete from {table}")  # noqa: S608  # the names stand one line above

    def get(self, key: str) -> str | None:
        """One noted value."""
        row = self._db.execute("select value from meta where key = ?", (key,)).fetchone()
        return str(row[0]) if row else None

    def put(self, key: str, value: str) -> None:
        """Note a value."""
        self._db.execute("insert or replace into meta values (?, ?)", (key, value))

    # --- history ---

    def nodes_of(self, commits: Collection[str]) -> dict[str, int]:
        """The node of each commit that is known: itself, or the last commit before it that is one (-1: none)."""
        if not commits:
            return {}
        rows = self._db.execute("select ids, nodes from commits order by number").fetchall()
        ids, nodes = b"".join(row[0] for row in rows), array("i", b"".join(row[1] for row in rows))
        found = ((commit, _place(ids, bytes.fromhex(commit))) for commit in commits)
        return {commit: nodes[place] for commit, place in found if place >= 0}

    def parents(self) -> list[tuple[int, ...]]:
        """The parents of every node, in order."""
        rows = self._db.execute("select parents from nodes order by node")
        return [tuple(map(int, text.split())) for (text,) in rows]

    def node_count(self) -> int:
        """How many nodes there are; the next one gets this number."""
        return int(self._db.execute("select coalesce(max(node) + 1, 0) from nodes").fetchone()[0])

    def add_history(
        self, commits: Mapping[str, int], nodes: Sequence[tuple[int, Sequence[int]]], steps: Iterable[StoredStep]
    ) -> None:
        """Append what was read."""
        # one row for all of them: they are looked up rarely, and rows of their own would be half of the first reading
        ids, numbers = bytes.fromhex("".join(commits)), array("i", commits.values()).tobytes()
        if commits:
            self._db.execute("insert into commits (ids, nodes) values (?, ?)", (ids, numbers))
        self._db.executemany("insert into nodes values (?, ?)", [(n, " ".join(map(str, p))) for n, p in nodes])
        several = list(steps)
        self._db.executemany(
            "insert into steps values (?, ?)", [(step.node, _encoded(step.details)) for step in several]
        )
        changes = [(step.node, *change) for step in several for change in step.changes]
        self._db.executemany("insert into changes values (?, ?, ?, ?, ?, ?)", changes)

    def steps(self, rules: Collection[str] | None = None) -> Iterator[StoredStep]:
        """Every step, or those of some rules with the changes of these rules only, in order."""
        ask = "select node, details, rule, side, path, old, new from changes join steps using (node)"
        if rules is None:
            rows = self._db.execute(f"{ask} order by node").fetchall()
        else:
            each = (self._db.execute(f"{ask} where rule = ?", (rule,)) for rule in rules)
            rows = sorted((row for rows in each for row in rows), key=lambda row: int(row[0]))
        for (node, details), group in groupby(rows, key=lambda row: (row[0], row[1])):
            yield StoredStep(node, json.loads(details), tuple(row[2:] for row in group))

    def blobs_of(self, rule: str) -> set[str]:
        """Every text that the rule ever had."""
        rows = self._db.execute("select new from changes where rule = ? and new not null", (rule,))
        return {str(blob) for (blob,) in rows}

    # --- texts and files ---

    def stated_ids(self, blobs: Collection[str]) -> dict[str, str | None]:
        """The rule id that each of these texts states, as far as they are known."""
        if len(blobs) > _MANY:
            return dict(self._db.execute("select blob, rule from texts"))
        ask = "select rule from texts where blob = ?"
        rows = ((blob, self._db.execute(ask, (blob,)).fetchone()) for blob in blobs)
        return {blob: row[0] for blob, row in rows if row}

    def add_texts(self, texts: Mapping[str, str | None]) -> None:
        """Note what texts state."""
        self._db.executemany("insert or ignore into texts values (?, ?)", texts.items())

    def files(self) -> dict[str, str]:
        """Rule files and watched files on the branch: path to blob."""
        return dict(self._db.execute("select path, blob from files"))

    def blob_at(self, path: str) -> str | None:
        """The blob of one such file."""
        row = self._db.execute("select blob from files where path = ?", (path,)).fetchone()
        return str(row[0]) if row else None

    def rules_at(self, paths: Iterable[str]) -> set[str]:
        """The rules whose texts lie at these paths."""
        ask = "select rule from files where path = ? and rule not null"
        return {str(rule) for path in paths for (rule,) in self._db.execute(ask, (path,))}

    def texts_of(self, rules: Collection[str] | None) -> dict[str, list[tuple[str, str]]]:
        """By rule (None: all) the files that hold it: path and blob, in order of path."""
        if rules is None:
            rows = self._db.execute("select rule, path, blob from files where rule not null order by path").fetchall()
        else:
            ask = "select rule, path, blob from files where rule = ? order by path"
            rows = [row for rule in rules for row in self._db.execute(ask, (rule,))]
        found: dict[str, list[tuple[str, str]]] = {}
        for rule, path, blob in rows:
            found.setdefault(rule, []).append((path, blob))
        return found

    def set_files(self, changed: Mapping[str, tuple[str, str | None] | None]) -> None:
        """Note files that changed: blob and the rule that it is a text of; None for those that are gone."""
        self._db.executemany("delete from files where path = ?", [(p,) for p, file in changed.items() if file is None])
        rows = [(path, *file) for path, file in changed.items() if file is not None]
        self._db.executemany("insert or replace into files values (?, ?, ?)", rows)

    # --- verdicts ---

    def verdicts(self) -> dict[str, Verdict]:
        """All verdicts, by rule."""
        return {rule: unpack(rule, json.loads(text)) for rule, text in self._db.execute("select * from verdicts")}

    def set_verdicts(self, verdicts: Mapping[str, Verdict | None]) -> None:
        """Replace the verdicts on these rules; None takes one away."""
        self._db.executemany("delete from verdicts where rule = ?", [(rule,) for rule in verdicts])
        rows = [(rule, _encoded(pack(one))) for rule, one in verdicts.items() if one is not None]
        self._db.executemany("insert into verdicts values (?, ?)", rows)


def _place(ids: bytes, wanted: bytes) -> int:
    """The number of an id among ids that stand side by side; -1 if it is not there."""
    at = ids.find(wanted)
    while at >= 0 and at % len(wanted):
        at = ids.find(wanted, at + 1)
    return at // len(wanted)


def _open(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(2):
            db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            try:
                if _prepare(db):
                    return db
            except sqlite3.DatabaseError as error:
                # Only what is no database may be thrown away: another process may be at work in one that is busy.
                if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
                    db.close()
                    raise
            db.close()
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
    except (OSError, sqlite3.Error) as error:
        raise StorageFailed(f"{path} cannot be used: {error}") from error
    raise StorageFailed(f"{path} cannot be made anew", hint="is the disk full or read-only?")


def _prepare(db: sqlite3.Connection) -> bool:
    """Make a new file ready; False if this one is of another version."""
    # waiting for the disk would cost more than all the rest; what a power cut may tear is thrown away after it (`boot`)
    db.execute(f"pragma synchronous = {'off' if boot() else 'normal'}")
    _use_wal(db)
    if _version(db) == VERSION:
        return True
    # asked again under the lock: another process may be making the same file ready
    db.execute("begin immediate")
    if not _version(db) and not db.execute("select count(*) from sqlite_master").fetchone()[0]:
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"pragma user_version = {VERSION}")
    db.execute("commit")
    return _version(db) == VERSION


def _version(db: sqlite3.Connection) -> int:
    version: int = db.execute("pragma user_version").fetchone()[0]
    return version


def _use_wal(db: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. SQLite does not wait by itself when two connections switch at once: we do."""
    give_up = time.monotonic() + _PATIENCE
    while True:
        try:
            db.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return


_encoded = json.JSONEncoder(separators=(",", ":")).encode


def pack(verdict: Verdict) -> list[object]:
    """A verdict as JSON holds it: positions in place of names, because every read takes a thousand apart."""
    rest = [[one.path, one.blob, _packed_evidence(one.evidence)] for one in verdict.unapproved]
    return [verdict.in_force, verdict.path, verdict.blob, _packed_evidence(verdict.evidence), rest]


def _packed_evidence(one: Evidence) -> list[object]:
    by = [one.by.name, one.by.email] if one.by else None
    suggested = [[person.name, person.email] for person in one.suggested_by]
    return [one.level, one.how, by, one.at, suggested, one.commit, one.reason]


def unpack(rule: str, raw: Any) -> Verdict:
    """The verdict that `pack` made this of."""
    in_force, path, blob, evidence, rest = raw
    unapproved = tuple(Arrival(one[0], one[1], _evidence(one[2])) for one in rest)
    return Verdict(rule, in_force, path, blob, _evidence(evidence), unapproved)


def _evidence(raw: Any) -> Evidence:
    level, how, by, at, suggested, commit, reason = raw
    people = tuple(Person(*one) for one in suggested)
    return Evidence(level, how, Person(*by) if by else None, at, people, commit, reason)
