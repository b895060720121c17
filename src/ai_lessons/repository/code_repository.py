"""The code repository that one works in: its files, to tell which names still lead somewhere, and its manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge.manifests import LARGEST, Manifest, is_manifest
from ai_lessons.repository import git, outside
from ai_lessons.repository.files import read_file
from ai_lessons.repository.worktree import locate

if TYPE_CHECKING:
    from pathlib import Path


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


MOST_FILES = 50


def manifests(cwd: Path) -> tuple[list[Manifest], list[str]]:
    """The files, nearest first, from `cwd` up to the top of git; and why others are left out."""
    inside = outside.top_of(cwd)
    chain = [one for one in (cwd, *cwd.parents) if one.is_relative_to(inside)] if inside else [cwd]
    top = chain[-1]
    found: list[Manifest] = []
    left_out: list[str] = []
    for distance, folder in enumerate(chain):
        for file in sorted(one for one in folder.glob("*") if is_manifest(one.name)):
            path = file.relative_to(top).as_posix()
            if file.is_symlink() or not file.is_file():
                continue
            if len(found) == MOST_FILES:
                return found, [*left_out, f"{path} and others: {MOST_FILES} files were read"]
            try:
                text = read_file(top, path, LARGEST)[0].decode("utf-8", "replace")
            except AiLessonsError as error:
                left_out.append(error.message)
            else:
                found.append(Manifest(path, text, distance))
    return found, left_out
