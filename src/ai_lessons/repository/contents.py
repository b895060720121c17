"""What is on disk for the paths of noted jobs, as git would store it. Reads files; changes nothing but adding blobs."""

from __future__ import annotations

import stat
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dulwich.objects import ObjectID

from ai_lessons.errors import AiLessonsError, NotFound, Refused
from ai_lessons.repository import files, git
from ai_lessons.repository.git_index import Tracked
from ai_lessons.repository.objects import EXECUTABLE, PLAIN

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from ai_lessons.repository.journal import Intent, Noted
    from ai_lessons.repository.objects import Draft
    from ai_lessons.repository.worktree import Worktree


@dataclass(frozen=True, slots=True)
class OnDisk:
    """The state of noted paths (relative to the root). `files` maps a path to what git shall track there.

    A path in `gone` has no file; one that is in neither is not ours any more (a link, a folder). `unreadable` maps a
    path to the reason.
    """

    files: Mapping[str, Tracked]
    gone: frozenset[str]
    unreadable: Mapping[str, str]

    def wanted(self, noted: Noted) -> tuple[bool, Tracked | None]:
        """(True, what the commit shall hold) or (False, None) where the disk says something else than the job did.

        A file that the job wrote and somebody removed since, or the reverse, is that person's change, not the job's.
        """
        if noted.gone:
            return noted.path in self.gone, None
        return noted.path in self.files, self.files.get(noted.path)


def look(worktree: Worktree, draft: Draft, jobs: Sequence[Intent], *, file_modes: bool) -> OnDisk:
    """Read every path of the jobs once and make its blob.

    `file_modes` False: the file system keeps no executable bit, so the job decides.
    """
    read: dict[str, tuple[bytes, os.stat_result, Noted]] = {}
    gone: set[str] = set()
    unreadable: dict[str, str] = {}
    for noted in (noted for job in jobs for noted in job.paths):
        if noted.path in read or noted.path in gone:
            continue
        try:
            data, status = files.read_file(worktree.root, noted.path, sys.maxsize - 1)
        except NotFound:
            gone.add(noted.path)
        except Refused:
            continue  # a link took its place
        except AiLessonsError as error:
            if not _is_folder(worktree, noted.path):
                unreadable[noted.path] = error.message
        else:
            read[noted.path] = (data, status, noted)
    found = blobs(worktree, draft, {path: data for path, (data, _, _) in read.items()})
    tracked = {
        path: Tracked(_mode(status, noted, file_modes=file_modes), found[path], status)
        for path, (_, status, noted) in read.items()
    }
    return OnDisk(tracked, frozenset(gone), unreadable)


def _is_folder(worktree: Worktree, path: str) -> bool:
    status = files.status_of(worktree.root, path)
    return status is not None and not stat.S_ISREG(status.st_mode)


def _mode(status: os.stat_result, noted: Noted, *, file_modes: bool) -> int:
    executable = bool(status.st_mode & 0o100) if file_modes else bool(noted.executable)
    return EXECUTABLE if executable else PLAIN


def blobs(worktree: Worktree, draft: Draft, contents: Mapping[str, bytes]) -> dict[str, ObjectID]:
    """Blob ids by path. What a filter or a line-ending rule of the user's would change goes through git itself."""
    changed_by_git = {path for path, data in contents.items() if b"\r\n" in data}
    changed_by_git |= git.filtered(worktree, contents) if contents else set()
    through_git = git.blobs_of(worktree, sorted(changed_by_git)) if changed_by_git else {}
    return {
        path: ObjectID(through_git[path]) if path in through_git else draft.blob(data)
        for path, data in contents.items()
    }
