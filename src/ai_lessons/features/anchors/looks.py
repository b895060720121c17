"""What a look at code found, kept in the state folder until the stat of the file changes.

So a look that finds nothing changed costs a stat.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import AiLessonsError
from ai_lessons.git import files

if TYPE_CHECKING:
    from pathlib import Path

# Counted up when fingerprints are made in another way
FOLDER = "anchors-2"

# What `os.stat` says of a file, as far as a change of the file changes it
Stamp = list[int]


class Looks:
    """What was seen of the code below one top folder: of files, of anchors, of packages.

    A row of each sort is JSON, with what it depends on in front.
    """

    def __init__(self, top: Path, state_dir: Path) -> None:
        name = sha256(os.fsencode(top)).hexdigest()[:16]
        self._file = state_dir / FOLDER / f"{name}.json"
        kept = files.read_json(self._file) or {"files": {}, "verdicts": {}, "packages": {}}
        self._kept: dict[str, dict[str, Any]] = kept
        self._changed = False

    def get(self, sort: str, name: str) -> Any:
        """The row of a sort under a name; None: there is none."""
        return self._kept[sort].get(name)

    def put(self, sort: str, name: str, row: Any) -> None:
        """Keep a row, as the newest of its sort."""
        self._kept[sort].pop(name, None)
        self._kept[sort][name] = row
        self._changed = True

    def drop(self, sort: str, name: str) -> None:
        """Forget a row: what it says may not be so any more."""
        self._kept[sort].pop(name, None)

    def close(self) -> None:
        """Write it down, where the state folder can be written."""
        if not self._changed:
            return
        for rows in self._kept.values():
            # Rows of a sort: a clone of a large project must not fill the state folder
            for name in list(rows)[:-5_000]:
                del rows[name]
        with suppress(AiLessonsError, OSError):
            # then the next look costs as much
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.write_json(self._file, self._kept)


def file_stamp(path: Path) -> Stamp | None:
    """What shows that a file changed; None where there is none."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return None
    return [
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_size,
        status.st_ino,
        # a file that became a folder or a link may keep the rest
        stat.S_IFMT(status.st_mode),
    ]


def is_sure(stamp: Stamp) -> bool:
    """Whether a change from now on would give a file another stamp."""
    # Clocks of file systems tick every 1 to 10 ms: within this time a second change may leave the
    # same stat
    return time.time_ns() - max(stamp[:2]) > 50_000_000
