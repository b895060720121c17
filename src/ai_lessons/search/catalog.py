"""The catalog: what lists and shows need to know of every entry, up to date before each read.

What a query asks for.
"""

from __future__ import annotations

import json
import posixpath
import re
import time
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from unicodedata import normalize

from ai_lessons import extensions
from ai_lessons.errors import AmbiguousName, NotFound, Problem, UsageError
from ai_lessons.model import expression
from ai_lessons.model.entries import (
    HANDLE_LENGTH,
    Entry,
    EntrySummary,
    Filter,
    Kind,
    handle,
    handle_lengths,
)
from ai_lessons.model.links import Edge
from ai_lessons.model.versions import listed
from ai_lessons.search.catalog_update import (
    HELD,
    SEPARATOR,
    Attested,
    CatalogRecord,
    Disk,
    FolderChange,
    record,
    set_taken,
    survey,
    write_approved,
    write_folders,
)
from ai_lessons.search.database import Database, Schema, version_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.model.failures import Shape
    from ai_lessons.search.catalog_update import Elsewhere, First, Parse, Progress, Read, Scan
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
# each once, however many problems it has
UNREADABLE = """
SELECT count(DISTINCT file) FROM problems WHERE file NOT IN (SELECT path FROM entries)
"""
LEFT_OUT = (
    "SELECT DISTINCT file FROM problems WHERE file NOT IN (SELECT path FROM entries) ORDER BY file"
)
AS_TEXT = "SELECT count(DISTINCT file) FROM problems WHERE file IN (SELECT path FROM entries)"
_HOLDING = """
status = 'active' AND key IN (SELECT key FROM terms WHERE term IN (SELECT value FROM json_each(:terms))
GROUP BY key HAVING count(*) = :number)
"""
_BY_IDS = "id IN (SELECT value FROM json_each(:ids))"
_TAKEN = """
SELECT e.path, e.stated, w.path, e.handle FROM entries e JOIN entries w ON w.id = e.stated AND w.standing = 0
WHERE e.id <> e.stated
"""


PREFIXES = ("tag", "project", "kind", "type", "version")
_QUERY_TOKEN = expression(
    rf"""
    (?P<prefix>{"|".join(PREFIXES)}):
        (?: "(?P<quoted>[^"]*)"
          | (?<=version:)(?P<range>[^\s"]\S*(?:\s+(?:[<>]=?|[!=]=)\s*\d\S*)*)
          | (?P<value>[^\s"]\S*) )
    | "(?P<phrase>[^"]*)"
    | (?P<word>\S+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# the quotes that phones and word processors type
_QUOTES = str.maketrans("“”„‟", '""""')
_KIND_NAMES = {name: kind for kind in Kind for name in (kind.value, kind.folder)}


def parse_query(query: str) -> tuple[str, Filter]:
    """A query as it was typed: its words, those of phrases too, without quotes and filters.

    And these.

    Raises UsageError: a kind that does not exist, or two projects.
    """
    words: list[str] = []
    phrases: list[str] = []
    filters: dict[str, list[str]] = {}
    for token in _QUERY_TOKEN.finditer(query.translate(_QUOTES)):
        value = " ".join(
            (token["quoted"] or token["range"] or token["value"] or token["phrase"] or "").split()
        )
        # `type:ignore` and its like are what programs write; a `kind:` that does not exist is a
        # slip
        prefix = (token["prefix"] or "").lower()
        is_code = prefix == "type" and not all(
            part.casefold() in _KIND_NAMES for part in _commas(value)
        )
        if prefix and value.strip(", ") and not is_code:
            filters.setdefault(prefix, []).append(value)
        elif not prefix and any(map(str.isalnum, value)):
            phrases.append(value)
            words.append(value)
        else:
            words.append(token[0])
    return " ".join(words), Filter(
        phrases=tuple(dict.fromkeys(phrases)),
        tags=_listed(filters.get("tag", []), _commas),
        kinds=frozenset(
            map(_kind, _listed([*filters.get("kind", []), *filters.get("type", [])], _commas))
        ),
        versions=_listed(filters.get("version", []), listed),
        project=one_project(filters.get("project", [])),
    )


def gist(text: str) -> str:
    """The lines of a long output that show the error, see `transcripts.telling`.

    A short text as it is.
    """
    if len([line for line in text.splitlines() if line.strip()]) < 8:
        # few lines are a question, more are pasted
        return text
    from ai_lessons.model.failures import telling  # noqa: PLC0415 - a question is short

    return telling(text)


def one_project(names: Sequence[str]) -> str | None:
    """The project that all of these name, or None if there are none.

    Raises UsageError: they name more than one; an entry lies in one only.
    """
    if len(set(names)) > 1:
        raise UsageError(
            f"an entry lies in one project, so not in all of: {', '.join(names)}",
            hint="name one project",
        )
    if names:
        return names[0]
    return None


def _kind(name: str) -> Kind:
    kind = _KIND_NAMES.get(name.casefold())
    if kind is None:
        raise UsageError(
            f"no kind {name!r}",
            hint=f"one of: {', '.join(Kind)}; if it is text to be found, put it into quotes",
        )
    return kind


def _listed(values: Iterable[str], split: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for value in values for part in split(value)))


