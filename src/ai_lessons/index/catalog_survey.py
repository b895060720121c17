"""Finds what changed on disk since the catalog last looked. Reads and parses the files that it must; writes nothing."""

from __future__ import annotations

import marshal
from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem
from ai_lessons.index.catalog_writing import CatalogedFile, FolderChange, record
from ai_lessons.knowledge.entries import Entry, Kind
from ai_lessons.knowledge.layout import SIDE_SUFFIX, blob_id, place

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.index.catalog_writing import Stamp

    Row = tuple[str, int, int, int, int, int]  # name, mtime_ns, ctime_ns, size, inode, mode
    Scan = Callable[[], Iterable[tuple[str, list[Row]]]]
    Read = Callable[[str], bytes]
    Parse = Callable[[str, bytes, bytes | None], Entry]
    Progress = Callable[[str, int, int], None]

FINE_MARGIN = 50_000_000
"""Nanoseconds: far above the tick of file system clocks (1 to 10 ms), far below a person's next save."""
COARSE_MARGIN = 2_000_000_000  # Nanoseconds, for file systems that keep whole (FAT: even) seconds
_SECOND = 1_000_000_000
_LARGEST = 2**63 - 1

UNSURE = b""  # Digest of a folder that has to be compared file by file next time


class Unit(NamedTuple):
    """The one or two files that make an entry: where they lie, and the names of both within their folder."""

    name: str
    side: str | None


class Content(NamedTuple):
    """What the files of a unit held: two units are the same entry if this and their path are equal."""

    hash: str
    side: str | None
    side_hash: str | None


def digest(rows: Sequence[Row]) -> bytes:
    """One value for all rows of a folder, in the order of the walk."""
    # version 2 of marshal writes no back references, so that equal rows give equal bytes
    return sha1(marshal.dumps(list(rows), 2), usedforsecurity=False).digest()


def stamp_of(row: Row) -> Stamp:
    """A row's stamp, in numbers that SQLite can hold: inodes and far future times may need the 64th bit."""
    stamp = row[1:]
    return stamp if max(stamp) <= _LARGEST else tuple(min(number, _LARGEST) for number in stamp)  # type: ignore[return-value]


def is_racy(stamp: Stamp, started: int) -> bool:
    """Whether an edit after the look that `started` then (ns since the epoch) could leave this stamp as it is."""
    mtime, ctime = stamp[0], stamp[1]
    coarse = mtime % _SECOND == 0 and ctime % _SECOND == 0
    return max(mtime, ctime) >= started - (COARSE_MARGIN if coarse else FINE_MARGIN)


def units(folder: str, names: Iterable[str]) -> Iterator[Unit]:
    """Pair the entry files of one folder: below `scripts/`, `X.md` beside `X` is its side file.

    A side file has no side file of its own: of `X`, `X.md` and `X.md.md` the last is a script again.
    """
    present = set(names)
    sides: set[str] = set()
    paired = (name for name in present if name.endswith(SIDE_SUFFIX) and name.removesuffix(SIDE_SUFFIX) in present)
    for name in sorted(paired):  # `X.md` comes before `X.md.md`
        spot = place(join(folder, name))
        if name.removesuffix(SIDE_SUFFIX) not in sides and spot is not None and spot.kind is Kind.SCRIPT:
            sides.add(name)
    for name in sorted(present - sides):
        side = name + SIDE_SUFFIX
        yield Unit(name, side if side in sides else None)


def contents(folder: str, files: Mapping[str, CatalogedFile]) -> dict[str, Content]:
    """What the catalog knows of a folder's units, by the name of the main file."""
    return {
        unit.name: Content(files[unit.name].hash, unit.side, files[unit.side].hash if unit.side else None)
        for unit in units(folder, files)
    }


def join(folder: str, name: str) -> str:
    """The path of a name in a folder of the repository; the root is the empty folder."""
    return f"{folder}/{name}" if folder else name


class Disk(NamedTuple):
    """The ways to the files. `scan` walks anew at every call."""

    scan: Scan
    read: Read
    parse: Parse
    progress: Progress


def survey(connection: sqlite3.Connection, disk: Disk, started: int) -> list[FolderChange]:
    """Compare the disk with the database. `started` (ns since the epoch) must not be later than the walk."""
    stored: dict[str, bytes] = dict(connection.execute("SELECT folder, digest FROM folders"))
    removed, differing = dict(stored), []
    for folder, rows in disk.scan():
        now = digest(rows)
        if removed.pop(folder, None) != now:
            differing.append((folder, rows, now))
    changes = []
    for folder in removed:
        files = cataloged_files(connection, folder)
        changes.append(FolderChange(folder, None, files, [join(folder, name) for name in contents(folder, files)]))
    done, total = 0, sum(len(rows) for _, rows, _ in differing)

    def step(files: int) -> None:
        nonlocal done
        done += files
        disk.progress("reading", done, total)

    for folder, rows, now in differing:
        change = _FolderSurvey(folder, rows, cataloged_files(connection, folder), disk, started).change(now, step)
        if change.files or change.gone or change.units or stored.get(folder) != change.digest:
            changes.append(change)
    return changes


