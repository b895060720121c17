"""Finds what changed on disk since the catalog last looked.

Begin with `survey`.
"""

from __future__ import annotations

import marshal
from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem
from ai_lessons.model.entries import Kind
from ai_lessons.model.layout import SIDE_SUFFIX, blob_id, place
from ai_lessons.search.catalog_records import record

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.model.entries import Entry
    from ai_lessons.search.catalog_records import CatalogRecord

    Row = tuple[str, int, int, int, int, int]
    Scan = Callable[[], Iterable[tuple[str, list[Row]]]]
    Read = Callable[[str], bytes]
    Parse = Callable[[str, bytes, bytes | None], Entry]
    Progress = Callable[[str, int, int], None]
    Stamp = tuple[int, int, int, int, int]


class Elsewhere(Protocol):
    """The way to the code of scripts that are kept outside of the repository, by the id and path of each."""

    def stamp(self, entry_id: str, path: str) -> str:
        """Differs once the file was changed."""

    def code(self, entry_id: str, path: str) -> bytes:
        """What the file holds now."""

    def shown(self, entry: Entry) -> Entry:
        """The entry with its code as it may be shown."""


_LARGEST = 2**63 - 1

# Digest of a folder that has to be compared file by file next time
UNSURE = b""


class Unit(NamedTuple):
    """The one or two files that make an entry.

    Where they lie, and the names of both within their folder.
    """

    name: str
    side: str | None


class Content(NamedTuple):
    """What the files of a unit held.

    Two units are the same entry if this and their path are equal.
    """

    hash: str
    side: str | None
    side_hash: str | None


def digest(rows: Sequence[Row]) -> bytes:
    """One value for all rows of a folder, in the order of the walk."""
    # version 2 of marshal writes no back references, so that equal rows give equal bytes
    return sha1(marshal.dumps(list(rows), 2), usedforsecurity=False).digest()


def stamp_of(row: Row) -> Stamp:
    """A row's stamp, in numbers that SQLite can hold.

    Inodes and far future times may need the 64th bit.
    """
    stamp = row[1:]
    return stamp if max(stamp) <= _LARGEST else tuple(min(number, _LARGEST) for number in stamp)  # type: ignore[return-value]


def is_racy(stamp: Stamp, started: int) -> bool:
    """Whether an edit after the look that `started` then (ns since the epoch) could leave this stamp as it is."""
    mtime, ctime = stamp[0], stamp[1]
    coarse = mtime % 1_000_000_000 == 0 and ctime % 1_000_000_000 == 0
    # A file system that keeps whole seconds (FAT: even ones) hides an edit for up to two. The
    # clocks of others tick every 1 to 10 ms, and a person does not save twice in 50.
    return max(mtime, ctime) >= started - (2_000_000_000 if coarse else 50_000_000)


def units(folder: str, names: Iterable[str]) -> Iterator[Unit]:
    """Pair the entry files of one folder: below `scripts/`, `X.md` beside `X` is its side file.

    A side file has no side file of its own: of `X`, `X.md` and `X.md.md` the last is a script
    again.
    """
    present = set(names)
    sides: set[str] = set()
    # `X.md` comes before `X.md.md`
    for name in sorted(name for name in present if name.endswith(SIDE_SUFFIX)):
        main = name.removesuffix(SIDE_SUFFIX)
        if main not in present or main in sides:
            continue
        spot = place(join(folder, name))
        if spot is not None and spot.kind is Kind.SCRIPT:
            sides.add(name)
    for name in sorted(present - sides):
        side = name + SIDE_SUFFIX
        if side in sides:
            yield Unit(name, side)
        else:
            yield Unit(name, None)


def contents(folder: str, files: Mapping[str, CatalogedFile]) -> dict[str, Content]:
    """What the catalog knows of a folder's units, by the name of the main file."""
    contents: dict[str, Content] = {}
    for unit in units(folder, files):
        side_hash = None
        if unit.side:
            side_hash = files[unit.side].hash
        contents[unit.name] = Content(files[unit.name].hash, unit.side, side_hash)
    return contents


def join(folder: str, name: str) -> str:
    """The path of a name in a folder of the repository; the root is the empty folder."""
    if folder:
        return f"{folder}/{name}"
    return name


class Disk(NamedTuple):
    """The ways to the files. `scan` walks anew at every call."""

    scan: Scan
    read: Read
    parse: Parse
    progress: Progress
    elsewhere: Elsewhere


