"""The catalog's database: its tables, how it is opened, and what happens to one that cannot be used.

A catalog is a projection: a file that is damaged, of another version or not ours is replaced by an empty one, and
where the folder cannot be written the database lives in memory. Never raises for any of these.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.index.wal import closed_on_error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPLICATION_ID = 0x61694C73
VERSION = 6
"""Raise it when the tables change, or when the same file would be read into another entry."""

WAIT_SECONDS = 20.0
"""How long another process may hold the write lock before we go on in memory."""

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
-- the whole frontmatter as JSON, apart from the entries, so that lists do not read past it
CREATE TABLE fields (key INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE, fields TEXT NOT NULL);
CREATE VIEW shown AS SELECT * FROM entries WHERE standing = 0;
-- the same entries with what filters ask for: it stands in the index, so that no row is read only to be counted
CREATE VIEW counted AS SELECT key, status, kind, project FROM entries INDEXED BY shown_newest WHERE standing = 0;
"""

_DAMAGE = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT))


_MISTAKE = frozenset((sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_MISMATCH))


class Opened(NamedTuple):
    """A database that can be used. `notice` says in a sentence why it is empty or in memory, if it is."""

    connection: sqlite3.Connection
    notice: str = ""
    in_memory: bool = False


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file's content is at fault, so that a new one would do. A broken constraint is damage too."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGE


def is_mistake(error: sqlite3.Error) -> bool:
    """Whether our own statement is at fault, which no other database would cure."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _MISTAKE


def open_database(path: Path) -> Opened:
    """The catalog at `path`, made or replaced if need be; in memory where that is not possible."""
    try:
        found = _usable(path)
        if isinstance(found, sqlite3.Connection):
            return Opened(found)
        return replace_database(path, found)
    except (sqlite3.Error, OSError) as error:
        return open_in_memory(path, error)


def replace_database(path: Path, why: str, seen: int | None = None) -> Opened:
    """An empty catalog instead of what is at `path`, unless another process has just seen to it.

    `seen` is the inode of a file that opened well and was found damaged in use.

    Raises:
        sqlite3.Error, OSError: the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path):
        found = _usable(path)
        if isinstance(found, sqlite3.Connection):
            if inode(path) != seen:
                return Opened(found)
            found.close()
        _put_empty(path)
        return Opened(_connect(path), why and f"catalog rebuilt: {why}")


def inode(path: Path) -> int | None:
    """What tells a replaced file from the one that was opened; None if there is no file."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


def open_in_memory(path: Path, error: Exception) -> Opened:
    """A catalog that this process keeps to itself: always right, built anew each time."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _lay_tables(connection)
    return Opened(connection, f"catalog kept in memory, because {path} cannot be used ({error})", in_memory=True)


def _usable(path: Path) -> sqlite3.Connection | str:
    """The open database, or the reason why there has to be a new one (empty where there simply is none)."""
    if not path.exists():
        return ""
    try:
        with closed_on_error(_connect(path)) as connection:
            fault = _fault(connection)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return f"{path.name} was damaged ({error})"
    if not fault:
        return connection
    connection.close()
    return f"{path.name} {fault}"


def _fault(connection: sqlite3.Connection) -> str:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        return "was not a catalog"
    return "" if version == VERSION else f"had version {version}, this program writes {VERSION}"


def _connect(path: Path) -> sqlite3.Connection:
    # mode=rw never creates: a file appears only by _put_empty, whole and with all its tables
    uri = path.absolute().as_uri() + "?mode=rw"
    opened = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=WAIT_SECONDS, check_same_thread=False)
    with closed_on_error(opened) as connection:
        # A lost last transaction only costs a little work; NORMAL keeps the file whole without an fsync per write.
        connection.executescript("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")
        return connection


def _put_empty(path: Path) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    _remove(fresh)
    connection = sqlite3.connect(fresh, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        _lay_tables(connection)
    finally:
        connection.close()
    # The log goes first: SQLite would play the old one into the new file.
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")
    os.replace(fresh, path)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")


def _lay_tables(connection: sqlite3.Connection) -> None:
    connection.executescript(
        f"PRAGMA foreign_keys = ON; BEGIN; {_TABLES} PRAGMA application_id = {APPLICATION_ID};"
        f"PRAGMA user_version = {VERSION}; COMMIT;"
    )


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time puts a new file at `path`; the lock falls with the process."""
    descriptor = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
