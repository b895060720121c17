"""One opened repository with its index and usage: what jobs take to read and write entries."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from itertools import starmap
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from ai_lessons import library
from ai_lessons.errors import Refused
from ai_lessons.knowledge.entries import Entry, Kind, Light
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.library import statements
from ai_lessons.library.open_repository import CATALOG_FILE, OpenRepository
from ai_lessons.library.secret_scan import masked
from ai_lessons.repository.store import AS_IT_IS, Applied, Change, Job
from ai_lessons.repository.worktree import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.index.catalog import Catalog, CatalogRefresh
    from ai_lessons.index.passage_index import Index
    from ai_lessons.library.gate import Planned
    from ai_lessons.library.model import Embedders
    from ai_lessons.library.options import Options
    from ai_lessons.library.reports import Imported, Written
    from ai_lessons.library.search_index import Indexing
    from ai_lessons.library.usage import Usages


def _identity(path: Path) -> tuple[int, ...] | None:
    """Differs for another file or folder of the same name, and for settings that were changed."""
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino, status.st_mtime_ns if path.suffix == ".yaml" else 0
    return None


class RepositorySession(OpenRepository):
    """An opened repository for jobs. For one thread at a time."""

    def __init__(self, root: Path, options: Options, embedders: Callable[[], Embedders] | None = None) -> None:
        """Raises as `Store`. `embedders`: shared with other repositories."""
        super().__init__(root, options)
        self._shared_embedders = embedders
        self._refreshed: CatalogRefresh | None = None
        self.skipped: list[str] = []  # Folders and names that the last walk could not read, with the reason
        self._identities: tuple[tuple[int, ...] | None, ...] = ()
        self.refreshed_at = float("-inf")  # on a clock that only goes forward
        self.guard: Callable[[Sequence[Change]], None] = lambda _changes: None

    def close(self) -> None:
        """Close everything that was opened."""
        for name in ("usages", "indexing", "catalog"):
            if name in self.__dict__:
                self.__dict__[name].close()

    def current(self, parsed: Mapping[str, tuple[bytes, Entry]] = MappingProxyType({})) -> Catalog:
        """The catalog, brought up to date with files and rules in force; `parsed`: bytes and entries of new files."""

        def read(path: str, data: bytes, side: bytes | None) -> Entry:
            new = parsed.get(path)
            return new[1] if new and new[0] == data and side is None else self.parse(path, data, side)

        self._refreshed = self.catalog.refresh(self._scan, self.store.read, read, self.options.progress)
        self.rules.bring(self.catalog)
        statements.attest(self)
        self._identities, self.refreshed_at = self._identities_now(), monotonic()
        return self.catalog

    def _scan(self) -> Iterator[tuple[str, list[tuple[str, int, int, int, int, int]]]]:
        self.skipped.clear()
        return walk(self.store.root, self.skipped)

    @property
    def replaced(self) -> bool:
        """Whether the repository, its settings or what is derived was removed or made anew since the last refresh."""
        return bool(self._identities) and self._identities_now() != self._identities

    def _identities_now(self) -> tuple[tuple[int, ...] | None, ...]:
        root, state_dir = self.store.root, self.store.state_dir
        places = (root, self.store.git_dir, state_dir, state_dir / CATALOG_FILE, root / CONFIG_PATH)
        return tuple(map(_identity, places))

    def notes(self) -> list[str]:
        """What a reader should know about the last refresh, and settings that were asked for; one line each."""
        notes = [self._refreshed.rebuilt] if self._refreshed and self._refreshed.rebuilt else []
        left_out = (self._refreshed.unreadable if self._refreshed else 0) + len(self.skipped)
        if left_out:
            files = "1 file is" if left_out == 1 else f"{left_out} files are"
            notes.append(f"{files} left out as unreadable: `ai-lessons admin validate` names them")
        config_note = self.config_note()
        return [*notes, *([config_note] if config_note else []), *self.rules.notes]

    @cached_property
    def indexing(self) -> Indexing:
        """The search index; opening it costs the import of LanceDB."""
        return library.search_index.Indexing(self, self.embedders)

    @cached_property
    def embedders(self) -> Embedders:
        """The embedding models."""
        return self._shared_embedders() if self._shared_embedders else library.model.Embedders(self.options)

    @property
    def every(self) -> tuple[RepositorySession, ...]:
        """The repositories that are read: itself."""
        return (self,)

    def of(self, _entry_id: str) -> Self:
        """The repository that has an entry: itself."""
        return self

    def nearness(self, _tier: str) -> int:
        """Always 0: there is one repository."""
        return 0

    @cached_property
    def usages(self) -> Usages:
        """What happened to entries."""
        return library.usage.Usages(self)

    @property
    def has_index(self) -> bool:
        """Whether this process has opened the search index already, so that asking it costs little."""
        return "indexing" in self.__dict__

    @property
    def index(self) -> Index:
        """The index itself, as it was at the last refresh."""
        return self.indexing.index

    def write(
        self,
        subject: str,
        changes: Sequence[Change],
        trailers: Sequence[tuple[str, str]] = (),
        *,
        decided: bool = False,
    ) -> Applied:
        """One job: the files are in place when this returns, committed or waiting. `decided`: the policies allowed it.

        Raises Refused: a policy or `statements.guard` forbids it; InvalidEntry: a secret; then nothing was written.
        """
        if not decided:
            self.guard(changes)
        statements.guard(self, changes)
        trailers = [(key, masked(value)) for key, value in (*trailers, *self.refuse_secrets(changes))]
        self.usages.share()
        self.set_autocommit()
        return self.store.apply(Job(masked(subject), changes, trailers, library.gate.actor(self)))

    def refuse_secrets(self, changes: Sequence[Change]) -> list[tuple[str, str]]:
        """Called before anything is written; trailers. Raises InvalidEntry: a file would bring a secret into git."""
        gate, root = library.gate, self.store.root
        texts = ((x.path, gate.on_disk(root, x.path) if x.data is AS_IT_IS else x.data) for x in changes)
        return gate.refuse(self, {path: data if isinstance(data, bytes) else None for path, data in texts})

    def save_first(self) -> None:
        """Commit what waits. Raises Refused: it has to go on waiting, and another job builds on it."""
        waiting = self.store.save().waiting
        if waiting:
            raise Refused(
                f"the last write is in no commit yet, because {waiting}", hint="ai-lessons admin save, then repeat"
            )

    def keep_edits(self, paths: Sequence[str]) -> None:
        """Commit edits of these files that are in no commit yet: the next job replaces them. Not in a user's git."""
        if not self.store.commits(self.config.autocommit):
            return
        edited = [path for path in paths if self.store.exists(path) and self.history.dirty(path)]
        if edited:
            what = edited[0] if len(edited) == 1 else f"{len(edited)} files"
            self.write(f"Save edits: {what}", [Change(path, AS_IT_IS) for path in edited])

    def bring(
        self, planned: Collection[Planned], subject_of_several: str, skipped: Sequence[tuple[str, str]] = ()
    ) -> Imported:
        """Put what is planned in place, in one commit. Raises as `write`."""
        new = [plan for plan in planned if plan.changes]
        imported, left_out = library.reports.Imported, tuple(starmap(library.reports.Skipped, skipped))
        if not new:
            return imported((), len(planned), left_out, None)
        first, alone = new[0].entry, len(new) == 1
        changes = [change for plan in new for change in plan.changes]
        self.options.progress("writing", 0, len(new))
        self.keep_edits([change.path for change in changes if isinstance(change.expect, str)])
        subject = f"Add {first.kind}: {first.title}" if alone else subject_of_several
        applied = self.write(subject, changes, [("Entry", first.id)] if alone else [])
        self.options.progress("writing", len(new), len(new))
        parsed = {
            path: (data, plan.entry)
            for plan in new
            for path, data, _, expect in plan.changes
            if expect is None and path == plan.entry.path and isinstance(data, bytes) and not plan.entry.side_path
        }
        written = self.written([plan.entry.id for plan in new], applied, parsed=parsed)
        return imported(written, len(planned) - len(new), left_out, applied.commit, applied.messages)

    def written(
        self,
        ids: Sequence[str],
        applied: Applied,
        notes: Sequence[str] = (),
        parsed: Mapping[str, tuple[bytes, Entry]] = MappingProxyType({}),
    ) -> tuple[Written, ...]:
        """Reports of entries that were just written; ids that cannot be read back are left out."""
        lights = self.current(parsed).many(ids)
        return self.reports((lights[name] for name in dict.fromkeys(ids) if name in lights), applied, notes)

    @staticmethod
    def reports(lights: Iterable[Light], applied: Applied, notes: Sequence[str] = ()) -> tuple[Written, ...]:
        """Reports of these entries, which may be gone."""
        notes, written = (*notes, *applied.messages), library.reports.Written
        return tuple(written(x.id, x.handle, x.kind, x.title, x.path, applied.commit, notes, x.tier) for x in lights)

    def written_one(self, entry: Entry, applied: Applied, notes: Sequence[str] = ()) -> Written:
        """The report of one entry, whose file may be gone by now. The catalog is left as it is."""
        name = self.catalog.handle_beside(entry.kind, entry.id)
        gone = entry.kind is not Kind.RULE and not self.store.exists(entry.path)
        lost = (f"{entry.path} was written, and is not there any more",) if gone else ()
        self._identities = self._identities or self._identities_now()
        light = Light(entry.id, name, entry.kind, entry.title, entry.project, (), (), entry.path)
        return self.reports([light._replace(tier=self.options.tier)], applied, (*notes, *lost))[0]
