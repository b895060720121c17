"""The catalog: what lists and shows need to know of every entry, brought up to date before it is read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, Self

from ai_lessons.index.catalog_reading import (
    CatalogReader,
    generation_of,
    meta_of,
    unattested,
    unreadable_files,
)
from ai_lessons.index.catalog_survey import Disk, survey
from ai_lessons.index.catalog_writing import Writing, attest, record
from ai_lessons.index.database import Database, Schema

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from ai_lessons.index.catalog_survey import FolderChange, Parse, Progress, Read, Scan
    from ai_lessons.index.catalog_writing import Attested, CatalogRecord
    from ai_lessons.knowledge.entries import Entry

_HOPEFUL_TRIES = 3  # How often a refresh reads first and locks after; then it holds the write lock while it reads

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE folders (folder TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    folder TEXT NOT NULL, name TEXT NOT NULL,
    mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    mode INTEGER NOT NULL, racy INTEGER NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (folder, name)
) WITHOUT ROWID;
CREATE TABLE problems (file TEXT NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL, message TEXT NOT NULL);
CREATE INDEX problems_file ON problems (file);

-- standing: 0 shown; 1 a rule of the working tree, which counts only as approved; 2 a second file with a taken id.
-- The check is the wall: no statement, however wrong, can show a rule that did not come from the approval branch.
CREATE TABLE entries (
    key INTEGER PRIMARY KEY,
    source TEXT NOT NULL CHECK (source IN ('files', 'approved')),
    file TEXT NOT NULL,
    standing INTEGER NOT NULL CHECK (standing <> 0 OR kind <> 'rule' OR source = 'approved'),
    id TEXT NOT NULL, tail TEXT NOT NULL, handle TEXT NOT NULL, kind TEXT NOT NULL,
    project TEXT NOT NULL, path TEXT NOT NULL, side_path TEXT, status TEXT NOT NULL, created TEXT NOT NULL,
    title TEXT NOT NULL, tags TEXT NOT NULL, versions TEXT NOT NULL, snippet TEXT NOT NULL, details TEXT NOT NULL,
    derived INTEGER NOT NULL, hash TEXT, side_hash TEXT, text_hash TEXT NOT NULL, meta_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX entries_file ON entries (file, source);
CREATE INDEX entries_id ON entries (id);
CREATE UNIQUE INDEX shown_id ON entries (id, text_hash, meta_hash) WHERE standing = 0;
CREATE INDEX shown_tail ON entries (tail) WHERE standing = 0;
CREATE INDEX shown_newest ON entries (created DESC, id DESC, status, kind, project) WHERE standing = 0;
CREATE INDEX shown_path ON entries (path) WHERE standing = 0;
CREATE INDEX shown_side_path ON entries (side_path) WHERE standing = 0 AND side_path IS NOT NULL;
CREATE INDEX hidden ON entries (standing) WHERE standing <> 0;
CREATE INDEX approved ON entries (id, standing, path, hash) WHERE source = 'approved';
CREATE TABLE tags (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, tag TEXT NOT NULL, PRIMARY KEY (key, tag)
) WITHOUT ROWID;
CREATE TABLE versions (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, version TEXT NOT NULL, PRIMARY KEY (key, version)
) WITHOUT ROWID;
CREATE TABLE links (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
    relation TEXT NOT NULL, target TEXT NOT NULL, weight REAL, PRIMARY KEY (key, relation, target)
) WITHOUT ROWID;
CREATE INDEX links_target ON links (target);
-- the whole frontmatter as JSON and how the text begins, apart from the entries, so that lists do not read past it
CREATE TABLE fields (
    key INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE, fields TEXT NOT NULL, opening TEXT NOT NULL
);
-- the shapes of failures that entries keep: lines of words
CREATE TABLE failures (key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, words TEXT NOT NULL);
CREATE INDEX failures_key ON failures (key);
CREATE VIEW shown AS SELECT * FROM entries WHERE standing = 0;
-- the same entries with what filters ask for: it stands in the index, so that no row is read only to be counted
CREATE VIEW counted AS SELECT key, status, kind, project FROM entries INDEXED BY shown_newest WHERE standing = 0;
"""

VERSION = 9  # Raise it when the tables change, or when the same file would be read into another entry

SCHEMA = Schema("catalog", _TABLES, VERSION, application=0x61694C73)


class Refreshed(NamedTuple):
    """What a refresh found. Ids of shown entries only; `unreadable` counts files that give no entry.

    `rebuilt` is a sentence for the user where the catalog had to be made anew or is kept in memory, else empty.
    """

    generation: int
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unreadable: int = 0
    rebuilt: str = ""


def _silent(_what: str, _done: int, _total: int) -> None:
    """Progress for callers that show none."""


