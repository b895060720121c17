"""Another model by configuration: a second table grows beside the one in use, a slice of time in every search.

Until every passage has its new vector the old table answers, with questions embedded by the old model. The new one
has no full-text index, so nobody takes it for complete; it gets one at the end, and is the one in use from then on.
Interrupted at any point, the next slice goes on where the last one ended.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.index.embed_missing import PATIENCE
from ai_lessons.index.passage_index import NEVER, update
from ai_lessons.index.refresh_state import BUILD, WRITE
from ai_lessons.index.rows import IndexRefresh
from ai_lessons.index.table import LANCE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.index.embed_missing import Filling
    from ai_lessons.index.passage_index import RefreshJob
    from ai_lessons.index.refresh_state import RefreshState
    from ai_lessons.index.table import Passages, Tables
    from ai_lessons.index.vectors import VectorCache

MODEL_KEYS = frozenset({"model", "dimensions"})
"""What may differ between a table and its successor; anything else and the old one is of no use."""


@dataclass(frozen=True, slots=True)
class Succession:
    """How far the table for the new model is. `passages` 0: nothing was begun. `done`: it is the one in use."""

    passages: int = 0
    vectors: int = 0
    done: bool = False
    trouble: str = ""


def outgrown(table: Passages | None, made: Mapping[str, str]) -> bool:
    """Whether a table is right but for its model."""
    differing = {name for name, value in made.items() if table and table.made_with.get(name) != value}
    return "model" in differing and differing <= MODEL_KEYS


def state_of(tables: Tables, made: Mapping[str, str]) -> Succession:
    """How far it is, without doing anything."""
    table = tables.growing(made)
    if table is None:
        return Succession()
    passages = table.count()
    return Succession(passages, passages - table.missing())


def grow(
    job: RefreshJob,
    tables: Tables,
    made: Mapping[str, str],
    state: RefreshState,
    vectors: VectorCache,
    filling: Filling,
    seconds: float | None,
) -> Succession:
    """One slice: the rows that the new table lacks, then vectors, then, when all are there, its full-text index.

    Another process that is at it goes on alone.
    """
    if filling.embedder() is None:
        return Succession(trouble=filling.no_model.removeprefix("full text only: "))
    with state.locked(BUILD, 0.0) as mine:
        if not mine:
            return state_of(tables, made)
        try:
            return _slice(job, tables, made, state, vectors, filling, seconds)
        except LANCE_ERRORS as error:
            if used := tables.newest():
                tables.drop_others(used)
            return Succession(trouble=f"the table for {made['model']} is begun again: {str(error)[:200]}")


def _slice(
    job: RefreshJob,
    tables: Tables,
    made: Mapping[str, str],
    state: RefreshState,
    vectors: VectorCache,
    filling: Filling,
    seconds: float | None,
) -> Succession:
    deadline = NEVER if seconds is None else time.monotonic() + seconds
    table = tables.growing(made)
    if table is None:
        if used := tables.newest():
            tables.drop_others(used)
        table = tables.begin(made)
    wrote = update(job, table, table.fingerprints(), vectors, deadline=deadline)
    missing = table.missing()
    if wrote.complete and missing and time.monotonic() < deadline:
        left = None if seconds is None else deadline - time.monotonic()
        missing = filling.fill(IndexRefresh(missing=missing), job.progress, left, lambda: tables.growing(made)).missing
    passages = table.count()
    if not wrote.complete or missing:
        return Succession(passages, passages - missing)
    table.finish()
    # Whoever is writing to the old table finishes first; what they wrote is found again by its fingerprint.
    with state.locked(WRITE, PATIENCE):
        tables.drop_others(table)
    state.remember(job.generation, table.number, table.version, 0)
    return Succession(passages, passages, done=True)
