"""The journal: which files were written and wait for a commit, and which commit each job got.

One JSON file a job in the state folder. It says which paths a job wrote; what is committed is what is on disk when the
commit is made. Beside it, until then, lie the bytes that the job wrote, for a file that somebody's command takes away
meanwhile (see `swept`). A job is noted before its files are written (`begin`) and made committable when they are in
place (`ready`); a process that dies in between leaves a note that whoever comes next takes up (`orphans`).
"""

from __future__ import annotations

import json
import math
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.repository.files import translated, write_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_WRITING, _READY, _DAMAGED, _SEEN, _BYTES = ".writing", ".json", ".damaged", ".seen", ".bytes"
_NONSENSE = (ValueError, KeyError, TypeError, RecursionError)
"""What reading a file of ours raises that somebody, or a power cut, filled with something else."""

KEEP_RECORDS = 200
"""Batches whose outcome is remembered at most, once others' commits are known to hold them."""

KEEP_UNSEEN = 1000
"""Batches that are remembered at most while no later commit of somebody else shows that they were kept."""


class Noted(NamedTuple):
    """One path of a job. `gone`: the job removed it. `executable` as the job asked, None: as it was.

    `size` is how many bytes the job wrote; None: it wrote none, or somebody noted it who kept none.
    """

    path: str
    gone: bool = False
    executable: bool | None = None
    size: int | None = None


class Intent(NamedTuple):
    """One job that waits for its commit. `when` in seconds since 1970, `zone` in seconds east of UTC.

    `author` is `Name <email>`, or None for whoever git says is working here. `message` is complete, trailers included.
    `head` is the commit on which the files were written, None for none.
    """

    name: str
    message: str
    when: int
    zone: int
    paths: tuple[Noted, ...]
    author: str | None = None
    head: str | None = None

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


class Record(NamedTuple):
    """One batch that was committed: the branch tip it made, the commit of each job, the blob (or None) of each path."""

    head: str
    jobs: Mapping[str, str]
    paths: Mapping[str, str | None]


