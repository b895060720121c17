"""Finds what changed on disk since the catalog last looked, and writes it in the caller's transaction."""

from __future__ import annotations

import json
import marshal
from hashlib import sha1
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ai_lessons import extensions
from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem
from ai_lessons.model.entries import (
    HANDLE_LENGTH,
    KINDS,
    Entry,
    Kind,
    Link,
    Status,
    handle,
    handle_lengths,
)
from ai_lessons.model.layout import SIDE_SUFFIX, blob_id, derived_id, place
from ai_lessons.model.names import names_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    # name, mtime_ns, ctime_ns, size, inode, mode
    Row = tuple[str, int, int, int, int, int]
    Scan = Callable[[], Iterable[tuple[str, list[Row]]]]
    Read = Callable[[str], bytes]
    Parse = Callable[[str, bytes, bytes | None], Entry]
    Progress = Callable[[str, int, int], None]
    First = Callable[[Sequence[str]], Iterable[str]]
    # mtime_ns, ctime_ns, size, inode, mode
    Stamp = tuple[int, int, int, int, int]

    class Elsewhere(Protocol):
        """The way to the code of scripts that are kept outside of the repository, by the id and path of each."""

        def stamp(self, entry_id: str, path: str) -> str:
            """Differs once the file was changed."""

        def code(self, entry_id: str, path: str) -> bytes:
            """What the file holds now."""

        def shown(self, entry: Entry) -> Entry:
            """The entry with its code as it may be shown."""


_LARGEST = 2**63 - 1

# Digest of a folder that has to be compared file by file next time
UNSURE = b""


class Unit(NamedTuple):
    """The one or two files that make an entry.

    Where they lie, and the names of both within their folder.
    """

    name: str
    side: str | None


class Content(NamedTuple):
    """What the files of a unit held.

    Two units are the same entry if this and their path are equal.
    """

    hash: str
    side: str | None
    side_hash: str | None


def digest(rows: Sequence[Row]) -> bytes:
    """One value for all rows of a folder, in the order of the walk."""
    # version 2 of marshal writes no back references, so that equal rows give equal bytes
    return sha1(marshal.dumps(list(rows), 2), usedforsecurity=False).digest()


def stamp_of(row: Row) -> Stamp:
    """A row's stamp, in numbers that SQLite can hold.

    Inodes and far future times may need the 64th bit.
    """
    stamp = row[1:]
    return stamp if max(stamp) <= _LARGEST else tuple(min(number, _LARGEST) for number in stamp)  # type: ignore[return-value]


def is_racy(stamp: Stamp, started: int) -> bool:
    """Whether an edit after the look that `started` then (ns since the epoch) could leave this stamp as it is."""
    mtime, ctime = stamp[0], stamp[1]
    coarse = mtime % 1_000_000_000 == 0 and ctime % 1_000_000_000 == 0
    # A file system that keeps whole seconds (FAT: even ones) hides an edit for up to two. The
    # clocks of others tick every 1 to 10 ms, and a person does not save twice in 50.
    return max(mtime, ctime) >= started - (2_000_000_000 if coarse else 50_000_000)


def units(folder: str, names: Iterable[str]) -> Iterator[Unit]:
    """Pair the entry files of one folder: below `scripts/`, `X.md` beside `X` is its side file.

    A side file has no side file of its own: of `X`, `X.md` and `X.md.md` the last is a script
    again.
    """
    present = set(names)
    sides: set[str] = set()
    paired = (
        name
        for name in present
        if name.endswith(SIDE_SUFFIX) and name.removesuffix(SIDE_SUFFIX) in present
    )
    for name in sorted(paired):
        # `X.md` comes before `X.md.md`
        spot = place(join(folder, name))
        if (
            name.removesuffix(SIDE_SUFFIX) not in sides
            and spot is not None
            and spot.kind is Kind.SCRIPT
        ):
            sides.add(name)
    for name in sorted(present - sides):
        side = name + SIDE_SUFFIX
        yield Unit(name, side if side in sides else None)


