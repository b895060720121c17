"""The index of passages and its cache of vectors.

Kept equal to the catalog, and asked by text and by vector.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ai_lessons.errors import Conflict, StorageFailed, Unreachable
from ai_lessons.model.entries import Filter
from ai_lessons.search.conditions import condition
from ai_lessons.search.database import WRITE, RefreshState
from ai_lessons.search.missing_vectors import MissingVectors, VectorCache, slices
from ai_lessons.search.model_files import Progress, first_line, silent
from ai_lessons.search.pack_files import JUDGED_PACKS, NoPacks
from ai_lessons.search.rows import Candidates, EntryRows, IndexRefresh, IndexStatus, Match, Row
from ai_lessons.search.shared_vectors import SharedVectors
from ai_lessons.search.table import (
    FTS_INDEX,
    LANCE_ERRORS,
    Passages,
    connect,
    cosines,
    hit_order,
    made_with,
    rows_of,
    schema,
)
from ai_lessons.search.tokens import question

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.search.embedding import Embedder
    from ai_lessons.search.pack_files import PackSource

    Hits = tuple[Match, ...]
    # which table, and which version of it
    Version = tuple[int, int]
    Load = Callable[[Sequence[str]], Iterable[EntryRows]]

NAME = "passages_"
# A table that is there while a process writes to an index that many machines share
WRITING = "writing"

BEAT, DEAD = 60.0, timedelta(minutes=10)
"""Seconds between two signs of life of that process, and how long without one makes it dead."""


class Tables:
    """The tables of one index.

    The newest complete one is in use, the others are leftovers or being built.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._db, self._reopen = connect(uri)
        self._open: Passages | None = None

    def newest(self) -> Passages | None:
        """The table in use, or None if there is none that is complete.

        A table that cannot be opened is passed over.
        """
        for number in sorted(self._numbers(), reverse=True):
            if self._open is not None and self._open.number == number:
                return self._open
            try:
                table = self._db.open_table(f"{NAME}{number}")
                if any(index.name == FTS_INDEX for index in table.list_indices()):
                    self._open = Passages(table, number, self._reopen)
                    return self._open
            except LANCE_ERRORS:
                continue
        return None

    def begin(self, made: Mapping[str, str]) -> Passages:
        """A new, empty table that no reader sees until it is finished."""
        number = max(self._numbers(), default=0) + 1
        return Passages(
            self._db.create_table(f"{NAME}{number}", schema=schema(made)), number, self._reopen
        )

    def drop_others(self, keep: Passages) -> None:
        """Remove every table but this. Readers of an older one reopen once."""
        for number in self._numbers() - {keep.number}:
            self._db.drop_table(f"{NAME}{number}", ignore_missing=True)

    @contextmanager
    def claimed(self) -> Iterator[Callable[[], None]]:
        """Be the only process, of any machine, that writes here.

        Gives a sign of life to be called now and then.

        Raises Conflict: another process writes.
        """
        if WRITING in self._db.list_tables(limit=10_000).tables:
            versions = self._db.open_table(WRITING).list_versions()
            last = max(version["timestamp"] for version in versions).astimezone(UTC)
            if datetime.now(UTC) - last < DEAD:
                raise Conflict(
                    (
                        f"another process is writing to the index at {self._uri} (last seen "
                        f"{last:%Y-%m-%d %H:%M} UTC)"
                    ),
                    hint=f"try again when it is done, or {DEAD} after its last sign of life",
                )
            self._db.drop_table(WRITING, ignore_missing=True)
        try:
            claim = self._db.create_table(WRITING, [{"beat": 0}])
        except LANCE_ERRORS as error:
            raise Conflict(
                f"another process has just begun to write to the index at {self._uri}"
            ) from error
        beaten = time.monotonic()

        def beat() -> None:
            nonlocal beaten
            if time.monotonic() > beaten + BEAT:
                claim.add([{"beat": 1}])
                beaten = time.monotonic()

        try:
            yield beat
        finally:
            self._db.drop_table(WRITING, ignore_missing=True)

    def _numbers(self) -> set[int]:
        if "://" in self._uri:
            names = self._db.list_tables(limit=10_000).tables
        else:
            # every search looks, and lancedb takes a millisecond to read a folder
            if os.path.isdir(self._uri):
                names = [name.removesuffix(".lance") for name in os.listdir(self._uri)]
            else:
                names = []
        numbers: set[int] = set()
        for name in names:
            if name.startswith(NAME) and name[len(NAME) :].isdigit():
                numbers.add(int(name[len(NAME) :]))
        return numbers


