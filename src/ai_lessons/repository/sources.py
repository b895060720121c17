"""Where an imported file comes from: the commit of its own repository, and whether the file stands so in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge.layout import blob_id, slug
from ai_lessons.repository import git
from ai_lessons.repository.outside import top_of
from ai_lessons.repository.worktree import locate, read_head

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DIRTY = "-dirty"


class Sources:
    """Answers for all files of an import, repositories asked once, at one HEAD. For one thread."""

    def __init__(self) -> None:
        self._tops: dict[Path, tuple[Path, Path | None]] = {}
        self._heads: dict[Path, tuple[str, Mapping[bytes, bytes]] | None] = {}

    def ref(self, path: Path, data: bytes) -> str | None:
        """HEAD of the file's repository, `-dirty` behind it unless it holds `data` there; None without one."""
        real, top = self._place(path)
        if top is None:
            return None
        if top not in self._heads:
            self._heads[top] = _head(top)
        known = self._heads[top]
        if known is None:
            return None
        commit, blobs = known
        wanted = blobs.get(os.fsencode(real.relative_to(top)))
        # a checkout with CRLF is as committed too
        same = any(blob_id(text).encode() == wanted for text in (data, data.replace(b"\r\n", b"\n")))
        return commit + ("" if same else DIRTY)

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


def _head(top: Path) -> tuple[str, Mapping[bytes, bytes]] | None:
    """The commit that is checked out, and its blobs by path; None before the first, or if it is not accepted."""
    try:
        place = locate(top)
        commit = read_head(place).commit
    except AiLessonsError:
        return None
    if commit is None:
        return None
    # what a partial clone has not fetched is not fetched for this, and the file then counts as changed
    rows = git.run(place, "ls-tree", "-r", "-z", commit, extra={"GIT_NO_LAZY_FETCH": "1"}).out.split(b"\0")[:-1]
    return commit, {name: entry.split()[2] for entry, _, name in (row.partition(b"\t") for row in rows)}
