"""The notes of jobs that wait for their commit, and the locks under which they are written."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.git import files

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    """One batch that was committed: the branch tip it made, and the commit of each job.

    The commit is empty where a job changed nothing.
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
        lacking = []
        for job in self.pending():
            if any(
                noted.size is not None and files.status_of(root, noted.path) is None
                for noted in job.paths
            ):
                lacking.append(job)
        return tuple(lacking)

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
    stems = []
    for name in names:
        if name.endswith(suffix):
            stems.append(name.removesuffix(suffix))
    # Names of jobs begin with the time
    return sorted(stems)


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
