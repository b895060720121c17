"""What was needed before comes first at the start of a session."""

from __future__ import annotations

from pathlib import Path

from ai_lessons.model.events import NEEDED, Event
from app.test_starting import keep, offered, shop, titles
from app.world import World

__all__ = ["shop"]


def test_what_most_sessions_needed_comes_first(world: World, shop: Path) -> None:
    keep(world, "AAAAAA", "Use tabs")
    needed = keep(world, "BBBBBB", "Use uv")
    library = world.fresh(cwd=shop)
    for number in range(3):
        library = world.fresh(cwd=shop, session=f"s{number}")
        assert library.record([Event("", "", NEEDED, needed)]) == []
    context = offered(world, shop)
    assert titles(context)[0] == "Use uv"
    assert context.why[needed] == "holds here, needed in 3 sessions"
