"""The opened library: the repository that is written to, those that are read with it, and any other by its name."""

from __future__ import annotations

import os
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias, TypeVar

from ai_lessons import library
from ai_lessons.errors import AiLessonsError, NoRepository, NotFound, Refused, StorageFailed
from ai_lessons.knowledge.tiers import ENTERPRISE, PROJECT, USER, TierPlace
from ai_lessons.library.session import RepositorySession
from ai_lessons.repository.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.learning.events import Event
    from ai_lessons.library.model import Embedders
    from ai_lessons.library.multi_repository import MultiRepository
    from ai_lessons.library.options import Options

    Reading: TypeAlias = RepositorySession | MultiRepository

CODE = "code"  # Whose file says to which enterprise it belongs
T = TypeVar("T")


class Library:
    """Opened repositories, each once: `primary` and the user's at once, the others when first asked for. One thread."""

    def __init__(self, root: Path, options: Options) -> None:
        """Open the repository at `root`, whose tier `options.tier` names. Raises as `Store`."""
        self.options = options
        self._opened: dict[Path, RepositorySession] = {}
        self._reading: Reading | None = None
        self._reads = options.places.reads or (TierPlace(options.tier, root),)
        self._notes: dict[str, str] = {}
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

    @property
    def belongs_to(self) -> str:
        """The tier of the enterprise that the code project belongs to, known here or not; empty: to none."""
        return self.options.places.belongs_to

    @property
    def replaced(self) -> bool:
        """Whether a repository was removed, made (anew), set up otherwise or (a link) exchanged since the last look."""
        appeared = (place.root.exists() for place in self._reads if place.root not in self._opened)
        moved = (os.path.realpath(root) != str(repo.store.root) for root, repo in self._opened.items())  # a link
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
        self.options, self._reading = options, None
        for repo in self._opened.values():
            repo.options = repo.options._replace(
                cwd=options.cwd, agent=options.agent, agent_by=options.agent_by, session=options.session
            )

    @property
    def reading(self) -> Reading:
        """What is read from here: the repository itself, or all that apply as one."""
        if self._reading is None:
            repos = [repo for repo in map(self._open_tier, self._reads) if repo is not None]
            if len(repos) == 1 and not self._notes:
                self._reading = repos[0]
            else:
                self._reading = library.multi_repository.MultiRepository(repos, list(self._notes.values()))
        return self._reading

    def open(self, name: str) -> RepositorySession:
        """The repository of any known tier. Raises NotFound: no tier is called so; as `Store`: it cannot be opened."""
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
        raise NotFound("tier", name, suggestions=names, hint=hint if name.startswith(ENTERPRISE) else "")

    def holding(self, ref: str) -> tuple[RepositorySession, Light]:
        """The entry, and which of the repositories read from here (now up to date) has it. Raises as `resolve`."""
        reading = self.reading
        reading.current()
        light = reading.resolve(ref)
        return reading.of(light.id), light

    def writing(self, ref: str) -> tuple[RepositorySession, Light]:
        """As `holding`, to change the entry. Raises Refused: it is an enterprise's, and that tier was not named."""
        repo, light = self.holding(ref)
        tier = repo.options.tier
        if tier.startswith(ENTERPRISE) and repo is not self.primary:
            raise Refused(
                f"{ref} is the enterprise's: its repository is changed only where its tier is named",
                hint=f"repeat the command with --tier {tier}",
            )
        return repo, light

    def record(self, happened: Iterable[Event]) -> list[str]:
        """Write each event down where its entry lies; notes where that could not be."""
        by_repo: dict[RepositorySession, list[Event]] = {}
        for event in happened:
            by_repo.setdefault(self.reading.of(event.entry), []).append(event)
        return [note for repo, events in by_repo.items() for note in repo.usages.record_if_possible(events)]

    def _open_tier(self, place: TierPlace) -> RepositorySession | None:
        """An opened tier; None (mostly noted): it is not here. Raises: the user's or the project's own is damaged."""
        try:
            return self._at(place)
        except NoRepository as error:
            if place.name != USER or place.root.exists():
                self._notes[place.name] = f"without the {place.name} tier: {error.message} ({place.remedy(error.hint)})"
        except AiLessonsError as error:
            if place.name in {USER, PROJECT}:
                raise
            self._notes[place.name] = f"without the {place.name} tier: {error.message}"
        return None

    def _at(self, place: TierPlace) -> RepositorySession:
        if place.root not in self._opened:
            named = self.options.index_dir
            if named is not None and place.name != USER:  # that of another tier lies beside the user's
                named = f"{named.rstrip('/')}-{sha256(str(place.root).encode()).hexdigest()[:12]}"
            options = self.options._replace(tier=place.name, index_dir=named)
            opened = self._opened[place.root] = RepositorySession(place.root, options, lambda: self.embedders)
            users = {place.root for place in self.options.places.known if place.name == USER}
            if self.belongs_to and (place.name == USER or place.root in users):
                opened.guard = lambda changes: library.governing.guard(self, opened, changes)
        return self._opened[place.root]

    @cached_property
    def embedders(self) -> Embedders:
        """The embedding models, of all repositories."""
        return library.model.Embedders(self.options)


