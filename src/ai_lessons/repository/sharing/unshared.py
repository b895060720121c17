"""Files in commits that a remote has not seen yet, as far as this clone knows. Asks nobody, changes nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ai_lessons.repository import git
from ai_lessons.repository.files import READ_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ai_lessons.repository.worktree import Worktree

AT_ONCE = 1000
"""Files that are read by one question to git."""


def files(worktree: Worktree, remote: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """(path, content) of every version of a file whose path (relative to the root) is wanted, on the way to HEAD.

    Versions larger than what we read are left out.
    """
    found = git.run(worktree, "rev-list", "--objects", "HEAD", "--not", f"--remotes={remote}")
    rows = (line.partition(b" ") for line in found.out.splitlines()) if not found.code else ()
    paths: dict[bytes, str] = {}
    for blob, _, name in rows:
        path = os.fsdecode(name)
        if path.startswith(worktree.prefix) and wanted(path.removeprefix(worktree.prefix)):
            paths[blob] = path.removeprefix(worktree.prefix)
    blobs = list(paths)
    for start in range(0, len(blobs), AT_ONCE):
        for blob, data in _contents(worktree, blobs[start : start + AT_ONCE]):
            yield paths[blob], data


def _contents(worktree: Worktree, blobs: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    told = git.run(worktree, "cat-file", "--batch-check", stdin=b"\n".join(blobs) + b"\n")
    rows = [line.split() for line in told.out.splitlines()]
    small = [row[0] for row in rows if len(row) == 3 and row[1] == b"blob" and int(row[2]) <= READ_LIMIT]
    if not small:
        return
    out, at = git.run(worktree, "cat-file", "--batch", stdin=b"\n".join(small) + b"\n").out, 0
    while at < len(out):
        end = out.index(b"\n", at)
        blob, _, size = out[at:end].split()
        yield blob, out[end + 1 : end + 1 + int(size)]
        at = end + int(size) + 2