def cataloged_files(connection: sqlite3.Connection, folder: str) -> dict[str, CatalogedFile]:
    """The entry files that the catalog remembers in one folder."""
    query = "SELECT name, mtime, ctime, size, inode, mode, racy, hash FROM files WHERE folder = ?"
    return {row[0]: CatalogedFile(row[1:6], bool(row[6]), row[7]) for row in connection.execute(query, (folder,))}


class _FolderSurvey:
    """The look at one folder whose rows are not what they were."""

    def __init__(
        self, folder: str, rows: list[Row], cataloged: dict[str, CatalogedFile], disk: Disk, started: int
    ) -> None:
        self._folder, self._cataloged, self._disk, self._started = folder, cataloged, disk, started
        self._stamps: dict[str, Stamp] = {row[0]: stamp_of(row) for row in rows}
        self._before = contents(folder, cataloged)
        self._now: dict[str, CatalogedFile] = {}
        self._failed: dict[str, AiLessonsError] = {}
        self._change = FolderChange(folder, UNSURE)

    def change(self, now: bytes, step: Callable[[int], None]) -> FolderChange:
        """What to write; only the digest where only stamps of other files moved. `step` counts files for progress."""
        names = {
            name for name in self._stamps if name in self._cataloged or place(join(self._folder, name)) is not None
        }
        pairs = list(units(self._folder, names))
        self._now = {
            name: file
            for name in names
            if (file := self._cataloged.get(name)) and not file.racy and file.stamp == self._stamps[name]
        }
        doubtful = [unit for unit in pairs if not self._is_unchanged(unit)]
        step(len(self._stamps) - len(doubtful))
        vanished = False
        for unit in doubtful:
            vanished |= not self._survey_unit(unit)
            step(1)
        gone = self._before.keys() - {unit.name for unit in pairs}
        self._change.units += [join(self._folder, name) for name in self._before if name in gone]
        self._change.files = {name: file for name, file in self._now.items() if self._cataloged.get(name) != file}
        self._change.gone = [name for name in self._cataloged if name not in self._now]
        if not vanished and len(self._now) == len(names) and not any(file.racy for file in self._now.values()):
            self._change.digest = now
        return self._change

    def _is_unchanged(self, unit: Unit) -> bool:
        """At most three look-ups: of a folder of 10,000 files and one edit nearly all units pass here."""
        before = self._before.get(unit.name)
        if before is None or before.side != unit.side or unit.name not in self._now:
            return False
        return unit.side is None or unit.side in self._now

    def _survey_unit(self, unit: Unit) -> bool:
        """Bring one entry up to date; False where its main file is gone since the walk."""
        path = join(self._folder, unit.name)
        data, side_data = self._read(unit.name), self._read(unit.side) if unit.side else None
        if data is None:
            self._change.units += [path] if unit.name in self._before else []
            return False
        side = unit.side if side_data is not None else None
        content = Content(self._now[unit.name].hash, side, self._now[side].hash if side else None)
        if content != self._before.get(unit.name):
            self._change.units.append(path)
            self._parse(path, unit, data, side_data, content.side_hash)
        return True

    def _read(self, name: str) -> bytes | None:
        """What the file holds now, empty if it cannot be read; None if it is gone since the walk."""
        stamp = self._stamps[name]
        racy = is_racy(stamp, self._started)
        try:
            data = self._disk.read(join(self._folder, name))
        except NotFound:
            self._now.pop(name, None)
            return None
        except AiLessonsError as error:
            self._failed[name] = error
            # too big, no plain file: it stays so until its stamp changes; an error of the system may not
            self._now[name] = CatalogedFile(stamp, racy or not isinstance(error, InvalidEntry), "")
            return b""
        self._now[name] = CatalogedFile(stamp, racy, blob_id(data))
        return data

    def _parse(self, path: str, unit: Unit, data: bytes, side_data: bytes | None, side_hash: str | None) -> None:
        try:
            if failed := self._failed.get(unit.name) or self._failed.get(unit.side or ""):
                raise failed
            entry = self._disk.parse(path, data, side_data)
        except InvalidEntry as error:
            self._change.problems += [(path, problem) for problem in error.problems]
        except AiLessonsError as error:
            self._change.problems.append((path, Problem(path, error.message.removeprefix(f"{path}: "))))
            self._now[unit.name] = CatalogedFile(self._stamps[unit.name], racy=True, hash="")
        else:
            self._change.records.append(record(entry, path, self._now[unit.name].hash, side_hash))
