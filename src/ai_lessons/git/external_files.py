"""Files outside the repository, read and written without following links; and the code that one works in."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem, Refused, UsageError
from ai_lessons.git import plumbing
from ai_lessons.git.files import READ_LIMIT, read_file, translated, write_file
from ai_lessons.git.worktree import locate, read_head
from ai_lessons.model.layout import blob_id, slug
from ai_lessons.model.markdown import toml
from ai_lessons.model.versions import LARGEST, Manifest, is_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NEVER_ENTERED = frozenset(("node_modules", "__pycache__"))


class Outside(NamedTuple):
    """A file to import. `name` is its path below the folder that was asked for, with `/`."""

    path: Path
    name: str


def expand(patterns: Sequence[str], cwd: Path, *, recursive: bool) -> list[Outside]:
    """Every regular file that the patterns name, hidden and installed ones left out. Raises NotFound, UsageError."""
    files: dict[Path, Outside] = {}
    for pattern in patterns:
        for path in named(pattern, cwd):
            if path.is_dir():
                if not recursive:
                    raise UsageError(f"{pattern} is a folder", hint="add --recursive to take every file in it")
                for file in _below(path):
                    files.setdefault(file, Outside(file, file.relative_to(path).as_posix()))
            else:
                files.setdefault(path, Outside(path, path.name))
    return list(files.values())


def named(pattern: str, cwd: Path) -> list[Path]:
    """What a path or a glob names, in order; no links that lead out of a glob's folder. Raises NotFound, Refused."""
    path = expanded(pattern)
    if (cwd / path).exists():
        return [typed(path, cwd)]
    globs = [number for number, part in enumerate(path.parts) if has_magic(part)][:1]
    paths = set[Path]()
    for first in globs:
        folder = typed(Path(*path.parts[:first]), cwd)
        paths.update(Path(os.path.abspath(match)) for match in matches(folder, path.parts[first:]))
    if not paths:
        raise NotFound("file", pattern, hint="give a file, a folder with --recursive, or a quoted glob")
    return sorted(paths)


def typed(path: Path, cwd: Path) -> Path:
    """The absolute form, without `..`, of a path that a user typed.

    Raises Refused: links lead from it out of its code repository, or out of `cwd` where it lies below that in none. A
    folder that was cloned or unpacked may hold any link, and its name does not show where it leads.
    """
    path = Path(os.path.abspath(cwd / path))
    top = top_of(path.parent) or (cwd if path.is_relative_to(cwd) else None)
    if top is not None and not leads_into(path, top):
        hint = "name the place that it leads to, if you mean that"
        raise Refused(f"{path} leads out of {top} by a link, to {os.path.realpath(path)}", hint=hint)
    return path


def leads_into(path: Path, folder: Path) -> bool:
    """Whether a path is the folder or below it after all links are followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def kept(file: Path) -> Path:
    """Where a file of the user's own home is kept: what a link in its place leads to (dotfiles), else the file."""
    return Path(os.path.realpath(file)) if file.is_symlink() else file


def matches(folder: Path, parts: Sequence[str], *, hidden: bool = False, top: Path | None = None) -> Iterator[Path]:
    """What the parts of a glob match below a folder, but for links that lead out of it (of `top`); `**` enters none."""
    top = top or folder
    if not parts:
        yield folder
        return
    part, *later = parts
    deep = part == "**"
    if deep:
        yield from matches(folder, later, hidden=hidden, top=top)
    names = [part]
    if has_magic(part):
        try:
            names = [name for name in sorted(os.listdir(folder)) if deep or fnmatchcase(name, part)]
        except OSError:  # no folder, or a closed one: nothing in it matches, as in a shell
            return
    for name in names:
        path = folder / name
        link = path.is_symlink()
        is_hidden = name.startswith(".") and not (hidden or part.startswith("."))
        if is_hidden or not os.path.lexists(path) or (link and not leads_into(path, top)):
            continue
        if not deep:
            yield from matches(path, later, hidden=hidden, top=top)
        elif path.is_dir() and not link:
            yield from matches(path, parts, hidden=hidden, top=top)
        elif not later:
            yield path


def _below(folder: Path) -> Iterator[Path]:
    with translated(str(folder)):
        for place, folders, names in os.walk(folder, onerror=_raise):
            folders[:] = sorted(name for name in folders if name[0] != "." and name not in _NEVER_ENTERED)
            for name in sorted(names):
                path = Path(place, name)
                if not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                    yield path


def _raise(error: OSError) -> None:
    raise error


def expanded(text: str) -> Path:
    """The path of a text, with its `~` as the home of that user; as it is where there is no such user."""
    return Path(os.path.expanduser(text))