class Journal:
    """The notes below one state folder. Callers hold the locks that the methods name."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / "journal"
        self._records = state_dir / "committed"

    def begin(self, intent: Intent, contents: Iterable[bytes] = ()) -> None:
        """Note a job whose files are about to be written. Under the write lock.

        `contents` are the bytes of each path that has a `size`, in order. They need not survive a power cut, because
        the files do.
        """
        paths = [noted._asdict() for noted in intent.paths]
        _write(self._folder / (intent.name + _WRITING), {**intent._asdict(), "paths": paths})
        kept = b"".join(contents)
        if kept:  # after the note, and removed before it: no bytes ever lie there without one
            try:
                with translated(str(self._folder), writing=True):
                    (self._folder / (intent.name + _BYTES)).write_bytes(kept)
            except BaseException:
                self.drop(intent.name)
                raise

    def content(self, intent: Intent, path: str) -> bytes | None:
        """What a job wrote at a path; None if that is not known (any more)."""
        start = 0
        for noted in intent.paths:
            if noted.path == path and noted.size is not None:
                return self._kept(intent.name, start, noted.size)
            start += noted.size or 0
        return None

    def _kept(self, name: str, start: int, size: int) -> bytes | None:
        if not size:
            return b""
        try:
            with (self._folder / (name + _BYTES)).open("rb") as file:
                file.seek(start)
                data = file.read(size)
        except FileNotFoundError:
            return None
        return data if len(data) == size else None

    def ready(self, name: str) -> None:
        """The job's files are in place: from now on it is committable."""
        self._rename(name, _WRITING, _READY)

    def drop(self, name: str) -> None:
        """Take back a job that was only begun: no file of it is in place, or nobody is to commit them."""
        self.let_go(name)
        _unlink(self._folder / (name + _WRITING))

    def let_go(self, name: str) -> None:
        """Forget the bytes of a job: only its files say what is committed."""
        _unlink(self._folder / (name + _BYTES))

    def has_orphans(self) -> bool:
        """True if the files of some job are being written, or its process died doing so."""
        return bool(self._names(_WRITING))

    def orphans(self) -> list[Intent]:
        """Jobs whose process died while it wrote their files. Only under the write lock is that the reason."""
        return self._read(_WRITING)

    def pending(self) -> list[Intent]:
        """Every committable job, oldest first. A note that cannot be read is put aside: its files are still there."""
        return self._read(_READY)

    def _read(self, suffix: str) -> list[Intent]:
        intents = []
        for name in self._names(suffix):
            try:
                intents.append(_intent((self._folder / (name + suffix)).read_bytes()))
            except FileNotFoundError:
                continue
            except _NONSENSE:
                self._rename(name, suffix, _DAMAGED)
        return intents

    def waits(self, name: str) -> bool:
        """True while the job has no commit."""
        return os.path.exists(f"{self._folder}/{name}{_READY}")  # asked a hundred times a second

    def waiting(self) -> dict[str, float]:
        """The jobs that have no commit, and how many seconds ago each was noted."""
        now = time.time_ns()
        stamps = {name: name.partition("-")[0] for name in self._names(_READY)}
        return {name: (now - int(stamp)) / 1e9 if stamp.isdecimal() else math.inf for name, stamp in stamps.items()}

    def damaged(self) -> list[str]:
        """Names of notes that could not be read."""
        return self._names(_DAMAGED)

    def settle(self, record: Record) -> None:
        """Remember how a batch ended, then forget its jobs. Under the commit lock."""
        _write(self._records / (new_name() + (_READY if record.paths else _SEEN)), record._asdict())
        for name in record.jobs:
            self.let_go(name)
            _unlink(self._folder / (name + _READY))
        for suffix, most in ((_SEEN, KEEP_RECORDS), (_READY, KEEP_UNSEEN)):
            for old in _listed(self._records, suffix)[:-most]:
                _unlink(self._records / (old + suffix))

    def unseen(self) -> list[tuple[str, Record]]:
        """Batches of which nothing shows yet that others' commits kept them, newest first, each with its name."""
        names = reversed(_listed(self._records, _READY))
        return [(name, record) for name in names if (record := self._record(name + _READY)) is not None]

    def last(self) -> Record | None:
        """The batch that was committed last."""
        return next(self._each(), None)

    def seen(self, name: str) -> None:
        """A later commit of somebody else has what this batch wrote. Under the commit lock."""
        with suppress(FileNotFoundError):
            os.rename(self._records / (name + _READY), self._records / (name + _SEEN))

    def commit_of(self, name: str) -> str | None:
        """The commit that a job got, as long as it is remembered."""
        for record in self._each():
            if name in record.jobs:
                return record.jobs[name] or None
        return None

    def records(self) -> list[Record]:
        """Remembered batches, newest first."""
        return list(self._each())

    def _each(self) -> Iterator[Record]:
        files = [name + suffix for suffix in (_READY, _SEEN) for name in _listed(self._records, suffix)]
        for file in sorted(files, reverse=True):
            record = self._record(file)
            if record is not None:
                yield record

    def _record(self, file: str) -> Record | None:
        try:
            record = Record(**json.loads((self._records / file).read_bytes()))
            return record if isinstance(record.jobs, dict) and isinstance(record.paths, dict) else None
        except (FileNotFoundError, *_NONSENSE):
            return None  # forgotten meanwhile, or lost with the power: only a memory

    def _names(self, suffix: str) -> list[str]:
        return _listed(self._folder, suffix)

    def _rename(self, name: str, old: str, new: str) -> None:
        try:
            os.rename(self._folder / (name + old), self._folder / (name + new))
        except FileNotFoundError:
            return  # another process did it first


def new_name() -> str:
    """A name that sorts by time and that no two processes share."""
    return f"{time.time_ns():020d}-{os.urandom(4).hex()}"


def _intent(data: bytes) -> Intent:
    raw = json.loads(data)
    intent = Intent(**{**raw, "paths": tuple(Noted(**noted) for noted in raw["paths"])})
    texts = (
        intent.name,
        intent.message,
        intent.author or "",
        intent.head or "",
        *(noted.path for noted in intent.paths),
    )
    sizes = [noted.size or 0 for noted in intent.paths]
    if not all(isinstance(text, str) for text in texts) or not isinstance(intent.when + intent.zone + sum(sizes), int):
        raise TypeError
    return intent


def _listed(folder: Path, suffix: str) -> list[str]:
    with translated(str(folder), writing=True):
        try:
            names: Iterable[str] = os.listdir(folder)
        except FileNotFoundError:
            return []
    return sorted(name.removesuffix(suffix) for name in names if name.endswith(suffix))


def _write(path: Path, value: dict[str, Any]) -> None:
    """Write JSON in one step; a reader sees all of it or nothing."""
    temporary = path.with_suffix(".tmp")
    with translated(str(path), writing=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            try:
                write_all(fd, json.dumps(value).encode())
            finally:
                os.close(fd)
            os.rename(temporary, path)
        except BaseException:
            _unlink(temporary)
            raise


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)
