"""Jobs that change files: checked whole, put in place, noted in the journal, committed."""

from __future__ import annotations

import errno
import os
import time
from collections import Counter
from contextlib import contextmanager, suppress
from enum import Enum
from functools import cached_property
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import AiLessonsError, Conflict, NotFound, Refused, StorageFailed, UsageError
from ai_lessons.git import files
from ai_lessons.git.journal import Journal, PendingChange, PendingCommit, held, new_name
from ai_lessons.git.worktree import (
    TRUE,
    Head,
    locate,
    read_head,
    read_settings,
    refuse_layout,
    shared_files,
)
from ai_lessons.model.layout import blob_id, check_path
from ai_lessons.model.texts import as_utf8, in_form_of, is_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from ai_lessons.git.encodings import WrittenEncodings


_WRITE_LOCK = "write.lock"
AUTOCOMMIT: Final = "ai-lessons.autocommit"
# Branches that the remote takes no pushes to
PROTECTED: Final = "ai-lessons.protected"


class _Marker(Enum):
    ANY = 1
    AS_IT_IS = 2


# `Change.expect`: any text may be replaced
ANY: Final = _Marker.ANY
# `Change.data`: the file on disk, which is only committed
AS_IT_IS: Final = _Marker.AS_IT_IS


class Change(NamedTuple):
    """The new content of `path`: bytes, no file (None), or the file on disk (`AS_IT_IS`).

    `executable` None keeps the bit of the file. `expect`: the `blob_id` that the caller read, None
    if it saw no file.
    """

    path: str
    data: bytes | _Marker | None
    executable: bool | None = None
    expect: str | _Marker | None = ANY


class Actor(NamedTuple):
    """The agent and session behind a job, which become trailers.

    `author`: the person in whose name a server writes, `Name <address>`; None: the user whom git
    knows here. The committer is always that user.
    """

    agent: str | None = None
    session: str | None = None
    author: str | None = None


class Job(NamedTuple):
    """Changes that belong in one commit.

    `trailers` are (key, value) pairs; the actor's own are added.
    """

    subject: str
    changes: Sequence[Change]
    trailers: Sequence[tuple[str, str]] = ()
    actor: Actor = Actor()


class Applied(NamedTuple):
    """The new commits of jobs, oldest first, and why any job still waits.

    The files are written in any case.
    """

    commits: tuple[str, ...] = ()
    waiting: str = ""
    notes: tuple[str, ...] = ()

    @property
    def commit(self) -> str | None:
        """The commit of a single job; where nothing waits either, there was nothing to commit."""
        if self.commits:
            return self.commits[-1]
        return None

    @property
    def messages(self) -> tuple[str, ...]:
        """The notes, and why a job waits."""
        return (*self.notes, *([f"waiting: {self.waiting}"] if self.waiting else ()))


