"""Files outside the repository: those that a user names, and what their project is called."""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from ai_lessons.errors import (
    AiLessonsError,
    InvalidEntry,
    NotFound,
    Problem,
    Refused,
    UsageError,
)
from ai_lessons.git.files import READ_LIMIT, translated, write_file
from ai_lessons.model import expression
from ai_lessons.model.texts import toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_NEVER_ENTERED = frozenset(("node_modules", "__pycache__"))


class Outside(NamedTuple):
    """A file to import. `name` is its path below the folder that was asked for, with `/`."""

    path: Path
    name: str


def expand(patterns: Sequence[str], cwd: Path, *, recursive: bool) -> list[Outside]:
    """Every regular file that the patterns name, hidden and installed ones left out.

    Raises NotFound, UsageError.
    """
    folders = dict[Path, None]()
    # and the folder that each is named from
    files: dict[Path, Path] = {}
    for pattern in patterns:
        fixed = _before_magic(expanded(pattern))
        for path in named(pattern, cwd):
            if path.is_dir():
                if not recursive:
                    raise UsageError(
                        f"{pattern} is a folder", hint="add --recursive to take every file in it"
                    )
                folders[path] = None
                for file in _below(path):
                    files.setdefault(file, path)
            else:
                files.setdefault(path, path.parent if fixed is None else typed(fixed, cwd))
    return _named_apart(files, [*folders])


def _before_magic(pattern: Path) -> Path | None:
    """The folder that a glob begins in; None: it is no glob."""
    from glob import has_magic

    parts = pattern.parts
    first = next((number for number, part in enumerate(parts) if has_magic(part)), None)
    if first is None:
        return None
    return Path(*parts[:first])


def _named_apart(files: Mapping[Path, Path], folders: Sequence[Path]) -> list[Outside]:
    """The files by their names from the folder that each came from.

    Where there are several folders, or names that are the same, they keep the shape that they have
    together: folders of different names stay apart.
    """
    outside = []
    for file, start in files.items():
        outside.append(Outside(file, file.relative_to(start).as_posix()))
    if len(folders) < 2 and len({file.name for file in outside}) == len(outside):
        return outside
    whole = Path(os.path.commonpath([*(folder.parent for folder in folders), *files.values()]))
    return [Outside(file, file.relative_to(whole).as_posix()) for file in files]


def named(pattern: str, cwd: Path) -> list[Path]:
    """What a path or a glob names, in order; no links that lead out of a glob's folder.

    Raises NotFound, Refused.
    """
    from glob import has_magic

    path = expanded(pattern)
    if (cwd / path).exists():
        return [typed(path, cwd)]
    globs = [number for number, part in enumerate(path.parts) if has_magic(part)][:1]
    paths = set[Path]()
    for first in globs:
        folder = typed(Path(*path.parts[:first]), cwd)
        paths.update(Path(os.path.abspath(match)) for match in matches(folder, path.parts[first:]))
    if not paths:
        raise NotFound(
            "file", pattern, hint="give a file, a folder with --recursive, or a quoted glob"
        )
    return sorted(paths)


def typed(path: Path, cwd: Path) -> Path:
    """The absolute form, without `..`, of a path that a user typed.

    Raises Refused: links lead from it out of its code repository, or out of `cwd` where it lies
    below that in none.
    """
    path = Path(os.path.abspath(cwd / path))
    # a folder that was cloned or unpacked may hold any link, and the path that is typed does not
    # show where it leads
    top = top_of(path.parent) or (cwd if path.is_relative_to(cwd) else None)
    if top is not None and not leads_into(path, top):
        hint = "name the place that it leads to, if you mean that"
        raise Refused(
            f"{path} leads out of {top} by a link, to {os.path.realpath(path)}", hint=hint
        )
    return path


