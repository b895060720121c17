"""What is to be looked at again by what happened to it."""

from __future__ import annotations

from ai_lessons.app import editing
from ai_lessons.model.events import HELPFUL, INJECTED, SCRIPT_FAILED, SCRIPT_OK
from app.test_reviewing import found, happened, later, place
from app.world import LESSON, SCRIPT, World


def test_a_lesson_that_was_shown_often_and_never_helped_is_named(world: World) -> None:
    place(world)
    happened(world, LESSON, *[INJECTED] * 9)
    assert found(world) == []
    happened(world, LESSON, INJECTED)
    assert found(world) == [(LESSON, "never_helpful", "it was shown 10 times and never helped")]
    happened(world, LESSON, HELPFUL)
    assert found(world) == []


def test_a_script_whose_last_runs_all_failed_is_named(world: World) -> None:
    script = "#!/bin/sh\nexit 1\n"
    world.write("global/scripts/unversioned/run.sh", script)
    world.committed(
        "global/scripts/unversioned/run.sh.md",
        f"---\nid: {SCRIPT}\nkind: script\ntitle: Run\n---\n",
    )
    happened(world, SCRIPT, SCRIPT_OK, SCRIPT_FAILED, SCRIPT_FAILED)
    assert found(world) == []
    later(world, "2026-11-23")
    happened(world, SCRIPT, SCRIPT_FAILED, SCRIPT_FAILED, SCRIPT_FAILED)
    assert found(world) == [(SCRIPT, "failing", "its last 3 runs failed")]
    editing.keep(world.library, SCRIPT)
    assert found(world) == []
    later(world, "2027-11-24")
    assert len(found(world)) == 1
    happened(world, SCRIPT, SCRIPT_OK)
    assert found(world) == []
