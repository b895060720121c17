"""Jobs that change files: checked whole, put in place, journaled, committed.

And the logs of events.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
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
from ai_lessons.git.worktree import (
    TRUE,
    Head,
    locate,
    read_head,
    read_settings,
    refuse_layout,
    shared_files,
)
from ai_lessons.model import expression
from ai_lessons.model.layout import blob_id, check_path
from ai_lessons.model.texts import as_utf8, in_form_of, is_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.git.encodings import WrittenEncodings

_WRITING, _READY, _DAMAGED, _KEPT = ".writing", ".json", ".damaged", ".kept"
# Raised by a note that was damaged
_NONSENSE = (ValueError, KeyError, TypeError, RecursionError)
# Seconds for which the bytes of a file that was swept away are kept
KEPT = 30 * 86_400.0
# Seconds between tries, first and last: the lock is held for a few milliseconds
_STEPS = (0.0005, 0.005)


class PendingChange(NamedTuple):
    """A path of a job, `gone` if removed. `size`: bytes written, None: none.

    `executable` None: as it was.
    """

    path: str
    gone: bool = False
    executable: bool | None = None
    size: int | None = None


class PendingCommit(NamedTuple):
    """One job that waits for its commit.

    `when` in seconds since 1970, `zone` in seconds east of UTC.

    `author`: `Name <email>`, None for git's user. `message`: trailers included. `head`: the commit
    it was written on. `root`: the folder it was written to, of a job whose bytes are kept though we
    may not commit it.
    """

    name: str
    message: str
    when: int
    zone: int
    paths: tuple[PendingChange, ...]
    author: str | None = None
    head: str | None = None
    root: str = ""

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


class BatchRecord(NamedTuple):
    """One batch that was committed: the branch tip it made, and the commit of each job (empty.

    It changed nothing).
    """

    head: str
    jobs: Mapping[str, str]


class Journal:
    """The notes below one state folder. Callers hold the locks that the methods name."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / "journal"
        self._records = state_dir / "committed"

    def begin(self, intent: PendingCommit, data: bytes) -> None:
        """Note a job whose files are about to be written; `data`: those of a `size`, in order.

        Under the write lock.
        """
        self._write(intent, data, _WRITING)

    def ready(self, name: str) -> None:
        """The job's files are in place, or again after they were swept away.

        From now on it is committable.
        """
        for state in (_WRITING, _KEPT):
            self._rename(name, state, _READY)

    def drop(self, name: str) -> None:
        """Forget a job, but for what `keep` has of it."""
        for state in (_WRITING, _READY):
            (self._folder / (name + state)).unlink(missing_ok=True)

    def content(self, intent: PendingCommit, path: str) -> bytes | None:
        """What a job wrote at a path; None if that is not known (any more)."""
        start = 0
        for noted in intent.paths:
            if noted.path == path and noted.size is not None:
                break
            start += noted.size or 0
        else:
            return None
        for suffix in (_KEPT, _READY, _WRITING):
            with (
                suppress(FileNotFoundError),
                (self._folder / (intent.name + suffix)).open("rb") as file,
            ):
                file.readline()
                file.seek(start, os.SEEK_CUR)
                data = file.read(noted.size)
                if len(data) == noted.size:
                    return data
                return None
        return None

    def orphans(self) -> list[PendingCommit]:
        """Jobs whose process died while it wrote their files.

        Only under the write lock is that the reason.
        """
        return self._read(_WRITING)

    def drop_orphans(self) -> None:
        """Forget notes that a process had only begun when it died. Under the write lock."""
        for name in _listed(self._folder, _WRITING):
            self.drop(name)

    def pending(self) -> list[PendingCommit]:
        """Every committable job, oldest first. A note that cannot be read is put aside."""
        return self._read(_READY)

    def missing(self, root: Path) -> tuple[PendingCommit, ...]:
        """Committable jobs of which a file is gone that they wrote below `root`."""
        results = []
        for job in self.pending():
            if any(
                noted.size is not None and files.status_of(root, noted.path) is None
                for noted in job.paths
            ):
                results.append(job)
        return tuple(results)

    def waits(self, name: str) -> bool:
        """True while the job has no commit."""
        # asked a hundred times a second
        return os.path.exists(f"{self._folder}/{name}{_READY}")

    def damaged(self) -> list[str]:
        """Names of notes that could not be read."""
        return _listed(self._folder, _DAMAGED)

    def settle(self, record: BatchRecord) -> None:
        """Remember how a batch ended, then forget its jobs. Under the commit lock."""
        value = json.dumps(record._asdict()).encode()
        with files.translated(str(self._records), writing=True):
            files.replace_file(self._records / (new_name() + _READY), value)
            for job in record.jobs:
                self.drop(job)
            for old in _listed(self._records, _READY)[:-200]:
                # recovery asks for the outcome of the last batches only
                (self._records / (old + _READY)).unlink(missing_ok=True)

    def commit_of(self, name: str) -> str | None:
        """The commit that a job got, as long as it is remembered."""
        return next(
            (record.jobs[name] or None for record in self.records() if name in record.jobs), None
        )

    def records(self) -> Iterator[BatchRecord]:
        """Remembered batches, newest first."""
        for name in reversed(_listed(self._records, _READY)):
            with suppress(FileNotFoundError, *_NONSENSE):
                # lost with the power: only a memory
                raw = json.loads((self._records / (name + _READY)).read_bytes())
                yield BatchRecord(str(raw["head"]), dict(raw["jobs"]))

    def sweep(self, intent: PendingCommit, contents: Mapping[str, bytes]) -> PendingCommit:
        """Keep these contents of a job, by path, for `KEPT` seconds. Under the commit lock."""
        before = {}
        for noted in intent.paths:
            before[noted.path] = noted
        paths = []
        for path, data in contents.items():
            paths.append(before.get(path, PendingChange(path))._replace(size=len(data)))
        swept = intent._replace(name=new_name(), paths=tuple(paths))
        self._write(swept, b"".join(contents.values()), _KEPT)
        return swept

    def keep(self, intent: PendingCommit, data: bytes) -> None:
        """Keep what a job wrote for `KEPT` seconds, because no commit may ever have it.

        Under the write lock.
        """
        self.kept()
        self._write(intent, data, _KEPT)

    def kept(self) -> list[PendingCommit]:
        """Jobs whose bytes are kept (without `root`: of files that were swept away), oldest first.

        No too old ones.
        """
        for name in _listed(self._folder, _KEPT):
            with suppress(FileNotFoundError):
                if time.time() - (self._folder / (name + _KEPT)).stat().st_mtime > KEPT:
                    (self._folder / (name + _KEPT)).unlink()
        return self._read(_KEPT)

    def _read(self, suffix: str) -> list[PendingCommit]:
        intents = []
        for name in _listed(self._folder, suffix):
            try:
                with (self._folder / (name + suffix)).open("rb") as file:
                    raw = json.loads(file.readline())
                intents.append(
                    PendingCommit(
                        **{**raw, "paths": tuple(PendingChange(**noted) for noted in raw["paths"])}
                    )
                )
            except FileNotFoundError:
                continue
            except _NONSENSE:
                if suffix == _READY:
                    # else a process is just writing it, or died doing so
                    self._rename(name, suffix, _DAMAGED)
        return intents

    def _rename(self, name: str, old: str, new: str) -> None:
        with suppress(FileNotFoundError):
            # another process did it first
            os.rename(self._folder / (name + old), self._folder / (name + new))

    def _write(self, intent: PendingCommit, data: bytes, suffix: str) -> None:
        head = {**intent._asdict(), "paths": [noted._asdict() for noted in intent.paths]}
        place = self._folder / (intent.name + suffix)
        with files.translated(str(place), writing=True):
            self._folder.mkdir(parents=True, exist_ok=True)
            files.write_new(place, json.dumps(head).encode() + b"\n" + data, durable=True)


