"""The code repository that one works in: its files, to tell which names still lead somewhere, and its manifests."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge.manifests import LARGEST, Manifest, is_manifest
from ai_lessons.repository import git, outside
from ai_lessons.repository.worktree import locate

if TYPE_CHECKING:
    from collections.abc import Iterator


class Code(NamedTuple):
    """A code repository: its name, and its files as paths from its top. `whole`: every project here is about it."""

    name: str
    files: tuple[str, ...]
    whole: bool

    def is_of(self, project: str) -> bool:
        """Whether an entry of this project is about this code."""
        return self.whole or outside.same_name(project, self.name)


def around(cwd: Path, worktree: Path, knowledge: Path) -> Code | None:
    """The code that entries are about, no ignored files: around the knowledge, else around `cwd`; None if neither."""
    inside = worktree != knowledge
    top = worktree if inside else outside.top_of(cwd)
    if top is None or top == knowledge:
        return None
    try:
        place = locate(top)
    except AiLessonsError:
        return None
    done = git.run(place, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if done.code:
        return None
    paths = dict.fromkeys(done.out.decode("utf-8", "surrogateescape").split("\0"))
    own = f"{knowledge.relative_to(top).as_posix()}/" if inside else None
    files = tuple(path for path in paths if path and not (own and path.startswith(own)))
    return Code(outside.name_of(top), files, inside)


DEEPEST = 3  # Folders below the top one in which packages of a monorepo are looked for
MOST_FOLDERS = 400
MOST_FILES = 50

_NOT_OURS = frozenset(
    {"node_modules", "vendor", "third_party", "site-packages", "target", "build", "dist", "venv", "env"}
)  # Folders that hold other people's projects, or copies


def manifests(cwd: Path, *, below_too: bool = True) -> tuple[list[Manifest], list[str]]:
    """The files, nearest first, from `cwd` up to the top of git, then those below it; and why others are left out."""
    inside = outside.top_of(cwd)
    chain = [one for one in (cwd, *cwd.parents) if one.is_relative_to(inside)] if inside else [cwd]
    top = chain[-1]
    below = _below(top, frozenset(chain)) if inside and below_too else ()
    found: list[Manifest] = []
    left_out: list[str] = []
    for distance, folder in [*enumerate(chain), *((len(chain), one) for one in below)]:
        for file in (folder / one.name for one in _entries(folder) if one.is_file(follow_symlinks=False)):
            if not is_manifest(file.name):
                continue
            path = Path(os.path.relpath(file, top)).as_posix()
            if len(found) == MOST_FILES:
                return found, [*left_out, f"{path} and others: {MOST_FILES} files were read"]
            text = _text(file)
            if isinstance(text, str):
                found.append(Manifest(path, text, distance))
            else:
                left_out.append(f"{path}: {text.strerror}")
    return found, left_out


def _below(top: Path, without: frozenset[Path]) -> Iterator[Path]:
    border, seen = [top], 0
    for _ in range(DEEPEST):
        following: list[Path] = []
        for folder in border:
            for entry in _entries(folder):
                if entry.name.startswith(".") or entry.name in _NOT_OURS or not entry.is_dir(follow_symlinks=False):
                    continue
                seen += 1
                if seen > MOST_FOLDERS:
                    return
                following.append(folder / entry.name)
                if following[-1] not in without:
                    yield following[-1]
        border = following


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """By name; none where the folder cannot be read: it is not ours, and holds nothing that can be used."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _text(file: Path) -> str | OSError:
    try:
        # what has become a pipe since we looked would make us wait for ever
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as opened:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return OSError(0, "not a regular file")
            data = opened.read(LARGEST + 1)
    except OSError as error:
        return error
    return data.decode("utf-8", "replace") if len(data) <= LARGEST else OSError(0, f"larger than {LARGEST >> 20} MiB")
