"""The tables of an index, and a shared index at any address of LanceDB. Callers hold the locks.

A rebuild writes a new table beside the old one. A table is in use once it has its full-text index, which is made
last, so that readers see the old one or the new one, also on object storage.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ai_lessons.errors import Conflict, Unreachable
from ai_lessons.index.rows import IndexStatus
from ai_lessons.index.table import FTS_INDEX, LANCE_ERRORS, Passages, connect, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ai_lessons.index.model_sources import Progress
    from ai_lessons.index.vectors import VectorCache

NAME = "passages_"
WRITING = "writing"  # A table that is there while a process writes to an index that many machines share

BEAT, DEAD = 60.0, timedelta(minutes=10)
"""Seconds between two signs of life of that process, and how long without one makes it dead."""


class Tables:
    """The tables of one index: the newest complete one is in use, the others are leftovers or being built."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._db, self._reopen = connect(uri)
        self._open: Passages | None = None

    def newest(self) -> Passages | None:
        """The table in use, or None if there is none that is complete. A table that cannot be opened is passed over."""
        for number in sorted(self._numbers(), reverse=True):
            if self._open is not None and self._open.number == number:
                return self._open
            try:
                table = self._db.open_table(f"{NAME}{number}")
                if any(index.name == FTS_INDEX for index in table.list_indices()):
                    self._open = Passages(table, number, self._reopen)
                    return self._open
            except LANCE_ERRORS:
                continue
        return None

    def begin(self, made: Mapping[str, str]) -> Passages:
        """A new, empty table that no reader sees until it is finished."""
        number = max(self._numbers(), default=0) + 1
        return Passages(self._db.create_table(f"{NAME}{number}", schema=schema(made)), number, self._reopen)

    def drop_others(self, keep: Passages) -> None:
        """Remove every table but this. Readers of an older one reopen once."""
        for number in self._numbers() - {keep.number}:
            self._db.drop_table(f"{NAME}{number}", ignore_missing=True)

    @contextmanager
    def claimed(self) -> Iterator[Callable[[], None]]:
        """Be the only process, of any machine, that writes here. Gives a sign of life to be called now and then.

        Raises Conflict: another process writes.
        """
        if WRITING in self._db.list_tables(limit=10_000).tables:
            versions = self._db.open_table(WRITING).list_versions()
            last = max(version["timestamp"] for version in versions).astimezone(UTC)
            if datetime.now(UTC) - last < DEAD:
                raise Conflict(
                    f"another process is writing to the index at {self._uri} (last seen {last:%Y-%m-%d %H:%M} UTC)",
                    hint=f"try again when it is done, or {DEAD} after its last sign of life",
                )
            self._db.drop_table(WRITING, ignore_missing=True)
        try:
            claim = self._db.create_table(WRITING, [{"beat": 0}])
        except LANCE_ERRORS as error:
            raise Conflict(f"another process has just begun to write to the index at {self._uri}") from error
        beaten = time.monotonic()

        def beat() -> None:
            nonlocal beaten
            if time.monotonic() > beaten + BEAT:
                claim.add([{"beat": 1}])
                beaten = time.monotonic()

        try:
            yield beat
        finally:
            self._db.drop_table(WRITING, ignore_missing=True)

    def _numbers(self) -> set[int]:
        if "://" in self._uri:
            names = self._db.list_tables(limit=10_000).tables
        else:  # every search looks, and lancedb takes a millisecond to read a folder
            names = [name.removesuffix(".lance") for name in os.listdir(self._uri)] if os.path.isdir(self._uri) else []
        return {int(name[len(NAME) :]) for name in names if name.startswith(NAME) and name[len(NAME) :].isdigit()}


class SharedIndex:
    """One machine pushes its table; others take vectors by the hash of model and text, and no text.

    Raises Unreachable where the address is wrong, nothing answers, or access is refused.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        with self._reached():
            self._tables = Tables(uri)

    def state(self) -> IndexStatus:
        """What lies there now; all zero and empty where there is nothing."""
        with self._reached():
            table = self._tables.newest()
            return (table.status() if table else IndexStatus())._replace(uri=self.uri)

    def push(self, local: Passages, progress: Progress) -> None:
        """Make what lies there equal to `local`: a new table, which is seen when it is complete.

        Raises Conflict: another push was faster.
        """
        with self._reached():
            table, total = self._tables.begin(local.made_with), local.count()
            for done in table.take(local):
                progress("Pushing", done, total)
            table.finish()
            self._tables.drop_others(table)

    def pull(self, model: str, cache: VectorCache, progress: Progress) -> int:
        """Put the vectors of `model` that lie there into the cache; how many are new. Of another model: none."""
        with self._reached():
            table = self._tables.newest()
            if table is None or table.model != model:
                return 0
            total, done, new = table.count(), 0, 0
            for part in table.vectors():
                cached = cache.get(key for key, _ in part)
                fresh = [(key, vector) for key, vector in part if key not in cached]
                cache.put(fresh)
                done, new = done + len(part), new + len(fresh)
                progress("Fetching vectors", done, total)
            return new

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except LANCE_ERRORS as error:
            if any(word in str(error) for word in ("already exists", "commit conflict", "Commit conflict")):
                raise Conflict(
                    f"another process is pushing to {self.uri}", hint="push again when it is done"
                ) from error
            raise Unreachable(
                f"the shared index at {self.uri} cannot be used: {' '.join(str(error).split())[:300]}",
                hint="check the address; S3 is set up by AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, …",
            ) from error