class SharedIndex:
    """One machine pushes its table; others take vectors by the hash of model and text, and no text.

    Raises Unreachable where the address is wrong, nothing answers, or access is refused.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        with self._reached():
            self._tables = Tables(uri)

    def state(self) -> IndexStatus:
        """What lies there now; all zero and empty where there is nothing."""
        with self._reached():
            table = self._tables.newest()
            return (table.status() if table else IndexStatus())._replace(uri=self.uri)

    def push(self, local: Passages, progress: Progress) -> None:
        """Make what lies there equal to `local`: a new table, which is seen when it is complete.

        Raises Conflict: another push was faster.
        """
        with self._reached():
            table, total = self._tables.begin(local.made_with), local.count()
            for done in table.take(local):
                progress("Pushing", done, total)
            table.finish()
            self._tables.drop_others(table)

    def pull(self, model: str, cache: VectorCache, progress: Progress) -> int:
        """Put the vectors of `model` that lie there into the cache; how many are new.

        Of another model: none.
        """
        with self._reached():
            table = self._tables.newest()
            if table is None or table.model != model:
                return 0
            total, done, new = table.count(), 0, 0
            for part in table.vectors():
                cached = cache.get(key for key, _ in part)
                fresh = []
                for key, vector in part:
                    if key not in cached:
                        fresh.append((key, vector))
                cache.put(fresh)
                done, new = done + len(part), new + len(fresh)
                progress("Fetching vectors", done, total)
            return new

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except LANCE_ERRORS as error:
            if any(
                word in str(error)
                for word in ("already exists", "commit conflict", "Commit conflict")
            ):
                raise Conflict(
                    f"another process is pushing to {self.uri}", hint="push again when it is done"
                ) from error
            raise Unreachable(
                (
                    f"the shared index at {self.uri} cannot be used: "
                    f"{' '.join(str(error).split())[:300]}"
                ),
                hint=(
                    "check the address; S3 is set up by AWS_ACCESS_KEY_ID, "
                    "AWS_SECRET_ACCESS_KEY, AWS_REGION, …"
                ),
            ) from error


NO_VERSION = (0, 0)

MOST_KEPT, MOST_FROM_STORAGE = 12_000, 100_000
"""Passages that are kept with their vectors, in 18 MB.

