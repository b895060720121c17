"""What is remembered of the session of an agent host.

What it was told, what failed in it, what was edited.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ai_lessons.app import secrets
from ai_lessons.errors import AiLessonsError
from ai_lessons.git.files import read_file, translated, write_all
from ai_lessons.model.entries import Moment
from ai_lessons.model.outcomes import ShownEntry, carried_out, same_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

T = TypeVar("T")

# Folders of files, one for each session: of what is remembered here, and of `session_acts`.
FOLDER, ACTS = "agent-sessions", "session-acts"
# Time without an event after which a session is forgotten
KEPT_SECONDS = 7 * 24 * 3600
_LIMIT = 1 << 20
# Characters of what an entry says to do, and of a command, as a session remembers them
REMEMBERED = 1_000
# Failures of a session that are kept, and of each as much of command and output
_KEPT, _KEPT_CHARACTERS = 20, 2_000


class Failure(NamedTuple):
    """A command that failed (or a tool, without `output`), without secrets, and the one that did its job later.

    `settled`: a stored entry has the answer, or a lesson was added since. `missing`: what no entry helped with.
    """

    command: str
    output: str
    folder: str
    solved: str = ""
    settled: bool = False
    missing: str = ""


class Session:
    """The memory of a session that began in `folder`.

    `shown`: by agent the ids of entries that it was shown after the start.
    `told`: the entries shown, from `turn` on since the last prompt; `spent`: characters of them
    after the start. `failed`: the last of all `failures`. `asked`: whether the agent was reminded
    of one at the end. `stated`: what a person stated that nothing stored says, and `edited` the
    files since; empty once the agent was asked for it.
    """

    # a dataclass would cost every hook the import of `inspect`
    def __init__(self, kept: Mapping[str, Any] = MappingProxyType({})) -> None:
        """As `vars` was kept. Raises TypeError, ValueError, AttributeError: that is no session."""
        self.name: str = kept.get("name", "")
        self.host: str = kept.get("host", "")
        self.folder: str = kept.get("folder", "")
        self.shown: dict[str, list[str]] = dict(kept.get("shown", {}))
        self.told = [ShownEntry._make(row) for row in kept.get("told", ())]
        self.failed = [Failure._make(row) for row in kept.get("failed", ())]
        self.turn: int = kept.get("turn", 0)
        self.failures: int = kept.get("failures", 0)
        self.spent: int = kept.get("spent", 0)
        self.asked: bool = kept.get("asked", False)
        self.asked_for_statement: bool = kept.get("asked_for_statement", False)
        self.stated: str = kept.get("stated", "")
        self.edited: list[str] = list(kept.get("edited", ()))

    def ids(self, agent: str) -> tuple[str, ...]:
        """The entries that this agent was shown."""
        return tuple(self.shown.get(agent, ()))

    def told_at(self, moment: Moment) -> set[str]:
        """The entries shown at this moment."""
        results: set[str] = set()
        for entry in self.told:
            if entry.moment == moment:
                results.add(entry.id)
        return results

    def only_at(self, moment: Moment) -> set[str]:
        """The entries shown at this moment and, after the start, at no other one."""
        later = set()
        for entry in self.told:
            if entry.moment not in {moment, Moment.BEGIN}:
                later.add(entry.id)
        return self.told_at(moment) - later

    def fresh(self, agent: str, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the names that this agent was not shown; from now on they count as shown."""
        shown = self.shown.setdefault(agent, [])
        new = []
        for name in dict.fromkeys(names):
            if name not in shown:
                new.append(name)
        shown += new
        return tuple(new)

    def note_failure(self, command: str, output: str, folder: Path) -> None:
        """A command failed."""
        line, text = (
            secrets.without_suspects(text)[:_KEPT_CHARACTERS] for text in (command, output)
        )
        self.failures += 1
        self.failed = [*self.failed, Failure(line, text, str(folder))][-_KEPT:]

    def note_success(self, command: str, earlier: Iterable[ShownEntry]) -> None:
        """A command succeeded.

        It solves the failures that it did the job of, perhaps as a shown entry says.
        """
        answered = any(carried_out(entry.does, command, entry.command) for entry in earlier)
        for n, failure in enumerate(self.failed):
            if not failure.solved and same_job(failure.command, command):
                self.failed[n] = failure._replace(
                    solved=command[:REMEMBERED], settled=answered or failure.settled
                )


