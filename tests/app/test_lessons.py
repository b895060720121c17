from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import editing, entries, history_of_entries, lessons, linking, validation
from ai_lessons.app.written import LessonDraft
from ai_lessons.errors import InvalidEntry, NotFound, Refused, UsageError
from ai_lessons.model.entries import Kind
from ai_lessons.model.lessons import parse
from app.world import LESSON, OTHER, SCRIPT, World, lesson, listed_lessons
from real_world import put_file


def test_a_new_lesson_is_a_file_a_commit_and_an_entry(world: World) -> None:
    made = world.add(
        "PUT replaces the workflow", "Seen twice.", tags=["jira", "api"], project="jira-api"
    )
    assert made.path.startswith("jira-api/lessons/2026-11/put-replaces-the-workflow-")
    assert made.handle == f"L-{made.id[-6:]}"
    assert made.commit == world.git(world.root, "rev-parse", "HEAD")
    assert world.commits()[0] == "Add lesson: PUT replaces the workflow"
    assert world.read(made.path) == (
        f"---\nid: {made.id}\nkind: lesson\ntitle: PUT replaces the workflow\ntags:\n  - api\n  - jira\n"
        "confidence: medium\nsource: observed\nfrom: user\nstatus: active\ncreated: 2026-11-21T20:14:00Z\n---\n"
        "Seen twice.\n"
    )
    assert world.status() == ""
    assert entries.show(world.library, made.handle).entry.title == made.title


def test_the_commit_says_which_agent_wrote_for_which_person(world: World) -> None:
    library = world.fresh(agent="claude", session="s-1")
    made = editing.add_lesson(library, LessonDraft("By an agent"))
    trailers = world.git(world.root, "log", "-1", "--format=%(trailers)").splitlines()
    assert trailers == [f"Entry: {made.id}", "Agent: claude", "Session: s-1"]
    (revision,) = history_of_entries.log(library, made.handle)
    assert dict(revision.trailers)["Agent"] == "claude"
    assert revision.author == "Test Person"


def test_an_update_touches_only_what_it_is_about_and_says_when_nothing_changes(
    world: World,
) -> None:
    made = world.add("tagged", "Body.", tags=["b", "d"])
    done = editing.update(world.library, made.handle, add_tags=["c"], remove_tags=["d"])
    assert world.git(world.root, "show", "--format=", "--numstat").split()[:2] == ["1", "1"]
    assert done.id == made.id
    assert entries.show(world.library, made.id).entry.tags == ("b", "c")
    editing.update(world.library, made.id, tags=[])
    assert "tags" not in world.read(made.path)
    head = world.read(made.path).removesuffix("Body.\n")
    editing.update(world.library, made.id, content="New\n\ntext")
    assert world.read(made.path) == head + "New\n\ntext\n"
    done = editing.update(world.library, made.id, tags=[], title="tagged")
    assert (done.commit, "nothing changed" in done.notes) == (None, True)
    with pytest.raises(UsageError, match="nothing to change"):
        editing.update(world.library, made.id)


def test_update_refuses_what_breaks_the_format(world: World) -> None:
    made = world.add("fine")
    before = world.read(made.path)
    wrong: list[dict[str, Any]] = [{"confidence": "sure"}, {"title": "  "}, {"status": "gone"}]
    for said in wrong:
        with pytest.raises(InvalidEntry, match=next(iter(said))):
            editing.update(world.library, made.id, **said)
    assert world.read(made.path) == before


def test_another_project_moves_the_file_and_keeps_the_id(world: World) -> None:
    made = world.add("movable", project="old")
    done = editing.update(world.library, made.id, project="new")
    assert done.path == made.path.replace("old/", "new/")
    assert done.id == made.id
    assert not (world.root / "old").exists()
    assert world.status() == ""
    assert [r.subject for r in history_of_entries.log(world.library, made.id)] == [
        "Update lesson: movable",
        "Add lesson: movable",
    ]
    with pytest.raises((Refused, UsageError)):
        editing.update(world.library, made.id, project="a/b")