@contextmanager
def opened(path: Path, within: Path | None = None, *, pipes: bool = False) -> Iterator[BinaryIO]:
    """A regular file (or a pipe, given `pipes`), open to be read.

    Raises InvalidEntry: it is none. Refused: links lead out of the folder `within`. NotFound, StorageFailed.
    """
    if "\0" in str(path):
        raise NotFound("file", str(path), hint="was it moved? ai-lessons admin list-stale names what is gone")
    if within is not None and not leads_into(path, within):
        raise Refused(f"{path} leads out of {within} by a link", hint="name the file that it leads to")
    real = path if within is None else Path(os.path.realpath(path))
    # non-blocking, because opening a named pipe would otherwise wait for a writer for ever
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (os.O_NOFOLLOW if within else 0)

    def regular(name: str, _flags: int) -> int:
        fd = os.open(name, flags)
        mode = os.fstat(fd).st_mode
        if not (stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode))):
            os.close(fd)
            raise InvalidEntry([Problem(str(path), "not a regular file")])
        os.set_blocking(fd, True)
        return fd

    with translated(str(path)), open(real, "rb", opener=regular) as file:
        yield file


def read(path: Path, limit: int = READ_LIMIT, *, within: Path | None = None, pipes: bool = False) -> tuple[bytes, bool]:
    """The bytes of a file, and if its owner may execute it. Raises as `opened`; InvalidEntry: it is over the limit."""
    with opened(path, within, pipes=pipes) as file:
        data = bytearray()
        while len(data) <= limit and (part := file.read(min(limit + 1 - len(data), 1 << 20))):
            data += part
        if len(data) > limit:
            raise InvalidEntry([Problem(str(path), f"more than {limit} bytes")])
        return bytes(data), bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)


def write(file: Path, data: bytes) -> None:
    """Put a file in its place, whole or not at all, with the mode that it had; its folders are made.

    Raises Refused: a link is in its place. Conflict: something that is no file. StorageFailed.
    """
    with translated(str(file), writing=True):
        file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file.parent, file.name, data, durable=False)


# --- the code repository that one works in ---

_WORKTREE = re.compile(r"gitdir: (.+)/\.git/worktrees/[^/]+/?\s*\Z")


def top_of(folder: Path) -> Path | None:
    """The nearest folder from here upward that holds `.git`; None where there is none."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)


_REMOTE = re.compile(r'(?m)^\[remote "origin"\][^\[]*?^\s*url\s*=\s*\S*?([^/:\s]+?)(?:\.git)?/?\s*$')
_MODULE = re.compile(r"(?m)^module\s+(?:\S*/)?(\S+)")


def names_of(folder: Path) -> list[str]:
    """Names of the project of a folder: of git's remote `origin`, its package, its folder, in this order."""
    top = top_of(folder)
    if top is None:
        return []
    remotes = _REMOTE.findall(beginning(top / ".git" / "config"))
    modules = _MODULE.findall(beginning(top / "go.mod", top))
    return list(dict.fromkeys([*remotes, *_packages(top), *modules, name_of(folder)]))


def _packages(top: Path) -> Iterator[str]:
    for file, parse in (("pyproject.toml", toml), ("package.json", json.loads), ("Cargo.toml", toml)):
        try:
            manifest = parse(beginning(top / file, top))
        except (ValueError, RecursionError):  # no such file, or a damaged one
            continue
        tables = (manifest, manifest.get("project"), manifest.get("package")) if isinstance(manifest, dict) else ()
        for part in tables:
            if isinstance(part, dict) and isinstance(name := part.get("name"), str):
                yield name.rpartition("/")[2]


def beginning(file: Path, within: Path | None = None, limit: int = 1 << 20) -> str:
    """The text of a small file; empty where there is none that can be read."""
    try:
        return read(file, limit, within=within)[0].decode("utf-8", "replace")
    except AiLessonsError:  # mostly, because it is not there
        return ""


def name_of(folder: Path) -> str:
    """The name of the top folder; of a linked worktree that of the repository it belongs to. Empty outside of any."""
    top = top_of(folder)
    if top is None:
        return ""
    match = _WORKTREE.match(beginning(top / ".git"))  # usually a folder: the repository itself
    return Path(match[1]).name if match else top.name


def same_name(first: str, second: str) -> bool:
    """Whether two names of a project differ only in capitals and in what joins their words."""
    first, second = (re.sub(r"[\W_]+", "-", name.lower()).strip("-") for name in (first, second))
    return first == second != ""


# --- transcripts of agent hosts ---

_RECORD_LIMIT = 32 << 20  # Bytes of one record; what is longer is read in pieces, none of which is one
_PARTS = """SELECT part.data, message.data, session.id, session.directory, part.time_created FROM part
JOIN message ON message.id = part.message_id JOIN session ON session.id = part.session_id
ORDER BY session.id, part.time_created, part.id"""


