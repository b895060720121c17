"""State of one index, shared by the processes of this machine: locks, and which generation a table holds."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

WRITE = "write"  # Held for every commit to the table in use: short
BUILD = "build"  # Held while a new table is made beside it: seconds to minutes
EMBED = "embed"  # Held while vectors are computed, so that two processes do not compute the same ones


class RefreshState:
    """Locks and notes in one folder. `trouble` says why the folder cannot be used, if so."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / "state.json"
        self.trouble = ""

    @contextmanager
    def locked(self, name: str, wait: float) -> Iterator[bool]:
        """Hold a lock; False if another process holds it for longer than `wait` seconds, or it cannot be made."""
        lock = FileLock(self._folder / f"{name}.lock")
        with ExitStack() as stack:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(lock.acquire(timeout=wait))
            except Timeout:
                pass
            except (OSError, NotImplementedError) as error:  # filelock says that of a file system without locks
                self.trouble = f"the index cannot be updated: {getattr(error, 'strerror', None) or error}"
            yield lock.is_locked

    def missing_at(self, generation: str, table: int, version: int) -> int | None:
        """How many vectors are missing, if this version of the table is known to hold this generation."""
        state = read_notes(self._path)
        if (state.get("generation"), state.get("table"), state.get("version")) != (generation, table, version):
            return None
        missing = state.get("missing")
        return missing if isinstance(missing, int) else None

    def remember(self, generation: str, table: int, version: int, missing: int) -> None:
        """This version of the table holds exactly this generation."""
        self._write({"generation": generation, "table": table, "version": version, "missing": missing})

    def advance(self, table: int, before: int, after: int, missing: int) -> None:
        """The table has a new version with the same entries (vectors were filled in). Call under WRITE."""
        state = read_notes(self._path)
        if (state.get("table"), state.get("version")) == (table, before):
            self._write({**state, "version": after, "missing": missing})

    def report_damage(self, reason: str) -> None:
        """Let the next refresh rebuild the index."""
        self._write({"damaged": reason})

    def damage(self) -> str:
        """Why the index must be rebuilt, or ""."""
        return str(read_notes(self._path).get("damaged", ""))

    def _write(self, state: dict[str, object]) -> None:
        try:
            write_notes(self._path, state)
        except OSError as error:
            self.trouble = f"the index cannot be updated: {error.strerror or error}"


def read_notes(path: Path) -> dict[str, object]:
    """What `write_notes` wrote there; nothing where there is none, or it cannot be read."""
    try:
        notes = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return notes if isinstance(notes, dict) else {}


def write_notes(path: Path, notes: Mapping[str, object]) -> None:
    """Put a JSON file there, all at once. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(notes), "utf-8")
    os.replace(part, path)
