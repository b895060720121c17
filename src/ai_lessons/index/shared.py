"""A shared index at any address that LanceDB takes: one machine pushes its table, others take the vectors.

Only vectors are taken, each under the hash of model and text that it belongs to. Texts, rules and what is shown come
from everybody's own files, so whoever can write to the shared place can spoil an order of results at most. Settings of
object stores are those of their own programs, in the environment (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, …).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import Conflict, Unreachable
from ai_lessons.index.embed_missing import slices
from ai_lessons.index.table import LANCE_ERRORS, Tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.index.model_sources import Progress
    from ai_lessons.index.table import Passages
    from ai_lessons.index.vectors import VectorCache

ENTRIES_AT_ONCE = 500
IMPATIENT = {
    "timeout": "20s",
    "connect_timeout": "5s",
    "client_max_retries": "2",
    "client_retry_timeout": "20",
    "download_retry_count": "2",
}
"""For object stores: by default they are tried for minutes before a wrong address is an error."""


@dataclass(frozen=True, slots=True)
class SharedState:
    """What lies there; all zero and empty where there is nothing."""

    model: str = ""
    entries: int = 0
    passages: int = 0
    vectors: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """What a push changed there."""

    entries: int
    removed: int
    state: SharedState


class SharedIndex:
    """Raises Unreachable where the address is wrong, nothing answers, or access is refused."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        try:
            self._tables = Tables(uri, IMPATIENT if "://" in uri else None)
        except LANCE_ERRORS as error:
            raise self._unreachable(error) from error

    def state(self) -> SharedState:
        """What lies there now."""
        try:
            return _state(self._tables.newest())
        except LANCE_ERRORS as error:
            raise self._unreachable(error) from error

    def push(self, local: Passages, progress: Progress) -> Sent:
        """Make what lies there equal to `local`: what changed since the last push, or all where that cannot be.

        Raises:
            Conflict: another push was faster.
        """
        try:
            there = self._tables.newest()
            if there is None or there.made_with != local.made_with:
                return self._all(local, progress)
            return self._changes(there, local, progress)
        except LANCE_ERRORS as error:
            if any(word in str(error) for word in ("already exists", "commit conflict", "Commit conflict")):
                raise Conflict(
                    f"somebody else is pushing to {self.uri}", hint="push again when they are done"
                ) from error
            raise self._unreachable(error) from error

    def pull(self, model: str, cache: VectorCache, progress: Progress) -> int:
        """Put the vectors of `model` that lie there into the cache; how many are new. Of another model: none."""
        try:
            there = self._tables.newest()
            if there is None or there.made_with.get("model") != model:
                return 0
            total, seen, new = there.count(), 0, 0
            for part in there.vectors():
                known = cache.get(key for key, _ in part)
                fresh = [(key, vector) for key, vector in part if key not in known]
                cache.put(fresh)
                seen, new = seen + len(part), new + len(fresh)
                progress("Fetching vectors", seen, total)
        except LANCE_ERRORS as error:
            raise self._unreachable(error) from error
        return new

    def covers(self, model: str, keys: Iterable[str]) -> int:
        """How many of these text keys have a vector of `model` there."""
        try:
            there = self._tables.newest()
            if there is None or there.made_with.get("model") != model:
                return 0
            return len(set(keys) & there.keys_with_vector())
        except LANCE_ERRORS as error:
            raise self._unreachable(error) from error

    def _all(self, local: Passages, progress: Progress) -> Sent:
        names = sorted(local.fingerprints())
        table = self._tables.begin(local.made_with)
        for part in self._parts(names, progress):
            table.take(local, part, new=True)
        table.finish()
        self._tables.drop_others(table)
        return Sent(len(names), 0, _state(table))

    def _changes(self, there: Passages, local: Passages, progress: Progress) -> Sent:
        theirs, ours = there.fingerprints(), local.fingerprints()
        lacking = there.entries_without_vector() - local.entries_without_vector()
        changed = sorted(name for name, hash_ in ours.items() if theirs.get(name) != hash_ or name in lacking)
        for part in self._parts(changed, progress):
            there.take(local, part, new=False)
        gone = sorted(theirs.keys() - ours.keys())
        for part in slices(gone, ENTRIES_AT_ONCE):
            there.remove(part)
        there.tidy(thorough=bool(changed or gone))
        return Sent(len(changed), len(gone), _state(there))

    def _parts(self, names: Sequence[str], progress: Progress) -> Iterator[Sequence[str]]:
        for number, part in enumerate(slices(names, ENTRIES_AT_ONCE)):
            progress("Pushing", number * ENTRIES_AT_ONCE, len(names))
            yield part
        progress("Pushing", len(names), len(names))

    def _unreachable(self, error: BaseException) -> Unreachable:
        said = " ".join(str(error).split())[:300]
        return Unreachable(
            f"the shared index at {self.uri} cannot be used: {said}",
            hint="check the address; S3 is set up by AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, …",
        )


def _state(table: Passages | None) -> SharedState:
    if table is None:
        return SharedState()
    passages = table.count()
    entries = len(table.fingerprints())
    return SharedState(table.made_with.get("model", ""), entries, passages, passages - table.missing())
