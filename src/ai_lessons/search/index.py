"""The index of passages, kept equal to the catalog.

Begin with `Index.refresh`; questions go to its `query` (`index_query`).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import StorageFailed
from ai_lessons.model.entries import Filter
from ai_lessons.search.database import WRITE, RefreshState
from ai_lessons.search.index_query import IndexDamaged, TableQuery
from ai_lessons.search.missing_vectors import MissingVectors, slices
from ai_lessons.search.model_files import first_line, no_progress
from ai_lessons.search.pack_files import JUDGED_PACKS, NoPacks
from ai_lessons.search.rows import IndexRefresh, IndexStatus
from ai_lessons.search.shared_vectors import SharedVectors
from ai_lessons.search.table import LANCE_ERRORS, made_with, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.search.embedding import Embedder
    from ai_lessons.search.missing_vectors import VectorCache
    from ai_lessons.search.model_files import Progress
    from ai_lessons.search.pack_files import PackSource
    from ai_lessons.search.rows import Candidates, EntryRows, Row
    from ai_lessons.search.table import Passages

    Load = Callable[[Sequence[str]], Iterable[EntryRows]]


class RefreshLimits(NamedTuple):
    """How much one refresh does at a time, and how long it waits (seconds)."""

    # Entries of one commit to the table: each makes a data file, and their texts are in memory
    entries_at_once: int = 500
    # Texts up to which vectors are computed before the rows are written: one commit instead of two
    embed_first: int = 8
    # Missing vectors that do not keep a search from asking those that are there
    few: int = 200
    # Seconds in which another process may make the first table: without one nothing is found
    first_wait: float = 60.0


REFRESH = RefreshLimits()


FIRST = "there was none"
BUSY = "another process is updating the index; the latest changes may be missing"


class RefreshJob(NamedTuple):
    """The arguments of one refresh."""

    generation: str
    fingerprints: Callable[[], Mapping[str, str]]
    load: Load
    progress: Progress
    again: frozenset[str]
    embed: bool


class Index:
    """The search index of one repository, and the `query` that asks it.

    Opens nothing until it is asked something.

    `uri` is a folder or what LanceDB takes (`s3://…`); `state_dir` a local folder for locks and
    notes. `embedder` is called with the name of the model when a vector is first needed, and may
    raise ModelUnavailable: then search works on text alone; `at_hand` says whether it answers
    without a download. `order`: the entries whose vectors come first. `packs`: vectors of other
    clones. One thread at a time.
    """

    def __init__(
        self,
        uri: str | Path,
        state_dir: Path,
        vectors: VectorCache,
        *,
        model: str,
        dimensions: int,
        embedder: Callable[[str], Embedder],
        at_hand: Callable[[str], bool] = lambda _: True,
        order: Callable[[], Sequence[str]] = tuple,
        packs: PackSource | None = None,
    ) -> None:
        self._uri, self.model, self.dimensions = str(uri), model, dimensions
        self._state = RefreshState(state_dir)
        self._vectors = vectors
        self._made = made_with(model, dimensions)
        self.shared = SharedVectors(packs or NoPacks(), state_dir / JUDGED_PACKS, model, dimensions)
        self._filler = MissingVectors(
            model, vectors, self._state, embedder, shared=self.shared, order=order, at_hand=at_hand
        )
        self.query = TableQuery(self._uri, self._filler, self._state)
        self._behind: tuple[str, tuple[int, int], int] | None = None

    @property
    def uri(self) -> str:
        """The folder of its tables, or their address."""
        return self._uri

    @property
    def trouble(self) -> str:
        """Why the folder for locks and notes cannot be used, if so."""
        return self._state.trouble

    @property
    def embedded_elsewhere(self) -> bool:
        """Whether another process was computing vectors when this one last wanted to."""
        return self._filler.elsewhere

    def current(self, generation: str) -> IndexRefresh | None:
        """The state of the index if it holds exactly this generation of the catalog, else None.

        Reads no rows.
        """
        table, version = self.query.inspect()
        if table is None or self._why_rebuild(table):
            return None
        missing = self._state.missing_at(generation, *version)
        if missing is None:
            return None
        return IndexRefresh(missing=missing)

    def refresh(
        self,
        generation: str,
        fingerprints: Callable[[], Mapping[str, str]],
        load: Load,
        *,
        progress: Progress = no_progress,
        seconds: float | None = None,
        wait: float = 2.0,
        full: bool = False,
        again: Collection[str] = (),
    ) -> IndexRefresh:
        """Bring the index to `generation`, whose entries have these `fingerprints` (id -> hash).

        `load` gives the rows of entries; what it leaves out is not found. `seconds` bounds the time
        for embedding (None: until complete, 0: only what is known is filled in); where more than
        half of many vectors are missing, a bounded refresh embeds nothing, and `candidates` answers
        from text: the answer comes first. Waits at most `wait` seconds for another process that
        writes, and then leaves the work to it, with a note. `again` entries are written whatever
        their fingerprint; `full` or another model makes everything anew, with vectors from the
        cache.

        Raises StorageFailed: the index cannot be written (full disk).
        """
        job = RefreshJob(generation, fingerprints, load, progress, frozenset(again), seconds != 0)
        with self._translated("written"):
            done = None
            if not (full or again):
                done = self.current(generation)
            if done is not None and not done.missing:
                self.query.text_alone = False
                return done
            # what follows may write
            self.query.forget_seen()
            if done is None:
                done = self._refresh_text(job, wait, full=full)
            return self._refresh_vectors(job, done, seconds)

    def _refresh_vectors(
        self, job: RefreshJob, done: IndexRefresh, seconds: float | None
    ) -> IndexRefresh:
        """Fill in what is missing, as far as there is time."""
        self.query.text_alone = self._lacks_most(done.missing)
        if done.missing and not done.notes:
            limit = seconds
            if seconds is not None and self.query.text_alone:
                limit = 0.0
            done = self._filler.fill(
                done, job.progress, limit, self._of_our_model, hurried=bool(seconds)
            )
            self.query.text_alone = self._lacks_most(done.missing)
        if done.missing and self._filler.no_model:
            return done._replace(notes=(*done.notes, self._filler.no_model))
        return done

    def read_only_state(
        self, generation: str, fingerprints: Callable[[], Mapping[str, str]]
    ) -> IndexRefresh:
        """The state of an index that other machines write.

        `notes` says by how many entries it is behind.

        Raises StorageFailed: the place cannot be read.
        """
        with self._translated("read"):
            table, version = self.query.inspect()
            if table is None:
                return IndexRefresh(
                    notes=(f"no index is at {self._uri} yet: `ai-lessons admin reindex` makes it",)
                )
            missing, behind = self._state.missing_at(generation, *version), 0
            if missing is None:
                missing = table.missing()
                behind = self._entries_behind(table, (generation, version), fingerprints)
                if not behind:
                    self._state.remember(generation, *version, missing, table.count())
            self.query.text_alone = self._lacks_most(missing)
        if not behind:
            return IndexRefresh(missing=missing)
        changed = f"{behind:,} entries"
        if behind == 1:
            changed = "1 entry"
        note = f"{changed} changed since the index at {self._uri} was written: `ai-lessons admin reindex` writes it"
        return IndexRefresh(missing=missing, notes=(note,))

    def _entries_behind(
        self,
        table: Passages,
        state: tuple[str, tuple[int, int]],
        fingerprints: Callable[[], Mapping[str, str]],
    ) -> int:
        """How many entries of this state of the catalog the table does not have as they are."""
        # all fingerprints of an index in object storage are read once, not at each question
        if self._behind is None or self._behind[:2] != state:
            indexed, current = table.fingerprints(), fingerprints()
            differing = sum(indexed.get(entry) != hash_ for entry, hash_ in current.items())
            self._behind = (*state, differing + len(indexed.keys() - current.keys()))
        return self._behind[2]

    @contextmanager
    def claimed(self) -> Iterator[Callable[[], None]]:
        """See `Tables.claimed`. Raises StorageFailed, too: the place cannot be written."""
        with self._translated("written"), self.query.tables.claimed() as beat:
            yield beat

    @contextmanager
    def _translated(self, verb: str) -> Iterator[None]:
        try:
            yield
        except LANCE_ERRORS as error:
            self.query.forget()
            raise StorageFailed(
                f"the index at {self._uri} cannot be {verb}: {first_line(error)}"
            ) from error

    def candidates(self, text: str, passing: Filter | None = None, depth: int = 100) -> Candidates:
        """The best passages by full text and by vector.

        No letter or digit in the question: nothing.

        Raises IndexDamaged: the table cannot be read, even after opening it anew.
        """
        self.query.forget_seen()
        return self.query.begin(text, passing or Filter(), depth)()

    def _of_our_model(self) -> Passages | None:
        table = self.query.newest()
        if table and table.model == self.model:
            return table
        return None

    def want(self, entries: Iterable[str]) -> None:
        """Compute the vectors of these entries before others."""
        self._state.want(entries)

    def keys(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """(entry id, text key) of the passages that have a vector of our model, and of those that have none.

        Raises StorageFailed: the table cannot be read.
        """
        with self._translated("read"):
            table = self._of_our_model()
            if table is None:
                return [], []
            lacking = [(entry, key) for _, key, entry in table.lacking()]
            return table.keys_with_vector(), lacking

    def status(self) -> IndexStatus:
        """Sizes; all zero where there is no index yet."""
        table = self.query.newest()
        if table is None:
            return IndexStatus(model=self.model)
        try:
            return table.status()
        except LANCE_ERRORS as error:
            raise IndexDamaged(
                f"the index at {self._uri} is damaged: {first_line(error)}"
            ) from error

    def _refresh_text(self, job: RefreshJob, wait: float, *, full: bool = False) -> IndexRefresh:
        before = self.query.newest()
        reason = self._why_rebuild(before)
        if job.embed and not reason and self._few_changed(job):
            # before the lock: loading it takes a moment
            self._filler.embedder(fetch=False)
        if not reason:
            seconds = wait
        elif before:
            # another process makes the new table: the old one answers meanwhile
            seconds = 0.0
        else:
            seconds = REFRESH.first_wait
        with self._state.locked(WRITE, seconds) as locked:
            table = self.query.newest()
            if not locked:
                missing = 0
                if table:
                    missing = table.missing()
                return IndexRefresh(missing=missing, notes=(self._state.trouble or BUSY,))
            if full:
                reason = "it was asked for"
            else:
                reason = self._why_rebuild(table)
            indexed: Mapping[str, str] = {}
            if table and not reason:
                try:
                    indexed = table.fingerprints()
                except LANCE_ERRORS as error:
                    reason = f"it could not be read ({first_line(error)})"
            if table and not reason:
                return self._update(job, table, indexed)
            return self._rebuild(job, reason)

    def _few_changed(self, job: RefreshJob) -> bool:
        """Whether so little changed that vectors are computed before the rows are written."""
        table = self.query.newest()
        indexed: Mapping[str, str] = {}
        try:
            if table:
                indexed = table.fingerprints()
        except LANCE_ERRORS:
            return False
        changed = 0
        for entry, hash_ in job.fingerprints().items():
            if indexed.get(entry) != hash_:
                changed += 1
            if changed > REFRESH.embed_first:
                return False
        return changed > 0

    def _update(self, job: RefreshJob, table: Passages, indexed: Mapping[str, str]) -> IndexRefresh:
        """Write the entries whose fingerprint is not the `indexed` one, remove those that are gone."""
        current = job.fingerprints()
        changed: list[str] = []
        for entry, hash_ in current.items():
            if indexed.get(entry) != hash_ or entry in job.again:
                changed.append(entry)
        gone = set(indexed.keys() - current.keys())
        passages = entries = embedded = 0
        for part, rows in self._loaded(changed, job):
            vectors = self._vectors.get(row.text_key for row in rows)
            new = {row.text_key: row.embedded_text for row in rows if row.text_key not in vectors}
            if job.embed and len(new) <= REFRESH.embed_first:
                vectors |= self._filler.embed(new)
                embedded += sum(row.text_key in new and row.text_key in vectors for row in rows)
            loaded = {row.entry_id for row in rows}
            if indexed.keys().isdisjoint(loaded):
                # to add is one step; to replace, lancedb has to look for what is there
                table.add(rows, vectors)
            else:
                table.replace(rows, vectors)
            # Entries that can no longer be loaded leave the index with the ones that are gone.
            gone |= (set(part) & indexed.keys()) - loaded
            passages, entries = passages + len(rows), entries + len(loaded)
        for names in slices(sorted(gone), REFRESH.entries_at_once):
            table.remove(names)
        table.tidy()
        missing = table.missing()
        self._state.remember(job.generation, table.number, table.version, missing, table.count())
        return IndexRefresh(entries, len(gone), passages, embedded, missing)

    def _loaded(
        self, ids: Sequence[str], job: RefreshJob
    ) -> Iterator[tuple[Sequence[str], list[Row]]]:
        """The ids in parts, each with the rows of those entries that could be loaded."""
        show: Progress = no_progress
        if len(ids) > REFRESH.entries_at_once:
            show = job.progress
        for number, part in enumerate(slices(ids, REFRESH.entries_at_once)):
            show("Indexing text", number * REFRESH.entries_at_once, len(ids))
            asked = set(part)
            # an id that two files have is loaded twice, and the later one counts
            entries = {entry.id: entry for entry in job.load(part)}
            rows: list[Row] = []
            for entry_id, entry in entries.items():
                if entry_id in asked:
                    rows += rows_of(entry, self.model)
            yield part, rows
        show("Indexing text", len(ids), len(ids))

    def _rebuild(self, job: RefreshJob, reason: str) -> IndexRefresh:
        table, entries = self.query.tables.begin(self._made), 0
        for _, rows in self._loaded(list(job.fingerprints()), job):
            table.add(rows, self._vectors.get(row.text_key for row in rows))
            entries += len({row.entry_id for row in rows})
        table.finish()
        self.query.tables.drop_others(table)
        missing = table.missing()
        self._state.remember(job.generation, table.number, table.version, missing, table.count())
        rebuilt = ""
        if reason != FIRST:
            rebuilt = f"the index was rebuilt: {reason}"
        return IndexRefresh(entries, 0, table.count(), 0, missing, rebuilt)

    def _lacks_most(self, missing: int) -> bool:
        """Whether more than half of many vectors are missing."""
        if missing <= REFRESH.few:
            return False
        table = self.query.newest()
        return table is not None and 2 * missing > table.count()

    def _why_rebuild(self, table: Passages | None) -> str:
        """Why the table in use, if there is one, cannot be used, or ""."""
        if reason := self._state.damage():
            return reason
        if table is None:
            return FIRST
        made = table.made_with
        differing = [name for name, value in self._made.items() if made.get(name) != value]
        if differing:
            return f"it was made with another {' and '.join(differing)}"
        return ""
