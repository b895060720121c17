"""A contribution is asked for at a gap, once in a connection of any agent, and never of a person."""

from __future__ import annotations

from typing import Any

import pytest

from ai_lessons.app import search
from app.world import World, query

GAP = "zebra crossing"


def prompt(world: World, *, by_agent: bool = True, **options: Any) -> str:
    return search.search(world.fresh(**options), query(GAP, approvals=by_agent)).prompt


@pytest.mark.parametrize("agent", [None, "codex"])
def test_an_agent_is_asked_once_in_a_session(world: World, agent: str | None) -> None:
    first: dict[str, Any] = {"agent": agent, "session": "one"}
    second: dict[str, Any] = {"agent": agent, "session": "two"}
    assert [bool(prompt(world, **options)) for options in (first, first, second, second)] == [
        True, False, True, False,
    ]  # fmt: skip


def test_a_person_is_never_asked(world: World) -> None:
    assert prompt(world, by_agent=False, session="one") == ""
