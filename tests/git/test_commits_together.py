"""Many writers at once, and a user who works with git meanwhile: nothing lost, nothing refused, nothing broken."""

import multiprocessing
import time
from pathlib import Path

from ai_lessons.git.commit import Committer
from ai_lessons.git.store import Actor, Change, Job, Store
from git.conftest import Opened
from git.steps import add, clean
from real_world import Git

SPAWN = multiprocessing.get_context("spawn")


def write_many(root: Path, writer: int, count: int) -> None:
    """One process of an agent: `count` jobs, each with its own agent."""
    store = Store(root, committing=Committer)
    for n in range(count):
        job = Job(f"Add {writer}-{n}", [Change(f"p/lessons/{writer}-{n}.md", b"%d\n" % n)], (), Actor(f"W{writer}"))
        store.apply(job)


def start(root: Path, writers: int, count: int) -> list[multiprocessing.process.BaseProcess]:
    processes = [SPAWN.Process(target=write_many, args=(root, n, count)) for n in range(writers)]
    for process in processes:
        process.start()
    return list(processes)


def test_several_processes_write_at_once_and_every_lesson_is_a_commit(git_repo: Path, git: Git, opened: Opened) -> None:
    for process in start(git_repo, 3, 12):
        process.join(120)
        assert process.exitcode == 0
    opened(git_repo).save()
    assert git(git_repo, "rev-list", "--count", "HEAD") == "37"
    assert len(set(git(git_repo, "log", "--format=%s", "-36").splitlines())) == 36
    for writer in range(3):
        assert git(git_repo, "rev-list", "--count", f"--grep=^Agent: W{writer}$", "HEAD") == "12"
    assert git(git_repo, "status", "--porcelain") == ""
    assert len(git(git_repo, "ls-tree", "-r", "--name-only", "HEAD").splitlines()) == 37
    clean(git, git_repo)


def test_a_user_who_stages_and_commits_meanwhile_loses_nothing_and_neither_do_we(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    processes = start(git_repo, 2, 8)
    committed = 0
    while any(process.is_alive() for process in processes):
        (git_repo / f"user{committed}.md").write_text("mine\n")
        for command in (("add", f"user{committed}.md"), ("commit", "-qm", f"user {committed}")):
            while not done(git, git_repo, committed, command):  # a lock error is repeated; a loss could not be
                git(git_repo, *command, check=False)
                time.sleep(0.05)
        committed += 1
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    saved = opened(git_repo).save()
    assert saved.waiting == ""
    names = git(git_repo, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert [n for n in range(committed) if f"user{n}.md" not in names] == []
    # `git commit` reads the index before it locks it, and may write what it read over our entry: that commit fails,
    # the next one removes our file from HEAD. No lock of ours can prevent it; what it left out was brought back.
    ours = {f"p/lessons/{worker}-{n}.md" for worker in range(2) for n in range(8)}
    assert ours - set(names) == set()
    for path in ours:
        assert (git_repo / path).is_file()
    clean(git, git_repo)


def done(git: Git, root: Path, number: int, command: tuple[str, ...]) -> bool:
    """Whether the user's command had its effect."""
    listing = ("ls-files",) if command[0] == "add" else ("ls-tree", "-r", "--name-only", "HEAD")
    return f"user{number}.md" in git(root, *listing).splitlines()


def test_a_process_that_waits_for_the_lock_learns_the_commit_that_another_made_for_it(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    first, second = opened(git_repo), opened(git_repo)
    second_half = Committer(second)
    Store(git_repo).apply(add("a.md"))
    (intent,) = first.pending()
    first.save()
    assert second_half(intent.name).commit == git(git_repo, "rev-parse", "HEAD")
