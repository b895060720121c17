"""One table of passages in LanceDB, what it stores of a text and is asked for.

Home of lancedb and pyarrow.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from datetime import timedelta
from functools import cache
from importlib.metadata import version
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, cast

# it says how lancedb is imported, which what follows would do in another way
from ai_lessons.search.connections import SERVICE_PATIENCE

# isort: split

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no stubs
from lancedb.background_loop import LOOP
from lancedb.index import FTS, IvfSq
from lancedb.query import BooleanQuery, MatchQuery, Occur

from ai_lessons.model.languages import (
    JOINING,
    is_frequent,
    kernel,
    languages,
    script_language,
    stem,
)
from ai_lessons.search.conditions import one_of
from ai_lessons.search.rows import IndexStatus, Match, Row, embedded_text, vector_key
from ai_lessons.search.tokens import CJK, LOST, composed, fold, with_parts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.search.rows import EntryRows

# Raised when the columns or what is written into them change: older tables are rebuilt
FORMAT = 6

FTS_COLUMN = "fts_text"

# Columns of a hit.
# Beside them the score is asked for: lance prints a warning per query otherwise.
HIT = ("entry_id", "ordinal", "heading", "text", "section")

FTS_INDEX = "fts_text_idx"
# A question takes a fraction of it, and a reader whose version was removed ("Not found") asks once
# more.
# Each tidying writes the table anew, 28 MB for 10,000 passages: kept for an hour, 1,000 edits took
# 2 GB.
KEEP_VERSIONS = timedelta(minutes=1)


class TableLimits(NamedTuple):
    """Sizes of a table at which it is stored or asked in another way, in rows unless stated."""

    # Rows outside the full-text index from which on it is brought up to date: each costs a query 0.03
    # ms
    tail: int = 64
    # Data files from which on they are merged: an edit makes one, and ten cost a search a fifth of its
    # time
    fragments: int = 12
    # Passages up to which a question is compared with every vector, 8 ms for 10,000; more get an index
    flat: int = 12_000
    # Vectors of one part, where all are read: 6 MB
    rows_at_once: int = 4096
    # Partitions are the root of the number of rows, divided by this
    partitions_per_root: int = 3
    # Rows that a question is compared with, those of the nearest partitions; of fewer all
    probed: int = 150_000


TABLE = TableLimits()


VECTOR_INDEX = "vector_idx"

# What lancedb raises for trouble with a table; it has no errors of its own.
LANCE_ERRORS = (RuntimeError, ValueError, OSError)


class Passages:
    """One table. Every method is one question or one commit.

    Raises what lancedb raises (LANCE_ERRORS).
    """

    def __init__(
        self,
        table: Any,
        number: int,
        reopen: Callable[[str], Awaitable[Any]],
        *,
        in_service: bool = False,
    ) -> None:
        """`in_service`: LanceDB's own service keeps the table, and its indices up to date."""
        self._table, self.number, self._in_service = table, number, in_service
        self._reopen = reopen
        self._reopened: Any = None
        # at a version
        self._foreign_shares: tuple[int, Mapping[str, float]] = 0, {}
        self.made_with: dict[str, str] = json.loads(
            (table.schema.metadata or {}).get(b"ai-lessons", b"{}")
        )
        self.model = self.made_with.get("model", "")
        self.dimensions = int(self.made_with.get("dimensions", 0))

    @property
    def version(self) -> int:
        """Grows with every commit of any process."""
        return int(self._table.version)

    def add(self, rows: Sequence[Row], vectors: Mapping[str, bytes]) -> None:
        """Append rows of entries that the table does not have. Vectors by text key."""
        if rows:
            self._table.add(as_arrow(rows, vectors, self.made_with), on_bad_vectors="null")

    def finish(self) -> None:
        """Make the full-text index: from now on the table is the one in use."""
        # Positions serve phrase queries only and cost a third more; tokens over the limit are
        # silently not indexed.
        self._table.create_index(FTS_COLUMN, config=FTS(with_position=False, max_token_length=100))
        if self._in_service:
            # which makes it in the background
            self._table.wait_for_index([FTS_INDEX], SERVICE_PATIENCE)
        self.tidy(thorough=True)

    def replace(self, rows: Sequence[Row], vectors: Mapping[str, bytes]) -> None:
        """Put these rows in the place of all rows of their entries, in one commit."""
        entries = sorted({row.entry_id for row in rows})
        merge = (
            self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        )
        merge.when_not_matched_by_source_delete(one_of("entry_id", entries)).execute(
            as_arrow(rows, vectors, self.made_with), on_bad_vectors="null"
        )

    def remove(self, entries: Iterable[str]) -> None:
        """Remove all rows of these entries, in one commit."""
        self._table.delete(one_of("entry_id", sorted(entries)))

    def set_vectors(self, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Fill in (row id, text key, packed vector), in one commit.

        Rows whose text changed meanwhile stay.
        """
        ids, keys, packed = zip(*vectors, strict=True)
        column = vector_column(packed, self.dimensions)
        source = pa.table({"id": pa.array(ids), "text_key": pa.array(keys), "vector": column})
        merge = self._table.merge_insert("id").when_matched_update_all(
            where="target.text_key = source.text_key"
        )
        merge.execute(source, on_bad_vectors="null")

    def fingerprints(self) -> dict[str, str]:
        """The fingerprint that every entry was indexed with.

        Reads two columns of the whole table.
        """
        rows = self.select("true", "entry_id", "row_hash")
        return dict(zip(rows["entry_id"].to_pylist(), rows["row_hash"].to_pylist(), strict=True))

    def vectors(self) -> Iterator[list[tuple[str, bytes]]]:
        """All vectors as (text key, packed vector), in parts."""
        search = self._table.search().where("vector IS NOT NULL").select(["text_key", "vector"])
        for batch in search.limit(max(1, self.count())).to_batches(TABLE.rows_at_once):
            halves = batch.column("vector").flatten().cast(pa.float16())
            width = 2 * self.dimensions
            packed = halves.buffers()[1].to_pybytes()[2 * halves.offset :]
            keys = batch.column("text_key").to_pylist()
            yield [(key, packed[n * width : (n + 1) * width]) for n, key in enumerate(keys)]

    def take(self, other: Passages) -> Iterator[int]:
        """Append all rows of another table in parts; how many there are after each."""
        done, names = 0, schema(self.made_with).names
        search = other._table.search().select(names).limit(max(1, other.count()))
        for batch in search.to_batches(TABLE.rows_at_once):
            self._table.add(pa.Table.from_batches([batch]).select(names), on_bad_vectors="null")
            done += batch.num_rows
            yield done

    def lacking(self) -> list[tuple[str, str, str]]:
        """(row id, text key, entry id) of all rows that have no vector yet."""
        columns = self.select("vector IS NULL", "id", "text_key", "entry_id").columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    def embedded_texts(self, ids: Sequence[str]) -> dict[str, str]:
        """What is embedded of these rows, by row id."""
        if not ids:
            return {}
        columns = self.select(
            one_of("id", ids), "id", "title", "heading", "text", limit=len(ids)
        ).columns
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        by_key: dict[str, str] = {}
        for row, *texts in rows:
            by_key[row] = embedded_text(*texts)
        return by_key

    def keys_with_vector(self) -> list[tuple[str, str]]:
        """(entry id, text key) of all rows that have a vector."""
        columns = self.select("vector IS NOT NULL", "entry_id", "text_key").columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    def count(self, where: str | None = None) -> int:
        """How many rows there are, or how many fulfil a condition."""
        return int(self._table.count_rows(where))

    def missing(self) -> int:
        """How many rows have no vector yet."""
        return self.count("vector IS NULL")

    def by_text(self, text: str, where: str, depth: int) -> Callable[[], tuple[Match, ...]]:
        """Passages by BM25, best first.

        The question is on its way, and what is returned waits for the answer.

        `text` is data, never a query language.
        """
        asked = asked_words(text, self._foreign)
        future = asyncio.run_coroutine_threadsafe(
            self._by_text(asked, where, depth, HIT), LOOP.loop
        )
        return lambda: _hits(rows := future.result(), rows.column("_score").to_pylist())

    def rows_by_text(
        self, text: str, where: str, depth: int
    ) -> Callable[[], list[tuple[int, float]]]:
        """As `by_text`, but (row, score) in any order, for callers that hold the rows.

        Each that is read costs time.
        """
        asked = asked_words(text, self._foreign)
        future = asyncio.run_coroutine_threadsafe(self._by_text(asked, where, depth, ()), LOOP.loop)

        def answer() -> list[tuple[int, float]]:
            rows = future.result()
            return list(zip(rows["_rowid"].to_pylist(), rows["_score"].to_pylist(), strict=True))

        return answer

    def _foreign(self) -> Mapping[str, float]:
        """The share of all passages that is in a language besides English, of those in Latin letters."""
        version = self.version
        if self._foreign_shares[0] != version:
            spoken = Counter(self.select("spoken <> ''", "spoken").column("spoken").to_pylist())
            rows = max(self.count(), 1)
            self._foreign_shares = (
                version,
                {languages: count / rows for languages, count in spoken.items()},
            )
        return self._foreign_shares[1]

    async def _by_text(
        self, asked: Sequence[tuple[str, float]], where: str, depth: int, columns: Sequence[str]
    ) -> pa.Table:
        # the synchronous way takes half as long again: it goes to and fro between two threads
        if self._reopened is None:
            self._reopened = await self._reopen(self._table.name)
        words = [
            MatchQuery(words, column=FTS_COLUMN, boost=weight)  # type: ignore[call-arg]  # pydantic's defaults
            for words, weight in asked
        ]
        match = (
            BooleanQuery([(Occur.SHOULD, word) for word in words]) if len(words) > 1 else words[0]
        )
        query = self._reopened.query().nearest_to_text(match)
        query = (query.where(where) if where else query).select([*columns, "_score"]).limit(depth)
        return await query.with_row_id().to_arrow()

    def holding(self, hits: tuple[Match, ...], where: str, depth: int) -> tuple[Match, ...]:
        """The hits of a text search, and then what else fulfils the condition.

        Stop words alone are in no index.
        """
        seen = {(hit.entry_id, hit.ordinal) for hit in hits}
        rows = self._table.search().where(where).select(list(HIT)).limit(depth).to_list()
        matches = (Match(score=0.0, **{name: row[name] for name in HIT}) for row in rows)
        added = [hit for hit in matches if (hit.entry_id, hit.ordinal) not in seen]
        return (*hits, *sorted(added, key=lambda hit: (hit.entry_id, hit.ordinal)))[:depth]

    def by_vector(
        self, vector: Sequence[float], where: str, depth: int, *, exact: bool = False
    ) -> tuple[Match, ...]:
        """Passages by cosine similarity, best first.

        `exact`: whatever index there is, compare with every vector.
        """
        search = self._table.search(
            vector, vector_column_name="vector", query_type="vector"
        ).distance_type("cosine")
        # the index keeps 8 bits a number: twice as many of its nearest are compared again in full
        if exact:
            search = search.bypass_vector_index()
        elif self._in_service:
            # it knows its partitions, and to count rows would be one more request
            search = search.refine_factor(2)
        else:
            search = search.nprobes(self._probes()).refine_factor(2)
        if where:
            search = search.where(where, prefilter=True)
        rows = search.select([*HIT, "_distance", "vector"]).limit(depth).to_arrow()
        return _hits(rows, cosines(self._matrix(rows), vector))

    def _probes(self) -> int:
        """How many partitions a question asks.

        Of few rows all, also where most were removed since.
        """
        rows = max(1, self.count())
        if rows <= TABLE.probed:
            return rows
        return ceil(TABLE.probed / (TABLE.partitions_per_root * sqrt(rows)))

    def all_vectors(
        self, at_most: int
    ) -> tuple[list[int], Any, list[tuple[str, int, str, str, int]]] | None:
        """Rows, vectors as rows of a matrix (float32), and hits of what has a vector.

        None if more than so many.
        """
        # Vectors are asked where at least half of the passages have one. To read so many only to find
        # that there are more would cost a question to a bucket 200 MB.
        if self._in_service or self.count() > 2 * at_most:
            return None
        table = self.select("vector IS NOT NULL", "_rowid", *HIT, "vector", limit=at_most + 1)
        if table.num_rows > at_most:
            return None
        rows, *hits = (table.column(name).to_pylist() for name in ("_rowid", *HIT))
        return rows, self._matrix(table), list(zip(*hits, strict=True))

    def _matrix(self, rows: pa.Table) -> Any:
        return (
            rows.column("vector").combine_chunks().flatten().to_numpy().reshape(-1, self.dimensions)
        )

    def rows(self, where: str) -> list[int]:
        """The rows that fulfil a condition."""
        return cast("list[int]", self.select(where, "_rowid").column("_rowid").to_pylist())

    def tidy(self, *, thorough: bool = False) -> bool:
        """Merge files, bring the indices up to date and forget old versions, if it is time for it.

        The service does so itself, but for the index of vectors.
        """
        if self._in_service:
            self._index_vectors()
            return False
        statistics = self._table.stats()
        tail = self.unindexed()
        if (
            not thorough
            and tail <= TABLE.tail
            and statistics["fragment_stats"]["num_fragments"] <= TABLE.fragments
        ):
            return False
        self._table.optimize(cleanup_older_than=KEEP_VERSIONS)
        self._index_vectors()
        return True

    def _index_vectors(self) -> None:
        """Make the index of vectors where there are many, most of them computed, and no index yet."""
        rows = self.count()
        # Measured on 48,555 real vectors (8 bit a number, every partition asked, the best 2 x depth
        # compared again in full): the same answers as without an index, 13 times as fast, made in a
        # second. Product quantisation and graphs took ten times as long to make and lost some.
        if rows <= TABLE.flat or self.vectors_indexed() is not None or 2 * self.missing() > rows:
            return
        partitions = max(1, int(sqrt(rows) / TABLE.partitions_per_root))
        self._table.create_index(
            "vector", config=IvfSq(distance_type="cosine", num_partitions=partitions)
        )

    def vectors_indexed(self) -> int | None:
        """How many rows the index of vectors covers.

        None where there is none and all are compared.
        """
        statistics = self._table.index_stats(VECTOR_INDEX)
        if statistics is None:
            return None
        return int(statistics.num_indexed_rows)

    def unindexed(self) -> int:
        """Rows that the full-text index does not cover.

        They are found all the same, by reading them.
        """
        statistics = self._table.index_stats(FTS_INDEX)
        if statistics is None:
            return 0
        return int(statistics.num_unindexed_rows)

    def status(self) -> IndexStatus:
        """Sizes; the bytes are those of the newest version with its indices."""
        passages = self.count()
        return IndexStatus(
            entries=len(self.fingerprints()),
            passages=passages,
            vectors=passages - self.missing(),
            bytes=int(self._table.stats()["total_bytes"]),
            unindexed=self.unindexed(),
            indexed=self.vectors_indexed(),
            model=self.model,
        )

    def select(self, where: str, *columns: str, limit: int | None = None) -> pa.Table:
        """These columns of the rows that fulfil a condition.

        `_rowid` is one of the columns that may be asked for.
        """
        stored = [name for name in columns if name != "_rowid"] or ["id"]
        search = (
            self._table.search()
            .where(where)
            .select(stored)
            .with_row_id(with_row_id="_rowid" in columns)
        )
        if limit is None:
            limit = max(1, self.count())
        return search.limit(limit).to_arrow().select(list(columns))


def cosines(rows: Any, vector: Sequence[float]) -> list[float]:
    """The similarity of each row of a matrix to a vector.

    Independent of how the rows were found, to the last digit.
    """
    exact = rows.astype("float64")
    lengths = ((exact * exact).sum(axis=1) * sum(x * x for x in vector)) ** 0.5
    return cast("list[float]", (exact.dot(vector) / lengths.clip(1e-30)).round(9).tolist())


def _hits(rows: pa.Table, scores: Sequence[float]) -> tuple[Match, ...]:
    entries, ordinals, *texts = (rows.column(name).to_pylist() for name in HIT)
    return tuple(sorted(map(Match, entries, ordinals, scores, *texts), key=hit_order))


def hit_order(hit: Match) -> tuple[float, str, int]:
    """A key that sorts hits: best first, equal scores by entry and place."""
    return -hit.score, hit.entry_id, hit.ordinal


def made_with(model: str, dimensions: int) -> dict[str, str]:
    """What a table must have been made with to be used.

    An FTS index of an older lancedb may make it panic.
    """
    return {
        "format": str(FORMAT),
        "model": model,
        "dimensions": str(dimensions),
        "lancedb": version("lancedb"),
    }


def schema(made: Mapping[str, str]) -> pa.Schema:
    """Columns of the table. A passage without a vector yet has null there."""
    texts = (
        "project",
        "status",
        "title",
        "heading",
        "text",
        FTS_COLUMN,
        "spoken",
        "row_hash",
        "text_key",
    )
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("entry_id", pa.string(), nullable=False),
            pa.field("ordinal", pa.int32(), nullable=False),
            pa.field("section", pa.int32(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("tags", pa.list_(pa.string())),
            pa.field("versions", pa.list_(pa.string())),
            *(pa.field(name, pa.string(), nullable=False) for name in texts),
            pa.field("vector", pa.list_(pa.float32(), int(made["dimensions"]))),
        ],
        metadata={"ai-lessons": json.dumps(dict(made))},
    )


def vector_column(vectors: Sequence[bytes | None], dimensions: int) -> pa.Array:
    """Packed vectors (little-endian float16) as a column of float32.

    Anything of another length becomes null.
    """
    good = [
        vector if vector is not None and len(vector) == 2 * dimensions else None
        for vector in vectors
    ]
    data = b"".join(vector or bytes(2 * dimensions) for vector in good)
    values = pa.Array.from_buffers(pa.float16(), len(good) * dimensions, [None, pa.py_buffer(data)])
    mask = pa.array([vector is None for vector in good], type=pa.bool_())
    return pa.FixedSizeListArray.from_arrays(values.cast(pa.float32()), dimensions, mask=mask)


def as_arrow(
    rows: Sequence[Row], vectors: Mapping[str, bytes], made: Mapping[str, str]
) -> pa.Table:
    """Rows as a table made as asked; vectors (packed) by text key."""
    kinds, dimensions = schema(made), int(made["dimensions"])
    columns = []
    for column in kinds:
        if column.name == "vector":
            columns.append(vector_column([vectors.get(row.text_key) for row in rows], dimensions))
        else:
            columns.append(pa.array([getattr(row, column.name) for row in rows], type=column.type))
    return pa.Table.from_arrays(columns, schema=kinds)


# Letters of a word that may be joined of others, and of each of these
LONG_WORD, SHORT_PART = 9, 4
# bench.languages.
# Of the weight of a stem, what a word as it was typed, a part, and a kernel tell.
AS_TYPED, PART_WEIGHT, KERNEL_WEIGHT = 0.3, 0.1, 0.6

# Marks of a stem, of a part of a long word, and of the kernel of a stem.
# No word of a text ends so.
_STEM, _PART, _KERNEL = "0f0", "0p0", "0k0"


@cache
def _letters() -> re.Pattern[str]:
    """Words of three letters or more, not parts of names such as `utf8` and `snake_case`."""
    return re.compile(rf"(?<![0-9A-Za-z_\u00c0-\u1dff])(?:(?!{CJK})[^\W\d_]){{3,}}(?!(?!{CJK})\w)")


def stored_words(text: str, spoken: Sequence[str]) -> str:
    """A text as the full-text index holds it.

    `with_parts`, and the stems of words that are not English.

    The index stems English itself. `spoken` are the other languages of a text in Latin letters.
    """
    plain = with_parts(text)
    if not spoken and not re.search("[\u0370-\u1dff]", text):
        return plain
    forms: dict[str, None] = {}
    for match in _letters().finditer(composed(text).lower()):
        for language in _tongues(match[0], spoken):
            forms[stem(match[0], language) + _STEM] = forms[
                kernel(match[0], language) + _KERNEL
            ] = None
            for start, end in _cuts(match[0]) if language in JOINING else ():
                forms[start + _PART] = forms[stem(end, language) + _PART] = None
    return f"{plain}\n{fold(' '.join(forms))}"


def asked_words(
    question: str, foreign: Callable[[], Mapping[str, float]]
) -> list[tuple[str, float]]:
    """What to ask the full-text index, each with its weight.

    Words as typed, stems, their kernels, and parts of words.

    Stems of words in Latin letters tell as much as it is likely that the question is not in
    English: where its frequent words do not tell, by the share of texts that are `foreign`. In a
    store of English a stem of another language is rare, and would count for much.
    """
    words = dict.fromkeys(_letters().findall(composed(question).lower()))
    spoken = languages(question)
    if (not spoken or "other" in spoken) and LOST.isdisjoint(question.lower().split()):
        stored = foreign()
    else:
        stored = {}
    if spoken:
        likely = 1.0
    else:
        likely = sum(stored.values())
    tongues = sorted({*spoken, *(language for names in stored for language in names.split())})
    script_stems, script_kernels, stems, kernels, parts = (dict[str, None]() for _ in range(5))
    typed = list[str]()
    for word in words:
        if script_language(word):
            for language in _tongues(word, ()):
                script_stems[stem(word, language) + _STEM] = script_kernels[
                    kernel(word, language) + _KERNEL
                ] = None
            typed.append(word)
            continue
        for language in _tongues(word, tongues) if likely else ():
            stems[stem(word, language) + _STEM] = kernels[kernel(word, language) + _KERNEL] = None
            if language in JOINING:
                parts[stem(word, language) + _PART] = None
                parts.update(
                    (stem(part, language) + _STEM, None) for cut in _cuts(word) for part in cut
                )
    plain = _letters().sub(
        lambda word: " " if script_language(word[0].lower()) else word[0], with_parts(question)
    )
    asked = [
        (plain, 1 - (1 - AS_TYPED) * likely),
        (" ".join(script_stems), 1.0),
        (" ".join(stems), likely),
    ]
    asked += [
        (" ".join(script_kernels), KERNEL_WEIGHT),
        (" ".join(kernels), KERNEL_WEIGHT * likely),
    ]
    asked += [(" ".join(parts), PART_WEIGHT * likely), (" ".join(typed), PART_WEIGHT)]
    return [(fold(text), weight) for text, weight in asked if text.strip()] or [(question, 1.0)]


def _tongues(word: str, spoken: Sequence[str]) -> list[str]:
    """The languages whose stems stand for a word; none for a word that is left as it is."""
    if word in LOST:
        script = ""
    else:
        script = script_language(word)
    if script:
        return [script]
    return [language for language in spoken if not is_frequent(word, language)]


def _cuts(word: str) -> list[tuple[str, str]]:
    """The two parts of a long word, for each place where they may be joined."""
    places = range(SHORT_PART, len(word) - SHORT_PART + 1) if len(word) >= LONG_WORD else ()
    return [(word[:place], word[place:]) for place in places]


def rows_of(entry: EntryRows, model: str) -> Iterator[Row]:
    """The rows of an entry, at least one: an entry without text is found by its title."""
    passages = {}
    for passage in entry.passages:
        passages[passage.ordinal] = (passage.heading, passage.text, passage.section)
    spoken = languages("\n".join((entry.title, *(text for _, text, _ in passages.values()))))
    for place, (ordinal, (heading, text, section)) in enumerate(
        sorted(passages.items()) or [(0, ("", "", 0))]
    ):
        whole = embedded_text(entry.title, heading, text)
        # Blanks in a line from which on its language counts beside another one around it
        sentences = (line for line in text.split("\n") if line.count(" ") >= 7)
        tongues = (
            languages(text)
            or sorted({name for line in sentences for name in languages(line)})
            or spoken
        )
        yield Row(
            id=f"{entry.id}:{place}",
            entry_id=entry.id,
            ordinal=ordinal,
            section=section,
            kind=entry.kind,
            project=entry.project,
            tags=entry.tags,
            versions=entry.versions,
            status=entry.status,
            title=entry.title,
            heading=heading,
            text=text,
            fts_text=stored_words(whole, tongues),
            spoken=" ".join(tongues),
            row_hash=entry.fingerprint,
            text_key=vector_key(model, whole),
        )