def new_name() -> str:
    """A name that sorts by time and that no two processes share."""
    return f"{time.time_ns():020d}-{os.urandom(4).hex()}"


def _listed(folder: Path, suffix: str) -> list[str]:
    with files.translated(str(folder), writing=True):
        try:
            names: Sequence[str] = os.listdir(folder)
        except FileNotFoundError:
            return []
    results = []
    for name in names:
        if name.endswith(suffix):
            results.append(name.removesuffix(suffix))
    return sorted(results)


@contextmanager
def held(
    path: Path, *, patience: float, give_up: Callable[[], bool] | None = None
) -> Iterator[bool]:
    """Hold the lock, which ends with its holder.

    Yields False after `patience` seconds, or if `give_up` says so.
    """
    with files.translated(str(path), writing=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(
            path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666
        )
    try:
        with files.translated(str(path), writing=True):
            locked = _locked(fd, patience, give_up)
        yield locked
    finally:
        os.close(fd)


def _locked(fd: int, patience: float, give_up: Callable[[], bool] | None) -> bool:
    step, longest = _STEPS
    end = time.monotonic() + patience
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= end or (give_up and give_up()):
            return False
        time.sleep(step)
        step = min(longest, step * 1.3)


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

    The author is the user whom git knows here.
    """

    agent: str | None = None
    session: str | None = None


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
        """Write the job's files, all or none, note it, and try to commit it together with all jobs that wait.

        Raises Conflict: a file is not as expected, or its path is taken. Refused: a path outside, through a link, or
        with a name that we do not create. StorageFailed. NotFound: no file to commit. UsageError: a path twice.
        """
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
        """Jobs whose bytes are kept, oldest first, with the paths that neither the disk nor a commit has any more."""
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
                intent = PendingCommit(new_name(), message, int(now), zone, paths, head=head)
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
        """Take up jobs whose process died while it wrote their files, unless another process writes now."""
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


FOLDER = ".ai-lessons/events"
# A part of this size is continued in the next one
PART_BYTES = 256 * 1024
# Larger logs are not read: none of ours is
LOG_LIMIT = 64 * 1024 * 1024
_MONTH = expression(r"20\d\d-(?:0[1-9]|1[0-2])")
_PART = expression(r"(20\d\d-(?:0[1-9]|1[0-2]))(?:\.([1-9]\d{0,4}))?\.jsonl")
_CLONE = expression(r"[0-9a-z]{4,40}")


class LogFile(NamedTuple):
    """One log when it was listed. `stamp`: time of change in nanoseconds, size in bytes, inode."""

    name: str
    stamp: tuple[int, int, int]
    root: Path
    path: str
    # Which other clone wrote it; empty for this one
    clone: str = ""

    def read(self) -> bytes:
        """Its bytes as they are now; none where it is gone, too large or not to be read."""
        try:
            return files.read_file(self.root, self.path, LOG_LIMIT)[0]
        except AiLessonsError:
            return b""


class EventLog:
    """The logs of one knowledge repository. Safe with many processes at once."""

    def __init__(self, root: Path, state_dir: Path) -> None:
        self._root, self._state = root, state_dir
        self._own = state_dir / "events"

    @property
    def clone(self) -> str:
        """The name of this clone, made once.

        Raises StorageFailed, Conflict: the state folder cannot be written.
        """
        file = self._own / "clone"
        with files.translated(str(file), writing=True):
            copied = bool(marks := _inodes(file)) and file.stat().st_ino not in marks
            if copied:
                # the folder was copied: two clones would write the same files
                files.replace_file(file, b"")
            if copied or not _names(file):
                self._own.mkdir(parents=True, exist_ok=True)
                files.append_lines(file, os.urandom(6).hex().encode() + b"\n")
            if not _inodes(file):
                files.append_lines(file, f"inode {file.stat().st_ino}\n".encode())
            # several processes may make one at once: the first line counts
            return _names(file)[0]

    def append(self, lines: Sequence[bytes], month: str) -> None:
        """Add whole lines to the log of a month (`yyyy-mm`).

        Raises StorageFailed, Conflict: no place for it.
        """
        if not lines or not _MONTH.fullmatch(month):
            return
        with files.translated(str(self._own), writing=True):
            self._own.mkdir(parents=True, exist_ok=True)
            parts = (_PART.fullmatch(name) for name in os.listdir(self._own))
            last = max(
                (int(part[2] or 1) for part in parts if part and part[1] == month), default=1
            )
            names = []
            for part in (last, last + 1):
                if part == 1:
                    names.append(f"{month}.jsonl")
                else:
                    names.append(f"{month}.{part}.jsonl")
            file = self._own / names[0]
            if file.exists() and file.stat().st_size >= PART_BYTES:
                file = self._own / names[1]
            files.append_lines(file, b"".join(lines))

    def recent(self) -> bytes:
        """The part of this clone's own log that was written to last; empty if there is none."""
        newest = max(self._own_files(), key=lambda log: log.stamp[0], default=None)
        if newest:
            return newest.read()
        return b""

    def files(self) -> list[LogFile]:
        """Every log: this clone's own, and those in the repository."""
        return [*self._own_files(), *self._shared_files()]

    def _own_files(self) -> Iterator[LogFile]:
        try:
            with os.scandir(self._own) as entries:
                for entry in entries:
                    if _PART.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        yield LogFile(entry.name, _stamp(entry.stat()), self._own, entry.name)
        except OSError:
            # no log yet, or an unreadable folder
            return

    def _shared_files(self) -> Iterator[LogFile]:
        with files.translated(str(self._own)):
            this_clone = next(iter(_names(self._own / "clone")), "")
        with files.OpenFolders(self._root) as folders:
            for clone in filter(_CLONE.fullmatch, _listed_logs(folders, FOLDER)):
                for name in filter(_PART.fullmatch, _listed_logs(folders, f"{FOLDER}/{clone}")):
                    path = f"{FOLDER}/{clone}/{name}"
                    status = os.stat(
                        name, dir_fd=folders.to(path.split("/")[:-1]), follow_symlinks=False
                    )
                    if stat.S_ISREG(status.st_mode):
                        yield LogFile(
                            path,
                            _stamp(status),
                            self._root,
                            path,
                            "" if clone == this_clone else clone,
                        )

    def unshared(self, *, at_least: int = 1) -> list[Change]:
        """What adds this clone's lines to the repository.

        Empty if fewer than so many bytes wait.
        """
        logs = list(self._own_files())
        if logs:
            prefix = f"{FOLDER}/{self.clone}/"
        else:
            prefix = ""
        if logs:
            shared = {log.path: log for log in self._shared_files()}
        else:
            shared = {}
        sizes = {name: log.stamp[1] for name, log in shared.items()}
        growth = {log: log.stamp[1] - sizes.get(prefix + log.name, 0) for log in logs}
        waiting = [log for log, size in growth.items() if size > 0]
        if sum(growth[log] for log in waiting) < at_least:
            return []
        changes = []
        for log in waiting:
            data, old = (
                log.read(),
                shared[prefix + log.name].read() if prefix + log.name in shared else b"",
            )
            new = data[: data.rfind(b"\n") + 1]
            if not new.startswith(old):
                old_lines = set(old.split(b"\n"))
                lacking = []
                for line in new.split(b"\n"):
                    if line and line not in old_lines:
                        lacking.append(line)
                new = old.removesuffix(b"\n") + b"\n" + b"".join(line + b"\n" for line in lacking)
            if new != old:
                changes.append(Change(prefix + log.name, new))
        return changes


def _names(file: Path) -> list[str]:
    """The lines that can be names of a clone."""
    if file.exists():
        return list(filter(_CLONE.fullmatch, file.read_text(errors="replace").splitlines()))
    return []


def _inodes(file: Path) -> list[int]:
    """The numbers of the file as it was written in place; a copy has another one."""
    if file.exists():
        lines = file.read_text(errors="replace").splitlines()
    else:
        lines = []
    inodes: list[int] = []
    for line in lines:
        if line.startswith("inode ") and line[6:].isdecimal():
            inodes.append(int(line[6:]))
    return inodes


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _listed_logs(folders: files.OpenFolders, path: str) -> list[str]:
    """The names in a folder, sorted; none where it is missing, a link, or not to be read."""
    try:
        return sorted(os.listdir(folders.to(path.split("/"))))
    except OSError:
        return []
