"""Questions to the catalog. Entries are read from the view `shown`, so no rule of the working tree is ever returned."""

from __future__ import annotations

import json
import posixpath
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import AmbiguousName, NotFound, Problem, UsageError
from ai_lessons.index.catalog_writing import SEPARATOR
from ai_lessons.knowledge.entries import HANDLE_LENGTH, Kind, Light, Status, handle, handle_lengths

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

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
    "without": "key NOT IN (SELECT key FROM shown WHERE id IN (SELECT value FROM json_each(:without)))",
    "versions": """key IN (
        SELECT key FROM versions WHERE version IN (SELECT value FROM json_each(:versions))
        GROUP BY key HAVING count(*) = json_array_length(:versions))""",
}
_SELECT = "SELECT id, handle, kind, title, project, tags, versions, path, snippet, details FROM shown WHERE "
_COUNT = "SELECT count(*) FROM counted WHERE "
# a look at the text leaves few rows to parse; the details tell for certain
_LIKELY_GLOBS = """
status = 'active' AND instr(details, '"applies_to":') AND NOT instr(details, '"applies_to":null')
AND kind IN (SELECT value FROM json_each(?))
"""
_BY_IDS = "id IN (SELECT value FROM json_each(?))"


class Filter(NamedTuple):
    """Which entries, in which order. `tags` and `versions` must all be there; `status` None shows every status.

    `without`: ids that are left out.
    """

    kinds: frozenset[Kind] = frozenset()
    project: str | None = None
    tags: Sequence[str] = ()
    versions: Sequence[str] = ()
    status: Status | None = Status.ACTIVE
    sort: str = "newest"
    limit: int | None = None
    offset: int = 0
    without: frozenset[str] = frozenset()


class Location(NamedTuple):
    """The files of an entry and git's blob ids of what they held. `hash` is None for a script kept elsewhere.

    `approved` says that it is a rule in force: its text is the blob, whatever the file at `path` holds.
    """

    id: str
    path: str
    side_path: str | None
    hash: str | None
    side_hash: str | None
    derived: bool
    approved: bool = False


class Tally(NamedTuple):
    """How many entries carry a tag or version or lie in a project, by kind."""

    name: str
    total: int
    by_kind: Mapping[str, int]


class LinkRow(NamedTuple):
    """A link as written: `source` is the entry whose file says so. `target` may not exist."""

    source: str
    relation: str
    target: str
    weight: float | None


class Sizes(NamedTuple):
    """Counts for statistics. `files` and `bytes` are entry files, readable or not; `working_rules` are not shown."""

    entries: Mapping[str, int] = MappingProxyType({})
    projects: int = 0
    tags: int = 0
    files: int = 0
    bytes: int = 0
    unreadable: int = 0
    working_rules: int = 0
    catalog_bytes: int = 0
    oldest: str | None = None
    newest: str | None = None


def select(db: sqlite3.Connection, wanted: Filter, tier: str) -> list[Light]:
    """The entries that pass the filter, in its order.

    Raises:
        UsageError: an order that we do not know.
    """
    if wanted.sort not in _ORDERS:
        raise UsageError(f"no order {wanted.sort!r}", hint="one of: " + ", ".join(_ORDERS))
    values = _values(wanted)
    query = f"{_SELECT}{_passes(values)} ORDER BY {_ORDERS[wanted.sort]} LIMIT :limit OFFSET :offset"
    bounds = {"limit": -1 if wanted.limit is None else wanted.limit, "offset": wanted.offset}
    return _lights(db.execute(query, values | bounds).fetchall(), tier)


def count(db: sqlite3.Connection, wanted: Filter) -> int:
    """How many entries pass the filter, whatever its limit."""
    values = _values(wanted)
    (number,) = db.execute(_COUNT + _passes(values), values).fetchone()
    return int(number)


def _passes(values: Mapping[str, str | int]) -> str:
    """The conditions that these values ask for, and no others: each costs every row its moment."""
    return " AND ".join(_CONDITIONS[name] for name in values) or "TRUE"


def _values(wanted: Filter) -> dict[str, str | int]:
    """What a filter asks for, by the name of its condition."""
    values = {
        "kinds": _array(wanted.kinds),
        "project": wanted.project,
        "status": wanted.status,
        "tags": _array(wanted.tags),
        "versions": _array(wanted.versions),
        "without": _array(wanted.without),
    }
    return {name: value for name, value in values.items() if value is not None}


