"""Deaths, Ctrl-C, full disks and damage at every step: nothing accepted is lost, no lock is left."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from ai_lessons.app.setup import template_dir
from ai_lessons.git import commit, files, objects
from ai_lessons.git.store import Store
from git.conftest import Opened
from git.steps import add, clean
from real_world import Git


def test_a_job_whose_process_died_before_the_commit_is_picked_up_by_the_next(
    store: Store, git: Git, opened: Opened
) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            commit.Committer.__call__ = lambda *_: os._exit(9)  # type: ignore[method-assign]
            store.apply(add("a.md"))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert [intent.subject for intent in store.pending()] == ["Add a.md"]
    assert opened(store.root).apply(add("b.md")).commit
    assert git(store.root, "log", "--format=%s", "-2").splitlines() == ["Add b.md", "Add a.md"]


def test_a_job_whose_process_died_while_its_files_were_put_in_place_is_picked_up(store: Store, git: Git) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            store.journal.ready = lambda *_: os._exit(9)  # type: ignore[method-assign]
            store.apply(add("a.md"))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert store.pending() == ()
    assert len(store.save().commits) == 1
    assert git(store.root, "show", "HEAD:a.md") == "text"


def test_what_a_process_had_begun_to_write_when_it_died_is_cleared_away(store: Store, git: Git) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            files.Staging.publish = lambda *_: os._exit(9)  # type: ignore[method-assign]
            store.apply(add("p/a.md"))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    (left,) = os.listdir(store.root / "p")
    assert left.startswith(files.TEMPORARY)
    (store.root / ".gitignore").write_text((template_dir() / ".gitignore").read_text())
    assert git(store.root, "status", "--porcelain", "--untracked-files=all", "p") == ""
    (store.root / ".gitignore").unlink()
    assert store.save().waiting == ""
    assert os.listdir(store.root / "p") == []
    assert store.pending() == ()
    assert git(store.root, "status", "--porcelain") == ""


def test_locks_that_a_dead_process_of_ours_left_are_removed(store: Store, git: Git) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            commit._put = lambda *_: os._exit(9)
            store.apply(add("a.md"))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert (store.git_dir / "index.lock").exists()
    assert (store.git_dir / "refs/heads/main.lock").exists()
    assert store.apply(add("b.md")).commit
    assert git(store.root, "log", "--format=%s", "-2").splitlines() == ["Add b.md", "Add a.md"]
    clean(git, store.root)


def test_a_death_between_branch_and_index_is_healed_before_it_can_hurt(store: Store, git: Git) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            put = commit._put

            def die_at_the_index(lock: Path, target: Path) -> None:
                if target.name == "index":
                    os._exit(9)
                put(lock, target)

            commit._put = die_at_the_index
            store.apply(add("a.md"))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert git(store.root, "log", "-1", "--format=%s") == "Add a.md"
    assert store.save().waiting == ""
    assert git(store.root, "status", "--porcelain") == ""
    assert git(store.root, "rev-list", "--count", "HEAD") == "2"
    clean(git, store.root)


WHERE = ("commit.changed", "commit.install", "commit.status_of", "objects.index_mark")


@pytest.mark.parametrize("where", WHERE)
def test_ctrl_c_leaves_no_lock_and_loses_nothing(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    module, _, name = where.partition(".")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"ai_lessons.git.{module}.{name}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.apply(add("a.md"))
    clean(git, store.root)
    assert len(store.save().commits) == 1
    assert git(store.root, "status", "--porcelain") == ""


def test_ctrl_c_right_after_the_branch_has_moved_still_brings_the_index_up_to_date(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = commit._put

    def interrupted_late(lock: Path, target: Path) -> None:
        put(lock, target)
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(commit, "_put", interrupted_late)
        with pytest.raises(KeyboardInterrupt):
            store.apply(add("a.md"))
    assert git(store.root, "status", "--porcelain") == ""
    clean(git, store.root)


def test_a_disk_that_fills_up_while_committing_leaves_the_job_noted(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for module, step in ((objects, "write_all"), (commit, "write_new")):
        with monkeypatch.context() as patched:
            patched.setattr(module, step, full)
            done = store.apply(add(f"{module.__name__[-5:]}.md"))
        assert "no space left" in done.waiting
        clean(git, store.root)
    assert len(store.save().commits) == 2
    assert git(store.root, "status", "--porcelain") == ""


def test_a_read_only_object_store_leaves_the_job_noted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(objects, "write_all", denied)
    assert "permission denied" in store.apply(add("a.md")).waiting


def test_a_missing_object_is_named_and_the_job_waits(store: Store, git: Git) -> None:
    tree = git(store.root, "rev-parse", "HEAD^{tree}")
    (store.git_dir / "objects" / tree[:2] / tree[2:]).unlink()
    done = store.apply(add("a.md"))
    assert "missing or damaged" in done.waiting


def test_objects_that_a_power_cut_left_empty_are_written_again(store: Store, git: Git) -> None:
    (store.root / "same").write_text("text\n")
    blob = git(store.root, "hash-object", "-w", "same")
    place = store.git_dir / "objects" / blob[:2] / blob[2:]
    place.chmod(0o644)
    place.write_bytes(b"")
    assert store.apply(add("a.md")).commit
    assert git(store.root, "show", "HEAD:a.md") == "text"
