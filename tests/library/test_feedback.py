"""Feedback from the first word to the numbers that other jobs show."""

from __future__ import annotations

import pytest

from ai_lessons.errors import NotFound, Refused, UsageError
from library.world import LESSON, World, lesson


def place(world: World, **more: str) -> None:
    world.write("global/lessons/a.md", lesson(**more))
    world.commit()


def test_feedback_moves_the_confidence_that_the_author_gave(world: World) -> None:
    place(world, confidence="high")
    said = world.library.contribute.feedback(LESSON, "helpful").usage
    assert (said.times_helpful, said.alpha, said.beta) == (1, 2.4, 0.6)
    said = world.library.contribute.feedback(LESSON, "contradicted").usage
    assert (said.alpha, said.beta) == (2.4, 2.1)
    said = world.fresh().contribute.feedback(LESSON, "ignored", note="not this time").usage
    assert (said.times_ignored, said.alpha, said.beta) == (1, 2.4, 2.2)
    assert said.confidence == pytest.approx(2.4 / 4.6)
    assert said.last_used == "2026-11-21T20:14:00Z"


def test_feedback_makes_no_commit_and_leaves_the_working_tree_alone(world: World) -> None:
    place(world)
    before = world.commits()
    world.library.contribute.feedback(LESSON, "helpful")
    assert world.commits() == before
    assert world.status() == ""


def test_another_word_or_another_entry_is_an_error(world: World) -> None:
    place(world)
    with pytest.raises(UsageError, match="no outcome 'great'"):
        world.library.contribute.feedback(LESSON, "great")
    with pytest.raises(NotFound):
        world.library.contribute.feedback("L-ZZZZZZ", "helpful")


@pytest.mark.parametrize("said", ["events: false\n", "{events: false}\n", '"events": false # thanks\n'])
def test_where_events_are_off_feedback_is_refused(world: World, said: str) -> None:
    place(world)
    world.write(".ai-lessons/config.yaml", said)
    with pytest.raises(Refused, match="records no events"):
        world.library.contribute.feedback(LESSON, "helpful")
