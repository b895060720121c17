"""Relations act: on searches, on what comes unasked, and when they are written."""

import math
from functools import partial

import pytest

from ai_lessons.app import editing, entries, health, lessons, link_effects, linking
from ai_lessons.app.answers import Context, ContextQuery
from ai_lessons.errors import Conflict
from ai_lessons.telling.context import context as context_of
from app.world import LESSON, OTHER, World, lesson

THIRD = "01JD3Z8QK5W7M2X9V4T6TTT333"


def place(
    world: World, *lessons: tuple[str, str, str], project: str = "global", **more: str
) -> None:
    """Lessons about workflows: id, title, and links as `relation target` with commas."""
    for entry_id, title, links in lessons:
        lines = "".join(
            f"\n  - {one.strip().replace(' ', ': ')}" for one in links.split(",") if one.strip()
        )
        extra = {"links": lines} if lines else {}
        text = lesson(entry_id, f"Workflow {title}", "The workflow is replaced.\n", **extra, **more)
        world.write(f"{project}/lessons/{entry_id}.md", text)
    world.commit()


def titles(world: World, **more: object) -> list[str]:
    return [title.removeprefix("Workflow ") for title in world.found("workflow replaced", **more)]


def context(world: World, **more: object) -> Context:
    return context_of(world.library, ContextQuery(**more))  # type: ignore[arg-type]  # a test's keys


def reasons(found: Context) -> dict[str, tuple[str, str]]:
    return {one.entry.id: (one.reason, one.detail) for one in found.left_out}


def test_with_all_the_superseded_come_with_less_score(world: World) -> None:
    place(world, (LESSON, "one", ""), (OTHER, "two", f"supersedes {LESSON}"))
    hits = world.search("workflow replaced", every=True, explain=True).lessons
    assert [hit.entry.id for hit in hits] == [OTHER, LESSON]
    assert hits[1].factors["superseded"] < 1
    assert hits[1].entry.score == pytest.approx(math.prod(hits[1].factors.values()))


def test_what_supersedes_and_is_wrong_hides_nothing(world: World) -> None:
    place(world, (LESSON, "one", ""))
    place(world, (OTHER, "two", f"supersedes {LESSON}"), status="wrong")
    assert titles(world) == ["one"]


def test_the_superseded_take_no_places(world: World) -> None:
    place(world, *((f"01JD3Z8QK5W7M2X9V4T6AAAA{n:02d}", "old", "") for n in range(10)))
    olds = ", ".join(f"supersedes 01JD3Z8QK5W7M2X9V4T6AAAA{n:02d}" for n in range(10))
    place(world, (LESSON, "new", olds), (OTHER, "beside", ""))
    assert set(titles(world, limit=2)) == {"new", "beside"}


def test_both_sides_of_a_contradiction_are_shown_with_a_note(world: World) -> None:
    place(world, (LESSON, "one", ""), (OTHER, "two", f"contradicts {LESSON}"))
    answer = world.search("workflow replaced")
    assert len(answer.lessons) == 2
    pair = {
        "[L-8F3K2A] and [L-QQQ111] contradict each other",
        "[L-QQQ111] and [L-8F3K2A] contradict each other",
    }
    assert len(pair & set(answer.notes)) == 1


def test_what_is_related_to_a_result_is_offered_beside_it(world: World) -> None:
    world.write("a/docs/port.md", "# Port\n\nAbout winemaking.\n")
    world.write("b/docs/cork.md", "# Cork\n\nOf oaks.\n")
    world.write("c/docs/oak.md", "# Oak\n\nOf trees.\n")
    link = partial(linking.link, world.library)
    link("a/docs/port.md", "b/docs/cork.md", "related_to")
    link("c/docs/oak.md", "b/docs/cork.md", "related_to")
    summary = {one.title: one for one in entries.list_entries(world.library).entries}
    offered = f"see also: {summary['Cork'].handle} Cork (related to {summary['Port'].handle})"
    assert offered in world.search("winemaking", project="a").notes
    assert not [
        note
        for note in world.search("oaks trees winemaking", every=True).notes
        if "see also" in note
    ]


def test_of_a_contradiction_only_the_nearer_comes_unasked(world: World) -> None:
    place(world, (LESSON, "everywhere", ""))
    place(world, (OTHER, "here", f"contradicts {LESSON}"), project="jira")
    for one in (LESSON, OTHER):
        editing.update(world.library, one, tags=["api"])
    found = context(world, project="jira", context_tags={"api": 9.0})
    assert [summary.id for summary in found.lessons] == [OTHER]
    assert reasons(found) == {
        LESSON: ("contradicts", "contradicts [L-QQQ111], which is nearer or surer")
    }