def contents(folder: str, files: Mapping[str, CatalogedFile]) -> dict[str, Content]:
    """What the catalog knows of a folder's units, by the name of the main file."""
    contents: dict[str, Content] = {}
    for unit in units(folder, files):
        contents[unit.name] = Content(
            files[unit.name].hash, unit.side, files[unit.side].hash if unit.side else None
        )
    return contents


def join(folder: str, name: str) -> str:
    """The path of a name in a folder of the repository; the root is the empty folder."""
    if folder:
        return f"{folder}/{name}"
    return name


class Disk(NamedTuple):
    """The ways to the files. `scan` walks anew at every call."""

    scan: Scan
    read: Read
    parse: Parse
    progress: Progress
    elsewhere: Elsewhere


def survey(
    connection: sqlite3.Connection, disk: Disk, started: int, most: int | None = None
) -> tuple[list[FolderChange], int]:
    """Compare the disk with the database.

    What to write, and how many entries are left for the next look.

    `started` (ns since the epoch) must not be later than the walk. At most so many (`most`) new
    entries are read.
    """
    stored: dict[str, bytes] = dict(connection.execute("SELECT folder, digest FROM folders"))
    removed, differing = dict(stored), []
    moved = _changed_elsewhere(connection, disk.elsewhere)
    for folder, rows in disk.scan():
        now = digest(rows)
        if removed.pop(folder, None) != now or folder in moved:
            differing.append((folder, rows, now))
    changes = []
    for folder in removed:
        files = cataloged_files(connection, folder)
        changes.append(
            FolderChange(
                folder, None, files, [join(folder, name) for name in contents(folder, files)]
            )
        )
    done, total = 0, sum(len(rows) for _, rows, _ in differing)

    def step(files: int) -> None:
        nonlocal done
        done += files
        disk.progress("reading", done, total)

    left = 0
    for folder, rows, now in differing:
        again = moved.get(folder, frozenset())
        looked = _FolderSurvey(
            folder, rows, cataloged_files(connection, folder), disk, started, again
        )
        change = looked.change(now, step, most)
        left += looked.left
        if most is None:
            most = None
        else:
            most = max(most - len(change.records), 0)
        if change.files or change.gone or change.units or stored.get(folder) != change.digest:
            changes.append(change)
    return changes, left


def _changed_elsewhere(
    connection: sqlite3.Connection, elsewhere: Elsewhere
) -> dict[str, frozenset[str]]:
    """The scripts whose code outside of the repository changed since it was read.

    Names of files by their folder.
    """
    moved: dict[str, frozenset[str]] = {}
    for file, entry_id, path, stamp in connection.execute(
        "SELECT file, id, path, stamp FROM elsewhere"
    ):
        if elsewhere.stamp(entry_id, path) != stamp:
            folder, _, name = file.rpartition("/")
            moved[folder] = moved.get(folder, frozenset()) | {name}
    return moved


def cataloged_files(connection: sqlite3.Connection, folder: str) -> dict[str, CatalogedFile]:
    """The entry files that the catalog remembers in one folder."""
    query = "SELECT name, mtime, ctime, size, inode, mode, racy, hash FROM files WHERE folder = ?"
    files: dict[str, CatalogedFile] = {}
    for row in connection.execute(query, (folder,)):
        files[row[0]] = CatalogedFile(row[1:6], bool(row[6]), row[7])
    return files