Comparing 10,000 takes 1 ms, asking the table 16 ms. From object
storage more: every row that an answer reads there costs milliseconds (a process of 100,000 takes
600 MB)."""

# Filters of which is remembered what they let pass, eight bytes a passage
FILTERS = 16


class IndexDamaged(StorageFailed):
    """The table cannot be read. The next refresh rebuilds it."""


class TableQuery:
    """Asks the tables at `uri`. Vectors of another model than that of `filler` are not asked.

    A search looks once which table is in use and of which version it is, and asks that. With
    `text_alone` no vectors are asked for. One thread at a time.
    """

    def __init__(self, uri: str, filler: MissingVectors, state: RefreshState) -> None:
        self._uri, self._filler, self._state = uri, filler, state
        self._seen: tuple[Passages | None, Version] | None = None
        self._memory = VectorMemory(away="://" in uri)
        self._count: tuple[Version, int] | None = None
        self.text_alone = False

    @cached_property
    def tables(self) -> Tables:
        """The tables, opened."""
        return Tables(self._uri)

    def newest(self) -> Passages | None:
        """The table in use. Raises StorageFailed: the place cannot be read."""
        try:
            return self.tables.newest()
        except LANCE_ERRORS as error:
            raise StorageFailed(
                f"the index at {self._uri} cannot be opened: {first_line(error)}"
            ) from error

    def inspect(self) -> tuple[Passages | None, Version]:
        """The table in use now, and which version of it. Raises LANCE_ERRORS, and as `newest`."""
        table = self.newest()
        self._seen = table, (table.number, table.version) if table else NO_VERSION
        return self._seen

    def last_seen(self) -> tuple[Passages | None, Version]:
        """The table and version of the last inspection, if it is still valid."""
        return self._seen or self.inspect()

    def forget_seen(self) -> None:
        """The next question inspects the tables again."""
        self._seen = None

    def forget(self) -> None:
        """Open the tables anew at the next question: their files may be gone."""
        self.__dict__.pop("tables", None)
        self.forget_seen()

    def passages(self) -> int:
        """How many passages there are."""
        table, version = self.last_seen()
        if self._count is None or self._count[0] != version:
            self._count = version, table.count() if table else 0
        return self._count[1]

    def begin(self, text: str, passing: Filter, depth: int) -> Callable[[], Candidates]:
        """`Index.candidates` of the table that the last refresh saw, in two steps.

        The search by text begins now; the returned function waits for it and searches by vector.
        """
        asked, where = question(text), condition(passing)
        table, version = self._seen if asked and self._seen else (None, NO_VERSION)
        if table:
            begun = [self._by_text(table, version, asked, where, depth)]
        else:
            begun = []

        def answer() -> Candidates:
            table, version = self.last_seen() if asked else (None, NO_VERSION)
            if table is None:
                return Candidates(depth=depth)
            embedder, note = self._embedder(table)
            if embedder:
                by_vector = self._near(table, version, asked, embedder, where, depth)
            else:
                by_vector = ()
            by_text = (
                begun.pop() if begun else self._by_text(table, version, asked, where, depth)
            )()
            if passing.phrases:
                by_text = table.holding(by_text, where, depth)
            if embedder:
                read = embedder.reads(asked)
            else:
                read = 1.0
            return Candidates(
                by_text, by_vector, depth, note, embedder.name if embedder else "", read
            )

        def answer_again() -> Candidates:
            with suppress(*LANCE_ERRORS):
                # a rebuild or a clean-up by another process took an older version's files
                candidates = answer()
                # a table that is being removed finds no text, without an error, while its rows are
                # still there
                if candidates.text or not self._replaced():
                    return candidates
            self.forget()
            try:
                return answer()
            except LANCE_ERRORS as error:
                self._state.report_damage(f"it could not be read ({first_line(error)})")
                raise IndexDamaged(
                    f"the index at {self._uri} is damaged: {first_line(error)}"
                ) from error

        return answer_again

    def _replaced(self) -> bool:
        """Whether another table is in use by now than the one that was asked."""
        table, _ = self._seen or (None, NO_VERSION)
        return table is not None and self.tables.newest() is not table

    def _embedder(self, table: Passages) -> tuple[Embedder | None, str]:
        """The embedder for questions to this table, or why there is none.

        Vectors of different models never compare.
        """
        if table.model != self._filler.model:
            return (
                None,
                (
                    f"full text only: the vectors here are of {table.model}, not of "
                    f"{self._filler.model}"
                ),
            )
        # a question waits for no download
        embedder = None
        if not self.text_alone:
            embedder = self._filler.embedder(fetch=False)
        return embedder, "" if embedder else self._filler.no_model

    def _by_text(
        self, table: Passages, version: Version, asked: str, where: str, depth: int
    ) -> Callable[[], Hits]:
        kept = self._memory.vectors(table, version, asked)
        if kept is None or len(kept.hits) < self.passages():
            return table.by_text(asked, where, depth)
        begun = table.rows_by_text(asked, where, depth)
        return lambda: kept.matches(begun())

    def _near(
        self,
        table: Passages,
        version: Version,
        asked: str,
        embedder: Embedder,
        where: str,
        depth: int,
    ) -> Hits:
        vector = []
        for x in embedder.embed_query(asked):
            vector.append(float(x))
        kept = self._memory.vectors(table, version, asked)
        if kept is None:
            return table.by_vector(vector, where, depth)
        return kept.by_vector(vector, depth, where, table.rows)


class Vectors:
    """Many passages.

    Their vectors as lines of `matrix` (float32), one for each of the rows of a table.

    `hits` holds entry id, ordinal, heading, text and section of each.
    """

    def __init__(
        self, rows: Sequence[int], matrix: Any, hits: Sequence[tuple[str, int, str, str, int]]
    ) -> None:
        self._places = {row: place for place, row in enumerate(rows)}
        # a vector of zeros must not divide by 0
        self._matrix, self._lengths = matrix, np.maximum(np.linalg.norm(matrix, axis=1), 1e-30)
        self.hits = hits
        self._passing: dict[str, Any] = {}

    def matches(self, rows: Iterable[tuple[int, float]]) -> Hits:
        """Passages by row and score, best first.

        Rows that others have just written are left out.
        """
        return self._sorted(
            (self._places[row], score) for row, score in rows if row in self._places
        )

    def by_vector(
        self,
        vector: Sequence[float],
        depth: int,
        where: str,
        passing: Callable[[str], Sequence[int]],
    ) -> Hits:
        """Passages by cosine similarity, best first.

        `passing` gives the rows that the filter `where` lets pass.
        """
        # one thread: BLAS would take all cores, and wait for those that have other work
        scores = (
            np.einsum("ij,j->i", self._matrix, np.asarray(vector, dtype=np.float32)) / self._lengths
        )
        if where:
            places = self._let_pass(where, passing)
        else:
            places = np.arange(len(scores))
        if len(places) > depth:
            places = places[np.argpartition(-scores[places], depth)[:depth]]
        return self._sorted(
            zip(map(int, places), cosines(self._matrix[places], vector), strict=True)
        )

    def _sorted(self, places: Iterable[tuple[int, float]]) -> Hits:
        hits = []
        for place, score in places:
            entry, ordinal, heading, text, section = self.hits[place]
            hits.append(Match(entry, ordinal, score, heading, text, section))
        return tuple(sorted(hits, key=hit_order))

    def _let_pass(self, where: str, passing: Callable[[str], Sequence[int]]) -> Any:
        if where not in self._passing:
            if len(self._passing) >= FILTERS:
                self._passing.clear()
            places = []
            for row in passing(where):
                if row in self._places:
                    places.append(self._places[row])
            self._passing[where] = np.array(places, dtype=np.intp)
        return self._passing[where]


class VectorMemory:
    """The vectors of a table, read at the second question to one version of it.

    A process that asks once, or writes between any two questions, does not read every vector.
    """

    def __init__(self, *, away: bool) -> None:
        """`away`: the table lies in object storage."""
        self._away = away
        self._first: tuple[Version, str] | None = None
        self._vectors: tuple[Version, Vectors | None] | None = None

    def vectors(self, table: Passages, version: Version, asked: str) -> Vectors | None:
        """The vectors of this version; None at the first question, or where there are too many."""
        if self._first is None or self._first[0] != version:
            self._first, self._vectors = (version, asked), None
        if self._vectors is None and asked != self._first[1]:
            kept = table.all_vectors(MOST_FROM_STORAGE if self._away else MOST_KEPT)
            self._vectors = version, Vectors(*kept) if kept else None
        if self._vectors:
            return self._vectors[1]
        return None


# Entries of one commit to the table: each makes a data file, and their texts are in memory
ENTRIES_AT_ONCE = 500
# Texts up to which vectors are computed before the rows are written: one commit instead of two
EMBED_FIRST = 8
# Missing vectors that do not keep a search from asking those that are there
FEW = 200

FIRST = "there was none"
# Seconds in which another process may make the first table: without one nothing is found
FIRST_WAIT = 60.0
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
        progress: Progress = silent,
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
            return self._refresh_vectors(
                job, done or self._refresh_text(job, wait, full=full), seconds
            )

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
        if done.missing:
            no_model = self._filler.no_model
        else:
            no_model = ""
        if no_model:
            return done._replace(notes=(*done.notes, no_model))
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
                if self._behind is None or self._behind[:2] != (generation, version):
                    indexed, current = table.fingerprints(), fingerprints()
                    differing = sum(indexed.get(entry) != hash_ for entry, hash_ in current.items())
                    self._behind = (
                        generation,
                        version,
                        differing + len(indexed.keys() - current.keys()),
                    )
                missing, behind = table.missing(), self._behind[2]
                if not behind:
                    self._state.remember(generation, *version, missing, table.count())
            self.query.text_alone = self._lacks_most(missing)
        if not behind:
            return IndexRefresh(missing=missing)
        if behind == 1:
            changed = "1 entry"
        else:
            changed = f"{behind:,} entries"
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
            return table.keys_with_vector(), [(entry, key) for _, key, entry in table.lacking()]

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
        # another process makes the new table: the old one answers meanwhile, where there is one
        if not reason:
            seconds = wait
        elif before:
            seconds = 0.0
        else:
            seconds = FIRST_WAIT
        with self._state.locked(WRITE, seconds) as locked:
            table = self.query.newest()
            if not locked:
                if table:
                    missing = table.missing()
                else:
                    missing = 0
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
        try:
            if table:
                indexed = table.fingerprints()
            else:
                indexed = {}
        except LANCE_ERRORS:
            return False
        changed = (
            entry for entry, hash_ in job.fingerprints().items() if indexed.get(entry) != hash_
        )
        return 0 < sum(1 for _ in islice(changed, EMBED_FIRST + 1)) <= EMBED_FIRST

    def _update(self, job: RefreshJob, table: Passages, indexed: Mapping[str, str]) -> IndexRefresh:
        """Write the entries whose fingerprint is not the `indexed` one, remove those that are gone."""
        current = job.fingerprints()
        changed = []
        for entry, hash_ in current.items():
            if indexed.get(entry) != hash_ or entry in job.again:
                changed.append(entry)
        gone = set(indexed.keys() - current.keys())
        passages = entries = embedded = 0
        for part, rows in self._loaded(changed, job):
            vectors = self._vectors.get(row.text_key for row in rows)
            new = {}
            for row in rows:
                if row.text_key not in vectors:
                    new[row.text_key] = row.embedded_text
            if job.embed and len(new) <= EMBED_FIRST:
                vectors |= self._filler.embed(new)
                embedded += sum(row.text_key in new and row.text_key in vectors for row in rows)
            loaded = {row.entry_id for row in rows}
            if indexed.keys().isdisjoint(loaded):
                write = table.add
            else:
                write = table.replace
            write(rows, vectors)
            # Entries that can no longer be loaded leave the index with the ones that are gone.
            gone |= (set(part) & indexed.keys()) - loaded
            passages, entries = passages + len(rows), entries + len(loaded)
        for names in slices(sorted(gone), ENTRIES_AT_ONCE):
            table.remove(names)
        table.tidy()
        missing = table.missing()
        self._state.remember(job.generation, table.number, table.version, missing, table.count())
        return IndexRefresh(entries, len(gone), passages, embedded, missing)

    def _loaded(
        self, ids: Sequence[str], job: RefreshJob
    ) -> Iterator[tuple[Sequence[str], list[Row]]]:
        """The ids in parts, each with the rows of those entries that could be loaded."""
        if len(ids) > ENTRIES_AT_ONCE:
            show = job.progress
        else:
            show = silent
        for number, part in enumerate(slices(ids, ENTRIES_AT_ONCE)):
            show("Indexing text", number * ENTRIES_AT_ONCE, len(ids))
            asked = set(part)
            entries = {}
            for entry in job.load(part):
                if entry.id in asked:
                    entries[entry.id] = entry
            yield part, [row for entry in entries.values() for row in rows_of(entry, self.model)]
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
        if reason == FIRST:
            rebuilt = ""
        else:
            rebuilt = f"the index was rebuilt: {reason}"
        return IndexRefresh(entries, 0, table.count(), 0, missing, rebuilt)

    def _lacks_most(self, missing: int) -> bool:
        """Whether more than half of many vectors are missing."""
        table = None
        if missing > FEW:
            table = self.query.newest()
        return table is not None and 2 * missing > table.count()

    def _why_rebuild(self, table: Passages | None) -> str:
        """Why the table in use, if there is one, cannot be used, or ""."""
        if reason := self._state.damage():
            return reason
        if table is None:
            return FIRST
        differing = []
        for name, value in self._made.items():
            if table.made_with.get(name) != value:
                differing.append(name)
        if differing:
            return f"it was made with another {' and '.join(differing)}"
        return ""
