"""The logs of events, a folder for each clone: appended to here, read from all."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.git import files
from ai_lessons.git.store import Change
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


FOLDER = ".ai-lessons/events"
# A part of this size is continued in the next one
PART_BYTES = 256 * 1024
# Larger logs are not read: none of ours is
LOG_LIMIT = 64 * 1024 * 1024
_MONTH = expression(r"20\d\d-(?:0[1-9]|1[0-2])")
_PART = expression(r"(20\d\d-(?:0[1-9]|1[0-2]))(?:\.([1-9]\d{0,4}))?\.jsonl")
_CLONE = expression(r"[0-9a-z]{4,40}")


class LogFile(NamedTuple):
    """One log when it was listed. `stamp`: time of change in nanoseconds, size in bytes, inode."""

    name: str
    stamp: tuple[int, int, int]
    root: Path
    path: str
    # Which other clone wrote it; empty for this one
    clone: str = ""

    def read(self) -> bytes:
        """Its bytes as they are now; none where it is gone, too large or not to be read."""
        try:
            return files.read_file(self.root, self.path, LOG_LIMIT)[0]
        except AiLessonsError:
            return b""


class EventLog:
    """The logs of one knowledge repository. Safe with many processes at once."""

    def __init__(self, root: Path, state_dir: Path) -> None:
        self._root, self._state = root, state_dir
        self._own = state_dir / "events"

    @property
    def clone(self) -> str:
        """The name of this clone, made once.

        Raises StorageFailed, Conflict: the state folder cannot be written.
        """
        file = self._own / "clone"
        with files.translated(str(file), writing=True):
            copied = bool(marks := _inodes(file)) and file.stat().st_ino not in marks
            if copied:
                # the folder was copied: two clones would write the same files
                files.replace_file(file, b"")
            if copied or not _names(file):
                self._own.mkdir(parents=True, exist_ok=True)
                files.append_lines(file, os.urandom(6).hex().encode() + b"\n")
            if not _inodes(file):
                files.append_lines(file, f"inode {file.stat().st_ino}\n".encode())
            # several processes may make one at once: the first line counts
            return _names(file)[0]

    def append(self, lines: Sequence[bytes], month: str) -> None:
        """Add whole lines to the log of a month (`yyyy-mm`).

        Raises StorageFailed, Conflict: no place for it.
        """
        if not lines or not _MONTH.fullmatch(month):
            return
        with files.translated(str(self._own), writing=True):
            self._own.mkdir(parents=True, exist_ok=True)
            parts = (_PART.fullmatch(name) for name in os.listdir(self._own))
            last = max(
                (int(part[2] or 1) for part in parts if part and part[1] == month), default=1
            )
            names = []
            for part in (last, last + 1):
                if part == 1:
                    names.append(f"{month}.jsonl")
                else:
                    names.append(f"{month}.{part}.jsonl")
            file = self._own / names[0]
            if file.exists() and file.stat().st_size >= PART_BYTES:
                file = self._own / names[1]
            files.append_lines(file, b"".join(lines))

    def recent(self) -> bytes:
        """The part of this clone's own log that was written to last; empty if there is none."""
        newest = max(self._own_files(), key=lambda log: log.stamp[0], default=None)
        if newest:
            return newest.read()
        return b""

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
            # no log yet, or an unreadable folder
            return

    def _shared_files(self) -> Iterator[LogFile]:
        with files.translated(str(self._own)):
            this_clone = next(iter(_names(self._own / "clone")), "")
        with files.OpenFolders(self._root) as folders:
            for clone in filter(_CLONE.fullmatch, _listed_logs(folders, FOLDER)):
                for name in filter(_PART.fullmatch, _listed_logs(folders, f"{FOLDER}/{clone}")):
                    path = f"{FOLDER}/{clone}/{name}"
                    status = os.stat(
                        name, dir_fd=folders.to(path.split("/")[:-1]), follow_symlinks=False
                    )
                    if stat.S_ISREG(status.st_mode):
                        yield LogFile(
                            path,
                            _stamp(status),
                            self._root,
                            path,
                            "" if clone == this_clone else clone,
                        )

    def unshared(self, *, at_least: int = 1) -> list[Change]:
        """What adds this clone's lines to the repository.

        Empty if fewer than so many bytes wait.
        """
        logs = list(self._own_files())
        if not logs:
            # to name a clone writes a file, which one without events does not need
            return []
        prefix = f"{FOLDER}/{self.clone}/"
        shared = {log.path: log for log in self._shared_files()}
        sizes = {name: log.stamp[1] for name, log in shared.items()}
        growth = {log: log.stamp[1] - sizes.get(prefix + log.name, 0) for log in logs}
        waiting = [log for log, size in growth.items() if size > 0]
        if sum(growth[log] for log in waiting) < at_least:
            return []
        changes = []
        for log in waiting:
            data, old = (
                log.read(),
                shared[prefix + log.name].read() if prefix + log.name in shared else b"",
            )
            new = data[: data.rfind(b"\n") + 1]
            if not new.startswith(old):
                old_lines = set(old.split(b"\n"))
                lacking = []
                for line in new.split(b"\n"):
                    if line and line not in old_lines:
                        lacking.append(line)
                new = old.removesuffix(b"\n") + b"\n" + b"".join(line + b"\n" for line in lacking)
            if new != old:
                changes.append(Change(prefix + log.name, new))
        return changes


def _names(file: Path) -> list[str]:
    """The lines that can be names of a clone."""
    if file.exists():
        return list(filter(_CLONE.fullmatch, file.read_text(errors="replace").splitlines()))
    return []


def _inodes(file: Path) -> list[int]:
    """The numbers of the file as it was written in place; a copy has another one."""
    if file.exists():
        lines = file.read_text(errors="replace").splitlines()
    else:
        lines = []
    inodes: list[int] = []
    for line in lines:
        if line.startswith("inode ") and line[6:].isdecimal():
            inodes.append(int(line[6:]))
    return inodes


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _listed_logs(folders: files.OpenFolders, path: str) -> list[str]:
    """The names in a folder, sorted; none where it is missing, a link, or not to be read."""
    try:
        return sorted(os.listdir(folders.to(path.split("/"))))
    except OSError:
        return []
