"""Keeps the table of passages equal to the catalog, and answers from it."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import StorageFailed
from ai_lessons.index.model_files import silent
from ai_lessons.index.model_sources import Progress, first_line
from ai_lessons.index.query import IndexDamaged, TableQuery
from ai_lessons.index.refresh_state import BUILD, WRITE, RefreshState
from ai_lessons.index.rows import Candidates, EntryRows, IndexRefresh, IndexStatus, PassageFilter, Row, rows_of
from ai_lessons.index.table import LANCE_ERRORS, Passages, made_with
from ai_lessons.index.vectors import PATIENCE, MissingVectors, VectorCache, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.index.embedding import Embedder

    Load = Callable[[Sequence[str]], Iterable[EntryRows]]

ENTRIES_AT_ONCE = 500
EMBED_FIRST = 8  # Texts up to which vectors are computed before the rows are written: one commit instead of two
FEW = 200  # Missing vectors that a search with little time still completes at once; a fresh import has more

FIRST = "there was none"
BUSY = "another process is updating the index; the latest changes may be missing"
BUILDING = "another process is building the index; results may be incomplete"


class RefreshJob(NamedTuple):
    """The arguments of one refresh."""

    generation: str
    fingerprints: Callable[[], Mapping[str, str]]
    load: Load
    progress: Progress
    again: frozenset[str]
    embed: bool


class Index:
    """The search index of one repository, and the `query` that asks it. Opens nothing until it is asked something.

    `uri` is a folder or what LanceDB takes (`s3://…`); `state_dir` a local folder for locks and notes. `embedder` is
    called with the name of the model when a vector is first needed, and may raise ModelUnavailable: then search works
    on text alone. One thread at a time.
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
    ) -> None:
        self._uri, self.model = str(uri), model
        self._state = RefreshState(state_dir)
        self._vectors = vectors
        self._made = made_with(model, dimensions)
        self._filler = MissingVectors(model, vectors, self._state, embedder)
        self.query = TableQuery(self._uri, self._filler, self._state)
        self._behind: tuple[str, tuple[int, int], int] | None = None

    def current(self, generation: str) -> IndexRefresh | None:
        """The state of the index if it holds exactly this generation of the catalog, else None. Reads no rows."""
        table, version = self.query.inspect()
        if table is None or self._why_rebuild(table):
            return None
        missing = self._state.missing_at(generation, *version)
        return None if missing is None else IndexRefresh(missing=missing)

    def refresh(
        self,
        generation: str,
        fingerprints: Callable[[], Mapping[str, str]],
        load: Load,
        *,
        progress: Progress = silent,
        seconds: float | None = None,
        wait: float = 2.0,
        full: bool = False,
        again: Collection[str] = (),
    ) -> IndexRefresh:
        """Bring the index to `generation`, whose entries have these `fingerprints` (id -> hash).

        `load` gives the rows of entries; what it leaves out is not found. `seconds` bounds the time for embedding
        (None: until complete, 0: text only); where more than half of many vectors are missing, a bounded refresh embeds
        nothing, and `candidates` answers from text: the answer comes first. Waits at most `wait` seconds for another
        process that writes, and then leaves the work to it, with a note. `again` entries are written whatever
        their fingerprint; `full` or another model makes everything anew, with vectors from the cache.

        Raises StorageFailed: the index cannot be written (full disk).
        """
        job = RefreshJob(generation, fingerprints, load, progress, frozenset(again), seconds != 0)
        with self._translated("written"):
            done = None if full or again else self.current(generation)
            if done is not None and not done.missing:
                self.query.text_alone = False
                return done
            self.query.forget_seen()  # what follows may write
            return self._refresh_vectors(job, done or self._refresh_text(job, wait, full=full), seconds)

    def _refresh_vectors(self, job: RefreshJob, done: IndexRefresh, seconds: float | None) -> IndexRefresh:
        """Fill in what is missing, as far as there is time."""
        self.query.text_alone = self._lacks_most(done.missing)
        waits = seconds is not None and self.query.text_alone
        if done.missing and not done.notes and job.embed and not waits:
            few = done.missing <= FEW
            done = self._filler.fill(done, job.progress, None if few else seconds, self._of_our_model)
            self.query.text_alone = self._lacks_most(done.missing)
        no_model = self._filler.no_model if done.missing else ""
        return done._replace(notes=(*done.notes, no_model)) if no_model else done

    def read_only_state(self, generation: str, fingerprints: Callable[[], Mapping[str, str]]) -> IndexRefresh:
        """The state of an index that other machines write; `notes` says by how many entries it is behind.

        Raises StorageFailed: the place cannot be read.
        """
        with self._translated("read"):
            table, version = self.query.inspect()
            if table is None:
                return IndexRefresh(notes=(f"no index is at {self._uri} yet: `ai-lessons admin reindex` makes it",))
            missing, behind = self._state.missing_at(generation, *version), 0
            if missing is None:
                if self._behind is None or self._behind[:2] != (generation, version):
                    indexed, current = table.fingerprints(), fingerprints()
                    differing = sum(indexed.get(entry) != hash_ for entry, hash_ in current.items())
                    self._behind = generation, version, differing + len(indexed.keys() - current.keys())
                missing, behind = table.missing(), self._behind[2]
                if not behind:
                    self._state.remember(generation, *version, missing)
            self.query.text_alone = self._lacks_most(missing)
        if not behind:
            return IndexRefresh(missing=missing)
        changed = "1 entry" if behind == 1 else f"{behind:,} entries"
        note = f"{changed} changed since the index at {self._uri} was written: `ai-lessons admin reindex` writes it"
        return IndexRefresh(missing=missing, notes=(note,))

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
            raise StorageFailed(f"the index at {self._uri} cannot be {verb}: {first_line(error)}") from error

    def candidates(self, text: str, passage_filter: PassageFilter | None = None, depth: int = 100) -> Candidates:
        """The best passages by full text and by vector. No letter or digit in the question: nothing.

        Raises IndexDamaged: the table cannot be read, even after opening it anew.
        """
        self.query.forget_seen()
        return self.query.begin(text, passage_filter or PassageFilter(), depth)()

    def _of_our_model(self) -> Passages | None:
        table = self.query.newest()
        return table if table and table.model == self.model else None

    def status(self) -> IndexStatus:
        """Sizes; all zero where there is no index yet."""
        table = self.query.newest()
        if table is None:
            return IndexStatus(model=self.model)
        try:
            return table.status()
        except LANCE_ERRORS as error:
            raise IndexDamaged(f"the index at {self._uri} is damaged: {first_line(error)}") from error

    def _refresh_text(self, job: RefreshJob, wait: float, *, full: bool = False) -> IndexRefresh:
        reason = "it was asked for" if full else self._why_rebuild(self.query.newest())
        if reason:
            return self._rebuild(job, wait, reason)
        if job.embed and self._few_changed(job):
            self._filler.embedder()  # before the lock: it may have to be downloaded
        with self._state.locked(WRITE, wait) as locked:
            table = self.query.newest()
            if not locked:
                return IndexRefresh(missing=table.missing() if table else 0, notes=(self._state.trouble or BUSY,))
            try:
                indexed = table.fingerprints() if table else {}
            except LANCE_ERRORS as error:
                reason = f"it could not be read ({first_line(error)})"
            else:
                reason = self._why_rebuild(table)
                if table and not reason:
                    return self._update(job, table, indexed)
        return self._rebuild(job, wait, reason or FIRST)

    def _few_changed(self, job: RefreshJob) -> bool:
        """Whether so little changed that vectors are computed before the rows are written."""
        table = self.query.newest()
        try:
            indexed = table.fingerprints() if table else {}
        except LANCE_ERRORS:
            return False
        changed = (entry for entry, hash_ in job.fingerprints().items() if indexed.get(entry) != hash_)
        return 0 < sum(1 for _ in islice(changed, EMBED_FIRST + 1)) <= EMBED_FIRST

    def _update(self, job: RefreshJob, table: Passages, indexed: Mapping[str, str]) -> IndexRefresh:
        """Write the entries whose fingerprint is not the `indexed` one, remove those that are gone."""
        current = job.fingerprints()
        changed = [entry for entry, hash_ in current.items() if indexed.get(entry) != hash_ or entry in job.again]
        gone = set(indexed.keys() - current.keys())
        passages = entries = embedded = 0
        for part, rows in self._loaded(changed, job):
            vectors = self._vectors.get(row.text_key for row in rows)
            new = {row.text_key: row.embedded_text for row in rows if row.text_key not in vectors}
            if job.embed and len(new) <= EMBED_FIRST:
                vectors |= self._filler.embed(new)
                embedded += sum(row.text_key in new and row.text_key in vectors for row in rows)
            loaded = {row.entry_id for row in rows}
            write = table.add if indexed.keys().isdisjoint(loaded) else table.replace
            write(rows, vectors)
            # Entries that can no longer be loaded leave the index with the ones that are gone.
            gone |= (set(part) & indexed.keys()) - loaded
            passages, entries = passages + len(rows), entries + len(loaded)
        for names in slices(sorted(gone), ENTRIES_AT_ONCE):
            table.remove(names)
        table.tidy()
        missing = table.missing()
        self._state.remember(job.generation, table.number, table.version, missing)
        return IndexRefresh(entries, len(gone), passages, embedded, missing)

    def _loaded(self, ids: Sequence[str], job: RefreshJob) -> Iterator[tuple[Sequence[str], list[Row]]]:
        """The ids in parts, each with the rows of those entries that could be loaded."""
        show = job.progress if len(ids) > ENTRIES_AT_ONCE else silent
        for number, part in enumerate(slices(ids, ENTRIES_AT_ONCE)):
            show("Indexing text", number * ENTRIES_AT_ONCE, len(ids))
            asked = set(part)
            entries = {entry.id: entry for entry in job.load(part) if entry.id in asked}
            yield part, [row for entry in entries.values() for row in rows_of(entry, self.model)]
        show("Indexing text", len(ids), len(ids))

    def _rebuild(self, job: RefreshJob, wait: float, reason: str) -> IndexRefresh:
        before = self.query.newest()
        with self._state.locked(BUILD, 0.0 if before else wait) as locked:
            if not locked:
                return IndexRefresh(notes=(self._state.trouble or BUILDING,))
            if (after := self.query.newest()) and (before is None or after.number != before.number):
                # Another process finished one while we waited: only the differences are left.
                return self._refresh_text(job, wait)
            table, entries = self.query.tables.begin(self._made), 0
            for _, rows in self._loaded(list(job.fingerprints()), job):
                table.add(rows, self._vectors.get(row.text_key for row in rows))
                entries += len({row.entry_id for row in rows})
            table.finish()
            # a process that writes to the old table finishes first; what it wrote is found again by its fingerprint
            with self._state.locked(WRITE, PATIENCE):
                self.query.tables.drop_others(table)
            missing = table.missing()
            self._state.remember(job.generation, table.number, table.version, missing)
            rebuilt = "" if reason == FIRST else f"the index was rebuilt: {reason}"
            return IndexRefresh(entries, 0, table.count(), 0, missing, rebuilt)

    def _lacks_most(self, missing: int) -> bool:
        """Whether more than half of many vectors are missing."""
        table = self.query.newest() if missing > FEW else None
        return table is not None and 2 * missing > table.count()

    def _why_rebuild(self, table: Passages | None) -> str:
        """Why the table in use, if there is one, cannot be used, or ""."""
        if reason := self._state.damage():
            return reason
        if table is None:
            return FIRST
        differing = [name for name, value in self._made.items() if table.made_with.get(name) != value]
        return f"it was made with another {' and '.join(differing)}" if differing else ""
