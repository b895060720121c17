"""A partial clone lacks what its remote has: only clone, fetch, push and sync go there."""

from pathlib import Path

import pytest

from ai_lessons.app import editing, search, sharing
from ai_lessons.app.answers import Query
from ai_lessons.app.written import LessonDraft
from ai_lessons.errors import NotFound, UnsupportedRepository
from ai_lessons.git import plumbing
from ai_lessons.git.commits import read_blobs
from ai_lessons.git.history import History
from ai_lessons.git.objects import data_of, opened
from ai_lessons.git.worktree import locate
from ai_lessons.telling.offers import before_a_tool
from app.world import World
from real_world import Git, commit_all, put_file, put_program

TOTAL = "src/cart.py::total"


class Partial:
    """A clone without the blobs of the past, whose remote notes each program that asks it for something."""

    def __init__(self, git: Git, folder: Path, name: str = "code") -> None:
        self.source, self.root, self._notes = (
            folder / f"{name}-source",
            folder / name,
            folder / f"{name}-asked",
        )
        self.source.mkdir()
        git(self.source, "init", "-q")
        git(self.source, "config", "uploadpack.allowFilter", "true")
        for number in range(4):
            put_file(self.source / "src/cart.py", f"def total(a):\n    return {number}\n")
            commit_all(git, self.source, f"c{number}")
        program = put_program(
            folder / f"{name}-pack",
            f'#!/bin/sh\necho x >> "{self._notes}"\nexec git-upload-pack "$@"\n',
        )
        flags = ("--filter=blob:none", "--upload-pack", str(program))
        git(folder, "clone", "-q", *flags, self.source.as_uri(), str(self.root))
        git(self.root, "config", "remote.origin.uploadpack", str(program))
        self._notes.unlink()

    @property
    def asked(self) -> bool:
        return self._notes.exists()


@pytest.fixture
def code(git: Git, tmp_path: Path) -> Partial:
    return Partial(git, tmp_path)


READS = (
    ("cat-file", "blob", "HEAD~1:src/cart.py"), ("log", "-p", "-2"), ("diff", "HEAD~2", "HEAD~1"),
    ("log", "-Sreturn"), ("grep", "return", "HEAD~1"), ("checkout", "-q", "HEAD~1"), ("merge-base", "HEAD", "HEAD~1"),
    ("fsck",), ("gc", "--auto"),
)  # fmt: skip


@pytest.mark.parametrize("old", [False, True], ids=["git", "git that knows no GIT_NO_LAZY_FETCH"])
def test_no_git_that_reads_asks_the_remote(
    code: Partial, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if old:
        monkeypatch.setitem(plumbing.OFFLINE, "GIT_NO_LAZY_FETCH", "0")
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file:https:ssh")
    for command in READS:
        plumbing.run(locate(code.root), *command)
        assert not code.asked, command
    with plumbing.online():
        plumbing.run(locate(code.root), "cat-file", "blob", "HEAD~1:src/cart.py")
    assert code.asked


def test_what_is_not_here_is_said_with_what_brings_it(code: Partial, git: Git) -> None:
    worktree, lacks = locate(code.root), "fetch --refetch --no-filter"
    blob = git(code.root, "rev-parse", "HEAD~1:src/cart.py")
    with pytest.raises(NotFound) as missing:
        History(worktree).text_at("HEAD~1", "src/cart.py")
    assert lacks in missing.value.hint
    with pytest.raises(UnsupportedRepository) as unreadable, opened(worktree) as repo:
        data_of(repo, blob)
    assert lacks in unreadable.value.hint
    assert read_blobs(worktree, [blob]) == {}, "it belongs to the rule at its path"
    assert not code.asked
    git(code.root, *lacks.split(), "-q")
    assert History(worktree).text_at("HEAD~1", "src/cart.py") == b"def total(a):\n    return 2\n"


def test_hooks_and_searches_stay_here(world: World, code: Partial) -> None:
    draft = LessonDraft("Totals are in cents", "Divide.\n", applies_to=["src/*.py"])
    lesson = editing.add_lesson(world.fresh(cwd=code.root), draft).id
    put_file(code.root / "src/cart.py", "def total(a):\n    return 5\n")
    told = before_a_tool(
        world.fresh(cwd=code.root, session="s"),
        [str(code.root / "src/cart.py")],
        "",
        [str(code.root)],
        (),
    )
    assert [summary.id for summary in told.lessons] == [lesson]
    assert search.search(world.fresh(cwd=code.root), Query("totals")).hits
    assert not code.asked


# --- what a sync starts and reads, counted ---


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
        ("branch.Up/Down.remote", "hub", None), ("Commit.gpgSign", "yes", "bool"),
        ("core.hooksPath", "~/hooks", "path"), ("remote.a.b.url", "x\ny", None),
        ("ai-lessons.protected", "main dev", None),
    ],
)  # fmt: skip
def test_settings_that_are_read_once_are_as_git_says(
    world: World, git: Git, key: str, value: str, kind: str | None
) -> None:
    worktree = world.library.primary.store.worktree
    git(world.root, "config", "--add", key, "before")
    git(world.root, "config", "--replace-all", key, value)
    singly = plumbing.setting(worktree, key, kind=kind)
    with plumbing.once():
        assert plumbing.setting(worktree, key, kind=kind) == singly
        assert plumbing.setting(worktree, "no.such.key") is None
        plumbing.run(worktree, "config", "--unset", key)
        assert plumbing.setting(worktree, key, kind=kind) is None
