"""Progress bars on stderr for work that takes longer than a moment."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from ai_lessons.doors.terminal import line

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

PATIENCE = 0.4
"""Seconds a job may take before it gets a bar: a bar that flashes up and goes tells nobody anything."""


class ProgressDisplay:
    """One bar at a time, as a `Progress` callable. For one thread; only where stderr is a terminal."""

    def __init__(self) -> None:
        self._what = ""
        self._since = 0.0
        self._bar: ProgressBar[int] | None = None

    def show(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what`; another `what` begins another bar."""
        if what != self._what:
            self.finish()
            self._what, self._since = what, time.monotonic()
        if self._bar is None and done < total and time.monotonic() - self._since > PATIENCE:
            self._bar = click.progressbar(length=total, label=line(what), file=sys.stderr, show_pos=True)
            self._bar.render_progress()
        if self._bar is not None:
            self._bar.length = total
            self._bar.update(max(done - self._bar.pos, 0))

    def finish(self) -> None:
        """Leave the line of the bar, so that what comes next begins on its own."""
        if self._bar is not None:
            self._bar.render_finish()
        self._bar, self._what = None, ""
