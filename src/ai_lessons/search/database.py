"""SQLite files of this package: opened, rebuilt when damaged.

And the locks by which processes share one index.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
import zlib
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ai_lessons.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

T = TypeVar("T")

# How long another process may hold a lock before we go on in memory
WAIT_SECONDS = 20.0

_DAMAGE = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT))
_MISTAKE = frozenset(
    (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_MISMATCH)
)


class Schema(NamedTuple):
    """What a database holds.

    `version` is raised when `tables` or what is written into them change.
    """

    name: str
    tables: str
    version: int


def version_of(tables: str, number: int) -> int:
    """A version for tables, of a number that is raised by hand.

    Another one also where two branches raised it alike.
    """
    # SQLite keeps a version in 31 bits and a sign
    return zlib.crc32(f"{number} {tables}".encode()) >> 1


class Database:
    """One opened file.

    `notice` is a sentence on why it is empty or in memory (`in_memory`), if it is.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        self._path, self._schema = path, schema
        self.notice, self.in_memory, self._answering = "", False, False
        self._open()

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def _refill(self) -> None:
        """Fill a new database, where its source is known."""

    def rows(self, query: str, values: Any = ()) -> list[Any]:
        """What a query finds; see `ask`."""
        return self.ask(lambda db: db.execute(query, values).fetchall())

    def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Answer from the database; where it fails, once more from a new one, filled again.

        Raises StorageFailed: the new one failed too.
        """
        if self._answering:
            # a question within a question: the outer one repairs
            return question(self.connection)
        self._answering = True
        try:
            return question(self.connection)
        except sqlite3.DatabaseError as error:
            self._replace(error)
            try:
                self._refill()
                return question(self.connection)
            except sqlite3.DatabaseError as second:
                raise StorageFailed(
                    f"the {self._schema.name} {self._path} cannot be used: {second}"
                ) from second
        finally:
            self._answering = False

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock, waiting for the process that has it.

        Undo everything if anything is raised.
        """
        db = self.connection
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
        except BaseException:
            # whatever it is, Ctrl-C too: others wait for the lock; a full disk has undone it already
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")

    def _replace(self, error: sqlite3.DatabaseError) -> None:
        """Use a new file if the old one is damaged, memory if no file can be used.

        Else raise the error.
        """
        mistake = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _MISTAKE
        if self.in_memory or isinstance(error, sqlite3.ProgrammingError) or mistake:
            raise error
        self.connection.close()
        if _is_damage(error):
            self._open(error)
        else:
            self._use_memory(error)

    def _open(self, damage: sqlite3.DatabaseError | None = None) -> None:
        """Use the file, or an empty one in its place if it cannot be used or `damage` was found in it."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with _exclusive(self._path):
                inode = _inode(self._path)
                if damage and inode == self._inode:
                    fault = f"was damaged ({damage})"
                else:
                    fault = ""
                fault = fault or (self._connect() if inode else "")
                if fault or not inode:
                    self._put_empty()
                    self._connect()
        except (sqlite3.Error, OSError) as error:
            self._use_memory(error)
        else:
            if fault:
                self.notice = f"{self._schema.name} rebuilt: {self._path.name} {fault}"
            else:
                self.notice = self.notice

    def _use_memory(self, error: Exception) -> None:
        """A database of this process alone: always correct, filled anew each time."""
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._lay_tables(self.connection)
        self.in_memory = True
        self.notice = (
            f"{self._schema.name} kept in memory, because {self._path} cannot be used ({error})"
        )

    def _connect(self) -> str:
        """Open the file; why it cannot be used, or "". Raises sqlite3.Error."""
        # mode=rw never creates: a file appears only by _put_empty, whole and with all its tables
        uri = self._path.absolute().as_uri() + "?mode=rw"
        db = sqlite3.connect(
            uri, uri=True, isolation_level=None, timeout=WAIT_SECONDS, check_same_thread=False
        )
        try:
            # A lost last transaction only costs a little work; NORMAL keeps the file whole without
            # an fsync per write.
            db.executescript(
                "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536;"
            )
            (version,) = db.execute("PRAGMA user_version").fetchone()
            (tables,) = db.execute("PRAGMA schema_version").fetchone()
        except sqlite3.Error as error:
            db.close()
            if not _is_damage(error):
                raise
            return f"was damaged ({error})"
        self.connection, self._inode = db, _inode(self._path)
        if tables and version == self._schema.version:
            return ""
        db.close()
        return f"had version {version}, this program writes {self._schema.version}"

    def _put_empty(self) -> None:
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        _remove(fresh, "", "-wal", "-shm")
        # with the umask's bits; SQLite would make a file that a group cannot write
        fresh.touch()
        with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            self._lay_tables(connection)
        # The log goes first: SQLite would play the old one into the new file.
        _remove(self._path, "-wal", "-shm")
        os.replace(fresh, self._path)

    def _lay_tables(self, connection: sqlite3.Connection) -> None:
        _, tables, version = self._schema
        connection.executescript(
            f"PRAGMA foreign_keys = ON; BEGIN; {tables} PRAGMA user_version = {version}; COMMIT;"
        )


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether the file's content is at fault, so that a new one would do.

    A broken constraint is damage too.
    """
    return getattr(error, "sqlite_errorcode", -1) & 0xFF in _DAMAGE


