"""Scripts that stay where they are: the repository holds their description, and names their path.

A pulled entry may name any file of this machine, and what is read of it is searched and shown: only
a file that a person of this clone added, or let be read, is.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from ai_lessons.app.secrets import masked_entry
from ai_lessons.app.trust import known_sources, source_mark
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.intake import sources
from ai_lessons.git import external_files
from ai_lessons.model.entries import ELSEWHERE, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library
    from ai_lessons.model.entries import Entry, EntrySummary


def facts(entry: Entry) -> Mapping[str, str]:
    """Where the code of a script lies, as its description states it."""
    path = entry.fields["path"]
    if entry.kind is not Kind.SCRIPT or not path or isinstance(path, list | dict):
        return {}
    return {ELSEWHERE: str(path)}


def notes(library: Library, shown: Sequence[EntrySummary]) -> Iterator[str]:
    """That the code of a script lies in a file that nobody here let be read."""
    for summary in shown:
        repo, _ = library.holding(summary.id)
        where = summary.elsewhere
        allowed = known_sources(repo.store.state_dir)
        if repo.store.exists(summary.path) or source_mark(summary.id, where) in allowed:
            continue
        if not sources.became(repo, summary, allowed):
            yield (
                f"[{summary.handle}] its code is in {where}, which is read once you trust it: "
                f"ai-lessons admin trust-script {summary.handle}"
            )


class CodeElsewhere:
    """The code of scripts that are kept where they are, for one look at all of them."""

    def __init__(self, state_dir: Path, clock: Callable[[], int]) -> None:
        """`clock` gives nanoseconds since 1970, as files have them."""
        self._state_dir, self._clock = state_dir, clock

    @cached_property
    def _allowed(self) -> frozenset[str]:
        return known_sources(self._state_dir)

    def stamp(self, entry_id: str, path: str) -> str:
        """Differs once the file was changed; empty where it is gone, or may not be read."""
        if not self._may_be_read(entry_id, path):
            return ""
        try:
            status = external_files.expanded(path).stat()
        except (OSError, ValueError):
            return ""
        stamp = f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}"
        # A file that was written just now may be written again without another time: no stamp is
        # equal to this one.
        now = self._clock()
        # Nanoseconds: file systems that keep whole seconds hide an edit for up to two
        if max(status.st_mtime_ns, status.st_ctime_ns) > now - 2_000_000_000:
            return f"{stamp} {now}"
        return stamp

    def code(self, entry_id: str, path: str) -> bytes:
        """What the file holds now; nothing where it cannot, or may not, be read."""
        with suppress(AiLessonsError):
            if self._may_be_read(entry_id, path):
                return external_files.read(external_files.expanded(path))[0]
        return b""

    @staticmethod
    def shown(entry: Entry) -> Entry:
        """The entry with its code, without what looks like a secret."""
        return masked_entry(entry)

    def _may_be_read(self, entry_id: str, path: str) -> bool:
        return source_mark(entry_id, path) in self._allowed
