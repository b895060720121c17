"""What is open of one knowledge repository: files, catalog, settings, git's history and the rules in force."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, AmbiguousName, InvalidEntry, NotFound, Refused, StorageFailed
from ai_lessons.index.catalog import Catalog
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.library.rules_in_force import RulesInForce
from ai_lessons.repository.store import Job, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ai_lessons.index.catalog_reading import Location
    from ai_lessons.knowledge.config import RepositoryConfig
    from ai_lessons.knowledge.entries import Entry, Light
    from ai_lessons.library.options import Options
    from ai_lessons.repository.commit import Committer
    from ai_lessons.repository.history import History
    from ai_lessons.repository.store import Change

CATALOG_FILE = "catalog.sqlite"

_OTHER_FORMAT = re.compile(rb"^format:(?![ \t]*1[ \t]*(?:#|\r?$))", re.MULTILINE)


def _committer(store: Store) -> Committer:
    from ai_lessons.repository.commit import Committer

    return Committer(store)


def _settings(data: bytes) -> RepositoryConfig:
    """The settings that a file states; those of an empty one are the defaults."""
    from ai_lessons.knowledge.config import parse_config

    try:
        return parse_config(data.decode("utf-8", "replace"))
    except InvalidEntry as error:
        raise InvalidEntry(error.problems, hint="mend the file; nothing is written until it is valid") from error


class OpenRepository:
    """What the parts of a session take: each is opened when it is first asked for. For one thread at a time."""

    def __init__(self, root: Path, options: Options) -> None:
        """Raises as `Store`."""
        self.options = options
        self.store = Store(root, committing=_committer)
        self.rules = RulesInForce(self.store, options)
        self._config: tuple[bytes, RepositoryConfig] | None = None
        self._config_note = ""  # why the defaults hold, where the settings cannot be used

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog as it was at the last refresh."""
        return Catalog(self.store.state_dir / CATALOG_FILE, tier=self.options.tier)

    @cached_property
    def history(self) -> History:
        """Git's history of the files."""
        from ai_lessons.repository.history import History

        return History(self.store.worktree)

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
            config, self._config_note = self.config, ""
        except InvalidEntry:
            config = _settings(b"")
            self._config_note = f"{CONFIG_PATH} is invalid, so the defaults hold: `ai-lessons admin validate` says why"
        except AiLessonsError as error:  # a link, unreadable, of a newer program
            config = _settings(b"")
            self._config_note = f"{CONFIG_PATH} cannot be used, so the defaults hold: {error.message}"
        return config

    def config_note(self) -> str:
        """Why the defaults hold, where the settings cannot be used. Loads YAML only if they look odd."""
        try:
            odd = bool(_OTHER_FORMAT.search(self.store.read(CONFIG_PATH)))
        except NotFound:
            odd = False
        except AiLessonsError:
            odd = True
        if odd:
            self.reading_config  # noqa: B018 - asked only for its note
        return self._config_note

    def resolve(self, ref: str) -> Light:
        """The entry that a handle, id, end of an id, or path (of repository or caller) names, by the last refresh.

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
        typed = self.options.cwd / os.path.expanduser(ref)
        for path in (typed, typed.parent.resolve() / typed.name):
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
        text = side if side is not None else b"" if entry.code else data
        return entry, text.decode("utf-8", "replace")

    def files_of(self, place: Location) -> tuple[bytes, bytes | None]:
        """What the file of an entry and the one beside it hold now; of a rule the text in force. Raises NotFound."""
        if place.approved and place.hash:
            return self.rules.text(place.id, place.path, place.hash), None
        data = b"" if place.hash is None else self.store.read(place.path)
        return data, self.store.read(place.side_path) if place.side_path else None

    def expect(self, ids: Iterable[str]) -> None:
        """Prefetch the texts of these entries."""
        self.rules.expect({x.hash: x.path for x in self.catalog.locations(ids) if x.approved and x.hash})

    def file_of(self, light: Light) -> str:
        """The file whose history is that of the entry: of a script kept elsewhere its description."""
        place = self.catalog.locate(light.id)
        return place.path if place.hash is not None else place.side_path or place.path

    def executable(self, path: str) -> bool:
        """Whether the file at `path` has its owner's execute bit."""
        return os.access(self.store.root / path, os.X_OK)

    def refuse_other_formats(self) -> None:
        """Called before anything is written. Raises UnsupportedRepository: it is of a newer or an older program."""
        from ai_lessons.knowledge.config import refuse_older

        with suppress(InvalidEntry, Refused, StorageFailed):  # a write that needs the settings meets this again
            refuse_older(self.config)

    def set_autocommit(self) -> None:
        """Let the store commit as the settings say. Raises as `refuse_other_formats`."""
        self.refuse_other_formats()
        self.store.autocommit = self.store.commits(self.config.autocommit)

    def commit_events(self, changes: Sequence[Change]) -> str | None:
        """Put event logs in place, as a job of their own; its commit, which may wait."""
        self.set_autocommit()
        return self.store.apply(Job("Record events", changes)).commit
