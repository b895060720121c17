"""The files of one knowledge repository, and the jobs that check, write, note and commit changes of them."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import contextmanager
from enum import Enum
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ai_lessons.errors import Conflict, NotFound, Refused, StorageFailed, UsageError
from ai_lessons.knowledge.layout import blob_id as blob_id  # noqa: PLC0414 - callers know it from here
from ai_lessons.knowledge.layout import check_path
from ai_lessons.repository import files
from ai_lessons.repository.files import READ_LIMIT, OpenFolders, Staging
from ai_lessons.repository.journal import Intent, Journal, Noted, held, new_name
from ai_lessons.repository.worktree import TRUE, Head, locate, read_head, read_settings, refuse_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

WRITE_PATIENCE = 60.0  # Seconds to wait for another process of ours that is putting files in place
AUTOCOMMIT: Final = "ai-lessons.autocommit"

TRIES = 20  # How often files are written again after `git clean` or `git stash -u` removed them or their folder
DURABLE_FILES = 16  # In jobs of more files only the commit syncs the content to the disk: a file costs 3 ms


class _Marker(Enum):
    ANY = 1
    AS_IT_IS = 2


ANY: Final = _Marker.ANY  # `Change.expect`: any text may be replaced
AS_IT_IS: Final = _Marker.AS_IT_IS  # `Change.data`: the file on disk, which is only committed


class Change(NamedTuple):
    """The new content of `path`: bytes, no file (None), or the file on disk (`AS_IT_IS`).

    `executable` None keeps the bit of the file. `expect`: the `blob_id` that the caller read, None if it saw no file.
    """

    path: str
    data: bytes | _Marker | None
    executable: bool | None = None
    expect: str | _Marker | None = ANY


class Actor(NamedTuple):
    """The agent and session behind a job, which become trailers; the author is the user whom git knows here."""

    agent: str | None = None
    session: str | None = None


class Job(NamedTuple):
    """Changes that belong in one commit. `trailers` are (key, value) pairs; the actor's own are added."""

    subject: str
    changes: Sequence[Change]
    trailers: Sequence[tuple[str, str]] = ()
    actor: Actor = Actor()


class Applied(NamedTuple):
    """The new commits of jobs, oldest first, and why any job still waits; the files are written in any case."""

    commits: tuple[str, ...] = ()
    waiting: str = ""
    notes: tuple[str, ...] = ()

    @property
    def commit(self) -> str | None:
        """The commit of a single job; where nothing waits either, there was nothing to commit."""
        return self.commits[-1] if self.commits else None

    @property
    def messages(self) -> tuple[str, ...]:
        """The notes, and why a job waits."""
        return (*self.notes, *([f"waiting: {self.waiting}"] if self.waiting else ()))


class JobCommitter(Protocol):
    """Makes commits of the jobs that a store noted."""

    def commit(self, name: str | None) -> Applied:
        """Commit every job; how the named one ended, or all."""


