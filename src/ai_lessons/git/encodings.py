"""In which encodings git writes the files of a worktree (`working-tree-encoding` in .gitattributes)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_lessons.git import plumbing
from ai_lessons.git.worktree import index_mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.git.worktree import Worktree

ATTRIBUTE: Final = "working-tree-encoding"


class WrittenEncodings:
    """The encodings of the tracked files of a worktree.

    Git is asked once for all of them, until its index changes.
    """

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self._mark: str | None = None
        self._stated: Mapping[str, str] = {}

    def of(self, path: str) -> str:
        """The encoding in which git wrote this file, as git names it; empty: none is stated."""
        mark = index_mark(self._worktree)
        if mark != self._mark:
            self._stated = self._ask()
            self._mark = mark
        return self._stated.get(path, "")

    def _ask(self) -> dict[str, str]:
        tracked = plumbing.run(self._worktree, "ls-files", "-z", cwd=self._worktree.root).names
        attributes = plumbing.attributes_of(self._worktree, tracked, ATTRIBUTE)
        encodings: dict[str, str] = {}
        for path, stated in attributes.items():
            encodings[path] = stated[ATTRIBUTE]
        return encodings
