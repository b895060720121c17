"""`admin tiers` as text and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.doors.terminal import View
    from ai_lessons.library.tiers.tier_states import TierState


def tiers(found: Sequence[TierState], view: View) -> str:
    """A line for each tier, and one below it where something is to be done."""
    width = max(len(one.name) for one in found)
    rows = []
    for one in found:
        place = line(one.path).replace(view.home, "~", 1) if view.home else line(one.path)
        rows.append(f"{line(one.name):<{width}}  {one.state:<8}  {place}  ({line(one.why)})".replace("    (", "  ("))
        if one.hint:
            rows.append(f"{'':<{width}}  → {line(one.hint)}")
    return "\n".join(rows)


def tiers_data(found: Sequence[TierState]) -> list[dict[str, object]]:
    """The same as a list."""
    return [
        {"tier": one.name, "state": one.state, "path": one.path, "why": one.why, "hint": one.hint, "url": one.url}
        for one in found
    ]
