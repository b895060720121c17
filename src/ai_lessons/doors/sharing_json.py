"""What sharing a repository tells, as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.library.sharing.recovering import Recovered
    from ai_lessons.library.sharing.syncing import Conflicts, Resolved, Synced, TornEntry, Undone


def torn(value: TornEntry) -> dict[str, Any]:
    """A file that both sides changed: both texts in full, null where a side has none."""
    return {key: item for key, item in asdict(value).items() if not key.endswith("_diff")}


def synced(value: Synced) -> dict[str, Any]:
    """How a sync ended; with conflicts nothing was merged."""
    return asdict(value) | {"conflicts": [torn(one) for one in value.conflicts]}


def conflicts(value: Conflicts) -> list[dict[str, Any]]:
    """The files that need a person."""
    return [torn(one) for one in value.entries]


def resolved(value: Resolved) -> dict[str, Any]:
    """One choice; `commit` is null while others are undecided."""
    return asdict(value) | {"left": [one.id for one in value.left]}


def recovered(value: Recovered) -> dict[str, Any]:
    """What was brought back, and what is still kept, with its text."""
    return asdict(value)


def undone(values: Sequence[Undone]) -> list[dict[str, Any]]:
    """Jobs that were taken back; `commit` is null while the way back waits for one."""
    return [asdict(one) for one in values]
