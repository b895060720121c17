"""State of an agent's session, kept by the hooks in a small file that one process at a time has open."""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge.entries import Moment
from ai_lessons.repository.files import read_file, translated, write_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDER = "agent-sessions"
BEFORE = Moment.BEFORE_TOOL.value
KEPT_SECONDS = 7 * 24 * 3600  # Time without an event after which a session is forgotten
_AT_WORK = 3600.0  # Seconds after its last event in which a session counts as active
_LIMIT = 1 << 20
_KEPT, _KEPT_CHARACTERS = 5, 2_000  # Failures of a session that are kept, and of each as much of command and output


class Session:
    """The memory of a session that began in `folder`. `shown`: ids of entries by agent.

    `told`: a row for each entry shown, as `learning.outcomes.Earlier`; from `turn` on since the last prompt.
    `failed`: each command that failed, and the one that did its job later; `missed`: failures without a helpful entry;
    `asked`: whether the agent was reminded at the end. `failures_kept`: the last failures, for a lesson about one of
    them: command, output, folder, attempts, and whether one of these succeeded since.
    """

    def __init__(self, **fields: Any) -> None:  # a dataclass would cost every hook the import of `inspect`
        self.name, self.host, self.folder = "", "", ""
        self.shown: dict[str, list[str]] = {}
        self.told: list[list[Any]] = []
        self.failed: list[list[str]] = []
        self.missed: list[str] = []
        self.failures_kept: list[list[Any]] = []
        self.turn, self.failures = 0, 0
        self.asked = False
        vars(self).update(fields)

    def ids(self, agent: str) -> tuple[str, ...]:
        """The entries that this agent was shown."""
        return tuple(self.shown.get(agent, ()))

    def only_before(self) -> set[str]:
        """The entries shown before a tool ran, and at no other moment: they are shown again at a failure."""
        return {row[0] for row in self.told if row[3] == BEFORE} - {row[0] for row in self.told if row[3] != BEFORE}

    def fresh(self, agent: str, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the names that this agent was not shown; from now on they count as shown."""
        shown = self.shown.setdefault(agent, [])
        new = [name for name in dict.fromkeys(names) if name not in shown]
        shown += new
        return tuple(new)

    def keep_failure(self, command: str, output: str, folder: Path, attempts: Iterable[str]) -> None:
        """Keep a failure, without secrets, for a lesson about it."""
        row = [command[:_KEPT_CHARACTERS], output[:_KEPT_CHARACTERS], str(folder), [*attempts], False]
        self.failures_kept = [*(kept for kept in self.failures_kept if kept[:2] != row[:2]), row][-_KEPT:]

    def note_success(self, attempts: Iterable[str]) -> None:
        """Attempts succeeded; a failure of one of them is solved now."""
        done = set(attempts)
        self.failures_kept = [[*row[:4], row[4] or not done.isdisjoint(row[3])] for row in self.failures_kept]

    def note_lesson(self) -> None:
        """A lesson was added: the next one is about an earlier failure only if it names it."""
        self.failures_kept = [[*row[:4], False] for row in self.failures_kept]


@contextmanager
def opened(state_dir: Path, name: str) -> Iterator[Session]:
    """A session, locked for this process; changes are saved at the end. Raises StorageFailed."""
    file = _file(state_dir, name)
    with translated(str(file), writing=True):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with translated(str(file), writing=True):
            fcntl.flock(fd, fcntl.LOCK_EX)
            before = os.read(fd, _LIMIT)
        session = _parsed(before)
        session.name = name
        yield session
        after = json.dumps(vars(session)).encode()
        if after != before:
            with translated(str(file), writing=True):
                os.lseek(fd, 0, os.SEEK_SET)
                os.truncate(fd, 0)
                write_all(fd, after)
    finally:
        os.close(fd)


def is_remembered(state_dir: Path, name: str) -> bool:
    """Whether anything is remembered of this session."""
    return _file(state_dir, name).exists()


def peeked(state_dir: Path, name: str) -> Session:
    """A session to be read; changes to it are not saved."""
    file = _file(state_dir, name)
    try:
        return _parsed(read_file(file.parent, file.name, _LIMIT)[0])
    except AiLessonsError:
        return Session()


def recent(state_dir: Path) -> list[tuple[float, Session]]:
    """Every session with the time of its last event in seconds since 1970, the latest first."""
    sessions = []
    with suppress(OSError):
        for file in (state_dir / FOLDER).glob("*.json"):
            with suppress(AiLessonsError, OSError):
                sessions.append((file.lstat().st_mtime, _parsed(read_file(file.parent, file.name, _LIMIT)[0])))
    return sorted(sessions, key=lambda row: -row[0])


def kept_in(state_dir: Path, folder: Path) -> list[list[Any]]:
    """The failures kept of the session that last worked in this folder or below it, within the last hour."""
    for at, session in recent(state_dir):
        if at > time.time() - _AT_WORK and any(Path(row[2]).is_relative_to(folder) for row in session.failures_kept):
            return [row for row in session.failures_kept if Path(row[2]).is_relative_to(folder)]
    return []


def clean_up(state_dir: Path) -> None:
    """Remove old sessions; never fails, because the next session tries again."""
    old = time.time() - KEPT_SECONDS
    with suppress(OSError), os.scandir(state_dir / FOLDER) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.endswith(".json") and entry.stat(follow_symlinks=False).st_mtime < old:
                    os.unlink(entry.path)


def _file(state_dir: Path, name: str) -> Path:
    # a session's name comes from outside and becomes no part of a path
    return state_dir / FOLDER / f"{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _parsed(data: bytes) -> Session:
    """The session of a file; a new one where a process was killed while it wrote it, or of another version."""
    session = Session()
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return session
    return Session(**fields) if fields.keys() == vars(session).keys() else session
