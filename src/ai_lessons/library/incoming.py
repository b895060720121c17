"""One file on its way in: its bytes, where it came from, and what it says as an entry of its own."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.errors import InvalidEntry
from ai_lessons.knowledge import layout
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Entry, Kind
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.texts import decode
from ai_lessons.repository import outside

if TYPE_CHECKING:
    from ai_lessons.library.options import Limits
    from ai_lessons.repository.outside import Outside
    from ai_lessons.repository.sources import Sources


@dataclass(frozen=True, slots=True)
class Incoming:
    """One file as it came: its bytes, and what is known of where it came from."""

    file: Outside
    data: bytes
    executable: bool
    source_path: str
    source_ref: str | None

    @property
    def hash(self) -> str:
        """What `content_hash` says of a snapshot of these bytes."""
        return f"sha256:{sha256(self.data).hexdigest()}"


def take(file: Outside, sources: Sources, limits: Limits, source_path: str | None = None) -> Incoming:
    """Read a file of the caller's. `source_path` is how its snapshot names it, if it does already.

    Raises:
        InvalidEntry, NotFound, StorageFailed: see `outside.read`. Refused: the caller may not name this file.
    """
    limits.refuse_place(file.path)
    data, executable = outside.read(file.path)
    limits.refuse_content(file.path, data)
    return Incoming(file, data, executable, source_path or _portable(file.path), sources.ref(file.path, data))


def _portable(path: Path) -> str:
    """A path that means the same to the same person on another machine: below the home folder with `~`."""
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)


def as_doc(path: Path, data: bytes) -> Entry:
    """A source as an entry of its own: title, frontmatter and body, lines ending in LF as all that we write.

    Frontmatter that cannot be read is text.

    Raises:
        InvalidEntry: not text.
    """
    name = path.name if path.name.lower().endswith(layout.DOC_SUFFIXES) else f"{path.name}.txt"
    unix = data.replace(b"\r\n", b"\n")
    try:
        return read_entry(layout.resource_path(Kind.DOC, GLOBAL_PROJECT, (), name), unix)
    except InvalidEntry:
        text = decode(unix, str(path))
        return Entry("", Kind.DOC, path.stem, "", GLOBAL_PROJECT, body=text)
