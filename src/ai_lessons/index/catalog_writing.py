"""Writes a survey into the catalog, inside the caller's transaction. Decides nothing about the disk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.index.catalog_records import SEPARATOR
from ai_lessons.knowledge.entries import HANDLE_LENGTH, Kind, handle, handle_lengths

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Mapping, Sequence

    from ai_lessons.index.catalog_records import CatalogRecord
    from ai_lessons.index.catalog_survey import FolderChange

FILES = "files"
APPROVED = "approved"

_INSERT = """
INSERT INTO entries (
    key, source, file, standing, id, tail, handle, kind, project, path, side_path, status, created, title, tags,
    versions, snippet, details, derived, hash, side_hash, text_hash, meta_hash
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_HIDDEN = 2
_TOUCH_APPROVED = """
INSERT OR IGNORE INTO touched
SELECT id FROM entries WHERE source = 'approved' AND id NOT IN (SELECT value FROM json_each(?))
"""
_FORGET_APPROVED = "DELETE FROM entries WHERE source = 'approved' AND id NOT IN (SELECT value FROM json_each(?))"

# Of all files that state one id, what is approved comes first, then the smallest path: the same for every reader.
_SETTLE = """
UPDATE entries SET standing = 2 WHERE standing <> 2 AND id IN (SELECT id FROM touched);
UPDATE entries SET standing = (kind = 'rule' AND source = 'files') WHERE key IN (
    SELECT key FROM (
        SELECT key, row_number() OVER (PARTITION BY id ORDER BY source, file) AS place
        FROM entries WHERE id IN (SELECT id FROM touched)
    ) WHERE place = 1
);
UPDATE entries SET standing = 1 WHERE standing = 2 AND kind = 'rule' AND source = 'files' AND id IN (
    SELECT id FROM shown WHERE kind = 'rule' AND id IN (SELECT id FROM touched)
);
"""


class Attested(NamedTuple):
    """What is known of a lesson's claims: who stated it (empty: not known), and whether that is the user, in person.

    `start` says whether the standing that it brought from elsewhere counts.
    """

    stated_by: str
    firm: bool
    start: bool


def attest(db: sqlite3.Connection, found: Mapping[str, Attested]) -> None:
    """Put what is known of claims beside them. Changes no hash: files and passages are as they were."""
    rows = [(one.stated_by, int(one.firm), entry_id) for entry_id, one in found.items()]
    db.executemany(
        "UPDATE entries SET details = json_set(details, '$.stated_by', ?, '$.firm', ?) WHERE id = ? AND standing = 0",
        rows,
    )
    unproven = [(entry_id,) for entry_id, one in found.items() if not one.start]
    db.executemany(
        "UPDATE entries SET details = json_remove(details, '$.start') WHERE id = ? AND standing = 0", unproven
    )


class Writing:
    """One write: collect what it touches, then settle who is shown, under which handle, and what changed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute("CREATE TEMP TABLE IF NOT EXISTS touched (id TEXT PRIMARY KEY) WITHOUT ROWID")
        connection.execute("DELETE FROM touched")
        self._before: dict[str, tuple[str, str]] = {}

    def folders(self, changes: Sequence[FolderChange]) -> None:
        """Forget and learn what the survey says."""
        db = self._connection
        for change in changes:
            self._files(change)
        units = [(unit,) for change in changes for unit in change.units]
        touch = "INSERT OR IGNORE INTO touched SELECT id FROM entries WHERE source = 'files' AND file = ?"
        db.executemany(touch, units)
        # oldest first: lists ask by age, and read half as long where rows lie on disk in that order
        records = sorted((r for change in changes for r in change.records), key=lambda r: (r.created, r.id))
        db.executemany("INSERT OR IGNORE INTO touched VALUES (?)", [(record.id,) for record in records])
        self._remember()
        db.executemany("DELETE FROM entries WHERE source = 'files' AND file = ?", units)
        db.executemany("DELETE FROM problems WHERE file = ?", units)
        problems = [
            (file, problem.path, problem.line, problem.message)
            for change in changes
            for file, problem in change.problems
        ]
        db.executemany("INSERT INTO problems VALUES (?, ?, ?, ?)", problems)
        self._insert(records, FILES)

    def approved(self, records: Sequence[CatalogRecord], keep: Collection[str]) -> None:
        """Replace what came from the approval branch, but for the ids in `keep`."""
        db = self._connection
        kept = json.dumps(sorted({*keep} - {record.id for record in records}))
        db.execute(_TOUCH_APPROVED, (kept,))
        db.executemany("INSERT OR IGNORE INTO touched VALUES (?)", [(record.id,) for record in records])
        self._remember()
        db.execute(_FORGET_APPROVED, (kept,))
        self._insert(records, APPROVED)

    def settle(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Decide who is shown and under which handle. Returns the ids that changed and those that are gone."""
        for statement in _SETTLE.split(";"):
            self._connection.execute(statement)
        self._settle_handles()
        after = self._shown_now()
        changed = tuple(i for i, hashes in after.items() if self._before.get(i) != hashes)
        return changed, tuple(i for i in self._before if i not in after)

    def _remember(self) -> None:
        self._before = self._shown_now()

    def _shown_now(self) -> dict[str, tuple[str, str]]:
        query = "SELECT s.id, s.text_hash, s.meta_hash FROM touched t JOIN shown s ON s.id = t.id"
        return {row[0]: (row[1], row[2]) for row in self._connection.execute(query)}

    def _files(self, change: FolderChange) -> None:
        db, folder = self._connection, change.folder
        if change.digest is None:
            db.execute("DELETE FROM folders WHERE folder = ?", (folder,))
        else:
            db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (folder, change.digest))
        db.executemany("DELETE FROM files WHERE folder = ? AND name = ?", [(folder, name) for name in change.gone])
        rows = [(folder, name, *file.stamp, file.racy, file.hash) for name, file in change.files.items()]
        db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def _insert(self, records: Sequence[CatalogRecord], source: str) -> None:
        db = self._connection
        (first,) = db.execute("SELECT coalesce(max(key), 0) + 1 FROM entries").fetchone()
        keyed = list(enumerate(records, first))
        rows = [_row(key, record, source) for key, record in keyed]
        db.executemany(_INSERT, rows)
        db.executemany("INSERT INTO tags VALUES (?, ?)", [(key, tag) for key, r in keyed for tag in r.tags])
        db.executemany("INSERT INTO versions VALUES (?, ?)", [(key, v) for key, r in keyed for v in r.versions])
        db.executemany("INSERT INTO fields VALUES (?, ?)", [(key, r.fields) for key, r in keyed])
        links = [(key, link.relation, link.target, link.weight) for key, r in keyed for link in r.links]
        db.executemany("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?)", links)

    def _settle_handles(self) -> None:
        """Lengthen a handle only where the last characters of another shown id are the same, and shorten it again."""
        db = self._connection
        tails = {id_.upper()[::-1][:HANDLE_LENGTH] for (id_,) in db.execute("SELECT id FROM touched")}
        query = "SELECT key, id, kind, handle FROM shown WHERE tail >= ? AND tail < ?"
        updates = []
        for tail in tails:
            group = db.execute(query, (tail, tail + "~")).fetchall()
            lengths = handle_lengths(row[1].upper() for row in group) if len(group) > 1 else {}
            for key, id_, kind, had in group:
                wanted = handle(Kind(kind), id_, lengths.get(id_.upper(), HANDLE_LENGTH))
                if wanted != had:
                    updates.append((wanted, key))
        db.executemany("UPDATE entries SET handle = ? WHERE key = ?", updates)


def _row(key: int, r: CatalogRecord, source: str) -> tuple[object, ...]:
    return (
        key, source, r.file, _HIDDEN, r.id, r.tail, r.handle, r.kind, r.project, r.path, r.side_path, r.status,
        r.created, r.title, SEPARATOR.join(r.tags), SEPARATOR.join(r.versions), r.snippet, r.details, r.derived,
        r.hash, r.side_hash, r.text_hash, r.meta_hash,
    )  # fmt: skip
