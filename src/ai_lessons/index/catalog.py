"""The catalog: what lists and shows need to know of every entry, brought up to date before it is read.

A projection of the files in one small SQLite database, never the truth: it may be deleted at any time. Imports
neither YAML nor git nor the index, so that reading stays quick; parsing is handed in and asked for only when
something changed. Knows nothing of commits, and shows no rule that was not put in by `set_rules_in_force`.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.index import catalog_reading
from ai_lessons.index.catalog_schema import (
    inode,
    is_damage,
    is_mistake,
    open_database,
    open_in_memory,
    replace_database,
)
from ai_lessons.index.catalog_survey import Disk, survey
from ai_lessons.index.catalog_writing import Writing, attest, record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from ai_lessons.errors import Problem
    from ai_lessons.index.catalog_reading import Filter, LinkRow, Location, Sizes, Tally
    from ai_lessons.index.catalog_schema import Opened
    from ai_lessons.index.catalog_survey import FolderChange, Parse, Progress, Read, Scan
    from ai_lessons.index.catalog_writing import Attested, CatalogRecord
    from ai_lessons.knowledge.entries import Entry, Kind, Light

T = TypeVar("T")
_HOPEFUL_TRIES = 3
_STEP = 0.002
"""How often a refresh reads first and locks after; then it holds the write lock while it reads."""


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


class Catalog:
    """One catalog file, opened. Use as a context manager.

    For one thread at a time, and for any number of processes: readers see what was last committed and wait for
    nobody. A damaged file is replaced and filled again in the middle of whatever was asked.
    """

    def __init__(self, path: Path, *, tier: str = "user", clock: Callable[[], int] = time.time_ns) -> None:
        self._path, self._tier, self._clock = path, tier, clock
        self._disk: Disk | None = None
        self._notice = ""
        self._use(open_database(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    @property
    def in_memory(self) -> bool:
        """Whether this process keeps the catalog to itself because its folder cannot be written."""
        return self._in_memory

    @property
    def generation(self) -> int:
        """Moves with every write; a rebuilt catalog never comes back to a number it had before."""
        return self._ask(_generation)

    def refresh(self, scan: Scan, read: Read, parser: Callable[[], Parse], progress: Progress = _silent) -> Refreshed:
        """Bring the catalog up to date with the files.

        `scan()` walks the folders anew each time, as `(folder, [(name, mtime_ns, ctime_ns, size, inode, mode)])`
        with UTF-8 names; `read(path)` gives bytes, NotFound where the file is gone, another error of ours where it
        cannot be read; `parser()` gives what makes an Entry of them, and is called only if something changed.
        """
        self._disk = Disk(scan, read, parser, progress)
        return self._ask(lambda _: self._refresh(), fill=False)

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

    def rules_in_force(self) -> dict[str, tuple[str, str]]:
        """(path, blob hash) of every rule that was put in, by id."""
        return self._ask(catalog_reading.approved)

    def with_globs(self, kinds: Collection[str]) -> list[Light]:
        """The active entries of these kinds that say what files they apply to."""
        return self._ask(lambda db: catalog_reading.with_globs(db, kinds, self._tier))

    def rules_tree(self) -> str:
        """What `set_rules_in_force` was last told; empty in a new catalog."""
        return self._ask(lambda db: str(_meta(db, "rules_tree") or ""))

    def get(self, entry_id: str) -> Light:
        """The entry with this full id. Raises NotFound."""
        found = self.many([entry_id])
        if entry_id not in found:
            raise NotFound("entry", entry_id)
        return found[entry_id]

    def many(self, ids: Iterable[str]) -> dict[str, Light]:
        """The entries with these full ids; ids that do not exist are left out."""
        wanted = list(ids)
        return self._ask(lambda db: catalog_reading.by_ids(db, wanted, self._tier))

    def resolve(self, ref: str) -> Light:
        """The entry that a person means: handle, id, unique end of an id, or repository-relative path of a file.

        Raises:
            NotFound: nothing answers to it; the hint says what comes near. AmbiguousName: more than one entry does.
        """
        return self.get(self._ask(lambda db: catalog_reading.resolve(db, ref)))

    def handle_beside(self, kind: Kind, entry_id: str) -> str:
        """The handle of an entry that was written a moment ago, unique among the entries of the last refresh."""
        return self._ask(lambda db: catalog_reading.handle_beside(db, kind, entry_id))

    def locate(self, entry_id: str) -> Location:
        """The files of one entry. Raises NotFound."""
        found = self.locations([entry_id])
        if not found:
            raise NotFound("entry", entry_id)
        return found[0]

    def locations(self, ids: Iterable[str] | None = None) -> list[Location]:
        """The files of these entries, or of all."""
        wanted = None if ids is None else list(ids)
        return self._ask(lambda db: catalog_reading.locations(db, wanted))

    def unattested(self) -> list[str]:
        """Ids of lessons that claim to be a person's, or proven elsewhere, and of which `attest` has not been told."""
        return self._ask(lambda _: self._unattested())

    def attest(self, found: Mapping[str, Attested]) -> None:
        """Write down by id what is known of such claims. It holds until the file changes."""
        self._ask(lambda _: self._put_attested(found))

    def fields(self, entry_id: str) -> dict[str, Any]:
        """The whole frontmatter of an entry, as it was read from the contents that `locate` names."""
        return self._ask(lambda db: catalog_reading.fields(db, entry_id))

    def select(self, wanted: Filter) -> list[Light]:
        """The entries that pass a filter, with handles that are unique in the repository."""
        return self._ask(lambda db: catalog_reading.select(db, wanted, self._tier))

    def count(self, wanted: Filter) -> int:
        """How many entries pass a filter, whatever its limit and offset."""
        return self._ask(lambda db: catalog_reading.count(db, wanted))

    def tags(self) -> list[Tally]:
        """The tags of active entries, most used first."""
        return self._ask(catalog_reading.tag_tallies)

    def versions(self) -> list[Tally]:
        """The versions of active entries, most used first."""
        return self._ask(catalog_reading.version_tallies)

    def projects(self) -> list[Tally]:
        """The projects of active entries, largest first."""
        return self._ask(catalog_reading.project_tallies)

    def edges(self, entry_id: str | None = None) -> list[LinkRow]:
        """The links that start or end at an entry, or the whole graph. Says nothing of which hold both ways."""
        return self._ask(lambda db: catalog_reading.edges(db, entry_id))

    def unreadable(self) -> list[Problem]:
        """Every reason why a file gives no entry, by path: it cannot be read, is invalid, or its id is taken."""
        return self._ask(catalog_reading.problems)

    def complete(self, what: str, prefix: str, limit: int = 50) -> list[tuple[str, str]]:
        """Values of `what` (id, project, tag, version) that start with `prefix`, each with a word of help."""
        return self._ask(lambda db: catalog_reading.complete(db, what, prefix, limit))

    def fingerprints(self) -> list[tuple[str, str, str]]:
        """(id, text hash, meta hash) of every entry, by id: what an index compares with its own rows."""
        return self._ask(catalog_reading.fingerprints)

    def sizes(self) -> Sizes:
        """Counts for statistics."""
        return self._ask(catalog_reading.sizes)

    def _refresh(self) -> Refreshed:
        for _ in range(_HOPEFUL_TRIES):
            done = self._refresh_hopefully()
            if done:
                return done
        with _transaction(self._db):
            return self._write(self._look())

    def _refresh_hopefully(self) -> Refreshed | None:
        """Read and parse without a lock; None where another process wrote meanwhile, so that we know too little."""
        base = _generation(self._db)
        changes = self._look()
        if not changes:
            return self._refreshed()
        with _transaction(self._db):
            return self._write(changes) if _generation(self._db) == base else None

    def _look(self) -> list[FolderChange]:
        assert self._disk is not None, "a look needs the ways to the disk"  # noqa: S101 - for the type checker
        return survey(self._db, self._disk, self._clock())

    def _write(self, changes: list[FolderChange]) -> Refreshed:
        if not changes:
            return self._refreshed()
        writing = Writing(self._db)
        writing.folders(changes)
        return self._settle(writing)

    def _put_rules(self, tree: str, records: list[CatalogRecord], keep: frozenset[str]) -> Refreshed:
        with _transaction(self._db):
            _put_meta(self._db, "rules_tree", tree)
            if not records and keep >= catalog_reading.approved(self._db).keys():
                return self._refreshed()
            writing = Writing(self._db)
            writing.approved(records, keep)
            return self._settle(writing)

    def _put_attested(self, found: Mapping[str, Attested]) -> None:
        with _transaction(self._db):
            attest(self._db, found)

    def _unattested(self) -> list[str]:
        """Nothing is looked for where nothing was written since the last look that found nothing."""
        now = _generation(self._db)
        if _meta(self._db, "attested") == now:
            return []
        found = catalog_reading.unattested(self._db)
        if not found:
            _put_meta(self._db, "attested", now)
        return found

    def _settle(self, writing: Writing) -> Refreshed:
        changed, removed = writing.settle()
        # from the clock, so that a catalog made anew does not count through the numbers of the last one
        _put_meta(self._db, "generation", max(self._clock(), _generation(self._db) + 1))
        _put_meta(self._db, "unreadable", catalog_reading.unreadable_files(self._db))
        return self._refreshed(changed, removed)

    def _refreshed(self, changed: tuple[str, ...] = (), removed: tuple[str, ...] = ()) -> Refreshed:
        notice, self._notice = self._notice, ""
        unreadable = int(_meta(self._db, "unreadable") or 0)
        return Refreshed(_generation(self._db), changed, removed, unreadable, notice)

    def _ask(self, question: Callable[[sqlite3.Connection], T], *, fill: bool = True) -> T:
        """Answer from the database; where it fails, once more from a new one, which is filled first.

        Raises:
            StorageFailed: the new one failed too.
        """
        try:
            return question(self._db)
        except sqlite3.DatabaseError as error:
            self._replace(error)
        try:
            if fill and self._disk is not None:
                self._notice = self._fill()
            return question(self._db)
        except sqlite3.DatabaseError as error:
            raise StorageFailed(f"the catalog {self._path} cannot be used: {error}") from error

    def _fill(self) -> str:
        """Fill a new database and keep what is to be said of it for the next refresh."""
        return self._refresh().rebuilt

    def _replace(self, error: sqlite3.DatabaseError) -> None:
        """Go on with a new file if the old one is damaged, in memory if the system will not have it.

        Raises:
            sqlite3.DatabaseError: the error itself, where neither would help.
        """
        if self._in_memory or isinstance(error, sqlite3.ProgrammingError) or is_mistake(error):
            raise error
        self._db.close()
        if is_damage(error):
            try:
                self._use(replace_database(self._path, f"{self._path.name} was damaged ({error})", self._inode))
            except (sqlite3.Error, OSError) as still:
                self._use(open_in_memory(self._path, still))
        else:
            self._use(open_in_memory(self._path, error))

    def _use(self, opened: Opened) -> None:
        self._db, self._in_memory = opened.connection, opened.in_memory
        self._notice = opened.notice or self._notice
        self._inode = inode(self._path)


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock, waiting for whoever has it; undo everything if anything is raised."""
    _begin(db)
    try:
        yield
    except BaseException:
        if db.in_transaction:  # a full disk has undone it already
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _begin(db: sqlite3.Connection) -> None:
    """Take the write lock. SQLite's own waiting sleeps ten times as long as the lock is usually held."""
    (usual,) = db.execute("PRAGMA busy_timeout").fetchone()
    give_up = time.monotonic() + usual / 1000
    db.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                    raise
                time.sleep(_STEP)
            else:
                return
    finally:
        db.execute(f"PRAGMA busy_timeout = {usual}")


def _generation(db: sqlite3.Connection) -> int:
    return int(_meta(db, "generation") or 0)


def _meta(db: sqlite3.Connection, key: str) -> Any:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def _put_meta(db: sqlite3.Connection, key: str, value: object) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
