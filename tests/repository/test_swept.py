"""What the user's git takes from the working tree before its commit is committed all the same, and comes back."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dulwich.objects import ObjectID

from ai_lessons.errors import NotFound
from ai_lessons.repository import files, moves, swept
from ai_lessons.repository.commit import Committer
from ai_lessons.repository.git_index import Tracked
from ai_lessons.repository.objects import PLAIN
from ai_lessons.repository.objects import opened as opened_objects
from ai_lessons.repository.store import AS_IT_IS, Change, Job, Store, blob_id
from repository.steps import add, clean, note_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Git
    from repository.conftest import Opened

SPAWN = multiprocessing.get_context("spawn")
EDIT = Job("Edit README.md", [Change("README.md", b"ours\n")])


@pytest.mark.parametrize(
    ("job", "command"),
    [(add("p/a.md"), ("clean", "-fdq")), (EDIT, ("reset", "-q", "--hard"))],
    ids=["a new file", "an edit"],
)
def test_a_write_that_git_swept_away_before_its_commit_is_committed_and_back(
    store: Store, git: Git, engine: str, job: Job, command: tuple[str, ...]
) -> None:
    path, data = job.changes[0].path, job.changes[0].data
    note_only(store, job)
    git(store.root, *command)
    saved = store.save()
    assert (len(saved.commits), saved.waiting) == (1, "")
    assert saved.notes == (f"{path} was gone before its commit, and is back",)
    assert git(store.root, "show", f"HEAD:{path}").encode() + b"\n" == data == (store.root / path).read_bytes()
    assert git(store.root, "status", "--porcelain") == ""
    assert list((store.state_dir / "journal").iterdir()) == []
    clean(git, store.root)


def test_of_two_writes_to_one_file_the_later_one_comes_back(store: Store, git: Git) -> None:
    note_only(store, add("a.md", "one\n"))
    note_only(store, Job("Edit a.md", [Change("b.md", b"b\n"), Change("a.md", b"two\n")]))
    (store.root / "a.md").unlink()
    assert store.save().waiting == ""
    assert (store.root / "a.md").read_text() == git(store.root, "show", "HEAD:a.md") + "\n" == "two\n"
    assert git(store.root, "status", "--porcelain") == ""


def test_an_edit_of_what_was_committed_meanwhile_comes_back(store: Store, git: Git) -> None:
    before = store.head().commit
    assert store.apply(add("a.md", "one\n")).commit
    note_only(store, add("a.md", "two\n"))
    (intent,) = store.pending()
    store.journal.begin(intent._replace(head=before), [b"two\n"])  # written while the first one was being committed
    store.journal.ready(intent.name)
    git(store.root, "checkout", "-q", "a.md")
    assert len(store.save().commits) == 1
    assert git(store.root, "show", "HEAD:a.md") == "two"


def test_what_a_later_job_of_ours_removed_stays_removed(store: Store, git: Git) -> None:
    note_only(store, add("a.md"))
    note_only(store, Job("Delete a.md", [Change("a.md", None)]))
    assert (store.save().waiting, store.pending()) == ("", ())
    assert not (store.root / "a.md").exists()


def test_what_somebody_committed_in_place_of_an_edit_stays(store: Store, git: Git) -> None:
    note_only(store, EDIT)
    (store.root / "README.md").write_text("theirs\n")
    git(store.root, "commit", "-qam", "theirs")
    assert (store.save().commits, store.pending()) == ((), ())
    assert (store.root / "README.md").read_text() == "theirs\n"


def test_a_file_that_was_only_to_be_committed_as_it_is_stays_away(store: Store) -> None:
    (store.root / "mine.md").write_text("mine\n")
    note_only(store, Job("Adopt", [Change("mine.md", AS_IT_IS)]))
    (store.root / "mine.md").unlink()
    assert store.save() == ((), "", ())


def test_what_is_swept_away_while_it_is_committed_comes_back(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    install = moves.install

    def after_git(*given: object) -> bool:
        git(store.root, "clean", "-fdq")
        return install(*given)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(moves, "install", after_git)
    assert store.apply(add("p/a.md")).commit
    assert git(store.root, "status", "--porcelain") == ""


def test_what_a_stash_took_while_it_was_committed_is_left_to_the_stash(store: Store, git: Git) -> None:
    note_only(store, add("p/a.md"))
    (intent,) = store.pending()
    entry = {"p/a.md": Tracked(PLAIN, ObjectID(blob_id(b"text\n").encode()), None)}
    git(store.root, "stash", "push", "-q", "-u")
    for there in (False, True):
        with opened_objects(store.worktree) as repo:
            swept.keep_in_place(store.worktree, repo, entry, intent.when)
        assert (store.root / "p/a.md").exists() is there
        git(store.root, "stash", "drop", "-q", check=False)


def test_a_file_that_a_stash_is_just_putting_back_is_waited_for(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_only(store, add("a.md"))
    (store.root / "a.md").write_bytes(b"")  # so it is for a moment
    monkeypatch.setattr(time, "sleep", lambda _: (store.root / "a.md").write_bytes(b"text\n"))
    assert store.save().notes == ()
    assert git(store.root, "show", "HEAD:a.md") == "text"


def test_a_file_that_somebody_made_empty_is_committed_empty(store: Store, git: Git) -> None:
    note_only(store, add("a.md"))
    (store.root / "a.md").write_bytes(b"")
    os.utime(store.root / "a.md", (1, 1))
    assert len(store.save().commits) == 1
    assert git(store.root, "show", "HEAD:a.md") == ""


def test_files_that_come_and_go_wait(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    note_only(store, add("a.md"))
    write = files.write_file

    def taken_again(*given: object, **more: object) -> None:
        write(*given, **more)  # type: ignore[arg-type]  # handed on as it came
        (store.root / "a.md").unlink()

    (store.root / "a.md").unlink()
    monkeypatch.setattr(files, "write_file", taken_again)
    assert "files come and go" in store.save().waiting
    monkeypatch.undo()
    assert len(store.save().commits) == 1


@pytest.mark.parametrize("times", [3, 100])
def test_a_folder_that_git_removes_under_a_write_is_made_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    publish = files.Staging.publish
    swept = iter(range(times))

    def after_git(staging: files.Staging) -> None:
        if next(swept, None) is not None:
            shutil.rmtree(store.root / "p")
        publish(staging)

    monkeypatch.setattr(files.Staging, "publish", after_git)
    if times > 20:
        with pytest.raises(NotFound):
            store.apply(add("p/lessons/a.md"))
    else:
        assert store.apply(add("p/lessons/a.md")).commit


def write_many(root: Path, writer: int) -> None:
    """One process of an agent that never rests."""
    with Store.open(root, committing=Committer) as store:
        for n in range(60):
            store.apply(add(f"p/lessons/{writer}-{n}.md", f"{writer} {n}\n"))


def test_two_writers_beside_a_user_who_stashes_all_the_time_lose_nothing(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    processes = [SPAWN.Process(target=write_many, args=(git_repo, n)) for n in range(2)]
    for process in processes:
        process.start()
    while any(process.is_alive() for process in processes):
        (git_repo / "mine.md").write_text("mine\n")
        git(git_repo, "stash", "push", "-u", "-q", check=False)
        # git gives up where a file of ours came up in a folder that it was about to remove
        if pop(git_repo) and pop(git_repo):
            git(git_repo, "stash", "drop", "-q", check=False)
    assert [process.exitcode for process in processes] == [0, 0]
    assert opened(git_repo).save().waiting == ""
    tracked = set(git(git_repo, "ls-tree", "-r", "--name-only", "HEAD").splitlines())
    ours = {f"p/lessons/{writer}-{n}.md" for writer in range(2) for n in range(60)}
    assert ours - tracked == set()
    assert {path for path in ours if not (git_repo / path).is_file()} == set()
    clean_but_for_stashed(git, git_repo)


def pop(root: Path) -> int:
    """The exit code."""
    return subprocess.run(["git", "stash", "pop", "-q"], cwd=root, capture_output=True, check=False).returncode


def clean_but_for_stashed(git: Git, root: Path) -> None:
    """A stash may have brought back a file that we had not put in its place yet."""
    for left in root.glob("**/.ai-lessons-tmp-*"):
        left.unlink()
    clean(git, root)


def test_bytes_that_cannot_be_noted_leave_no_note(
    store: Store, monkeypatch: pytest.MonkeyPatch, full_disk: Callable[[], None]
) -> None:
    full_disk()
    with pytest.raises(Exception, match="space"):
        store.apply(add("a.md"))
    monkeypatch.undo()
    assert list((store.state_dir / "journal").iterdir()) == []
    assert not (store.root / "a.md").exists()


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it: from then on no file can be written in one go."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    return lambda: monkeypatch.setattr(Path, "write_bytes", full)