def _inode(path: Path) -> int | None:
    """Tells a replaced file from the one that was opened; None if there is no file."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _remove(path: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """One process at a time puts a new file at `path`.

    The system frees the lock when the process ends.

    Raises TimeoutError: another process, perhaps one that Ctrl-Z stopped, holds it for
    `WAIT_SECONDS`.
    """
    with ExitStack() as stack:
        try:
            descriptor = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        except OSError:
            # where no lock can be made no file can be written either; an existing one is read
            yield
            return
        stack.callback(os.close, descriptor)
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise TimeoutError("another process holds its lock") from None
                time.sleep(0.01)
            except OSError:
                # this file system knows no locks
                break
        yield


# Held while the table in use is written, or a new one is made beside it
WRITE = "write"
# Held while vectors are computed, so that two processes do not compute the same ones
EMBED = "embed"
# Entries that were found by words while their vectors were missing
WANTED, MOST_WANTED = "wanted.json", 256
PROGRESS = "progress.json"


class Progress(NamedTuple):
    """Vectors that are `left` to compute, and how many were `computed` in how many `seconds`."""

    left: int
    computed: int
    seconds: float


class RefreshState:
    """Locks and notes in one folder. `trouble` says why the folder cannot be used, if so."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / "state.json"
        self.trouble = ""

    @contextmanager
    def locked(self, name: str, wait: float) -> Iterator[bool]:
        """Hold a lock; False if another process holds it for longer than `wait` seconds, or it cannot be made."""
        from filelock import FileLock, Timeout  # noqa: PLC0415  # no list of entries takes a lock of the index

        lock = FileLock(self._folder / f"{name}.lock")
        with ExitStack() as stack:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(lock.acquire(timeout=wait))
            except Timeout:
                pass
            except (OSError, NotImplementedError) as error:
                # NotImplementedError is what filelock raises on a file system without locks
                self.trouble = (
                    f"the index cannot be updated: {getattr(error, 'strerror', None) or error}"
                )
            yield lock.is_locked

    def want(self, entries: Iterable[str]) -> None:
        """The passages of these entries are wanted before others.

        Where it cannot be noted, the order is another.
        """
        with suppress(OSError):
            before = self.asked_for()
            newest = list(dict.fromkeys((*entries, *before)))[:MOST_WANTED]
            if newest != before:
                write_notes(self._folder / WANTED, {"entries": newest})

    def asked_for(self) -> list[str]:
        """The entries that searches found by words alone, the newest first."""
        entries = read_notes(self._folder / WANTED).get("entries")
        if isinstance(entries, list):
            return [entry for entry in entries if isinstance(entry, str)]
        return []

    def note_progress(self, left: int, computed: int, seconds: float) -> None:
        """How many vectors are left to compute, and in how many seconds how many were computed.

        Nothing left: over.
        """
        with suppress(OSError):
            if left:
                notes = {
                    "process": os.getpid(),
                    "left": left,
                    "computed": computed,
                    "seconds": seconds,
                }
                write_notes(self._folder / PROGRESS, notes)
            else:
                (self._folder / PROGRESS).unlink(missing_ok=True)

    def progress(self) -> Progress | None:
        """How far the process is that computes vectors now; None where none does."""
        notes = read_notes(self._folder / PROGRESS)
        process, left, computed, seconds = (
            notes.get(name) for name in ("process", "left", "computed", "seconds")
        )
        if not (isinstance(process, int) and isinstance(left, int) and isinstance(computed, int)):
            return None
        try:
            os.kill(process, 0)
        except OSError:
            # it was ended
            return None
        return Progress(left, computed, float(seconds) if isinstance(seconds, int | float) else 0.0)

    def mark(self) -> str:
        """Names the state of the table; empty where it is not known.

        Another vector or passage is another mark.
        """
        state = read_notes(self._path)
        if "table" in state and "version" in state:
            return f"{state['table']} {state['version']}"
        return ""

    def last(self) -> tuple[int, int, str] | None:
        """Passages and missing vectors as they were last written, and the generation they are of.

        None: not known.
        """
        state = read_notes(self._path)
        passages, missing, generation = (
            state.get(name) for name in ("passages", "missing", "generation")
        )
        if not (
            isinstance(passages, int) and isinstance(missing, int) and isinstance(generation, str)
        ):
            return None
        return passages, missing, generation

    def missing_at(self, generation: str, table: int, version: int) -> int | None:
        """How many vectors are missing, if this version of the table is known to hold this generation."""
        state = read_notes(self._path)
        if (state.get("generation"), state.get("table"), state.get("version")) != (
            generation,
            table,
            version,
        ):
            return None
        missing = state.get("missing")
        if isinstance(missing, int):
            return missing
        return None

    def remember(
        self, generation: str, table: int, version: int, missing: int, passages: int
    ) -> None:
        """This version of the table holds exactly this generation."""
        at = {"generation": generation, "table": table, "version": version}
        self._write({**at, "missing": missing, "passages": passages})

    def advance(self, table: int, before: int, after: int, missing: int) -> None:
        """The table has a new version with the same entries (vectors were filled in).

        Call under WRITE.
        """
        state = read_notes(self._path)
        if (state.get("table"), state.get("version")) == (table, before):
            self._write({**state, "version": after, "missing": missing})

    def report_damage(self, reason: str) -> None:
        """Let the next refresh rebuild the index."""
        self._write({"damaged": reason})

    def damage(self) -> str:
        """Why the index must be rebuilt, or ""."""
        return str(read_notes(self._path).get("damaged", ""))

    def _write(self, state: dict[str, object]) -> None:
        try:
            write_notes(self._path, state)
        except OSError as error:
            self.trouble = f"the index cannot be updated: {error.strerror or error}"


def read_notes(path: Path) -> dict[str, object]:
    """What `write_notes` wrote there; nothing where there is none, or it cannot be read."""
    try:
        notes = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if isinstance(notes, dict):
        return notes
    return {}


def write_notes(path: Path, notes: Mapping[str, object]) -> None:
    """Put a JSON file there, all at once. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(notes), "utf-8")
    os.replace(part, path)
