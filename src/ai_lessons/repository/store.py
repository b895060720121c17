"""One knowledge repository's files, and the jobs that change them: checked whole, put in place, noted, committed."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import contextmanager
from enum import Enum
from functools import cached_property
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

TRIES = 20  # How often files are written anew because `git clean` or `git stash -u` removed them, or an empty folder
DURABLE_FILES = 16  # Jobs of more files leave it to the commit to bring the content to the disk: 3 ms a file


class _Marker(Enum):
    """A value that means something by being itself."""

    ANY = 1
    AS_IT_IS = 2


ANY: Final = _Marker.ANY  # `Change.expect`: whatever is there now may be replaced
AS_IT_IS: Final = _Marker.AS_IT_IS  # `Change.data`: the file is there already; only commit it


class Change(NamedTuple):
    """What shall be at `path`: these bytes, nothing (None), or what is there (`AS_IT_IS`).

    `executable` None keeps the bit that is there. `expect`: the `blob_id` that the caller read, None if it saw no file.
    """

    path: str
    data: bytes | _Marker | None
    executable: bool | None = None
    expect: str | _Marker | None = ANY


class Actor(NamedTuple):
    """Who makes a commit. Without a name, the user whom git knows here; agent and session become trailers."""

    name: str | None = None
    email: str | None = None
    agent: str | None = None
    session: str | None = None


class Job(NamedTuple):
    """Changes that belong in one commit. `trailers` are (key, value) pairs; the actor's own are added."""

    subject: str
    changes: Sequence[Change]
    trailers: Sequence[tuple[str, str]] = ()
    actor: Actor = Actor()


