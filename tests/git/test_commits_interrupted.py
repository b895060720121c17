"""Deaths, Ctrl-C, full disks and damage at every step: nothing accepted is lost, no lock is left."""

import json
import os
import pkgutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ai_lessons.app.scaffold import template_dir
from ai_lessons.git import files
from ai_lessons.git.store import Job, Store
from git.conftest import Opened
from git.steps import add, clean
from real_world import FULL, Git, failing, instead

BRANCH = "refs/heads/main"


def dies_while(store: Store, job: Job, step: str, place: str = "") -> None:
    """Apply the job in a process that ends as it comes to this step, with a path that ends so."""
    pid = os.fork()
    if pid == 0:
        try:
            real = pkgutil.resolve_name(step)
            with instead(
                step, lambda *a, **k: os._exit(9) if str(a[-1]).endswith(place) else real(*a, **k)
            ):
                store.apply(job)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


def test_a_job_whose_process_died_before_the_commit_is_picked_up_by_the_next(
    store: Store, git: Git, opened: Opened
) -> None:
    dies_while(store, add("a.md"), "ai_lessons.git.commit.Committer.__call__")
    assert [intent.subject for intent in store.pending()] == ["Add a.md"]
    assert opened(store.root).apply(add("b.md")).commit
    assert git(store.root, "log", "--format=%s", "-2").splitlines() == ["Add b.md", "Add a.md"]


def test_a_job_whose_process_died_while_its_files_were_put_in_place_is_picked_up(
    store: Store, git: Git
) -> None:
    dies_while(store, add("a.md"), "ai_lessons.git.journal.Journal.ready")
    assert store.pending() == ()
    assert len(store.save().commits) == 1
    assert git(store.root, "show", "HEAD:a.md") == "text"


def test_what_a_process_had_begun_to_write_when_it_died_is_cleared_away(
    store: Store, git: Git
) -> None:
    dies_while(store, add("p/a.md"), "ai_lessons.git.files.Staging.publish")
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
    dies_while(store, add("a.md"), "os.rename", BRANCH)
    assert (store.git_dir / "index.lock").exists()
    assert (store.git_dir / "refs/heads/main.lock").exists()
    assert store.apply(add("b.md")).commit
    assert git(store.root, "log", "--format=%s", "-2").splitlines() == ["Add b.md", "Add a.md"]
    clean(git, store.root)


def test_a_death_between_branch_and_index_is_healed_before_it_can_hurt(
    store: Store, git: Git
) -> None:
    dies_while(store, add("a.md"), "os.rename", ".git/index")
    assert git(store.root, "log", "-1", "--format=%s") == "Add a.md"
    assert store.save().waiting == ""
    assert git(store.root, "status", "--porcelain") == ""
    assert git(store.root, "rev-list", "--count", "HEAD") == "2"
    clean(git, store.root)


WHERE = ("commit.changed", "commit.install", "commit.status_of", "commit.index_mark")


@pytest.mark.parametrize("where", WHERE)
def test_ctrl_c_leaves_no_lock_and_loses_nothing(store: Store, git: Git, where: str) -> None:
    with failing(f"ai_lessons.git.{where}", KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        store.apply(add("a.md"))
    clean(git, store.root)
    assert len(store.save().commits) == 1
    assert git(store.root, "status", "--porcelain") == ""


def test_ctrl_c_right_after_the_branch_has_moved_still_brings_the_index_up_to_date(
    store: Store, git: Git
) -> None:
    rename = os.rename

    def interrupted_late(old: str, new: str, **folders: int) -> None:
        rename(old, new, **folders)
        if str(new).endswith(BRANCH):
            os.kill(os.getpid(), signal.SIGINT)

    with instead("os.rename", interrupted_late), pytest.raises(KeyboardInterrupt):
        store.apply(add("a.md"))
    assert git(store.root, "status", "--porcelain") == ""
    clean(git, store.root)


def test_a_disk_that_fills_up_while_committing_leaves_the_job_noted(store: Store, git: Git) -> None:
    for step in ("objects.write_all", "branch_move.write_new"):
        with failing(f"ai_lessons.git.{step}", FULL):
            done = store.apply(add(f"{step}.md"))
        assert "no space left" in done.waiting
        clean(git, store.root)
    assert len(store.save().commits) == 2
    assert git(store.root, "status", "--porcelain") == ""


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


SOURCE = Path(__file__).parents[2]


@pytest.mark.plays("intake")
def test_after_a_kill_at_any_step_the_next_command_finds_all_that_was_accepted(
    tmp_path: Path,
) -> None:
    jobs = {"add": 3, "update": 2, "import": 2, "approve": 3, "delete": 2}
    assert after("SIGKILL", tmp_path, jobs) == {
        job: {"kills": times, "wrong": []} for job, times in jobs.items()
    }


@pytest.mark.plays("intake")
def test_ctrl_c_at_any_step_leaves_no_lock_and_nothing_half(tmp_path: Path) -> None:
    jobs = {"add": 3, "import": 2, "approve": 3}
    assert after("SIGINT", tmp_path, jobs) == {
        job: {"kills": times, "wrong": []} for job, times in jobs.items()
    }


# the user commits after each kill, and the next job waits for nobody
KILLS = """
import runpy
from ai_lessons.git import objects
objects.SETTLE = 0
runpy.run_module("bench.kills", run_name="__main__")
"""


def after(how: str, folder: Path, jobs: dict[str, int]) -> object:
    """What jobs that were ended so many times each left behind."""
    paths = os.pathsep.join((str(SOURCE / "src"), str(SOURCE)))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            KILLS,
            how,
            str(folder),
            *(f"{job}={times}" for job, times in jobs.items()),
        ],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
