"""Feedback from the first word to the numbers that other jobs show."""

from pathlib import Path

import pytest

from ai_lessons.app import editing, entries, history_of_entries, lessons, outdated, sharing
from ai_lessons.app.answers import ContextQuery
from ai_lessons.app.workspace import Library
from ai_lessons.errors import UnsupportedRepository, UsageError
from ai_lessons.features.learning import jobs
from ai_lessons.git.event_log import FOLDER
from ai_lessons.model import config
from ai_lessons.telling import context
from app.test_secret_gate import SECRET
from app.test_statements import PATTERN, only
from app.test_tiers import ALL, FROM_ACME, Here, here
from app.world import DOC, LESSON, OTHER, CountingEmbedder, World, lesson, usage_of

__all__ = ["here"]


def place(world: World, **more: str) -> None:
    world.committed("global/lessons/a.md", lesson(**more))


def test_feedback_moves_the_confidence_that_the_author_gave_as_show_and_why_say(
    world: World,
) -> None:
    place(world, confidence="high")
    usage = usage_of(world.library, LESSON)
    assert (usage.tallies.helpful, usage.confidence, usage.tallies.last_used) == (0, 0.7, "")
    said = jobs.feedback(world.library, LESSON, "helpful").usage
    assert (said.tallies.helpful, said.alpha, said.beta) == (1, 2.4, 0.6)
    said = jobs.feedback(world.library, LESSON, "contradicted").usage
    assert (said.alpha, said.beta) == (2.4, 2.1)
    said = jobs.feedback(world.fresh(), LESSON, "ignored", note="not this time").usage
    assert (said.tallies.ignored, said.alpha, said.beta) == (1, 2.4, 2.2)
    assert said.confidence == pytest.approx(2.4 / 4.6)
    assert said.tallies.last_used == "2026-11-21T20:14:00Z"
    assert (
        entries.show(world.fresh(), LESSON).usage
        == history_of_entries.why(world.library, LESSON).usage
        == said
    )
    world.committed(
        "global/docs/unversioned/a.md", f"---\nid: {DOC}\nkind: doc\ntitle: A doc\n---\nText.\n"
    )
    assert jobs.feedback(world.library, DOC, "ignored").usage.tallies.ignored == 1
    assert entries.show(world.library, DOC).usage is None


def test_what_was_learned_moves_a_lesson_in_a_search_a_little(
    world: World, embedder: CountingEmbedder
) -> None:
    world.write(
        "global/lessons/a.md", lesson(LESSON, "Workflow one", "The workflow is replaced.\n")
    )
    world.committed(
        "global/lessons/b.md", lesson(OTHER, "Workflow two", "The workflow is replaced.\n")
    )
    for _ in range(4):
        jobs.feedback(world.library, OTHER, "helpful")
        jobs.feedback(world.library, LESSON, "contradicted")
    hits = world.search("workflow replaced", explain=True).lessons
    assert [hit.entry.id for hit in hits] == [OTHER, LESSON]
    up, down = (hit.factors["standing"] for hit in hits)
    assert up > 1 > down


def test_a_lesson_that_was_derived_begins_with_what_its_parent_proved(world: World) -> None:
    world.write("global/lessons/a.md", lesson(LESSON))
    world.committed("global/lessons/b.md", lesson(OTHER, links=f"\n  - derived_from: {LESSON}"))
    for _ in range(18):
        jobs.feedback(world.library, LESSON, "helpful")
    assert (
        0.8 < usage_of(world.library, OTHER).confidence < usage_of(world.library, LESSON).confidence
    )


def shared(world: World) -> list[str]:
    return world.git(world.root, "ls-files", FOLDER).splitlines()


def test_events_are_shared_by_a_commit_of_their_own_when_enough_of_them_wait(world: World) -> None:
    place(world)
    jobs.feedback(world.library, LESSON, "helpful")
    world.add("Another lesson", "Text.")
    assert shared(world) == []
    for _ in range(26):
        jobs.feedback(world.library, LESSON, "helpful", note="n" * 500)
    world.add("A third lesson", "Text.")
    assert world.commits()[:2] == ["Add lesson: A third lesson", "Record events"]
    assert len(shared(world)) == 1
    assert world.status() == ""


def test_save_shares_what_waits_however_little(world: World) -> None:
    place(world)
    jobs.feedback(world.library, LESSON, "helpful")
    commits, notes = sharing.save(world.library)
    assert (len(commits), [note.partition(" ")[2] for note in notes]) == (
        1,
        ["holds recorded events, no entry"],
    )
    assert world.commits()[0] == "Record events"
    assert len(shared(world)) == 1
    assert sharing.save(world.library) == ((), ())


