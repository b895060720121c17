"""Folders below one root by descriptors, so that no link on the way can lead a read or a write elsewhere."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class OpenFolders:
    """Folders below a root, opened without following a link; the last stays open. A context manager, for one thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names: list[str] = []
        self._open: list[int] = []  # the root, then one for each name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what is open; the next question opens it again."""
        while self._open:
            os.close(self._open.pop())
        self._names.clear()

    def to(self, folders: list[str], made: list[list[str]] | None = None) -> int:
        """The descriptor of a folder, good until the next question. Raises OSError: ELOOP if a link is in the way."""
        if not self._open:
            self._open.append(os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        shared = 0
        while shared < len(self._names) and self._names[: shared + 1] == folders[: shared + 1]:
            shared += 1
        for _ in self._names[shared:]:
            os.close(self._open.pop())
        del self._names[shared:]
        for depth in range(shared, len(folders)):
            self._open.append(step(self._open[-1], folders[depth], folders, depth, made))
            self._names.append(folders[depth])
        return self._open[-1]


def step(fd: int, part: str, folders: list[str], depth: int, made: list[list[str]] | None) -> int:
    """A step down to `part`, which is `folders[depth]`; made if missing, given `made`. Raises OSError (link: ELOOP)."""
    try:
        return os.open(part, _FOLDER_FLAGS, dir_fd=fd)
    except FileNotFoundError:
        if made is None:
            raise
    except NotADirectoryError:
        # the same error for a link and a file; which of the two decides between a refusal and a conflict
        if stat.S_ISLNK(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "symbolic link", "/".join(folders[: depth + 1])) from None
        raise
    with suppress(FileExistsError):
        os.mkdir(part, dir_fd=fd)
        made.append(folders[: depth + 1])
    return os.open(part, _FOLDER_FLAGS, dir_fd=fd)