class Store:
    """The files of one knowledge repository, for several threads and processes at once. Knows nothing of entries."""

    def __init__(self, path: Path, *, committing: Callable[[Store], JobCommitter] | None = None) -> None:
        """The repository at exactly `path`; without `committing` its jobs wait. Raises as `worktree.locate`."""
        self.worktree = worktree = locate(path)
        self.root, self.prefix, self.git_dir = worktree.root, worktree.prefix, worktree.git_dir
        self.state_dir = worktree.state_dir
        self.is_folder_of_bigger_repo = bool(worktree.prefix)
        self.journal = Journal(self.state_dir)
        self.autocommit = self.commits(None)
        self._connect = committing

    def commits(self, stated: bool | None) -> bool:
        """Whether every job is committed; `stated` in the repository's settings does not bind a bigger repository."""
        if self.is_folder_of_bigger_repo:
            return read_settings(self.worktree.common_dir / "config").get(AUTOCOMMIT, "").lower() in TRUE
        return stated is not False

    def head(self) -> Head:
        """The branch that is checked out, and its commit."""
        return read_head(self.worktree)

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """The file as it is on disk; see `files.read_file` for what is raised."""
        return files.read_file(self.root, path, limit)[0]

    def exists(self, path: str) -> bool:
        """True if a file, link or folder has that name."""
        return files.status_of(self.root, path) is not None

    def pending(self) -> tuple[Intent, ...]:
        """Jobs whose files are in place and that wait for their commit, oldest first."""
        return tuple(self.journal.pending())

    def apply(self, job: Job) -> Applied:
        """Write the job's files, all or none, note it, and try to commit it together with all jobs that wait.

        Raises Conflict: a file is not as expected, or its path is taken. Refused: a path outside, through a link, or
        with a name that we do not create. StorageFailed. NotFound: no file to commit. UsageError: a path twice.
        """
        name = self._put(job)
        return self.save(name) if self.autocommit and job.changes else Applied()

    def save(self, name: str | None = None) -> Applied:
        """Commit every job that waits; `name` is the job of the caller."""
        return self._committer.commit(name) if self._committer else Applied(waiting="nothing here makes commits")

    @cached_property
    def _committer(self) -> JobCommitter | None:
        """Made when it is first needed: who only reads does without."""
        return self._connect(self) if self._connect else None

    def _put(self, job: Job) -> str:
        """Write the files; returns the name under which the job is noted."""
        self.head()  # refuses a damaged branch before anything is written
        with Staging(self.root, durable=len(job.changes) <= DURABLE_FILES) as staging:
            with self.writing():
                self._take_up_orphans()
                self._check(job)
                now, message = time.time(), message_of(job.subject, job.trailers, job.actor)
                paths = tuple(
                    Noted(c.path, c.data is None, c.executable, len(c.data) if isinstance(c.data, bytes) else None)
                    for c in job.changes
                )
                head = self.head().commit if self.autocommit else None
                zone = time.localtime(now).tm_gmtoff
                intent = Intent(new_name(), message, int(now), zone, paths, head=head)
                written = [change.data for change in job.changes if isinstance(change.data, bytes)]
                self.journal.begin(intent, b"".join(written) if self.autocommit else b"")
                try:
                    self._write(job, staging)
                finally:
                    # also after an error: files that were written are noted and get their commit
                    self._finish(intent.name, committable=staging.begun and bool(job.changes))
                    if not staging.begun:
                        staging.abandon()
            staging.settle()
        return intent.name

    def _write(self, job: Job, staging: Staging) -> None:
        """Rename first and remove last: an interrupted move leaves two copies."""
        for tries_left in reversed(range(TRIES)):
            try:
                for change in job.changes:
                    if isinstance(change.data, bytes):
                        staging.add(change.path, change.data, executable=change.executable)
                staging.publish()
                break
            except NotFound:
                if not tries_left:
                    raise
                staging.begin_anew()
        for change in job.changes:
            if change.data is None:
                files.remove_file(self.root, change.path)

    def _finish(self, name: str, *, committable: bool) -> None:
        if committable and self.autocommit:
            self.journal.ready(name)
        else:
            self.journal.drop(name)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock under which files are written. Raises StorageFailed: another process keeps it."""
        with held(self.state_dir / "write.lock", patience=WRITE_PATIENCE) as locked:
            if not locked:
                raise StorageFailed(
                    f"another process has been writing to {self.root} for {WRITE_PATIENCE:.0f} seconds",
                    hint="wait for it, or end it, and repeat the command",
                )
            yield

    def take_up_orphans(self) -> None:
        """Take up jobs whose process died while it wrote their files, unless another process writes now."""
        if self.journal.orphans():
            with held(self.state_dir / "write.lock", patience=0) as locked:
                if locked:
                    self._take_up_orphans()

    def _take_up_orphans(self) -> None:
        """Under the write lock: the files that exist are all that such a job wrote."""
        for intent in self.journal.orphans():
            for noted in intent.paths:
                files.sweep(self.root, noted.path)
            self._finish(intent.name, committable=True)
        self.journal.drop_orphans()

    def _check(self, job: Job) -> None:
        if twice := [path for path, times in Counter(change.path for change in job.changes).items() if times > 1]:
            raise UsageError(f"a job cannot change {twice[0]} twice")
        with OpenFolders(self.root) as folders:
            for change in job.changes:
                exists = files.status_in(folders, change.path) is not None
                if not exists and isinstance(change.data, bytes):
                    check_path(change.path, hidden=True)
                elif not exists and change.data is AS_IT_IS:
                    raise NotFound("file", change.path)
                self._expect(change, exists=exists)
        for folder in sorted({folder for change in job.changes for folder in PurePosixPath(change.path).parents[:-1]}):
            if os.path.lexists(self.root / folder / ".git"):
                raise Refused(f"{folder} is a repository of its own; nothing is written into it")
            refuse_layout(self.root / folder)

    def _expect(self, change: Change, *, exists: bool) -> None:
        if isinstance(change.expect, _Marker):
            return
        if change.expect is None and exists:
            raise Conflict(f"{change.path} is there already", hint="choose another title or project, or edit that one")
        if change.expect is not None and not exists:
            raise Conflict(f"{change.path} was removed meanwhile; nothing was written")
        if change.expect is not None and blob_id(self.read(change.path)) != change.expect:
            raise Conflict(
                f"{change.path} was changed meanwhile; nothing was written",
                hint="look at it again, then repeat the change",
            )


def message_of(subject: str, trailers: Sequence[tuple[str, str]], actor: Actor | None = None) -> str:
    """A commit message: the subject, and a line for each trailer, agent and session of the actor last."""
    pairs = [*trailers, *([("Agent", actor.agent), ("Session", actor.session)] if actor else [])]
    lines = [f"{_line(key)}: {_line(value)}" for key, value in pairs if value]
    return "\n".join([_line(subject), *([""] if lines else []), *lines]) + "\n"


def _line(text: str) -> str:
    """One line without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
