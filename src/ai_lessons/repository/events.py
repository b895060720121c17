"""Logs of events, as files of whole lines: of this clone (inside git's folder), and of all clones."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.repository.files import OpenFolders, append_lines, read_file, translated
from ai_lessons.repository.store import Change

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FOLDER = ".ai-lessons/events"
PART_BYTES = 256 * 1024  # A part of this size is continued in the next one
READ_LIMIT = 64 * 1024 * 1024  # Larger logs are not read: none of ours is
_MONTH = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])")
_PART = re.compile(r"(20\d\d-(?:0[1-9]|1[0-2]))(?:\.([1-9]\d{0,4}))?\.jsonl")
_CLONE = re.compile(r"[0-9a-z]{4,40}")


class LogFile(NamedTuple):
    """One log when it was listed. `stamp`: time of change in nanoseconds, size in bytes, inode."""

    name: str
    stamp: tuple[int, int, int]
    root: Path
    path: str
    clone: str = ""  # Which other clone wrote it; empty for this one

    def read(self) -> bytes:
        """Its bytes as they are now; none where it is gone, too large or not to be read."""
        try:
            return read_file(self.root, self.path, READ_LIMIT)[0]
        except AiLessonsError:
            return b""


class EventLog:
    """The logs of one knowledge repository. Safe with many processes at once."""

    def __init__(self, root: Path, state_dir: Path) -> None:
        self._root, self._state = root, state_dir
        self._own = state_dir / "events"

    @property
    def clone(self) -> str:
        """The name of this clone, made once. Raises StorageFailed, Conflict: the state folder cannot be written."""
        file = self._own / "clone"
        with translated(str(file), writing=True):
            if not _names(file):
                self._own.mkdir(parents=True, exist_ok=True)
                append_lines(file, os.urandom(6).hex().encode() + b"\n")
            return _names(file)[0]  # of several processes that make one at once the first line counts

    def append(self, lines: Sequence[bytes], month: str) -> None:
        """Add whole lines to the log of a month (`yyyy-mm`). Raises StorageFailed, Conflict: no place for it."""
        if not lines or not _MONTH.fullmatch(month):
            return
        with translated(str(self._own), writing=True):
            self._own.mkdir(parents=True, exist_ok=True)
            parts = (_PART.fullmatch(name) for name in os.listdir(self._own))
            last = max((int(part[2] or 1) for part in parts if part and part[1] == month), default=1)
            names = [f"{month}.jsonl" if part == 1 else f"{month}.{part}.jsonl" for part in (last, last + 1)]
            file = self._own / names[0]
            if file.exists() and file.stat().st_size >= PART_BYTES:
                file = self._own / names[1]
            append_lines(file, b"".join(lines))

    def recent(self) -> bytes:
        """The part of this clone's own log that was written to last; empty if there is none."""
        newest = max(self._own_files(), key=lambda log: log.stamp[0], default=None)
        return newest.read() if newest else b""

    def files(self) -> list[LogFile]:
        """Every log: this clone's own, and those in the repository."""
        return [*self._own_files(), *self._shared_files()]

    def _own_files(self) -> Iterator[LogFile]:
        try:
            with os.scandir(self._own) as entries:
                for entry in entries:
                    if _PART.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        yield LogFile(entry.name, _stamp(entry.stat()), self._own, entry.name)
        except OSError:
            return  # no log yet, or an unreadable folder

    def _shared_files(self) -> Iterator[LogFile]:
        with translated(str(self._own)):
            this_clone = next(iter(_names(self._own / "clone")), "")
        with OpenFolders(self._root) as folders:
            for clone in filter(_CLONE.fullmatch, _listed(folders, FOLDER)):
                for name in filter(_PART.fullmatch, _listed(folders, f"{FOLDER}/{clone}")):
                    path = f"{FOLDER}/{clone}/{name}"
                    status = os.stat(name, dir_fd=folders.to(path.split("/")[:-1]), follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        yield LogFile(path, _stamp(status), self._root, path, "" if clone == this_clone else clone)

    def unshared(self, *, at_least: int = 1) -> list[Change]:
        """What adds this clone's lines to the repository; empty if fewer than so many bytes wait."""
        logs = list(self._own_files())
        prefix = f"{FOLDER}/{self.clone}/" if logs else ""
        shared = {log.path: log for log in self._shared_files()} if logs else {}
        sizes = {name: log.stamp[1] for name, log in shared.items()}
        growth = {log: log.stamp[1] - sizes.get(prefix + log.name, 0) for log in logs}
        waiting = [log for log, size in growth.items() if size > 0]
        if sum(growth[log] for log in waiting) < at_least:
            return []
        changes = []
        for log in waiting:
            data, old = log.read(), shared[prefix + log.name].read() if prefix + log.name in shared else b""
            new = data[: data.rfind(b"\n") + 1]
            if not new.startswith(old):
                old_lines = set(old.split(b"\n"))
                lacking = [line for line in new.split(b"\n") if line and line not in old_lines]
                new = old.removesuffix(b"\n") + b"\n" + b"".join(line + b"\n" for line in lacking)
            if new != old:
                changes.append(Change(prefix + log.name, new))
        return changes


def _names(file: Path) -> list[str]:
    """The lines that can be names of a clone."""
    return list(filter(_CLONE.fullmatch, file.read_text(errors="replace").splitlines())) if file.exists() else []


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _listed(folders: OpenFolders, path: str) -> list[str]:
    """The names in a folder, sorted; none where it is missing, a link, or not to be read."""
    try:
        return sorted(os.listdir(folders.to(path.split("/"))))
    except OSError:
        return []
