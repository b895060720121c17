"""The log of what policies of enterprises allowed and refused on this machine, one JSON object a line.

It lies in the user's state folder and not in a clone: it outlives the clone, and it also tells of an enterprise that is
not here. One process appends at a time. A log that is full is put aside, and one such is kept. What is read back is
text like any other: a line that is none of ours is passed over and counted.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from ai_lessons.errors import AiLessonsError, StorageFailed
from ai_lessons.repository.files import read_file, translated, write_all
from ai_lessons.repository.locks import held

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE_BYTES: Final = 1024 * 1024
"""A log of this size, some thousands of decisions, is put aside; the one that was put aside before goes."""

PATIENCE: Final = 10.0
"""Seconds to wait for another process that appends."""

_FOLDER, _LOG, _EARLIER, _LOCK = "enforcement", "log.jsonl", "log.1.jsonl", "lock"
_LONGEST: Final = 500
_UNPAIRED: Final = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Enforced:
    """One decision. `at` is ISO 8601 in UTC; `outcome` is allowed, refused, asked or released.

    `policy` and `value` are what decided, as the settings have them; `source` and `target` are tiers. `by` is whom git
    knows here. `stated_in`, `branch` and `commit` say where the policy is stated: the folder of the enterprise's
    repository, and its approval branch as it stood; empty where the repository is not on this machine.
    """

    at: str
    outcome: str
    enterprise: str
    policy: str
    value: str
    entry: str
    title: str
    source: str
    target: str
    by: str = ""
    agent: str = ""
    session: str = ""
    stated_in: str = ""
    branch: str = ""
    commit: str = ""


def append(state_dir: Path, rows: Sequence[Enforced]) -> None:
    """Add decisions, each on the disk as a whole line when this returns.

    Raises:
        StorageFailed, Conflict: the folder cannot be written or is full, or another process keeps the lock.
    """
    if not rows:
        return
    folder = state_dir / _FOLDER
    lines = b"".join(_line(row) for row in rows)
    with translated(str(folder), writing=True):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with held(folder / _LOCK, patience=PATIENCE) as mine:
            if not mine:
                raise StorageFailed(f"another process has been writing to {folder} for {PATIENCE:.0f} seconds")
            _put_aside(folder, len(lines))
            fd = os.open(folder / _LOG, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                write_all(fd, _separator(fd) + lines)
                os.fsync(fd)
            finally:
                os.close(fd)


def read_log(state_dir: Path) -> tuple[list[Enforced], int]:
    """Every decision that is kept, the newest first, and how many lines could not be read.

    Raises:
        StorageFailed: a log is there and cannot be read.
    """
    folder = state_dir / _FOLDER
    rows: list[Enforced] = []
    damaged = 0
    for name in (_LOG, _EARLIER):
        if not (folder / name).exists():
            continue
        data, _ = read_file(folder, name, FILE_BYTES * 4)
        for line in reversed(data.split(b"\n")):
            if line.strip():
                found = _row(line)
                damaged += found is None
                rows += [found] if found else []
    return rows, damaged


def _put_aside(folder: Path, more: int) -> None:
    """Make room for so many bytes."""
    current = folder / _LOG
    if current.exists() and current.stat().st_size + more > FILE_BYTES:
        os.replace(current, folder / _EARLIER)


def _separator(fd: int) -> bytes:
    """A line break if the last line was cut off: else it would swallow the new one."""
    size = os.fstat(fd).st_size
    return b"\n" if size and os.pread(fd, 1, size - 1) != b"\n" else b""


def _line(row: Enforced) -> bytes:
    """Titles are anybody's text: too long ones are cut, and what no file can hold is replaced."""
    short = {key: _UNPAIRED.sub("\ufffd", str(value)[:_LONGEST]) for key, value in asdict(row).items()}
    return json.dumps(short).encode() + b"\n"


def _row(line: bytes) -> Enforced | None:
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    said = {one.name: value for one in fields(Enforced) if isinstance(value := found.get(one.name, ""), str)}
    return Enforced(**said) if said.get("at") and said.get("outcome") and len(said) == len(fields(Enforced)) else None


def append_if_possible(state_dir: Path, rows: Sequence[Enforced]) -> str:
    """Add decisions that stand whether they can be noted or not; why they could not, or nothing."""
    try:
        append(state_dir, rows)
    except AiLessonsError as error:
        return error.message
    return ""
