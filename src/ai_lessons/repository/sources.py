"""Where an imported file comes from: the commit of its own repository, and whether the file stands so in that commit.

Reads objects only. Runs no program, no filter and no hook of a repository that may be anybody's; a file that a filter
changes on its way into git (LFS, for example) therefore counts as dirty.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Self

from dulwich.errors import NotGitRepository
from dulwich.ignore import IgnoreFilterManager
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo

from ai_lessons.knowledge.layout import slug
from ai_lessons.repository.files import translated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

DIRTY = "-dirty"


class Sources:
    """Answers for as many files as an import has; each repository is opened, and each of its trees read, once.

    What a repository's HEAD was at the first question holds for all the others, so that one import names one commit.
    Use as a context manager, or `close` it. Not safe for use by two threads.
    """

    def __init__(self) -> None:
        self._real: dict[Path, Path] = {}
        self._tops: dict[Path, Path | None] = {}
        self._origins: dict[Path, _Origin | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the repositories."""
        for origin in self._origins.values():
            if origin is not None:
                origin.close()
        self._real.clear()
        self._tops.clear()
        self._origins.clear()

    def ref(self, path: Path) -> str | None:
        """HEAD of the repository that holds the file or folder, `-dirty` behind it unless all of it is as committed.

        None outside of any repository, and before the first commit. Links are followed: a linked file comes from
        where it lies. A file that git ignores or does not know is dirty; ignored files in a folder do not count.

        Raises:
            StorageFailed, NotFound: it cannot be read.
        """
        real = self._resolved(path)
        origin = self._origin(real)
        if origin is None:
            return None
        with translated(str(path)):
            return origin.head + ("" if origin.is_clean(real) else DIRTY)

    def project(self, path: Path) -> str | None:
        """The name of the top folder of the file's repository, fit to be a project; None outside of any."""
        top = self._top(self._resolved(path).parent)
        return slug(top.name) if top is not None else None

    def _resolved(self, path: Path) -> Path:
        """Without links; each folder is asked for once, because that takes a system call for every part of its path."""
        if path.is_symlink() or path.name in {"", ".."}:
            return path.resolve()
        if path.parent not in self._real:
            self._real[path.parent] = path.parent.resolve()
        return self._real[path.parent] / path.name

    def _origin(self, real: Path) -> _Origin | None:
        top = self._top(real if real.is_dir() else real.parent)
        if top is None:
            return None
        if top not in self._origins:
            self._origins[top] = _open(top)
        return self._origins[top]

    def _top(self, folder: Path) -> Path | None:
        """The top folder of the worktree around `folder`; what is found holds for all folders on the way."""
        if folder not in self._tops:
            above = folder.parent
            inside = (folder / ".git").exists()
            self._tops[folder] = folder if inside else None if above == folder else self._top(above)
        return self._tops[folder]


def source_ref(path: Path) -> str | None:
    """`Sources.ref` for one file or folder."""
    with Sources() as sources:
        return sources.ref(path)


def _open(top: Path) -> _Origin | None:
    try:
        repository = Repo(os.fspath(top))
    except NotGitRepository:
        return None
    try:
        head = repository[repository.head()]
    except KeyError:
        repository.close()
        return None
    if repository.bare or not isinstance(head, Commit):  # bare: `.git` is empty, and the files look like a repository
        repository.close()
        return None
    return _Origin(top, repository, head)


class _Origin:
    """One source repository at one commit."""

    def __init__(self, top: Path, repository: Repo, head: Commit) -> None:
        self._top, self._repository = top, repository
        self.head = head.id.decode()
        self._trees: dict[Path, Tree | None] = {top: self._tree_object(head.tree)}
        self._ignored = IgnoreFilterManager.from_repo(repository)

    def close(self) -> None:
        self._repository.close()

    def is_clean(self, real: Path) -> bool:
        if not real.is_dir():
            return self._is_as_committed(real)
        on_disk = set(self._files_on_disk(real))
        return on_disk >= set(self._files_in_head(real)) and all(map(self._is_as_committed, sorted(on_disk)))

    def _is_as_committed(self, file: Path) -> bool:
        tree = self._tree(file.parent)
        name = os.fsencode(file.name)
        if tree is None or name not in tree:
            return False
        _, wanted = tree[name]
        if file.is_symlink():
            return Blob.from_string(os.fsencode(os.readlink(file))).id == wanted
        data = file.read_bytes()
        # a checkout with CRLF is as committed too
        return any(Blob.from_string(text).id == wanted for text in (data, data.replace(b"\r\n", b"\n")))

    def _tree(self, folder: Path) -> Tree | None:
        if folder not in self._trees:
            above = self._tree(folder.parent)
            name = os.fsencode(folder.name)
            mode, sha = above[name] if above is not None and name in above else (0, b"")
            self._trees[folder] = self._tree_object(sha) if stat.S_ISDIR(mode) else None
        return self._trees[folder]

    def _tree_object(self, sha: bytes) -> Tree | None:
        """None for a tree that a partial clone has not fetched: nothing can be said about its files."""
        try:
            found = self._repository[sha]
        except KeyError:
            return None
        return found if isinstance(found, Tree) else None

    def _files_in_head(self, folder: Path) -> Iterator[Path]:
        tree = self._tree(folder)
        for name, mode, _ in tree.iteritems() if tree is not None else ():
            below = folder / os.fsdecode(name)
            if stat.S_ISDIR(mode):
                yield from self._files_in_head(below)
            elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
                yield below

    def _files_on_disk(self, folder: Path) -> Iterator[Path]:
        for place, folders, names in os.walk(folder):
            here = Path(place)
            links = [name for name in folders if (here / name).is_symlink()]
            folders[:] = [n for n in folders if n != ".git" and n not in links and not self._is_ignored(here / n, "/")]
            yield from (here / name for name in (*names, *links) if not self._is_ignored(here / name))

    def _is_ignored(self, path: Path, tail: str = "") -> bool:
        tree = self._tree(path.parent)
        if tree is not None and os.fsencode(path.name) in tree:
            return False
        return bool(self._ignored.is_ignored(path.relative_to(self._top).as_posix() + tail))
