"""Keeps who asked what: a file a day, for a number of days, for the account of the server alone."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from ai_lessons.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOG = logging.getLogger(__name__)
SUFFIX = ".log"


def _now() -> datetime:
    return datetime.now(UTC)


class CallLog:
    """Lines `time address tool code`, never a text of a call. Several servers may write to one."""

    def __init__(self, folder: Path, days: int, now: Callable[[], datetime] = _now) -> None:
        self._folder, self._days, self._now = folder, days, now
        self._day: date | None = None

    def open(self) -> None:
        """Make the folder, and remove what is too old. Raises StorageFailed: nothing can be kept."""
        today = self._now().date()
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._append(today, "")
            self._remove_before(today - timedelta(days=self._days - 1))
        except OSError as error:
            raise StorageFailed(
                f"{error.filename}: {error.strerror}",
                hint="it has to be kept who asks what: make room for it",
            ) from error
        self._day = today

    def note(self, address: str, what: str, code: int) -> None:
        """Write down one call. What cannot be written stands in the log of the server instead."""
        now = self._now()
        line = f"{now:%Y-%m-%dT%H:%M:%SZ} {address} {what} {code}\n"
        try:
            if now.date() != self._day:
                self.open()
            self._append(now.date(), line)
        except (OSError, StorageFailed) as error:
            LOG.error("not in the log of calls (%s): %s", error, line.rstrip())  # noqa: TRY400  # not its trace

    def _append(self, day: date, line: str) -> None:
        # one write at the end of the file: lines of several servers do not mix
        opened = os.open(
            self._folder / f"{day:%Y-%m-%d}{SUFFIX}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600
        )
        try:
            os.write(opened, line.encode())
        finally:
            os.close(opened)

    def _remove_before(self, first: date) -> None:
        for file in self._folder.glob(f"*{SUFFIX}"):
            try:
                day = date.fromisoformat(file.name.removesuffix(SUFFIX))
            except ValueError:
                # not ours
                continue
            if day < first:
                with suppress(FileNotFoundError):
                    # another server removes it, too
                    file.unlink()