def _array(values: Iterable[str]) -> str | None:
    distinct = sorted(set(values))
    return json.dumps(distinct) if distinct else None


def _lights(rows: Sequence[tuple[Any, ...]], tier: str) -> list[Light]:
    # One JSON text for all rows: half the time of one parse a row, and lists of 10,000 must be quick.
    details = json.loads(f"[{','.join(row[9] for row in rows)}]")
    return [
        Light(
            row[0], row[1], _KINDS[row[2]], row[3], row[4],
            tuple(row[5].split(SEPARATOR)) if row[5] else (), tuple(row[6].split(SEPARATOR)) if row[6] else (),
            row[7], row[8], tier, None, detail,
        )
        for row, detail in zip(rows, details, strict=True)
    ]  # fmt: skip


def by_ids(db: sqlite3.Connection, ids: Iterable[str], tier: str) -> dict[str, Light]:
    """Those of the ids that exist."""
    rows = db.execute(_SELECT + _BY_IDS, (json.dumps(list(ids)),)).fetchall()
    return {light.id: light for light in _lights(rows, tier)}


def locations(db: sqlite3.Connection, ids: Iterable[str] | None) -> list[Location]:
    """Where the entries with these ids lie, or all of them."""
    query = "SELECT id, path, side_path, hash, side_hash, derived, source = 'approved' FROM shown"
    rows = db.execute(query) if ids is None else db.execute(f"{query} WHERE {_BY_IDS}", (json.dumps(list(ids)),))
    return [
        Location(id_, path, side_path, blob, side_blob, bool(derived), bool(approved))
        for id_, path, side_path, blob, side_blob, derived, approved in rows
    ]


def fields(db: sqlite3.Connection, entry_id: str) -> dict[str, Any]:
    """The whole frontmatter of an entry; empty where there is none, or no such entry."""
    row = db.execute("SELECT fields FROM shown JOIN fields USING (key) WHERE id = ?", (entry_id,)).fetchone()
    found: dict[str, Any] = json.loads(row[0]) if row else {}
    return found