class Store:
    """The files of one knowledge repository, for several threads and processes at once.

    Knows nothing of entries.
    """

    def __init__(
        self,
        path: Path,
        *,
        committing: Callable[[Store], Callable[[str | None], Applied]] | None = None,
        spare: Path | None = None,
    ) -> None:
        """The repository at exactly `path`; without `committing` its jobs wait.

        Raises as `worktree.locate`.

        What `committing` makes commits every job; it is called with the name of the caller's, or
        None. `spare`: a folder for the bytes of jobs where the git directory cannot be written.
        """
        self.worktree = worktree = locate(path)
        self.root, self.prefix, self.git_dir = worktree.root, worktree.prefix, worktree.git_dir
        self.state_dir = worktree.state_dir
        self.is_folder_of_bigger_repo = bool(worktree.prefix)
        self.journal = Journal(self.state_dir)
        self._common = Journal(worktree.common_state_dir)
        name = sha256(os.fsencode(self.worktree.common_state_dir)).hexdigest()[:12]
        self._spare = Journal(spare / name) if spare else None
        self._connect = committing
        self.dropped: Callable[[str, Sequence[str], str], None] | None = None
        """Called with a branch, the commits that it lost on purpose, and its new tip."""

    @cached_property
    def autocommit(self) -> bool:
        """Whether jobs are committed: as git's settings say, unless a caller sets it.

        No reader pays for it.
        """
        return self.commits(None)

    @property
    def protected(self) -> bool:
        """Whether the checked-out branch has refused a push, as `sync` noted.

        Nothing is committed there by itself.
        """
        names = self._settings().get(PROTECTED.lower(), "").split()
        # a damaged HEAD stops no reader
        return bool(names) and (self.head().ref or "").removeprefix("refs/heads/") in names

    def _settings(self) -> dict[str, str]:
        return read_settings(self.worktree.common_dir / "config")

    def commits(self, stated: bool | None) -> bool:
        """Whether every job is committed.

        `stated` in the repository's settings does not bind a bigger repository.
        """
        if self.protected:
            return False
        if self.is_folder_of_bigger_repo:
            return self._settings().get(AUTOCOMMIT, "").lower() in TRUE
        return stated is not False

    def head(self) -> Head:
        """The branch that is checked out, and its commit."""
        return read_head(self.worktree)

    def read(self, path: str, limit: int = files.READ_LIMIT) -> bytes:
        """The file as it is on disk, in UTF-8 where git wrote its text in another encoding.

        Raises as `files.read_file`. StorageFailed: git did not say in which encoding.
        """
        data = files.read_file(self.root, path, limit)[0]
        if is_utf8(data):
            return data
        return as_utf8(data, self._encodings.of(path))

    @cached_property
    def _encodings(self) -> WrittenEncodings:
        # most repositories have none
        from ai_lessons.git.encodings import WrittenEncodings

        return WrittenEncodings(self.worktree)

    def exists(self, path: str) -> bool:
        """True if a file, link or folder has that name."""
        return files.status_of(self.root, path) is not None

    def pending(self) -> tuple[PendingCommit, ...]:
        """Jobs whose files are in place and that wait for their commit, oldest first."""
        return tuple(self.journal.pending())

    def apply(self, job: Job) -> Applied:
        """Write the job's files, all or none, and note it.

        Then try to commit it together with all jobs that wait. Raises Conflict: a file is not as
        expected, or its path is taken. Refused: a path outside, through a link, or with a name that
        we do not create; nothing is committed here, and the name of an author would be lost.
        StorageFailed. NotFound: no file to commit. UsageError: a path twice.
        """
        if job.actor.author and not (self.autocommit and self._takes_notes):
            raise Refused(
                f"nothing is committed in {self.root}, so the name of the author would be lost",
                hint="serve a repository that commits what is written",
            )
        with shared_files(self.worktree):
            name = self._put(job)
            if not job.changes:
                return Applied()
            if not self._takes_notes:
                why = f"{self.git_dir} cannot be written here"
                if self.autocommit:
                    waiting = f"{why}; where it can: ai-lessons admin save --edits"
                else:
                    waiting = ""
                return Applied(waiting=waiting)
            if self.autocommit:
                return self.save(name)
            return Applied(notes=self.ignored(change.path for change in job.changes if change.data))

    def ignored(self, paths: Iterable[str]) -> tuple[str, ...]:
        """A note where git ignores these files, which are not ours to commit.

        Empty where it does not.
        """
        # it starts programs, which no reader needs
        from ai_lessons.git import plumbing

        listed = plumbing.listed(paths)
        done = plumbing.run(
            self.worktree, "check-ignore", "-v", "-z", "--stdin", cwd=self.root, stdin=listed
        )
        source, line, pattern, path = (done.out.split(b"\0") + [b""] * 4)[:4]
        if not path:
            return ()
        where, rule = (
            f"{os.fsdecode(source)} line {line.decode()}",
            pattern.decode(errors="replace"),
        )
        return (
            (
                f"git ignores {os.fsdecode(path)} ({where}: {rule}), so no commit will have "
                "it: take that line out"
            ),
        )

    def lost(self) -> list[tuple[PendingCommit, frozenset[str]]]:
        """Jobs whose bytes are kept, oldest first.

        With the paths that neither the disk nor a commit has any more.
        """
        later: set[tuple[str, str]] = set()
        lost = []
        kept = [*self._common.kept(), *(self._spare.kept() if self._spare else ())]
        for job in sorted((job for job in kept if job.root), reverse=True):
            newest = []
            for noted in job.paths:
                if (job.root, noted.path) not in later:
                    newest.append(noted)
            later |= {(job.root, noted.path) for noted in newest}
            if gone := frozenset(noted.path for noted in newest if self._is_lost(job, noted)):
                lost.append((job, gone))
        return lost[::-1]

    def _is_lost(self, job: PendingCommit, noted: PendingChange) -> bool:
        # it starts programs, which no reader needs
        from ai_lessons.git import plumbing

        if noted.size is None or os.path.lexists(os.path.join(job.root, noted.path)):
            return False
        if self.exists(noted.path):
            # only an edit of what another worktree has is missed: its last commit is older
            place = f"--until={job.when}", "--", self.prefix + noted.path
            newest, older = (
                plumbing.run(self.worktree, "log", "-1", "--format=%h", *p)
                for p in (place[1:], place)
            )
            edited = plumbing.run(self.worktree, "diff", "--quiet", "HEAD", *place[1:]).code
            if edited or not older.out or newest.out != older.out:
                return False
        blob = f"--find-object={blob_id(self.content(job, noted.path) or b'')}"
        done = plumbing.run(self.worktree, "log", "--all", "-m", "-1", "--format=%h", blob)
        return not done.out

    def content(self, job: PendingCommit, path: str) -> bytes | None:
        """What a job wrote at a path; None if that is not known (any more)."""
        data = (self._common if job.root else self.journal).content(job, path)
        if data is None and job.root and self._spare:
            return self._spare.content(job, path)
        return data

    @cached_property
    def _takes_notes(self) -> bool:
        """Whether the git directory can be written.

        Sandboxes of agents keep it read-only, and files are enough.
        """
        try:
            self.state_dir.mkdir(parents=True, exist_ok=True)
            os.close(
                os.open(self.state_dir / _WRITE_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            )
        except OSError as error:
            return error.errno not in {errno.EROFS, errno.EACCES, errno.EPERM}
        return True

    def save(self, name: str | None = None) -> Applied:
        """Commit every job that waits; `name` is the job of the caller."""
        if self._committer:
            return self._committer(name)
        return Applied(waiting="nothing here makes commits")

    @cached_property
    def _committer(self) -> Callable[[str | None], Applied] | None:
        """Made when it is first needed: who only reads does without."""
        if self._connect:
            return self._connect(self)
        return None

    def _put(self, job: Job) -> str:
        """Write the files; returns the name under which the job is noted."""
        # refuses a damaged branch before anything is written
        self.head()
        job = job._replace(changes=[self._in_its_form(change) for change in job.changes])
        # In jobs of more files only the commit syncs the content to the disk: a file costs 3 ms
        with files.Staging(self.root, durable=len(job.changes) <= 16) as staging:
            with self.writing():
                if self._takes_notes:
                    self._take_up_orphans()
                self._check(job)
                now, message = time.time(), message_of(job.subject, job.trailers, job.actor)
                sizes = (
                    len(change.data) if isinstance(change.data, bytes) else None
                    for change in job.changes
                )
                paths = tuple(
                    PendingChange(change.path, change.data is None, change.executable, size)
                    for change, size in zip(job.changes, sizes, strict=True)
                )
                head = None
                if self.autocommit:
                    head = self.head().commit
                zone = time.localtime(now).tm_gmtoff
                intent = PendingCommit(
                    new_name(), message, int(now), zone, paths, job.actor.author, head
                )
                written = b"".join(
                    change.data for change in job.changes if isinstance(change.data, bytes)
                )
                if not self._takes_notes and self._spare:
                    with suppress(StorageFailed):
                        # a sandbox may let nothing but the folder be written
                        self._spare.keep(intent._replace(root=str(self.root)), written)
                elif self._takes_notes:
                    if not self.autocommit or self.git_dir != self.worktree.common_dir:
                        self._common.keep(intent._replace(root=str(self.root)), written)
                    self.journal.begin(intent, written if self.autocommit else b"")
                try:
                    self._write(job, staging)
                finally:
                    # also after an error: files that were written are noted and get their commit
                    if self._takes_notes:
                        self._finish(intent.name, committable=staging.begun and bool(job.changes))
                    if not staging.begun:
                        staging.abandon()
            staging.settle()
        return intent.name

    def _in_its_form(self, change: Change) -> Change:
        """A change with its text in the form of Unicode in which the file is written, of itself.

        Where an attribute has git write it so, what is stored is UTF-8.
        """
        if not isinstance(change.data, bytes):
            return change
        try:
            old = files.read_file(self.root, change.path)[0]
        except AiLessonsError:
            # there is none that we read
            return change
        if is_utf8(old) or self._encodings.of(change.path):
            return change
        return change._replace(data=in_form_of(old, change.data))

    def _write(self, job: Job, staging: files.Staging) -> None:
        """Rename first and remove last: an interrupted move leaves two copies."""
        # `git clean` and `git stash -u` may remove files or their folder while we write: write them
        # again
        for tries_left in reversed(range(20)):
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
        """Hold the lock under which files are written.

        Raises StorageFailed: another process keeps it.
        """
        if self._takes_notes:
            lock = self.state_dir / _WRITE_LOCK
        else:
            lock = self.root
        with held(lock, patience=60.0) as locked:
            if not locked:
                raise StorageFailed(
                    f"another process has been writing to {self.root} for 60 seconds",
                    hint="wait for it, or end it, and repeat the command",
                )
            yield

    def take_up_orphans(self) -> None:
        """Take up jobs whose process died while it wrote their files.

        Unless another process writes now.
        """
        if self.journal.orphans():
            with held(self.state_dir / _WRITE_LOCK, patience=0) as locked:
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
        if twice := [
            path
            for path, times in Counter(change.path for change in job.changes).items()
            if times > 1
        ]:
            raise UsageError(f"a job cannot change {twice[0]} twice")
        with files.OpenFolders(self.root) as folders:
            for change in job.changes:
                exists = files.status_in(folders, change.path) is not None
                if not exists and isinstance(change.data, bytes):
                    check_path(change.path, hidden=True)
                elif not exists and change.data is AS_IT_IS:
                    raise NotFound("file", change.path)
                self._expect(change, exists=exists)
        for folder in sorted(
            {folder for change in job.changes for folder in PurePosixPath(change.path).parents[:-1]}
        ):
            if os.path.lexists(self.root / folder / ".git"):
                raise Refused(f"{folder} is a repository of its own; nothing is written into it")
            refuse_layout(self.root / folder)

    def _expect(self, change: Change, *, exists: bool) -> None:
        if isinstance(change.expect, _Marker):
            return
        if change.expect is None and exists:
            raise Conflict(
                f"{change.path} is there already",
                hint="choose another title or project, or edit that one",
            )
        if change.expect is not None and not exists:
            raise Conflict(f"{change.path} was removed meanwhile; nothing was written")
        if change.expect is not None and blob_id(self.read(change.path)) != change.expect:
            hint = "look at it again, then repeat the change"
            raise Conflict(f"{change.path} was changed meanwhile; nothing was written", hint=hint)


def message_of(
    subject: str, trailers: Sequence[tuple[str, str]], actor: Actor | None = None
) -> str:
    """A commit message.

    The subject, and a line for each trailer, agent and session of the actor last.
    """
    pairs = [*trailers, *([("Agent", actor.agent), ("Session", actor.session)] if actor else [])]
    lines = []
    for key, value in pairs:
        if value:
            lines.append(f"{_line(key)}: {_line(value)}")
    return "\n".join([_line(subject), *([""] if lines else []), *lines]) + "\n"


def _line(text: str) -> str:
    """One line without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
