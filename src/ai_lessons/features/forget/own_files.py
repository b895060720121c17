"""Files of our own in which a text may stand, outside of what is shared, and how it goes from them."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.features.forget.target import FORGOTTEN
from ai_lessons.git import databases
from ai_lessons.git.files import replace_file, translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ai_lessons.features.forget.target import Target

# What becomes of a file: it is made anew when it is needed, it goes, the text in it is replaced, or
# it stays because it holds a write that is in no commit yet
REBUILT, REMOVED, REPLACED, WAITS = "rebuilt", "removed", "replaced", "waits"
# Folders that hold no texts (models), or whose tables are asked in another way
_LEFT_OUT: Final = frozenset({"models", "fastembed"})
_TABLES: Final = ".lance"
# Hashes of texts and vectors, see `vectors`
VECTORS: Final = "vectors.sqlite"
_DATABASE: Final = b"SQLite format 3\0"
_BESIDE_A_DATABASE = ("-wal", "-shm")
# Bytes of a file that is read: none of ours is larger, but for databases
_LARGEST: Final = 256 << 20


class OwnFile(NamedTuple):
    """A file of ours that holds it, and what becomes of it."""

    path: Path
    fate: str


def files_holding(folders: Iterable[Path], target: Target) -> Iterator[OwnFile]:
    """The files in these folders that hold it. What cannot be read holds nothing."""
    for folder in folders:
        for path in _below(folder):
            with suppress(OSError):
                fate = _fate(path, target)
                if fate:
                    yield OwnFile(path, fate)


def _below(folder: Path) -> Iterator[Path]:
    for place, names, files in os.walk(folder):
        # changed in place: `walk` goes on with what is left
        names[:] = [name for name in names if name not in _LEFT_OUT and not name.endswith(_TABLES)]
        for name in sorted(files):
            beside = name.removesuffix("-wal").removesuffix("-shm")
            if not beside.startswith(VECTORS):
                yield type(folder)(place, name)


def _fate(path: Path, target: Target) -> str:
    """What becomes of a file; empty where it does not hold it."""
    if path.is_symlink() or not path.is_file() or path.name.endswith(_BESIDE_A_DATABASE):
        return ""
    if path.stat().st_size > _LARGEST:
        return ""
    data = path.read_bytes()
    if data.startswith(_DATABASE):
        log = path.with_name(path.name + "-wal")
        if log.exists():
            data += log.read_bytes()
        # a row that is longer than a page is in pieces
        is_held = any(needle in data for needle in target.needles) or _rows_hold(path, target)
        return REBUILT if is_held else ""
    if not target.is_in(data):
        return ""
    if path.parent.name == "journal":
        return REMOVED if path.suffix == ".kept" else WAITS
    return REPLACED


def _rows_hold(path: Path, target: Target) -> bool:
    """Whether a value in a database holds it. What cannot be read holds nothing."""
    with suppress(sqlite3.Error), databases.foreign(path) as db:
        db.text_factory = bytes
        for name, _ in _tables(path):
            for row in db.execute(f"SELECT * FROM {name}"):  # noqa: S608 - quoted, of its own schema
                for value in row:
                    if isinstance(value, bytes) and _holds(value, target):
                        return True
    return False


def _tables(path: Path) -> list[tuple[str, dict[str, str]]]:
    with databases.foreign(path) as db:
        return list(databases.tables(db).values())


def _holds(value: bytes, target: Target) -> bool:
    return any(needle in value for needle in target.needles)


def clean(file: OwnFile, target: Target) -> None:
    """Let it go from a file. Raises StorageFailed."""
    path = file.path
    with translated(str(path), writing=True):
        if file.fate == REBUILT:
            for end in ("", *_BESIDE_A_DATABASE):
                path.with_name(path.name + end).unlink(missing_ok=True)
        elif file.fate == REMOVED:
            path.unlink(missing_ok=True)
        elif file.fate == REPLACED and path.exists():
            data = path.read_bytes()
            # a longer one may hold a shorter one
            for needle in sorted(target.needles, key=len, reverse=True):
                data = data.replace(needle, FORGOTTEN.encode())
            replace_file(path, data)
