"""What a sync starts and reads, counted."""

from pathlib import Path

import pytest

from ai_lessons.app import editing, sharing
from ai_lessons.app.answers import LessonDraft
from app.world import World
from real_world import Git, commit_all, put_file


def test_a_sync_starts_few_programs_and_reads_the_once(
    world: World, git: Git, tmp_path: Path, started: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(world.root), "hub.git")
    git(world.root, "remote", "add", "origin", str(tmp_path / "hub.git"))
    git(world.root, "fetch", "-q")
    git(world.root, "branch", "-q", "--set-upstream-to", "origin/main")
    git(tmp_path, "clone", "-q", "hub.git", "other")
    put_file(tmp_path / "other/notes.txt", "x\n")
    commit_all(git, tmp_path / "other", "notes")
    git(tmp_path / "other", "push", "-q")
    editing.add_lesson(world.library, LessonDraft("Staging resets on Mondays", "Seen.\n"))
    world.library.primary.store.save()
    started.unlink(missing_ok=True)
    done = sharing.sync(world.library)
    assert (done.received, done.sent) == (1, 2)
    rows = started.read_text().splitlines()
    assert len(rows) <= 17, "\n".join(rows)
    assert [" config " in f" {row}" for row in rows].count(True) == 1
    started.unlink()
    assert sharing.sync(world.library).sent == 0
    rows = started.read_text().splitlines()
    assert len(rows) <= 6, "\n".join(rows)


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("branch.Up/Down.remote", "hub", None),
        ("Commit.gpgSign", "yes", "bool"),
        ("core.hooksPath", "~/hooks", "path"),
        ("remote.a.b.url", "x\ny", None),
        ("ai-lessons.protected", "main dev", None),
    ],
)
def test_settings_that_are_read_once_are_as_git_says(
    world: World, git: Git, key: str, value: str, kind: str | None
) -> None:
    from ai_lessons.git import plumbing

    worktree = world.library.primary.store.worktree
    git(world.root, "config", "--add", key, "before")
    git(world.root, "config", "--replace-all", key, value)
    singly = plumbing.setting(worktree, key, kind=kind)
    with plumbing.once():
        assert plumbing.setting(worktree, key, kind=kind) == singly
        assert plumbing.setting(worktree, "no.such.key") is None
        plumbing.run(worktree, "config", "--unset", key)
        assert plumbing.setting(worktree, key, kind=kind) is None
