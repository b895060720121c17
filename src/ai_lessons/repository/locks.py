"""Locks between our own processes: `flock` on a file in the state folder, freed by the system when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from ai_lessons.repository.files import translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_STEPS = (0.0005, 0.005)  # Seconds between tries, first and last: the lock is held for a few milliseconds


@contextmanager
def held(path: Path, *, patience: float, give_up: Callable[[], bool] | None = None) -> Iterator[bool]:
    """Hold the lock at `path` for the block; yields False after `patience` seconds, or if `give_up` says so."""
    with ExitStack() as closing:
        with translated(str(path), writing=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            closing.callback(os.close, fd)
            mine = _locked(fd, patience, give_up)
        yield mine


def _locked(fd: int, patience: float, give_up: Callable[[], bool] | None) -> bool:
    step, last = _STEPS
    end = time.monotonic() + patience
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= end or (give_up and give_up()):
            return False
        time.sleep(step)
        step = min(last, step * 1.3)