@contextmanager
def opened(state_dir: Path, name: str) -> Iterator[Session]:
    """A session, locked for this process; changes are saved at the end. Raises StorageFailed."""
    with locked(file_of(state_dir, name), _LIMIT, _parsed) as session:
        session.name = name
        yield session


@contextmanager
def locked(file: Path, limit: int, parsed: Callable[[bytes], T]) -> Iterator[T]:
    """What a file says (at most `limit` bytes of it), locked for this process.

    The `vars` of it are saved at the end, if they changed. Raises StorageFailed.
    """
    with translated(str(file), writing=True):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with translated(str(file), writing=True):
            fcntl.flock(fd, fcntl.LOCK_EX)
            before = os.read(fd, limit)
        kept = parsed(before)
        yield kept
        after = json.dumps(vars(kept)).encode()
        if after != before:
            with translated(str(file), writing=True):
                os.lseek(fd, 0, os.SEEK_SET)
                os.truncate(fd, 0)
                write_all(fd, after)
    finally:
        os.close(fd)


def is_remembered(state_dir: Path, name: str, folder: str = FOLDER) -> bool:
    """Whether anything is remembered of this session."""
    return file_of(state_dir, name, folder).exists()


def recent(state_dir: Path) -> list[tuple[float, Session]]:
    """Every session with the time of its last event in seconds since 1970, the latest first."""
    sessions = []
    for file in (state_dir / FOLDER).glob("*.json"):
        with suppress(OSError):
            sessions.append((file.lstat().st_mtime, _read(file)))
    return sorted(sessions, key=lambda row: -row[0])


def failures_of(state_dir: Path, name: str) -> list[Failure]:
    """The failures with an output that a session keeps."""
    results: list[Failure] = []
    for failure in _read(file_of(state_dir, name)).failed:
        if failure.output:
            results.append(failure)
    return results


def failures_in(state_dir: Path, folder: Path) -> list[Failure]:
    """As `failures_of`, of the session that last worked in this folder or below it, within the last hour."""
    for at, session in recent(state_dir):
        failed = []
        for x in session.failed:
            if x.output and Path(x.folder).is_relative_to(folder):
                failed.append(x)
        if failed and at > time.time() - 3600.0:
            # a session without an event for an hour has ended
            return failed
    return []


def clean_up(state_dir: Path) -> None:
    """Remove old sessions; never fails, because the next session tries again."""
    old = time.time() - KEPT_SECONDS
    for folder in (FOLDER, ACTS):
        with suppress(OSError), os.scandir(state_dir / folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if (
                        entry.name.endswith(".json")
                        and entry.stat(follow_symlinks=False).st_mtime < old
                    ):
                        os.unlink(entry.path)


def file_of(state_dir: Path, name: str, folder: str = FOLDER) -> Path:
    """The file of a session in one of the two folders."""
    # a session's name comes from outside and becomes no part of a path
    return (
        state_dir
        / folder
        / f"{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"
    )


def read(state_dir: Path, name: str) -> Session:
    """A session to be read, changes to which are not saved; a new one where there is none."""
    return _read(file_of(state_dir, name))


def _read(file: Path) -> Session:
    with suppress(AiLessonsError):
        return _parsed(read_file(file.parent, file.name, _LIMIT)[0])
    return Session()


def _parsed(data: bytes) -> Session:
    """The session of a file; a new one where a process was killed while it wrote it."""
    with suppress(ValueError, RecursionError, TypeError, AttributeError):
        return Session(json.loads(data))
    return Session()


class SessionTold(NamedTuple):
    """What hooks told in one session of a host, which was last heard of at `at` (ISO 8601 in UTC)."""

    session: str
    host: str
    folder: str
    at: str
    failures: int
    told: tuple[ShownEntry, ...]


def lately(state_dir: Path) -> tuple[list[SessionTold], list[tuple[str, int]]]:
    """What agents were told in the last days, the latest session first, and the lessons that are missing.

    Those are what failed, with what it said, while nothing was known that helps, and how often it did: most first.
    """
    sessions, missing = [], Counter[str]()
    for at, session in recent(state_dir):
        missing.update(
            secrets.masked(failure.missing) for failure in session.failed if failure.missing
        )
        when = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        shown = tuple(
            entry._replace(command=secrets.masked(entry.command)) for entry in session.told
        )
        sessions.append(
            SessionTold(session.name, session.host, session.folder, when, session.failures, shown)
        )
    return sessions, missing.most_common()