def transcripts(patterns: Sequence[tuple[Path, str]]) -> list[tuple[Path, os.stat_result]]:
    """The files that globs below folders match and their status, newest first. Raises nothing."""
    files: dict[Path, os.stat_result] = {}
    for folder, pattern in patterns:
        for file in matches(folder, pattern.split("/"), hidden=True):
            try:
                status = os.stat(file)
            except OSError:  # gone since the glob
                continue
            if stat.S_ISREG(status.st_mode):
                files[file] = status
    return sorted(files.items(), key=lambda row: -row[1].st_mtime)


def records(file: Path) -> Iterator[tuple[int, Any]]:
    """The records of a transcript with their line: of JSON lines, of one JSON text with `messages`, or of a database.

    None stands for a line that is no JSON. Raises StorageFailed, and NotFound: it is gone.
    """
    with opened(file) as lines:
        if file.suffix == ".db":
            yield from _parts(file)
            return
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


class Code(NamedTuple):
    """A code repository: its name, and its files as paths from its top. `whole`: every project here is about it."""

    name: str
    files: tuple[str, ...]
    whole: bool

    def is_of(self, project: str) -> bool:
        """Whether an entry of this project is about this code."""
        return self.whole or same_name(project, self.name)


def around(cwd: Path, worktree: Path, knowledge: Path) -> Code | None:
    """The code that entries are about, no ignored files: around the knowledge, else around `cwd`; None if neither."""
    inside = worktree != knowledge
    top = worktree if inside else top_of(cwd)
    if top is None or top == knowledge:
        return None
    try:
        place = locate(top)
    except AiLessonsError:
        return None
    done = plumbing.run(place, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if done.code:
        return None
    paths = dict.fromkeys(done.out.decode("utf-8", "surrogateescape").split("\0"))
    ours = f"{knowledge.relative_to(top).as_posix()}/" if inside else ""
    files = tuple(path for path in paths if path and not (ours and path.startswith(ours)))
    return Code(name_of(top), files, inside)


MOST_FILES = 50


def manifests(cwd: Path) -> tuple[list[Manifest], list[str]]:
    """The files, nearest first, from `cwd` up to the top of git; and why others are left out."""
    inside = top_of(cwd)
    folders = [folder for folder in (cwd, *cwd.parents) if folder.is_relative_to(inside)] if inside else [cwd]
    top = folders[-1]
    texts: list[Manifest] = []
    left_out: list[str] = []
    for distance, folder in enumerate(folders):
        for file in sorted(path for path in folder.glob("*") if is_manifest(path.name)):
            path = file.relative_to(top).as_posix()
            if file.is_symlink() or not file.is_file():
                continue
            if len(texts) == MOST_FILES:
                return texts, [*left_out, f"{path} and others: {MOST_FILES} files were read"]
            try:
                text = read_file(top, path, LARGEST)[0].decode("utf-8", "replace")
            except AiLessonsError as error:
                left_out.append(error.message)
            else:
                texts.append(Manifest(path, text, distance))
    return texts, left_out


class Sources:
    """Where the files of an import come from; each repository is read once, at one HEAD. For one thread."""

    def __init__(self) -> None:
        self._tops: dict[Path, tuple[Path, Path | None]] = {}
        self._heads: dict[Path, tuple[str, Mapping[str, str]] | None] = {}

    def ref(self, path: Path, data: bytes) -> str | None:
        """HEAD of the file's repository, `-dirty` behind it unless it holds `data` there; None without one."""
        real, top = self._place(path)
        if top is None:
            return None
        if top not in self._heads:
            self._heads[top] = _head(top)
        head = self._heads[top]
        if head is None:
            return None
        commit, blobs = head
        blob = blobs.get(str(real.relative_to(top)))
        # a checkout with CRLF is as committed, too
        same = blob in {blob_id(data), blob_id(data.replace(b"\r\n", b"\n"))}
        return commit if same else f"{commit}-dirty"

    def project(self, path: Path) -> str | None:
        """The name of the top folder of the file's repository, fit to be a project; None outside of any."""
        _, top = self._place(path)
        return slug(top.name) if top is not None else None

    def _place(self, path: Path) -> tuple[Path, Path | None]:
        """The file without links, and the top folder of its worktree; each folder is looked up once."""
        if path.is_symlink() or path.name in {"", ".."}:
            path = path.resolve()
        if path.parent not in self._tops:
            folder = path.parent.resolve()
            self._tops[path.parent] = (folder, top_of(folder))
        folder, top = self._tops[path.parent]
        return folder / path.name, top


def _head(top: Path) -> tuple[str, Mapping[str, str]] | None:
    """The commit that is checked out, and its blobs by path; None before the first, or if it is not accepted."""
    try:
        place = locate(top)
        commit = read_head(place).commit
    except AiLessonsError:
        return None
    return (commit, plumbing.files_of(place, commit)) if commit else None
