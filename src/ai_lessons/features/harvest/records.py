"""The records of transcripts that agent hosts keep.

JSON lines, one JSON text, compressed lines, a database.

What comes out of a file is limited, not what goes in: a small file can hold much.
"""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import StorageFailed
from ai_lessons.git.databases import foreign, tables
from ai_lessons.git.external_files import opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    Record = tuple[int, Any]
    Tables = Mapping[str, tuple[str, Mapping[str, str]]]

# of one file, as they come out of it
MOST_BYTES, MOST_RECORDS = 1 << 30, 2_000_000
# Bytes of one record; what is longer is read in pieces, none of which is one
_RECORD_LIMIT = 32 << 20


class TranscriptTooLarge(StorageFailed):
    """More comes out of a transcript than is read of one."""

    def __init__(self) -> None:
        most = f"{MOST_BYTES >> 20:,} MB or {MOST_RECORDS:,} records"
        super().__init__(f"not read, because it holds more than {most}")


def records(file: Path) -> Iterator[Record]:
    """The records of a transcript with their line.

    Of JSON lines, of one JSON text with `messages`, or of a database.

    None stands for a line that is no JSON. Raises StorageFailed: it is compressed and nothing here
    can read that, or is damaged. TranscriptTooLarge, after those that were read. NotFound: it is
    gone.
    """
    if file.suffix == ".zst":
        # Codex keeps them so after a week
        if not file.with_suffix("").exists():
            yield from _uncompressed(file)
        return
    with opened(file) as lines:
        if file.suffix == ".db":
            yield from _parts(file)
        elif file.suffix == ".json":
            yield from records_in(lines.read(_RECORD_LIMIT))
        else:
            yield from _lines(lines)


def records_in(data: bytes) -> Iterator[Record]:
    """The records of JSON lines, or of one JSON text with `messages`; see `records`."""
    whole = _json(data)
    if not isinstance(whole, dict):
        yield from _lines(BytesIO(data))
        return
    messages = whole.get("messages")
    if not isinstance(messages, list):
        messages = []
    info = whole.get("info")
    if isinstance(info, dict) and "directory" in info:
        for message in messages:
            for record in _exported(info, message):
                yield 1, record
        return
    yield 1, whole
    for message in messages:
        yield 1, message


def _lines(lines: IO[bytes]) -> Iterator[Record]:
    """The records of JSON lines. Raises TranscriptTooLarge."""
    size = number = 0
    while line := lines.readline(_RECORD_LIMIT):
        size += len(line)
        number += 1
        if size > MOST_BYTES or number > MOST_RECORDS:
            raise TranscriptTooLarge
        yield number, _json(line)


def _exported(info: dict[str, Any], message: Any) -> Iterator[Any]:
    """The parts of a message as `opencode export` writes them, in the form of `_parts`.

    A subagent is asked by one.
    """
    try:
        stated, parts = message["info"], [*message["parts"]]
        if info.get("parentID"):
            role = "agent"
        else:
            role = stated["role"]
        at = _moment(stated["time"]["created"])
        where = {"session": info.get("id"), "cwd": info["directory"], "at": at, "role": role}
    except (TypeError, KeyError, ValueError, OverflowError, OSError):
        # its form is not known
        yield None
        return
    for part in parts:
        yield {"part": part, **where}


