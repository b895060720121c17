"""The tables of one index, of which the newest complete one is in use; and a shared index."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import Conflict, Unreachable
from ai_lessons.search.connections import KEY, connect, drop, is_service
from ai_lessons.search.rows import IndexStatus
from ai_lessons.search.table import FTS_INDEX, LANCE_ERRORS, Passages, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ai_lessons.search.missing_vectors import VectorCache
    from ai_lessons.search.model_files import Progress

NAME = "passages_"
# A table that is there while a process writes to an index that many machines share
WRITING = "writing"

# Seconds between two signs of life of that process, and how long without one makes it dead.
BEAT, DEAD = 60.0, timedelta(minutes=10)


class Tables:
    """The tables of one index.

    The newest complete one is in use, the others are leftovers or being built.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._db, self._reopen = connect(uri)
        self._open: Passages | None = None

    def newest(self) -> Passages | None:
        """The table in use, or None if there is none that is complete.

        A table that cannot be opened is passed over.
        """
        for number in sorted(self._numbers(), reverse=True):
            if self._open is not None and self._open.number == number:
                return self._open
            try:
                table = self._db.open_table(f"{NAME}{number}")
                if any(index.name == FTS_INDEX for index in table.list_indices()):
                    self._open = self._passages(table, number)
                    return self._open
            except LANCE_ERRORS:
                continue
        return None

    def begin(self, made: Mapping[str, str]) -> Passages:
        """A new, empty table that no reader sees until it is finished."""
        number = max(self._numbers(), default=0) + 1
        return self._passages(self._db.create_table(f"{NAME}{number}", schema=schema(made)), number)

    def _passages(self, table: Any, number: int) -> Passages:
        return Passages(table, number, self._reopen, in_service=is_service(self._uri))

    def _drop(self, name: str) -> None:
        drop(self._db, self._uri, name)

    def drop_others(self, keep: Passages) -> None:
        """Remove every table but this. Readers of an older one reopen once."""
        for number in self._numbers() - {keep.number}:
            self._drop(f"{NAME}{number}")

    @contextmanager
    def claimed(self) -> Iterator[Callable[[], None]]:
        """Be the only process, of any machine, that writes here.

        Gives a sign of life to be called now and then.

        Raises Conflict: another process writes.
        """
        if WRITING in self._db.list_tables(limit=10_000).tables:
            versions = self._db.open_table(WRITING).list_versions()
            last = max(version["timestamp"] for version in versions).astimezone(UTC)
            if datetime.now(UTC) - last < DEAD:
                raise Conflict(
                    (
                        f"another process is writing to the index at {self._uri} (last seen "
                        f"{last:%Y-%m-%d %H:%M} UTC)"
                    ),
                    hint=f"try again when it is done, or {DEAD} after its last sign of life",
                )
            self._drop(WRITING)
        try:
            claim = self._db.create_table(WRITING, [{"beat": 0}])
        except LANCE_ERRORS as error:
            raise Conflict(
                f"another process has just begun to write to the index at {self._uri}"
            ) from error
        beaten = time.monotonic()

        def beat() -> None:
            nonlocal beaten
            if time.monotonic() > beaten + BEAT:
                claim.add([{"beat": 1}])
                beaten = time.monotonic()

        try:
            yield beat
        finally:
            self._drop(WRITING)

    def _numbers(self) -> set[int]:
        names: Iterable[str] = ()
        if "://" in self._uri:
            names = self._db.list_tables(limit=10_000).tables
        elif os.path.isdir(self._uri):
            # every search looks, and lancedb takes a millisecond to read a folder
            names = os.listdir(self._uri)
        numbers: set[int] = set()
        for name in names:
            number = name.removesuffix(".lance").removeprefix(NAME)
            if name.startswith(NAME) and number.isdigit():
                numbers.add(int(number))
        return numbers


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
            if table is None:
                return IndexStatus(uri=self.uri)
            return table.status()._replace(uri=self.uri)

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
        """Put the vectors of `model` that lie there into the cache; how many are new.

        Of another model: none.
        """
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
            message = " ".join(str(error).split())
            # lancedb has no class of its own for it: the words differ by the place
            if "already exists" in message or "commit conflict" in message.lower():
                raise Conflict(
                    f"another process is pushing to {self.uri}", hint="push again when it is done"
                ) from error
            keys = "S3 is set up by AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, …"
            if is_service(self.uri):
                keys = (
                    f"LanceDB's service is set up by {KEY}, LANCEDB_REGION, LANCEDB_HOST_OVERRIDE"
                )
            raise Unreachable(
                f"the shared index at {self.uri} cannot be used: {message[:300]}",
                hint=f"check the address; {keys}",
            ) from error