def test_where_they_are_local_or_commits_are_the_users_events_are_not_shared_unless_asked_for(
    world: World,
) -> None:
    place(world)
    jobs.feedback(world.library, LESSON, "helpful")
    ways = {
        "events: local": False,
        "autocommit: false": False,
        "autocommit: false\n  events: shared": True,
    }
    for settings, waits in ways.items():
        world.committed(".ai-lessons/config.yaml", f"git:\n  {settings}\n")
        sharing.save(world.library)
        assert shared(world) == []
        assert (FOLDER in world.status()) is waits


def test_another_clone_knows_what_was_shared(world: World, tmp_path: Path) -> None:
    place(world)
    jobs.feedback(world.library, LESSON, "helpful")
    sharing.save(world.library)
    world.git(tmp_path, "clone", "-q", str(world.root), "clone")
    with Library(tmp_path / "clone", world.options) as theirs:
        usage = jobs.feedback(theirs, LESSON, "ignored").usage
        assert (usage.tallies.helpful, usage.tallies.ignored) == (1, 1)
        sharing.save(theirs)
    world.git(world.root, "pull", "-q", str(tmp_path / "clone"))
    told = usage_of(world.library, LESSON)
    assert (told.tallies.helpful, told.tallies.ignored) == (1, 1)


def test_a_link_in_the_way_of_events_stops_no_write(world: World, tmp_path: Path) -> None:
    place(world)
    jobs.feedback(world.library, LESSON, "helpful")
    (world.root / ".ai-lessons").mkdir(exist_ok=True)
    (world.root / FOLDER).symlink_to(tmp_path)
    world.add("Another lesson", "Text.")
    _, notes = sharing.save(world.library)
    assert "events are not shared" in notes[0]


def test_undo_takes_back_the_job_and_not_the_events_that_came_after_it(world: World) -> None:
    place(world)
    world.add("Another lesson", "Text.")
    jobs.feedback(world.library, LESSON, "helpful")
    sharing.save(world.library)
    sharing.undo(world.library, 1)
    assert world.titles() == ["PUT replaces the workflow"]
    assert len(shared(world)) == 1


def test_an_agents_contradiction_of_a_firm_lesson_is_a_question_until_a_person_has_looked(
    world: World,
) -> None:
    made = lessons.add(world.library, PATTERN, by="user")
    editing.update(world.fresh(agent="bot"), made.id, add_tags=["git"])
    assert only(world).origin.firm, "it silences nothing"
    said = jobs.feedback(
        world.fresh(agent="bot"), made.id, "contradicted", "the hub does not check"
    )
    assert (said.usage.tallies.contradicted, "kept as a question" in said.notes[0]) == (0, True)
    (asked,) = outdated.review(world.fresh())
    assert asked.detail == "an agent asks: bot says that it is contradicted: the hub does not check"
    editing.keep(world.fresh(), made.id)
    assert outdated.review(world.fresh()) == ()


def test_no_record_of_use_keeps_a_firm_lesson_away_because_anybody_can_push_records(
    world: World,
) -> None:
    made = lessons.add(world.library, PATTERN, by="user")
    drafted = world.add("Drafted", "Text.", origin="ai")
    for _ in range(5):
        for one in (made.id, drafted.id):
            jobs.feedback(world.fresh(), one, "contradicted")
    found = context.context(world.fresh(), ContextQuery(budget=9))
    assert [summary.id for summary in found.lessons] == [made.id]


def test_a_note_of_feedback_with_a_secret_is_refused(world: World) -> None:
    made = world.add("A lesson")
    with pytest.raises(UsageError, match="note"):
        jobs.feedback(world.library, made.id, "helpful", SECRET)
    assert jobs.feedback(world.library, made.id, "helpful", "With the key of the sandbox.")


def test_feedback_counts_where_the_entry_lies(here: Here) -> None:
    library = here.reading(*ALL)
    for entry_id in (LESSON, OTHER, FROM_ACME):
        jobs.feedback(library, entry_id, "helpful")
        assert usage_of(library, entry_id).tallies.helpful == 1
    assert here.git(here.root("project"), "status", "--porcelain") == ""


def test_what_does_not_come_is_in_nobodys_way(world: World) -> None:
    world.committed(f"global/lessons/{LESSON}.md", lesson())
    world.committed(
        f"global/lessons/{OTHER}.md", lesson(OTHER, "special", links=f"\n  - specializes: {LESSON}")
    )
    asked = ContextQuery(budget=9)
    assert [one.id for one in context.context(world.library, asked).lessons] == [OTHER]
    jobs.feedback(world.library, OTHER, "contradicted")
    assert [one.id for one in context.context(world.library, asked).lessons] == [LESSON]


def test_a_repository_of_a_newer_program_takes_no_feedback_and_forgets_nothing(
    world: World,
) -> None:
    world.committed(f"global/lessons/{LESSON}.md", lesson())
    world.committed(".ai-lessons/config.yaml", f"format: {config.FORMAT + 1}\n")
    with pytest.raises(UnsupportedRepository):
        jobs.feedback(world.library, LESSON, "helpful")
    with pytest.raises(UnsupportedRepository):
        jobs.params_reset(world.library, "injection_budget")
