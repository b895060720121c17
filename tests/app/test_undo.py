"""Jobs taken back: all or none, and decisions about rules not at all."""

from pathlib import Path

import pytest

from ai_lessons.app import editing, proposals, review, sharing
from ai_lessons.app.written import RuleDraft
from ai_lessons.errors import Conflict, NotFound, Refused, UnsavedEdits
from app.world import World


def test_an_added_lesson_is_gone_again_and_git_knows_why(world: World) -> None:
    made = world.add("First")
    world.committed("p/notes.md", "mine\n")  # no job of ours
    before = world.read(made.path)
    editing.update(world.library, made.handle, confidence="high")
    sharing.undo(world.library)
    assert world.read(made.path) == before
    (done,) = sharing.undo(world.library)
    assert (done.undone, done.subject, done.paths) == (
        made.commit,
        "Add lesson: First",
        (made.path,),
    )
    assert not (world.root / made.path).exists()
    assert "First" not in world.titles()
    message = world.git(world.root, "log", "-1", "--format=%B")
    assert message == f"Undo: Add lesson: First\n\nUndoes: {made.commit}"
    assert (world.status(), world.read("p/notes.md")) == ("", "mine\n")
    with pytest.raises(NotFound, match="no job to undo") as caught:
        sharing.undo(world.library)
    assert "made here" in caught.value.hint


def test_several_jobs_are_undone_newest_first_also_where_they_changed_the_same_file(
    world: World,
) -> None:
    made = world.add("First")
    editing.update(world.library, made.handle, confidence="high")
    editing.update(world.library, made.handle, confidence="low")
    done = sharing.undo(world.library, 3)
    assert [one.subject for one in done] == [
        "Update lesson: First",
        "Update lesson: First",
        "Add lesson: First",
    ]
    assert not (world.root / made.path).exists()
    assert world.commits()[:2] == ["Undo: 3 jobs", "Update lesson: First"]
    message = world.git(world.root, "log", "-1", "--format=%B")
    assert [line for line in message.split("\n") if line.startswith("Undoes: ")] == [
        f"Undoes: {job.undone}" for job in done
    ]
    with pytest.raises(NotFound, match="no job to undo"):
        sharing.undo(world.library)


def test_later_edits_of_other_keys_stay_and_those_of_the_same_stop_everything(world: World) -> None:
    made = world.add("First", "Text.\n")
    editing.update(world.library, made.handle, confidence="high")
    text = world.read(made.path)
    world.committed(made.path, text.replace("Text.", "More text."))
    sharing.undo(world.library)
    assert "confidence: medium" in world.read(made.path)
    assert "More text." in world.read(made.path)
    with pytest.raises(Conflict, match="was changed again after “Add lesson: First”"):
        sharing.undo(world.library)
    assert "More text." in world.read(made.path)


def test_several_jobs_are_undone_all_or_none(world: World) -> None:
    made = world.add("First")
    world.committed(made.path, world.read(made.path) + "By hand.\n")
    second = world.add("Second")
    before = world.git(world.root, "rev-parse", "HEAD")
    with pytest.raises(Conflict):
        sharing.undo(world.library, 2)
    assert world.git(world.root, "rev-parse", "HEAD") == before
    assert (world.root / second.path).exists()


def test_edits_that_are_in_no_commit_are_not_overwritten(world: World) -> None:
    made = world.add("First")
    world.write(made.path, world.read(made.path) + "By hand.\n")
    with pytest.raises(UnsavedEdits, match="has edits that are in no commit"):
        sharing.undo(world.library)
    assert world.read(made.path).endswith("By hand.\n")


def test_what_waits_is_no_job_that_could_be_undone_yet(world: World) -> None:
    world.git(world.root, "checkout", "-q", "--detach")
    world.add("First")
    with pytest.raises(Refused, match="is in no commit yet, because HEAD is detached"):
        sharing.undo(world.library)


def test_a_decision_about_a_rule_is_never_undone(world: World) -> None:
    first = world.add("First")
    draft = RuleDraft("GET before PUT", "PUT replaces all", "Send all of it back.")
    made = proposals.suggest_rule(world.fresh(agent="claude"), draft)
    review.approve_rule(world.fresh(), made.handle)
    again = world.add("Second")
    assert sharing.undo(world.library)[0].undone == again.commit
    (before,) = sharing.undo(world.fresh())
    assert before.undone == first.commit
    assert (
        before.notes[0]
        == "“Approve rule: GET before PUT” stays: decisions about rules are not undone"
    )
    assert list((world.root / "global/rules").iterdir())
    with pytest.raises(Refused, match=r"a decision \(Approve rule: GET before PUT\)") as caught:
        sharing.undo(world.fresh())
    assert "contribute delete ID" in caught.value.hint


def test_the_first_commit_of_a_repository_can_be_undone_too(world: World) -> None:
    world.git(world.root, "update-ref", "-d", "HEAD")
    world.git(world.root, "rm", "-q", "-r", "--cached", ".")
    made = world.add("First")
    assert world.commits() == ["Add lesson: First"]
    assert sharing.undo(world.library)[0].undone == made.commit
    assert not (world.root / made.path).exists()


def test_a_job_of_another_machine_of_the_same_person_is_not_undone_here(
    world: World, tmp_path: Path
) -> None:
    hub, laptop = tmp_path / "hub.git", tmp_path / "laptop"
    here = world.add("Of the desktop")
    world.git(tmp_path, "init", "-q", "--bare", str(hub))
    world.git(world.root, "remote", "add", "origin", str(hub))
    world.git(world.root, "push", "-q", "-u", "origin", "main")
    world.git(tmp_path, "clone", "-q", str(hub), str(laptop))
    message = "Add lesson: Of the laptop\n\nEntry: 01JD3Z8QK5W7M2X9V4T67LAPTP\nAgent: a"
    (laptop / "notes.md").write_text("x\n")
    world.git(laptop, "add", ".")
    world.git(laptop, "commit", "-q", "--no-verify", "-m", message)
    world.git(laptop, "push", "-q")
    for record in (world.root / ".git/ai-lessons/committed").iterdir():
        record.unlink()
    assert sharing.sync(world.library)  # a fast-forward
    later = world.add("Later")
    world.git(laptop, "commit", "-q", "--allow-empty", "--no-verify", "-m", message)
    world.git(laptop, "push", "-q")
    assert sharing.sync(world.library)  # a merge
    assert [job.undone for job in sharing.undo(world.library, 2)] == [later.commit, here.commit]
    assert (world.root / "notes.md").exists()
    with pytest.raises(NotFound) as caught:
        sharing.undo(world.library)
    assert "only jobs that were made here" in caught.value.hint


def test_jobs_that_share_one_move_of_the_branch_are_all_known_as_made_here(world: World) -> None:
    world.git(world.root, "checkout", "-q", "--detach")
    made = [world.add(title) for title in ("First", "Second", "Third")]
    world.git(world.root, "switch", "-q", "main")
    world.library.primary.store.save()
    for record in (world.root / ".git/ai-lessons/committed").iterdir():
        record.unlink()
    assert [job.paths[0] for job in sharing.undo(world.library, 3)] == [
        one.path for one in reversed(made)
    ]
