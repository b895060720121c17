"""Files below one folder, and files outside the repository.

Read and written without following a link.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import stat
import threading
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
    InvalidEntry,
    NotFound,
    Problem,
    Refused,
    StorageFailed,
    UsageError,
)
from ai_lessons.model import expression
from ai_lessons.model.texts import toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C during the block takes effect right after it, in the main thread and where Python handles it."""
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
    """Whether files can be made, linked (so LanceDB commits.

    Not on exFAT, SMB, FUSE) and locked there, given space.
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


_NEVER_ENTERED = frozenset(("node_modules", "__pycache__"))


class Outside(NamedTuple):
    """A file to import. `name` is its path below the folder that was asked for, with `/`."""

    path: Path
    name: str


def expand(patterns: Sequence[str], cwd: Path, *, recursive: bool) -> list[Outside]:
    """Every regular file that the patterns name, hidden and installed ones left out.

    Raises NotFound, UsageError.
    """
    folders = dict[Path, None]()
    # and the folder that each is named from
    files: dict[Path, Path] = {}
    for pattern in patterns:
        fixed = _before_magic(expanded(pattern))
        for path in named(pattern, cwd):
            if path.is_dir():
                if not recursive:
                    raise UsageError(
                        f"{pattern} is a folder", hint="add --recursive to take every file in it"
                    )
                folders[path] = None
                for file in _below(path):
                    files.setdefault(file, path)
            else:
                files.setdefault(path, path.parent if fixed is None else typed(fixed, cwd))
    return _named_apart(files, [*folders])


def _before_magic(pattern: Path) -> Path | None:
    """The folder that a glob begins in; None: it is no glob."""
    from glob import has_magic

    parts = pattern.parts
    first = next((number for number, part in enumerate(parts) if has_magic(part)), None)
    if first is None:
        return None
    return Path(*parts[:first])


def _named_apart(files: Mapping[Path, Path], folders: Sequence[Path]) -> list[Outside]:
    """The files by their names from the folder that each came from.

    Where there are several folders, or names that are the same, they keep the shape that they have
    together: folders of different names stay apart.
    """
    outside = []
    for file, start in files.items():
        outside.append(Outside(file, file.relative_to(start).as_posix()))
    if len(folders) < 2 and len({file.name for file in outside}) == len(outside):
        return outside
    whole = Path(os.path.commonpath([*(folder.parent for folder in folders), *files.values()]))
    return [Outside(file, file.relative_to(whole).as_posix()) for file in files]


def named(pattern: str, cwd: Path) -> list[Path]:
    """What a path or a glob names, in order; no links that lead out of a glob's folder.

    Raises NotFound, Refused.
    """
    from glob import has_magic

    path = expanded(pattern)
    if (cwd / path).exists():
        return [typed(path, cwd)]
    globs = [number for number, part in enumerate(path.parts) if has_magic(part)][:1]
    paths = set[Path]()
    for first in globs:
        folder = typed(Path(*path.parts[:first]), cwd)
        paths.update(Path(os.path.abspath(match)) for match in matches(folder, path.parts[first:]))
    if not paths:
        raise NotFound(
            "file", pattern, hint="give a file, a folder with --recursive, or a quoted glob"
        )
    return sorted(paths)


def typed(path: Path, cwd: Path) -> Path:
    """The absolute form, without `..`, of a path that a user typed.

    Raises Refused: links lead from it out of its code repository, or out of `cwd` where it lies
    below that in none.
    """
    path = Path(os.path.abspath(cwd / path))
    # a folder that was cloned or unpacked may hold any link, and the path that is typed does not
    # show where it leads
    top = top_of(path.parent) or (cwd if path.is_relative_to(cwd) else None)
    if top is not None and not leads_into(path, top):
        hint = "name the place that it leads to, if you mean that"
        raise Refused(
            f"{path} leads out of {top} by a link, to {os.path.realpath(path)}", hint=hint
        )
    return path


def leads_into(path: Path | str, folder: Path) -> bool:
    """Whether a path is the folder or below it after all links are followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def kept(file: Path) -> Path:
    """Where a file of the user's own home is kept.

    What a link in its place leads to (dotfiles), else the file.
    """
    if file.is_symlink():
        return Path(os.path.realpath(file))
    return file