def survey(
    connection: sqlite3.Connection, disk: Disk, started: int, most: int | None = None
) -> tuple[list[FolderChange], int]:
    """Compare the disk with the database.

    What to write, and how many entries are left for the next look.

    `started` (ns since the epoch) must not be later than the walk. At most so many (`most`) new
    entries are read.
    """
    stored: dict[str, bytes] = dict(connection.execute("SELECT folder, digest FROM folders"))
    removed, differing = dict(stored), []
    moved = _changed_elsewhere(connection, disk.elsewhere)
    for folder, rows in disk.scan():
        now = digest(rows)
        if removed.pop(folder, None) != now or folder in moved:
            differing.append((folder, rows, now))
    changes: list[FolderChange] = []
    for folder in removed:
        files = cataloged_files(connection, folder)
        main_files = [join(folder, name) for name in contents(folder, files)]
        changes.append(FolderChange(folder, None, files, main_files))
    done, total = 0, sum(len(rows) for _, rows, _ in differing)

    def step(files: int) -> None:
        nonlocal done
        done += files
        disk.progress("reading", done, total)

    left = 0
    for folder, rows, now in differing:
        again = moved.get(folder, frozenset())
        looked = _FolderSurvey(
            folder, rows, cataloged_files(connection, folder), disk, started, again
        )
        change = looked.change(now, step, most)
        left += looked.left
        if most is not None:
            most = max(most - len(change.records), 0)
        if change.files or change.gone or change.units or stored.get(folder) != change.digest:
            changes.append(change)
    return changes, left


def _changed_elsewhere(
    connection: sqlite3.Connection, elsewhere: Elsewhere
) -> dict[str, frozenset[str]]:
    """The scripts whose code outside of the repository changed since it was read.

    Names of files by their folder.
    """
    moved: dict[str, frozenset[str]] = {}
    for file, entry_id, path, stamp in connection.execute(
        "SELECT file, id, path, stamp FROM elsewhere"
    ):
        if elsewhere.stamp(entry_id, path) != stamp:
            folder, _, name = file.rpartition("/")
            moved[folder] = moved.get(folder, frozenset()) | {name}
    return moved


def cataloged_files(connection: sqlite3.Connection, folder: str) -> dict[str, CatalogedFile]:
    """The entry files that the catalog remembers in one folder."""
    query = "SELECT name, mtime, ctime, size, inode, mode, racy, hash FROM files WHERE folder = ?"
    files: dict[str, CatalogedFile] = {}
    for row in connection.execute(query, (folder,)):
        files[row[0]] = CatalogedFile(row[1:6], bool(row[6]), row[7])
    return files