class Applied(NamedTuple):
    """How jobs ended, their files in place: new commits, oldest first, and why any job still waits."""

    commits: tuple[str, ...] = ()
    waiting: str = ""
    notes: tuple[str, ...] = ()

    @property
    def commit(self) -> str | None:
        """The commit of a single job; where nothing waits either, there was nothing to commit."""
        return self.commits[-1] if self.commits else None

    @property
    def told(self) -> tuple[str, ...]:
        """What is left to be said in the end."""
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
        """Whether every job is committed, where the repository's settings say `stated`: they bind no bigger one."""
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
        """True if something has that name (a link or a folder, too)."""
        return files.status_of(self.root, path) is not None

    def pending(self) -> tuple[Intent, ...]:
        """Jobs whose files are in place and that wait for their commit, oldest first."""
        return tuple(self.journal.pending())

    def apply(self, job: Job) -> Applied:
        """Put the job's files in place, all or none, note it, and try to commit it together with all others that wait.

        Raises Conflict: a file is not as expected, or its place is taken. Refused: a path out, through a link, or with
        a name that we do not create. StorageFailed. NotFound: no file to commit as it is. UsageError: a path twice.
        """
        name = self._put(job)
        return self._commit(name) if self.autocommit and job.changes else Applied()

    def save(self) -> Applied:
        """Commit every job that waits."""
        return self._commit(None)

    def _commit(self, name: str | None) -> Applied:
        return self._committer.commit(name) if self._committer else Applied(waiting="nothing here makes commits")

    @cached_property
    def _committer(self) -> JobCommitter | None:
        """Made when it is first needed: who only reads does without."""
        return self._connect(self) if self._connect else None

    def _put(self, job: Job) -> str:
        """Put the files in place; the name under which the job is noted."""
        self.head()  # a repository whose branch is damaged is refused before anything is written
        with Staging(self.root, durable=len(job.changes) <= DURABLE_FILES) as staging:
            with self.writing():
                self._take_up_orphans()
                self._check(job)
                intent = _intent(job, time.time(), self.head().commit if self.autocommit else None)
                written = [change.data for change in job.changes if isinstance(change.data, bytes)]
                self.journal.begin(intent, b"".join(written) if self.autocommit else b"")
                try:
                    self._write(job, staging)
                finally:
                    # however it ends: what is in place is noted and gets its commit, and if nothing is, nothing is
                    self._finish(intent.name, committable=staging.begun and bool(job.changes))
                    if not staging.begun:
                        staging.abandon()
            staging.settle()
        return intent.name

    def _write(self, job: Job, staging: Staging) -> None:
        """Renames first, removals last: a move that is cut short leaves two copies, never none."""
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
        """Hold the lock under which files are put in place. Raises StorageFailed: another process keeps it."""
        with held(self.state_dir / "write.lock", patience=WRITE_PATIENCE) as mine:
            if not mine:
                raise StorageFailed(
                    f"another process has been writing to {self.root} for {WRITE_PATIENCE:.0f} seconds",
                    hint="wait for it, or end it, and repeat the command",
                )
            yield

    def take_up_orphans(self) -> None:
        """Take up jobs whose process died while it wrote their files; nothing while another process writes."""
        if self.journal.orphans():
            with held(self.state_dir / "write.lock", patience=0) as mine:
                if mine:
                    self._take_up_orphans()

    def _take_up_orphans(self) -> None:
        """Under the write lock: so no process is writing. What is in place of such a job is all of it."""
        for intent in self.journal.orphans():
            for noted in intent.paths:
                files.sweep(self.root, noted.path)
            self._finish(intent.name, committable=True)
        self.journal.drop_orphans()

    def _check(self, job: Job) -> None:
        known: set[str] = set()
        if twice := [path for path, times in Counter(change.path for change in job.changes).items() if times > 1]:
            raise UsageError(f"a job cannot change {twice[0]} twice")
        with OpenFolders(self.root) as folders:
            for change in job.changes:
                there = files.status_in(folders, change.path)
                if there is None and isinstance(change.data, bytes):
                    check_path(change.path, hidden=True)
                elif there is None and change.data is AS_IT_IS:
                    raise NotFound("file", change.path)
                self._refuse_nested(change.path, known)
                self._expect(change, there=there is not None)

    def _refuse_nested(self, path: str, known: set[str]) -> None:
        """A submodule's files belong to the submodule, and git's to git; `known` are folders seen already."""
        folder = path.rpartition("/")[0]
        while folder and folder not in known:
            known.add(folder)
            if os.path.lexists(self.root / folder / ".git"):
                raise Refused(f"{folder} is a repository of its own; nothing is written into it")
            refuse_layout(self.root / folder)
            folder = folder.rpartition("/")[0]

    def _expect(self, change: Change, *, there: bool) -> None:
        if isinstance(change.expect, _Marker):
            return
        if change.expect is None and there:
            raise Conflict(f"{change.path} is there already", hint="choose another title or project, or edit that one")
        if change.expect is not None and not there:
            raise Conflict(f"{change.path} was removed meanwhile; nothing was written")
        if change.expect is not None and blob_id(self.read(change.path)) != change.expect:
            raise Conflict(
                f"{change.path} was changed meanwhile; nothing was written",
                hint="look at it again, then repeat the change",
            )


def _intent(job: Job, now: float, head: str | None) -> Intent:
    actor, message = job.actor, message_of(job.subject, job.trailers, job.actor)
    paths = tuple(
        Noted(c.path, c.data is None, c.executable, len(c.data) if isinstance(c.data, bytes) else None)
        for c in job.changes
    )
    author = f"{_name(actor.name)} <{_name(actor.email or '')}>" if actor.name else None
    return Intent(new_name(), message, int(now), time.localtime(now).tm_gmtoff, paths, author, head)


def message_of(subject: str, trailers: Sequence[tuple[str, str]], actor: Actor) -> str:
    """A commit message: the subject, and a line for each trailer, agent and session of the actor last."""
    every = [*trailers, *(("Agent", actor.agent), ("Session", actor.session))]
    lines = [f"{_line(key)}: {_line(value)}" for key, value in every if value]
    return "\n".join([_line(subject), *([""] if lines else []), *lines]) + "\n"


def _line(text: str) -> str:
    """One line without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _name(text: str) -> str:
    """A line without the signs that end a name in git's commit header."""
    return _line(text.replace("<", " ").replace(">", " "))