class Catalog(CatalogReader):
    """One catalog file, opened. Use as a context manager. A damaged file is replaced and filled again in between."""

    def __init__(self, path: Path, *, tier: str = "user", clock: Callable[[], int] = time.time_ns) -> None:
        self._tier, self._clock = tier, clock
        self._disk: Disk | None = None
        self._database = Database(path, SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    @property
    def in_memory(self) -> bool:
        """Whether this process keeps the catalog to itself because its folder cannot be written."""
        return self._database.in_memory

    def refresh(self, scan: Scan, read: Read, parser: Callable[[], Parse], progress: Progress = _silent) -> Refreshed:
        """Bring the catalog up to date with the files.

        `scan()` walks the folders anew each time, as `(folder, [(name, mtime_ns, ctime_ns, size, inode, mode)])`
        with UTF-8 names; `read(path)` gives bytes, NotFound where the file is gone, another error of ours where it
        cannot be read; `parser()` gives what makes an Entry of them, and is called only if something changed.
        """
        self._disk = Disk(scan, read, parser, progress)
        return self._database.ask(lambda _: self._refresh())

    def set_rules_in_force(
        self, tree: str, rules: Iterable[tuple[Entry, str]], *, keep: Collection[str] = ()
    ) -> Refreshed:
        """Put in the rules of the approval branch, each with its blob hash.

        What was put in before is forgotten, but for the ids in `keep`. `tree` names the state that they come from, for
        `rules_tree` to tell whether there is a newer one; it is noted even where no rule changed. Who approved what is
        the caller's business: these entries are shown, rules of the working tree never.
        """
        records = [record(entry, entry.path, blob, None) for entry, blob in rules]
        return self._ask(lambda _: self._put_rules(tree, records, frozenset(keep)))

    def rules_tree(self) -> str:
        """What `set_rules_in_force` was last told; empty in a new catalog."""
        return self._ask(lambda db: str(meta_of(db, "rules_tree") or ""))

    def unattested(self) -> list[str]:
        """Ids of lessons that claim to be a person's, or proven elsewhere, and of which `attest` has not been told."""
        return self._ask(lambda _: self._unattested())

    def attest(self, found: Mapping[str, Attested]) -> None:
        """Write down by id what is known of such claims. It holds until the file changes."""

        def put(db: sqlite3.Connection) -> None:
            with self._database.transaction():
                attest(db, found)

        self._ask(put)

    def _refresh(self) -> Refreshed:
        for _ in range(_HOPEFUL_TRIES):
            if done := self._refresh_hopefully():
                return done
        with self._database.transaction():
            return self._write(self._look())

    def _refresh_hopefully(self) -> Refreshed | None:
        """Read and parse without a lock; None where another process wrote meanwhile, so that we know too little."""
        base = generation_of(self._database.connection)
        changes = self._look()
        if not changes:
            return self._refreshed()
        with self._database.transaction():
            return self._write(changes) if generation_of(self._database.connection) == base else None

    def _look(self) -> list[FolderChange]:
        assert self._disk is not None, "a look needs the ways to the disk"  # noqa: S101 - for the type checker
        return survey(self._database.connection, self._disk, self._clock())

    def _write(self, changes: list[FolderChange]) -> Refreshed:
        if not changes:
            return self._refreshed()
        writing = Writing(self._database.connection)
        writing.folders(changes)
        return self._settle(writing)

    def _put_rules(self, tree: str, records: list[CatalogRecord], keep: frozenset[str]) -> Refreshed:
        with self._database.transaction():
            _put_meta(self._database.connection, "rules_tree", tree)
            if not records and keep >= self.rules_in_force().keys():
                return self._refreshed()
            writing = Writing(self._database.connection)
            writing.approved(records, keep)
            return self._settle(writing)

    def _unattested(self) -> list[str]:
        """Nothing is looked for where nothing was written since the last look that found nothing."""
        now = generation_of(self._database.connection)
        if meta_of(self._database.connection, "attested") == now:
            return []
        found = unattested(self._database.connection)
        if not found:
            _put_meta(self._database.connection, "attested", now)
        return found

    def _settle(self, writing: Writing) -> Refreshed:
        changed, removed = writing.settle()
        # from the clock, so that a catalog made anew does not count through the numbers of the last one
        _put_meta(
            self._database.connection, "generation", max(self._clock(), generation_of(self._database.connection) + 1)
        )
        _put_meta(self._database.connection, "unreadable", unreadable_files(self._database.connection))
        return self._refreshed(changed, removed)

    def _refreshed(self, changed: tuple[str, ...] = (), removed: tuple[str, ...] = ()) -> Refreshed:
        notice, self._database.notice = self._database.notice, ""
        unreadable = int(meta_of(self._database.connection, "unreadable") or 0)
        return Refreshed(generation_of(self._database.connection), changed, removed, unreadable, notice)

    def _refill(self) -> None:
        """Fill a new database and keep what is to be said of it for the next refresh."""
        if self._disk is not None:
            self._database.notice = self._refresh().rebuilt


def _put_meta(db: sqlite3.Connection, key: str, value: object) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
