"""Writes the result of a survey into the catalog, inside the caller's transaction. Reads no file."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.knowledge.command_patterns import seen_of
from ai_lessons.knowledge.entries import HANDLE_LENGTH, KINDS, Entry, Kind, Link, handle, handle_lengths
from ai_lessons.knowledge.origins import start_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ai_lessons.errors import Problem

    Stamp = tuple[int, int, int, int, int]  # mtime_ns, ctime_ns, size, inode, mode

SNIPPET_LENGTH, OPENING = 150, 800  # characters of a text that stand in the catalog
SEPARATOR = "\x1f"
"""Between the values of a list in one column; no tag or version that we accept holds this control character."""

_LISTS = frozenset(("applies_to", "contexts"))
_MARKUP = r"(?m)^\s{0,3}(?:#{1,6}\s+|>\s?|```\w*\s*$|---+\s*$|#!.*$)"

FILES, APPROVED = "files", "approved"
_IN = "IN (SELECT value FROM json_each(:ids))"
_HIDDEN = 2  # Standing of a new row until `_SETTLE` has run
# Of all files that state one id, what is approved comes first, then the smallest path: the same for every reader.
_SETTLE = (
    f"UPDATE entries SET standing = {_HIDDEN} WHERE standing <> {_HIDDEN} AND id {_IN}",  # noqa: S608 - our own words
    f"""
    UPDATE entries SET standing = (kind = 'rule' AND source = 'files') WHERE key IN (
        SELECT key FROM (
            SELECT key, row_number() OVER (PARTITION BY id ORDER BY source, file) AS place
            FROM entries WHERE id {_IN}
        ) WHERE place = 1
    )""",  # noqa: S608
    f"""
    UPDATE entries SET standing = 1 WHERE standing = {_HIDDEN} AND kind = 'rule' AND source = 'files' AND id IN (
        SELECT id FROM shown WHERE kind = 'rule' AND id {_IN}
    )""",  # noqa: S608
)


class CatalogedFile(NamedTuple):
    """A file as the catalog remembers it. `hash` is git's blob id, or empty where the file could not be read."""

    stamp: Stamp
    racy: bool
    hash: str


class CatalogRecord(NamedTuple):
    """One entry, ready to be written: its `row`, and what stands in tables beside it."""

    row: Mapping[str, str | int | None]
    tags: tuple[str, ...]
    versions: tuple[str, ...]
    links: tuple[Link, ...]
    fields: str
    opening: str
    failures: tuple[str, ...]


class FolderChange:
    """What to write for one folder. `digest` None: the folder is gone. `units` are the main files to forget first."""

    def __init__(self, folder: str, digest: bytes | None, gone: Iterable[str] = (), units: Iterable[str] = ()) -> None:
        self.folder, self.digest = folder, digest
        self.files: dict[str, CatalogedFile] = {}
        self.gone, self.units = list(gone), list(units)
        self.records: list[CatalogRecord] = []
        self.problems: list[tuple[str, Problem]] = []


class Attested(NamedTuple):
    """The proof of a lesson's claims: its author (empty: unknown), and whether that is the user, in person.

    `start` says whether the standing that it brought from elsewhere counts.
    """

    stated_by: str
    firm: bool
    start: bool


