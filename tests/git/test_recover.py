"""What the user's git takes away before or after its commit: named, kept, and brought back on request only."""

import multiprocessing
import os
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.errors import Conflict, NotFound
from ai_lessons.git import commit, files
from ai_lessons.git.commit import Committer
from ai_lessons.git.store import Change, Job, Store
from git.conftest import Opened
from git.steps import add, clean, note_only
from real_world import Git, instead

SPAWN = multiprocessing.get_context("spawn")
EDIT = Job("Edit README.md", [Change("README.md", b"ours\n")])
A, B = "p/lessons/a.md", "p/lessons/b.md"


def kept(store: Store) -> dict[str, bytes | None]:
    return {
        one.path: store.journal.content(job, one.path)
        for job in store.journal.kept()
        for one in job.paths
    }


def in_head(git: Git, root: Path) -> set[str]:
    return set(git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines())


@pytest.mark.parametrize(
    ("job", "command"),
    [
        (add("p/a.md"), ("clean", "-fdq")),
        (EDIT, ("reset", "-q", "--hard")),
        (add("p/a.md"), ("stash", "-q", "-u")),
    ],
    ids=["a new file", "an edit", "a stash"],
)
def test_a_write_that_git_swept_away_is_named_kept_and_brought_back(
    store: Store, git: Git, job: Job, command: tuple[str, ...]
) -> None:
    path, data = job.changes[0].path, job.changes[0].data
    before = git(store.root, "rev-parse", "HEAD")
    note_only(store, job)
    git(store.root, *command)
    saved = store.save()
    assert (saved.commits, saved.waiting, store.pending()) == ((), "", ())
    assert saved.notes == (
        f"{path} was taken away before its commit; its text is kept: ai-lessons admin recover {path}",
    )
    assert git(store.root, "rev-parse", "HEAD") == before
    assert git(store.root, "status", "--porcelain") == ""
    assert kept(store) == {path: data}
    assert store.save().notes == ()
    (swept,) = store.journal.kept()
    commit.bring_back(store, swept, {path for path, *_ in swept.paths})
    assert len(store.save().commits) == 1
    assert (store.root / path).read_bytes() == data
    assert git(store.root, "log", "-1", "--format=%s") == job.subject
    assert list((store.state_dir / "journal").iterdir()) == []
    clean(git, store.root)


def test_what_a_stash_took_is_committed_when_it_is_popped(store: Store, git: Git) -> None:
    note_only(store, add(A))
    git(store.root, "stash", "-q", "-u")
    assert len(store.save().notes) == 1
    git(store.root, "stash", "pop", "-q")
    assert len(store.save().commits) == 1
    assert in_head(git, store.root) == {"README.md", A}
    assert kept(store) == {}


def test_of_two_writes_to_one_file_the_later_one_is_kept(store: Store) -> None:
    note_only(store, add("a.md", "one\n"))
    note_only(store, Job("Edit a.md", [Change("b.md", b"b\n"), Change("a.md", b"two\n")]))
    (store.root / "a.md").unlink()
    assert len(store.save().commits) == 1
    assert kept(store) == {"a.md": b"two\n"}
    assert (store.root / "b.md").exists()


def test_what_a_later_job_of_ours_removed_is_not_kept(store: Store) -> None:
    note_only(store, add("a.md"))
    note_only(store, Job("Delete a.md", [Change("a.md", None)]))
    assert (store.save().waiting, store.pending(), kept(store)) == ("", (), {})
    assert not (store.root / "a.md").exists()


def test_what_the_user_committed_in_place_of_an_edit_stays(store: Store, git: Git) -> None:
    note_only(store, EDIT)
    (store.root / "README.md").write_text("theirs\n")
    git(store.root, "commit", "-qam", "theirs")
    assert (store.save().commits, store.pending()) == ((), ())
    assert (store.root / "README.md").read_text() == "theirs\n"


def test_another_text_in_its_place_is_not_overwritten(store: Store) -> None:
    note_only(store, add("a.md"))
    (store.root / "a.md").unlink()
    store.save()
    (swept,) = store.journal.kept()
    (store.root / "a.md").write_text("mine\n")
    with pytest.raises(Conflict, match="another text"):
        commit.bring_back(store, swept, {path for path, *_ in swept.paths})
    assert (store.root / "a.md").read_text() == "mine\n"
    assert kept(store) == {"a.md": b"text\n"}


def test_a_file_that_is_missing_while_a_merge_is_under_way_is_named_and_brought_back(
    store: Store, git: Git
) -> None:
    (store.git_dir / "MERGE_HEAD").write_text(git(store.root, "rev-parse", "HEAD") + "\n")
    for n in range(5):
        store.apply(add(f"{n}.md"))
        (store.root / f"{n}.md").unlink()
    saved = store.save()
    assert "a merge is under way" in saved.waiting
    assert [note.partition(" ")[0] for note in saved.notes] == ["0.md", "1.md", "2.md", "and"]
    for job in store.journal.missing(store.root):
        commit.bring_back(store, job, {path for path, *_ in job.paths})
    assert store.journal.missing(store.root) == ()
    (store.git_dir / "MERGE_HEAD").unlink()
    assert len(store.save().commits) == 5


