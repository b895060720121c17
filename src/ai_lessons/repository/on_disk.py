"""What the user has at some paths, in the working tree and in git's index, against what a commit held there."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import InvalidEntry, NotFound, Refused
from ai_lessons.repository import files, git_index
from ai_lessons.repository.contents import blobs
from ai_lessons.repository.objects import EXECUTABLE, Draft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dulwich.repo import Repo

    from ai_lessons.repository.worktree import Worktree


@dataclass(frozen=True, slots=True)
class Here:
    """One path. `old` is the blob that the branch had; `blob` and `data` what is on disk, None for no file.

    `odd` says that something is there that is no plain file; `mode` is what the index says, None if it holds nothing.
    """

    old: str | None
    blob: str | None
    data: bytes | None
    staged: str | None
    mode: int | None
    odd: bool = False

    @property
    def staged_something(self) -> bool:
        """True if the user's index differs from the branch here."""
        return self.staged != self.old

    @property
    def untouched(self) -> bool:
        """True if both disk and index hold what the branch had."""
        return not self.odd and not self.staged_something and self.blob == self.old

    def has(self, blob: str | None) -> bool:
        """True if that is on disk."""
        return not self.odd and self.blob == blob


def here(worktree: Worktree, repo: Repo, before: Mapping[str, tuple[str | None, str | None]]) -> dict[str, Here]:
    """What is at the paths of `before` (relative to the root, with the blobs before and after a change).

    Raises:
        Conflict: one of them is in conflict in git's index.
    """
    names = {path: worktree.prefix + path for path in before}
    staged = git_index.staged(worktree, names.values())
    contents, odd = _contents(worktree, before)
    found = {path: blob.decode() for path, blob in blobs(worktree, Draft(repo), contents).items()}
    made = {}
    for path, (old, new) in before.items():
        mode, blob = staged.get(names[path], (None, None))
        if blob == new:
            blob = old  # the user has staged just what comes: nothing of theirs is lost by it
        plain = mode if mode is None or stat.S_ISREG(mode) else EXECUTABLE
        made[path] = Here(old, found.get(path), contents.get(path), blob, plain, path in odd)
    return made


def _contents(worktree: Worktree, paths: Mapping[str, object]) -> tuple[dict[str, bytes], set[str]]:
    contents: dict[str, bytes] = {}
    odd: set[str] = set()
    for path in paths:
        try:
            contents[path] = files.read_file(worktree.root, path)[0]
        except NotFound:
            continue
        except (Refused, InvalidEntry):
            odd.add(path)  # a link, a folder, something huge: the user's, and not to be touched
    return contents, odd
