"""What a look at the disk means for the catalog, as values: touches no disk, no clock and no database.

Folders are compared by digest, files by stat, contents by git's blob hash; each step only where the one before
differs. A file whose stamp is so young that a later edit could leave it the same is *racy* and is hashed again next
time (git's "racily clean" problem).
"""

from __future__ import annotations

import marshal
from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.layout import SIDE_SUFFIX, place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Row = tuple[str, int, int, int, int, int]
"""(name, mtime_ns, ctime_ns, size, inode, mode), as the walk of a folder gives them."""

Stamp = tuple[int, int, int, int, int]
"""A row without the name."""

FINE_MARGIN = 50_000_000
"""Nanoseconds: far above the tick of file system clocks (1 to 10 ms), far below a person's next save."""
COARSE_MARGIN = 2_000_000_000
"""Nanoseconds, for file systems that keep whole (FAT: even) seconds."""
_SECOND = 1_000_000_000
_LARGEST = 2**63 - 1

UNSURE = b""
"""Digest of a folder that has to be compared file by file next time, whatever its rows say."""


class CatalogedFile(NamedTuple):
    """A file as the catalog remembers it. `hash` is git's blob id, or empty where the file could not be read."""

    stamp: Stamp
    racy: bool
    hash: str


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
    """One value for all rows of a folder, in the order of the walk.

    Version 2 of marshal writes no back references, so equal rows give equal bytes; it is several times faster
    than any text form, and the bytes are only hashed, never loaded.
    """
    return sha1(marshal.dumps(list(rows), 2), usedforsecurity=False).digest()


def stamp_of(row: Row) -> Stamp:
    """A row's stamp, in numbers that SQLite can hold: inodes and far future times may need the 64th bit."""
    stamp = row[1:]
    return stamp if max(stamp) <= _LARGEST else tuple(min(number, _LARGEST) for number in stamp)  # type: ignore[return-value]


def blob_hash(data: bytes) -> str:
    """The id that git gives to a file with this content."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def is_racy(stamp: Stamp, started: int) -> bool:
    """Whether an edit after the look that `started` then (ns since the epoch) could leave this stamp as it is."""
    mtime, ctime = stamp[0], stamp[1]
    coarse = mtime % _SECOND == 0 and ctime % _SECOND == 0
    return max(mtime, ctime) >= started - (COARSE_MARGIN if coarse else FINE_MARGIN)


def entry_names(folder: str, names: Iterable[str], known: Mapping[str, object]) -> Iterator[str]:
    """The names that can be entry files. What is `known` was asked about before."""
    for name in names:
        if name in known or place(join(folder, name)) is not None:
            yield name


def units(folder: str, names: Iterable[str]) -> Iterator[Unit]:
    """Pair the entry files of one folder: below `scripts/`, `X.md` beside `X` is its side file.

    A side file has no side file of its own: of `X`, `X.md` and `X.md.md` the last is a script again.
    """
    present = set(names)
    sides: set[str] = set()
    paired = (name for name in present if name.endswith(SIDE_SUFFIX) and name.removesuffix(SIDE_SUFFIX) in present)
    for name in sorted(paired):  # `X.md` comes before `X.md.md`
        if name.removesuffix(SIDE_SUFFIX) not in sides and _holds_scripts(folder, name):
            sides.add(name)
    for name in sorted(present - sides):
        side = name + SIDE_SUFFIX
        yield Unit(name, side if side in sides else None)


def _holds_scripts(folder: str, name: str) -> bool:
    spot = place(join(folder, name))
    return spot is not None and spot.kind is Kind.SCRIPT


def contents(folder: str, known: Mapping[str, CatalogedFile]) -> dict[str, Content]:
    """What the catalog knows of a folder's units, by the name of the main file."""
    return {
        unit.name: Content(known[unit.name].hash, unit.side, known[unit.side].hash if unit.side else None)
        for unit in units(folder, known)
    }


def join(folder: str, name: str) -> str:
    """The path of a name in a folder of the repository; the root is the empty folder."""
    return f"{folder}/{name}" if folder else name
