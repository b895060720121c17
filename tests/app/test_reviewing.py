"""What may have gone stale is found, only where it can be known, and rests once somebody looked at it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ai_lessons.app import (
    editing,
    outdated,
    proposals,
    review,
    validation,
)
from ai_lessons.app.written import LessonDraft, RuleDraft
from ai_lessons.model.events import Event
from app.world import LESSON, OTHER, SCRIPT, World, lesson
from real_world import Git, put_file


def place(world: World, entry_id: str = LESSON, project: str = "global", **more: str) -> None:
    world.committed(
        f"{project}/lessons/{entry_id}.md", lesson(entry_id, **more), message=f"lesson {entry_id}"
    )


def found(world: World) -> list[tuple[str, str, str]]:
    listed = outdated.review(world.library)
    return [(one.entry.id, one.reason, one.detail) for one in listed]


def happened(world: World, entry: str, *words: str) -> None:
    world.library  # noqa: B018 - opens it
    world.opened[-1].primary.events.record([Event("", "", word, entry) for word in words])


def later(world: World, day: str) -> None:
    moment = datetime.fromisoformat(day).replace(tzinfo=UTC)
    world.options = world.options._replace(now=lambda: moment)
    world.close()


@pytest.mark.parametrize(
    ("day", "due"),
    [("2026-11-20", True), ("2026-11-21", True), ("2026-11-22", False), ("soon", False)],
)
def test_a_day_of_review_that_has_come_is_named(world: World, day: str, due: bool) -> None:
    place(world, review_by=day)
    said = [(LESSON, "review_by", f"it was to be reviewed by {day}")]
    assert found(world) == (said if due else [])


def test_what_is_kept_rests_for_half_a_year_in_one_line_of_its_file(world: World) -> None:
    place(world, review_by="2026-10-01")
    before = world.read(f"global/lessons/{LESSON}.md")
    editing.keep(world.library, LESSON)
    after = world.read(f"global/lessons/{LESSON}.md")
    assert sorted(set(after.splitlines()) - set(before.splitlines())) == ["reviewed: 2026-11-21"]
    assert world.commits()[0].startswith("Keep lesson: ")
    assert found(world) == []
    world.committed("web/docs/notes.md", "# Notes\n\nText.\n")
    kept = editing.keep(world.library, "web/docs/notes.md")  # a plain file gets its identity, too
    text = world.read("web/docs/notes.md")
    assert text.startswith(f"---\nid: {kept.id}\n")
    assert "reviewed: 2026-11-21\n" in text
    assert text.endswith("# Notes\n\nText.\n")
    later(world, "2027-05-19")
    assert found(world) == []
    later(world, "2027-05-21")
    assert [reason for _, reason, _ in found(world)] == ["review_by"]


SAID = "Seen twice on the staging cluster, after the limit for open files was raised.\n"


def test_a_lesson_that_says_what_an_older_one_does_is_named_until_it_is_kept_or_superseded(
    world: World,
) -> None:
    place(world, title="Raise the limit first", body=SAID)
    place(world, OTHER, title="First raise the limits", body=SAID, project="shop")
    place(
        world,
        SCRIPT,
        title="Raise the limit of memory",
        body="Nothing else helped when the kernel ran out of it.\n",
    )
    handle = f"L-{LESSON[-6:]}"
    assert found(world) == [
        (OTHER, "repeats", f"close to {handle} 'Raise the limit first', 1.00: update it?")
    ]
    editing.keep(world.library, OTHER)
    assert found(world) == []
    place(
        world,
        OTHER,
        title="First raise the limits",
        body=SAID,
        links=f"\n  - supersedes: {LESSON}",
        project="shop",
    )
    assert found(world) == []


def test_lessons_that_were_wrong_or_superseded_are_not_asked_about(world: World) -> None:
    place(world, review_by="2026-10-01", status="wrong")
    assert found(world) == []
    place(world, review_by="2026-10-01")
    assert len(found(world)) == 1
    place(world, OTHER, links=f"\n  - supersedes: {LESSON}")
    assert found(world) == []


def code(git: Git, top: Path, *files: str) -> Path:
    top.mkdir(parents=True, exist_ok=True)
    if not (top / ".git").exists():
        git(top, "init", "-q")
    for name in files:
        put_file(top / name, "x\n")
    return top


GLOBS = '\n  - "src/**/*.py"\n  - "old/**"'


def test_globs_are_judged_by_the_code_of_that_name_that_one_stands_in(
    world: World, git: Git, tmp_path: Path
) -> None:
    place(world, project="web-app", applies_to=GLOBS)
    top = code(git, tmp_path / "Web_App", "src/a.py", "docs/old.md")
    elsewhere = code(git, tmp_path / "other", "a.py")
    assert found(world) == []  # outside of any code nothing is known
    world.options = world.options._replace(cwd=elsewhere)
    later(world, "2026-11-21")
    assert found(world) == []
    world.options = world.options._replace(cwd=top / "src")
    later(world, "2026-11-21")
    assert found(world) == [(LESSON, "applies_to", "applies_to old/** names no file of Web_App")]
    code(git, top, "old/new.py")
    assert found(world) == []
    (top / ".gitignore").write_text("old/\n")
    assert len(found(world)) == 1
    git(
        elsewhere, "remote", "add", "origin", "https://example.org/team/web-app.git"
    )  # called so by its remote
    world.options = world.options._replace(cwd=elsewhere)
    later(world, "2026-11-21")
    assert [detail.partition(" names ")[2] for _, _, detail in found(world)] == [
        "no file of other"
    ] * 2


def test_knowledge_inside_of_code_is_about_that_code(
    git: Git, tmp_path: Path, world: World
) -> None:
    top = code(git, tmp_path / "shop", "src/a.py", ".ai/reference/.ai-lessons/config.yaml")
    inner = World(top / ".ai/reference", git, world.options)
    inner.write(
        f"jira/lessons/{LESSON}.md",
        lesson(LESSON, applies_to='\n  - "*.py"\n  - "lessons/"\n  - "*.md"'),
    )
    try:
        assert (
            [detail for _, _, detail in found(inner)]
            == [
                "applies_to lessons/ names no file of shop",
                "applies_to *.md names no file of shop",  # files of the knowledge itself are not what it is about
            ]
        )
    finally:
        inner.close()


def test_what_is_to_be_reviewed_is_a_problem_only_when_asked_for(world: World) -> None:
    place(world, review_by="2026-10-01")
    path = f"global/lessons/{LESSON}.md"
    assert validation.validate(world.library).problems == ()
    (problem,) = validation.validate(world.library, content=True).problems
    assert (problem.path, problem.message) == (
        path,
        "to be reviewed: it was to be reviewed by 2026-10-01",
    )
    assert validation.validate(world.library, [path], content=True).problems == (problem,)
    world.write("web/lessons/b.md", lesson(OTHER, "Another one"))
    assert validation.validate(world.library, ["web"], content=True).problems == ()


def test_keeping_a_rule_is_a_proposal(world: World, git: Git, tmp_path: Path) -> None:
    git(world.root, "commit", "-qm", "begin", "--allow-empty")
    draft = RuleDraft("GET before PUT", "PUT replaces", "", [], "web", ["old/**"], [])
    made = proposals.suggest_rule(world.fresh(), draft)
    review.approve_rule(world.fresh(), made.handle)
    world.options = world.options._replace(cwd=code(git, tmp_path / "web", "a.py"))
    later(world, "2026-11-21")
    assert found(world) == [(made.id, "applies_to", "applies_to old/** names no file of web")]
    kept = editing.keep(world.library, made.id)
    assert kept.proposed_on
    assert len(found(world)) == 1
    review.approve_rule(world.fresh(), made.handle)
    assert found(world) == []


def test_what_an_agent_wrote_from_what_a_person_said_is_shown_with_the_quote_until_it_is_kept(
    world: World,
) -> None:
    said = "from now on round the sum, because the totals differ by a cent"
    for who, wrote in (("ai", True), ("user", False)):
        draft = LessonDraft(
            f"Round the sum ({who})", f"> {said}\n> (2026-11-28, session s)\n\nOnce.", origin=who
        )
        made = editing.add_lesson(world.library, draft)
        rows = [
            detail
            for entry, reason, detail in found(world)
            if (entry, reason) == (made.id, "quoted")
        ]
        assert rows == ([f'an agent wrote it from what a person said: "{said}"'] if wrote else [])
        editing.keep(world.fresh(), made.id)
        assert "quoted" not in {reason for _, reason, _ in found(world)}
