"""Writes into the catalog what a survey found, in the caller's transaction.

Begin with `write_folders`; `catalog_survey` looks at the disk, `catalog_records` at one entry.
"""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model.entries import HANDLE_LENGTH, Kind, handle, handle_lengths
from ai_lessons.model.layout import derived_id
from ai_lessons.search.catalog_records import HIDDEN, compact_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ai_lessons.search.catalog_records import CatalogRecord
    from ai_lessons.search.catalog_survey import FolderChange

    First = Callable[[Sequence[str]], Iterable[str]]

FILES, APPROVED = "files", "approved"
_IN = "IN (SELECT value FROM json_each(:ids))"

_SETTLE = (
    f"UPDATE entries SET standing = {HIDDEN} WHERE standing <> {HIDDEN} AND stated {_IN}",  # noqa: S608 - our own words
    (f"UPDATE entries SET standing = (kind = 'rule' AND source = 'files') WHERE stated {_IN}"),  # noqa: S608
)
_RENAMED = f"SELECT key, stated, kind FROM entries WHERE id <> stated AND stated {_IN}"  # noqa: S608
_KNOWN = f"SELECT file FROM entries WHERE id = stated AND standing = 0 AND source = 'files' AND stated {_IN}"  # noqa: S608
_SAME_ID = f"""
SELECT file FROM entries WHERE kind <> 'rule' AND stated IN (
    SELECT stated FROM entries WHERE kind <> 'rule' AND stated {_IN} GROUP BY stated HAVING count(*) > 1
)"""  # noqa: S608
# A text is the same in two tiers where its kind, project, versions and files are
HELD = "kind || ' ' || project || ' ' || versions || ' ' || coalesce(hash, '') || ' ' || coalesce(side_hash, '')"
_GO_BY = f"SELECT stated FROM entries WHERE id <> stated AND id {_IN}"  # noqa: S608 - our own words
# Where several files state one id it belongs to the rule in force, then to the file that had it
# here before, then to that which came first into the branch, then to the shortest path: a copy has
# a longer one. A rule that is not in force has none.
_LOSERS = f"""
SELECT key, kind, stated, path, {HELD}, text FROM (
    SELECT *, row_number() OVER (
        PARTITION BY stated ORDER BY source,
        (SELECT key FROM json_each(:first) WHERE value = file) IS NULL,
        (SELECT key FROM json_each(:first) WHERE value = file), length(file), file
    ) AS place FROM entries WHERE standing = 0 AND stated {_IN}
) LEFT JOIN taken ON taken.id = stated WHERE place > 1 OR taken.id IS NOT NULL
"""  # noqa: S608


class Attested(NamedTuple):
    """The proof of a lesson's claims: its author, and whether that is the user, in person.

    Without an author nobody knows whose they are.

    `start` says whether the standing that it brought from elsewhere counts.
    """

    stated_by: str
    firm: bool
    start: bool


def write_folders(
    db: sqlite3.Connection, changes: Sequence[FolderChange], tier: str, first: First
) -> None:
    """Write the changes of folders, their files, problems and entries."""
    for change in changes:
        folder = change.folder
        if change.digest is None:
            db.execute("DELETE FROM folders WHERE folder = ?", (folder,))
        else:
            db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (folder, change.digest))
        db.executemany(
            "DELETE FROM files WHERE folder = ? AND name = ?",
            [(folder, name) for name in change.gone],
        )
        rows: list[tuple[object, ...]] = []
        for name, file in change.files.items():
            rows.append((folder, name, *file.stamp, file.racy, file.hash))
        db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    units = list(chain.from_iterable(change.units for change in changes))
    named = [(unit,) for unit in units]
    db.executemany("DELETE FROM problems WHERE file = ?", named)
    db.executemany("DELETE FROM elsewhere WHERE file = ?", named)
    elsewhere = chain.from_iterable(change.elsewhere for change in changes)
    db.executemany("INSERT OR REPLACE INTO elsewhere VALUES (?, ?, ?, ?)", elsewhere)
    problems: list[tuple[str, str, int, str]] = []
    for entry_file, problem in chain.from_iterable(change.problems for change in changes):
        problems.append((entry_file, problem.path, problem.line, problem.message))
    db.executemany("INSERT INTO problems VALUES (?, ?, ?, ?)", problems)
    # oldest first: lists ask by age, and read half as long where rows lie on disk in that order
    records = list(chain.from_iterable(change.records for change in changes))
    records.sort(key=lambda record: (record.row["created"], record.row["id"]))
    _replace(db, FILES, f"source = 'files' AND file {_IN}", units, records, tier, first)


def write_approved(
    db: sqlite3.Connection, records: Sequence[CatalogRecord], keep: Collection[str], tier: str
) -> None:
    """Replace the rules of the approval branch, but for the ids in `keep`."""
    kept = sorted({*keep} - {record.row["stated"] for record in records})
    _replace(db, APPROVED, f"source = 'approved' AND stated NOT {_IN}", kept, records, tier)


