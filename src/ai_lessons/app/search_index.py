"""The search index of an open repository, and the embedding model on this machine."""

from __future__ import annotations

from contextlib import nullcontext
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import Lock
from time import sleep
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.index_places import GitPacks, cache_folder
from ai_lessons.app.trust import Trust
from ai_lessons.errors import AiLessonsError, NotFound, StorageFailed
from ai_lessons.git.files import can_hold_index
from ai_lessons.git.worktree import shared_files
from ai_lessons.model.config import DEFAULT_MODEL
from ai_lessons.model.entries import Filter, Status
from ai_lessons.search import model_files
from ai_lessons.search.connections import IN_MEMORY
from ai_lessons.search.index import Index
from ai_lessons.search.index_query import IndexDamaged
from ai_lessons.search.missing_vectors import VectorCache
from ai_lessons.search.model_files import PINNED
from ai_lessons.search.rows import Candidates, EntryRows, IndexRefresh

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from ai_lessons.app.open_repository import OpenRepository
    from ai_lessons.app.options import Options
    from ai_lessons.search.embedding import Embedder, Vector
    from ai_lessons.search.model_files import ModelFolder


class ModelState(NamedTuple):
    """Where the embedding model is, if anywhere."""

    name: str
    present: bool
    path: str | None
    source: str | None


def model_status(repo: OpenRepository) -> ModelState:
    """Whether the embedding model is on this machine, and from where. Asks no network."""
    name, options = repo.reading_config.model, repo.options
    if name != DEFAULT_MODEL:
        return ModelState(name, present=True, path=None, source="fastembed, by name")
    return _state(name, model_files.find(options.cache_dir, options.model_dir))


def model_pull(repo: OpenRepository) -> ModelState:
    """Get the embedding model now, whatever failed before. Raises Unreachable: no source has it."""
    options, status = repo.options, model_status(repo)
    if status.present:
        return status
    folder = model_files.pull(
        options.cache_dir,
        options.model_dir,
        offline=options.offline,
        again=True,
        progress=options.progress,
    )
    return _state(status.name, folder)


def _state(name: str, folder: ModelFolder | None) -> ModelState:
    return ModelState(
        name,
        folder is not None,
        str(folder.path) if folder else None,
        folder.source if folder else None,
    )