class _FolderSurvey:
    """The look at one folder whose rows are not what they were."""

    def __init__(
        self,
        folder: str,
        rows: list[Row],
        cataloged: dict[str, CatalogedFile],
        disk: Disk,
        started: int,
        again: frozenset[str],
    ) -> None:
        """`again`: names of entries to read again, as they are on disk or not."""
        self._folder, self._cataloged, self._disk, self._started = folder, cataloged, disk, started
        self._again = again
        self._stamps: dict[str, Stamp] = {row[0]: stamp_of(row) for row in rows}
        self._before = contents(folder, cataloged)
        self._now: dict[str, CatalogedFile] = {}
        self._failed: dict[str, AiLessonsError] = {}
        self._change = FolderChange(folder, UNSURE)
        self.left = 0

    def change(
        self, now: bytes, step: Callable[[int], None], most: int | None = None
    ) -> FolderChange:
        """What to write; only the digest where only stamps of other files moved.

        `step` counts files for progress.

        `most`: so many new entries are read, and the others are `left` as the catalog has them.
        """
        names = set()
        for name in self._stamps:
            if name in self._cataloged or place(join(self._folder, name)) is not None:
                names.add(name)
        pairs = list(units(self._folder, names))
        self._now = {
            name: file
            for name in names
            if (file := self._cataloged.get(name))
            and not file.racy
            and file.stamp == self._stamps[name]
        }
        doubtful = [unit for unit in pairs if not self._is_unchanged(unit)]
        if most is not None:
            doubtful = self._first(doubtful, most)
        step(len(self._stamps) - len(doubtful))
        vanished = False
        for unit in doubtful:
            vanished |= not self._survey_unit(unit)
            step(1)
        gone = self._before.keys() - {unit.name for unit in pairs}
        self._change.units += [join(self._folder, name) for name in self._before if name in gone]
        self._change.files = {
            name: file for name, file in self._now.items() if self._cataloged.get(name) != file
        }
        self._change.gone = [name for name in self._cataloged if name not in self._now]
        if (
            not vanished
            and not self.left
            and len(self._now) == len(names)
            and not any(file.racy for file in self._now.values())
        ):
            self._change.digest = now
        return self._change

    def _first(self, doubtful: Sequence[Unit], most: int) -> list[Unit]:
        """The first of these entries; the rest stays as the catalog has it.

        What is only looked at again counts not.
        """
        first = []
        for unit in doubtful:
            names = []
            for name in unit:
                if name:
                    names.append(name)
            again = all(
                name in self._cataloged and self._cataloged[name].stamp == self._stamps[name]
                for name in names
            )
            if again or most > 0:
                first.append(unit)
                most -= not again
                continue
            self.left += 1
            self._now |= {name: self._cataloged[name] for name in names if name in self._cataloged}
        return first

    def _is_unchanged(self, unit: Unit) -> bool:
        """At most three look-ups.

        Of a folder of 10,000 files and one edit nearly all units pass here.
        """
        before = self._before.get(unit.name)
        if before is None or before.side != unit.side or unit.name not in self._now:
            return False
        if unit.name in self._again:
            return False
        return unit.side is None or unit.side in self._now

    def _survey_unit(self, unit: Unit) -> bool:
        """Bring one entry up to date; False where its main file is gone since the walk."""
        path = join(self._folder, unit.name)
        data, side_data = self._read(unit.name), self._read(unit.side) if unit.side else None
        if data is None:
            if unit.name in self._before:
                self._change.units += [path]
            return False
        side = None
        if side_data is not None:
            side = unit.side
        content = Content(self._now[unit.name].hash, side, self._now[side].hash if side else None)
        if content != self._before.get(unit.name) or unit.name in self._again:
            self._change.units.append(path)
            self._parse(path, unit, data, side_data, content.side_hash)
        return True

    def _read(self, name: str) -> bytes | None:
        """What the file holds now, empty if it cannot be read.

        None if it is gone since the walk.
        """
        stamp = self._stamps[name]
        racy = is_racy(stamp, self._started)
        try:
            data = self._disk.read(join(self._folder, name))
        except NotFound:
            self._now.pop(name, None)
            return None
        except AiLessonsError as error:
            self._failed[name] = error
            # too big, no plain file: it stays so until its stamp changes; an error of the system
            # may not
            self._now[name] = CatalogedFile(stamp, racy or not isinstance(error, InvalidEntry), "")
            return b""
        self._now[name] = CatalogedFile(stamp, racy, blob_id(data))
        return data

    def _parse(
        self, path: str, unit: Unit, data: bytes, side_data: bytes | None, side_hash: str | None
    ) -> None:
        try:
            if failed := self._failed.get(unit.name) or self._failed.get(unit.side or ""):
                raise failed
            entry = self._disk.parse(path, data, side_data)
        except InvalidEntry as error:
            self._change.problems += [(path, problem) for problem in error.problems]
        except AiLessonsError as error:
            self._change.problems.append(
                (path, Problem(path, error.message.removeprefix(f"{path}: ")))
            )
            self._now[unit.name] = CatalogedFile(self._stamps[unit.name], racy=True, hash="")
        else:
            self._change.problems += [(path, problem) for problem in entry.faults]
            if entry.path != path:
                entry = self._with_its_code(entry, path)
            self._change.records.append(record(entry, path, self._now[unit.name].hash, side_hash))

    def _with_its_code(self, entry: Entry, file: str) -> Entry:
        """A script whose code lies outside of the repository, with that code as it is now."""
        from ai_lessons.model.frontmatter import with_code  # noqa: PLC0415  # parsing has loaded it

        place, elsewhere = str(entry.fields.get("path")), self._disk.elsewhere
        # before the code: what is written meanwhile is read next time
        stamp = elsewhere.stamp(entry.id, place)
        self._change.elsewhere.append((file, entry.id, place, stamp))
        return self._disk.elsewhere.shown(with_code(entry, elsewhere.code(entry.id, place)))


