"""What comes unasked: by what was learned, written down, the same all through a session."""

import json
from collections.abc import Callable

import pytest

from ai_lessons.app import entries, health
from ai_lessons.app.answers import Context, ContextQuery
from ai_lessons.errors import Refused
from ai_lessons.features.learning import jobs
from ai_lessons.features.learning.parameters import DEFINITIONS, ParameterState
from ai_lessons.search.model_files import PINNED
from ai_lessons.telling.context import context as context_of
from app.world import LESSON, OTHER, CountingEmbedder, World, lesson, usage_of

IDS = [f"01JD3Z8QK5W7M2X9V4T6{n:02d}ABCD" for n in range(30)]


def place(world: World, *ids: str, **more: str) -> None:
    for n, one in enumerate(ids):
        world.write(f"global/lessons/{n}.md", lesson(one, f"Lesson {n}", **more))
    world.commit()


def context(
    world: World, session: str | None = None, *, measure: bool = True, **more: object
) -> Context:
    library = world.fresh(session=session, measure=measure)
    return context_of(library, ContextQuery(**more))  # type: ignore[arg-type]  # a test's keys


def reasons(found: Context) -> dict[str, str]:
    return {one.entry.id: one.reason for one in found.left_out}


def logged(world: World) -> list[dict[str, object]]:
    files = sorted((world.root / ".git/ai-lessons/events").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


SetParameter = Callable[[str, float], None]


@pytest.fixture
def set_parameter(monkeypatch: pytest.MonkeyPatch) -> SetParameter:
    """Lets a parameter start at another value than the one that we ship."""
    return lambda name, value: monkeypatch.setitem(
        DEFINITIONS, name, DEFINITIONS[name]._replace(start=value)
    )


def test_what_came_is_written_down_and_counted(world: World) -> None:
    place(world, LESSON, OTHER)
    assert len(context(world, "s1").lessons) == 2
    rows = {(row["event"], row["entry"], row["session"]) for row in logged(world)}
    assert rows == {("injected", LESSON, "s1"), ("injected", OTHER, "s1")}
    assert usage_of(world.library, LESSON).tallies.injected == 1
    assert world.status() == ""


def test_a_lesson_that_was_contradicted_stays_away_and_says_why(world: World) -> None:
    place(world, LESSON, OTHER)
    jobs.feedback(world.library, LESSON, "contradicted")
    found = context(world)
    assert [summary.id for summary in found.lessons] == [OTHER]
    (left,) = found.left_out
    assert (left.entry.id, left.reason) == (LESSON, "harm")
    assert left.detail == "contradicted more often (1) than helpful (0)"


def test_a_lesson_that_its_author_doubts_stays_away_until_it_has_helped(world: World) -> None:
    place(world, LESSON, confidence="very-low")
    assert reasons(context(world)) == {LESSON: "confidence"}
    jobs.feedback(world.library, LESSON, "helpful")
    assert [summary.id for summary in context(world).lessons] == [LESSON]


def test_without_a_budget_as_many_come_as_is_set(world: World, set_parameter: SetParameter) -> None:
    place(world, *IDS)
    found = context(world)
    assert len(found.lessons) == 10
    assert set(reasons(found).values()) == {"budget"}
    set_parameter("injection_budget", 4)
    assert len(context(world).lessons) == 4
    assert len(context(world, budget=6).lessons) == 6
    jobs.feedback(world.library, IDS[25], "helpful")
    assert context(world).lessons[0].id == IDS[25], "the proven come first"


def test_feedback_on_the_last_one_through_moves_the_parameters_once(world: World) -> None:
    def budget() -> ParameterState:
        return next(one for one in jobs.params(world.library) if one.name == "injection_budget")

    place(world, *IDS)
    last = context(world, "s0", budget=3).lessons[-1].id
    jobs.feedback(world.fresh(session="s0"), last, "ignored")
    assert budget().observations == 0, "somebody asked for that budget"
    last = context(world, "s1").lessons[-1].id
    jobs.feedback(world.fresh(session="s1"), last, "contradicted")
    before = budget()
    assert (before.observations, before.value < 10) == (1, True)
    jobs.feedback(world.library, last, "contradicted")
    assert budget() == before, "it was judged already"


def test_a_session_sees_the_same_from_beginning_to_end(world: World) -> None:
    place(world, *IDS)
    last = context(world, "s0").lessons[-1].id
    jobs.feedback(world.fresh(session="s0"), last, "helpful")
    sizes = {name: len(context(world, name).lessons) for name in ("a", "b", "c", "d", "e")}
    assert {name: len(context(world, name).lessons) for name in sizes} == sizes
    assert len(set(sizes.values())) > 1, "between sessions it tries other settings"


def test_leaving_out_on_purpose_is_recorded_and_only_happens_in_a_session(
    world: World, set_parameter: SetParameter
) -> None:
    place(world, *IDS[:8])
    set_parameter("ablation_frequency", 0.2)
    assert not context(world).left_out
    every = [context(world, f"session {n}") for n in range(20)]
    assert not any(found.left_out for found in every[:9]), (
        "what was hardly told yet is not left out"
    )
    left = {one.entry.id for found in every for one in found.left_out}
    assert left
    assert {reason for found in every for reason in reasons(found).values()} == {"ablation"}
    again = [f"session {n}" for n, found in enumerate(every) if found.left_out][:3]
    assert not any(context(world, session, measure=False).left_out for session in again), (
        "unless one asks for it"
    )
    assert len([row for row in logged(world) if row["event"] == "left_out"]) == sum(
        len(one.left_out) for one in every
    )
    world.write(".ai-lessons/config.yaml", "format: 1\nevents: false\n")
    assert not any(context(world, session).left_out for session in again), "nothing is measured"


def test_some_sessions_are_asked_how_lessons_did(world: World, set_parameter: SetParameter) -> None:
    place(world, LESSON)
    set_parameter("assessment_sample_rate", 0.5)
    asked = [
        any("contribute feedback" in note for note in context(world, f"s{n}").notes)
        for n in range(30)
    ]
    assert 3 < sum(asked) < 27
    assert not any("contribute feedback" in note for note in context(world).notes)


def test_a_lesson_far_from_the_words_stays_away(
    world: World, embedder: CountingEmbedder, set_parameter: SetParameter
) -> None:
    embedder.name = PINNED.name  # vectors of another model are not compared
    # the words of the question, and far more of another matter
    bloat = [f"autovacuum bloat{n} of table{n}" for n in range(2)]
    world.write(
        "global/lessons/a.md",
        lesson(LESSON, "Workflow replaced whole", "Workflow replaced whole.\n"),
    )
    world.committed(
        "global/lessons/b.md",
        lesson(OTHER, "Workflow replaced whole again", f"{' '.join(bloat)}.\n"),
    )
    set_parameter("semantic_similarity_threshold", 0.6)
    found = context(world, query="workflow replaced whole")
    assert [summary.id for summary in found.lessons] == [LESSON]
    assert reasons(found) == {OTHER: "similarity"}


def test_where_nothing_can_be_written_down_a_context_still_comes(world: World) -> None:
    place(world, LESSON)
    entries.list_entries(world.library)
    (world.root / ".git/ai-lessons/events").write_text("in the way")
    found = context(world)
    assert [summary.id for summary in found.lessons] == [LESSON]
    assert "could not be written down" in found.notes[0]


@pytest.mark.parametrize(
    "said",
    [
        "events: false\n",
        "{events: false}\n",
        '"events": false # thanks\n',
        "git:\n  events: local\nevents: false\n",
    ],
)
def test_where_events_are_off_nothing_is_written_down_and_feedback_is_refused(
    world: World, said: str
) -> None:
    place(world, LESSON)
    world.write(".ai-lessons/config.yaml", said)
    assert context(world).lessons
    with pytest.raises(Refused, match="records no events"):
        jobs.feedback(world.library, LESSON, "helpful")
    assert not (world.root / ".git/ai-lessons/events").exists()


def test_stats_name_the_most_and_the_least_useful_and_what_showing_changed(
    world: World, set_parameter: SetParameter
) -> None:
    place(world, *IDS[:4])
    set_parameter("ablation_frequency", 0.2)
    for n in range(30):
        found = context(world, f"session {n}")
        library = world.fresh(session=f"session {n}")
        jobs.feedback(library, IDS[0], "helpful")
        jobs.feedback(library, IDS[1], "contradicted" if IDS[2] in reasons(found) else "ignored")
    stats = health.stats(world.library)
    assert [one.helpful for one in stats.most_useful] == [30]
    assert [(one.ignored + one.contradicted) for one in stats.least_useful] == [30]
    assert stats.ablation is not None
    assert stats.ablation.low <= stats.ablation.difference <= stats.ablation.high
    (world.root / ".git/ai-lessons/events/2026-10.jsonl").write_text("nonsense\n")
    assert health.stats(world.library).damaged_events == 1
