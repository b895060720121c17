"""The catalog of all entries, for lists and lookups; brought up to date with the files before it is read."""

from __future__ import annotations

import json
import posixpath
import re
import time
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AmbiguousName, NotFound
from ai_lessons.index.catalog_reading import UNREADABLE, CatalogReader
from ai_lessons.index.catalog_survey import Disk, survey
from ai_lessons.index.catalog_writing import (
    Attested,
    CatalogRecord,
    FolderChange,
    record,
    write_approved,
    write_folders,
)
from ai_lessons.index.database import Schema
from ai_lessons.knowledge.entries import HANDLE_LENGTH, Entry, Kind, Light, handle, handle_lengths

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from ai_lessons.index.catalog_survey import Parse, Progress, Read, Scan

_HOPEFUL_TRIES = 3  # How often a refresh reads first and locks after; then it holds the write lock while it reads

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

-- standing: 0 shown; 1 a rule of the working tree, which counts only as approved; 2 a second file with a taken id.
-- The check is the wall: no statement, however wrong, can show a rule that did not come from the approval branch.
CREATE TABLE entries (
    key INTEGER PRIMARY KEY,
    source TEXT NOT NULL CHECK (source IN ('files', 'approved')),
    file TEXT NOT NULL,
    standing INTEGER NOT NULL CHECK (standing <> 0 OR kind <> 'rule' OR source = 'approved'),
    id TEXT NOT NULL, tail TEXT NOT NULL, handle TEXT NOT NULL, kind TEXT NOT NULL,
    project TEXT NOT NULL, path TEXT NOT NULL, side_path TEXT, status TEXT NOT NULL, created TEXT NOT NULL,
    title TEXT NOT NULL, tags TEXT NOT NULL, versions TEXT NOT NULL, snippet TEXT NOT NULL, details TEXT NOT NULL,
    hash TEXT, side_hash TEXT, text_hash TEXT NOT NULL, meta_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX entries_file ON entries (file, source);
CREATE INDEX entries_id ON entries (id);
CREATE UNIQUE INDEX shown_id ON entries (id, text_hash, meta_hash) WHERE standing = 0;
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
    key INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE, fields TEXT NOT NULL, opening TEXT NOT NULL
);
-- the shapes of failures that entries keep: lines of words
CREATE TABLE failures (key INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE, words TEXT NOT NULL);
CREATE INDEX failures_key ON failures (key);
CREATE VIEW shown AS SELECT * FROM entries WHERE standing = 0;
-- the same entries with what filters ask for: it stands in the index, so that no row is read only to be counted
CREATE VIEW counted AS SELECT key, status, kind, project FROM entries INDEXED BY shown_newest WHERE standing = 0;
"""

_UNATTESTED = """
SELECT id FROM shown WHERE kind = 'lesson' AND NOT instr(details, '"stated_by":')
AND (instr(details, '"from":"user"') OR instr(details, '"start":'))
"""

_STATED = """
UPDATE entries SET details = json_set(details, '$.stated_by', ?, '$.firm', ?) WHERE id = ? AND standing = 0
"""
_UNPROVEN = "UPDATE entries SET details = json_remove(details, '$.start') WHERE id = ? AND standing = 0"

SUGGESTIONS = 5
ALIKE = 0.8  # Likeness of two ends of ids that differ in one character
_LETTERS = {kind.letter: kind.value for kind in Kind}
_HANDLE = rf"(?:([{''.join(_LETTERS)}])-)?([0-9A-Z]{{1,26}})"
_MISREAD = str.maketrans("ILO", "110")  # Letters that no id has, and what Crockford's base 32 takes them for

_HANDLES = """
SELECT handle, title FROM shown WHERE handle LIKE :like ESCAPE '\\' OR substr(handle, 3) LIKE :like ESCAPE '\\'
ORDER BY status <> 'active', created DESC LIMIT :limit
"""
_COUNTED = {"project": "shown", "tag": "shown JOIN tags USING (key)", "version": "shown JOIN versions USING (key)"}

VERSION = 11  # Raise it when the tables change, or when the same file would be read into another entry

SCHEMA = Schema("catalog", _TABLES, VERSION)


class CatalogRefresh(NamedTuple):
    """What a refresh found; `unreadable` counts files that give no entry.

    `rebuilt` is a sentence for the user where the catalog had to be made anew or is kept in memory, else empty.
    """

    generation: int
    unreadable: int = 0
    rebuilt: str = ""


class Catalog(CatalogReader):
    """One catalog file, opened. A damaged file is replaced and filled again."""

    def __init__(self, path: Path, *, tier: str = "user", clock: Callable[[], int] = time.time_ns) -> None:
        self._tier, self._clock = tier, clock
        self._disk: Disk | None = None
        super().__init__(path, SCHEMA)

    def refresh(self, scan: Scan, read: Read, parse: Parse, progress: Progress = lambda *_: None) -> CatalogRefresh:
        """Bring the catalog up to date with the files.

        `scan()` walks the folders anew each time, as `(folder, [(name, mtime_ns, ctime_ns, size, inode, mode)])`
        with UTF-8 names; `read(path)` gives bytes, NotFound where the file is gone, another error of ours where it
        cannot be read; `parse` makes an Entry of them, and is called only for what changed.
        """
        self._disk = Disk(scan, read, parse, progress)
        return self.ask(lambda _: self._refresh())

    def set_rules_in_force(
        self, tree: str, rules: Iterable[tuple[Entry, str]], *, keep: Collection[str] = ()
    ) -> CatalogRefresh:
        """Replace the rules of the approval branch, each with its blob hash.

        Earlier ones are removed, but for the ids in `keep`. `tree` names the state that they come from, for
        `rules_tree`; it is noted even where no rule changed. Rules of the working tree are never shown.
        """
        records = [record(entry, entry.path, blob, None) for entry, blob in rules]
        return self.ask(lambda _: self._put_rules(tree, records, frozenset(keep)))

    def resolve(self, ref: str) -> Light:
        """The entry that a person means: handle, id, unique end of an id, or repository-relative path of a file.

        Raises NotFound: no entry matches; the hint names similar ones. AmbiguousName: several match.
        """
        name = ref.strip().encode("utf-8", "replace").decode()  # half a character, which no database takes, becomes `?`
        path = posixpath.normpath(name)
        rows = self._rows(
            "SELECT id FROM shown WHERE path = ?1 UNION SELECT id FROM shown WHERE side_path = ?1", (path,)
        )
        match = re.fullmatch(_HANDLE, name.upper())
        ids = [row[0] for row in rows]
        if match and not ids:
            kind, end = _LETTERS.get(match[1] or ""), match[2]
            ids = self._ids_ending(end, kind) or self._ids_ending(end.translate(_MISREAD), kind)
        if not ids:
            similar = (match and self._similar_ids(match[2].translate(_MISREAD))) or self._similar_words(name)
            raise NotFound("entry", ref, suggestions=self._described(similar))
        if len(ids) > 1:
            raise AmbiguousName(ref, self._described(ids))
        return self.get(ids[0])

    def handle_beside(self, kind: Kind, entry_id: str) -> str:
        """The handle of an entry that was just written, unique among the entries of the last refresh."""
        upper = entry_id.upper()
        similar = {other.upper() for other in self._ids_ending(upper[-HANDLE_LENGTH:])}
        return handle(kind, entry_id, handle_lengths({upper, *similar})[upper])

    def _ids_ending(self, end: str, kind: str | None = None) -> list[str]:
        tail = end[::-1]
        query = "SELECT id FROM shown WHERE tail >= ? AND tail < ? AND (? IS NULL OR kind = ?)"
        return [row[0] for row in self._rows(query, (tail, tail + "~", kind, kind))]

    def _similar_ids(self, end: str) -> list[str]:
        """Ids that end so, of any kind; else ids one character away."""
        if (ids := self._ids_ending(end)) or len(end) < HANDLE_LENGTH - 1:
            return ids
        from difflib import get_close_matches  # noqa: PLC0415  # only for a mistyped handle

        handles = {name[2:]: entry_id for name, entry_id in self._rows("SELECT handle, id FROM shown")}
        return [handles[match] for match in get_close_matches(end[-HANDLE_LENGTH:], handles, 20, ALIKE)]

    def _similar_words(self, name: str) -> list[str]:
        """Entries whose titles and paths share half of the words."""
        words = [word for word in re.split(r"[^\w]+", name.lower()) if len(word) > 1][:8]
        query = """
            SELECT id FROM shown
            JOIN (SELECT value AS word FROM json_each(?)) ON instr(lower(title || ' ' || path), word)
            GROUP BY id HAVING count(*) * 2 >= ? ORDER BY count(*) DESC, id DESC LIMIT ?
        """
        return [row[0] for row in self._rows(query, (json.dumps(words), len(words), SUGGESTIONS))]

    def _described(self, ids: list[str]) -> list[str]:
        """Handle and title of the first few, and how many follow."""
        entries = self.many(ids[:SUGGESTIONS])
        described = [
            f"{entries[entry_id].handle} ({entries[entry_id].title})" for entry_id in ids if entry_id in entries
        ]
        hidden = len(ids) - SUGGESTIONS
        return [*described, f"{hidden} more"] if hidden > 0 else described

    def complete(self, what: str, prefix: str, limit: int = 50) -> list[tuple[str, str]]:
        """Values of `what` that start with `prefix`, each with a word of help, for the completion of a shell.

        `what` is `id` (handles, by kind letter and beginning; without a letter any handle's end), `project`, `tag`,
        `version`; anything else has no values.
        """
        like = re.sub(r"([\\%_])", r"\\\1", prefix) + "%"
        query = _HANDLES if what == "id" else ""
        if what in _COUNTED:
            query = f"SELECT {what}, count(*) || ' entries' FROM {_COUNTED[what]} WHERE {what} LIKE :like ESCAPE '\\'"  # noqa: S608
            query += " GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT :limit"
        return self._rows(query, {"like": like, "limit": limit}) if query else []

    def rules_tree(self) -> str:
        """The state that `set_rules_in_force` last got; empty in a new catalog."""
        return str(self._meta("rules_tree") or "")

    def unattested(self) -> list[str]:
        """Ids of lessons that claim to be a person's, or proven elsewhere, and were not given to `attest` yet."""
        now = self.generation
        if self._meta("attested") == now:
            return []  # nothing was written since the last query
        ids = [row[0] for row in self._rows(_UNATTESTED)]
        if not ids:
            self._put_meta("attested", now)
        return ids

    def attest(self, proofs: Mapping[str, Attested]) -> None:
        """Note the proof of such claims by id. It holds until the file changes, and changes no hash."""
        stated = [(proof.stated_by, int(proof.firm), entry_id) for entry_id, proof in proofs.items()]
        unproven = [(entry_id,) for entry_id, proof in proofs.items() if not proof.start]

        def put(_: sqlite3.Connection) -> None:
            with self.transaction() as db:
                db.executemany(_STATED, stated)
                db.executemany(_UNPROVEN, unproven)

        self.ask(put)

    def _refresh(self) -> CatalogRefresh:
        """Read and parse without a lock; survey again where another process wrote meanwhile."""
        for _ in range(_HOPEFUL_TRIES):
            base = self.generation
            if not (changes := self._survey()):
                return self._refreshed()
            with self.transaction():
                if self.generation == base:
                    write_folders(self.connection, changes)
                    return self._written()
        with self.transaction():
            if not (changes := self._survey()):
                return self._refreshed()
            write_folders(self.connection, changes)
            return self._written()

    def _survey(self) -> list[FolderChange]:
        assert self._disk is not None, "a survey needs the ways to the disk"  # noqa: S101 - for the type checker
        return survey(self.connection, self._disk, self._clock())

    def _put_rules(self, tree: str, records: list[CatalogRecord], keep: frozenset[str]) -> CatalogRefresh:
        with self.transaction():
            self._put_meta("rules_tree", tree)
            if not records and keep >= self.rules_in_force().keys():
                return self._refreshed()
            write_approved(self.connection, records, keep)
            return self._written()

    def _put_meta(self, key: str, value: object) -> None:
        self._rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _written(self) -> CatalogRefresh:
        # from the clock, so that a catalog made anew does not count through the numbers of the last one
        self._put_meta("generation", max(self._clock(), self.generation + 1))
        self._put_meta("unreadable", self._one(UNREADABLE))
        return self._refreshed()

    def _refreshed(self) -> CatalogRefresh:
        notice, self.notice = self.notice, ""
        return CatalogRefresh(self.generation, int(self._meta("unreadable") or 0), notice)

    def _refill(self) -> None:
        """Fill a new database, and keep its notice for the next refresh."""
        if self._disk is not None:
            self.notice = self._refresh().rebuilt
