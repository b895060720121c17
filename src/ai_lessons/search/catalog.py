"""The catalog file: what lists and shows need to know of every entry, up to date before each read.

Begin with `Catalog.refresh`; what is asked of one catalog or several is in `catalog_reader`.
"""

from __future__ import annotations

import json
import posixpath
import re
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from ai_lessons import extensions
from ai_lessons.errors import AmbiguousName, NotFound, Problem
from ai_lessons.model.entries import BEGINS, HANDLE_LENGTH, Kind, handle, handle_lengths
from ai_lessons.search.catalog_reader import BY_IDS, CatalogReader
from ai_lessons.search.catalog_records import record
from ai_lessons.search.catalog_survey import Disk, survey
from ai_lessons.search.catalog_tables import TABLES
from ai_lessons.search.catalog_update import HELD, set_taken, write_approved, write_folders
from ai_lessons.search.database import Database, Schema, version_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.model.entries import Entry, EntrySummary
    from ai_lessons.search.catalog_records import CatalogRecord
    from ai_lessons.search.catalog_survey import (
        Elsewhere,
        FolderChange,
        Parse,
        Progress,
        Read,
        Scan,
    )
    from ai_lessons.search.catalog_update import Attested, First

# each once, however many problems it has
UNREADABLE = """
SELECT count(DISTINCT file) FROM problems WHERE file NOT IN (SELECT path FROM entries)
"""
LEFT_OUT = (
    "SELECT DISTINCT file FROM problems WHERE file NOT IN (SELECT path FROM entries) ORDER BY file"
)
AS_TEXT = "SELECT count(DISTINCT file) FROM problems WHERE file IN (SELECT path FROM entries)"

_TAKEN = """
SELECT e.path, e.stated, w.path, e.handle FROM entries e JOIN entries w ON w.id = e.stated AND w.standing = 0
WHERE e.id <> e.stated
"""


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


_UNATTESTED = """
SELECT id FROM shown WHERE kind = 'lesson' AND NOT instr(summary, '"stated_by":') AND (
    instr(summary, '"from_":"user"') OR instr(summary, '"begins":')
    OR key IN (SELECT key FROM facts WHERE feature IN (SELECT value FROM json_each(:telling)))
)
"""

