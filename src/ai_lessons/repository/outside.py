"""Files of the caller's, outside the repository: found, read, never written; links in a folder are not followed."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import tomllib
from contextlib import closing
from datetime import UTC, datetime
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem, UsageError
from ai_lessons.repository.files import READ_LIMIT, translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NEVER_ENTERED = frozenset(("node_modules", "__pycache__"))


class Outside(NamedTuple):
    """A file to import. `name` is its path below the folder that was asked for, with `/`: what it will be called."""

    path: Path
    name: str


def expand(patterns: Sequence[str], cwd: Path, *, recursive: bool) -> list[Outside]:
    """Every regular file that the patterns name, hidden and installed ones left out. Raises NotFound, UsageError."""
    found: dict[Path, Outside] = {}
    for pattern in patterns:
        for path in named(pattern, cwd):
            if path.is_dir():
                if not recursive:
                    raise UsageError(f"{pattern} is a folder", hint="add --recursive to take every file in it")
                for file in _below(path):
                    found.setdefault(file, Outside(file, file.relative_to(path).as_posix()))
            else:
                found.setdefault(path, Outside(path, path.name))
    return list(found.values())


def named(pattern: str, cwd: Path) -> list[Path]:
    """What a path or a glob names, in order. Raises NotFound."""
    there = cwd / expanded(pattern)
    if there.exists():
        return [Path(os.path.abspath(there))]
    matches = sorted(glob(str(there), recursive=True)) if has_magic(pattern) else []
    if not matches:
        raise NotFound("file", pattern, hint="give a file, a folder with --recursive, or a quoted glob")
    return [Path(os.path.abspath(match)) for match in matches]


def _below(folder: Path) -> Iterator[Path]:
    with translated(str(folder)):
        for place, folders, names in os.walk(folder, onerror=_raise):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _NEVER_ENTERED)
            for name in sorted(names):
                path = Path(place, name)
                if not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                    yield path


def _raise(error: OSError) -> None:
    raise error


def expanded(text: str) -> Path:
    """The path that a text says, with its `~` as the home of that user; as it is where there is no such user."""
    return Path(os.path.expanduser(text))


def read(path: Path, limit: int = READ_LIMIT) -> tuple[bytes, bool]:
    """The bytes of a file, and if its owner may execute it. Raises InvalidEntry, NotFound, StorageFailed."""
    if "\0" in str(path):
        raise NotFound("file", str(path), hint="was it moved? ai-lessons admin list-stale names what is gone")
    with translated(str(path)), os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        # non-blocking, because opening a named pipe would otherwise wait for a writer for ever
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise InvalidEntry([Problem(str(path), "not a regular file")])
        if status.st_size > limit:
            raise InvalidEntry([Problem(str(path), f"{status.st_size} bytes, more than {limit}")])
        return file.read(), bool(status.st_mode & stat.S_IXUSR)


# --- the code repository that one works in ---

_WORKTREE = re.compile(r"gitdir: (.+)/\.git/worktrees/[^/]+/?\s*\Z")


def top_of(folder: Path) -> Path | None:
    """The nearest folder from here upward that holds `.git`; None where there is none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


_REMOTE = re.compile(r'(?m)^\[remote "origin"\][^\[]*?^\s*url\s*=\s*\S*?([^/:\s]+?)(?:\.git)?/?\s*$')
_MODULE = re.compile(r"(?m)^module\s+(?:\S*/)?(\S+)")


def names_of(folder: Path) -> list[str]:
    """What the project of a folder may be called: as git's remote `origin`, its package, its folder, in this order."""
    top = top_of(folder)
    if top is None:
        return []
    said = [
        *_REMOTE.findall(beginning(top / ".git" / "config")),
        *_packages(top),
        *_MODULE.findall(beginning(top / "go.mod")),
    ]
    return list(dict.fromkeys([*said, name_of(folder)]))


def _packages(top: Path) -> Iterator[str]:
    for file, parse in (("pyproject.toml", tomllib.loads), ("package.json", json.loads), ("Cargo.toml", tomllib.loads)):
        try:
            found = parse(beginning(top / file))
        except (ValueError, RecursionError):  # not there, or not ours to judge
            continue
        for part in (found, found.get("project"), found.get("package")) if isinstance(found, dict) else ():
            if isinstance(part, dict) and isinstance(name := part.get("name"), str):
                yield name.rpartition("/")[2]


def beginning(file: Path) -> str:
    """The text of a small file; empty where there is none that can be read."""
    try:
        return read(file, 1 << 20)[0].decode("utf-8", "replace")
    except AiLessonsError:  # mostly, because it is not there
        return ""


def name_of(folder: Path) -> str:
    """The name of the top folder; of a linked worktree that of the repository it belongs to. Empty outside of any."""
    top = top_of(folder)
    if top is None:
        return ""
    found = _WORKTREE.match(beginning(top / ".git"))  # usually a folder: the repository itself
    return Path(found[1]).name if found else top.name


def same_name(one: str, other: str) -> bool:
    """Whether two names of a project are one but for capitals and what joins their words."""
    plain, second = (re.sub(r"[\W_]+", "-", name.lower()).strip("-") for name in (one, other))
    return plain == second != ""


# --- transcripts of agent hosts ---

_RECORD_LIMIT = 32 << 20  # Bytes of one record; what is longer is read in pieces, none of which is one
_PARTS = """SELECT part.data, message.data, session.id, session.directory, part.time_created FROM part
JOIN message ON message.id = part.message_id JOIN session ON session.id = part.session_id
ORDER BY session.id, part.time_created, part.id"""


def transcripts(patterns: Sequence[str]) -> list[tuple[Path, os.stat_result]]:
    """The files that these globs match and their status, newest first. Raises nothing: what is gone is gone."""
    found: dict[Path, os.stat_result] = {}
    for pattern in patterns:
        for name in glob(pattern, recursive=True, include_hidden=True):
            try:
                status = os.stat(name)
            except OSError:  # gone since the glob
                continue
            if stat.S_ISREG(status.st_mode):
                found[Path(name)] = status
    return sorted(found.items(), key=lambda one: -one[1].st_mtime)


def records(file: Path) -> Iterator[tuple[int, Any]]:
    """The records of a transcript with their line: of JSON lines, of one JSON text with `messages`, or of a database.

    None stands for a line that is no JSON. Raises StorageFailed, and NotFound: it is gone.
    """
    with translated(str(file)):
        if file.suffix == ".db":
            yield from _parts(file)
            return
        with file.open("rb") as lines:
            if file.suffix == ".json":
                whole = _json(lines.read(_RECORD_LIMIT))
                messages = whole.get("messages") if isinstance(whole, dict) else None
                for record in (whole, *(messages if isinstance(messages, list) else ())):
                    yield 1, record
                return
            for number, line in enumerate(iter(lambda: lines.readline(_RECORD_LIMIT), b""), 1):
                yield number, _json(line)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _parts(file: Path) -> Iterator[tuple[int, Any]]:
    """The parts of the messages in a database of opencode. It is another program's: nothing in it is changed."""
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as db:
            for number, (part, message, session, folder, at) in enumerate(db.execute(_PARTS), 1):
                inner, outer = _json(part), _json(message)
                role = outer.get("role") if isinstance(outer, dict) else None
                stamp = datetime.fromtimestamp(at / 1000, UTC).isoformat()
                yield number, {"part": inner, "role": role, "session": session, "cwd": folder, "at": stamp}
    except sqlite3.Error:  # of another version, or being made: there is nothing in it that we can read
        yield 0, None