def leads_into(path: Path | str, folder: Path) -> bool:
    """Whether a path is the folder or below it after all links are followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def kept(file: Path) -> Path:
    """Where a file of the user's own home is kept.

    What a link in its place leads to (dotfiles), else the file.
    """
    if file.is_symlink():
        return Path(os.path.realpath(file))
    return file


def matches(
    folder: Path, parts: Sequence[str], *, hidden: bool = False, top: Path | None = None
) -> Iterator[Path]:
    """What the parts of a glob match below a folder, but for links that lead out of it (of `top`).

    `**` enters none.
    """
    from glob import has_magic

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
        except OSError:
            # no folder, or a closed one: nothing in it matches, as in a shell
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
            folders[:] = sorted(
                name for name in folders if name[0] != "." and name not in _NEVER_ENTERED
            )
            for name in sorted(names):
                path = Path(place, name)
                if not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                    yield path


def _raise(error: OSError) -> None:
    raise error


def expanded(text: str) -> Path:
    """The path of a text, with its `~` as the home of that user.

    As it is where there is no such user.
    """
    return Path(os.path.expanduser(text))


@contextmanager
def opened(path: Path, within: Path | None = None, *, pipes: bool = False) -> Iterator[BinaryIO]:
    """A regular file (or a pipe, given `pipes`), open to be read.

    Raises InvalidEntry: it is none. Refused: links lead out of the folder `within`. NotFound,
    StorageFailed.
    """
    if "\0" in str(path):
        raise NotFound(
            "file",
            str(path),
            hint="was it moved? ai-lessons admin review --stale names what is gone",
        )
    if within is not None and not leads_into(path, within):
        raise Refused(
            f"{path} leads out of {within} by a link", hint="name the file that it leads to"
        )
    if within is None:
        real = path
    else:
        real = Path(os.path.realpath(path))
    # non-blocking, because opening a named pipe would otherwise wait for a writer for ever
    flags = (
        os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (os.O_NOFOLLOW if within else 0)
    )

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


def read(
    path: Path, limit: int = READ_LIMIT, *, within: Path | None = None, pipes: bool = False
) -> tuple[bytes, bool]:
    """The bytes of a file, and if its owner may execute it.

    Raises as `opened`; InvalidEntry: it is over the limit.
    """
    with opened(path, within, pipes=pipes) as file:
        data = bytearray()
        while len(data) <= limit and (part := file.read(min(limit + 1 - len(data), 1 << 20))):
            data += part
        if len(data) > limit:
            raise InvalidEntry([Problem(str(path), f"more than {limit} bytes")])
        return bytes(data), bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)


def write(file: Path, data: bytes) -> None:
    """Put a file in its place, whole or not at all, with the mode that it had.

    Its folders are made.

    Raises Refused: a link is in its place. Conflict: something that is no file. StorageFailed.
    """
    with translated(str(file), writing=True):
        file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file.parent, file.name, data, durable=False)


_WORKTREE = expression(r"gitdir: (.+)/\.git/worktrees/[^/]+/?\s*\Z")


def top_of(folder: Path) -> Path | None:
    """The nearest folder from here upward that holds `.git`; None where there is none."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)


_REMOTE = expression(r'(?m)^\[remote "origin"\][^\[]*?^[ \t]*url[ \t]*=[ \t]*(\S+)[ \t\r]*$')
_MODULE = expression(r"(?m)^module\s+(?:\S*/)?(\S+)")


def in_project(path: str, cwd: Path) -> str:
    """A file of the caller's as its own project sees it.

    From the folder that holds `.git`, else from `cwd`.
    """
    whole = Path(os.path.normpath(cwd / os.path.expanduser(path)))
    root = next((folder for folder in whole.parents if (folder / ".git").exists()), cwd)
    return (whole.relative_to(root) if whole.is_relative_to(root) else whole).as_posix().lstrip("/")


def names_in_project(path: str, cwd: Path) -> tuple[str, ...]:
    """A file of the caller's as its project sees it.

    As it is called, and, through links, as it lies in the project.

    A rule may be about a link, or about the file that it leads to.
    """
    named = in_project(path, cwd)
    if "\0" in path:
        # no file has such a name
        return (named,)
    real = os.path.realpath(cwd / os.path.expanduser(path))
    top = top_of(cwd)
    # what a link leads to elsewhere is of no project here
    inside = top is None or Path(real).is_relative_to(os.path.realpath(top))
    return tuple(dict.fromkeys((named, in_project(real, cwd) if inside else named)))


def names_of(folder: Path) -> list[str]:
    """Names of the project of a folder.

    Of git's remote `origin`, its package, its folder, in this order.
    """
    top = top_of(folder)
    if top is None:
        return []
    addresses = _REMOTE.findall(beginning(top / ".git" / "config"))
    remotes = []
    for address in addresses:
        remotes.append(re.split("[/:]", address.rstrip("/").removesuffix(".git"))[-1])
    modules = _MODULE.findall(beginning(top / "go.mod", top))
    return list(dict.fromkeys([*remotes, *_packages(top), *modules, name_of(folder)]))


def _packages(top: Path) -> Iterator[str]:
    for file, parse in (
        ("pyproject.toml", toml),
        ("package.json", json.loads),
        ("Cargo.toml", toml),
    ):
        try:
            manifest = parse(beginning(top / file, top))
        except (ValueError, RecursionError):
            # no such file, or a damaged one
            continue
        tables = (
            (manifest, manifest.get("project"), manifest.get("package"))
            if isinstance(manifest, dict)
            else ()
        )
        for part in tables:
            if isinstance(part, dict) and isinstance(name := part.get("name"), str):
                yield name.rpartition("/")[2]


def beginning(file: Path, within: Path | None = None, limit: int = 1 << 20) -> str:
    """The text of a small file; empty where there is none that can be read."""
    try:
        return read(file, limit, within=within)[0].decode("utf-8", "replace")
    except AiLessonsError:
        # mostly, because it is not there
        return ""


def name_of(folder: Path) -> str:
    """The name of the top folder; of a linked worktree that of the repository it belongs to.

    Empty outside of any.
    """
    top = top_of(folder)
    if top is None:
        return ""
    # usually a folder: the repository itself
    match = _WORKTREE.match(beginning(top / ".git"))
    if match:
        return Path(match[1]).name
    return top.name


def same_name(first: str, second: str) -> bool:
    """Whether two names of a project differ only in capitals and in what joins their words."""
    first, second = (
        re.sub(r"(?:[^\w+#]|_)+", "-", name.lower()).strip("-") for name in (first, second)
    )
    return first == second != ""