def test_bytes_are_kept_for_thirty_days(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    note_only(store, add("a.md"))
    (store.root / "a.md").unlink()
    store.save()
    now = time.time()
    for days, there in ((29, True), (31, False)):
        monkeypatch.setattr(time, "time", lambda days=days: now + days * 86_400)
        assert bool(store.journal.kept()) is there


def stash_that_read_head_before(git: Git, root: Path, before: str) -> None:
    """What `git stash` does at its end when it read HEAD before our commit: the branch goes back, and so do files."""
    git(root, "update-ref", "-m", "reset: moving to HEAD", "HEAD", before)
    git(root, "reset", "-q", "--hard")


def test_what_a_stash_took_off_the_branch_is_named_and_kept(store: Store, git: Git) -> None:
    before = git(store.root, "rev-parse", "HEAD")
    store.apply(add(A))
    store.apply(Job("Edit", [Change("README.md", b"new\n"), Change(B, b"b\n")]))
    stash_that_read_head_before(git, store.root, before)
    done = store.apply(add("c.md"))
    assert done.commit
    assert len(done.notes) == 3
    assert in_head(git, store.root) == {"README.md", "c.md"}
    assert kept(store) == {A: b"text\n", "README.md": b"new\n", B: b"b\n"}
    for job in store.journal.kept():
        commit.bring_back(store, job, {path for path, *_ in job.paths})
    assert len(store.save().commits) == 2
    assert in_head(git, store.root) == {"README.md", "c.md", A, B}
    assert git(store.root, "status", "--porcelain") == ""
    clean(git, store.root)


@pytest.mark.parametrize("way", [("reset", "-q", "--soft", "HEAD~1"), ("reset", "-q", "HEAD~1")])
def test_what_a_reset_left_on_the_disk_is_the_users_business(
    store: Store, git: Git, way: tuple[str, ...]
) -> None:
    store.apply(add(A))
    git(store.root, *way)
    assert (store.save(), kept(store)) == (((), "", ()), {})
    assert A not in in_head(git, store.root)


def test_what_the_user_removed_or_changed_stays_so(store: Store, git: Git) -> None:
    store.apply(add(A))
    store.apply(add(B))
    git(store.root, "rm", "-q", A)
    (store.root / B).write_text("by hand\n")
    git(store.root, "commit", "-qam", "user")
    head = git(store.root, "rev-parse", "HEAD")
    assert (store.save(), kept(store)) == (((), "", ()), {})
    assert git(store.root, "rev-parse", "HEAD") == head
    assert not (store.root / A).exists()


def test_a_file_that_a_stash_is_just_putting_back_is_waited_for(
    store: Store, git: Git, closing: ExitStack
) -> None:
    note_only(store, add("a.md"))
    (store.root / "a.md").write_bytes(b"")  # so it is for a moment
    closing.enter_context(
        instead("time.sleep", lambda _: (store.root / "a.md").write_bytes(b"text\n"))
    )
    assert store.save().notes == ()
    assert git(store.root, "show", "HEAD:a.md") == "text"


def test_a_file_that_the_user_made_empty_is_committed_empty(store: Store, git: Git) -> None:
    note_only(store, add("a.md"))
    (store.root / "a.md").write_bytes(b"")
    os.utime(store.root / "a.md", (1, 1))
    assert len(store.save().commits) == 1
    assert git(store.root, "show", "HEAD:a.md") == ""


@pytest.mark.parametrize("times", [3, 100])
def test_a_folder_that_git_removes_under_a_write_is_made_again(
    store: Store, closing: ExitStack, times: int
) -> None:
    publish = files.Staging.publish
    swept = iter(range(times))

    def after_git(staging: files.Staging) -> None:
        if next(swept, None) is not None:
            shutil.rmtree(store.root / "p")
        publish(staging)

    closing.enter_context(instead("ai_lessons.git.files.Staging.publish", after_git))
    if times > 20:
        with pytest.raises(NotFound):
            store.apply(add("p/lessons/a.md"))
    else:
        assert store.apply(add("p/lessons/a.md")).commit


def write_many(root: Path, writer: int) -> None:
    """One process of an agent that never rests."""
    store = Store(root, committing=Committer)
    for n in range(60):
        store.apply(add(f"p/lessons/{writer}-{n}.md", f"{writer} {n}\n"))


def test_beside_a_user_who_stashes_all_the_time_every_write_is_somewhere(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    processes = [SPAWN.Process(target=write_many, args=(git_repo, n)) for n in range(2)]
    for process in processes:
        process.start()
    failed = []
    while any(process.is_alive() for process in processes):
        (git_repo / "mine.md").write_text("mine\n")
        for command in (("stash", "push", "-u", "-q"), ("stash", "pop", "-q")):
            done = subprocess.run(
                ["git", *command], cwd=git_repo, capture_output=True, text=True, check=False
            )
            failed += [done.stderr] if done.returncode else []
    assert [process.exitcode for process in processes] == [0, 0]
    store = opened(git_repo)
    assert store.save().waiting == ""
    stashed = git(git_repo, "stash", "list", "--format=%H").split()
    somewhere = in_head(git, git_repo) | kept(store).keys()
    for one in stashed:
        somewhere |= set(
            git(git_repo, "ls-tree", "-r", "--name-only", f"{one}^3", check=False).splitlines()
        )
    ours = {f"p/lessons/{writer}-{n}.md" for writer in range(2) for n in range(60)}
    assert {path for path in ours - somewhere if not (git_repo / path).exists()} == set()
    assert "error" not in git(git_repo, "fsck", "--strict")