def approved(db: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """(path, blob id) of every rule in force, by id."""
    query = "SELECT id, path, hash FROM shown WHERE source = 'approved'"
    return {entry_id: (path, blob) for entry_id, path, blob in db.execute(query)}


def with_globs(db: sqlite3.Connection, kinds: Iterable[str], tier: str) -> list[Light]:
    """The shown, active entries of these kinds that state `applies_to`."""
    rows = db.execute(_SELECT + _LIKELY_GLOBS, (_array(kinds) or "[]",))
    return [light for light in _lights(rows.fetchall(), tier) if light.details.get("applies_to")]


def tag_tallies(db: sqlite3.Connection) -> list[Tally]:
    """Every tag of a shown, active entry."""
    query = "SELECT tag, kind, count(*) FROM shown JOIN tags USING (key) WHERE status = 'active' GROUP BY tag, kind"
    return _tallies(db.execute(query))


def version_tallies(db: sqlite3.Connection) -> list[Tally]:
    """Every version of a shown, active entry."""
    query = "SELECT version, kind, count(*) FROM shown JOIN versions USING (key) WHERE status = 'active' GROUP BY 1, 2"
    return _tallies(db.execute(query))


def project_tallies(db: sqlite3.Connection) -> list[Tally]:
    """Every project that holds a shown, active entry."""
    query = "SELECT project, kind, count(*) FROM shown WHERE status = 'active' GROUP BY project, kind"
    return _tallies(db.execute(query))


def _tallies(rows: Iterable[tuple[str, str, int]]) -> list[Tally]:
    by_name: dict[str, dict[str, int]] = {}
    for name, kind, number in rows:
        by_name.setdefault(name, {})[kind] = number
    tallies = [Tally(name, sum(kinds.values()), kinds) for name, kinds in by_name.items()]
    return sorted(tallies, key=lambda tally: (-tally.total, tally.name))


def edges(db: sqlite3.Connection, entry_id: str | None) -> list[LinkRow]:
    """All links, or those that start or end at one entry, as they are written."""
    query = "SELECT id, relation, target, weight FROM links JOIN shown USING (key)"
    order = " ORDER BY id, relation, target"
    if entry_id is None:
        return [LinkRow(*row) for row in db.execute(query + order)]
    outgoing = db.execute(f"{query} WHERE id = ?{order}", (entry_id,)).fetchall()
    incoming = db.execute(f"{query} WHERE target = ? AND id <> ?{order}", (entry_id, entry_id)).fetchall()
    return [LinkRow(*row) for row in outgoing + incoming]


_UNATTESTED = """
SELECT id FROM shown WHERE kind = 'lesson' AND NOT instr(details, '"stated_by":')
AND (instr(details, '"from":"user"') OR instr(details, '"start":'))
"""


def unattested(db: sqlite3.Connection) -> list[str]:
    """Ids of lessons with a claim that nothing is known of."""
    return [row[0] for row in db.execute(_UNATTESTED)]


def fingerprints(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """(id, text hash, meta hash) of every shown entry, by id: read from an index alone."""
    return db.execute("SELECT id, text_hash, meta_hash FROM shown ORDER BY id").fetchall()


def problems(db: sqlite3.Connection) -> list[Problem]:
    """Why files give no entry: unreadable, invalid, or their id belongs to another file."""
    found = [Problem(*row) for row in db.execute("SELECT path, message, line FROM problems")]
    taken = """
        SELECT e.path, e.id, min(w.path) FROM entries e JOIN entries w ON w.id = e.id AND w.standing <> 2
        WHERE e.standing = 2 GROUP BY e.key
    """
    for path, entry_id, winner in db.execute(taken):
        found.append(Problem(path, f"has the id {entry_id} of {winner}, so it is left out: give it an id of its own"))
    return sorted(found, key=lambda problem: (problem.path, problem.line, problem.message))


def unreadable_files(db: sqlite3.Connection) -> int:
    """How many entries are left out, each once however many problems it has."""
    query = "SELECT (SELECT count(DISTINCT file) FROM problems) + (SELECT count(*) FROM entries WHERE standing = 2)"
    return int(db.execute(query).fetchone()[0])


def sizes(db: sqlite3.Connection) -> Sizes:
    """Counts for statistics."""
    files, size = db.execute("SELECT count(*), coalesce(sum(size), 0) FROM files").fetchone()
    oldest, newest = db.execute("SELECT min(created), max(created) FROM shown WHERE created <> ''").fetchone()
    return Sizes(
        entries=dict(db.execute("SELECT kind, count(*) FROM shown GROUP BY kind")),
        projects=_one(db, "SELECT count(DISTINCT project) FROM shown"),
        tags=_one(db, "SELECT count(DISTINCT tag) FROM shown JOIN tags USING (key)"),
        files=files,
        bytes=size,
        unreadable=unreadable_files(db),
        working_rules=_one(db, "SELECT count(*) FROM entries WHERE standing = 1"),
        catalog_bytes=_one(db, "PRAGMA page_count") * _one(db, "PRAGMA page_size"),
        oldest=oldest,
        newest=newest,
    )


def _one(db: sqlite3.Connection, query: str) -> int:
    return int(db.execute(query).fetchone()[0])


SUGGESTIONS = 5
_HANDLE = r"(?:([LRDS])-)?([0-9A-Z]{1,26})"
_LETTERS = {kind.letter: kind.value for kind in Kind}
_MISREAD = str.maketrans("ILO", "110")
"""Letters that no id has, and what Crockford's base 32 takes them for."""


def resolve(db: sqlite3.Connection, ref: str) -> str:
    """The id of the entry that `ref` names: an id, a handle, the end of an id, or a path of one of its files.

    Raises:
        NotFound: nothing answers to it; the hint names what comes near. AmbiguousName: more than one entry does.
    """
    name = ref.strip().encode("utf-8", "replace").decode()  # half a character, which no database takes, becomes `?`
    found = _by_path(db, name) or _by_tail(db, name)
    if not found:
        raise NotFound("entry", ref, suggestions=suggestions(db, name))
    if len(found) > 1:
        raise AmbiguousName(ref, _described(db, found))
    return found[0]


def handle_beside(db: sqlite3.Connection, kind: Kind, entry_id: str) -> str:
    """The handle that an entry, which need not be here yet, has or will have beside those that are."""
    own = entry_id.upper()
    near = {found.upper() for found in _ids_ending(db, own[-HANDLE_LENGTH:], None)}
    return handle(kind, entry_id, handle_lengths({own, *near})[own])


def _by_path(db: sqlite3.Connection, name: str) -> list[str]:
    if not name:
        return []
    path = posixpath.normpath(name)
    rows = db.execute(
        "SELECT id FROM shown WHERE path = ? UNION SELECT id FROM shown WHERE side_path = ?", (path, path)
    )
    return [row[0] for row in rows]


def _by_tail(db: sqlite3.Connection, name: str) -> list[str]:
    match = re.fullmatch(_HANDLE, name.upper())
    if not match:
        return []
    letter, end = match.groups()
    kind = _LETTERS[letter] if letter else None
    return _ids_ending(db, end, kind) or _ids_ending(db, end.translate(_MISREAD), kind)


def _ids_ending(db: sqlite3.Connection, end: str, kind: str | None) -> list[str]:
    tail = end[::-1]
    query = "SELECT id FROM shown WHERE tail >= ? AND tail < ? AND (? IS NULL OR kind = ?)"
    return [row[0] for row in db.execute(query, (tail, tail + "~", kind, kind))]


def suggestions(db: sqlite3.Connection, name: str) -> list[str]:
    """What may have been meant: ids one character away or of another kind, or titles and paths that share words."""
    near = _near_ids(db, name) or _near_words(db, name)
    return _described(db, near)


def _near_ids(db: sqlite3.Connection, name: str) -> list[str]:
    match = re.fullmatch(_HANDLE, name.upper())
    if not match:
        return []
    end = match.group(2).translate(_MISREAD)
    if _ids_ending(db, end, None):
        return _ids_ending(db, end, None)
    if len(end) < HANDLE_LENGTH - 1:
        return []
    patterns = _one_away(end[-HANDLE_LENGTH:])
    query = "SELECT DISTINCT id FROM shown JOIN (SELECT value AS near FROM json_each(?)) ON tail GLOB near LIMIT 20"
    return [row[0] for row in db.execute(query, (json.dumps([pattern[::-1] + "*" for pattern in patterns]),))]


def _one_away(end: str) -> list[str]:
    """Patterns of the ends that differ by one character: another one, one too many, one missing, or two swapped."""
    patterns = set()
    for i in range(len(end)):
        patterns.add(f"{end[:i]}?{end[i + 1 :]}")
        patterns.add(f"{end[:i]}?{end[i:]}")
        patterns.add(f"{end[:i]}{end[i + 1 :]}")
        patterns.add(end[:i] + end[i : i + 2][::-1] + end[i + 2 :])
    return sorted(patterns)


def _near_words(db: sqlite3.Connection, name: str) -> list[str]:
    words = [word for word in re.split(r"[^\w]+", name.lower()) if len(word) > 1][:8]
    if not words:
        return []
    query = """
        SELECT id FROM shown JOIN (SELECT value AS word FROM json_each(?)) ON instr(lower(title || ' ' || path), word)
        GROUP BY id HAVING count(*) * 2 >= ? ORDER BY count(*) DESC, id DESC LIMIT ?
    """
    return [row[0] for row in db.execute(query, (json.dumps(words), len(words), SUGGESTIONS))]


def _described(db: sqlite3.Connection, ids: list[str]) -> list[str]:
    """Handle and title of a few, and how many more there are."""
    shown = []
    for entry_id in ids[:SUGGESTIONS]:
        handle, title = db.execute("SELECT handle, title FROM shown WHERE id = ?", (entry_id,)).fetchone()
        shown.append(f"{handle} ({title})")
    more = len(ids) - SUGGESTIONS
    return [*shown, f"{more} more"] if more > 0 else shown


def complete(db: sqlite3.Connection, what: str, prefix: str, limit: int) -> list[tuple[str, str]]:
    """Values that start with `prefix`, each with a word of help, for the completion of a shell.

    `what` is `id` (handles, by kind letter and beginning; without a letter any handle's end), `project`, `tag`,
    `version`; anything else has no values.
    """
    like = re.sub(r"([\\%_])", r"\\\1", prefix) + "%"
    query = _COMPLETIONS.get(what)
    return [] if query is None else [tuple(row) for row in db.execute(query, {"like": like, "limit": limit})]


_COMPLETIONS = {
    "id": """
        SELECT handle, title FROM shown
        WHERE handle LIKE :like ESCAPE '\\' OR substr(handle, 3) LIKE :like ESCAPE '\\'
        ORDER BY status <> 'active', created DESC LIMIT :limit
    """,
    "project": """
        SELECT project, count(*) || ' entries' FROM shown
        WHERE project LIKE :like ESCAPE '\\' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT :limit
    """,
    "tag": """
        SELECT tag, count(*) || ' entries' FROM shown JOIN tags USING (key)
        WHERE tag LIKE :like ESCAPE '\\' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT :limit
    """,
    "version": """
        SELECT version, count(*) || ' entries' FROM shown JOIN versions USING (key)
        WHERE version LIKE :like ESCAPE '\\' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT :limit
    """,
}
