"""What is open in one repository: files, catalog, settings, history.

Begin with `OpenRepository`; its rules in force are `rules_in_force`.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cached_property
from time import time_ns
from typing import TYPE_CHECKING

from ai_lessons import app, extensions, git
from ai_lessons.app.rules_in_force import RulesInForce
from ai_lessons.errors import (
    AiLessonsError,
    AmbiguousName,
    InvalidEntry,
    NotFound,
    Refused,
    StorageFailed,
)
from ai_lessons.model import expression
from ai_lessons.model.entries import Kind
from ai_lessons.model.layout import CONFIG_PATH, is_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ai_lessons.app.options import Options
    from ai_lessons.git.commit import Committer
    from ai_lessons.git.history import History
    from ai_lessons.git.store import Store
    from ai_lessons.model.config import RepositoryConfig
    from ai_lessons.model.entries import Entry, EntrySummary
    from ai_lessons.search.catalog import Catalog, Location
    from ai_lessons.search.catalog_survey import Elsewhere

CATALOG_FILE = "catalog.sqlite"

_OTHER_FORMAT = expression(rb"^format:(?![ \t]*1[ \t]*(?:#|\r?$))", re.MULTILINE)


def _committer(store: Store) -> Committer:
    from ai_lessons.git.commit import Committer

    return Committer(store)


def _settings(data: bytes) -> RepositoryConfig:
    """The settings that a file states; those of an empty one are the defaults."""
    from ai_lessons.model.config import parse_config

    try:
        return parse_config(data.decode("utf-8", "replace"))
    except InvalidEntry as error:
        raise InvalidEntry(
            error.problems, hint="mend the file; nothing is written until it is valid"
        ) from error


class LazyElsewhere:
    """The way to texts outside of the repository, which a list that meets none does not load."""

    def __init__(self, place: str, state_dir: Path) -> None:
        """`place`: of the class of a feature."""
        self._place, self._state_dir = place, state_dir

    @cached_property
    def _way(self) -> Elsewhere:
        way: Elsewhere = extensions.load(self._place)(self._state_dir, time_ns)
        return way

    def stamp(self, entry_id: str, path: str) -> str:
        """Differs once the file was changed."""
        return self._way.stamp(entry_id, path)

    def code(self, entry_id: str, path: str) -> bytes:
        """What the file holds now."""
        return self._way.code(entry_id, path)

    def shown(self, entry: Entry) -> Entry:
        """The entry with its code as it may be shown."""
        return self._way.shown(entry)


class OpenRepository:
    """What the parts of a session take: each is opened when it is first asked for.

    For one thread at a time.
    """

    def __init__(self, root: Path, options: Options) -> None:
        """Raises as `Store`."""
        self.options = options
        self.store = git.store.Store(root, committing=_committer, spare=options.state_dir / "kept")
        self.store.dropped = self._forget
        self.rules = RulesInForce(self.store, options)
        self._config: tuple[bytes, RepositoryConfig] | None = None
        # why the defaults hold, where the settings cannot be used
        self._config_note = ""

    def _forget(self, ref: str, dropped: Sequence[str], tip: str) -> None:
        from ai_lessons.approval import state

        state.forget(self.store.state_dir, ref, dropped, tip)

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog as it was at the last refresh."""
        with git.worktree.shared_files(self.store.worktree):
            file, tier = self.store.state_dir / CATALOG_FILE, self.options.tier
            from ai_lessons.search.catalog import Catalog

            return Catalog(file, tier=tier, first=lambda paths: self.history.first(paths))  # noqa: PLW0108  # loads it

    @cached_property
    def history(self) -> History:
        """Git's history of the files."""
        from ai_lessons.git.history import History

        return History(self.store.worktree)

    @property
    def config(self) -> RepositoryConfig:
        """The settings as they are on disk now.

        Raises InvalidEntry, UnsupportedRepository (of a newer program).
        """
        data = b""
        with suppress(NotFound):
            data = self.store.read(CONFIG_PATH)
        if self._config is None or self._config[0] != data:
            self._config = data, _settings(data)
        return self._config[1]

    @property
    def reading_config(self) -> RepositoryConfig:
        """The settings for a job that only reads.

        The defaults where the file is broken, because it may be pulled.
        """
        try:
            config, self._config_note = self.config, ""
        except InvalidEntry:
            config = _settings(b"")
            self._config_note = f"{CONFIG_PATH} is invalid, so the defaults hold: `ai-lessons admin validate` says why"
        except AiLessonsError as error:
            # a link, unreadable, of a newer program
            config = _settings(b"")
            self._config_note = (
                f"{CONFIG_PATH} cannot be used, so the defaults hold: {error.message}"
            )
        return config

    def config_note(self) -> str:
        """Why the defaults hold, where the settings cannot be used.

        Loads YAML only if they look odd.
        """
        try:
            odd = bool(_OTHER_FORMAT.search(self.store.read(CONFIG_PATH)))
        except NotFound:
            odd = False
        except AiLessonsError:
            odd = True
        if odd:
            self.reading_config  # noqa: B018 - asked only for its note
        return self._config_note

    def resolve(self, ref: str) -> EntrySummary:
        """The entry that a handle, id, end of an id, or path (of repository or caller) names, by the last refresh.

        Raises NotFound, AmbiguousName. InvalidEntry: it is the path of a file that gives no entry; says why.
        """
        try:
            return self.catalog.resolve(ref)
        except AmbiguousName:
            raise
        except NotFound:
            inside = self.inside(ref)
            unreadable = self.catalog.unreadable()
            reasons = [problem for problem in unreadable if problem.path in {ref, inside}]
            if reasons:
                raise InvalidEntry(reasons, hint="mend the file, then repeat the command") from None
            if inside is None or inside == ref:
                raise
            return self.catalog.resolve(inside)

    def inside(self, ref: str) -> str | None:
        """A path of the caller's file system as one relative to the repository.

        None if it lies elsewhere.
        """
        if "\0" in ref:
            return None
        typed = self.options.cwd / os.path.expanduser(ref)
        for path in (typed, typed.parent.resolve() / typed.name):
            if path != self.store.root and path.is_relative_to(self.store.root):
                return path.relative_to(self.store.root).as_posix()
        return None

    @staticmethod
    def parse(path: str, data: bytes, side: bytes | None = None) -> Entry:
        """What these bytes are, without what looks like a secret.

        See `read_entry`, which loads YAML.
        """
        from ai_lessons.model.frontmatter import read_entry

        entry = app.secrets.masked_entry(read_entry(path, data, side))
        file = entry.side_path or entry.path
        if not is_markdown(file) or entry.kind is Kind.RULE:
            return entry
        from ai_lessons.model.checks import doubts

        described = data
        if side is not None:
            described = side
        text = described.decode("utf-8", "replace")
        return entry._replace(doubtful=len(doubts(entry, text)))

    def load(self, entry_id: str) -> tuple[Entry, str]:
        """The entry (a rule: of the approval branch) and the text with its frontmatter.

        "" for a script without.
        """
        place = self.catalog.locate(entry_id)
        data, side = self.files_of(place)
        entry = self.parse(place.path, data, side)
        if side is not None:
            text = side
        elif entry.code:
            text = b""
        else:
            text = data
        if place.hash is None:
            from ai_lessons.model.frontmatter import with_code

            entry = app.secrets.masked_entry(with_code(entry, data))
        return entry, text.decode("utf-8", "replace")

    def files_of(self, place: Location) -> tuple[bytes, bytes | None]:
        """What the file of an entry and the one beside it hold now; of a rule the text in force.

        Raises NotFound.

        Of a script that is kept elsewhere the code comes from there, as far as that file may be
        read.
        """
        if place.approved and place.hash:
            return self.rules.text(place.id, place.path, place.hash), None
        if place.hash is None:
            data = self._code_elsewhere(place)
        else:
            data = self.store.read(place.path)
        side = None
        if place.side_path:
            side = self.store.read(place.side_path)
        return data, side

    def _code_elsewhere(self, place: Location) -> bytes:
        elsewhere = self.elsewhere()
        if elsewhere is None:
            return b""
        path = str(self.catalog.fields(place.id).get("path") or "")
        return elsewhere.code(place.id, path)

    def elsewhere(self) -> Elsewhere | None:
        """A look at texts that lie outside of the repository; None where no feature leads there."""
        for feature in extensions.rows():
            if feature.elsewhere:
                return LazyElsewhere(feature.place(feature.elsewhere), self.store.state_dir)
        return None

    def expect(self, ids: Iterable[str]) -> None:
        """Prefetch the texts of these entries."""
        blobs: dict[str, str] = {}
        for place in self.catalog.locations(ids):
            # of other entries the text is a file
            if place.approved and place.hash:
                blobs[place.hash] = place.path
        self.rules.expect(blobs)

    def file_of(self, summary: EntrySummary) -> str:
        """The file whose history is that of the entry.

        Of a script kept elsewhere its description.
        """
        place = self.catalog.locate(summary.id)
        if place.hash is not None:
            return place.path
        return place.side_path or place.path

    def executable(self, path: str) -> bool:
        """Whether the file at `path` has its owner's execute bit."""
        return os.access(self.store.root / path, os.X_OK)

    def refuse_other_formats(self) -> None:
        """Called before anything is written.

        Raises UnsupportedRepository: it is of a newer or an older program.
        """
        from ai_lessons.model.config import refuse_older

        with suppress(InvalidEntry, Refused, StorageFailed):
            # a write that needs the settings meets this again
            refuse_older(self.config)

    def set_autocommit(self) -> None:
        """Let the store commit as the settings say. Raises as `refuse_other_formats`."""
        self.refuse_other_formats()
        self.store.autocommit = self.store.commits(self.config.autocommit)
