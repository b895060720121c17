"""Where an imported file comes from: the commit of its own repository, and whether the file stands so in it."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from typing import TYPE_CHECKING

from dulwich.errors import NotGitRepository
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo

from ai_lessons.knowledge.layout import slug
from ai_lessons.repository.outside import top_of

if TYPE_CHECKING:
    from pathlib import Path

    from dulwich.objects import ObjectID

DIRTY = "-dirty"


class Sources(ExitStack):
    """Answers for all files of an import, repositories opened once, at one HEAD. A context manager, for one thread."""

    def __init__(self) -> None:
        super().__init__()
        self._tops: dict[Path, tuple[Path, Path | None]] = {}
        self._heads: dict[Path, tuple[Repo, Commit] | None] = {}
        self._trees: dict[Path, Tree | None] = {}

    def ref(self, path: Path, data: bytes) -> str | None:
        """HEAD of the file's repository, `-dirty` behind it unless it holds `data` there; None without one."""
        real, top = self._place(path)
        if top is None:
            return None
        if top not in self._heads:
            self._heads[top] = self._open(top)
        known = self._heads[top]
        if known is None:
            return None
        repository, head = known
        name, tree = os.fsencode(real.name), self._tree(repository, head, top, real.parent)
        wanted = tree[name][1] if tree is not None and name in tree else None
        # a checkout with CRLF is as committed too
        same = any(Blob.from_string(text).id == wanted for text in (data, data.replace(b"\r\n", b"\n")))
        return head.id.decode() + ("" if same else DIRTY)

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

    def _open(self, top: Path) -> tuple[Repo, Commit] | None:
        try:
            repository = Repo(os.fspath(top))
        except NotGitRepository:
            return None
        self.callback(repository.close)
        try:
            head = repository[repository.head()]
        except KeyError:
            return None
        # bare: `.git` is empty, and the files look like a repository
        return (repository, head) if isinstance(head, Commit) and not repository.bare else None

    def _tree(self, repository: Repo, head: Commit, top: Path, folder: Path) -> Tree | None:
        """None where the commit has no such folder, or a partial clone has not fetched it."""
        if folder not in self._trees:
            sha: ObjectID | None = head.tree
            if folder != top:
                above, name = self._tree(repository, head, top, folder.parent), os.fsencode(folder.name)
                mode, sha = above[name] if above is not None and name in above else (0, None)
                sha = sha if stat.S_ISDIR(mode) else None
            found = repository[sha] if sha is not None and sha in repository else None
            self._trees[folder] = found if isinstance(found, Tree) else None
        return self._trees[folder]
