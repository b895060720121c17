"""`admin tiers` as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.doors.terminal import View
    from ai_lessons.library.tier_states import TierState


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
