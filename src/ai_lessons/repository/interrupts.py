"""Lets Ctrl-C wait for the end of a step that must not be half done."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C during the block takes effect right after it. Only for blocks of well below a second.

    Does nothing in other threads than the main one, which no Ctrl-C interrupts, and where the signal is not
    handled by Python. Does not hold back a kill.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    # a handler, not a blocked signal: a thread of some library would take a blocked one, and Python raise it here
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if came:
            usual(*came[0])