def record(entry: Entry, file: str, file_hash: str, side_hash: str | None) -> CatalogRecord:
    """What to keep of an entry that was read from `file`. A script outside the repository has only its side file."""
    in_place = entry.path != file
    details = _json(details_of(entry), ascii_only=False)
    tags, versions = _values(entry.tags), _values(entry.versions)
    row: dict[str, str | int | None] = {
        "file": file,
        "standing": _HIDDEN,
        "id": entry.id,
        "tail": entry.id.upper()[::-1],  # the id from its end, for the lookup by handle
        "handle": handle(entry.kind, entry.id),
        "kind": entry.kind.value,
        "project": entry.project,
        "path": entry.path,
        "side_path": entry.side_path,
        "status": entry.status.value,
        "created": str(entry.fields.get("created") or ""),
        "title": entry.title,
        "tags": SEPARATOR.join(tags),
        "versions": SEPARATOR.join(versions),
        "snippet": snippet(entry),
        "details": details,
        "hash": None if in_place else file_hash,
        "side_hash": file_hash if in_place else side_hash,
        "text_hash": text_hash(entry),
        "meta_hash": meta_hash(entry, details),
    }
    opening, failures = "", dict[str, None]()
    if entry.kind in {Kind.LESSON, Kind.RULE}:
        from ai_lessons.knowledge.failures import before_failure, recorded  # noqa: PLC0415  # no list parses an entry

        opening = before_failure(entry.body)[:OPENING]
        failures = dict.fromkeys(
            "\n".join(" ".join(sorted(line)) for line in shape) for shape in recorded(entry) if shape
        )
    fields = _json(dict(entry.fields), ascii_only=True)
    return CatalogRecord(row, tags, versions, entry.links, fields, opening, tuple(failures))


def _json(value: Mapping[str, Any], *, ascii_only: bool) -> str:
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"), default=str)


def _values(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.replace(SEPARATOR, " ") for text in texts))


def details_of(entry: Entry) -> dict[str, Any]:
    """The fields that differ by kind, as in `Light.details`. Lessons and rules always have the same keys.

    But for `start`, which only a promoted lesson may have: where its confidence begins, see `origins.start_of`.
    """
    # a list or a mapping in the place of a word is left out; `validate` reports it
    fields = {key: value for key, value in entry.fields.items() if key in _LISTS or not isinstance(value, list | dict)}
    kind = KINDS[entry.kind]
    details = {key: fields.get(key) for key in kind.details}
    details |= {key: fields[key] for key in kind.if_stated if fields.get(key) is not None}
    if details.get("rationale"):
        details["rationale"] = entry.rationale
    if entry.kind is Kind.LESSON:
        details["source"] = entry.source
        details["status"] = entry.status.value
        details["pattern"] = str(entry.pattern) if entry.pattern else None
        if (seen := seen_of(entry.fields)) is not None:
            details["seen"] = list(seen)
        if (start := start_of(entry.fields.get("source"))) is not None:
            details["start"] = start
    details["created"] = fields.get("created")
    return details


def text_hash(entry: Entry) -> str:
    """Changes when a passage of the entry could: kind, title, body, code, what is embedded before them."""
    key = KINDS[entry.kind].opening
    opening = entry.fields.get(key) if key != "pattern" else None  # a pattern counts as it is shown
    return _digest(entry.kind.value, entry.title, str(entry.pattern or ""), str(opening or ""), entry.body, entry.code)


def meta_hash(entry: Entry, details: str) -> str:
    """Changes when anything else does that a row of the index could carry: place, lists, links, details."""
    links = [(link.relation, link.target, link.weight) for link in entry.links]
    return _digest(entry.project, entry.path, repr(entry.tags), repr(entry.versions), repr(links), details)


def _digest(*parts: str) -> str:
    digest = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


def snippet(entry: Entry) -> str:
    """The first words of an entry, in one line; of a lesson those of its pattern."""
    text = str(entry.pattern or "") or entry.rationale or entry.body or entry.code
    words = " ".join(re.sub(_MARKUP, "", text[: SNIPPET_LENGTH * 20]).split())
    words = words.removeprefix(entry.title).lstrip(" :-") or words
    if len(words) <= SNIPPET_LENGTH:
        return words
    return words[:SNIPPET_LENGTH].rsplit(" ", 1)[0].rstrip() + "…"


