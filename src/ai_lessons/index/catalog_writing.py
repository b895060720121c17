"""Writes a survey into the catalog, inside the caller's transaction. Decides nothing about the disk."""

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

    from ai_lessons.index.catalog_survey import FolderChange

SNIPPET_LENGTH, OPENING = 150, 800  # characters of a text that stand in the catalog
SEPARATOR = "\x1f"
"""Between the values of a list in one column; no tag or version that we accept holds this control character."""

_HIDDEN = 2  # Until it is settled which file of an id is shown
_LISTS = frozenset(("applies_to", "contexts"))
_MARKUP = r"(?m)^\s{0,3}(?:#{1,6}\s+|>\s?|```\w*\s*$|---+\s*$|#!.*$)"


class CatalogRecord(NamedTuple):
    """One entry, ready to be written: its `row`, and what stands in tables beside it."""

    row: Mapping[str, str | int | None]
    tags: tuple[str, ...]
    versions: tuple[str, ...]
    links: tuple[Link, ...]
    fields: str
    opening: str
    failures: tuple[str, ...]


def record(entry: Entry, file: str, file_hash: str, side_hash: str | None) -> CatalogRecord:
    """What to keep of an entry that was read from `file`. A script outside the repository has only its side file."""
    in_place = entry.path != file
    details = json.dumps(details_of(entry), ensure_ascii=False, separators=(",", ":"), default=str)
    tags, versions = _values(entry.tags), _values(entry.versions)
    row: dict[str, str | int | None] = {
        "file": file,
        "standing": _HIDDEN,
        "id": entry.id,
        "tail": entry.id.upper()[::-1],  # the id from its end: what a handle is looked up by
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
    fields = json.dumps(dict(entry.fields), ensure_ascii=True, separators=(",", ":"), default=str)
    return CatalogRecord(row, tags, versions, entry.links, fields, *_to_tell(entry))


def _to_tell(entry: Entry) -> tuple[str, tuple[str, ...]]:
    """What agents are told of a lesson or rule unasked, and at which failures."""
    from ai_lessons.knowledge.failures import before_failure, recorded  # noqa: PLC0415  # no list parses an entry

    if entry.kind not in {Kind.LESSON, Kind.RULE}:
        return "", ()
    kept = dict.fromkeys("\n".join(" ".join(sorted(line)) for line in one) for one in recorded(entry) if one)
    return before_failure(entry.body)[:OPENING], tuple(kept)


def _values(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.replace(SEPARATOR, " ") for text in texts))


def details_of(entry: Entry) -> dict[str, Any]:
    """What differs by kind, as `Light.details` carries it. Lessons and rules always have the same keys.

    But for `start`, which only a promoted lesson may have: where its confidence begins, see `origins.start_of`.
    """
    # a value that should be a word and is a list or a mapping says nothing; `validate` names it
    fields = {key: one for key, one in entry.fields.items() if key in _LISTS or not isinstance(one, list | dict)}
    kind = KINDS[entry.kind]
    details = {key: fields.get(key) for key in kind.details}
    details |= {key: fields[key] for key in kind.if_stated if fields.get(key) is not None}
    if details.get("rationale"):
        details["rationale"] = entry.rationale
    if entry.kind is Kind.LESSON:
        details["source"] = entry.source
        details["status"] = entry.status.value
        details["pattern"] = str(entry.pattern) if entry.pattern else None
        seen = seen_of(entry.fields)
        details |= {} if seen is None else {"seen": list(seen)}
        start = start_of(entry.fields.get("source"))
        details |= {} if start is None else {"start": start}
    details["created"] = fields.get("created")
    return details


def text_hash(entry: Entry) -> str:
    """Changes when a passage of the entry could: kind, title, body, code, what is embedded before them."""
    key = KINDS[entry.kind].opening
    stated = entry.fields.get(key) if key != "pattern" else None  # a pattern counts as it is told
    return _digest((entry.kind.value, entry.title, str(entry.pattern or ""), str(stated or "")), entry)


def meta_hash(entry: Entry, details: str) -> str:
    """Changes when anything else does that a row of the index could carry: place, lists, links, details."""
    links = [(link.relation, link.target, link.weight) for link in entry.links]
    return _digest((entry.project, entry.path, repr(entry.tags), repr(entry.versions), repr(links), details))


def _digest(parts: Iterable[str], entry: Entry | None = None) -> str:
    whole = blake2b(digest_size=16)
    for part in (*parts, *((entry.body, entry.code) if entry else ())):
        data = part.encode("utf-8", "surrogatepass")
        whole.update(b"%d:" % len(data) + data)
    return whole.hexdigest()