class Embedders:
    """Embedders by name, each loaded once; `threads` of each (None: all cores).

    `before` every passage.

    A model is loaded within `weighed`, and tried with a text of the greatest length.
    """

    def __init__(
        self,
        options: Options,
        *,
        threads: int | None = None,
        before: Callable[[], None] | None = None,
        weighed: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        self._options, self._threads, self._before, self._weighed = (
            options,
            threads,
            before,
            weighed,
        )
        self._loaded: dict[str, Embedder] = {}
        self._lock = Lock()

    def embedder(self, name: str) -> Embedder:
        """The model called so.

        Raises ModelUnavailable: it is not on this machine and cannot be fetched.
        """
        with self._lock:
            # a thread that answers and one that computes need the same one
            if name not in self._loaded:
                self._loaded[name] = _Remembering(self._tried(name), self._before)
            return self._loaded[name]

    def _tried(self, name: str) -> Embedder:
        if self._weighed is None:
            return self._load(name)
        with self._weighed():
            model = self._load(name)
            # Words, of which a model reads 512
            next(iter(model.embed(["word " * 600])))
        return model

    def _load(self, name: str) -> Embedder:
        options, folder = self._options, None
        if name == PINNED.name:
            folder = model_files.pull(
                options.cache_dir,
                options.model_dir,
                offline=options.offline,
                progress=options.progress,
            )
        from ai_lessons.search.embedding import load_named, load_pinned

        if folder:
            return load_pinned(folder.path, threads=self._threads)
        return load_named(name, options.cache_dir, threads=self._threads, offline=options.offline)


class _Remembering:
    """An embedder that keeps the vector of the last question: each repository asks for it."""

    def __init__(self, model: Embedder, before: Callable[[], None] | None) -> None:
        self.name, self.dimensions, self._model, self._before = (
            model.name,
            model.dimensions,
            model,
            before,
        )
        self.embed_query = lru_cache(maxsize=1)(model.embed_query)
        self.reads = lru_cache(maxsize=1)(model.reads)

    def embed(self, texts: Sequence[str]) -> Iterator[Vector]:
        """Vectors of passages, in the order of the texts."""
        if self._before is None:
            yield from self._model.embed(texts)
            return
        for text in texts:
            self._before()
            yield from self._model.embed([text])


# What kind of thing is agreed to, in the list of what this user trusts
_PLACE = "search.index"


def agreed(repo: OpenRepository, place: str) -> bool:
    """Whether this user said on this machine that the index may live there."""
    return Trust(repo.options.state_dir).knows(place.encode(), _PLACE)


def agree(repo: OpenRepository, place: str) -> None:
    """From now on the index may live there."""
    Trust(repo.options.state_dir).add(place, place.encode(), _PLACE)


class Indexing:
    """Index and embedding cache, opened together.

    Vectors are shared by all repositories of this user.
    """

    def __init__(self, repo: OpenRepository, embedders: Embedders) -> None:
        self._repo = repo
        self._notes: list[str] = []
        # Passages without a vector at the last refresh
        self.missing = 0
        options, config = repo.options, repo.reading_config
        model, dimensions = self._chosen(config.model)
        self.vectors = VectorCache(options.cache_dir / "vectors.sqlite")
        place, state = (
            options.index_dir or self._agreed(config.index_uri) or "",
            repo.store.state_dir,
        )
        self._shared = "://" in place
        self._make = partial(
            Index,
            vectors=self.vectors,
            model=model,
            dimensions=dimensions,
            embedder=embedders.embedder,
            at_hand=self._at_hand,
            order=repo.catalog.newest_first,
            packs=GitPacks(repo.store.worktree, model),
        )
        self._here, self.elsewhere = Path(place or state / "index"), ""
        self._memory_notes: TemporaryDirectory[str] | None = None
        self._cache = cache_folder(options, state)
        self.index = self._make(
            place or self._here,
            state / sha256(place.encode()).hexdigest()[:12] if self._shared else state,
        )
        if not place and self._cache.exists():
            self._moved()

    def _at_hand(self, model: str) -> bool:
        """Whether no download comes first.

        Where no helper could do it in the background, a search does it.
        """
        options = self._repo.options
        if options.warm is None or model != PINNED.name:
            return True
        return not model_files.asks_network(
            options.cache_dir, options.model_dir, offline=options.offline
        )

    def _moved(self) -> bool:
        """Use the cache folder where the own place cannot hold an index, or memory.

        False where it can, or did so.
        """
        if self.elsewhere or self._shared or can_hold_index(self._here):
            return False
        if self._here.parent == self._repo.store.state_dir:
            # else each process leaves the beginning of a table
            rmtree(self._here, ignore_errors=True)
        self.elsewhere = (
            f"{self._here} cannot hold an index (no hard links or locks, or read-only), so it is"
        )
        if can_hold_index(self._cache):
            self.index = self._make(self._cache / "tables", self._cache)
            self.elsewhere += f" in {self._cache}"
        else:
            self._memory_notes = TemporaryDirectory(prefix="ai-lessons-index-")
            self.index = self._make(IN_MEMORY, Path(self._memory_notes.name))
            self.elsewhere += (
                " made anew in memory; to keep it on a local disk: AI_LESSONS_INDEX_DIR,"
                " or index_dir in config.toml"
            )
            self._notes.append(self.elsewhere)
        return True

    def find_place(self) -> str:
        """Where the index is, if its own place cannot hold it. Tries the disk."""
        self._moved()
        return self.elsewhere

    @property
    def is_away(self) -> bool:
        """Whether it lies on the network, so that a question takes what an agent host does not wait."""
        return self._shared

    def close(self) -> None:
        """Close its files."""
        self.vectors.close()
        if self._memory_notes:
            self._memory_notes.cleanup()

    def _agreed(self, named: str | None) -> str | None:
        """The place that the configuration names, if this user agreed to it.

        Its owner can read all texts.
        """
        if named is None or agreed(self._repo, named):
            return named
        self._notes.append(
            f"the settings name an index at {named}, which was not agreed to on this machine, so the one here is used;"
            f" to agree: ai-lessons admin config set search.index {named}"
        )
        return None

    def _chosen(self, named: str) -> tuple[str, int]:
        """The model that the configuration names, and the length of its vectors.

        A pulled name stops no search.
        """
        if named == DEFAULT_MODEL:
            return PINNED.name, PINNED.dimensions
        try:
            from ai_lessons.search.embedding import dimensions_of

            return named, dimensions_of(named)
        except NotFound as error:
            self._notes.append(
                f"{error.message}: {DEFAULT_MODEL} is used instead (search.model in the "
                "configuration)"
            )
            return PINNED.name, PINNED.dimensions

    # Embedding time that one search may spend on what is missing; the rest waits for the helper, or
    # the next one
    def refresh(
        self,
        *,
        seconds: float | None = 1.0,
        full: bool = False,
        again: Collection[str] = (),
        shared: bool = False,
    ) -> IndexRefresh:
        """Bring the index up to date with the catalog (refresh that first).

        Raises Conflict: another machine writes.

        `seconds` of embedding at most (None: until complete, 0: text only); `full` builds it anew;
        `again` names entries to write anew. An index that machines share is only written if
        `shared`.
        """
        job = partial(self._refresh, seconds=seconds, full=full, again=again, shared=shared)
        try:
            done = job()
            moved = bool(self.index.trouble) and self._moved()
        except StorageFailed:
            moved = self._moved()
            if not moved:
                raise
        if moved:
            done = job()
        self.missing = done.missing
        notes = dict.fromkeys((*self._notes, *([self.elsewhere] if moved else []), *done.notes))
        return done._replace(notes=tuple(notes))

    def _refresh(
        self, *, seconds: float | None, full: bool, again: Collection[str], shared: bool
    ) -> IndexRefresh:
        generation, show = (self.generation, self._fingerprints), self._repo.options.progress
        if self._shared and not shared:
            done = self.index.read_only_state(*generation)
        else:
            claim = self.index.claimed() if self._shared else nullcontext(lambda: None)
            with shared_files(self._repo.store.worktree), claim as beat:

                def progress(what: str, at: int, of: int) -> None:
                    beat()
                    show(what, at, of)

                done = self.index.refresh(
                    *generation,
                    self._rows,
                    progress=progress,
                    seconds=seconds,
                    full=full,
                    again=again,
                )
        return done

    def join(self, done: IndexRefresh, again: Callable[[], IndexRefresh]) -> IndexRefresh:
        """The index once no vector is missing, with one bar.

        Another process that computes them is waited for.

        `done` is what was reached so far, and `again` a further try, which goes on where the other
        process ends.
        """
        total, cached, show = done.missing, len(self.vectors), self._repo.options.progress
        while done.missing and self.index.embedded_elsewhere:
            # rows come by the thousand
            computed = max(total - done.missing, min(len(self.vectors) - cached, total - 1))
            show("Embedding", computed, total)
            # another process embeds: it needs seconds
            sleep(0.5)
            tried = again()
            done = tried._replace(
                embedded=done.embedded + tried.embedded, notes=(*done.notes, *tried.notes)
            )
        return done

    def complete(self) -> None:
        """Compute the vectors that are missing, however long it takes, where all texts are there.

        Looks at no file.
        """
        state = self.index.current(self.generation)
        if state and state.missing:
            self.refresh(seconds=None)

    def begin(self, text: str, filters: Filter, depth: int) -> Callable[[], Candidates]:
        """What the index finds, in two steps: others can be asked before the answer is waited for.

        A damaged one is made anew first.
        """
        finish = self.index.query.begin(text, filters, depth)

        def candidates() -> Candidates:
            try:
                return finish()
            except IndexDamaged:
                self.refresh()
                return finish()

        return candidates

    def passages(self) -> int:
        """How many passages there are."""
        return self.index.query.passages()

    def want(self, entries: Iterable[str]) -> None:
        """Compute the vectors of these entries before others."""
        self.index.want(entries)

    @property
    def generation(self) -> str:
        """Names what the index must hold: the catalog's state and the way texts are cut."""
        return f"{self._repo.catalog.generation} {self._repo.reading_config.chunking}"

    def _fingerprints(self) -> Mapping[str, str]:
        cut, catalog = str(self._repo.reading_config.chunking), self._repo.catalog
        # what must not be found would take the places of what should be
        hidden = set()
        for summary in catalog.select(Filter(status=Status.WRONG)):
            hidden.add(summary.id)
        fingerprints = {}
        for entry, mark in catalog.fingerprints().items():
            if entry not in hidden:
                fingerprints[entry] = f"{mark} {cut}"
        return fingerprints

    def _rows(self, ids: Sequence[str]) -> Iterator[EntryRows]:
        # a search that finds nothing changed needs no parser
        from ai_lessons.model.chunks import split

        prints, cut = self._fingerprints(), self._repo.reading_config.chunking
        summaries = self._repo.catalog.many(ids)
        self._repo.expect(ids)
        for entry_id, summary in summaries.items():
            try:
                entry, _ = self._repo.load(entry_id)
            except AiLessonsError:
                # removed or broken since the catalog looked: its next look says which
                continue
            yield EntryRows(
                id=entry_id,
                fingerprint=prints[entry_id],
                kind=summary.kind.value,
                project=summary.project,
                title=summary.title,
                tags=summary.tags,
                versions=summary.versions,
                status=entry.status.value,
                passages=split(entry, cut),
            )