# characters of a text that stand in the catalog
SNIPPET_LENGTH, OPENING = 150, 8_000
SEPARATOR = "\x1f"
"""Between the values of a list in one column.

No tag or version that we accept holds this control character.
"""

_LISTS = frozenset(("applies_to",))

FILES, APPROVED = "files", "approved"
_IN = "IN (SELECT value FROM json_each(:ids))"
# Standing of a new row until `settle` has run, and of a text that another tier shows as well
_HIDDEN = 2
_SETTLE = (
    f"UPDATE entries SET standing = {_HIDDEN} WHERE standing <> {_HIDDEN} AND stated {_IN}",  # noqa: S608 - our own words
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


class CatalogedFile(NamedTuple):
    """A file as the catalog remembers it.

    `hash` is git's blob id, or empty where the file could not be read.
    """

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
    terms: Mapping[str, int]
    facts: Mapping[str, Mapping[str, Any]]


class FolderChange:
    """What to write for one folder. `digest` None: the folder is gone.

    `units` are the main files to forget first.
    """

    def __init__(
        self, folder: str, digest: bytes | None, gone: Iterable[str] = (), units: Iterable[str] = ()
    ) -> None:
        self.folder, self.digest = folder, digest
        self.files: dict[str, CatalogedFile] = {}
        self.gone, self.units = list(gone), list(units)
        self.records: list[CatalogRecord] = []
        self.problems: list[tuple[str, Problem]] = []
        # of scripts that are kept where they are: their file here, id, path, and the stamp of that
        # path
        self.elsewhere: list[tuple[str, str, str, str]] = []


class Attested(NamedTuple):
    """The proof of a lesson's claims: its author (empty.

    Unknown), and whether that is the user, in person.

    `start` says whether the standing that it brought from elsewhere counts.
    """

    stated_by: str
    firm: bool
    start: bool


def record(entry: Entry, file: str, file_hash: str, side_hash: str | None) -> CatalogRecord:
    """What to keep of an entry that was read from `file`.

    A script outside the repository has only its side file.
    """
    in_place = entry.path != file
    tags, versions = _values(entry.tags), _values(entry.versions)
    facts, summary = facts_of_features(entry), summary_fields(entry)
    if facts:
        summary["facts"] = facts
    row: dict[str, str | int | None] = {
        "file": file,
        "standing": _HIDDEN,
        "stated": entry.id,
        "id": entry.id,
        "tail": entry.id.upper()[::-1],  # the id from its end, for the lookup by handle
        "handle": handle(entry.kind, entry.id),
        "kind": entry.kind.value,
        "project": entry.project,
        "path": entry.path,
        "side_path": entry.side_path,
        # what is only proposed is listed beside what holds, and says so
        "status": (Status.ACTIVE if entry.status is Status.PROPOSED else entry.status).value,
        "created": str(entry.fields.get("created") or ""),
        "title": entry.title,
        "tags": SEPARATOR.join(tags),
        "versions": SEPARATOR.join(versions),
        "snippet": snippet(entry),
        "summary": _json(summary, ascii_only=False),
        "hash": None if in_place else file_hash,
        "side_hash": file_hash if in_place else side_hash,
        "code_hash": blob_id(entry.code.encode()) if in_place and entry.code else None,
    }
    opening, failures, held = "", dict[str, None](), dict[str, int]()
    if entry.kind in {Kind.LESSON, Kind.RULE}:
        from ai_lessons.model.failures import before_failure, recorded  # noqa: PLC0415  # no list parses an entry
        from ai_lessons.search.terms import terms_of  # noqa: PLC0415  # as above

        held = terms_of(entry)
        opening = before_failure(entry.body)[:OPENING]
        failures = dict.fromkeys(
            "\n".join(" ".join(sorted(line)) for line in shape)
            for shape in recorded(entry)
            if shape
        )
    fields = _json(dict(entry.fields), ascii_only=True)
    return CatalogRecord(
        row, tags, versions, entry.links, fields, opening, tuple(failures), held, facts
    )


def facts_of_features(entry: Entry) -> dict[str, Mapping[str, Any]]:
    """What each feature keeps of an entry, as JSON.

    Its `facts` gives a mapping, of which an empty one is not kept.
    """
    kept = {}
    for feature, facts_of in extensions.concerning("facts", entry.fields):
        facts: Mapping[str, Any] = facts_of(entry)
        if facts:
            kept[feature] = facts
    return kept


def _json(value: Mapping[str, Any], *, ascii_only: bool) -> str:
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"), default=str)


def _values(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.replace(SEPARATOR, " ") for text in texts))