_STATED = """
UPDATE entries SET summary = json_set(summary, '$.stated_by', ?, '$.firm', ?) WHERE id = ? AND standing = 0
"""
_UNPROVEN = """
UPDATE entries SET summary = json_remove(summary, ?) WHERE id = ? AND standing = 0
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

# Raise it when the same file would be read into another entry (also where more is masked as a
# secret: catalog and index hold what was shown before), or a table is filled in another way
VERSION = 29


def schema() -> Schema:
    """The tables, of a version that also differs where a feature came, went, or keeps other facts."""
    kept = sorted(
        f"{feature.name} {feature.facts_version}" for feature in extensions.rows() if feature.facts
    )
    return Schema("catalog", TABLES, version_of("\n".join([TABLES, *kept]), VERSION))


def _beginnings() -> list[str]:
    """Where in a summary features keep where the confidence of an entry begins."""
    return [f"$.facts.{feature.name}.{BEGINS}" for feature in extensions.rows() if feature.facts]


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
        records = [record(entry, entry.path, blob, None) for entry, blob in rules]
        return self.ask(lambda _: self._put_rules(state, records, frozenset(keep)))

    def yield_ids(self, tiers: Sequence[Catalog]) -> None:
        """Leave their ids to the entries of these other tiers.

        What states one of them here goes by another.
        """
        if (self._meta("yielded") or "") == self._generations(tiers):
            return
        names = "SELECT stated FROM entries UNION SELECT id FROM entries UNION SELECT id FROM taken"
        taken: dict[str, str] = {}
        if tiers:
            here = [name for (name,) in self.rows(names)]
            # of two the nearer one's, which is named first
            for catalog in reversed(tiers):
                taken |= catalog.taken_of(here)

        def put(_: sqlite3.Connection) -> None:
            with self.transaction() as db:
                if taken != dict(db.execute("SELECT id, text FROM taken")):
                    set_taken(db, taken, self.tier)
                    self._written()
                self._put_meta("yielded", self._generations(tiers))

        self.ask(put)

    def _generations(self, tiers: Sequence[Catalog]) -> str:
        """Differs once one of these catalogs, or this one, was written; empty where it is alone."""
        if not tiers:
            return ""
        return " ".join(str(catalog.generation) for catalog in (self, *tiers))

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
            rows = self.rows(f"{query} WHERE {BY_IDS}", {"ids": json.dumps(list(ids))})
        return [Location._make((*row[:5], bool(row[5]))) for row in rows]

    def fields(self, entry_id: str) -> dict[str, Any]:
        """The whole frontmatter of an entry, as it was read from the contents that `locate` names."""
        rows = self.rows(
            "SELECT fields FROM shown JOIN fields USING (key) WHERE id = ?", (entry_id,)
        )
        if not rows:
            return {}
        fields: dict[str, Any] = json.loads(rows[0][0])
        return fields

    def rules_in_force(self) -> dict[str, tuple[str, str]]:
        """(path, blob hash) of every rule that was put in, by the id that it states."""
        rows = self.rows("SELECT stated, path, hash FROM entries WHERE source = 'approved'")
        return {entry_id: (path, blob) for entry_id, path, blob in rows}

    def stated(self, ids: Iterable[str]) -> dict[str, str]:
        """The ids that the texts of these entries state, by id: others where theirs are taken."""
        query = f"SELECT id, stated FROM shown WHERE {BY_IDS}"  # noqa: S608 - our own words
        return dict(self.rows(query, {"ids": json.dumps(list(ids))}))

    def taken_of(self, ids: Iterable[str]) -> dict[str, str]:
        """What the entries here hold that have these ids, as `yield_ids` compares it."""
        query = f"SELECT id, {HELD} FROM shown WHERE {BY_IDS}"  # noqa: S608 - our own words
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
        rows = self.rows("SELECT id FROM shown ORDER BY created DESC, id DESC")
        return [entry_id for (entry_id,) in rows]

    def unreadable(self) -> list[Problem]:
        """Why files give no entry, or only their text.

        They cannot be read, are invalid, or their id is taken.
        """
        rows = self.rows("SELECT path, message, line FROM problems")
        problems = [Problem(*row) for row in rows]
        for path, stated, winner, name in self.rows(_TAKEN):
            message = f"states the id {stated} of {winner}, so it goes by {name}: give it an id of its own"
            problems.append(Problem(path, message))
        return sorted(problems, key=lambda problem: (problem.path, problem.line, problem.message))

    def left_out(self) -> list[str]:
        """The files that give no entry because they cannot be read or are invalid."""
        return [file for (file,) in self.rows(LEFT_OUT)]

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
        titled: list[str] = []
        # SQLite knows no case but that of ASCII
        for entry_id, text in self.rows("SELECT id, title FROM shown"):
            if normalize("NFC", text).casefold() == title:
                titled.append(entry_id)
        if titled:
            return titled
        in_place = "SELECT id FROM shown JOIN elsewhere USING (id) WHERE elsewhere.path = ?"
        return [entry_id for (entry_id,) in self.rows(in_place, (name,))]

    def handle_beside(self, kind: Kind, entry_id: str) -> str:
        """The handle of an entry that was just written, unique among the entries of the last refresh."""
        upper = entry_id.upper()
        similar = {other.upper() for other in self._ids_ending(upper[-HANDLE_LENGTH:])}
        return handle(kind, entry_id, handle_lengths({upper, *similar})[upper])

    def _ids_ending(self, end: str, kind: str | None = None) -> list[str]:
        tail = end[::-1]
        query = "SELECT id FROM shown WHERE tail >= ? AND tail < ? AND (? IS NULL OR kind = ?)"
        # `~` comes behind all characters of ids
        rows = self.rows(query, (tail, tail + "~", kind, kind))
        return [entry_id for (entry_id,) in rows]

    def _similar_ids(self, end: str) -> list[str]:
        """Ids that end so, of any kind; else ids one character away."""
        if (ids := self._ids_ending(end)) or len(end) < HANDLE_LENGTH - 1:
            return ids
        from difflib import get_close_matches  # noqa: PLC0415  # only for a mistyped handle

        handles = {
            name[2:]: entry_id for name, entry_id in self.rows("SELECT handle, id FROM shown")
        }
        # .8: the likeness of two ends of ids that differ in one character
        near = get_close_matches(end[-HANDLE_LENGTH:], handles, 20, 0.8)
        return [handles[match] for match in near]

    def _similar_words(self, name: str) -> list[str]:
        """Entries whose titles and paths share half of the words."""
        words = [word for word in re.split(r"[^\w]+", name.lower()) if len(word) > 1][:8]
        query = """
            SELECT id FROM shown
            JOIN (SELECT value AS word FROM json_each(?)) ON instr(lower(title || ' ' || path), word)
            GROUP BY id HAVING count(*) * 2 >= ? ORDER BY count(*) DESC, id DESC LIMIT ?
        """
        rows = self.rows(query, (json.dumps(words), len(words), SUGGESTIONS))
        return [entry_id for (entry_id,) in rows]

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
        rows = self.rows(_UNATTESTED, {"telling": json.dumps(_telling())})
        ids = [entry_id for (entry_id,) in rows]
        if not ids:
            self._put_meta("attested", now)
        return ids

    def attest(self, proofs: Mapping[str, Attested]) -> None:
        """Note the proof of such claims by id.

        It holds until the file changes, and changes no hash.
        """
        stated: list[tuple[str, int, str]] = []
        unproven: list[tuple[str, str]] = []
        claims: list[dict[str, str]] = []
        telling, begins = _telling(), _beginnings()
        for entry_id, proof in proofs.items():
            stated.append((proof.stated_by, int(proof.firm), entry_id))
            if proof.start:
                continue
            # what it brought from elsewhere does not count
            unproven += [(place, entry_id) for place in begins]
            claims += [{"feature": name, "id": entry_id} for name in telling]

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
