"""Whoever holds the commit lock commits a share for all, and leaves nothing behind that nobody else would commit."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from ai_lessons.git import commit, objects, plumbing
from ai_lessons.git.commit import Committer
from ai_lessons.git.store import Change, Job, Store
from ai_lessons.git.worktree import locate
from git.conftest import Opened
from git.steps import add, note_only
from real_world import Git

SPAWN = multiprocessing.get_context("spawn")


def write_many(root: Path, writer: int, count: int) -> None:
    """One process of an agent."""
    store = Store(root, committing=Committer)
    for n in range(count):
        store.apply(add(f"p/lessons/{writer}-{n}.md"))


def tracked(git: Git, root: Path) -> set[str]:
    return set(git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines())


def test_when_all_processes_are_done_one_save_commits_the_rest_although_one_was_killed(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    processes = [SPAWN.Process(target=write_many, args=(git_repo, n, 20 if n else 1000)) for n in range(3)]
    for process in processes:
        process.start()
    while not list((git_repo / "p/lessons").glob("0-5.md")):
        time.sleep(0.005)
    os.kill(processes[0].pid or 0, signal.SIGKILL)
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [-signal.SIGKILL, 0, 0]
    assert opened(git_repo).save().waiting == ""
    assert Store(git_repo).pending() == ()
    assert tracked(git, git_repo) >= {f"p/lessons/{n}-{k}.md" for n in (1, 2) for k in range(20)}


def test_jobs_that_have_to_wait_do_not_keep_later_ones_from_their_commit(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "BATCH", 16)
    monkeypatch.setattr(objects, "UNDER_WAY", 0.0)
    in_conflict(git, store.root, "torn.md")
    for n in range(commit.BATCH + 1):
        note_only(store, Job("Edit", [Change("torn.md", b"%d\n" % n)]))
    done = store.apply(add("a.md"))
    assert done.commit == git(store.root, "rev-parse", "HEAD")
    assert len(store.pending()) == commit.BATCH + 1


def in_conflict(git: Git, root: Path, path: str) -> None:
    """A path on which a stash and a commit differ."""
    (root / path).parent.mkdir(exist_ok=True)
    old, theirs = ("old\n", "commit", "-qm", "old"), ("stashed\n", "stash", "-q")
    ours = ("new\n", "commit", "-qm", "new")
    for text, *then in (old, theirs, ours):
        (root / path).write_text(text)
        git(root, "add", path)
        git(root, *then)
    git(root, "stash", "pop", check=False)


@pytest.mark.parametrize("form", ["", "--index-version=4", "--split-index"])
def test_a_path_in_conflict_is_found_in_every_form_of_the_index(git_repo: Path, git: Git, form: str) -> None:
    in_conflict(git, git_repo, "p/torn.md")
    if form:
        git(git_repo, "update-index", form)
    assert plumbing.unmerged(locate(git_repo)) == {"p/torn.md"}
