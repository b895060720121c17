"""Telling a git command that is under way from one that is done."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from ai_lessons.repository.activity import QUIET, SETTLE, busy, index_mark, unsettled
from ai_lessons.repository.worktree import locate

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Git


def touch(path: Path, age: float, now: float) -> None:
    path.touch()
    os.utime(path, (now - age, now - age))


@pytest.fixture
def quiet_repo(git_repo: Path) -> Path:
    """A repository in which the last commit is an hour old."""
    for name in ("logs/HEAD", "HEAD", "refs/heads/main", "index", "COMMIT_EDITMSG"):
        touch(git_repo / ".git" / name, 3600, time.time())
    return git_repo


def test_an_old_repository_is_quiet(quiet_repo: Path) -> None:
    found = locate(quiet_repo)
    assert (busy(found), unsettled(found, "", time.time())) == ("", 0.0)


@pytest.mark.parametrize("sign", ["FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "AUTO_MERGE", "ORIG_HEAD"])
def test_a_sign_counts_for_three_seconds(quiet_repo: Path, sign: str) -> None:
    found, now = locate(quiet_repo), time.time()
    touch(found.git_dir / sign, 1.0, now)
    assert unsettled(found, "", now) == pytest.approx(QUIET - 1.0, abs=0.01)
    assert unsettled(found, "", now + QUIET) == 0.0


def test_a_sign_that_is_older_than_the_last_move_of_head_does_not_count(quiet_repo: Path) -> None:
    found, now = locate(quiet_repo), time.time()
    touch(found.git_dir / "FETCH_HEAD", 1.0, now)
    touch(found.git_dir / "logs/HEAD", 0.5, now)
    assert unsettled(found, "", now) == 0.0


def test_a_fresh_index_counts_for_a_moment_unless_it_is_ours(quiet_repo: Path) -> None:
    found, now = locate(quiet_repo), time.time()
    touch(found.git_dir / "index", 0.04, now)
    assert unsettled(found, "", now) == pytest.approx(SETTLE - 0.04, abs=0.01)
    assert unsettled(found, index_mark(found), now) == 0.0


def test_a_file_system_whose_clock_is_ahead_makes_a_sign_fresh_not_eternal(quiet_repo: Path) -> None:
    found, now = locate(quiet_repo), time.time()
    touch(found.git_dir / "FETCH_HEAD", -100.0, now)
    assert unsettled(found, "", now) == QUIET


def test_without_an_index_or_a_reflog_nothing_is_a_sign(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "r")
    found = locate(tmp_path / "r")
    assert (index_mark(found), unsettled(found, "", time.time())) == ("", 0.0)