def _replace(
    db: sqlite3.Connection,
    source: str,
    where: str,
    ids: Sequence[str],
    records: Sequence[CatalogRecord],
    tier: str,
    first: First = lambda _: (),
) -> None:
    """Put the records in the place of the entries that fulfil `where`, and settle who has each id."""
    values = {"ids": json.dumps(ids)}
    touched = {str(record.row["stated"]) for record in records}
    # `where` is made of our own words
    stated = db.execute(f"SELECT stated FROM entries WHERE {where}", values)  # noqa: S608
    touched.update(row[0] for row in stated)
    holders = [file for (file,) in db.execute(_KNOWN, {"ids": json.dumps(sorted(touched))})]
    db.execute(f"DELETE FROM entries WHERE {where}", values)  # noqa: S608
    (start,) = db.execute("SELECT coalesce(max(key), 0) + 1 FROM entries").fetchone()
    _insert(db, source, start, records)
    copies = {file for (file,) in db.execute(_SAME_ID, {"ids": json.dumps(sorted(touched))})}
    settle(db, touched, tier, [*holders, *first(sorted(copies))] if copies else [])


def _insert(
    db: sqlite3.Connection, source: str, start: int, records: Sequence[CatalogRecord]
) -> None:
    """Write records under keys from `start` on, each into its tables."""
    # by the table and the number of its columns
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in _COLUMNS}
    for key, record in enumerate(records, start):
        row = {**record.row, "key": key, "source": source}
        db.execute(f"INSERT INTO entries ({', '.join(row)}) VALUES (:{', :'.join(row)})", row)  # noqa: S608 - our names
        rows["fields"].append((key, record.fields, record.opening, sum(record.terms.values())))
        rows["tags"] += [(key, tag) for tag in record.tags]
        rows["versions"] += [(key, version) for version in record.versions]
        rows["terms"] += [(term, key, times) for term, times in record.terms.items()]
        rows["failures"] += [(key, words) for words in record.failures]
        for feature, facts in record.facts.items():
            rows["facts"].append((key, feature, compact_json(facts, ascii_only=False)))
        for link in record.links:
            rows["links"].append((key, link.relation, link.target, link.weight))
    # table after table: SQLite writes pages that lie together in one go
    for table, columns in _COLUMNS.items():
        marks = ", ".join("?" * columns)
        db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows[table])  # noqa: S608 - our names


# The tables beside that of the entries, and how many columns each has.
_COLUMNS = {
    "tags": 2, "versions": 2, "fields": 4, "terms": 3, "failures": 2, "facts": 3, "links": 4,
}  # fmt: skip


def settle(db: sqlite3.Connection, stated: Iterable[str], tier: str, first: Sequence[str]) -> None:
    """Decide what is shown of all that states these ids, and by which id.

    No entry hides or renames another.

    What has no right to its id goes by one of its tier and place. `first`: the files with the best
    right.
    """
    names = set(stated)
    # what goes by an id that another text now states goes by another one
    names.update(name for (name,) in db.execute(_GO_BY, {"ids": json.dumps(sorted(names))}))
    values = {"ids": json.dumps(sorted(names)), "first": json.dumps(first)}

    def rename(rows: Iterable[tuple[int, str, str]]) -> None:
        new: list[tuple[str, str, str, int]] = []
        for key, name, kind in rows:
            new.append((name, name.upper()[::-1], handle(Kind(kind), name), key))
        db.executemany("UPDATE entries SET id = ?, tail = ?, handle = ? WHERE key = ?", new)
        names.update(name for name, *_ in new)

    rename(db.execute(_RENAMED, values).fetchall())
    for statement in _SETTLE:
        db.execute(statement, values)
    losers = db.execute(_LOSERS, values).fetchall()
    renamed: list[tuple[int, str, str]] = []
    for key, kind, name, path, text, shown in losers:
        if text == shown:
            # another tier shows the same
            db.execute("UPDATE entries SET standing = ? WHERE key = ?", (HIDDEN, key))
        else:
            renamed.append((key, _free_id(db, f"{tier}:{name}:{path}"), kind))
    rename(renamed)
    _settle_handles(db, names)


def _free_id(db: sqlite3.Connection, place: str) -> str:
    """An id for the entry of this tier, id and path that no text states, whoever guessed it."""
    query = "SELECT 1 FROM entries WHERE stated = ?1 UNION ALL SELECT 1 FROM taken WHERE id = ?1"
    entry_id = derived_id(place)
    while db.execute(query, (entry_id,)).fetchone():
        entry_id = derived_id(entry_id)
    return entry_id


def set_taken(db: sqlite3.Connection, taken: Mapping[str, str], tier: str) -> None:
    """Note ids that entries of other tiers have, with what these hold, and settle who has them now."""
    before = [name for (name,) in db.execute("SELECT id FROM taken")]
    db.execute("DELETE FROM taken")
    db.executemany("INSERT INTO taken VALUES (?, ?)", sorted(taken.items()))
    rows = db.execute(_KNOWN, {"ids": json.dumps(sorted(taken))})
    holders = [file for (file,) in rows]
    settle(db, {*before, *taken}, tier, holders)


def _settle_handles(db: sqlite3.Connection, touched: Iterable[str]) -> None:
    """Lengthen a handle only where the last characters of another shown id are the same, and shorten it again."""
    query = "SELECT key, id, kind, handle FROM shown WHERE tail >= ? AND tail < ?"
    updates = []
    for tail in {entry_id.upper()[::-1][:HANDLE_LENGTH] for entry_id in touched}:
        rows = db.execute(query, (tail, tail + "~")).fetchall()
        lengths: Mapping[str, int] = {}
        if len(rows) > 1:
            lengths = handle_lengths(row[1].upper() for row in rows)
        for key, entry_id, kind, current in rows:
            unique = handle(Kind(kind), entry_id, lengths.get(entry_id.upper(), HANDLE_LENGTH))
            if unique != current:
                updates.append((unique, key))
    db.executemany("UPDATE entries SET handle = ? WHERE key = ?", updates)
