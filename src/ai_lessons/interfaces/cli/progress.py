"""What stderr shows while a command works: bars and lines of progress, remarks."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from ai_lessons.interfaces.output import View, is_terminal, line

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar


def remark(text: str) -> None:
    """Print a line on stderr, wrapped where that is a terminal."""
    width = None
    if is_terminal(sys.stderr):
        width = terminal_size(2)[0]
    click.echo(View(width=width).fit(text), err=True)


def terminal_size(stream: int = 1) -> tuple[int, int]:
    """Columns and lines of the terminal, without `shutil`, which imports every compression module."""
    try:
        columns, lines = os.get_terminal_size(stream)
    except OSError:
        # it is no terminal
        columns = lines = 0
    # what the environment says holds before what the terminal says, as in `shutil`
    return _environment("COLUMNS") or columns or 80, _environment("LINES") or lines or 24


def _environment(variable: str) -> int:
    """A number in the environment, or 0."""
    text = os.environ.get(variable, "")
    if text.isdecimal():
        return int(text)
    return 0


class ProgressLines:
    """As `ProgressDisplay`, where stderr is no terminal: a line now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def show(self, what: str, done: int, total: int) -> None:
        """Say how far it is, unless that was said within the last seconds."""
        if time.monotonic() - self._last >= 10.0:
            # between two lines of progress where there is no terminal
            self._last = time.monotonic()
            remark(f"{line(what)}: {done:,} of {total:,}")


class ProgressDisplay:
    """One bar at a time, as a `Progress` callable.

    For one thread; only where stderr is a terminal.
    """

    def __init__(self) -> None:
        self._what, self._since, self.at = "", 0.0, ""
        self._bar: ProgressBar[int] | None = None

    def show(self, what: str, done: int, total: int) -> None:
        """Show `done` of `total` steps of `what`, as a line if `total` is 0.

        Another `what` begins another bar.
        """
        if what != self._what:
            self.finish()
            self._what, self._since = what, time.monotonic()
            if not total:
                remark(f"{line(what)} …")
        self.at = f" at {line(what).lower()}"
        if total:
            self.at += f", {done:,} of {total:,}"
        # a bar that flashes for less than half a second only disturbs
        if self._bar is None and done < total and time.monotonic() - self._since > 0.4:
            # beside its name a bar needs 34 cells for its frame, both numbers, and how long it
            # takes
            room = max(4, min(36, terminal_size(2)[0] - len(what) - 34))
            self._bar = click.progressbar(
                length=total, label=line(what), file=sys.stderr, show_pos=True, width=room
            )
            self._bar.render_progress()
        if self._bar is not None:
            self._bar.length = total
            self._bar.update(max(done - self._bar.pos, 0))

    def finish(self) -> None:
        """End the line of the bar."""
        if self._bar is not None:
            self._bar.render_finish()
        self._bar, self._what = None, ""