# Keys of files that cannot be a field's name, or are another's
_FIELDS = {"from": "from_"}


def summary_fields(entry: Entry) -> dict[str, Any]:
    """What an `EntrySummary` has of an entry's frontmatter, by field.

    What is not stated is left out.
    """
    from ai_lessons.model.check_forms import to_run  # noqa: PLC0415  # no list parses an entry
    from ai_lessons.model.lessons import claimed_of, start_of  # noqa: PLC0415  # as above

    kind, stated = KINDS[entry.kind], entry.fields
    fields: dict[str, Any] = {}
    for key in ("created", *kind.summarised):
        value = stated.get(key)
        # a list or a mapping in the place of a word is left out; `validate` reports it
        if value is not None and (key in _LISTS or not isinstance(value, list | dict)):
            fields[_FIELDS.get(key, key)] = value if isinstance(value, list | dict) else str(value)
    if "rationale" in fields:
        fields["rationale"] = entry.rationale
    if "check" in kind.fields and (checks := to_run(stated)):
        fields["check"] = checks
    if entry.kind is Kind.LESSON:
        fields |= {"source": entry.source, "status": entry.status.value}
        fields |= {"pattern": str(entry.pattern or ""), "start": start_of(stated.get("source"))}
        fields["claimed"] = claimed_of(stated)
    elif entry.kind is Kind.DOC and entry.status is not Status.ACTIVE:
        fields["status"] = entry.status.value
    fields["names"] = names_of(entry)
    if entry.doubtful:
        fields["doubtful"] = entry.doubtful
    if entry.hidden:
        fields["masked"] = len(entry.hidden.splitlines())
    return {key: value for key, value in fields.items() if value not in ("", None, {})}