def test_an_updated_plain_file_gets_its_id_written_down(world: World) -> None:
    text = "# A plain note\r\n\r\nwith CRLF\r\n"
    world.committed("notes/a.md", text)
    (summary,) = entries.list_entries(world.library).entries
    done = editing.update(world.library, "notes/a.md", add_tags=["kept"])
    assert done.id == summary.id
    assert world.read("notes/a.md").endswith(text)
    assert f"id: {summary.id}" in world.read("notes/a.md")
    (world.root / "notes/a.md").rename(world.root / "notes/b.md")
    assert entries.show(world.library, summary.id).entry.path == "notes/b.md"


def test_an_updated_plain_script_gets_a_side_file(world: World) -> None:
    world.committed("p/scripts/v1/go.sh", "#!/bin/sh\n# Says hello.\necho hello\n")
    done = editing.update(world.library, "p/scripts/v1/go.sh", title="Greeter")
    assert done.title == "Greeter"
    side = world.read("p/scripts/v1/go.sh.md")
    assert "title: Greeter\n" in side
    assert world.read("p/scripts/v1/go.sh") == "#!/bin/sh\n# Says hello.\necho hello\n"
    assert validation.validate(world.library).problems == ()


def test_edit_hands_out_the_text_and_commits_what_comes_back(world: World) -> None:
    made = world.add("edited", "Before.")
    before = world.read(made.path)
    seen = []

    def editor(text: str, suffix: str) -> str:
        seen.append((text, suffix))
        return text.replace("Before.", "After.")

    assert editing.edit(world.library, made.id, lambda text, _: text) is None
    assert editing.edit(world.library, made.id, lambda _text, _suffix: None) is None, "given up"
    assert len(world.commits()) == 2
    done = editing.edit(world.library, made.handle, editor)
    assert seen == [(before, ".md")]
    assert done is not None
    assert done.commit
    assert world.commits()[0] == "Edit lesson: edited"
    assert entries.show(world.library, made.id).body == "After.\n"


def giving(text: str) -> Callable[[str, str], str]:
    """An editor that gives this text back."""
    return lambda _text, _suffix: text


def test_an_invalid_edit_is_refused_and_not_written(world: World) -> None:
    made = world.add("edited", "Before.")
    before = world.read(made.path)
    for old, new in (
        ("confidence: medium", "confidence: sure"),
        ("title: edited", "title: [unclosed"),
    ):
        with pytest.raises(InvalidEntry, match=made.path):
            editing.edit(world.library, made.id, giving(before.replace(old, new)))
    assert world.read(made.path) == before
    assert len(world.commits()) == 2


def test_an_edit_changes_neither_what_an_entry_is_nor_its_id(world: World) -> None:
    world.write("p/lessons/a.md", lesson())
    before = world.read("p/lessons/a.md")
    for old, new in (
        ("kind: lesson", "kind: rule\nrationale: because"), ("kind: lesson", "kind: doc"), (LESSON, OTHER),
        (f"id: {LESSON}\n", ""), ("---\nSeen", "Seen"),
    ):  # fmt: skip
        with pytest.raises((Refused, UsageError)) as error:
            editing.edit(world.library, LESSON, giving(before.replace(old, new)))
        assert error.value.hint
    assert world.read("p/lessons/a.md") == before


def test_a_plain_file_may_say_in_an_edit_what_it_is(world: World) -> None:
    world.write("notes/a.md", "# Plain\n")
    done = editing.edit(
        world.library, "notes/a.md", lambda text, _: f"---\nkind: lesson\ntitle: Plain\n---\n{text}"
    )
    assert done is not None
    assert done.kind is Kind.LESSON


def test_delete_takes_a_script_with_its_side_file_and_none_that_lives_elsewhere(
    world: World, tmp_path: Path
) -> None:
    world.write("p/scripts/v1/go.sh", "#!/bin/sh\n")
    world.committed("p/scripts/v1/go.sh.md", f"---\nid: {SCRIPT}\nkind: script\ntitle: go\n---\n")
    outside = put_file(tmp_path / "go.sh", "#!/bin/sh\n")
    side = f"---\nid: {OTHER}\nkind: script\ntitle: out\npath: {outside}\n---\n"
    world.committed("p/scripts/v1/out.sh.md", side)
    editing.delete(world.library, [SCRIPT, OTHER])
    assert world.git(world.root, "ls-files") == "README.md"
    assert not (world.root / "p").exists()
    assert outside.exists()
    assert (world.titles(), world.status()) == ([], "")


