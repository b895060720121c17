"""What tests use of the machine that they run on: git, files and programs, and where the embedding model lies."""

import io
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn, Protocol

import pytest

from ai_lessons.settings import AGENT_HOSTS, AGENT_NAMES

REAL_CACHE_HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
"""Where the machine keeps its caches: only the end-to-end tests look there, for the embedding model."""

AGENTS = frozenset((*AGENT_NAMES, *AGENT_HOSTS))
"""Variables that would make an agent of whoever runs the tests."""


class Git(Protocol):
    """Runs the real git program in a folder and returns its standard output, stripped."""

    def __call__(self, cwd: Path, *args: str, check: bool = True) -> str: ...


def put_file(file: Path, text: str | bytes) -> Path:
    """A file with this text, in folders that are made where they are missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def put_files(root: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        put_file(root / name, data)


def put_program(file: Path, text: str | bytes) -> Path:
    """The same, that can be run."""
    put_file(file, text).chmod(0o755)
    return file


def at_rest(root: Path) -> Path:
    """A repository where nobody has been at work, so that no write waits for them."""
    for sign in ("HEAD", "logs/HEAD", "refs/heads/main", "COMMIT_EDITMSG"):
        os.utime(root / ".git" / sign, (0, 0))
    return root


def commit_all(git: Git, root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


def ends(process: int) -> bool:
    """Whether a process ends, for which it gets a moment; a zombie that nobody collects has ended."""
    for _ in range(3000):
        try:
            os.kill(process, 0)
            with suppress(FileNotFoundError):  # no Linux
                if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in {
                    "Z",
                    "X",
                }:
                    return True
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@contextmanager
def instead(place: str, does: object) -> Iterator[None]:
    """Whoever calls the function of this dotted name calls another one: a fault, or a note of what was asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, does)
        yield


@contextmanager
def failing(place: str, error: BaseException) -> Iterator[None]:
    """Whoever calls the function of this dotted name meets the error."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    with instead(place, fail):
        yield


@contextmanager
def typed(data: str | bytes = b"") -> Iterator[None]:
    """Standard input of this process, which is no terminal, has these bytes."""
    known = sys.stdin
    sys.stdin = io.TextIOWrapper(
        io.BytesIO(data.encode() if isinstance(data, str) else data), "utf-8"
    )
    try:
        yield
    finally:
        sys.stdin = known


FULL = OSError(28, "No space left on device")