def _commas(text: str) -> tuple[str, ...]:
    commas = []
    for part in text.split(","):
        if part.strip():
            commas.append(part.strip())
    return tuple(commas)


class Location(NamedTuple):
    """The files of an entry and git's blob ids of what they held.

    `hash` is None for a script kept elsewhere.

    `approved` says that it is a rule in force: its text is the blob, whatever the file at `path`
    holds.
    """

    id: str
    path: str
    side_path: str | None
    hash: str | None
    side_hash: str | None
    approved: bool = False


class Tally(NamedTuple):
    """How many entries carry a tag or version or lie in a project, by kind."""

    name: str
    total: int
    by_kind: Mapping[str, int]


class Sizes(NamedTuple):
    """Counts for statistics. `files` and `bytes` are entry files, readable or not."""

    entries: Mapping[str, int] = MappingProxyType({})
    projects: int = 0
    tags: int = 0
    files: int = 0
    bytes: int = 0
    unreadable: int = 0
    oldest: str | None = None
    newest: str | None = None


class CatalogReader:
    """What is asked of one catalog or of several as one.

    Of entries with the same id that of the first is taken.
    """

    def __init__(self, tiers: Sequence[Catalog]) -> None:
        self.tiers = tuple(tiers)
        self._memory: tuple[list[int], dict[object, Any]] = ([], {})

    def _once(self, key: object, make: Callable[[], T]) -> T:
        """A value that many questions need, kept until a catalog is written."""
        now = []
        for catalog in self.tiers:
            now.append(catalog.generation)
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
        nearest, *farther = (
            catalog.rows(query, values | {"tier": catalog.tier}) for catalog in self.tiers
        )
        if not farther:
            return nearest
        rows = [*nearest, *(row for tier in farther for row in tier)]
        by_columns: dict[object, Any] = {}
        for row in rows if same else ():
            by_columns.setdefault(row[:same], row)
        if same:
            return list(by_columns.values())
        return rows

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
        columns = ", ".join([_SUMMARY, *keys] if several else [_SUMMARY])
        order = ", ".join(f"{key} {direction}" for key in keys)
        query = f"SELECT {columns} FROM shown WHERE {_passes(values)} ORDER BY {order} LIMIT :limit"  # noqa: S608
        rows = self._select(query, 1, **values, limit=limit or -1)
        if several:
            # each is in order: they become one by what SQL compared, the last columns
            rows = sorted(rows, key=lambda row: row[-len(keys) :], reverse=direction == "DESC")[
                : limit or None
            ]
        return _summaries(rows)

    def count(self, entry_filter: Filter) -> int:
        """How many entries pass a filter, whatever its limit.

        One that two tiers have is counted twice.
        """
        values = _values(entry_filter)
        whole = (
            entry_filter.scopes or entry_filter.title or entry_filter.category or entry_filter.since
        )
        query = f"SELECT count(*) FROM {'shown' if whole else 'counted'} WHERE {_passes(values)}"  # noqa: S608
        return sum(number for (number,) in self._select(query, **values))

    def many(self, ids: Iterable[str]) -> dict[str, EntrySummary]:
        """The entries with these full ids; ids that do not exist are left out."""
        by_key: dict[str, EntrySummary] = {}
        for summary in self._entries(_BY_IDS, ids=json.dumps(list(ids))):
            by_key[summary.id] = summary
        return by_key

    def openings(self, ids: Iterable[str]) -> dict[str, str]:
        """How the texts of these lessons and rules begin, by id.

        What stands before a failure that they keep.
        """
        query = f"SELECT id, opening FROM shown JOIN fields USING (key) WHERE {_BY_IDS}"  # noqa: S608 - our own words
        return dict(self._select(query, 1, ids=json.dumps(list(ids))))

    def failures(self) -> list[tuple[str, Shape]]:
        """The id of every entry that keeps a failure and is not wrong, and its shape.

        One row for each failure.
        """
        query = "SELECT id, words FROM failures JOIN shown USING (key) WHERE status <> 'wrong'"

        def read() -> list[tuple[str, Shape]]:
            rows = self._select(query)
            results: list[tuple[str, Shape]] = []
            for entry, words in rows:
                results.append(
                    (entry, tuple(frozenset(line.split()) for line in words.split("\n")))
                )
            return results

        return self._once("failures", read)

    def facts(self, feature: str) -> Mapping[str, Mapping[str, Any]]:
        """What a feature keeps of entries that are shown, by their ids.

        See `catalog_update.facts_of_features`.
        """
        query = "SELECT id, facts FROM facts JOIN shown USING (key) WHERE feature = :feature"

        def read() -> Mapping[str, Mapping[str, Any]]:
            rows = self._select(query, 1, feature=feature)
            by_key = {}
            for entry_id, text in rows:
                by_key[entry_id] = json.loads(text)
            return by_key

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
            results: list[EntrySummary] = []
            for summary in summaries:
                if summary.applies_to:
                    results.append(summary)
            return results

        return self._once(("files", frozenset(kinds)), read)

    def about_commands(self) -> list[EntrySummary]:
        """The active rules and lessons that may name a command."""
        return self._once("commands", lambda: self._entries(_LIKELY_COMMANDS))

    def with_checks(self) -> list[EntrySummary]:
        """The rules in force that state a check."""

        def read() -> list[EntrySummary]:
            summaries = self.select(Filter(kinds=frozenset({Kind.RULE})))
            results: list[EntrySummary] = []
            for summary in summaries:
                if summary.check:
                    results.append(summary)
            return results

        return self._once("checks", read)

    def tags(self) -> list[Tally]:
        """The tags of active entries, most used first."""
        return self._tallies("SELECT tag, kind, count(*) FROM shown JOIN tags USING (key)")

    def versions(self, project: str | None = None) -> list[Tally]:
        """The versions of active entries, of one project or all, most used first."""
        query, only = (
            "SELECT version, kind, count(*) FROM shown JOIN versions USING (key)",
            "AND project = :project",
        )
        return self._tallies(query, only if project is not None else "", project=project)

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
        for name, kind, number in self._select(
            f"{query} WHERE status = 'active' {only} GROUP BY 1, 2", **values
        ):
            by_name.setdefault(name, Counter())[kind] += number
        tallies = [Tally(name, kinds.total(), dict(kinds)) for name, kinds in by_name.items()]
        return sorted(tallies, key=lambda tally: (-tally.total, tally.name))

    def edges(self, entry_id: str | None = None) -> list[Edge]:
        """The links that start or end at an entry, or the whole graph.

        Says nothing of which hold both ways.
        """

        def read(where: str = "TRUE") -> list[Edge]:
            query = f"SELECT id, relation, target, weight FROM links JOIN shown USING (key) WHERE {where}"  # noqa: S608
            results: list[Edge] = []
            for row in self._select(f"{query} ORDER BY id, relation, target", 4, id=entry_id):
                results.append(Edge(*row))
            return results

        ends = ("TRUE",) if entry_id is None else ("id = :id", "target = :id AND id <> :id")
        return self._once(("edges", entry_id), lambda: [edge for end in ends for edge in read(end)])

    def complete(self, what: str, prefix: str, limit: int = 50) -> list[tuple[str, str]]:
        """Values of `what` that start with `prefix`, each with a word of help, for the completion of a shell.

        `what` is `id` (handles, by kind letter and beginning; without a letter any handle's end), `project`, `tag`,
        `version`; anything else has no values.
        """
        like = re.sub(r"([\\%_])", r"\\\1", prefix) + "%"
        if what == "id":
            query = _HANDLES
        else:
            query = ""
        if what in _COUNTED:
            query = f"SELECT {what}, count(*) || ' entries' FROM {_COUNTED[what]} WHERE {what} LIKE :like ESCAPE '\\'"  # noqa: S608
            query += " GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT :limit"
        if query:
            return self._select(query, 1, like=like, limit=limit)[:limit]
        return []

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
                **stated,
            )
        )
    return summaries


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


