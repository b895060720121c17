"""A shared index at any address that LanceDB takes: one machine pushes its table, others take the vectors.

Only vectors are taken, each under the hash of model and text that it belongs to; texts and rules are everybody's own.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ai_lessons.errors import Conflict, Unreachable
from ai_lessons.index.query import model_of
from ai_lessons.index.rows import IndexStatus
from ai_lessons.index.table import LANCE_ERRORS, Tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ai_lessons.index.model_sources import Progress
    from ai_lessons.index.table import Passages
    from ai_lessons.index.vectors import VectorCache


class SharedIndex:
    """Raises Unreachable where the address is wrong, nothing answers, or access is refused."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        with self._reached():
            self._tables = Tables(uri)

    def state(self) -> IndexStatus:
        """What lies there now; all zero and empty where there is nothing."""
        with self._reached():
            table = self._tables.newest()
            return table.status() if table else IndexStatus()

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
            there = self._tables.newest()
            if model_of(there) != model or there is None:
                return 0
            total, seen, new = there.count(), 0, 0
            for part in there.vectors():
                known = cache.get(key for key, _ in part)
                fresh = [(key, vector) for key, vector in part if key not in known]
                cache.put(fresh)
                seen, new = seen + len(part), new + len(fresh)
                progress("Fetching vectors", seen, total)
            return new

    def covers(self, model: str, keys: Iterable[str]) -> int:
        """How many of these text keys have a vector of `model` there."""
        with self._reached():
            there = self._tables.newest()
            return len(set(keys) & there.keys_with_vector()) if there and model_of(there) == model else 0

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except LANCE_ERRORS as error:
            if any(word in str(error) for word in ("already exists", "commit conflict", "Commit conflict")):
                said = f"another process is pushing to {self.uri}"
                raise Conflict(said, hint="push again when it is done") from error
            said = " ".join(str(error).split())[:300]
            raise Unreachable(
                f"the shared index at {self.uri} cannot be used: {said}",
                hint="check the address; S3 is set up by AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, …",
            ) from error
