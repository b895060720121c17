"""The keys that this user trusts to approve the rules of one repository: a file of theirs outside every repository.

In OpenSSH's `allowed_signers` format, so that `ssh-keygen -Y verify -f` takes it as it is. Light to import: reading
only needs to know whether it changed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.repository.files import translated

FOLDER: Final = "signers"
LIMIT: Final = 256 * 1024
"""Bytes; the reader of the format takes no longer list."""


class PinnedKeys:
    """The file of one repository, named by its first commit, below the user's `config_dir`."""

    def __init__(self, config_dir: Path, repository: str) -> None:
        self.file = config_dir / FOLDER / f"{repository}.allowed"

    def read(self) -> bytes | None:
        """The list as it stands, None if nothing is pinned.

        Raises:
            StorageFailed: it is there and cannot be read, or is longer than any list is.
        """
        try:
            with translated(str(self.file)), open(self.file, "rb") as file:
                data = file.read(LIMIT + 1)
        except NotFound:
            return None
        if len(data) > LIMIT:
            raise StorageFailed(f"{self.file} is longer than {LIMIT} bytes")
        return data

    def digest(self) -> str:
        """Names the content; empty if nothing is pinned."""
        data = self.read()
        return "" if data is None else sha256(data).hexdigest()

    def pin(self, data: bytes) -> None:
        """Replace the list, whole or not at all; nobody else may read or write the file.

        Raises:
            StorageFailed: the folder cannot be written.
        """
        import tempfile  # noqa: PLC0415  # slow, and no reader needs it

        with translated(str(self.file), writing=True):
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd, temporary = tempfile.mkstemp(prefix=f".{self.file.name}.", dir=self.file.parent)  # made with 0600
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                Path(temporary).replace(self.file)
            except OSError:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
