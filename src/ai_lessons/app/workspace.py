"""The open workspace.

The repository that is written to, those read with it, and any other by its name.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from hashlib import sha256
from itertools import starmap
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

from ai_lessons import app, extensions
from ai_lessons.app import authorship
from ai_lessons.app.open_repository import CATALOG_FILE, OpenRepository
from ai_lessons.errors import AiLessonsError, AmbiguousName, NoRepository, NotFound, Refused
from ai_lessons.git.journal import Journal
from ai_lessons.git.store import AS_IT_IS, Change, Job
from ai_lessons.git.worktree import locate, shared_files, walk
from ai_lessons.model import ENTERPRISE, PROJECT, USER, TierPlace
from ai_lessons.model.entries import Kind, Status
from ai_lessons.model.events import RESTORED, WRONG, Event
from ai_lessons.model.layout import CONFIG_PATH
from ai_lessons.search.catalog_reader import CatalogReader

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.events import Events
    from ai_lessons.app.learned import Learned
    from ai_lessons.app.options import Options
    from ai_lessons.app.search_index import Embedders, Indexing
    from ai_lessons.app.write_checks import Planned
    from ai_lessons.app.written import Imported, Written
    from ai_lessons.git.store import Applied
    from ai_lessons.model.config import RepositoryConfig
    from ai_lessons.model.entries import Entry, EntrySummary
    from ai_lessons.search.catalog import Catalog, CatalogRefresh
    from ai_lessons.search.index import Index

    Reading: TypeAlias = "RepositorySession | MultiRepository"

T = TypeVar("T")


def _identity(path: Path) -> tuple[int, ...] | None:
    """Differs for another file or folder of the same name, and for settings that were changed."""
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino, status.st_mtime_ns if path.suffix == ".yaml" else 0
    return None


class RepositorySession(OpenRepository):
    """An opened repository for jobs. For one thread at a time."""

    def __init__(
        self, root: Path, options: Options, embedders: Callable[[], Embedders] | None = None
    ) -> None:
        """Raises as `Store`. `embedders`: shared with other repositories."""
        super().__init__(root, options)
        self._shared_embedders = embedders
        self._refreshed: CatalogRefresh | None = None
        # Folders and names that the last walk could not read, with the reason
        self.skipped: list[str] = []
        self._identities: tuple[tuple[int, ...] | None, ...] = ()
        # on a clock that only goes forward
        self.refreshed_at = float("-inf")
        self.guard: Callable[[Sequence[Change]], None] = lambda _changes: None
        # the tiers whose ids are not given to others
        self.yields_to: Callable[[], Sequence[RepositorySession]] = tuple

    def close(self) -> None:
        """Close everything that was opened."""
        for name in ("learned", "indexing", "catalog"):
            if name in self.__dict__:
                self.__dict__[name].close()

    def approval_ref(self) -> str:
        """The approval branch as a full ref. Raises NotFound, UnsupportedRepository."""
        ref = self.rules.ref()
        if ref is None:
            raise NotFound(
                "approval branch in",
                str(self.store.root),
                hint="commit something on a branch called main",
            )
        return ref

    def current(self, parsed: Mapping[str, tuple[bytes, Entry]] = MappingProxyType({})) -> Catalog:
        """The catalog, brought up to date with files and rules in force.

        `parsed`: bytes and entries of new files.
        """

        def read(path: str, data: bytes, side: bytes | None) -> Entry:
            new = parsed.get(path)
            if new and new[0] == data and side is None:
                return new[1]
            return self.parse(path, data, side)

        with shared_files(self.store.worktree):
            is_over = None
            if self.options.until:
                is_over = self.options.is_over
            self._refreshed = self.catalog.refresh(
                self._scan,
                self.store.read,
                read,
                self.options.progress,
                elsewhere=self.elsewhere(),
                is_over=is_over,
            )
            self.rules.bring(self.catalog)
            self.catalog.yield_ids([repo.catalog for repo in self.yields_to()])
            authorship.attest(self)
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
        """What a reader should know about the last refresh, and settings that were asked for.

        One line each.
        """
        if self._refreshed and self._refreshed.rebuilt:
            notes = [self._refreshed.rebuilt]
        else:
            notes = []
        left_out = (self._refreshed.unreadable if self._refreshed else 0) + len(self.skipped)
        if left_out:
            if left_out == 1:
                files = "1 file is"
            else:
                files = f"{left_out} files are"
            notes.append(f"{files} left out as unreadable: `ai-lessons admin validate` names them")
        if as_text := self._refreshed.as_text if self._refreshed else 0:
            if as_text == 1:
                pages = "1 page is"
            else:
                pages = f"{as_text} pages are"
            notes.append(
                f"{pages} read as text, without a valid frontmatter: `ai-lessons admin "
                "validate` says why"
            )
        if self._refreshed and self._refreshed.left:
            notes.append(
                f"{self._refreshed.left} files that are new here are not read yet: the "
                "next look goes on"
            )
        config_note = self.config_note()
        return [*notes, *([config_note] if config_note else []), *self.rules.notes]

    @cached_property
    def indexing(self) -> Indexing:
        """The search index; opening it costs the import of LanceDB."""
        return app.search_index.Indexing(self, self.embedders)

    @cached_property
    def embedders(self) -> Embedders:
        """The embedding models."""
        if self._shared_embedders:
            return self._shared_embedders()
        return app.search_index.Embedders(self.options)

    @property
    def every(self) -> tuple[RepositorySession, ...]:
        """The repositories that are read: itself."""
        return (self,)

    def of(self, _entry_id: str) -> Self:
        """The repository that has an entry: itself."""
        return self

    def tier_distance(self, _tier: str) -> int:
        """Always 0: there is one repository."""
        return 0

    @cached_property
    def events(self) -> Events:
        """What happened to entries."""
        return app.events.Events(self)

    @cached_property
    def learned(self) -> Learned:
        """What that teaches of them, where a feature learns."""
        return app.learned.learned_of(self)

    def note_status(self, summary: EntrySummary, status: str | None) -> None:
        """Write down that an entry, which stood as `summary` says, was marked wrong or is active again."""
        wrong, before = Status.WRONG.value, summary.status
        word = ""
        if status == wrong != before:
            word = WRONG
        if status == Status.ACTIVE.value and (before == wrong or self.learned.silent([summary])):
            word = RESTORED
        if word:
            self.events.record_if_possible([Event("", "", word, summary.id)])

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
        """One job: the files are in place when this returns, committed or waiting.

        `decided`: the policies allowed it.

        Raises Refused: a policy or `authorship.guard` forbids it; InvalidEntry: a secret; then
        nothing was written.
        """
        if not decided:
            self.guard(changes)
        authorship.guard(self, changes)
        trailers = [
            (key, app.secrets.masked(value))
            for key, value in (*trailers, *self.refuse_secrets(changes))
        ]
        actor = app.write_checks.actor(self)
        if all(change.data is AS_IT_IS for change in changes):
            # an edit that lay on the disk is of the user here, for whomever we work
            actor = actor._replace(author=None)
        self.events.share()
        self.set_autocommit()
        return self.store.apply(Job(app.secrets.masked(subject), changes, trailers, actor))

    def refuse_secrets(self, changes: Sequence[Change]) -> list[tuple[str, str]]:
        """Called before anything is written; trailers.

        Raises InvalidEntry: a file would bring a secret into git.
        """
        gate, root = app.write_checks, self.store.root
        texts = (
            (x.path, gate.on_disk(root, x.path) if x.data is AS_IT_IS else x.data) for x in changes
        )
        return gate.refuse(
            self, {path: data if isinstance(data, bytes) else None for path, data in texts}
        )

    def save_first(self) -> None:
        """Commit what waits.

        Raises Refused: it has to go on waiting, and another job builds on it.
        """
        waiting = self.store.save().waiting
        if waiting:
            hint = "ai-lessons admin save, then repeat"
            raise Refused(f"the last write is in no commit yet, because {waiting}", hint=hint)

    def keep_edits(self, paths: Sequence[str]) -> None:
        """Commit edits of these files that are in no commit yet: the next job replaces them.

        Not in a user's git.
        """
        if not self.store.commits(self.config.autocommit):
            return
        edited = []
        for path in paths:
            if self.store.exists(path) and self.history.dirty(path):
                edited.append(path)
        if edited:
            if len(edited) == 1:
                what = edited[0]
            else:
                what = f"{len(edited)} files"
            self.write(f"Save edits: {what}", [Change(path, AS_IT_IS) for path in edited])

    def bring(
        self,
        planned: Collection[Planned],
        subject_of_several: str,
        skipped: Sequence[tuple[str, str]] = (),
    ) -> Imported:
        """Put what is planned in place, in one commit. Raises as `write`."""
        new = []
        for plan in planned:
            if plan.changes:
                new.append(plan)
        imported, left_out = app.written.Imported, tuple(starmap(app.written.Skipped, skipped))
        if not new:
            return imported((), len(planned), left_out, None)
        first, alone = new[0].entry, len(new) == 1
        changes = [change for plan in new for change in plan.changes]
        self.options.progress("writing", 0, len(new))
        self.keep_edits([change.path for change in changes if isinstance(change.expect, str)])
        if alone:
            subject = f"Add {first.kind}: {first.title}"
        else:
            subject = subject_of_several
        applied = self.write(subject, changes, [("Entry", first.id)] if alone else [])
        self.options.progress("writing", len(new), len(new))
        parsed = {
            path: (data, plan.entry)
            for plan in new
            for path, data, _, expect in plan.changes
            if expect is None
            and path == plan.entry.path
            and isinstance(data, bytes)
            and not plan.entry.side_path
        }
        written = self.written([plan.entry.id for plan in new], applied, parsed=parsed)
        return imported(
            written, len(planned) - len(new), left_out, applied.commit, applied.messages
        )

    def written(
        self,
        ids: Sequence[str],
        applied: Applied,
        parsed: Mapping[str, tuple[bytes, Entry]] = MappingProxyType({}),
    ) -> tuple[Written, ...]:
        """Reports of entries that were just written; ids that cannot be read back are left out."""
        summaries = self.current(parsed).many(ids)
        return self.reports(
            (summaries[name] for name in dict.fromkeys(ids) if name in summaries), applied
        )

    @staticmethod
    def reports(summaries: Iterable[EntrySummary], applied: Applied) -> tuple[Written, ...]:
        """Reports of these entries, which may be gone."""
        commit, notes, written = applied.commit, applied.messages, app.written.Written
        reports = []
        for x in summaries:
            reports.append(written(x.id, x.handle, x.kind, x.title, x.path, commit, notes, x.tier))
        return tuple(reports)

    def written_one(self, entry: Entry, applied: Applied, notes: Sequence[str] = ()) -> Written:
        """The report of one entry, whose file may be gone by now. The catalog is left as it is."""
        name = self.catalog.handle_beside(entry.kind, entry.id)
        gone = entry.kind is not Kind.RULE and not self.store.exists(entry.path)
        lost = (f"{entry.path} was written, and is not there any more",) if gone else ()
        self._identities = self._identities or self._identities_now()
        names = entry.id, name, entry.kind, entry.title, entry.path
        return app.written.Written(
            *names, applied.commit, (*notes, *lost, *applied.messages), self.options.tier
        )


class MultiRepository:
    """Opened repositories, `every` of them. `notes` are about tiers that could not be opened."""

    def __init__(self, repos: Sequence[RepositorySession], notes: Sequence[str] = ()) -> None:
        self.every, self._notes = tuple(repos), tuple(notes)
        self.catalog = CatalogReader([repo.catalog for repo in repos])
        self._place = {repo.options.tier: place for place, repo in enumerate(repos)}

    @property
    def options(self) -> Options:
        """Those of the nearest."""
        return self.every[0].options

    def current(self) -> CatalogReader:
        """The catalogs, brought up to date with the files on disk and the rules in force."""
        for repo in _by_right(self.every, lambda repo: repo.options.tier):
            repo.current()
        return self.catalog

    def notes(self) -> list[str]:
        """What a reader should know.

        What is not of the nearest repository says which one it is of.
        """
        notes = []
        for repo in self.every[1:]:
            for note in repo.notes():
                notes.append(f"{repo.options.tier}: {note}")
        return [*self._notes, *self.every[0].notes(), *notes]

    @property
    def reading_config(self) -> RepositoryConfig:
        """The settings of the nearest, with the tag aliases of all."""
        from dataclasses import replace

        aliases: dict[str, str] = {}
        for repo in reversed(self.every):
            aliases |= repo.reading_config.tag_aliases
        return replace(self.every[0].reading_config, tag_aliases=aliases)

    def resolve(self, ref: str) -> EntrySummary:
        """As `RepositorySession.resolve`, in whichever repository.

        AmbiguousName also where two of them know it.
        """
        matches: dict[str, EntrySummary] = {}
        missing: list[NotFound] = []
        for repo in self.every:
            try:
                summary = repo.resolve(ref)
                matches.setdefault(summary.id, summary)
            except AmbiguousName:
                raise
            except NotFound as error:
                missing.append(error)
        if len(matches) > 1:
            raise AmbiguousName(
                ref,
                [f"{summary.id} ({summary.tier}: {summary.title})" for summary in matches.values()],
            )
        if not matches:
            raise next((error for error in missing if error.hint), missing[0])
        return next(iter(matches.values()))

    def of(self, entry_id: str) -> RepositorySession:
        """The repository that has the entry with this full id.

        Of several the nearest, of none the first.
        """
        return next((repo for repo in self.every if repo.catalog.many([entry_id])), self.every[0])

    def tier_distance(self, tier: str) -> int:
        """How far a tier is from the working directory: 0 is the nearest."""
        return self._place.get(tier, len(self._place))


def _by_right(tiers: Sequence[T], name: Callable[[T], str]) -> list[T]:
    """In the order in which an id is theirs that several state.

    The user's first, then the farthest.
    """
    results: list[T] = []
    for user in (True, False):
        for tier in tiers[::-1]:
            if (name(tier) == USER) is user:
                results.append(tier)
    return results


# Whose file says to which enterprise it belongs
CODE = "code"


class Library:
    """Opened repositories, each once.

    `primary` and the user's at once, the others when first asked for. One thread.
    """

    def __init__(self, root: Path, options: Options) -> None:
        """Open the repository at `root`, whose tier `options.tier` names. Raises as `Store`."""
        self.options, self._root = options, root
        self._opened: dict[Path, RepositorySession] = {}
        self._reading: Reading | None = None
        self._reads = options.places.reads or (TierPlace(options.tier, root),)
        self._notes: dict[str, str] = {}
        # for the next job of this caller
        self._is_current = False
        # until one did not come
        self.waits_for_helper = True
        names = {place.name for place in (*self._reads, *options.places.known)}
        if self.belongs_to and not options.places.named and self.belongs_to not in names:
            self._notes[self.belongs_to] = (
                f"without the {self.belongs_to} tier: the project belongs to it, and config.toml does not name it"
                " (ai-lessons admin tiers)"
            )
        if options.places.note:
            self._notes[CODE] = options.places.note
        self.primary = self._at(TierPlace(options.tier, root))
        for place in self._reads:
            if place.name == USER and place.root != root:
                self._open_tier(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close everything that was opened."""
        for repo in self._opened.values():
            repo.close()

    @contextmanager
    def alone(self) -> Iterator[Library]:
        """The primary repository read alone.

        All that it has, by the ids and handles that it has for everybody.
        """
        place = TierPlace(self.options.tier, self._root)
        if self._reads == (place,):
            yield self
            return
        places = self.options.places._replace(reads=(place,), named=True)
        with Library(self._root, self.options._replace(places=places)) as lone:
            yield lone

    @property
    def belongs_to(self) -> str:
        """The tier of the enterprise that the code project belongs to, known here or not.

        Empty: to none.
        """
        return self.options.places.belongs_to

    @property
    def replaced(self) -> bool:
        """Whether a repository was removed, made (anew), set up otherwise or (a link) exchanged since the last look."""
        appeared = (place.root.exists() for place in self._reads if place.root not in self._opened)
        # a link
        moved = (
            os.path.realpath(root) != str(repo.store.root) for root, repo in self._opened.items()
        )
        return any(appeared) or any(moved) or any(repo.replaced for repo in self._opened.values())

    @property
    def has_index(self) -> bool:
        """Whether one of the search indexes was opened."""
        return any(repo.has_index for repo in self._opened.values())

    @property
    def missing(self) -> int:
        """How many passages had no vector at the last search."""
        return sum(repo.indexing.missing for repo in self._opened.values() if repo.has_index)

    def asked_by(self, options: Options) -> None:
        """Answer another caller from now on, with its own folder, name and session."""
        self.options, self._is_current = options, False
        for repo in self._opened.values():
            repo.options = repo.options._replace(
                cwd=options.cwd,
                agent=options.agent,
                agent_by=options.agent_by,
                session=options.session,
            )

    def up_to_date(self, *, for_two_jobs: bool = False) -> Reading:
        """What is read from here, brought up to date; `for_two_jobs`: the next job does without.

        At 10,000 entries a look at all folders takes a third of a hook's time, and a hook may ask
        for two jobs.
        """
        if for_two_jobs or not self._is_current:
            self.reading.current()
        self._is_current = for_two_jobs
        return self.reading

    @property
    def reading(self) -> Reading:
        """What is read from here: the repository itself, or all that apply as one."""
        if self._reading is None:
            repos = []
            for repo in map(self._open_tier, self._reads):
                if repo is not None:
                    repos.append(repo)
            if len(repos) == 1 and not self._notes:
                self._reading = repos[0]
            else:
                self._reading = MultiRepository(repos, list(self._notes.values()))
        return self._reading

    def open(self, name: str) -> RepositorySession:
        """The repository of any known tier.

        Raises NotFound: no tier is called so; as `Store`: it cannot be opened.
        """
        places = (*self._reads, *self.options.places.known)
        for place in places:
            if place.name == name:
                try:
                    return self._at(place)
                except NoRepository as error:
                    error.hint = place.remedy(error.hint)
                    raise
        hint = f'name it in config.toml below [enterprise]: {name.partition(":")[2]} = "PATH"'
        names = sorted({place.name for place in places})
        raise NotFound(
            "tier", name, suggestions=names, hint=hint if name.startswith(ENTERPRISE) else ""
        )

    def holding(self, ref: str) -> tuple[RepositorySession, EntrySummary]:
        """The entry, and which of the repositories read from here (now up to date) has it.

        Raises as `resolve`.
        """
        reading = self.reading
        reading.current()
        summary = reading.resolve(ref)
        return reading.of(summary.id), summary

    def writing(self, ref: str) -> tuple[RepositorySession, EntrySummary]:
        """As `holding`, to change the entry.

        Raises Refused: it is an enterprise's, and that tier was not named.
        """
        repo, summary = self.holding(ref)
        tier = repo.options.tier
        if tier.startswith(ENTERPRISE) and repo is not self.primary:
            raise Refused(
                (
                    f"{ref} is the enterprise's: its repository is changed only where its "
                    "tier is named"
                ),
                hint=f"repeat the command with --tier {tier}",
            )
        return repo, summary

    def record(self, happened: Iterable[Event]) -> list[str]:
        """Write each event down where its entry lies; notes where that could not be."""
        by_repo: dict[RepositorySession, list[Event]] = {}
        for event in happened:
            by_repo.setdefault(self.reading.of(event.entry), []).append(event)
        results: list[str] = []
        for repo, events in by_repo.items():
            for note in repo.events.record_if_possible(events):
                results.append(note)
        return results

    def _open_tier(self, place: TierPlace) -> RepositorySession | None:
        """An opened tier; None (mostly noted): it is not here.

        Raises: the user's or the project's own is damaged.
        """
        try:
            return self._at(place)
        except NoRepository as error:
            if place.name != USER or place.root.exists():
                self._notes[place.name] = (
                    f"without the {place.name} tier: {error.message} ({place.remedy(error.hint)})"
                )
        except AiLessonsError as error:
            if place.name in {USER, PROJECT}:
                raise
            self._notes[place.name] = f"without the {place.name} tier: {error.message}"
        return None

    def emptied_project(self) -> RepositorySession | None:
        """The project tier whose folder was removed whole (`git clean -dx`), made again if git keeps texts of it."""
        places = self.options.places
        place = next((place for place in places.known if place.name == PROJECT), None)
        if place is None or places.named or place.root.exists():
            return None
        with suppress(NoRepository):
            around = locate(place.root.parent.parent)
            prefix = place.root.resolve().relative_to(around.top).as_posix() + "/"
            if Journal(around._replace(prefix=prefix).common_state_dir).kept():
                place.root.mkdir(parents=True)
                return self._at(place)
        return None

    def _at(self, place: TierPlace) -> RepositorySession:
        if place.root not in self._opened:
            named = self.options.index_dir
            if named is not None and place.name != USER:
                # that of another tier lies beside the user's
                named = f"{named.rstrip('/')}-{sha256(str(place.root).encode()).hexdigest()[:12]}"
            options = self.options._replace(tier=place.name, index_dir=named)
            opened = self._opened[place.root] = RepositorySession(
                place.root, options, lambda: self.embedders
            )
            opened.yields_to = lambda: self._before(place)
            opened.guard = partial(self._ask_before_write, opened)
        return self._opened[place.root]

    def _ask_before_write(self, repo: RepositorySession, changes: Sequence[Change]) -> None:
        """Raises Refused: a feature forbids the write."""
        for _, guard in extensions.added("guard"):
            guard(self, repo, changes)

    def _before(self, place: TierPlace) -> list[RepositorySession]:
        """The tiers read here to which the ids belong that this one states as well."""
        ordered = _by_right(self._reads, lambda read: read.name)
        roots = [read.root for read in ordered]
        before = ordered[: roots.index(place.root)] if place.root in roots else ()
        return [repo for read in before if (repo := self._open_tier(read)) is not None]

    @cached_property
    def embedders(self) -> Embedders:
        """The embedding models, of all repositories."""
        return app.search_index.Embedders(self.options)
