"""Snapshots, and going back to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ai_lessons.errors import Conflict, NotFound, UnsavedEdits, UsageError
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library import browsing, editing, import_bundle, restoring, setup, syncing
from ai_lessons.library.opened import Library
from ai_lessons.library.rules import rule_review, suggesting
from library.world import OTHER, lesson, options

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Git
    from library.world import World


def test_a_snapshot_is_an_annotated_tag_of_what_is_committed(world: World, git: Git) -> None:
    world.add("One")
    world.write("notes.md", "# Not committed\n")
    done = restoring.snapshot(world.library, "before/cleanup")
    assert git(world.root, "cat-file", "-t", "before/cleanup") == "tag"
    assert git(world.root, "rev-parse", "before/cleanup^{}") == done.commit == git(world.root, "rev-parse", "HEAD")
    assert done.notes == ("not in it: edits of 1 file that are in no commit",)
    assert (done.name, done.message, done.when[:2]) == ("before/cleanup", "Snapshot before/cleanup", "20")
    assert restoring.snapshot(world.library).name.startswith("snapshot-2026-11-21T")


@pytest.mark.parametrize("name", ["-d", "a..b", "x y", "", "a.lock"])
def test_a_name_that_is_none_is_refused(world: World, name: str) -> None:
    if name:
        with pytest.raises(UsageError, match="cannot be called"):
            restoring.snapshot(world.library, name)
    else:
        assert restoring.snapshot(world.library, name).name


def test_a_snapshot_never_moves(world: World) -> None:
    restoring.snapshot(world.library, "one")
    with pytest.raises(Conflict, match="a tag one already"):
        restoring.snapshot(world.library, "one")


def test_a_deleted_entry_comes_back_by_its_handle_in_a_new_commit(world: World, git: Git) -> None:
    made = world.add("One", "As it was.\n")
    text = world.read(made.path)
    head = git(world.root, "rev-parse", "HEAD")
    editing.delete(world.library, [made.id])
    done = restoring.restore(world.library, made.handle, head)
    assert (done.written, done.removed, done.source) == ((made.path,), (), head)
    assert world.read(made.path) == text
    assert world.commits()[:2] == [f"Restore lesson: One (to {head})", "Delete lesson: One"]
    assert world.status() == ""
    again = restoring.restore(world.library, made.id, head)
    assert (again.written, again.commit) == ((), None)
    syncing.undo(world.library)
    assert not (world.root / made.path).exists()


def test_a_date_is_the_end_of_its_day_and_only_the_named_entry_goes_back(world: World, git: Git) -> None:
    world.write("a/lessons/x.md", lesson(title="Old"))
    world.write("a/lessons/y.md", lesson(OTHER, title="Old too"))
    git(world.root, "add", "-A")
    git(world.root, "-c", "user.name=x", "commit", "-qm", "then")
    dated(world, git, "2025-03-01T23:30:00")
    world.write("b/lessons/x.md", lesson(title="New"))
    (world.root / "a/lessons/x.md").unlink()
    world.write("a/lessons/y.md", lesson(OTHER, title="New too"))
    world.commit("moved")
    done = restoring.restore(world.library, "b/lessons/x.md", "2025-03-01", dry_run=True)
    assert (done.written, done.removed, done.commit) == (("a/lessons/x.md",), ("b/lessons/x.md",), None)
    assert world.titles() == ["New", "New too"] or world.titles() == ["New too", "New"]
    restoring.restore(world.library, "b/lessons/x.md", "2025-03-01")
    assert sorted(world.titles()) == ["New too", "Old"]
    assert not (world.root / "b").exists()
    with pytest.raises(NotFound, match="commit made by"):
        restoring.restore(world.library, "a/lessons/x.md", "2019-01-01")
    with pytest.raises(UsageError, match="no date"):
        restoring.restore(world.library, "a/lessons/x.md", "2025-13-01")
    with pytest.raises(NotFound, match="revision"):
        restoring.restore(world.library, "a/lessons/x.md", "yesterday-ish")


def dated(world: World, git: Git, when: str) -> None:
    """Make all commits so far those of that time."""
    tree, message = git(world.root, "rev-parse", "HEAD^{tree}"), "then"
    import subprocess

    done = subprocess.run(
        ["git", "commit-tree", tree, "-m", message],
        cwd=world.root, check=True, capture_output=True, text=True,
        env={**__import__("os").environ, "GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when},
    )  # fmt: skip
    git(world.root, "update-ref", "HEAD", done.stdout.strip())


def test_all_entries_go_back_and_edits_get_a_commit_first(world: World, git: Git, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    world.bring(script, kind=Kind.SCRIPT)
    made = world.add("One", "As it was.\n")
    setup.config_set(world.library, "search.chunking.target", "200")
    restoring.snapshot(world.library, "good")
    setup.config_set(world.library, "search.chunking.target", "201")
    world.write(made.path, world.read(made.path) + "An edit in no commit.\n")
    editing.delete(world.library, [one.id for one in browsing.list_entries(world.library, kinds=[Kind.SCRIPT]).entries])
    newer = world.add("Two")
    world.write("jira/notes.md", "# Never committed\n")
    done = restoring.restore(world.library, None, "good", every=True)
    assert sorted(done.removed) == sorted([newer.path, "jira/notes.md"])
    assert sorted(world.titles()) == ["One", "run.sh"]
    assert world.read(made.path).endswith("As it was.\n")
    assert (world.root / "global/scripts/unversioned/run.sh").stat().st_mode & 0o100
    assert world.commits()[:2] == ["Restore all entries (to good)", "Save edits: 2 files"]
    assert "Never committed" in git(world.root, "show", "HEAD~1:jira/notes.md")
    assert setup.config_get(world.library, "search.chunking.target") == {"search.chunking.target": 201}
    assert world.status() == ""


def test_an_entry_does_not_come_back_over_another_one(world: World) -> None:
    path = "a/docs/unversioned/x.md"
    world.write(path, lesson(title="First").replace("lesson", "doc"))
    world.commit("first")
    world.write(path, lesson(OTHER, title="Second").replace("lesson", "doc"))
    world.commit("second")
    with pytest.raises(Conflict, match="is another entry by now, D-QQQ111"):
        restoring.restore(world.library, "D-8F3K2A", "HEAD~1")
    assert "Second" in world.read(path)


def test_an_import_is_taken_back_by_undo(world: World, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for name in ("one", "two"):
        (tmp_path / f"notes/{name}.md").write_text(f"# {name}\n")
    import_bundle.import_file(world.library, tmp_path / "notes", "markdown")
    syncing.undo(world.library)
    assert world.titles() == []


def test_of_a_bigger_repository_only_our_folder_goes_back(git_repo: Path, git: Git, tmp_path: Path) -> None:
    root = git_repo / ".ai/reference"
    root.mkdir(parents=True)
    (root / "notes.md").write_text("# Old\n")
    (git_repo / "code.py").write_text("old\n")
    git(git_repo, "add", "-A")
    git(git_repo, "commit", "-qm", "then")
    (root / "notes.md").write_text("# New\n")
    (git_repo / "code.py").write_text("new\n")
    git(git_repo, "commit", "-qam", "now")
    with Library(root, options(tmp_path)) as library:
        restoring.restore(library, "notes.md", "HEAD~1")
    assert (root / "notes.md").read_text() == "# Old\n"
    assert (git_repo / "code.py").read_text() == "new\n"
    assert git(git_repo, "log", "-1", "--format=%s") == "now"


def test_a_rule_comes_back_as_a_proposal_and_stays_in_force_as_it_is(world: World, git: Git) -> None:
    from ai_lessons.library.rules.rule_answers import RuleDraft

    made = suggesting.suggest_rule(world.library, RuleDraft("Ask first", "it broke", "Ask Ana.\n"))
    rule_review.approve_rule(world.library, made.handle)
    restoring.snapshot(world.library, "then")
    editing.update(world.library, made.id, content="Ask Bo.\n")
    rule_review.approve_rule(world.library, made.handle)
    added = suggesting.suggest_rule(world.library, RuleDraft("Newer", "why", "x\n"))
    rule_review.approve_rule(world.library, added.handle)
    head = git(world.root, "rev-parse", "main")
    done = restoring.restore(world.library, made.handle, "then")
    assert ([one.id for one in done.queued], done.commit) == ([made.id], None)
    assert git(world.root, "rev-parse", "main") == head
    assert browsing.show(world.library, made.id).body == "Ask Bo.\n"
    assert restoring.restore(world.library, None, "then", every=True).queued == ()
    assert [(one.title, one.change) for one in rule_review.pending_rules(world.library)] == [("Ask first", "edit")]
    assert git(world.root, "rev-parse", "main") == head
    rule_review.approve_rule(world.library, done.queued[0].branch)
    assert browsing.show(world.library, made.id).body == "Ask Ana.\n"


def test_what_decides_about_rules_does_not_go_back(world: World) -> None:
    world.write(".ai-lessons/config.yaml", "format: 1\napproval:\n  distinct: false\n")
    world.commit("loose")
    restoring.snapshot(world.library, "loose")
    setup.config_set(world.library, "approval.distinct", "true")
    restoring.restore(world.library, None, "loose", every=True)
    assert setup.config_get(world.library, "approval.distinct") == {"approval.distinct": True}


def test_edits_are_in_the_way_where_commits_are_the_users(world: World) -> None:
    made = world.add("One", "As it was.\n")
    world.write(".ai-lessons/config.yaml", "git:\n  autocommit: false\n")
    world.write(made.path, world.read(made.path) + "Mine.\n")
    with pytest.raises(UnsavedEdits, match="edits that are in no commit"):
        restoring.restore(world.library, made.handle, "HEAD")
    assert world.read(made.path).endswith("Mine.\n")


def test_it_is_one_entry_or_all(world: World) -> None:
    with pytest.raises(UsageError, match="name one entry"):
        restoring.restore(world.library, None, "HEAD")
    with pytest.raises(UsageError, match="name one entry"):
        restoring.restore(world.library, "x", "HEAD", every=True)
    with pytest.raises(NotFound, match="entry in"):
        restoring.restore(world.library, "L-ZZZZZZ", "HEAD")
