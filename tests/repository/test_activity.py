"""Telling a git command that is under way from one that is done, and leaving a user at work alone."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from ai_lessons.repository import worktree_status
from ai_lessons.repository.worktree import locate
from ai_lessons.repository.worktree_status import HALF_DONE, busy, index_mark, wait
from repository.steps import add, note_only

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.repository.store import Store
    from ai_lessons.repository.worktree import Worktree
    from conftest import Git

SETTLE = 0.5
OURS = None  # no commit of ours


def touch(path: Path, age: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time.time() - age, time.time() - age))


@pytest.fixture
def quiet(git_repo: Path, monkeypatch: pytest.MonkeyPatch) -> Worktree:
    """A repository in which the last commit is an hour old, and ours."""
    monkeypatch.setattr(worktree_status, "SETTLE", SETTLE)
    for name in ("logs/HEAD", "HEAD", "refs/heads/main", "index", "COMMIT_EDITMSG"):
        touch(git_repo / ".git" / name, 3600)
    return locate(git_repo)


def test_an_old_repository_is_quiet(quiet: Worktree) -> None:
    assert (busy(quiet), wait(quiet, OURS, alone=True)) == ("", 0.0)


@pytest.mark.parametrize(
    "sign", ["FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "AUTO_MERGE", "ORIG_HEAD", "logs/refs/stash"]
)
def test_a_command_that_has_not_moved_head_counts_for_three_seconds(quiet: Worktree, sign: str) -> None:
    touch(quiet.git_dir / sign, 1.0)
    assert wait(quiet, OURS, alone=True) == pytest.approx(HALF_DONE - 1.0, abs=0.1)
    touch(quiet.git_dir / sign, HALF_DONE)
    assert wait(quiet, OURS, alone=True) == 0.0


def test_a_command_that_has_moved_head_counts_for_a_moment(quiet: Worktree, git: Git) -> None:
    git(quiet.top, "commit", "-q", "--allow-empty", "-m", "user")
    assert 0.0 < wait(quiet, OURS, alone=True) <= SETTLE


def test_where_only_we_write_nothing_waits(store: Store) -> None:
    assert all(store.apply(add(f"{n}.md")).commit for n in range(8))


def test_a_single_write_waits_for_the_moment_after_a_command_and_a_crowd_does_not(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store.apply(add("first.md")).commit
    monkeypatch.setattr(worktree_status, "SETTLE", SETTLE)
    monkeypatch.setattr(worktree_status, "SETTLE_MANY", 60.0)
    git(store.root, "commit", "-q", "--allow-empty", "-m", "user")
    assert store.apply(add("a.md")).commit
    git(store.root, "commit", "-q", "--allow-empty", "-m", "user")
    note_only(store, add("b.md"))
    assert store.apply(add("c.md")).commit is None
    assert len(store.save().commits) == 2


def test_without_an_index_or_a_reflog_nothing_is_a_sign(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "r")
    found = locate(tmp_path / "r")
    assert (index_mark(found), wait(found, None, alone=True)) == ("", 0.0)