def snippet(entry: Entry) -> str:
    """The first sentences of an entry, on one line; of a lesson those of its pattern."""
    from ai_lessons.search import snippets  # noqa: PLC0415  # not to list what did not change

    text = str(entry.pattern or "") or entry.rationale or entry.body
    shown = (text or entry.code)[: SNIPPET_LENGTH * 20]
    return snippets.snippet(shown, "", SNIPPET_LENGTH, title=entry.title, code=not text)


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
        rows = []
        for name, file in change.files.items():
            rows.append((folder, name, *file.stamp, file.racy, file.hash))
        db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    units = [unit for change in changes for unit in change.units]
    db.executemany("DELETE FROM problems WHERE file = ?", [(unit,) for unit in units])
    db.executemany("DELETE FROM elsewhere WHERE file = ?", [(unit,) for unit in units])
    elsewhere = [row for change in changes for row in change.elsewhere]
    db.executemany("INSERT OR REPLACE INTO elsewhere VALUES (?, ?, ?, ?)", elsewhere)
    problems = [
        (file, it.path, it.line, it.message) for change in changes for file, it in change.problems
    ]
    db.executemany("INSERT INTO problems VALUES (?, ?, ?, ?)", problems)
    # oldest first: lists ask by age, and read half as long where rows lie on disk in that order
    records = [record for change in changes for record in change.records]
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
    keyed = list(enumerate(records, start))
    for key, record in keyed:
        row = {**record.row, "key": key, "source": source}
        db.execute(f"INSERT INTO entries ({', '.join(row)}) VALUES (:{', :'.join(row)})", row)  # noqa: S608 - our names
    db.executemany(
        "INSERT INTO tags VALUES (?, ?)", [(key, tag) for key, r in keyed for tag in r.tags]
    )
    db.executemany(
        "INSERT INTO versions VALUES (?, ?)", [(key, v) for key, r in keyed for v in r.versions]
    )
    rows = [(key, r.fields, r.opening, sum(r.terms.values())) for key, r in keyed]
    db.executemany("INSERT INTO fields VALUES (?, ?, ?, ?)", rows)
    terms = ((term, key, times) for key, r in keyed for term, times in r.terms.items())
    db.executemany("INSERT INTO terms VALUES (?, ?, ?)", terms)
    db.executemany(
        "INSERT INTO failures VALUES (?, ?)",
        [(key, words) for key, r in keyed for words in r.failures],
    )
    facts = []
    for key, r in keyed:
        for feature, kept in r.facts.items():
            facts.append((key, feature, _json(kept, ascii_only=False)))
    db.executemany("INSERT INTO facts VALUES (?, ?, ?)", facts)
    links = [(key, link.relation, link.target, link.weight) for key, r in keyed for link in r.links]
    db.executemany("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?)", links)
    copies = {file for (file,) in db.execute(_SAME_ID, {"ids": json.dumps(sorted(touched))})}
    settle(db, touched, tier, [*holders, *first(sorted(copies))] if copies else [])


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
        new = []
        for key, name, kind in rows:
            new.append((name, name.upper()[::-1], handle(Kind(kind), name), key))
        db.executemany("UPDATE entries SET id = ?, tail = ?, handle = ? WHERE key = ?", new)
        names.update(name for name, *_ in new)

    rename(db.execute(_RENAMED, values).fetchall())
    for statement in _SETTLE:
        db.execute(statement, values)
    losers = db.execute(_LOSERS, values).fetchall()
    same = []
    for key, *_, text, shown in losers:
        if text == shown:
            same.append((_HIDDEN, key))
    db.executemany("UPDATE entries SET standing = ? WHERE key = ?", same)
    rename(
        (key, _free_id(db, f"{tier}:{name}:{path}"), kind)
        for key, kind, name, path, text, shown in losers
        if text != shown
    )
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
    before = []
    for (name,) in db.execute("SELECT id FROM taken"):
        before.append(name)
    db.execute("DELETE FROM taken")
    db.executemany("INSERT INTO taken VALUES (?, ?)", sorted(taken.items()))
    holders = []
    for (file,) in db.execute(_KNOWN, {"ids": json.dumps(sorted(taken))}):
        holders.append(file)
    settle(db, {*before, *taken}, tier, holders)


def _settle_handles(db: sqlite3.Connection, touched: Iterable[str]) -> None:
    """Lengthen a handle only where the last characters of another shown id are the same, and shorten it again."""
    query = "SELECT key, id, kind, handle FROM shown WHERE tail >= ? AND tail < ?"
    updates = []
    for tail in {entry_id.upper()[::-1][:HANDLE_LENGTH] for entry_id in touched}:
        rows = db.execute(query, (tail, tail + "~")).fetchall()
        if len(rows) > 1:
            lengths = handle_lengths(row[1].upper() for row in rows)
        else:
            lengths = {}
        for key, entry_id, kind, current in rows:
            unique = handle(Kind(kind), entry_id, lengths.get(entry_id.upper(), HANDLE_LENGTH))
            if unique != current:
                updates.append((unique, key))
    db.executemany("UPDATE entries SET handle = ? WHERE key = ?", updates)