def matches(
    folder: Path, parts: Sequence[str], *, hidden: bool = False, top: Path | None = None
) -> Iterator[Path]:
    """What the parts of a glob match below a folder, but for links that lead out of it (of `top`).

    `**` enters none.
    """
    from glob import has_magic

    top = top or folder
    if not parts:
        yield folder
        return
    part, *later = parts
    deep = part == "**"
    if deep:
        yield from matches(folder, later, hidden=hidden, top=top)
    names = [part]
    if has_magic(part):
        try:
            names = [name for name in sorted(os.listdir(folder)) if deep or fnmatchcase(name, part)]
        except OSError:
            # no folder, or a closed one: nothing in it matches, as in a shell
            return
    for name in names:
        path = folder / name
        link = path.is_symlink()
        is_hidden = name.startswith(".") and not (hidden or part.startswith("."))
        if is_hidden or not os.path.lexists(path) or (link and not leads_into(path, top)):
            continue
        if not deep:
            yield from matches(path, later, hidden=hidden, top=top)
        elif path.is_dir() and not link:
            yield from matches(path, parts, hidden=hidden, top=top)
        elif not later:
            yield path


def _below(folder: Path) -> Iterator[Path]:
    with translated(str(folder)):
        for place, folders, names in os.walk(folder, onerror=_raise):
            folders[:] = sorted(
                name for name in folders if name[0] != "." and name not in _NEVER_ENTERED
            )
            for name in sorted(names):
                path = Path(place, name)
                if not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                    yield path


def _raise(error: OSError) -> None:
    raise error


def expanded(text: str) -> Path:
    """The path of a text, with its `~` as the home of that user.

    As it is where there is no such user.
    """
    return Path(os.path.expanduser(text))


@contextmanager
def opened(path: Path, within: Path | None = None, *, pipes: bool = False) -> Iterator[BinaryIO]:
    """A regular file (or a pipe, given `pipes`), open to be read.

    Raises InvalidEntry: it is none. Refused: links lead out of the folder `within`. NotFound,
    StorageFailed.
    """
    if "\0" in str(path):
        raise NotFound(
            "file",
            str(path),
            hint="was it moved? ai-lessons admin review --stale names what is gone",
        )
    if within is not None and not leads_into(path, within):
        raise Refused(
            f"{path} leads out of {within} by a link", hint="name the file that it leads to"
        )
    if within is None:
        real = path
    else:
        real = Path(os.path.realpath(path))
    # non-blocking, because opening a named pipe would otherwise wait for a writer for ever
    flags = (
        os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (os.O_NOFOLLOW if within else 0)
    )

    def regular(name: str, _flags: int) -> int:
        fd = os.open(name, flags)
        mode = os.fstat(fd).st_mode
        if not (stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode))):
            os.close(fd)
            raise InvalidEntry([Problem(str(path), "not a regular file")])
        os.set_blocking(fd, True)
        return fd

    with translated(str(path)), open(real, "rb", opener=regular) as file:
        yield file


def read(
    path: Path, limit: int = READ_LIMIT, *, within: Path | None = None, pipes: bool = False
) -> tuple[bytes, bool]:
    """The bytes of a file, and if its owner may execute it.

    Raises as `opened`; InvalidEntry: it is over the limit.
    """
    with opened(path, within, pipes=pipes) as file:
        data = bytearray()
        while len(data) <= limit and (part := file.read(min(limit + 1 - len(data), 1 << 20))):
            data += part
        if len(data) > limit:
            raise InvalidEntry([Problem(str(path), f"more than {limit} bytes")])
        return bytes(data), bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)


def write(file: Path, data: bytes) -> None:
    """Put a file in its place, whole or not at all, with the mode that it had.

    Its folders are made.

    Raises Refused: a link is in its place. Conflict: something that is no file. StorageFailed.
    """
    with translated(str(file), writing=True):
        file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file.parent, file.name, data, durable=False)


# --- the code repository that one works in ---

_WORKTREE = expression(r"gitdir: (.+)/\.git/worktrees/[^/]+/?\s*\Z")