READS, WRITES, MISSING, DAMAGED, ELSEWHERE = "reads", "writes", "missing", "damaged", "not here"


class TierState(NamedTuple):
    """One tier (`path` empty: not known here), its `state` (as above), `why`, and the next command (`hint`)."""

    tier: str
    state: str
    path: str
    why: str
    hint: str = ""


def tier_states(root: Path, options: Options) -> tuple[TierState, ...]:
    """Every tier that is known, nearest first; `root` is the repository that would be written to."""
    places = options.places
    reads = {place.root: place for place in places.reads or (TierPlace(options.tier, root),)}
    by_root = reads | {place.root: place for place in places.known} | reads
    states = [_state(place, root, reads, options) for place in by_root.values()]
    if places.belongs_to and places.belongs_to not in {place.name for place in by_root.values()}:
        name = places.belongs_to.partition(":")[2]
        why = "the project belongs to it, and config.toml does not name it"
        hint = f'in {places.file}: [enterprise.{name}] path = "…"'
        states.append(TierState(places.belongs_to, MISSING, "", why, hint))
    return tuple(states)


def _state(place: TierPlace, root: Path, reads: Collection[Path], options: Options) -> TierState:
    path, name, why = str(place.root), place.name, place.why
    if place.root not in reads:
        return TierState(name, ELSEWHERE, path, _why_not(place, options))
    if name == options.places.belongs_to:
        why = "the project's .ai-lessons.toml names it"
    try:
        Store(place.root)
    except NoRepository as error:
        return TierState(name, MISSING, path, why, place.remedy(error.hint))
    except AiLessonsError as error:
        return TierState(name, DAMAGED, path, error.message, error.hint)
    return TierState(name, WRITES if place.root == root else READS, path, why)


def _why_not(place: TierPlace, options: Options) -> str:
    if options.places.named:
        return "another one was named"
    if place.name == PROJECT:
        return f"there is none; to make one: ai-lessons admin init {place.root}"
    return "the project belongs to another one" if options.places.belongs_to else "the project does not belong to it"


class Kept:
    """A library held open for many jobs that read, for one thread at a time.

    Opens its library when a job first needs it, and again where what it holds was replaced or is broken.
    """

    def __init__(self, make: Callable[[], Library]) -> None:
        self._make = make
        self._library: Library | None = None

    def do(self, job: Callable[[Library], T]) -> T:
        """Do a job on it."""
        if self._library is not None and self._library.replaced:
            self.close()
        try:
            self._library = self._library or self._make()
            return job(self._library)
        except BaseException as error:
            # what is kept open may be what is broken: the next call begins afresh
            if not isinstance(error, AiLessonsError) or isinstance(error, StorageFailed):
                self.close()
            raise

    def close(self) -> None:
        """Close the library."""
        kept, self._library = self._library, None
        if kept is not None:
            kept.close()