def snippet(entry: Entry) -> str:
    """The first words of what the entry says, in one line; a lesson's pattern says most."""
    text = str(entry.pattern or "") or entry.rationale or entry.body or entry.code
    words = " ".join(re.sub(_MARKUP, "", text[: SNIPPET_LENGTH * 20]).split())
    words = words.removeprefix(entry.title).lstrip(" :-") or words
    if len(words) <= SNIPPET_LENGTH:
        return words
    return words[:SNIPPET_LENGTH].rsplit(" ", 1)[0].rstrip() + "…"


FILES = "files"
APPROVED = "approved"

_IN = "IN (SELECT value FROM json_each(:ids))"

# Of all files that state one id, what is approved comes first, then the smallest path: the same for every reader.
_SETTLE = f"""
UPDATE entries SET standing = 2 WHERE standing <> 2 AND id {_IN};
UPDATE entries SET standing = (kind = 'rule' AND source = 'files') WHERE key IN (
    SELECT key FROM (
        SELECT key, row_number() OVER (PARTITION BY id ORDER BY source, file) AS place
        FROM entries WHERE id {_IN}
    ) WHERE place = 1
);
UPDATE entries SET standing = 1 WHERE standing = 2 AND kind = 'rule' AND source = 'files' AND id IN (
    SELECT id FROM shown WHERE kind = 'rule' AND id {_IN}
)
"""  # noqa: S608 - our own words


class Attested(NamedTuple):
    """What is known of a lesson's claims: who stated it (empty: not known), and whether that is the user, in person.

    `start` says whether the standing that it brought from elsewhere counts.
    """

    stated_by: str
    firm: bool
    start: bool


def write_folders(db: sqlite3.Connection, changes: Sequence[FolderChange]) -> None:
    """Forget and learn what the survey says."""
    for change in changes:
        _write_files(db, change)
    units = [unit for change in changes for unit in change.units]
    db.executemany("DELETE FROM problems WHERE file = ?", [(unit,) for unit in units])
    problems = [(file, one.path, one.line, one.message) for change in changes for file, one in change.problems]
    db.executemany("INSERT INTO problems VALUES (?, ?, ?, ?)", problems)
    # oldest first: lists ask by age, and read half as long where rows lie on disk in that order
    records = [record for change in changes for record in change.records]
    records.sort(key=lambda record: (record.row["created"], record.row["id"]))
    _replace(db, FILES, f"source = 'files' AND file {_IN}", units, records)


def write_approved(db: sqlite3.Connection, records: Sequence[CatalogRecord], keep: Collection[str]) -> None:
    """Replace what came from the approval branch, but for the ids in `keep`."""
    kept = sorted({*keep} - {record.row["id"] for record in records})
    _replace(db, APPROVED, f"source = 'approved' AND id NOT {_IN}", kept, records)


def _write_files(db: sqlite3.Connection, change: FolderChange) -> None:
    folder = change.folder
    if change.digest is None:
        db.execute("DELETE FROM folders WHERE folder = ?", (folder,))
    else:
        db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (folder, change.digest))
    db.executemany("DELETE FROM files WHERE folder = ? AND name = ?", [(folder, name) for name in change.gone])
    rows = [(folder, name, *file.stamp, file.racy, file.hash) for name, file in change.files.items()]
    db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _replace(
    db: sqlite3.Connection, source: str, where: str, ids: Sequence[str], records: Sequence[CatalogRecord]
) -> None:
    """Put the records in the place of the entries `where` is true of, and settle who of all with their ids is shown."""
    old = {"ids": json.dumps(ids)}
    touched = {str(record.row["id"]) for record in records}
    touched.update(one for (one,) in db.execute(f"SELECT id FROM entries WHERE {where}", old))  # noqa: S608 - our words
    db.execute(f"DELETE FROM entries WHERE {where}", old)  # noqa: S608
    _insert(db, records, source)
    for statement in _SETTLE.split(";"):
        db.execute(statement, {"ids": json.dumps(sorted(touched))})
    _settle_handles(db, touched)


def _insert(db: sqlite3.Connection, records: Sequence[CatalogRecord], source: str) -> None:
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


def _settle_handles(db: sqlite3.Connection, touched: Iterable[str]) -> None:
    """Lengthen a handle only where the last characters of another shown id are the same, and shorten it again."""
    query = "SELECT key, id, kind, handle FROM shown WHERE tail >= ? AND tail < ?"
    updates = []
    for tail in {id_.upper()[::-1][:HANDLE_LENGTH] for id_ in touched}:
        group = db.execute(query, (tail, tail + "~")).fetchall()
        lengths = handle_lengths(row[1].upper() for row in group) if len(group) > 1 else {}
        for key, id_, kind, had in group:
            wanted = handle(Kind(kind), id_, lengths.get(id_.upper(), HANDLE_LENGTH))
            if wanted != had:
                updates.append((wanted, key))
    db.executemany("UPDATE entries SET handle = ? WHERE key = ?", updates)
