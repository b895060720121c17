"""What this user lets run: the SHA-256 of every script text that was added or trusted on this machine.

Kept in the user's own folder, never in a repository, so that nothing runs because it was pulled. The content counts,
not the path: a moved file stays trusted, a changed one does not.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING

from ai_lessons.repository.files import translated, write_all

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def fingerprint(data: bytes, interpreter: str = "") -> str:
    """What is trusted: the script's bytes, and the interpreter that its side file names, which decides as much."""
    return f"{sha256(data).hexdigest()} {interpreter}".rstrip()


class Trust:
    """A list of marks in a folder that no pull writes to. Safe with several processes: a line is added by one write."""

    def __init__(self, state_dir: Path, kind: str = "script") -> None:
        """`kind` is what the marks are of: each has a list of its own."""
        self._kind, self._file = kind, state_dir / f"trusted-{kind}s.jsonl"

    def add(self, path: str, data: bytes, interpreter: str = "") -> None:
        """Trust this text from now on. `path` is only for people who read the file.

        Raises:
            StorageFailed: the state folder cannot be written.
        """
        self.add_all([(path, fingerprint(data, interpreter))])

    def add_all(self, scripts: Iterable[tuple[str, str]]) -> None:
        """Trust many at once, each as (path, mark), of a script its `fingerprint`: one look and one write for all.

        Raises:
            StorageFailed: the state folder cannot be written.
        """
        known = self.marks()
        new = {mark: path for path, mark in scripts if mark not in known}
        if not new:
            return
        lines = "".join(json.dumps({self._kind: mark, "path": path}) + "\n" for mark, path in new.items())
        with translated(str(self._file), writing=True):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.fchmod(fd, 0o600)
                write_all(fd, self._separator() + lines.encode())
            finally:
                os.close(fd)

    def knows(self, data: bytes, interpreter: str = "") -> bool:
        """True if exactly this text was added or trusted here before.

        Raises:
            StorageFailed: the list is there and cannot be read.
        """
        return fingerprint(data, interpreter) in self.marks()

    def marks(self) -> frozenset[str]:
        """Everything that is trusted.

        Raises:
            StorageFailed: the list is there and cannot be read.
        """
        with translated(str(self._file)):
            text = self._file.read_text(errors="replace") if self._file.exists() else ""
        return frozenset(found for line in text.split("\n") if (found := self._read(line)))

    def _separator(self) -> bytes:
        """A line break if the last line was cut off by a full disk: else it would swallow the new one."""
        whole = not self._file.stat().st_size or self._file.read_bytes().endswith(b"\n")
        return b"" if whole else b"\n"

    def _read(self, line: str) -> str | None:
        """The mark in one line; None for a line that is damaged, which then trusts nothing."""
        try:
            row = json.loads(line)
        except ValueError:
            return None
        found = row.get(self._kind) if isinstance(row, dict) else None
        return found if isinstance(found, str) else None
