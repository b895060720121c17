"""Files below one folder, read and written without following a link."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
    InvalidEntry,
    NotFound,
    Problem,
    Refused,
    StorageFailed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import FrameType


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C during the block takes effect right after it.

    That holds in the main thread and where Python handles it.
    """
    import signal

    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    signals: list[tuple[int, FrameType | None]] = []
    # a handler, not a blocked signal: a thread of some library would take a blocked one, and Python
    # raise it here
    signal.signal(signal.SIGINT, lambda number, frame: signals.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if signals:
            handler(*signals[0])


_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ_LIMIT = 8 * 1024 * 1024
# Prefix of a file that is not in its place yet; hidden, so that no walk sees it
TEMPORARY = ".ai-lessons-tmp-"

_HINTS = {
    errno.ENOSPC: "free some space, then repeat the command",
    errno.EDQUOT: "your disk quota is used up: free some space, then repeat the command",
    errno.EROFS: "the file system is mounted read-only",
    errno.EACCES: "check who owns the file and its folder, and their permissions",
    errno.EPERM: "check who owns the file and its folder, and their permissions",
    errno.EMFILE: "too many files are open: raise the limit with `ulimit -n`",
}
_NO_LOCKS = "the file system cannot lock files: turn locks on where it is mounted, or put the repository on a local disk"
_HINTS |= dict.fromkeys((errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP), _NO_LOCKS)


class OpenFolders:
    """Folders below a root, opened without following a link; the last stays open.

    A context manager, for one thread.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names: list[str] = []
        # the root, then one for each name
        self._open: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all folders; the next question opens them again."""
        while self._open:
            os.close(self._open.pop())
        self._names.clear()

    def to(self, folders: list[str], made: list[list[str]] | None = None) -> int:
        """The descriptor of a folder, good until the next question.

        Raises OSError: ELOOP if a link is in the way.
        """
        if not self._open:
            self._open.append(os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        shared = 0
        while shared < len(self._names) and self._names[: shared + 1] == folders[: shared + 1]:
            shared += 1
        for _ in self._names[shared:]:
            os.close(self._open.pop())
        del self._names[shared:]
        for depth in range(shared, len(folders)):
            self._open.append(_step(self._open[-1], folders[depth], folders, depth, made))
            self._names.append(folders[depth])
        return self._open[-1]


def _step(fd: int, part: str, folders: list[str], depth: int, made: list[list[str]] | None) -> int:
    """Open `part`, which is `folders[depth]`; made if missing, given `made`.

    Raises OSError (ELOOP for a link).
    """
    try:
        return os.open(part, _FOLDER_FLAGS, dir_fd=fd)
    except FileNotFoundError:
        if made is None:
            raise
    except NotADirectoryError:
        # the same error for a link and a file; which of the two decides between a refusal and a
        # conflict
        if stat.S_ISLNK(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "symbolic link", "/".join(folders[: depth + 1])) from None
        raise
    with suppress(FileExistsError):
        os.mkdir(part, dir_fd=fd)
        made.append(folders[: depth + 1])
    return os.open(part, _FOLDER_FLAGS, dir_fd=fd)


def inside(path: str) -> list[str]:
    """The parts of a path that stays inside and out of git's folder.

    Raises Refused for any other.
    """
    parts = path.split("/")
    if any(part in {"", ".", ".."} or part.lower() == ".git" for part in parts) or "\0" in path:
        raise Refused(f"{path!r} does not name a file inside the repository")
    return parts


def read_file(root: Path, path: str, limit: int = READ_LIMIT) -> tuple[bytes, os.stat_result]:
    """A plain file's bytes and its stat as of then.

    Raises NotFound, Refused, InvalidEntry (size), StorageFailed.
    """
    *folders, name = inside(path)
    try:
        # a named pipe would block a plain open for ever
        with OpenFolders(root) as way:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            fd = os.open(name, flags, dir_fd=way.to(folders))
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise InvalidEntry([Problem(path, "not a plain file")])
            size, data = min(status.st_size, limit) + 1, b""
            while len(data) < size and (part := os.read(fd, size - len(data))):
                data += part
        finally:
            os.close(fd)
    except OSError as error:
        raise _translate(error, path, writing=False) from error
    if len(data) > limit:
        raise InvalidEntry([Problem(path, f"larger than {limit} bytes")])
    return data, status


def status_of(root: Path, path: str) -> os.stat_result | None:
    """The file's own stat (links not followed), None where there is nothing.

    Raises Refused: a link is on the way.
    """
    with OpenFolders(root) as folders:
        return status_in(folders, path)


def status_in(folders: OpenFolders, path: str) -> os.stat_result | None:
    """`status_of`, for many files of the same folders."""
    *above, name = inside(path)
    try:
        with translated(path):
            return os.stat(name, dir_fd=folders.to(above), follow_symlinks=False)
    except NotFound:
        return None


def write_file(
    root: Path, path: str, data: bytes, *, executable: bool | None = None, durable: bool = True
) -> None:
    """Put one file in its place in one step; see `Staging` for what is raised."""
    with Staging(root, durable=durable) as staging:
        staging.add(path, data, executable=executable)
        staging.publish()
        staging.settle()


def remove_file(root: Path, path: str) -> bool:
    """Unlink a file and the folders that this leaves empty, as git does.

    False if it was not there.
    """
    *folders, name = inside(path)
    try:
        with translated(path), OpenFolders(root) as way:
            os.unlink(name, dir_fd=way.to(folders))
    except NotFound:
        return False
    prune(root, folders)
    return True


def prune(root: Path, folders: list[str]) -> None:
    """Remove a folder below the root and its parents as long as they are empty.

    Leaves everything else alone.
    """
    for depth in range(len(folders), 0, -1):
        try:
            with OpenFolders(root) as way:
                os.rmdir(folders[depth - 1], dir_fd=way.to(folders[: depth - 1]))
        except OSError:
            return


def sweep(root: Path, path: str) -> None:
    """Remove what a process that died left beside `path` under a temporary name.

    Only while no process is staging.
    """
    with suppress(OSError), OpenFolders(root) as way:
        folder = way.to(inside(path)[:-1])
        for name in os.listdir(folder):
            if name.startswith(TEMPORARY):
                os.unlink(name, dir_fd=folder)


class Staging:
    """Writes several files: `add` writes each beside its place, `publish` renames all into place.

    For one thread.

    A failure before `publish`, such as a full disk, leaves the repository as it was. If a rename
    fails, the files before it stay.
    """

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        """`durable`: each file and its folder are on the disk, not only in its cache, when `settle` returns."""
        self._root, self._durable = root, durable
        self._folders = OpenFolders(root)
        self._unsettled: list[int] = []
        # path, folders, temporary name, name
        self._waiting: list[tuple[str, list[str], str, str]] = []
        self._made: list[list[str]] = []
        self.begun = False
        """Whether `publish` has begun, so that files may be in their place."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.abandon()
        while self._unsettled:
            os.close(self._unsettled.pop())
        self._folders.close()

    def add(self, path: str, data: bytes, *, executable: bool | None = None) -> None:
        """Write `data` beside its place; `executable` None keeps the bit.

        Raises Refused, Conflict, StorageFailed.
        """
        *folders, name = inside(path)
        with translated(path, writing=True):
            folder = self._folders.to(folders, self._made)
            mode = _mode(path, name, folder, executable)
            # ignored, so that `git stash -u` leaves it alone
            temporary = f"{TEMPORARY}{os.urandom(8).hex()}.tmp"
            self._waiting.append((path, folders, temporary, name))
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(temporary, flags, 0o777 if executable else 0o666, dir_fd=folder)
            self._unsettled.append(fd)
            if mode is not None:
                os.fchmod(fd, mode)
            write_all(fd, data)
            if not self._durable or mode is not None:
                # what replaces another file is on the disk before the rename, or a power cut could
                # leave neither
                if self._durable:
                    os.fsync(fd)
                os.close(self._unsettled.pop())

    def publish(self) -> None:
        """Rename every file into its place, each whole for readers.

        Ctrl-C waits until all are there.
        """
        with held_back():
            self.begun = True
            while self._waiting:
                path, folders, temporary, name = self._waiting[0]
                with translated(path, writing=True):
                    folder = self._folders.to(folders)
                    os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                    del self._waiting[0]
                    if self._durable:
                        self._unsettled.append(os.dup(folder))
            self._made.clear()

    def settle(self) -> None:
        """Bring what was published to the disk.

        Needs no lock: other processes may use the files meanwhile.
        """
        while self._unsettled:
            fd = self._unsettled.pop(0)
            try:
                with translated(str(self._root), writing=True):
                    os.fsync(fd)
            finally:
                os.close(fd)

    def begin_anew(self) -> None:
        """After a `NotFound`, because another program removed a folder or a temporary file.

        Add all once more.
        """
        self.abandon()
        self._folders.close()

    def abandon(self) -> None:
        """Remove what was added and not published, and the folders made for it."""
        for _, folders, temporary, _ in self._waiting:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=self._folders.to(folders))
        self._waiting.clear()
        for folders in reversed(self._made):
            prune(self._root, folders)
        self._made.clear()


def _mode(path: str, name: str, folder: int, executable: bool | None) -> int | None:
    """The permission bits for a file that replaces another.

    None for a new one, which takes the umask's.
    """
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        raise Refused(f"{path} is a symbolic link, and links are not followed")
    if not stat.S_ISREG(mode):
        raise Conflict(f"{path} is there and is not a file")
    bits = stat.S_IMODE(mode)
    if executable is None:
        return bits
    if executable:
        return bits | (bits & 0o444) >> 2
    return bits & ~0o111


def append_lines(file: Path, lines: bytes, *, private: bool = False) -> None:
    """Add whole lines to a file, one process at a time; `private`: only the user may read it."""
    fd = os.open(
        file,
        os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW,
        0o600 if private else 0o666,
    )
    try:
        # appends do not mix anyhow; but whether the last line is whole can only be seen while no
        # process writes
        fcntl.flock(fd, fcntl.LOCK_EX)
        if private:
            os.fchmod(fd, 0o600)
        size = os.fstat(fd).st_size
        # a last line that a full disk or a kill cut off would swallow the new one
        write_all(fd, (b"\n" if size and os.pread(fd, 1, size - 1) != b"\n" else b"") + lines)
    finally:
        os.close(fd)


def write_new(place: Path, data: bytes, *, durable: bool, mode: int = 0o666) -> None:
    """Write a file that is not there yet, by a path of our own; whole or not at all.

    Raises OSError.
    """
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write_all(fd, data)
        if durable:
            os.fsync(fd)
    except BaseException:
        # whatever it is, Ctrl-C too: a part of a file would pass for the whole
        place.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def replace_file(
    file: Path, data: bytes, mode: int | None = None, *, durable: bool = False
) -> None:
    """Write a file by a path of our own, whole or not at all, with this mode, or the one it had.

    Raises OSError.
    """
    if mode is None and file.exists():
        mode = file.stat().st_mode & 0o777
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.urandom(4).hex()}.tmp")
    try:
        write_new(temporary, data, durable=durable)
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def read_json(file: Path) -> Any:
    """The value in a file of ours; None where there is none that can be read."""
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None


def write_json(file: Path, value: object, *, durable: bool = False) -> None:
    """Write a value into a file of ours, whole or not at all. Raises StorageFailed."""
    with translated(str(file), writing=True):
        replace_file(file, json.dumps(value, separators=(",", ":")).encode(), durable=durable)


def can_hold_index(folder: Path) -> bool:
    """Whether files can be made, linked and locked there, given space.

    LanceDB commits by a link, which exFAT, SMB and FUSE lack.
    """
    probe, link = (folder / f"{TEMPORARY}{os.urandom(8).hex()}.tmp" for _ in range(2))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_new(probe, b"", durable=False)
        try:
            os.link(probe, link)
            with probe.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            link.unlink(missing_ok=True)
            probe.unlink(missing_ok=True)
    except OSError as error:
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    return True


def write_all(fd: int, data: bytes) -> None:
    """Write every byte: one call may take only some of them."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


@contextmanager
def translated(path: str, *, writing: bool = False) -> Iterator[None]:
    """Turn the system's errors about `path` into ours."""
    try:
        yield
    except OSError as error:
        raise _translate(error, path, writing=writing) from error


def _translate(error: OSError, path: str, *, writing: bool) -> AiLessonsError:
    if error.errno == errno.ELOOP:
        return Refused(f"{path} is or leads through a symbolic link, and links are not followed")
    if error.errno == errno.ENOTDIR and writing:
        return Conflict(f"{path} cannot be made: a file has the name of one of its folders")
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return NotFound("file", path)
    return StorageFailed(f"{path}: {reason(error)}", hint=_HINTS.get(error.errno or 0, ""))


def reason(error: OSError) -> str:
    """The system's message in lower case."""
    return (error.strerror or str(error)).lower()


# --- the code repository that one works in ---


# --- transcripts of agent hosts ---