def test_the_general_is_not_repeated_beside_the_special(world: World) -> None:
    place(world, (LESSON, "general", ""), (OTHER, "special", f"specializes {LESSON}"))
    found = context(world)
    assert [summary.id for summary in found.lessons] == [OTHER]
    assert reasons(found) == {LESSON: ("specialized", "[L-QQQ111] says it for this case")}


@pytest.mark.parametrize("relation", ["supersedes", "derived_from", "specializes"])
def test_a_link_that_closes_a_circle_is_refused(world: World, relation: str) -> None:
    place(
        world,
        (LESSON, "one", ""),
        (OTHER, "two", f"{relation} {LESSON}"),
        (THIRD, "three", f"{relation} {OTHER}"),
    )
    before = world.commits()
    with pytest.raises(Conflict, match="circle"):
        linking.link(world.library, LESSON, THIRD, relation)
    assert world.commits() == before
    linking.link(world.library, LESSON, THIRD, "related_to")


def test_marking_wrong_and_taking_it_back_are_events(world: World) -> None:
    place(world, (LESSON, "one", ""), (OTHER, "two", ""))
    editing.update(world.library, LESSON, status="wrong")
    editing.update(world.library, LESSON, status="active")
    editing.update(world.library, LESSON, status="active", title="Another")
    lessons.wrong(world.library, OTHER, "not so")
    lessons.wrong(world.library, OTHER, "really not so")
    log = next((world.root / ".git/ai-lessons/events").glob("*.jsonl")).read_text()
    assert (log.count('"wrong"'), log.count('"restored"')) == (2, 1)


def test_a_lesson_that_says_the_opposite_brings_a_suggestion_and_no_link(world: World) -> None:
    old = world.add(
        "PUT", when="updating a Jira workflow", do="GET it first", because="PUT replaces it"
    )
    new = world.add(
        "PUT again", when="updating a jira workflow", dont="GET it first", because="PATCH is there"
    )
    (note,) = new.notes
    assert note.startswith(f"[{old.handle}] says the opposite for the same case")
    assert note.endswith(
        f"ai-lessons contribute link {new.handle} {old.handle} --relation contradicts"
    )
    assert entries.related(world.library, new.id) == ()


@pytest.mark.parametrize(
    ("when", "do", "dont"),
    [
        ("updating a Jira workflow", "GET it first", None), ("deleting an old branch", None, "GET it first"),
        ("updating a Jira workflow", None, "ask anybody for permission"),
    ],
)  # fmt: skip
def test_another_case_or_another_action_brings_none(
    world: World, when: str, do: str | None, dont: str | None
) -> None:
    world.add("PUT", when="updating a Jira workflow", do="GET it first", because="PUT replaces it")
    assert world.add("PUT again", when=when, do=do, dont=dont, because="it is so").notes == ()


def test_what_is_superseded_makes_way_over_a_whole_chain(world: World) -> None:
    place(
        world,
        (LESSON, "one", ""),
        (OTHER, "two", f"supersedes {LESSON}"),
        (THIRD, "three", f"supersedes {OTHER}"),
    )
    assert titles(world) == ["three"]
    found = context(world)
    assert [summary.id for summary in found.lessons] == [THIRD]
    by = ("superseded", "superseded by [L-TTT333]")
    assert reasons(found) == {LESSON: by, OTHER: by}
    listing = entries.list_entries(world.library)
    assert ([summary.id for summary in listing.entries], listing.total) == ([THIRD], 1)
    assert entries.list_entries(world.library, limit=0).total == 1
    every = entries.list_entries(world.library, status=None).entries
    assert {summary.id for summary in every} == {LESSON, OTHER, THIRD}
    lessons.wrong(world.library, THIRD)
    assert [summary.id for summary in entries.list_entries(world.library).entries] == [OTHER]


def test_topics_are_entries_that_hang_together_over_related_to(world: World) -> None:
    place(
        world,
        (LESSON, "one", f"related_to {OTHER}"),
        (OTHER, "two", ""),
        (THIRD, "three", f"contradicts {LESSON}"),
    )
    assert link_effects.graph(world.library).clusters == ()
    assert health.stats(world.library).clusters == ()
    linking.link(world.library, THIRD, OTHER, "related_to")
    assert [set(one) for one in link_effects.graph(world.library).clusters] == [
        {LESSON, OTHER, THIRD}
    ]
    assert health.stats(world.library).clusters == (3,)
