"""Compares disk and git's index at some paths, as git would store them, and detects a running git command."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Refused, StorageFailed
from ai_lessons.repository import files, filters, git
from ai_lessons.repository.journal import Noted
from ai_lessons.repository.objects import EXECUTABLE, PLAIN, Draft, TreeEntry
from ai_lessons.repository.worktree import Worktree, read_head, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from dulwich.repo import Repo


_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # the empty blob, also that of `git add --intent-to-add`
HALF_WRITTEN = 0.2  # Seconds for which a file shorter than what we wrote counts as one that git is writing


class Taken(Conflict):
    """Git holds a lock, or moved the branch first; nothing was changed, and the caller may try again."""


class Here(NamedTuple):
    """One path: the blob that the branch had (or None); what is on disk, `odd` if no plain file is.

    `staged`: the user's index differs from the branch here.
    """

    old: str | None
    blob: str | None
    data: bytes | None
    staged: bool
    odd: bool

    @property
    def untouched(self) -> bool:
        """True if both disk and index hold what the branch had."""
        return not self.staged and self.has(self.old)

    def has(self, blob: str | None) -> bool:
        """True if that is on disk."""
        return not self.odd and self.blob == blob


def here(worktree: Worktree, repo: Repo, before: Mapping[str, tuple[str | None, str | None]]) -> dict[str, Here]:
    """What is at the paths of `before`, with the blobs before and after a change. Raises Conflict: of git's index."""
    index = staged(worktree, [worktree.prefix + path for path in before])
    disk, made = look(worktree, Draft(repo), map(Noted, before)), {}
    for fault in disk.unreadable.values():
        raise fault
    for path, (old, new) in before.items():
        edited = index.get(worktree.prefix + path) not in {old, new}  # staged just what comes: nothing is lost by it
        blob = disk.files[path][1].decode() if path in disk.files else None
        odd = path not in disk.files and path not in disk.gone
        made[path] = Here(old, blob, disk.data.get(path), edited, odd)
    return made


class OnDisk(NamedTuple):
    """The state of paths: bytes and git's entry, no file, or an error; a link or folder is in none of these."""

    data: Mapping[str, bytes]
    files: Mapping[str, TreeEntry]
    gone: frozenset[str]
    unreadable: Mapping[str, StorageFailed]

    def entry_for(self, noted: Noted) -> tuple[bool, TreeEntry | None]:
        """(True, the entry for the commit), or (False, None) where the user has removed or made the file since."""
        if noted.gone:
            return noted.path in self.gone, None
        return noted.path in self.files, self.files.get(noted.path)


def look(worktree: Worktree, draft: Draft, paths: Iterable[Noted]) -> OnDisk:
    """Read every path once and make its blob. Where git heeds no modes the first note says what is executable.

    Raises Taken: git is writing one of the files.
    """
    data, modes, gone, unreadable = dict[str, bytes](), dict[str, int](), set(), {}
    file_modes = read_settings(worktree.common_dir / "config").get("core.filemode", "true") != "false"
    for path, noted in {noted.path: noted for noted in reversed(list(paths))}.items():
        try:
            data[path], status = files.read_file(worktree.root, path, sys.maxsize - 1)
        except NotFound:
            gone.add(path)
        except (Refused, InvalidEntry):
            continue  # a link, a folder: the user's, and not to be touched
        except StorageFailed as error:
            unreadable[path] = error
        else:
            if len(data[path]) < (noted.size or 0) and time.time() - status.st_mtime < HALF_WRITTEN:
                raise Taken(f"git is writing {path}")
            modes[path] = EXECUTABLE if (status.st_mode & 0o100 if file_modes else noted.executable) else PLAIN
    found, failed = filters.stored(worktree, draft, data)
    made = {path: (modes[path], blob) for path, blob in found.items()}
    return OnDisk(data, made, frozenset(gone), {**unreadable, **failed})


def staged(worktree: Worktree, paths: Iterable[str]) -> dict[str, str]:
    """The blobs that the index holds of paths below the worktree's top. Raises Conflict: of one path."""
    names = frozenset(paths)
    literal = {"GIT_LITERAL_PATHSPECS": "1"}
    done = git.run(worktree, "ls-files", "-s", "-z", "--", *sorted(names), extra=literal) if names else None
    blobs = {}
    for row in done.out.split(b"\0")[:-1] if done else ():
        entry, _, name = row.partition(b"\t")
        _, blob, stage = entry.decode().split(" ")
        path = os.fsdecode(name)
        if path in names and stage != "0":
            raise Conflict(f"{path} is in conflict", hint=f"resolve it: git add {path}")
        if path in names and blob != _EMPTY:
            blobs[path] = blob
    return blobs


UNDER_WAY, SETTLE = 3.0, 1.0  # Seconds a git command counts as under way that has not moved HEAD yet, and that has
_TRACES = ("FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "AUTO_MERGE", "ORIG_HEAD", "logs/refs/stash")
_UNDER_WAY = {
    "MERGE_HEAD": "a merge is under way; finish it (git commit) or give it up (git merge --abort)",
    "CHERRY_PICK_HEAD": "a cherry-pick is under way; finish it or give it up (git cherry-pick --abort)",
    "REVERT_HEAD": "a revert is under way; finish it or give it up (git revert --abort)",
    "BISECT_LOG": "a bisect is under way; end it with git bisect reset",
    "rebase-merge": "a rebase is under way; finish it or give it up (git rebase --abort)",
    "rebase-apply": "a rebase is under way; finish it or give it up (git rebase --abort)",
    "sequencer": "a cherry-pick or revert is under way; finish it or give it up",
}


def busy(worktree: Worktree) -> str:
    """The git operation under way that prevents a commit, or an empty string."""
    return next((reason for name, reason in _UNDER_WAY.items() if (worktree.git_dir / name).exists()), "")


def index_mark(worktree: Worktree) -> str:
    """A mark that changes with git's index; empty if there is none."""
    try:
        status = (worktree.git_dir / "index").stat()
    except FileNotFoundError:
        return ""
    return f"{status.st_ino} {status.st_mtime_ns} {status.st_size}"


def at_work(worktree: Worktree, ours: str | None) -> float:
    """For how many seconds the user's git still counts as under way; `ours` is the last commit that we made here.

    It would fail if HEAD moved meanwhile, and another command often follows.
    """
    now, head = time.time(), read_head(worktree)
    places = [worktree.git_dir / "logs" / "HEAD", worktree.git_dir / "HEAD"]
    moved = max(map(_mtime, [*places, worktree.common_dir / head.ref] if head.ref else places))
    trace = max(_mtime(worktree.git_dir / name) for name in _TRACES)
    if trace > moved:
        return max(UNDER_WAY - abs(now - trace), 0.0)
    return max(SETTLE - abs(now - moved), 0.0) if head.commit != ours else 0.0


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
