"""Small files of git's become few after a commit, where nobody else lets git tidy up."""

import os
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from ai_lessons.git import processes
from ai_lessons.git.objects import Draft, opened
from ai_lessons.git.store import Store
from ai_lessons.git.worktree import locate
from ai_lessons.model.layout import blob_id
from git.steps import add, clean
from real_world import Git, failing, instead

MANY = 30


def loose(root: Path) -> int:
    return len(list((root / ".git/objects/17").glob("?*")))


def scatter(root: Path) -> None:
    """More loose objects than git leaves alone."""
    with opened(locate(root)) as repo:
        draft, texts = Draft(repo), (b"%d\n" % n for n in range(20_000))
        for text in islice((one for one in texts if blob_id(one).startswith("17")), MANY):
            draft.blob(text)
            draft.save()


def settled(root: Path) -> None:
    """Wait for what `git gc` does by itself in the background."""
    deadline = time.monotonic() + 60
    while not list((root / ".git/objects/pack").glob("*.pack")) or (root / ".git/gc.pid").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_commit_lets_git_make_one_pack_of_many(store: Store, git: Git) -> None:
    git(store.root, "config", "gc.auto", "6700")  # git's default; the tests' home switches it off
    assert store.apply(add("a.md")).commit
    scatter(store.root)
    assert loose(store.root) >= MANY
    assert store.apply(add("b.md")).commit
    settled(store.root)
    assert store.apply(add("c.md")).commit == git(store.root, "rev-parse", "HEAD")
    assert set(git(store.root, "ls-tree", "--name-only", "HEAD").splitlines()) >= {
        "a.md",
        "b.md",
        "c.md",
    }
    clean(git, store.root)


def asked(store: Store) -> list[str]:
    """What a write leaves running."""
    told: list[str] = []
    leave_running = processes.leave_running

    def noted(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        told.extend(argv[1:])
        leave_running(argv, env=env, cwd=cwd)

    with instead("ai_lessons.git.processes.leave_running", noted):
        assert store.apply(add(f"{time.time_ns()}.md")).commit
    return told


def test_a_commit_where_little_lies_about_starts_nothing(store: Store) -> None:
    assert asked(store) == []


def test_a_program_that_cannot_be_started_is_not_the_writers_business(
    store: Store, git: Git
) -> None:
    assert store.apply(add("a.md")).commit
    scatter(store.root)
    with failing("ai_lessons.git.processes.leave_running", BlockingIOError()):
        done = store.apply(add("b.md"))
    assert (done.commit, done.waiting) == (git(store.root, "rev-parse", "HEAD"), "")


def test_an_old_object_that_is_used_again_counts_as_new(store: Store, git: Git) -> None:
    """Git removes what nothing points to and is two weeks old, although a commit is about to point to it."""
    with opened(locate(store.root)) as repo:
        draft = Draft(repo)
        blob = draft.blob(b"text\n")
        draft.save()
        place = store.root / ".git/objects" / blob.decode()[:2] / blob.decode()[2:]
        os.utime(place, (0, 0))
        again = Draft(repo)
        assert again.blob(b"text\n") == blob
        again.save()
    git(store.root, "prune", "--expire", "2.weeks.ago")
    assert git(store.root, "cat-file", "-p", blob.decode()) == "text"
