"""Locks between our own processes: `flock` on a file in the state folder, freed by the system when its holder dies."""

from __future__ import annotations

import fcntl
import math
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ai_lessons.repository.files import translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_STEPS = (0.0005, 0.005)
"""Seconds between tries, first and last: what the lock is held for is a few milliseconds, so an idle lock costs."""


@contextmanager
def held(
    path: Path, *, patience: float, eager: float = math.inf, give_up: Callable[[], bool] = lambda: False
) -> Iterator[bool]:
    """Hold the lock at `path` for the block; yields False without it after `patience` seconds.

    `give_up` is asked between tries: whoever waits for a lock only to see a job done need not wait on when it is.
    After `eager` seconds and one more try that is all that is waited for.
    The file is never removed: removing a locked file lets two processes hold two different files of one name.
    """
    with translated(str(path), writing=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield _take(fd, patience, eager, give_up)
    finally:
        os.close(fd)


def _take(fd: int, patience: float, eager: float, give_up: Callable[[], bool]) -> bool:
    step, last = _STEPS
    begun, waited, tries = time.monotonic(), 0.0, True
    while True:
        if tries:
            with suppress(BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
        if waited >= patience or give_up():
            return False
        tries = waited < eager
        time.sleep(step)
        waited = time.monotonic() - begun
        step = min(last, step * 1.3)
