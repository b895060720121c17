"""Brings the rows of a table in line with what the catalog says, in parts. Takes no locks, tidies nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.index.filling import slices
from ai_lessons.index.rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.index.filling import Filling
    from ai_lessons.index.model_sources import Progress
    from ai_lessons.index.rows import EntryRows, Row
    from ai_lessons.index.table import Passages
    from ai_lessons.index.vectors import VectorCache

    Load = Callable[[Sequence[str]], Iterable[EntryRows]]

ENTRIES_AT_ONCE = 500
EMBED_FIRST = 8
"""Texts up to which vectors are computed before the rows are written: one commit instead of two."""

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class RefreshJob:
    """What one refresh was asked to bring about."""

    generation: str
    fingerprints: Callable[[], Mapping[str, str]]
    load: Load
    progress: Progress
    again: frozenset[str]
    embed: bool


@dataclass(frozen=True, slots=True)
class Wrote:
    """What was done. `complete` False: the time was over before all was written."""

    entries: int = 0
    removed: int = 0
    passages: int = 0
    embedded: int = 0
    complete: bool = True


def silent(_what: str, _done: int, _total: int) -> None:
    """Progress for callers that show none."""


def update(
    job: RefreshJob,
    table: Passages,
    known: Mapping[str, str],
    vectors: VectorCache,
    filling: Filling | None = None,
    deadline: float = NEVER,
) -> Wrote:
    """Write the entries that the table does not have as they are, remove those that are gone.

    `known`: the fingerprints in the table. With `filling`, the vectors of a small part are computed with it. After
    `deadline` (of the monotonic clock) no further part is begun.
    """
    wanted = job.fingerprints()
    changed = [entry for entry, hash_ in wanted.items() if known.get(entry) != hash_ or entry in job.again]
    gone = set(known.keys() - wanted.keys())
    passages = entries = embedded = seen = 0
    for part, rows in loaded(changed, job, str(table.made_with.get("model", ""))):
        have = vectors.get(row.text_key for row in rows)
        new = {row.text_key: row.embedded_text for row in rows if row.text_key not in have}
        if filling and len(new) <= EMBED_FIRST:
            have |= filling.embed(new)
            embedded += sum(row.text_key in new and row.text_key in have for row in rows)
        ours = {row.entry_id for row in rows}
        if known.keys().isdisjoint(ours):
            table.add(rows, have)
        else:
            table.replace(rows, have)
        # Entries that can no longer be loaded leave the index with the ones that are gone.
        gone |= (set(part) & known.keys()) - ours
        passages, entries, seen = passages + len(rows), entries + len(ours), seen + len(part)
        if time.monotonic() >= deadline:
            break
    for names in slices(sorted(gone), ENTRIES_AT_ONCE):
        table.remove(names)
    return Wrote(entries, len(gone), passages, embedded, complete=seen == len(changed))


def loaded(ids: Sequence[str], job: RefreshJob, model: str) -> Iterator[tuple[Sequence[str], list[Row]]]:
    """The ids in parts, each with the rows of those entries that could be loaded."""
    show = job.progress if len(ids) > ENTRIES_AT_ONCE else silent
    for number, part in enumerate(slices(ids, ENTRIES_AT_ONCE)):
        show("Indexing text", number * ENTRIES_AT_ONCE, len(ids))
        asked = set(part)
        entries = {entry.id: entry for entry in job.load(part) if entry.id in asked}
        yield part, [row for entry in entries.values() for row in rows_of(entry, model)]
    show("Indexing text", len(ids), len(ids))
