"""Queries of the catalog. Entries come from the view `shown`, so that no rule of the working tree is ever returned."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ai_lessons.errors import NotFound, Problem, UsageError
from ai_lessons.index.catalog_writing import SEPARATOR
from ai_lessons.index.database import Database
from ai_lessons.knowledge.entries import Kind, Light, Status
from ai_lessons.knowledge.relations import Edge

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ai_lessons.knowledge.failures import Shape

T = TypeVar("T")
_KINDS = {kind.value: kind for kind in Kind}
_ORDERS = {
    "newest": "created DESC, id DESC",
    "created": "created, id",
    "title": "title COLLATE NOCASE, id",
    "path": "path, id",
    "firm": "json_extract(details, '$.firm') IS 1 DESC, created DESC, id DESC",
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
    "without": "key NOT IN (SELECT key FROM shown WHERE id IN (SELECT value FROM json_each(:without)))",
    "scopes": """CASE WHEN instr(details, '"scope":') THEN json_extract(details, '$.scope') ELSE '' END
        IN (SELECT value FROM json_each(:scopes))""",
    "title": "title = :title COLLATE NOCASE",
    "category": "CASE WHEN instr(details, '\"category\":') THEN json_extract(details, '$.category') END = :category",
}
_SELECT = "SELECT id, handle, kind, title, project, tags, versions, path, snippet, details FROM shown WHERE "
# a match in the text leaves few rows to parse; the parsed details decide
_LIKELY_GLOBS = """
status = 'active' AND instr(details, '"applies_to":') AND NOT instr(details, '"applies_to":null')
AND kind IN (SELECT value FROM json_each(?))
"""
# rules that name a command, lessons that rest on calls of one, and what a person stated about one
_LIKELY_COMMANDS = """
status = 'active' AND (kind = 'rule' AND instr(title, '`') OR kind = 'lesson' AND instr(details, 'running `') AND
(instr(details, '"seen":[') OR instr(details, '"firm":true') OR instr(details, '"firm":1')))
"""
# each once, however many problems it has
UNREADABLE = "SELECT (SELECT count(DISTINCT file) FROM problems) + (SELECT count(*) FROM entries WHERE standing = 2)"
_BY_IDS = "id IN (SELECT value FROM json_each(?))"
_TAKEN = """
SELECT e.path, e.id, min(w.path) FROM entries e JOIN entries w ON w.id = e.id AND w.standing <> 2
WHERE e.standing = 2 GROUP BY e.key
"""


class Filter(NamedTuple):
    """Which entries, in which order. `tags` and `versions` must all be there; `status` None shows every status.

    `without`: ids that are left out. `scopes`: what an entry may state as its scope, "" for nothing.
    """

    kinds: frozenset[Kind] = frozenset()
    project: str | None = None
    tags: Sequence[str] = ()
    versions: Sequence[str] = ()
    status: Status | None = Status.ACTIVE
    sort: str = "newest"
    limit: int | None = None
    without: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    title: str | None = None
    category: str | None = None


class Location(NamedTuple):
    """The files of an entry and git's blob ids of what they held. `hash` is None for a script kept elsewhere.

    `approved` says that it is a rule in force: its text is the blob, whatever the file at `path` holds.
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


