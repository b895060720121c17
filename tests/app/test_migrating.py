"""Versions of the file format: each that there was can be read, and brought to the newest one."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import (
    editing,
    entries,
    lessons,
    linking,
    migration,
    proposals,
    repository_settings,
    review,
    search,
    sharing,
    validation,
)
from ai_lessons.app.answers import Query
from ai_lessons.app.migration import migrate
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import LessonDraft, RuleDraft
from ai_lessons.errors import UnsavedEdits, UnsupportedRepository
from ai_lessons.model import config
from ai_lessons.model.config import STEPS, Migration, migrated_files
from ai_lessons.model.entries import Kind
from app.world import LESSON, RULE, SCRIPT, World
from real_world import Git

FORMATS = Path(__file__).parent / "formats"


def fixture(world: World, version: int) -> None:
    shutil.copytree(FORMATS / str(version), world.root, dirs_exist_ok=True)
    world.commit("fixture")


def test_there_is_a_repository_of_every_version_and_a_step_from_every_old_one() -> None:
    assert sorted(int(one.name) for one in FORMATS.iterdir()) == list(range(1, config.FORMAT + 1))
    assert sorted(STEPS) == list(range(1, config.FORMAT))


@pytest.mark.parametrize("version", range(1, config.FORMAT + 1))
def test_a_repository_of_that_version_becomes_one_of_the_newest_and_means_the_same(
    world: World, version: int
) -> None:
    fixture(world, version)
    done = migration.migrate(world.library)
    assert (done.old, done.new) == (version, config.FORMAT)
    assert validation.validate(world.library).problems == ()
    shown = entries.show(world.library, LESSON)
    assert shown.entry.stated.pattern.startswith("WHEN updating a workflow -> DO GET it first")
    assert [one.entry.id for one in shown.related if one.entry] == [SCRIPT]
    assert sorted(one.kind for one in entries.list_entries(world.library).entries) == [
        Kind.DOC, Kind.DOC, Kind.LESSON, Kind.SCRIPT,
    ]  # fmt: skip
    again = migration.migrate(world.library)
    assert (again.commit, again.snapshot, again.changed) == (None, None, ())


def seen_renamed(files: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
    """A made-up step: a word of every file changes, and plain notes are moved."""
    changed: dict[str, bytes | None] = {
        path: data.replace(b"workflow", b"flow")
        for path, data in files.items()
        if b"workflow" in data
    }
    return changed | (
        {"jira/notes.md": None, "jira/plain.md": files["jira/notes.md"]}
        if "jira/notes.md" in files
        else {}
    )


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> dict[int, Migration]:
    """A program that is one version ahead."""
    monkeypatch.setattr(config, "FORMAT", config.FORMAT + 1)
    return {config.FORMAT - 1: Migration("say flow", seen_renamed)}


def test_a_step_is_one_commit_after_a_tag_and_undo_takes_it_back(
    world: World, newer: dict[int, Migration], git: Git
) -> None:
    fixture(world, 1)
    before = git(world.root, "rev-parse", "HEAD")
    done = migrate(world.library, steps=newer)
    assert (done.old, done.new, done.steps) == (1, 2, ("say flow",))
    assert git(world.root, "rev-list", "--count", f"{before}..HEAD") == "1"
    assert git(world.root, "rev-parse", f"{done.snapshot}^{{}}") == before
    assert world.read(".ai-lessons/config.yaml") == "format: 2\n\ngit:\n  autocommit: true\n"
    assert "confidence: high # seen twice" in world.read(
        "jira/lessons/2026-11/put-replaces-the-workflow-8f3k2a.md"
    )
    assert (world.root / "jira/plain.md").exists()
    assert not (world.root / "jira/notes.md").exists()
    assert world.status() == ""
    assert "rules/" not in git(world.root, "diff", "--name-only", before, "HEAD")
    sharing.undo(world.library)
    assert git(world.root, "diff", "--stat", before, "HEAD") == ""


def test_edits_in_no_commit_stop_a_migration(world: World, newer: dict[int, Migration]) -> None:
    fixture(world, 1)
    path = "jira/docs/v3/workflows.md"
    world.write(path, world.read(path) + "Mine.\n")
    with pytest.raises(UnsavedEdits, match=r"workflows\.md has edits"):
        migrate(world.library, steps=newer)


def test_steps_follow_each_other_and_only_the_end_counts() -> None:
    steps = {
        1: Migration("a", lambda files: {path: data + b"a" for path, data in files.items()}),
        2: Migration("b", lambda files: {"x": None, "y": files["x"]}),
        3: Migration("back", lambda _: {"z": b"z"}),
    }
    assert migrated_files({"x": b"1", "z": b"0"}, 1, 4, steps) == {"x": None, "y": b"1a", "z": b"z"}
    assert migrated_files({"x": b"1"}, 4, 4, steps) == {}


def test_an_older_repository_is_read_but_not_written_before_it_is_migrated(
    world: World, newer: dict[int, Migration]
) -> None:
    fixture(world, 1)
    assert entries.show(world.library, LESSON).entry.title == "PUT replaces the workflow"
    assert config.parse_config("").format == 1, "no version is the first"
    with pytest.raises(UnsupportedRepository, match="format 1, this program writes 2") as caught:
        world.add("New")
    assert caught.value.hint == "ai-lessons admin migrate"


WRITES: dict[str, Callable[[Library, Path], object]] = {
    "add-lesson": lambda it, _: editing.add_lesson(it, LessonDraft("New")),
    "update": lambda it, _: editing.update(it, LESSON, title="Other"),
    "edit": lambda it, _: editing.edit(it, LESSON, lambda text, _: text + "More.\n"),
    "delete": lambda it, _: editing.delete(it, [LESSON]),
    "link": lambda it, _: linking.link(it, LESSON, SCRIPT, "related_to"),
    "unlink": lambda it, _: linking.unlink(it, LESSON, SCRIPT),
    "suggest-rule": lambda it, _: proposals.suggest_rule(it, RuleDraft("Do", "why")),
    "propose": lambda it, _: proposals.propose(it),
    "approve-rule": lambda it, _: review.approve_rule(it, RULE),
    "reject-rule": lambda it, _: review.reject_rule(it, RULE),
    "adopt": lambda it, _: validation.adopt(it, ["jira/notes.md"]),
    "validate --fix": lambda it, _: validation.validate(it, fix=True),
    "config set": lambda it, _: repository_settings.config_set(it, "events", "false"),
    "save": lambda it, _: sharing.save(it),
    "undo": lambda it, _: sharing.undo(it),
    "sync": lambda it, _: sharing.sync(it),
    "migrate": lambda it, _: migration.migrate(it),
    "lesson wrong": lambda it, _: lessons.wrong(it, LESSON),
}


def test_a_repository_of_a_newer_program_is_refused_and_nothing_is_written(
    world: World, git: Git, tmp_path: Path
) -> None:
    fixture(world, 1)
    world.add("A job to undo")
    path = "jira/rules/get-before-put-rrrr22.md"
    world.write(path, world.read(path) + "Edited.\n")
    proposals.propose(world.library)
    hub = tmp_path / "hub.git"
    git(tmp_path, "clone", "-q", "--bare", str(world.root), str(hub))
    git(world.root, "remote", "add", "origin", str(hub))
    world.committed(
        ".ai-lessons/config.yaml",
        f"format: {config.FORMAT + 1}\n",
        message="a newer program was here",
    )
    world.write("jira/lessons/2026-11/waiting.md", "# Plain\n")
    world.write(path, world.read(path) + "Edited again.\n")
    before = state(world, git, hub)
    (tmp_path / "doc.md").write_text("# Doc\n")
    for name, write in WRITES.items():
        with pytest.raises(UnsupportedRepository, match="this program knows 1") as caught:
            write(world.fresh(), tmp_path / "doc.md")
        assert "update ai-lessons" in caught.value.hint, name
        assert state(world, git, hub) == before, name


def state(world: World, git: Git, hub: Path) -> Any:
    refs = (
        git(world.root, "for-each-ref"),
        git(hub, "for-each-ref"),
        git(world.root, "status", "--porcelain", "-uall"),
    )
    logs = sorted(
        one.read_bytes() for one in (world.root / ".git/ai-lessons/events").glob("*.jsonl")
    )
    return refs, logs


@pytest.mark.parametrize(
    "stated", [f"format: {config.FORMAT + 1}", f"format:   {config.FORMAT + 1}  # newer\r"]
)
def test_reading_goes_on_in_a_newer_format_and_names_it(world: World, stated: str) -> None:
    fixture(world, 1)
    opened = world.library
    entries.list_entries(opened)
    world.write(".ai-lessons/config.yaml", stated + "\n")
    found = entries.list_entries(world.fresh())
    assert found.total == 4
    for notes in (found.notes, search.search(opened, Query("workflow")).notes):
        assert any("this program knows 1" in note for note in notes)
    world.write(".ai-lessons/config.yaml", stated.replace(str(config.FORMAT + 1), "1") + "\n")
    assert entries.list_entries(world.fresh()).total == 4