class _FolderSurvey:
    """The look at one folder whose rows are not what they were."""

    def __init__(
        self,
        folder: str,
        rows: list[Row],
        cataloged: dict[str, CatalogedFile],
        disk: Disk,
        started: int,
        again: frozenset[str],
    ) -> None:
        """`again`: names of entries to read again, as they are on disk or not."""
        self._folder, self._cataloged, self._disk, self._started = folder, cataloged, disk, started
        self._again = again
        self._stamps: dict[str, Stamp] = {row[0]: stamp_of(row) for row in rows}
        self._before = contents(folder, cataloged)
        self._now: dict[str, CatalogedFile] = {}
        self._failed: dict[str, AiLessonsError] = {}
        self._change = FolderChange(folder, UNSURE)
        self.left = 0

    def change(
        self, now: bytes, step: Callable[[int], None], most: int | None = None
    ) -> FolderChange:
        """What to write; only the digest where only stamps of other files moved.

        `step` counts files for progress.

        `most`: so many new entries are read, and the others are `left` as the catalog has them.
        """
        names: set[str] = set()
        for name, stamp in self._stamps.items():
            file = self._cataloged.get(name)
            if file is None and place(join(self._folder, name)) is None:
                # no entry, and none before
                continue
            names.add(name)
            if file and not file.racy and file.stamp == stamp:
                self._now[name] = file
        pairs = list(units(self._folder, names))
        doubtful = [unit for unit in pairs if not self._is_unchanged(unit)]
        if most is not None:
            doubtful = self._first(doubtful, most)
        step(len(self._stamps) - len(doubtful))
        vanished = False
        for unit in doubtful:
            vanished |= not self._survey_unit(unit)
            step(1)
        gone = self._before.keys() - {unit.name for unit in pairs}
        self._change.units += [join(self._folder, name) for name in self._before if name in gone]
        for name, file in self._now.items():
            if self._cataloged.get(name) != file:
                self._change.files[name] = file
        self._change.gone = [name for name in self._cataloged if name not in self._now]
        whole = not vanished and not self.left and len(self._now) == len(names)
        if whole and not any(file.racy for file in self._now.values()):
            # the next look need not go through its files
            self._change.digest = now
        return self._change

    def _first(self, doubtful: Sequence[Unit], most: int) -> list[Unit]:
        """The first of these entries; the rest stays as the catalog has it.

        What is only looked at again counts not.
        """
        first: list[Unit] = []
        for unit in doubtful:
            names = list(filter(None, unit))
            again = all(map(self._is_as_before, names))
            if again or most > 0:
                first.append(unit)
                most -= not again
                continue
            self.left += 1
            for name in names:
                if name in self._cataloged:
                    self._now[name] = self._cataloged[name]
        return first

    def _is_as_before(self, name: str) -> bool:
        file = self._cataloged.get(name)
        return file is not None and file.stamp == self._stamps[name]

    def _is_unchanged(self, unit: Unit) -> bool:
        """At most three look-ups.

        Of a folder of 10,000 files and one edit nearly all units pass here.
        """
        before = self._before.get(unit.name)
        if before is None or before.side != unit.side or unit.name not in self._now:
            return False
        if unit.name in self._again:
            return False
        return unit.side is None or unit.side in self._now

    def _survey_unit(self, unit: Unit) -> bool:
        """Bring one entry up to date; False where its main file is gone since the walk."""
        path = join(self._folder, unit.name)
        data, side_data = self._read(unit.name), None
        if unit.side:
            side_data = self._read(unit.side)
        if data is None:
            if unit.name in self._before:
                self._change.units.append(path)
            return False
        side = side_hash = None
        if side_data is not None and unit.side:
            side, side_hash = unit.side, self._now[unit.side].hash
        content = Content(self._now[unit.name].hash, side, side_hash)
        if content != self._before.get(unit.name) or unit.name in self._again:
            self._change.units.append(path)
            self._parse(path, unit, data, side_data, content.side_hash)
        return True

    def _read(self, name: str) -> bytes | None:
        """What the file holds now, empty if it cannot be read.

        None if it is gone since the walk.
        """
        stamp = self._stamps[name]
        racy = is_racy(stamp, self._started)
        try:
            data = self._disk.read(join(self._folder, name))
        except NotFound:
            self._now.pop(name, None)
            return None
        except AiLessonsError as error:
            self._failed[name] = error
            # too big, no plain file: it stays so until its stamp changes; an error of the system
            # may not
            self._now[name] = CatalogedFile(stamp, racy or not isinstance(error, InvalidEntry), "")
            return b""
        self._now[name] = CatalogedFile(stamp, racy, blob_id(data))
        return data

    def _parse(
        self, path: str, unit: Unit, data: bytes, side_data: bytes | None, side_hash: str | None
    ) -> None:
        try:
            if failed := self._failed.get(unit.name) or self._failed.get(unit.side or ""):
                raise failed
            entry = self._disk.parse(path, data, side_data)
        except InvalidEntry as error:
            self._change.problems += [(path, problem) for problem in error.problems]
        except AiLessonsError as error:
            self._change.problems.append(
                (path, Problem(path, error.message.removeprefix(f"{path}: ")))
            )
            self._now[unit.name] = CatalogedFile(self._stamps[unit.name], racy=True, hash="")
        else:
            self._change.problems += [(path, problem) for problem in entry.faults]
            if entry.path != path:
                entry = self._with_its_code(entry, path)
            self._change.records.append(record(entry, path, self._now[unit.name].hash, side_hash))

    def _with_its_code(self, entry: Entry, file: str) -> Entry:
        """A script whose code lies outside of the repository, with that code as it is now."""
        from ai_lessons.model.frontmatter import with_code  # noqa: PLC0415  # parsing has loaded it

        place, elsewhere = str(entry.fields.get("path")), self._disk.elsewhere
        # before the code: what is written meanwhile is read next time
        stamp = elsewhere.stamp(entry.id, place)
        self._change.elsewhere.append((file, entry.id, place, stamp))
        return self._disk.elsewhere.shown(with_code(entry, elsewhere.code(entry.id, place)))


class CatalogedFile(NamedTuple):
    """A file as the catalog remembers it.

    `hash` is git's blob id, or empty where the file could not be read.
    """

    stamp: Stamp
    racy: bool
    hash: str


class FolderChange:
    """What to write for one folder. `digest` None: the folder is gone.

    `units` are the main files to forget first.
    """

    def __init__(
        self, folder: str, digest: bytes | None, gone: Iterable[str] = (), units: Iterable[str] = ()
    ) -> None:
        self.folder, self.digest = folder, digest
        self.files: dict[str, CatalogedFile] = {}
        self.gone, self.units = list(gone), list(units)
        self.records: list[CatalogRecord] = []
        self.problems: list[tuple[str, Problem]] = []
        # of scripts that are kept where they are: their file here, id, path, and the stamp of that
        # path
        self.elsewhere: list[tuple[str, str, str, str]] = []
