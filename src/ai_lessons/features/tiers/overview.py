"""What the page Tiers shows: which repositories apply here, and what their policies say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app.overview import Table
from ai_lessons.features.tiers.policies import governed
from ai_lessons.features.tiers.states import tier_states
from ai_lessons.model import ENTERPRISE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.app.workspace import Library


def tables(library: Library) -> Iterator[Table]:
    """The tiers, then the policies of every enterprise that is known."""
    states = tier_states(library.primary.store.root, library.options)
    columns = ("tier", "state", "where", "why", "what to do")
    rows = [(row.tier, row.state, row.path, row.why, row.hint) for row in states]
    yield Table("What applies here", "The nearest first.", columns, rows)
    enterprises = dict.fromkeys(row.tier for row in states if row.tier.startswith(ENTERPRISE))
    stated = []
    for name in enterprises:
        for value in governed(library, name).values:
            stated.append((name, str(value)))
    nothing = "No enterprise is known here."
    yield Table("Policies", "", ("tier", "policy"), stated, nothing)
