"""Git's index with some entries changed and every other one as it was.

The bytes of a new index are made here, from a copy; taking git's lock and installing them is the caller's part. With
the git program its own code does the work, for every format it knows. Without it, dulwich does, for the plain ones.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import struct
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dulwich.errors import ChecksumMismatch
from dulwich.index import (
    ConflictedIndexEntry,
    Index,
    IndexEntry,
    UnsupportedIndexFormat,
    index_entry_from_stat,
)

from ai_lessons.errors import Conflict, StorageFailed, UnsupportedRepository
from ai_lessons.repository import git
from ai_lessons.repository.files import translated
from ai_lessons.repository.git_locks import lock_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from dulwich.objects import ObjectID

    from ai_lessons.repository.worktree import Worktree


_STAGE = 0x3000
_SPLIT = b"link\0\0\0"  # the beginning of the part by which an index names another one that holds most entries
_SEARCHED = 50_000_000  # bytes to search through, for all paths together: about as long as git takes to start

_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # the blob of nothing, which stands for "announced" too


@dataclass(frozen=True, slots=True)
class Tracked:
    """What the index shall say about a path: mode, blob, and the stat of the file when its content was read.

    `status` None: the file on disk is another one, so git shall look at it.
    """

    mode: int
    blob: ObjectID
    status: os.stat_result | None


def index_file(worktree: Worktree) -> Path:
    """Where git keeps the index of this worktree."""
    return worktree.git_dir / "index"


def changed(worktree: Worktree, entries: Mapping[bytes, Tracked | None]) -> bytes:
    """The bytes of the index with these entries set or (None) dropped; paths are relative to the worktree's top.

    Raises:
        UnsupportedRepository: without git, an index that is split, sparse or damaged. StorageFailed: git said no.
    """
    with _copy(worktree) as copy:
        if git.available():
            _change_with_git(worktree, copy, entries)
            return with_stats(copy.read_bytes(), entries)
        _change_alone(copy, entries)
        return copy.read_bytes()


def unmerged(worktree: Worktree, paths: Iterable[str]) -> tuple[str, ...]:
    """Those paths (relative to the worktree's top) that the index holds in conflict."""
    paths = tuple(paths)
    if _surely_merged(worktree, paths):
        return ()
    if git.available():
        return git.unmerged(worktree, paths)
    if not index_file(worktree).exists():
        return ()
    index = _read(index_file(worktree))
    return tuple(p for p in paths if isinstance(_entry(index, os.fsencode(p)), ConflictedIndexEntry))


def _surely_merged(worktree: Worktree, paths: Collection[str]) -> bool:
    """True if the bytes of a plain index show that none of these paths is in conflict; False: ask git.

    Starting a program for that costs a batch as much as ten commits. An entry of version 2 ends with a stage and the
    length of its path in two bytes, the path, and a zero byte. A longer path may look alike: then git is asked, too.
    """
    try:
        data = index_file(worktree).read_bytes()
    except FileNotFoundError:
        return True
    plain = data[:8] == b"DIRC\0\0\0\2" and _SPLIT not in data and len(data) * len(paths) < _SEARCHED
    return plain and not any(_looks_unmerged(data, os.fsencode(path)) for path in paths)


def _looks_unmerged(data: bytes, path: bytes) -> bool:
    found = data.find(path + b"\0")
    while found >= 2:
        (flags,) = struct.unpack(">H", data[found - 2 : found])
        if flags & _STAGE and flags & 0xFFF == min(len(path), 0xFFF):
            return True
        found = data.find(path + b"\0", found + 1)
    return False


def staged(worktree: Worktree, paths: Iterable[str]) -> dict[str, tuple[int, str]]:
    """What the index holds of these paths (relative to the worktree's top), as mode and blob id.

    A path that was only announced (`git add -N`) is not held.

    Raises:
        Conflict: one of the paths is in conflict. UnsupportedRepository: without git, an index that is split, sparse
            or damaged.
    """
    wanted = frozenset(paths)
    if not index_file(worktree).exists() or not wanted:
        return {}
    if git.available():
        held = git.staged(worktree, wanted)
        _refuse_torn([path for path, (_, _, stage) in held.items() if stage])
        return {path: (mode, blob) for path, (mode, blob, _) in held.items() if blob != _EMPTY}
    index = _read(index_file(worktree))
    found = {path: _entry(index, os.fsencode(path)) for path in wanted}
    _refuse_torn([path for path, entry in found.items() if isinstance(entry, ConflictedIndexEntry)])
    plain = {path: entry for path, entry in found.items() if isinstance(entry, IndexEntry)}
    return {path: (one.mode, one.sha.decode()) for path, one in plain.items() if one.sha.decode() != _EMPTY}


def _refuse_torn(paths: Iterable[str]) -> None:
    for path in sorted(paths):
        raise Conflict(f"{path} is in conflict", hint=f"resolve it: git add {path}")


@contextmanager
def _copy(worktree: Worktree) -> Iterator[Path]:
    """A copy of the index with its time: git judges by that which entries it must look at again."""
    copy = lock_folder(worktree) / f"index-{secrets.token_hex(8)}"
    original = index_file(worktree)
    with translated(str(copy), writing=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            if original.exists():
                shutil.copyfile(original, copy)
                shutil.copystat(original, copy)
            yield copy
        finally:
            copy.unlink(missing_ok=True)


def _change_with_git(worktree: Worktree, copy: Path, entries: Mapping[bytes, Tracked | None]) -> None:
    gone = [b"0 %s\t%s\0" % (b"0" * 40, path) for path, entry in entries.items() if entry is None]
    here = [b"%o %s\t%s\0" % (entry.mode, entry.blob, path) for path, entry in entries.items() if entry is not None]
    done = git.update_index(worktree, copy, b"".join(gone + here))
    if done is None or done.code:
        raise StorageFailed(f"git could not update its index: {done.err if done else 'it is gone'}")


def with_stats(data: bytes, entries: Mapping[bytes, Tracked | None]) -> bytes:
    """A version 2 or 3 index in which these entries carry the stat of their file.

    `git update-index --index-info` leaves the stat empty, so that scripts which compare stats only (`git diff-files`)
    would see changes. Version 4 compresses names; there it stays empty, and git fills it in at the next `git status`.
    """
    if data[:4] != b"DIRC" or struct.unpack(">L", data[4:8])[0] not in {2, 3}:
        return data
    changed_data = bytearray(data)
    position = 12
    for path, entry in sorted(entries.items()):
        if entry is None or entry.status is None:
            continue
        tail = bytes.fromhex(entry.blob.decode()) + struct.pack(">H", min(len(path), 0xFFF)) + path + b"\0"
        found = data.find(tail, position)
        if found >= position + 40:
            changed_data[found - 40 : found - 16] = _times(entry.status)
            changed_data[found - 12 : found] = _owner_and_size(entry.status)
            position = found
    if data[-20:] != b"\0" * 20:  # index.skipHash leaves it empty
        changed_data[-20:] = hashlib.sha1(changed_data[:-20], usedforsecurity=False).digest()
    return bytes(changed_data)


def _times(s: os.stat_result) -> bytes:
    """ctime, mtime (seconds and nanoseconds each), device, inode: 24 bytes, cut to 32 bits each as git cuts them."""
    numbers = (*divmod(s.st_ctime_ns, 10**9), *divmod(s.st_mtime_ns, 10**9), s.st_dev, s.st_ino)
    return struct.pack(">6L", *(n & 0xFFFFFFFF for n in numbers))


def _owner_and_size(s: os.stat_result) -> bytes:
    """User, group, size: 12 bytes. The mode, which stands before them, is git's own."""
    return struct.pack(">3L", *(n & 0xFFFFFFFF for n in (s.st_uid, s.st_gid, s.st_size)))


def _change_alone(copy: Path, entries: Mapping[bytes, Tracked | None]) -> None:
    index = _read(copy) if copy.exists() else Index(copy, read=False)
    if copy.exists():
        _distrust_fresh(index, copy.stat().st_mtime_ns)
    for path, entry in entries.items():
        if entry is not None:
            index[path] = _plain_entry(entry)
        elif path in index:
            del index[path]
    index.write()


def _plain_entry(entry: Tracked) -> IndexEntry:
    if entry.status is not None:
        return index_entry_from_stat(entry.status, entry.blob, mode=entry.mode)
    never = (0, 0)
    return IndexEntry(never, never, dev=0, ino=0, mode=entry.mode, uid=0, gid=0, size=0, sha=entry.blob)


def _distrust_fresh(index: Index, written: int) -> None:
    """Make git look at the content of entries as new as the index was: a newer index file would vouch for them."""
    for path in index:
        entry = index[path]
        if isinstance(entry, IndexEntry) and _nanoseconds(entry.mtime) >= written:
            entry.size = 0


def _nanoseconds(time: float | tuple[int, int]) -> int:
    return time[0] * 10**9 + time[1] if isinstance(time, tuple) else int(time * 10**9)


def _entry(index: Index, path: bytes) -> IndexEntry | ConflictedIndexEntry | None:
    return index[path] if path in index else None  # noqa: SIM401 - a dulwich Index has no get


def _read(path: Path) -> Index:
    try:
        return Index(path)
    except (ChecksumMismatch, UnsupportedIndexFormat, AssertionError, ValueError, struct.error) as error:
        raise UnsupportedRepository(
            f"git's index cannot be read without the git program: {error}",
            hint="install git, or make git's index plain",
        ) from error