class CatalogReader(Database):
    """The queries of a catalog."""

    _tier: str
    _memory: tuple[int, dict[object, Any]] = (-1, {})

    def _once(self, key: object, make: Callable[[], T]) -> T:
        """A value that many questions need, kept until the catalog is written."""
        now = self.generation
        if self._memory[0] != now:
            self._memory = now, {}
        if key not in self._memory[1]:
            self._memory[1][key] = make()
        value: T = self._memory[1][key]
        return value

    def _one(self, query: str, values: Any = ()) -> int:
        return int(self._rows(query, values)[0][0])

    @property
    def generation(self) -> int:
        """Moves with every write; a rebuilt catalog never comes back to a number it had before."""
        return int(self._meta("generation") or 0)

    def _meta(self, key: str) -> Any:
        """A value of the catalog itself; None: not set."""
        return next((value for (value,) in self._rows("SELECT value FROM meta WHERE key = ?", (key,))), None)

    def select(self, entry_filter: Filter) -> list[Light]:
        """The entries that pass a filter, in its order, with handles that are unique in the repository.

        Raises UsageError: an unknown order.
        """
        if entry_filter.sort not in _ORDERS:
            raise UsageError(f"no order {entry_filter.sort!r}", hint="one of: " + ", ".join(_ORDERS))
        values = _values(entry_filter)
        query = f"{_SELECT}{_passes(values)} ORDER BY {_ORDERS[entry_filter.sort]} LIMIT :limit"
        limit = -1 if entry_filter.limit is None else entry_filter.limit
        return self._lights(query, values | {"limit": limit})

    def count(self, entry_filter: Filter) -> int:
        """How many entries pass a filter, whatever its limit."""
        values = _values(entry_filter)
        whole = entry_filter.scopes or entry_filter.title or entry_filter.category
        return self._one(f"SELECT count(*) FROM {'shown' if whole else 'counted'} WHERE {_passes(values)}", values)  # noqa: S608

    def get(self, entry_id: str) -> Light:
        """The entry with this full id. Raises NotFound."""
        if light := self.many([entry_id]).get(entry_id):
            return light
        raise NotFound("entry", entry_id)

    def many(self, ids: Iterable[str]) -> dict[str, Light]:
        """The entries with these full ids; ids that do not exist are left out."""
        return {light.id: light for light in self._lights(_SELECT + _BY_IDS, (json.dumps(list(ids)),))}

    def locate(self, entry_id: str) -> Location:
        """The files of one entry. Raises NotFound."""
        if locations := self.locations([entry_id]):
            return locations[0]
        raise NotFound("entry", entry_id)

    def locations(self, ids: Iterable[str] | None = None) -> list[Location]:
        """The files of these entries, or of all."""
        query = "SELECT id, path, side_path, hash, side_hash, source = 'approved' FROM shown"
        rows = self._rows(query) if ids is None else self._rows(f"{query} WHERE {_BY_IDS}", (json.dumps(list(ids)),))
        return [Location._make((*row[:5], bool(row[5]))) for row in rows]

    def fields(self, entry_id: str) -> dict[str, Any]:
        """The whole frontmatter of an entry, as it was read from the contents that `locate` names."""
        rows = self._rows("SELECT fields FROM shown JOIN fields USING (key) WHERE id = ?", (entry_id,))
        fields: dict[str, Any] = json.loads(rows[0][0]) if rows else {}
        return fields

    def openings(self, ids: Iterable[str]) -> dict[str, str]:
        """How the texts of these lessons and rules begin, by id: what stands before a failure that they keep."""
        query = "SELECT id, opening FROM shown JOIN fields USING (key)"
        return dict(self._rows(f"{query} WHERE {_BY_IDS}", (json.dumps(list(ids)),)))

    def failures(self) -> list[tuple[str, Shape]]:
        """The id of every entry that keeps a failure and is not wrong, and its shape: one row for each failure."""
        query = "SELECT id, words FROM failures JOIN shown USING (key) WHERE status <> 'wrong'"

        def read() -> list[tuple[str, Shape]]:
            rows = self._rows(query)
            return [(entry, tuple(frozenset(line.split()) for line in words.split("\n"))) for entry, words in rows]

        return self._once("failures", read)

    def rules_in_force(self) -> dict[str, tuple[str, str]]:
        """(path, blob hash) of every rule that was put in, by id."""
        rows = self._rows("SELECT id, path, hash FROM shown WHERE source = 'approved'")
        return {entry_id: (path, blob) for entry_id, path, blob in rows}

    def with_globs(self, kinds: Collection[str]) -> list[Light]:
        """The active entries of these kinds that state globs of files."""

        def read() -> list[Light]:
            lights = self._lights(_SELECT + _LIKELY_GLOBS, (_array(kinds) or "[]",))
            return [light for light in lights if light.details.get("applies_to")]

        return self._once(("globs", frozenset(kinds)), read)

    def about_commands(self) -> list[Light]:
        """The active rules and lessons that may be shown before a command: see `_LIKELY_COMMANDS`."""
        return self._once("commands", lambda: self._lights(_SELECT + _LIKELY_COMMANDS))

    def tags(self) -> list[Tally]:
        """The tags of active entries, most used first."""
        return self._tallies("SELECT tag, kind, count(*) FROM shown JOIN tags USING (key)")

    def versions(self, project: str | None = None) -> list[Tally]:
        """The versions of active entries, of one project or all, most used first."""
        only = "" if project is None else "AND project = ?"
        query = "SELECT version, kind, count(*) FROM shown JOIN versions USING (key)"
        return self._tallies(query, only, () if project is None else (project,))

    def versions_of_projects(self) -> Mapping[str, frozenset[str]]:
        """The versions of active entries, by project; projects without any are left out."""
        query = "SELECT DISTINCT project, version FROM shown JOIN versions USING (key) WHERE status = 'active'"

        def read() -> Mapping[str, frozenset[str]]:
            versions: dict[str, set[str]] = {}
            for project, version in self._rows(query):
                versions.setdefault(project, set()).add(version)
            return {project: frozenset(names) for project, names in sorted(versions.items())}

        return self._once("versions", read)

    def projects(self) -> list[Tally]:
        """The projects of active entries, largest first."""
        return self._once("projects", lambda: self._tallies("SELECT project, kind, count(*) FROM shown"))

    def _tallies(self, query: str, only: str = "", values: tuple[str, ...] = ()) -> list[Tally]:
        by_name: dict[str, dict[str, int]] = {}
        for name, kind, number in self._rows(f"{query} WHERE status = 'active' {only} GROUP BY 1, 2", values):
            by_name.setdefault(name, {})[kind] = number
        tallies = [Tally(name, sum(kinds.values()), kinds) for name, kinds in by_name.items()]
        return sorted(tallies, key=lambda tally: (-tally.total, tally.name))

    def edges(self, entry_id: str | None = None) -> list[Edge]:
        """The links that start or end at an entry, or the whole graph. Says nothing of which hold both ways."""
        query = "SELECT id, relation, target, weight FROM links JOIN shown USING (key)"
        order = " ORDER BY id, relation, target"
        if entry_id is None:
            return [Edge(*row) for row in self._rows(query + order)]
        outgoing = self._rows(f"{query} WHERE id = ?{order}", (entry_id,))
        incoming = self._rows(f"{query} WHERE target = ? AND id <> ?{order}", (entry_id, entry_id))
        return [Edge(*row) for row in outgoing + incoming]

    def fingerprints(self) -> list[tuple[str, str, str]]:
        """(id, text hash, meta hash) of every entry, by id: what an index compares with its own rows."""
        return self._rows("SELECT id, text_hash, meta_hash FROM shown ORDER BY id")

    def unreadable(self) -> list[Problem]:
        """Every reason why a file gives no entry, by path: it cannot be read, is invalid, or its id is taken."""
        problems = [Problem(*row) for row in self._rows("SELECT path, message, line FROM problems")]
        for path, entry_id, winner in self._rows(_TAKEN):
            message = f"has the id {entry_id} of {winner}, so it is left out: give it an id of its own"
            problems.append(Problem(path, message))
        return sorted(problems, key=lambda problem: (problem.path, problem.line, problem.message))

    def sizes(self) -> Sizes:
        """Counts for statistics."""
        ((files, size),) = self._rows("SELECT count(*), coalesce(sum(size), 0) FROM files")
        ((oldest, newest),) = self._rows("SELECT min(created), max(created) FROM shown WHERE created <> ''")
        return Sizes(
            entries=dict(self._rows("SELECT kind, count(*) FROM shown GROUP BY kind")),
            projects=self._one("SELECT count(DISTINCT project) FROM shown"),
            tags=self._one("SELECT count(DISTINCT tag) FROM shown JOIN tags USING (key)"),
            files=files,
            bytes=size,
            unreadable=self._one(UNREADABLE),
            oldest=oldest,
            newest=newest,
        )

    def _lights(self, query: str, values: Any = ()) -> list[Light]:
        """The entries of a query that begins with `_SELECT`."""
        rows = self._rows(query, values)
        # One JSON text for all rows: half the time of one parse a row, and lists of 10,000 must be quick.
        details = json.loads(f"[{','.join(row[9] for row in rows)}]")
        return [
            Light(
                row[0], row[1], _KINDS[row[2]], row[3], row[4],
                tuple(row[5].split(SEPARATOR)) if row[5] else (), tuple(row[6].split(SEPARATOR)) if row[6] else (),
                row[7], row[8], self._tier, None, detail,
            )
            for row, detail in zip(rows, details, strict=True)
        ]  # fmt: skip


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
    return json.dumps(distinct) if distinct else None
