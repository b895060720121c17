"""One opened knowledge repository: its collaborators, each loaded when a job first asks for it, and what jobs share."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cached_property
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from ai_lessons import library
from ai_lessons.errors import AiLessonsError, AmbiguousName, InvalidEntry, NotFound, Refused, StorageFailed
from ai_lessons.index.catalog import Catalog, CatalogRefresh
from ai_lessons.knowledge.entries import Entry, Kind, Light
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.library import statements
from ai_lessons.library.rules_in_force import RulesInForce
from ai_lessons.library.secret_scan import masked
from ai_lessons.repository.store import AS_IT_IS, Applied, Change, Job, Store
from ai_lessons.repository.worktree import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.index.catalog_reading import Location
    from ai_lessons.index.passage_index import Index
    from ai_lessons.knowledge.config import RepositoryConfig
    from ai_lessons.library.indexing import Indexing
    from ai_lessons.library.model import Embedders
    from ai_lessons.library.options import Options
    from ai_lessons.library.reports import Written
    from ai_lessons.library.usage import Usages
    from ai_lessons.repository.commit import Committer
    from ai_lessons.repository.history import History

CATALOG_FILE = "catalog.sqlite"

_LATER = re.compile(rb"^format:(?![ \t]*1[ \t]*(?:#|\r?$))", re.MULTILINE)


def _identity(path: Path) -> tuple[int, ...] | None:
    """What tells a file or folder from another one of the same name, and settings from those before."""
    with suppress(OSError):
        return (found := path.stat()).st_dev, found.st_ino, found.st_mtime_ns * (path.suffix == ".yaml")
    return None


def _settings(data: bytes) -> RepositoryConfig:
    """The settings that a file states; those of an empty one are the defaults."""
    from ai_lessons.knowledge.config import parse_config

    try:
        return parse_config(data.decode("utf-8", "replace"))
    except InvalidEntry as error:
        raise InvalidEntry(error.problems, hint="mend the file; nothing is written until it is valid") from error


def _committer(store: Store) -> Committer:
    from ai_lessons.repository.commit import Committer

    return Committer(store)


class RepositorySession:
    """Store, catalog, index, history and settings of one repository. For one thread at a time."""

    def __init__(self, root: Path, options: Options, embedders: Callable[[], Embedders] | None = None) -> None:
        """Raises as `Store`. `embedders`: shared with others."""
        self.options = options
        self._shared_embedders = embedders
        self.store = Store(root, committing=_committer)
        self._refreshed: CatalogRefresh | None = None
        self.skipped: list[str] = []  # Folders and names that the last walk could not read, with the reason
        self._config: tuple[bytes, RepositoryConfig] | None = None
        self._defaults_hold = ""  # why, where the settings cannot be used
        self._place: tuple[tuple[int, ...] | None, ...] = ()
        self.looked = float("-inf")  # when `current` last looked, on a clock that only goes forward
        self.rules = RulesInForce(self.store, options)
        self.guard: Callable[[Sequence[Change]], None] = lambda _changes: None

    def close(self) -> None:
        """Let go of everything that was opened."""
        for name in ("usages", "indexing", "catalog"):
            if name in self.__dict__:
                self.__dict__[name].close()

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog as it was at the last refresh."""
        return Catalog(self.store.state_dir / CATALOG_FILE, tier=self.options.tier)

    def current(self, parsed: Mapping[str, tuple[bytes, Entry]] = MappingProxyType({})) -> Catalog:
        """The catalog, brought up to date with files and rules in force; `parsed`: bytes and entries of new files."""

        def read(path: str, data: bytes, side: bytes | None) -> Entry:
            known = parsed.get(path)
            return known[1] if known and known[0] == data and side is None else self.parse(path, data, side)

        self._refreshed = self.catalog.refresh(self._scan, self.store.read, read, self.options.progress)
        self.rules.bring(self.catalog)
        statements.attest(self)
        self._place, self.looked = self._where(), monotonic()
        return self.catalog

    @property
    def replaced(self) -> bool:
        """Whether the repository, its settings or what is derived was removed or made anew since the last look."""
        return bool(self._place) and self._where() != self._place

    def _where(self) -> tuple[tuple[int, ...] | None, ...]:
        root, state_dir = self.store.root, self.store.state_dir
        places = (root, self.store.git_dir, state_dir, state_dir / CATALOG_FILE, root / CONFIG_PATH)
        return tuple(map(_identity, places))

    def _scan(self) -> Iterator[tuple[str, list[tuple[str, int, int, int, int, int]]]]:
        self.skipped.clear()
        return walk(self.store.root, self.skipped)

    def notes(self) -> list[str]:
        """What a reader should know about the last refresh, and settings that were asked for; one line each."""
        notes = [self._refreshed.rebuilt] if self._refreshed and self._refreshed.rebuilt else []
        left_out = (self._refreshed.unreadable if self._refreshed else 0) + len(self.skipped)
        if left_out:
            files = "1 file is" if left_out == 1 else f"{left_out} files are"
            notes.append(f"{files} left out as unreadable: `ai-lessons admin validate` names them")
        if self._odd_settings():
            self.reading_config  # noqa: B018 - asked only for its note
        if self._defaults_hold:
            notes.append(self._defaults_hold)
        return [*notes, *self.rules.notes]

    def _odd_settings(self) -> bool:
        """Whether the settings cannot be read or are of a later format, as far as is seen without loading YAML."""
        try:
            return bool(_LATER.search(self.store.read(CONFIG_PATH)))
        except NotFound:
            return False
        except AiLessonsError:
            return True

    @property
    def config(self) -> RepositoryConfig:
        """The settings as they are on disk now. Raises InvalidEntry, UnsupportedRepository (of a newer program)."""
        data = b""
        with suppress(NotFound):
            data = self.store.read(CONFIG_PATH)
        if self._config is None or self._config[0] != data:
            self._config = data, _settings(data)
        return self._config[1]

    @property
    def reading_config(self) -> RepositoryConfig:
        """The settings for a job that only reads: the defaults where the file is broken, because it may be pulled."""
        try:
            found, self._defaults_hold = self.config, ""
        except InvalidEntry:
            why = f"{CONFIG_PATH} is invalid, so the defaults hold: `ai-lessons admin validate` says why"
            found, self._defaults_hold = _settings(b""), why
        except AiLessonsError as error:  # a link, unreadable, of a newer program
            why = f"{CONFIG_PATH} cannot be used, so the defaults hold: {error.message}"
            found, self._defaults_hold = _settings(b""), why
        return found

    @cached_property
    def history(self) -> History:
        """Git's history of the files."""
        from ai_lessons.repository.history import History

        return History(self.store.worktree)

    @cached_property
    def indexing(self) -> Indexing:
        """The search index; opening it costs the import of LanceDB."""
        return library.indexing.Indexing(self)

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
        """How far a tier is from where one stands: nothing is farther than what is alone."""
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

    def resolve(self, ref: str) -> Light:
        """The entry that a handle, id, end of an id, or path (of repository or caller) names. Call `current` first.

        Raises NotFound, AmbiguousName. InvalidEntry: it is the path of a file that gives no entry; says why.
        """
        try:
            return self.catalog.resolve(ref)
        except AmbiguousName:
            raise
        except NotFound:
            inside = self.inside(ref)
            reasons = [problem for problem in self.catalog.unreadable() if problem.path in {ref, inside}]
            if reasons:
                raise InvalidEntry(reasons, hint="mend the file, then repeat the command") from None
            if inside is None or inside == ref:
                raise
            return self.catalog.resolve(inside)

    def inside(self, ref: str) -> str | None:
        """A path of the caller's file system as one relative to the repository; None if it lies elsewhere."""
        if "\0" in ref:
            return None
        given = self.options.cwd / os.path.expanduser(ref)
        for path in (given, given.parent.resolve() / given.name):
            if path != self.store.root and path.is_relative_to(self.store.root):
                return path.relative_to(self.store.root).as_posix()
        return None

    @staticmethod
    def parse(path: str, data: bytes, side: bytes | None = None) -> Entry:
        """What these bytes are; see `read_entry`, which loads YAML."""
        from ai_lessons.knowledge.frontmatter import read_entry

        return read_entry(path, data, side)

    def load(self, entry_id: str) -> tuple[Entry, str]:
        """The entry (a rule: of the approval branch) and the text with its frontmatter; "" for a script without."""
        place = self.catalog.locate(entry_id)
        data, side = self.files_of(place)
        entry = self.parse(place.path, data, side)
        own = side if side is not None else b"" if entry.code else data
        return entry, own.decode("utf-8", "replace")

    def files_of(self, place: Location) -> tuple[bytes, bytes | None]:
        """What the file of an entry and the one beside it hold now; of a rule the text in force. Raises NotFound."""
        if place.approved and place.hash:
            return self.rules.text(place.id, place.path, place.hash), None
        data = b"" if place.hash is None else self.store.read(place.path)
        return data, self.store.read(place.side_path) if place.side_path else None

    def expect(self, ids: Iterable[str]) -> None:
        """Say that these entries will be loaded one after the other."""
        self.rules.expect({x.hash: x.path for x in self.catalog.locations(ids) if x.approved and x.hash})

    def file_of(self, light: Light) -> str:
        """The file whose history is that of the entry: of a script kept elsewhere its description."""
        place = self.catalog.locate(light.id)
        return place.path if place.hash is not None else place.side_path or place.path

    def executable(self, path: str) -> bool:
        """Whether the file at `path` has its owner's execute bit."""
        return os.access(self.store.root / path, os.X_OK)

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
        told = [(key, masked(value)) for key, value in (*trailers, *self.refuse_secrets(changes))]
        self.usages.share()
        self._settle()
        return self.store.apply(Job(masked(subject), changes, told, library.gate.actor(self)))

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

    def commit_events(self, changes: Sequence[Change]) -> str | None:
        """Put event logs in place, as a job of their own; its commit, which may wait."""
        self._settle()
        return self.store.apply(Job("Record events", changes)).commit

    def refuse_other_formats(self) -> None:
        """Called before anything is written. Raises UnsupportedRepository: it is of a newer or an older program."""
        from ai_lessons.knowledge.config import refuse_older

        with suppress(InvalidEntry, Refused, StorageFailed):  # a write that needs the settings meets this again
            refuse_older(self.config)

    def _settle(self) -> None:
        """Let the store commit as the settings say."""
        self.refuse_other_formats()
        self.store.autocommit = self.store.commits(self.config.autocommit)

    def keep_edits(self, paths: Sequence[str]) -> None:
        """Commit edits of these files that are in no commit yet: the next job replaces them. Not in a user's git."""
        if not self.store.commits(self.config.autocommit):
            return
        edited = [path for path in paths if self.store.exists(path) and self.history.dirty(path)]
        if edited:
            what = edited[0] if len(edited) == 1 else f"{len(edited)} files"
            self.write(f"Save edits: {what}", [Change(path, AS_IT_IS) for path in edited])

    def written(
        self,
        ids: Sequence[str],
        applied: Applied,
        notes: Sequence[str] = (),
        parsed: Mapping[str, tuple[bytes, Entry]] = MappingProxyType({}),
    ) -> tuple[Written, ...]:
        """What to tell of entries that were just written; ids that cannot be read back are left out."""
        lights = self.current(parsed).many(ids)
        return self.told((lights[one] for one in dict.fromkeys(ids) if one in lights), applied, notes)

    @staticmethod
    def told(lights: Iterable[Light], applied: Applied, notes: Sequence[str] = ()) -> tuple[Written, ...]:
        """What to tell of these entries, which may be gone."""
        said, written = (*notes, *applied.messages), library.reports.Written
        return tuple(written(x.id, x.handle, x.kind, x.title, x.path, applied.commit, said, x.tier) for x in lights)

    def written_one(self, entry: Entry, applied: Applied, notes: Sequence[str] = ()) -> Written:
        """What to tell of one entry, whose file may be gone by now. The catalog is left as it is."""
        name = self.catalog.handle_beside(entry.kind, entry.id)
        gone = entry.kind is not Kind.RULE and not self.store.exists(entry.path)
        lost = (f"{entry.path} was written, and is not there any more",) if gone else ()
        self._place = self._place or self._where()
        light = Light(entry.id, name, entry.kind, entry.title, entry.project, (), (), entry.path)
        return self.told([light._replace(tier=self.options.tier)], applied, (*notes, *lost))[0]