def _moment(milliseconds: Any) -> str:
    """A time in ISO 8601. Raises TypeError, ValueError, OverflowError, OSError: it is none."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def _uncompressed(file: Path) -> Iterator[Record]:
    """The records of a file compressed by Zstandard, by the program for it.

    Python has none before 3.14.
    """
    # only here, as a list loads this module, too
    import shutil
    import subprocess

    program = shutil.which("zstd")
    if program is None:
        raise StorageFailed("compressed, not read; to have it read install the program zstd")
    argv = [program, "-dcq", "--", str(file.absolute())]
    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        argv, cwd="/", stdin=nothing, stdout=subprocess.PIPE, stderr=nothing
    ) as reader:
        if reader.stdout is not None:
            yield from _lines(reader.stdout)
    if reader.returncode:
        raise StorageFailed("compressed, and damaged")


def _json(data: bytes | str) -> Any:
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    values = data.count(b",") + data.count(b"[") + data.count(b"{")
    # Values of one record: each takes some sixty bytes of memory and may be written with two
    if values > 2_000_000:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


# --- the database of opencode: it is another program's, and nothing in it is changed ---


class _Part(NamedTuple):
    """A part of a message in the order in which parts are told.

    Where it stands, and what it belongs to.
    """

    session: str
    at: float
    name: str
    row: int
    message: str


def _parts(file: Path) -> Iterator[Record]:
    """The parts of the messages, session by session; None for one that cannot be read.

    Raises TranscriptTooLarge.
    """
    try:
        with foreign(file) as db:
            yield from _parts_in(db)
    except sqlite3.Error:
        # another version, or being made: there is nothing in it that we can read
        yield 0, None


def _parts_in(db: sqlite3.Connection) -> Iterator[Record]:
    layout = tables(db)
    roles = _roles(db, layout)
    folders = {}
    for _, session, folder in _rows(db, layout, "session", "id", "directory"):
        folders[session] = folder
    parts = sorted(_places(db, layout))
    texts = _texts(db, layout, parts)
    for number, (part, text) in enumerate(zip(parts, texts, strict=True), 1):
        try:
            where = {
                "role": roles[part.message],
                "cwd": folders[part.session],
                "at": _moment(part.at),
            }
        except (KeyError, ValueError, OverflowError, OSError):
            # it belongs to nothing, or to no time
            yield number, None
            continue
        yield number, {"part": _json(text), "session": part.session, **where}


def _roles(db: sqlite3.Connection, layout: Tables) -> dict[Any, Any]:
    """Who wrote each message, by its id; None where that is not known."""
    roles: dict[Any, Any] = {}
    for _, name, message in _rows(db, layout, "message", "id", "data"):
        outer = None
        if isinstance(message, str):
            outer = _json(message)
        roles[name] = None
        if isinstance(outer, dict):
            roles[name] = outer.get("role")
    return roles


def _places(db: sqlite3.Connection, layout: Tables) -> Iterator[_Part]:
    """Where the parts of messages stand."""
    columns = "id", "message_id", "session_id", "time_created"
    for row, name, message, session, created in _rows(db, layout, "part", *columns):
        at = 0.0
        if isinstance(created, (int, float)):
            at = created
        yield _Part(str(session), at, str(name), row, str(message))


def _texts(db: sqlite3.Connection, layout: Tables, parts: Iterable[_Part]) -> Iterator[str]:
    """The JSON text of each part; none where it is longer than we read.

    Raises TranscriptTooLarge.
    """
    table, columns = layout["part"]
    query = f"SELECT {columns.get('data', 'NULL')} FROM {table} WHERE rowid = ?"  # noqa: S608 - quoted
    size = 0
    for part in parts:
        text = ""
        row = _row(db, query, part.row)
        if row:
            text = str(row[0])
        size += len(text)
        if size > MOST_BYTES:
            raise TranscriptTooLarge
        yield text


def _rows(
    db: sqlite3.Connection, layout: Tables, table: str, *names: str
) -> Iterator[tuple[Any, ...]]:
    """The number of each row of a table and these columns of it.

    Rows that are longer than we read are left out. Raises sqlite3.Error: it has no such table or
    column. TranscriptTooLarge.
    """
    quoted, columns = layout.get(table, ("", {}))
    if not columns.keys() >= set(names):
        raise sqlite3.OperationalError(f"no table {table} as we know it")
    # all numbers first: a row is read with a limit of its own
    numbers = db.execute(f"SELECT rowid FROM {quoted} LIMIT {MOST_RECORDS + 1}").fetchall()  # noqa: S608 - quoted
    if len(numbers) > MOST_RECORDS:
        raise TranscriptTooLarge
    selected = ", ".join(columns[name] for name in names)
    query = f"SELECT rowid, {selected} FROM {quoted} WHERE rowid = ?"  # noqa: S608 - quoted
    for (number,) in numbers:
        row = _row(db, query, number)
        if row:
            yield row


def _row(db: sqlite3.Connection, query: str, number: int) -> tuple[Any, ...]:
    """One row; empty where it is gone, or longer than we read."""
    try:
        return db.execute(query, (number,)).fetchone() or ()
    except sqlite3.DataError:
        return ()