_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE folders (folder TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    folder TEXT NOT NULL, name TEXT NOT NULL,
    mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    mode INTEGER NOT NULL, racy INTEGER NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (folder, name)
) WITHOUT ROWID;
CREATE TABLE problems (file TEXT NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL, message TEXT NOT NULL);
CREATE INDEX problems_file ON problems (file);
-- scripts that are kept where they are: the file that describes each, and the stamp of its code when that was read
CREATE TABLE elsewhere (file TEXT PRIMARY KEY, id TEXT NOT NULL, path TEXT NOT NULL, stamp TEXT NOT NULL) WITHOUT ROWID;

-- standing: 0 shown; 1 a rule of the working tree, which counts only as approved; 2 what another tier shows as well.
-- stated: the id that the text states; id: the one that the entry goes by, another one where that is taken.
-- The check is the wall: no statement, however wrong, can show a rule that did not come from the approval branch.
CREATE TABLE entries (
    key INTEGER PRIMARY KEY,
    source TEXT NOT NULL CHECK (source IN ('files', 'approved')),
    file TEXT NOT NULL,
    standing INTEGER NOT NULL CHECK (standing <> 0 OR kind <> 'rule' OR source = 'approved'),
    stated TEXT NOT NULL, id TEXT NOT NULL, tail TEXT NOT NULL, handle TEXT NOT NULL, kind TEXT NOT NULL,
    project TEXT NOT NULL, path TEXT NOT NULL, side_path TEXT, status TEXT NOT NULL, created TEXT NOT NULL,
    title TEXT NOT NULL, tags TEXT NOT NULL, versions TEXT NOT NULL, snippet TEXT NOT NULL, summary TEXT NOT NULL,
    hash TEXT, side_hash TEXT, code_hash TEXT
);
CREATE UNIQUE INDEX entries_file ON entries (file, source);
CREATE INDEX entries_stated ON entries (stated);
CREATE TABLE taken (id TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX shown_id ON entries (id, hash, side_hash, code_hash, path) WHERE standing = 0;
CREATE INDEX shown_tail ON entries (tail) WHERE standing = 0;
CREATE INDEX shown_newest ON entries (created DESC, id DESC, status, kind, project) WHERE standing = 0;
CREATE INDEX shown_path ON entries (path) WHERE standing = 0;
CREATE INDEX shown_side_path ON entries (side_path) WHERE standing = 0 AND side_path IS NOT NULL;
CREATE INDEX hidden ON entries (standing) WHERE standing <> 0;
CREATE INDEX approved ON entries (id, standing, path, hash) WHERE source = 'approved';
CREATE TABLE tags (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, tag TEXT NOT NULL, PRIMARY KEY (key, tag)
) WITHOUT ROWID;
CREATE TABLE versions (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, version TEXT NOT NULL, PRIMARY KEY (key, version)
) WITHOUT ROWID;
CREATE TABLE links (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
    relation TEXT NOT NULL, target TEXT NOT NULL, weight REAL, PRIMARY KEY (key, relation, target)
) WITHOUT ROWID;
CREATE INDEX links_target ON links (target);
-- the whole frontmatter as JSON and how the text begins, apart from the entries, so that lists do not read past it
CREATE TABLE fields (
    key INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE, fields TEXT NOT NULL, opening TEXT NOT NULL,
    length INTEGER NOT NULL
);
-- the words of lessons and rules, see `search.terms`; `length` above is their number
CREATE TABLE terms (
    term TEXT NOT NULL, key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, times INTEGER NOT NULL,
    PRIMARY KEY (term, key)
) WITHOUT ROWID;
CREATE INDEX terms_key ON terms (key);
-- what features keep of an entry: a JSON object each, see `extensions.Feature.facts`
CREATE TABLE facts (
    key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, feature TEXT NOT NULL, facts TEXT NOT NULL,
    PRIMARY KEY (feature, key)
) WITHOUT ROWID;
CREATE INDEX facts_key ON facts (key);
-- the shapes of failures that entries keep: lines of words
CREATE TABLE failures (key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, words TEXT NOT NULL);
CREATE INDEX failures_key ON failures (key);
CREATE VIEW shown AS SELECT * FROM entries WHERE standing = 0;
-- the same entries with what filters ask for: it stands in the index, so that no row is read only to be counted
CREATE VIEW counted AS SELECT key, status, kind, project FROM entries INDEXED BY shown_newest WHERE standing = 0;
"""

_UNATTESTED = """
SELECT id FROM shown WHERE kind = 'lesson' AND NOT instr(summary, '"stated_by":') AND (
    instr(summary, '"from_":"user"') OR instr(summary, '"start":')
    OR key IN (SELECT key FROM facts WHERE feature IN (SELECT value FROM json_each(:telling)))
)
"""

_STATED = """
UPDATE entries SET summary = json_set(summary, '$.stated_by', ?, '$.firm', ?) WHERE id = ? AND standing = 0
"""
_UNPROVEN = """
UPDATE entries SET summary = json_remove(summary, '$.start') WHERE id = ? AND standing = 0
"""
_CLAIMS_NOTHING = """
UPDATE facts SET facts = '{}' WHERE feature = :feature AND key IN (SELECT key FROM shown WHERE id = :id)
"""

# Entries that a hint names: they fit into a line or two
SUGGESTIONS = 5
_LETTERS = {kind.letter: kind.value for kind in Kind}
_HANDLE = rf"(?:([{''.join(_LETTERS)}])-)?([0-9A-Z]{{1,26}})"
# Letters that no id has, and what Crockford's base 32 takes them for
_MISREAD = str.maketrans("ILO", "110")

_HANDLES = """
SELECT handle, title FROM shown WHERE handle LIKE :like ESCAPE '\\' OR substr(handle, 3) LIKE :like ESCAPE '\\'
ORDER BY status <> 'active', created DESC LIMIT :limit
"""
_COUNTED = {
    "project": "shown",
    "tag": "shown JOIN tags USING (key)",
    "version": "shown JOIN versions USING (key)",
}

# Raise it when the same file would be read into another entry, or a table is filled in another way
VERSION = 26


def schema() -> Schema:
    """The tables, of a version that also differs where a feature came, went, or keeps other facts."""
    kept = sorted(
        f"{feature.name} {feature.facts_version}" for feature in extensions.rows() if feature.facts
    )
    return Schema("catalog", _TABLES, version_of("\n".join([_TABLES, *kept]), VERSION))


def _telling() -> list[str]:
    """The features whose facts are claims, see `extensions.Feature.tells`."""
    return [feature.name for feature in extensions.rows() if feature.tells]


class CatalogRefresh(NamedTuple):
    """What a refresh found: how many files give no entry, and how many only their text (`as_text`).

    `rebuilt` is a sentence for the user where the catalog had to be made anew or is kept in memory,
    else empty. `left`: so many entries were not read yet, because the caller's time was over.
    """

    generation: int
    unreadable: int = 0
    as_text: int = 0
    rebuilt: str = ""
    left: int = 0


class _Nowhere:
    """No code of scripts outside of the repository."""

    def stamp(self, _entry_id: str, _path: str) -> str:
        return ""

    def code(self, _entry_id: str, _path: str) -> bytes:
        return b""

    def shown(self, entry: Entry) -> Entry:
        return entry


# entries that are read and written together where the caller's time may be over
AT_ONCE = 500


class Catalog(Database, CatalogReader):
    """One catalog file, opened. A damaged file is replaced and filled again.

    `first`: of some files those in HEAD, the first to come first, asked where several state one id.
    """

    def __init__(
        self,
        path: Path,
        *,
        tier: str = "user",
        clock: Callable[[], int] = time.time_ns,
        first: First = lambda _: (),
    ) -> None:
        self.tier, self._clock, self._in_order = tier, clock, first
        self._disk: Disk | None = None
        CatalogReader.__init__(self, [self])
        Database.__init__(self, path, schema())

    @property
    def generation(self) -> int:
        """Moves with every write; a rebuilt catalog never comes back to a number it had before."""
        return int(self._meta("generation") or 0)

    def refresh(
        self,
        scan: Scan,
        read: Read,
        parse: Parse,
        progress: Progress = lambda *_: None,
        *,
        elsewhere: Elsewhere | None = None,
        is_over: Callable[[], bool] | None = None,
    ) -> CatalogRefresh:
        """Bring the catalog up to date with the files.

        `scan()` walks the folders anew each time, as `(folder, [(name, mtime_ns, ctime_ns, size,
        inode, mode)])` with UTF-8 names; `read(path)` gives bytes, NotFound where the file is gone,
        another error of ours where it cannot be read; `parse` makes an Entry of them, and is called
        only for what changed. `is_over`: whether the caller's time is over; what was read until
        then is kept, and the next refresh goes on from there. `elsewhere` leads to the code of
        scripts that are kept where they are; None: none of it is read.
        """
        self._disk = Disk(scan, read, parse, progress, elsewhere or _Nowhere())
        if is_over is None:
            return self.ask(lambda _: self._refresh())
        done = self.ask(lambda _: self._refresh(AT_ONCE))
        while done.left and not is_over():
            done = self.ask(lambda _: self._refresh(AT_ONCE))
        return done

    def set_rules_in_force(
        self, state: str, rules: Iterable[tuple[Entry, str]], *, keep: Collection[str] = ()
    ) -> CatalogRefresh:
        """Replace the rules of the approval branch, each with its blob hash.

        Earlier ones are removed, but for the ids in `keep`. `state` names what they come from, for
        `rules_state`; it is noted even where no rule changed. Rules of the working tree are never
        shown.
        """
        records = []
        for entry, blob in rules:
            records.append(record(entry, entry.path, blob, None))
        return self.ask(lambda _: self._put_rules(state, records, frozenset(keep)))

    def yield_ids(self, tiers: Sequence[Catalog]) -> None:
        """Leave their ids to the entries of these other tiers.

        What states one of them here goes by another.
        """
        if tiers:
            now = " ".join(str(catalog.generation) for catalog in (self, *tiers))
        else:
            now = ""
        if (self._meta("yielded") or "") == now:
            return
        names = "SELECT stated FROM entries UNION SELECT id FROM entries UNION SELECT id FROM taken"
        if tiers:
            here = [name for (name,) in self.rows(names)]
        else:
            here = []
        taken = {}
        for catalog in reversed(tiers):
            for name, text in catalog.taken_of(here).items():
                taken[name] = text

        def put(_: sqlite3.Connection) -> None:
            with self.transaction() as db:
                if taken != dict(db.execute("SELECT id, text FROM taken")):
                    set_taken(db, taken, self.tier)
                    self._written()
                if tiers:
                    after = " ".join(str(catalog.generation) for catalog in (self, *tiers))
                else:
                    after = ""
                self._put_meta("yielded", after)

        self.ask(put)

    def get(self, entry_id: str) -> EntrySummary:
        """The entry with this full id. Raises NotFound."""
        if summary := self.many([entry_id]).get(entry_id):
            return summary
        raise NotFound("entry", entry_id)

    def locate(self, entry_id: str) -> Location:
        """The files of one entry. Raises NotFound."""
        if locations := self.locations([entry_id]):
            return locations[0]
        raise NotFound("entry", entry_id)

    def locations(self, ids: Iterable[str] | None = None) -> list[Location]:
        """The files of these entries, or of all."""
        query = "SELECT id, path, side_path, hash, side_hash, source = 'approved' FROM shown"
        if ids is None:
            rows = self.rows(query)
        else:
            rows = self.rows(f"{query} WHERE {_BY_IDS}", {"ids": json.dumps(list(ids))})
        locations: list[Location] = []
        for row in rows:
            locations.append(Location._make((*row[:5], bool(row[5]))))
        return locations

    def fields(self, entry_id: str) -> dict[str, Any]:
        """The whole frontmatter of an entry, as it was read from the contents that `locate` names."""
        rows = self.rows(
            "SELECT fields FROM shown JOIN fields USING (key) WHERE id = ?", (entry_id,)
        )
        if rows:
            fields: dict[str, Any] = json.loads(rows[0][0])
        else:
            fields = {}
        return fields

    def rules_in_force(self) -> dict[str, tuple[str, str]]:
        """(path, blob hash) of every rule that was put in, by the id that it states."""
        rows = self.rows("SELECT stated, path, hash FROM entries WHERE source = 'approved'")
        by_key: dict[str, tuple[str, str]] = {}
        for entry_id, path, blob in rows:
            by_key[entry_id] = (path, blob)
        return by_key

    def stated(self, ids: Iterable[str]) -> dict[str, str]:
        """The ids that the texts of these entries state, by id: others where theirs are taken."""
        query = f"SELECT id, stated FROM shown WHERE {_BY_IDS}"  # noqa: S608 - our own words
        return dict(self.rows(query, {"ids": json.dumps(list(ids))}))

    def taken_of(self, ids: Iterable[str]) -> dict[str, str]:
        """What the entries here hold that have these ids, as `yield_ids` compares it."""
        query = f"SELECT id, {HELD} FROM shown WHERE {_BY_IDS}"  # noqa: S608 - our own words
        return dict(self.rows(query, {"ids": json.dumps(list(ids))}))

    def fingerprints(self) -> dict[str, str]:
        """What the passages of every entry were made from, by id.

        The files, their contents, and how we read them.
        """
        texts = (
            "coalesce(hash, '') || ' ' || coalesce(side_hash, '') || coalesce(' ' || code_hash, '')"
        )
        query = f"SELECT id, ? || ' ' || {texts} || ' ' || path FROM shown"  # noqa: S608 - our own words
        return dict(self.rows(f"{query} ORDER BY id", (VERSION,)))

    def newest_first(self) -> list[str]:
        """The ids of all entries in the order in which they were created, the newest first."""
        results: list[str] = []
        for (entry_id,) in self.rows("SELECT id FROM shown ORDER BY created DESC, id DESC"):
            results.append(entry_id)
        return results

    def unreadable(self) -> list[Problem]:
        """Why files give no entry, or only their text.

        They cannot be read, are invalid, or their id is taken.
        """
        problems = []
        for row in self.rows("SELECT path, message, line FROM problems"):
            problems.append(Problem(*row))
        for path, stated, winner, name in self.rows(_TAKEN):
            message = f"states the id {stated} of {winner}, so it goes by {name}: give it an id of its own"
            problems.append(Problem(path, message))
        return sorted(problems, key=lambda problem: (problem.path, problem.line, problem.message))

    def left_out(self) -> list[str]:
        """The files that give no entry because they cannot be read or are invalid."""
        results: list[str] = []
        for (file,) in self.rows(LEFT_OUT):
            results.append(file)
        return results

    def sizes(self) -> Sizes:
        """Counts for statistics."""
        ((files, size),) = self.rows("SELECT count(*), coalesce(sum(size), 0) FROM files")
        ((oldest, newest),) = self.rows(
            "SELECT min(created), max(created) FROM shown WHERE created <> ''"
        )
        return Sizes(
            entries=dict(self.rows("SELECT kind, count(*) FROM shown GROUP BY kind")),
            projects=self._one("SELECT count(DISTINCT project) FROM shown"),
            tags=self._one("SELECT count(DISTINCT tag) FROM shown JOIN tags USING (key)"),
            files=files,
            bytes=size,
            unreadable=self._one(UNREADABLE),
            oldest=oldest,
            newest=newest,
        )

    def resolve(self, ref: str) -> EntrySummary:
        """The entry that a person means.

        Handle, id, unique end of an id, repository-relative path, or whole title.

        Raises NotFound: no entry matches; the hint names similar ones. AmbiguousName: several
        match.
        """
        # half a character, which no database takes, becomes `?`
        name = ref.strip().encode("utf-8", "replace").decode()
        path = posixpath.normpath(name)
        rows = self.rows(
            "SELECT id FROM shown WHERE path = ?1 UNION SELECT id FROM shown WHERE side_path = ?1",
            (path,),
        )
        match = re.fullmatch(_HANDLE, name.upper())
        ids = [row[0] for row in rows]

        def by_id(match: re.Match[str]) -> list[str]:
            kind, end = _LETTERS.get(match[1] or ""), match[2]
            return self._ids_ending(end, kind) or self._ids_ending(end.translate(_MISREAD), kind)

        if match and not ids and (match[1] or len(match[2]) >= HANDLE_LENGTH):
            ids = by_id(match)
        ids = ids or self._ids_titled(name) or (by_id(match) if match else [])
        if not ids:
            similar = (
                match and self._similar_ids(match[2].translate(_MISREAD))
            ) or self._similar_words(name)
            raise NotFound("entry", ref, suggestions=self._described(similar))
        if len(ids) > 1:
            raise AmbiguousName(ref, self._described(ids))
        return self.get(ids[0])

    def _ids_titled(self, name: str) -> list[str]:
        """The entries with this title, in any case, and scripts that are kept elsewhere, at this path."""
        title = " ".join(normalize("NFC", name).casefold().split())
        titled = []
        for entry_id, text in self.rows("SELECT id, title FROM shown"):
            if normalize("NFC", text).casefold() == title:
                titled.append(entry_id)
        if titled:
            return titled
        in_place = self.rows(
            "SELECT id FROM shown JOIN elsewhere USING (id) WHERE elsewhere.path = ?", (name,)
        )
        return [entry_id for (entry_id,) in in_place]

    def handle_beside(self, kind: Kind, entry_id: str) -> str:
        """The handle of an entry that was just written, unique among the entries of the last refresh."""
        upper = entry_id.upper()
        similar = set()
        for other in self._ids_ending(upper[-HANDLE_LENGTH:]):
            similar.add(other.upper())
        return handle(kind, entry_id, handle_lengths({upper, *similar})[upper])

    def _ids_ending(self, end: str, kind: str | None = None) -> list[str]:
        tail = end[::-1]
        query = "SELECT id FROM shown WHERE tail >= ? AND tail < ? AND (? IS NULL OR kind = ?)"
        results: list[str] = []
        for row in self.rows(query, (tail, tail + "~", kind, kind)):
            results.append(row[0])
        return results

    def _similar_ids(self, end: str) -> list[str]:
        """Ids that end so, of any kind; else ids one character away."""
        if (ids := self._ids_ending(end)) or len(end) < HANDLE_LENGTH - 1:
            return ids
        from difflib import get_close_matches  # noqa: PLC0415  # only for a mistyped handle

        handles = {}
        for name, entry_id in self.rows("SELECT handle, id FROM shown"):
            handles[name[2:]] = entry_id
        # Likeness of two ends of ids that differ in one character
        results: list[str] = []
        for match in get_close_matches(end[-HANDLE_LENGTH:], handles, 20, 0.8):
            results.append(handles[match])
        return results

    def _similar_words(self, name: str) -> list[str]:
        """Entries whose titles and paths share half of the words."""
        words = [word for word in re.split(r"[^\w]+", name.lower()) if len(word) > 1][:8]
        query = """
            SELECT id FROM shown
            JOIN (SELECT value AS word FROM json_each(?)) ON instr(lower(title || ' ' || path), word)
            GROUP BY id HAVING count(*) * 2 >= ? ORDER BY count(*) DESC, id DESC LIMIT ?
        """
        results: list[str] = []
        for row in self.rows(query, (json.dumps(words), len(words), SUGGESTIONS)):
            results.append(row[0])
        return results

    def _described(self, ids: list[str]) -> list[str]:
        """Handle and title of the first few, and how many follow."""
        entries = self.many(ids[:SUGGESTIONS])
        described = []
        for entry_id in ids:
            if entry_id in entries:
                described.append(f"{entries[entry_id].handle} ({entries[entry_id].title})")
        hidden = len(ids) - SUGGESTIONS
        if hidden > 0:
            return [*described, f"{hidden} more"]
        return described

    def rules_state(self) -> str:
        """The state that `set_rules_in_force` last got; empty in a new catalog."""
        return str(self._meta("rules_state") or "")

    def unattested(self) -> list[str]:
        """Ids of lessons that claim to be a person's, or proven elsewhere, and were not given to `attest` yet."""
        now = self.generation
        if self._meta("attested") == now:
            # nothing was written since the last query
            return []
        ids = []
        for row in self.rows(_UNATTESTED, {"telling": json.dumps(_telling())}):
            ids.append(row[0])
        if not ids:
            self._put_meta("attested", now)
        return ids

    def attest(self, proofs: Mapping[str, Attested]) -> None:
        """Note the proof of such claims by id.

        It holds until the file changes, and changes no hash.
        """
        stated = []
        for entry_id, proof in proofs.items():
            stated.append((proof.stated_by, int(proof.firm), entry_id))
        unproven = []
        for entry_id, proof in proofs.items():
            if not proof.start:
                unproven.append((entry_id,))

        claims = []
        for name in _telling():
            for (entry_id,) in unproven:
                claims.append({"feature": name, "id": entry_id})

        def put(_: sqlite3.Connection) -> None:
            with self.transaction() as db:
                db.executemany(_STATED, stated)
                db.executemany(_UNPROVEN, unproven)
                db.executemany(_CLAIMS_NOTHING, claims)

        self.ask(put)

    def _refresh(self, most: int | None = None) -> CatalogRefresh:
        """Read and parse without a lock.

        Survey again under it where another process wrote meanwhile.

        At most so many entries are read.
        """
        base = self.generation
        changes, left = self._survey(most)
        if not changes:
            return self._refreshed()._replace(left=left)
        with self.transaction():
            if self.generation != base:
                changes, left = self._survey(most)
            if not changes:
                return self._refreshed()._replace(left=left)
            write_folders(self.connection, changes, self.tier, self._in_order)
            return self._written()._replace(left=left)

    def _survey(self, most: int | None) -> tuple[list[FolderChange], int]:
        assert self._disk is not None, "a survey needs the ways to the disk"  # noqa: S101 - for the type checker
        return survey(self.connection, self._disk, self._clock(), most)

    def _put_rules(
        self, state: str, records: list[CatalogRecord], keep: frozenset[str]
    ) -> CatalogRefresh:
        with self.transaction():
            self._put_meta("rules_state", state)
            if not records and keep >= self.rules_in_force().keys():
                return self._refreshed()
            write_approved(self.connection, records, keep, self.tier)
            return self._written()

    def _one(self, query: str) -> int:
        return int(self.rows(query)[0][0])

    def _meta(self, key: str) -> Any:
        """A value of the catalog itself; None: not set."""
        return next(
            (value for (value,) in self.rows("SELECT value FROM meta WHERE key = ?", (key,))), None
        )

    def _put_meta(self, key: str, value: object) -> None:
        self.rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _written(self) -> CatalogRefresh:
        # from the clock, so that a catalog made anew does not count through the numbers of the last
        # one
        self._put_meta("generation", max(self._clock(), self.generation + 1))
        return self._refreshed()

    def _refreshed(self) -> CatalogRefresh:
        notice, self.notice = self.notice, ""
        return CatalogRefresh(self.generation, self._one(UNREADABLE), self._one(AS_TEXT), notice)

    def _refill(self) -> None:
        """Fill a new database, and keep its notice for the next refresh."""
        if self._disk is not None:
            self.notice = self._refresh().rebuilt