def top_of(folder: Path) -> Path | None:
    """The nearest folder from here upward that holds `.git`; None where there is none."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)


_REMOTE = expression(r'(?m)^\[remote "origin"\][^\[]*?^[ \t]*url[ \t]*=[ \t]*(\S+)[ \t\r]*$')
_MODULE = expression(r"(?m)^module\s+(?:\S*/)?(\S+)")


def in_project(path: str, cwd: Path) -> str:
    """A file of the caller's as its own project sees it.

    From the folder that holds `.git`, else from `cwd`.
    """
    whole = Path(os.path.normpath(cwd / os.path.expanduser(path)))
    root = next((folder for folder in whole.parents if (folder / ".git").exists()), cwd)
    return (whole.relative_to(root) if whole.is_relative_to(root) else whole).as_posix().lstrip("/")


def names_in_project(path: str, cwd: Path) -> tuple[str, ...]:
    """A file of the caller's as its project sees it.

    As it is called, and, through links, as it lies in the project.

    A rule may be about a link, or about the file that it leads to.
    """
    named = in_project(path, cwd)
    real = os.path.realpath(cwd / os.path.expanduser(path))
    top = top_of(cwd)
    # what a link leads to elsewhere is of no project here
    inside = top is None or Path(real).is_relative_to(os.path.realpath(top))
    return tuple(dict.fromkeys((named, in_project(real, cwd) if inside else named)))


def names_of(folder: Path) -> list[str]:
    """Names of the project of a folder.

    Of git's remote `origin`, its package, its folder, in this order.
    """
    top = top_of(folder)
    if top is None:
        return []
    addresses = _REMOTE.findall(beginning(top / ".git" / "config"))
    remotes = []
    for address in addresses:
        remotes.append(re.split("[/:]", address.rstrip("/").removesuffix(".git"))[-1])
    modules = _MODULE.findall(beginning(top / "go.mod", top))
    return list(dict.fromkeys([*remotes, *_packages(top), *modules, name_of(folder)]))


def _packages(top: Path) -> Iterator[str]:
    for file, parse in (
        ("pyproject.toml", toml),
        ("package.json", json.loads),
        ("Cargo.toml", toml),
    ):
        try:
            manifest = parse(beginning(top / file, top))
        except (ValueError, RecursionError):
            # no such file, or a damaged one
            continue
        tables = (
            (manifest, manifest.get("project"), manifest.get("package"))
            if isinstance(manifest, dict)
            else ()
        )
        for part in tables:
            if isinstance(part, dict) and isinstance(name := part.get("name"), str):
                yield name.rpartition("/")[2]


def beginning(file: Path, within: Path | None = None, limit: int = 1 << 20) -> str:
    """The text of a small file; empty where there is none that can be read."""
    try:
        return read(file, limit, within=within)[0].decode("utf-8", "replace")
    except AiLessonsError:
        # mostly, because it is not there
        return ""


def name_of(folder: Path) -> str:
    """The name of the top folder; of a linked worktree that of the repository it belongs to.

    Empty outside of any.
    """
    top = top_of(folder)
    if top is None:
        return ""
    # usually a folder: the repository itself
    match = _WORKTREE.match(beginning(top / ".git"))
    if match:
        return Path(match[1]).name
    return top.name


def same_name(first: str, second: str) -> bool:
    """Whether two names of a project differ only in capitals and in what joins their words."""
    first, second = (
        re.sub(r"(?:[^\w+#]|_)+", "-", name.lower()).strip("-") for name in (first, second)
    )
    return first == second != ""


# --- transcripts of agent hosts ---


def transcripts(patterns: Sequence[tuple[Path, str]]) -> list[tuple[Path, os.stat_result]]:
    """The files that globs below folders match and their status, newest first. Raises nothing."""
    files: dict[Path, os.stat_result] = {}
    for folder, pattern in patterns:
        for file in matches(folder, pattern.split("/"), hidden=True):
            try:
                status = os.stat(file)
            except OSError:
                # gone since the glob
                continue
            if stat.S_ISREG(status.st_mode):
                files[file] = status
    return sorted(files.items(), key=lambda row: -row[1].st_mtime)
