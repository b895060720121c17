"""Git's index with some entries changed and every other one as it was.

The git program does the work, on a copy, for every format it knows. Taking git's lock and installing the bytes is the
caller's part (`ref_update.install`).
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import Conflict, StorageFailed
from ai_lessons.repository import git
from ai_lessons.repository.files import translated
from ai_lessons.repository.ref_update import index_file, lock_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dulwich.objects import ObjectID

    from ai_lessons.repository.worktree import Worktree

_SPLIT = b"link\0\0\0"  # the part by which an index names another one that holds most entries
_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # the blob of nothing, which stands for "announced" too


@dataclass(frozen=True, slots=True)
class Tracked:
    """What the index shall say about a path: mode, blob, and the stat of the file when its content was read.

    `status` None: the file on disk is another one, so git shall look at it.
    """

    mode: int
    blob: ObjectID
    status: os.stat_result | None


def changed(worktree: Worktree, entries: Mapping[bytes, Tracked | None]) -> bytes:
    """The bytes of the index with these entries set or (None) dropped; paths are relative to the worktree's top.

    Raises:
        StorageFailed: git said no.
    """
    copy, original = lock_folder(worktree) / f"-index-{secrets.token_hex(8)}", index_file(worktree)
    gone = [b"0 %s\t%s\0" % (b"0" * 40, path) for path, entry in entries.items() if entry is None]
    here = [b"%o %s\t%s\0" % (entry.mode, entry.blob, path) for path, entry in entries.items() if entry is not None]
    with translated(str(copy), writing=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            if original.exists():
                shutil.copyfile(original, copy)
                shutil.copystat(original, copy)  # git judges by its time which entries it must look at again
            done = git.update_index(worktree, copy, b"".join(gone + here))
            if done.code:
                raise StorageFailed(f"git could not update its index: {done.err}")
            return with_stats(copy.read_bytes(), entries)
        finally:
            copy.unlink(missing_ok=True)


def with_stats(data: bytes, entries: Mapping[bytes, Tracked | None]) -> bytes:
    """A version 2 or 3 index in which these entries carry the stat of their file.

    `git update-index --index-info` leaves the stat empty, so that scripts which compare stats only (`git diff-files`)
    would see changes. Version 4 compresses names; there it stays empty, and git fills it in at the next `git status`.
    """
    if data[:4] != b"DIRC" or struct.unpack(">L", data[4:8])[0] not in {2, 3}:
        return data
    made, position = bytearray(data), 12
    for path, entry in sorted(entries.items()):
        if entry is None or entry.status is None:
            continue
        tail = bytes.fromhex(entry.blob.decode()) + struct.pack(">H", min(len(path), 0xFFF)) + path + b"\0"
        found = data.find(tail, position)
        if found >= position + 40:
            s = entry.status
            # ctime, mtime (seconds and nanoseconds each), device, inode; the mode is git's own; user, group, size
            times = (*divmod(s.st_ctime_ns, 10**9), *divmod(s.st_mtime_ns, 10**9), s.st_dev, s.st_ino)
            made[found - 40 : found - 16] = struct.pack(">6L", *(n & 0xFFFFFFFF for n in times))
            made[found - 12 : found] = struct.pack(">3L", *(n & 0xFFFFFFFF for n in (s.st_uid, s.st_gid, s.st_size)))
            position = found
    if data[-20:] != b"\0" * 20:  # index.skipHash leaves it empty
        made[-20:] = hashlib.sha1(made[:-20], usedforsecurity=False).digest()
    return bytes(made)


def unmerged(worktree: Worktree, paths: Iterable[str]) -> frozenset[str]:
    """Those paths (relative to the worktree's top) that the index holds in conflict."""
    names = [os.fsencode(path) for path in paths]
    try:
        data = index_file(worktree).read_bytes()
    except FileNotFoundError:
        return frozenset()
    if data[:8] == b"DIRC\0\0\0\2" and _SPLIT not in data and not any(_looks_unmerged(data, name) for name in names):
        return frozenset()
    return frozenset(git.unmerged(worktree, map(os.fsdecode, names)))


def _looks_unmerged(data: bytes, path: bytes) -> bool:
    """Whether an entry of version 2 for this path may have a stage; it stands in the bytes before the path.

    To start a program for that would cost a batch as much as ten commits. A longer path may look alike.
    """
    found = data.find(path + b"\0")
    while found >= 2:
        if data[found - 2] & 0x30:
            return True
        found = data.find(path + b"\0", found + 1)
    return False


def staged(worktree: Worktree, paths: Iterable[str]) -> dict[str, tuple[int, str]]:
    """What the index holds of these paths (relative to the worktree's top), as mode and blob id.

    A path that was only announced (`git add -N`) is not held.

    Raises:
        Conflict: one of the paths is in conflict.
    """
    wanted = frozenset(paths)
    held = git.staged(worktree, wanted) if wanted else {}
    for path, (_, _, stage) in sorted(held.items()):
        if stage:
            raise Conflict(f"{path} is in conflict", hint=f"resolve it: git add {path}")
    return {path: (mode, blob) for path, (mode, blob, _) in held.items() if blob != _EMPTY}