def write_folders(db: sqlite3.Connection, changes: Sequence[FolderChange]) -> None:
    """Write the changes of folders, their files, problems and entries."""
    for change in changes:
        folder = change.folder
        if change.digest is None:
            db.execute("DELETE FROM folders WHERE folder = ?", (folder,))
        else:
            db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (folder, change.digest))
        db.executemany("DELETE FROM files WHERE folder = ? AND name = ?", [(folder, name) for name in change.gone])
        rows = [(folder, name, *file.stamp, file.racy, file.hash) for name, file in change.files.items()]
        db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    units = [unit for change in changes for unit in change.units]
    db.executemany("DELETE FROM problems WHERE file = ?", [(unit,) for unit in units])
    problems = [(file, it.path, it.line, it.message) for change in changes for file, it in change.problems]
    db.executemany("INSERT INTO problems VALUES (?, ?, ?, ?)", problems)
    # oldest first: lists ask by age, and read half as long where rows lie on disk in that order
    records = [record for change in changes for record in change.records]
    records.sort(key=lambda record: (record.row["created"], record.row["id"]))
    _replace(db, FILES, f"source = 'files' AND file {_IN}", units, records)


def write_approved(db: sqlite3.Connection, records: Sequence[CatalogRecord], keep: Collection[str]) -> None:
    """Replace the rules of the approval branch, but for the ids in `keep`."""
    kept = sorted({*keep} - {record.row["id"] for record in records})
    _replace(db, APPROVED, f"source = 'approved' AND id NOT {_IN}", kept, records)


def _replace(
    db: sqlite3.Connection, source: str, where: str, ids: Sequence[str], records: Sequence[CatalogRecord]
) -> None:
    """Put the records in the place of the entries that fulfil `where`, and settle which entry of each id is shown."""
    values = {"ids": json.dumps(ids)}
    touched = {str(record.row["id"]) for record in records}
    touched.update(row[0] for row in db.execute(f"SELECT id FROM entries WHERE {where}", values))  # noqa: S608 - our words
    db.execute(f"DELETE FROM entries WHERE {where}", values)  # noqa: S608
    (first,) = db.execute("SELECT coalesce(max(key), 0) + 1 FROM entries").fetchone()
    keyed = list(enumerate(records, first))
    for key, record in keyed:
        row = {**record.row, "key": key, "source": source}
        db.execute(f"INSERT INTO entries ({', '.join(row)}) VALUES (:{', :'.join(row)})", row)  # noqa: S608 - our names
    db.executemany("INSERT INTO tags VALUES (?, ?)", [(key, tag) for key, r in keyed for tag in r.tags])
    db.executemany("INSERT INTO versions VALUES (?, ?)", [(key, v) for key, r in keyed for v in r.versions])
    db.executemany("INSERT INTO fields VALUES (?, ?, ?)", [(key, r.fields, r.opening) for key, r in keyed])
    db.executemany("INSERT INTO failures VALUES (?, ?)", [(key, words) for key, r in keyed for words in r.failures])
    links = [(key, link.relation, link.target, link.weight) for key, r in keyed for link in r.links]
    db.executemany("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?)", links)
    for statement in _SETTLE:
        db.execute(statement, {"ids": json.dumps(sorted(touched))})
    _settle_handles(db, touched)


def _settle_handles(db: sqlite3.Connection, touched: Iterable[str]) -> None:
    """Lengthen a handle only where the last characters of another shown id are the same, and shorten it again."""
    query = "SELECT key, id, kind, handle FROM shown WHERE tail >= ? AND tail < ?"
    updates = []
    for tail in {entry_id.upper()[::-1][:HANDLE_LENGTH] for entry_id in touched}:
        rows = db.execute(query, (tail, tail + "~")).fetchall()
        lengths = handle_lengths(row[1].upper() for row in rows) if len(rows) > 1 else {}
        for key, entry_id, kind, current in rows:
            unique = handle(Kind(kind), entry_id, lengths.get(entry_id.upper(), HANDLE_LENGTH))
            if unique != current:
                updates.append((unique, key))
    db.executemany("UPDATE entries SET handle = ? WHERE key = ?", updates)
