"""Our commits beside a user who works with git in the same folder: few moves of the branch, and no long wait."""

from __future__ import annotations

import multiprocessing
import os
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from ai_lessons.repository import chain, moves, pace
from ai_lessons.repository.commits import Committer
from ai_lessons.repository.store import Store
from repository.steps import add, clean

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ai_lessons.repository.worktree import Worktree
    from conftest import Git


class Clock:
    """The time that pace is told: seconds after the user's last command."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.then, self.later = time.time(), 0.0
        for name in ("now", "moved"):
            real = getattr(pace, name)
            monkeypatch.setattr(pace, name, partial(self._told, real))

    def _told(self, real: Callable[[Worktree, float], object], worktree: Worktree, _: float) -> object:
        return real(worktree, self.then + self.later)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def user(store: Store, git: Git, name: str, clock: Clock) -> None:
    """Somebody commits, and is done a moment ago."""
    (store.root / name).write_text("x", encoding="utf-8")
    git(store.root, "add", name)
    git(store.root, "commit", "-qm", "user")
    clock.then = (store.git_dir / "index").stat().st_mtime + 0.2


def committed(store: Store, *names: str) -> list[bool]:
    return [store.apply(add(name)).commit is not None for name in names]


NAMES = [f"p/{n}.md" for n in range(12)]
BURST = int(pace.BURST)


def test_nobody_else_is_at_work_and_every_write_is_a_commit_at_once(store: Store, clock: Clock) -> None:
    assert all(committed(store, *NAMES))
    clock.later = 1000
    assert all(committed(store, "p/late.md"))


def test_beside_a_user_a_few_commits_come_at_once_and_the_others_together(store: Store, git: Git, clock: Clock) -> None:
    store.apply(add("a.md"))
    user(store, git, "notes.txt", clock)
    assert committed(store, *NAMES) == [True] * BURST + [False] * (len(NAMES) - BURST)
    assert [intent.subject for intent in store.pending()] == [f"Add {name}" for name in NAMES[BURST:]]
    clock.later = pace.EVERY + 0.1
    assert committed(store, "p/next.md", "p/soon.md") == [True, False]
    assert git(store.root, "ls-files", "p").split() == sorted([*NAMES, "p/next.md"])
    clean(git, store.root)


@pytest.mark.parametrize(("later", "moves"), [(1.9, True), (2.1, False), (9.5, False), (10.1, True)])
def test_under_pressure_the_branch_moves_where_the_next_command_of_the_user_is_least_likely(
    store: Store, git: Git, clock: Clock, later: float, moves: bool
) -> None:
    store.apply(add("a.md"))
    user(store, git, "notes.txt", clock)
    committed(store, *NAMES)
    clock.later = later - 0.2
    (store.state_dir / "moves-left").write_text(f"1 {clock.then + clock.later}")
    assert committed(store, "p/next.md") == [moves]


def test_whoever_asks_for_a_commit_gets_it(store: Store, git: Git, clock: Clock) -> None:
    store.apply(add("a.md"))
    user(store, git, "notes.txt", clock)
    committed(store, *NAMES)
    applied = store.apply(add("b.md"))
    assert applied.waiting.startswith("somebody works with git here")
    assert len(store.save().commits) == len(NAMES) - BURST + 1
    assert store.pending() == ()


def test_a_user_who_left_is_no_user(store: Store, git: Git, clock: Clock) -> None:
    store.apply(add("a.md"))
    user(store, git, "notes.txt", clock)
    committed(store, *NAMES)
    clock.later = pace.AROUND + 2
    assert all(committed(store, *(f"q/{n}.md" for n in range(2 * BURST))))


@pytest.mark.parametrize("text", ["", "x", "1", "nan nan", "9999 0", "-3 9e99", "inf inf"])
def test_a_damaged_count_stops_nothing_for_good(store: Store, git: Git, clock: Clock, text: str) -> None:
    store.apply(add("a.md"))
    user(store, git, "notes.txt", clock)
    store.apply(add("b.md"))
    (store.state_dir / "moves-left").write_text(text)
    committed(store, *NAMES)
    clock.later = pace.IDLE + 1
    assert all(committed(store, "c.md"))


def test_a_pull_that_begins_while_a_commit_is_made_is_left_alone(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*given: object) -> object:
        made = chain.build(*given)  # type: ignore[arg-type]
        (store.git_dir / "FETCH_HEAD").write_text("")
        return made

    before = git(store.root, "rev-parse", "HEAD")
    with monkeypatch.context() as patched:
        patched.setattr("ai_lessons.repository.commits.build", slowly)
        assert store.apply(add("a.md")).waiting.startswith("git seems to be at work")
    assert git(store.root, "rev-parse", "HEAD") == before
    assert not (store.git_dir / "index.lock").exists()
    assert len(store.save().commits) == 1


def die_before_it_is_noted_whose_index_it_is(root: Path) -> None:
    """A process of ours that is killed right after git's index is in place."""

    def killed(worktree: Worktree) -> None:
        os._exit(9)

    moves._remember = killed
    with Store.open(root, committing=Committer) as store:
        store.apply(add("p/first.md"))


def test_one_of_us_who_was_killed_is_not_taken_for_a_user(git_repo: Path, git: Git) -> None:
    with Store.open(git_repo, committing=Committer) as store:
        assert store.apply(add("p/zeroth.md")).commit  # there is a note of ours, which the next index makes an old one
        process = multiprocessing.get_context("spawn").Process(
            target=die_before_it_is_noted_whose_index_it_is, args=(git_repo,)
        )
        process.start()
        process.join(60)
        assert process.exitcode == 9
        assert git(git_repo, "log", "-1", "--format=%s") == "Add p/first.md"
        assert all(committed(store, *NAMES))
        assert store.pending() == ()
    clean(git, git_repo)
