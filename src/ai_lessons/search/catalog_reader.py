"""What is asked of one catalog, or of those of several tiers as one.

Begin with `CatalogReader.select`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ai_lessons.errors import UsageError
from ai_lessons.model.entries import Doubts, Edge, EntrySummary, Filter, Kind, Origin, Stated
from ai_lessons.search.catalog_records import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ai_lessons.model.failures import Shape
    from ai_lessons.search.terms import Posting

T = TypeVar("T")
_KINDS = {kind.value: kind for kind in Kind}
# What is compared, and in which direction
_ORDERS = {
    "newest": ("created", "id", "DESC"),
    "created": ("created", "id", "ASC"),
    "title": ("lower(title)", "id", "ASC"),
    "path": ("path", "id", "ASC"),
    "firm": ("json_extract(summary, '$.firm') IS 1", "created", "id", "DESC"),
}
_CONDITIONS = {
    "kinds": "kind IN (SELECT value FROM json_each(:kinds))",
    "project": "project = :project",
    "status": "status = :status",
    "tags": """key IN (
        SELECT key FROM tags WHERE tag IN (SELECT value FROM json_each(:tags))
        GROUP BY key HAVING count(*) = json_array_length(:tags))""",
    "versions": """key IN (
        SELECT key FROM versions WHERE version IN (SELECT value FROM json_each(:versions))
        GROUP BY key HAVING count(*) = json_array_length(:versions))""",
    "since": "(created >= :since OR created = substr(:since, 1, 10))",  # a person may write a day alone
    "without": (
        "key NOT IN (SELECT key FROM shown WHERE id IN (SELECT value FROM json_each(:without)))"
    ),
    "scopes": """CASE WHEN instr(summary, '"scope":') THEN json_extract(summary, '$.scope') ELSE '' END
        IN (SELECT value FROM json_each(:scopes))""",
    "title": "title = :title COLLATE NOCASE",
    "category": (
        "CASE WHEN instr(summary, '\"category\":') THEN json_extract(summary, '$.category') "
        "END = :category"
    ),
}

_SUMMARY = "id, handle, kind, title, project, tags, versions, path, snippet, summary, :tier"
# a match in the text leaves few rows to parse; the parsed fields decide
_LIKELY_FILES = """
status = 'active' AND kind IN (SELECT value FROM json_each(:kinds)) AND instr(summary, '"applies_to":')
"""
_LIKELY_COMMANDS = """
status = 'active' AND kind IN ('lesson', 'rule')
AND (instr(title, '`') OR instr(summary, '"commands":') OR kind = 'lesson' AND instr(summary, '"pattern":')
OR title LIKE '%never %' OR title LIKE '%not %' OR title LIKE '%don_t %' OR title LIKE '%no %')
"""

_HOLDING = """
status = 'active' AND key IN (SELECT key FROM terms WHERE term IN (SELECT value FROM json_each(:terms))
GROUP BY key HAVING count(*) = :number)
"""
BY_IDS = "id IN (SELECT value FROM json_each(:ids))"


class Tally(NamedTuple):
    """How many entries carry a tag or version or lie in a project, by kind."""

    name: str
    total: int
    by_kind: Mapping[str, int]


class TierCatalog(Protocol):
    """One of the catalogs that a reader asks: its rows, and a number that moves with every write."""

    tier: str

    @property
    def generation(self) -> int:
        """Differs after every write."""

    def rows(self, query: str, values: Any = ()) -> list[Any]:
        """What a query finds."""


class CatalogReader:
    """What is asked of one catalog or of several as one.

    Of entries with the same id that of the first is taken.
    """

    def __init__(self, tiers: Sequence[TierCatalog]) -> None:
        self.tiers = tuple(tiers)
        self._memory: tuple[list[int], dict[object, Any]] = ([], {})

    def _once(self, key: object, make: Callable[[], T]) -> T:
        """A value that many questions need, kept until a catalog is written."""
        now = [catalog.generation for catalog in self.tiers]
        if self._memory[0] != now:
            self._memory = now, {}
        if key not in self._memory[1]:
            self._memory[1][key] = make()
        value: T = self._memory[1][key]
        return value

    def _select(self, query: str, same: int = 0, /, **values: object) -> list[Any]:
        """The rows of all tiers.

        Of those that agree in their first columns (so many as `same`) the nearest's only.
        """
        rows: list[Any] = []
        for catalog in self.tiers:
            rows += catalog.rows(query, values | {"tier": catalog.tier})
        if len(self.tiers) == 1 or not same:
            return rows
        by_columns: dict[object, Any] = {}
        for row in rows:
            # the nearest tier comes first
            by_columns.setdefault(row[:same], row)
        return list(by_columns.values())

    def select(self, entry_filter: Filter) -> list[EntrySummary]:
        """The entries that pass a filter, in its order, with handles that are unique in their repository.

        Raises UsageError: an unknown order.
        """
        if entry_filter.sort not in _ORDERS:
            raise UsageError(
                f"no order {entry_filter.sort!r}", hint="one of: " + ", ".join(_ORDERS)
            )
        *keys, direction = _ORDERS[entry_filter.sort]
        values, limit = _values(entry_filter), entry_filter.limit
        several = len(self.tiers) > 1
        columns = _SUMMARY
        if several:
            # what SQL compares, for the order of all
            columns = ", ".join([_SUMMARY, *keys])
        order = ", ".join(f"{key} {direction}" for key in keys)
        query = f"SELECT {columns} FROM shown WHERE {_passes(values)} ORDER BY {order} LIMIT :limit"  # noqa: S608
        rows = self._select(query, 1, **values, limit=limit or -1)
        if several:
            # each is in order: they become one by what SQL compared, the last columns
            rows.sort(key=lambda row: row[-len(keys) :], reverse=direction == "DESC")
            rows = rows[: limit or None]
        return _summaries(rows)

    def count(self, entry_filter: Filter) -> int:
        """How many entries pass a filter, whatever its limit.

        One that two tiers have is counted twice.
        """
        values = _values(entry_filter)
        # the view that stands in an index, unless a condition needs the whole row
        view = "counted"
        if not values.keys().isdisjoint({"scopes", "title", "category", "since"}):
            view = "shown"
        query = f"SELECT count(*) FROM {view} WHERE {_passes(values)}"  # noqa: S608
        return sum(number for (number,) in self._select(query, **values))

    def many(self, ids: Iterable[str]) -> dict[str, EntrySummary]:
        """The entries with these full ids; ids that do not exist are left out."""
        summaries = self._entries(BY_IDS, ids=json.dumps(list(ids)))
        return {summary.id: summary for summary in summaries}

    def openings(self, ids: Iterable[str]) -> dict[str, str]:
        """How the texts of these lessons and rules begin, by id.

        What stands before a failure that they keep.
        """
        query = f"SELECT id, opening FROM shown JOIN fields USING (key) WHERE {BY_IDS}"  # noqa: S608 - our own words
        return dict(self._select(query, 1, ids=json.dumps(list(ids))))

    def failures(self) -> list[tuple[str, Shape]]:
        """The id of every entry that keeps a failure and is not wrong, and its shape.

        One row for each failure.
        """
        query = "SELECT id, words FROM failures JOIN shown USING (key) WHERE status <> 'wrong'"

        def read() -> list[tuple[str, Shape]]:
            failures: list[tuple[str, Shape]] = []
            for entry_id, words in self._select(query):
                shape = tuple(frozenset(line.split()) for line in words.split("\n"))
                failures.append((entry_id, shape))
            return failures

        return self._once("failures", read)

    def facts(self, feature: str) -> Mapping[str, Mapping[str, Any]]:
        """What a feature keeps of entries that are shown, by their ids.

        See `catalog_update.facts_of_features`.
        """
        query = "SELECT id, facts FROM facts JOIN shown USING (key) WHERE feature = :feature"

        def read() -> Mapping[str, Mapping[str, Any]]:
            rows = self._select(query, 1, feature=feature)
            return {entry_id: json.loads(text) for entry_id, text in rows}

        return self._once(("facts", feature), read)

    def postings(self, terms: Sequence[str]) -> tuple[list[Posting], int]:
        """Which active lessons and rules hold these words, and how many there are in all."""
        from ai_lessons.search.terms import Posting  # noqa: PLC0415  # lists do without

        kinds = "status = 'active' AND kind IN ('lesson', 'rule')"
        rows = self._select(
            "SELECT term, id, times, length FROM terms JOIN shown USING (key) JOIN fields USING (key)"  # noqa: S608
            f" WHERE term IN (SELECT value FROM json_each(:terms)) AND {kinds}",
            2,
            terms=json.dumps(terms),
        )
        counted = self._select(f"SELECT count(*) FROM counted WHERE {kinds}")  # noqa: S608 - our own words
        return list(map(Posting._make, rows)), sum(number for (number,) in counted)

    def holding(self, terms: Sequence[str]) -> list[EntrySummary]:
        """The active lessons and rules that hold every one of these words, see `search.terms`.

        The newest first.
        """
        distinct = sorted(set(terms))
        query = f"{_HOLDING} ORDER BY created DESC, id DESC"
        return self._entries(query, terms=json.dumps(distinct), number=len(distinct))

    def with_globs(self, kinds: Collection[str]) -> list[EntrySummary]:
        """The active entries of these kinds that state globs of files."""

        def read() -> list[EntrySummary]:
            summaries = self._entries(_LIKELY_FILES, kinds=_array(kinds) or "[]")
            # the query only looked for the name of the key
            return [summary for summary in summaries if summary.stated.applies_to]

        return self._once(("files", frozenset(kinds)), read)

    def about_commands(self) -> list[EntrySummary]:
        """The active rules and lessons that may name a command."""
        return self._once("commands", lambda: self._entries(_LIKELY_COMMANDS))

    def tags(self) -> list[Tally]:
        """The tags of active entries, most used first."""
        return self._tallies("SELECT tag, kind, count(*) FROM shown JOIN tags USING (key)")

    def versions(self, project: str | None = None) -> list[Tally]:
        """The versions of active entries, of one project or all, most used first."""
        query, only = "SELECT version, kind, count(*) FROM shown JOIN versions USING (key)", ""
        if project is not None:
            only = "AND project = :project"
        return self._tallies(query, only, project=project)

    def versions_of_projects(self) -> Mapping[str, frozenset[str]]:
        """The versions of active entries, by project; projects without any are left out."""
        query = "SELECT DISTINCT project, version FROM shown JOIN versions USING (key) WHERE status = 'active'"

        def read() -> Mapping[str, frozenset[str]]:
            versions: dict[str, set[str]] = {}
            for project, version in self._select(query):
                versions.setdefault(project, set()).add(version)
            return {project: frozenset(names) for project, names in sorted(versions.items())}

        return self._once("versions", read)

    def projects(self) -> list[Tally]:
        """The projects of active entries, largest first."""
        return self._once(
            "projects", lambda: self._tallies("SELECT project, kind, count(*) FROM shown")
        )

    def _tallies(self, query: str, only: str = "", **values: object) -> list[Tally]:
        by_name: dict[str, Counter[str]] = {}
        grouped = f"{query} WHERE status = 'active' {only} GROUP BY 1, 2"
        for name, kind, number in self._select(grouped, **values):
            # of several tiers the numbers add up
            by_name.setdefault(name, Counter())[kind] += number
        tallies = [Tally(name, kinds.total(), dict(kinds)) for name, kinds in by_name.items()]
        return sorted(tallies, key=lambda tally: (-tally.total, tally.name))

    def edges(self, entry_id: str | None = None) -> list[Edge]:
        """The links that start or end at an entry, or the whole graph.

        Says nothing of which hold both ways.
        """

        def read(where: str = "TRUE") -> list[Edge]:
            query = f"SELECT id, relation, target, weight FROM links JOIN shown USING (key) WHERE {where}"  # noqa: S608
            rows = self._select(f"{query} ORDER BY id, relation, target", 4, id=entry_id)
            return [Edge(*row) for row in rows]

        if entry_id is None:
            return self._once("edges", read)
        # two queries, because each of them has an index
        ends = "id = :id", "target = :id AND id <> :id"
        return self._once(("edges", entry_id), lambda: list(chain.from_iterable(map(read, ends))))

    def complete(self, what: str, prefix: str, limit: int = 50) -> list[tuple[str, str]]:
        """Values of `what` that start with `prefix`, each with a word of help, for the completion of a shell.

        `what` is `id` (handles, by kind letter and beginning; without a letter any handle's end), `project`, `tag`,
        `version`; anything else has no values.
        """
        like = re.sub(r"([\\%_])", r"\\\1", prefix) + "%"
        if what == "id":
            query = _HANDLES
        elif what in _COUNTED:
            query = f"SELECT {what}, count(*) || ' entries' FROM {_COUNTED[what]} WHERE {what} LIKE :like ESCAPE '\\'"  # noqa: S608
            query += " GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT :limit"
        else:
            return []
        return self._select(query, 1, like=like, limit=limit)[:limit]

    def _entries(self, where: str, **values: object) -> list[EntrySummary]:
        return _summaries(self._select(f"SELECT {_SUMMARY} FROM shown WHERE {where}", 1, **values))  # noqa: S608


def _summaries(rows: Sequence[Any]) -> list[EntrySummary]:
    """The entries of rows that begin with `_SUMMARY`."""
    # One JSON text for all rows: half the time of one parse a row, and lists of 10,000 must be
    # quick.
    fields = json.loads(f"[{','.join(row[9] for row in rows)}]")
    summaries: list[EntrySummary] = []
    for row, stated in zip(rows, fields, strict=True):
        summaries.append(
            EntrySummary(
                row[0],
                row[1],
                _KINDS[row[2]],
                row[3],
                row[4],
                tuple(row[5].split(SEPARATOR)) if row[5] else (),
                tuple(row[6].split(SEPARATOR)) if row[6] else (),
                row[7],
                row[8],
                row[10],
                **in_parts(stated),
            )
        )
    return summaries


# Parts of a summary, each with the fields that it has
_PARTS = {"stated": Stated, "origin": Origin, "doubts": Doubts}
_PART_OF = {
    **dict.fromkeys(Stated._fields, "stated"),
    **dict.fromkeys(Origin._fields, "origin"),
    **dict.fromkeys(Doubts._fields, "doubts"),
}


def in_parts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a summary as they are kept, with those of a part together in it."""
    grouped: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for field, value in fields.items():
        part = _PART_OF.get(field)
        if part is None:
            grouped[field] = value
        else:
            parts.setdefault(part, {})[field] = value
    for part, values in parts.items():
        grouped[part] = _PARTS[part](**values)
    return grouped


def _passes(values: Mapping[str, str | int]) -> str:
    """The conditions for these values, and no others: each costs time for every row."""
    return " AND ".join(_CONDITIONS[name] for name in values) or "TRUE"


def _values(entry_filter: Filter) -> dict[str, str | int]:
    """The values of a filter, by the name of their condition."""
    values: dict[str, str | int] = {}
    for name in _CONDITIONS:
        value = getattr(entry_filter, name)
        if value is not None and not isinstance(value, str):
            value = _array(value)
        if value is not None:
            values[name] = value
    return values


def _array(values: Iterable[str]) -> str | None:
    distinct = sorted(set(values))
    if distinct:
        return json.dumps(distinct)
    return None


_HANDLES = """
SELECT handle, title FROM shown WHERE handle LIKE :like ESCAPE '\\' OR substr(handle, 3) LIKE :like ESCAPE '\\'
ORDER BY status <> 'active', created DESC LIMIT :limit
"""
_COUNTED = {
    "project": "shown",
    "tag": "shown JOIN tags USING (key)",
    "version": "shown JOIN versions USING (key)",
}