def test_a_delete_with_one_wrong_name_deletes_nothing(world: World) -> None:
    made = world.add("stays")
    with pytest.raises(NotFound, match="nonsense"):
        editing.delete(world.library, [made.id, "nonsense"])
    assert world.titles() == ["stays"]


def test_a_symmetric_link_is_one_link_from_both_sides(world: World) -> None:
    a, b = world.add("a"), world.add("b")
    linking.link(world.library, a.id, b.id, "related_to")
    linking.link(world.library, b.id, a.id, "related_to", 2)
    for one, other in ((a, b), (b, a)):
        (found,) = entries.related(world.library, one.id)
        assert (found.target, found.relation, found.weight) == (other.id, "related_to", 2.0)
    linking.unlink(world.library, a.id, b.id)
    assert entries.related(world.library, a.id) == entries.related(world.library, b.id) == ()


def test_unlink_takes_one_relation_or_all(world: World) -> None:
    a, b = world.add("a"), world.add("b")
    for relation in ("derived_from", "supersedes", "contradicts"):
        linking.link(world.library, a.id, b.id, relation)
    linking.unlink(world.library, a.id, b.id, "derived_from")
    assert {r.relation for r in entries.related(world.library, a.id)} == {
        "supersedes",
        "contradicts",
    }
    with pytest.raises(NotFound) as error:
        linking.unlink(world.library, a.id, b.id, "derived_from")
    assert "related" in error.value.hint
    linking.unlink(world.library, a.id, b.id)
    assert entries.related(world.library, a.id) == ()


def test_an_edit_may_not_add_a_link_between_wrong_kinds_but_may_leave_one_that_is_there(
    world: World,
) -> None:
    world.write("p/lessons/a.md", lesson(links=f"\n  - has_script: {OTHER}"))
    world.write("p/lessons/b.md", lesson(OTHER, "Other"))
    edit = partial(editing.edit, world.library)
    with pytest.raises(UsageError, match="proves leads from a lesson to a rule"):
        edit(LESSON, lambda text, _: text.replace("has_script:", "proves:"))
    assert "has_script" in world.read("p/lessons/a.md")
    assert edit(LESSON, lambda text, _: text + "More.\n") is not None
    (problem,) = validation.validate(world.library).problems
    assert (
        "has_script leads from any entry to a script, not from a lesson to a lesson"
        in problem.message
    )


def test_handles_ends_ids_and_paths_name_an_entry(world: World) -> None:
    world.write("p/lessons/a.md", lesson())
    library = world.fresh(cwd=world.root / "p")
    paths = (
        "p/lessons/a.md",
        "lessons/a.md",
        "./lessons/../lessons/a.md",
        str(world.root / "p/lessons/a.md"),
    )
    for ref in (LESSON, LESSON.lower(), "L-8F3K2A", "8f3k2a", *paths):
        assert entries.show(library, ref).entry.id == LESSON, ref


READ_FIRST = parse("WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions")


def test_a_lesson_that_was_wrong_is_told_to_who_repeats_it_and_can_be_made_active_again(
    world: World,
) -> None:
    first = lessons.add(world.library, READ_FIRST)
    lessons.wrong(world.library, first.handle, "plainly false")
    assert lessons.wrong(world.library, first.handle, "too specific").change == "wrong"
    assert entries.show(world.library, first.handle).frontmatter["reason"] == "too specific"
    before = world.commits()
    assert lessons.wrong(world.library, first.handle).change == "unchanged"
    assert world.commits() == before
    again = lessons.add(world.library, READ_FIRST)
    assert again.change == "added"
    assert again.notes == (f"{first.handle} says the same and was marked wrong: too specific",)
    editing.update(world.library, first.handle, status="active")
    assert {one.handle for one in listed_lessons(world.library).entries} == {
        first.handle,
        again.handle,
    }
