"""What proved useful and what did not, over the whole repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.learning import fold
from ai_lessons.learning.choose import measured
from ai_lessons.library.reports import Ablation, Judged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.library.session import Parts

FEW = 5
"""Entries named at either end."""


def judged(parts: Parts) -> tuple[tuple[Judged, ...], tuple[Judged, ...]]:
    """The entries with the best feedback, best first, and those with the worst, worst first. None is in both."""
    tallies = parts.usages.tallies()
    known = parts.catalog.many(entry for entry, had in tallies.items() if had.outcomes)
    order = [one for one in fold.by_worth(tallies) if one in known]
    good = [one for one in order if fold.worth(tallies[one]) > 0][:FEW]
    bad = [one for one in reversed(order) if fold.worth(tallies[one]) < 0][:FEW]
    return _named(parts, good), _named(parts, bad)


def _named(parts: Parts, ids: Sequence[str]) -> tuple[Judged, ...]:
    lights = parts.catalog.many(ids)
    usages = parts.usages.several(list(lights.values()))
    return tuple(
        Judged(
            lights[one].handle, lights[one].title, usages[one].times_helpful, usages[one].times_ignored,
            usages[one].times_contradicted, round(usages[one].confidence, 6),
        )
        for one in ids
    )  # fmt: skip


def ablation(parts: Parts) -> Ablation | None:
    """What showing lessons changed, as far as leaving some out on purpose can tell."""
    cache = parts.usages.cache
    found = measured(cache.in_sessions()) if cache else None
    return Ablation(*found) if found else None


def damaged(parts: Parts) -> int:
    """Lines of event logs that say nothing that can be used."""
    cache = parts.usages.cache
    return cache.damaged() if cache else 0
