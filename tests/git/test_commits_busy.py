"""A repository that somebody is in the middle of: files are written, the commit waits, nothing is disturbed."""

import os
import time
from pathlib import Path

import pytest

from ai_lessons.git import objects
from ai_lessons.git.store import Change, Job, Store
from git.steps import add, in_a_merge, in_conflict, note_only
from real_world import Git


def test_a_merge_under_way_leaves_the_job_noted_and_the_merge_alone(store: Store, git: Git) -> None:
    root = store.root
    in_a_merge(git, root)
    index = (root / ".git/index").read_bytes()
    done = store.apply(add("a.md"))
    assert done.commit is None
    assert "a merge is under way" in done.waiting
    assert (root / "a.md").read_text() == "text\n"
    assert (root / ".git/index").read_bytes() == index
    git(root, "merge", "--abort")
    assert store.apply(add("b.md")).commit
    assert git(root, "log", "--format=%s", "-2").splitlines() == ["Add b.md", "Add a.md"]
    assert store.pending() == ()


@pytest.mark.parametrize(
    "sign", ["CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"]
)
def test_other_operations_under_way_are_waited_for(store: Store, sign: str) -> None:
    (store.git_dir / sign).mkdir() if "rebase" in sign else (store.git_dir / sign).write_text("x")
    done = store.apply(add("a.md"))
    assert "under way" in done.waiting
    assert [intent.subject for intent in store.pending()] == ["Add a.md"]


def test_a_detached_head_is_waited_for(store: Store, git: Git) -> None:
    git(store.root, "checkout", "-q", "--detach")
    assert "detached" in store.apply(add("a.md")).waiting
    git(store.root, "checkout", "-q", "main")
    saved = store.save()
    assert len(saved.commits) == 1
    assert git(store.root, "status", "--porcelain") == ""


def test_a_lock_of_git_is_waited_for_and_never_removed(store: Store) -> None:
    lock = store.git_dir / "index.lock"
    lock.write_text("foreign")
    done = store.apply(add("a.md"))
    assert "index.lock" in done.waiting
    assert lock.read_text() == "foreign"
    lock.unlink()
    assert len(store.save().commits) == 1


def test_a_lock_on_the_branch_is_waited_for_and_the_index_is_not_touched(store: Store) -> None:
    (store.git_dir / "refs/heads/main.lock").write_text("")
    index = (store.git_dir / "index").read_bytes()
    assert "main.lock" in store.apply(add("a.md")).waiting
    assert (store.git_dir / "index").read_bytes() == index
    assert not (store.git_dir / "index.lock").exists()


def test_a_path_in_conflict_waits_and_the_others_do_not(store: Store, git: Git) -> None:
    root = store.root
    in_conflict(git, root, "README.md")
    note_only(store, Job("Edit", [Change("README.md", b"resolved\n")]))
    note_only(store, add("a.md"))
    saved = store.save()
    assert "README.md is in conflict" in saved.waiting
    assert len(saved.commits) == 1
    assert git(root, "status", "--porcelain") == "UU README.md"
    git(root, "add", "README.md")
    assert len(store.save().commits) == 1


def test_without_an_identity_the_job_waits_and_the_reason_says_how_to_set_one(
    store: Store, hermetic: Path, git: Git
) -> None:
    (hermetic / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    done = store.apply(add("a.md"))
    assert "git config --global user.name" in done.waiting
    (hermetic / ".gitconfig").write_text(
        f'[includeIf "gitdir:{store.root}/"]\n\tpath = {hermetic}/inc\n[user]\n\tuseConfigOnly = true\n'
    )
    (hermetic / "inc").write_text("[user]\n\tname = Included\n\temail = inc@example.com\n")
    assert len(store.save().commits) == 1
    assert git(store.root, "log", "-1", "--format=%an %ae") == "Included inc@example.com"


@pytest.mark.parametrize(
    "trace",
    ["FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "AUTO_MERGE", "ORIG_HEAD", "logs/refs/stash"],
)
def test_a_git_command_that_began_a_moment_ago_is_not_disturbed_but_save_insists(
    store: Store, monkeypatch: pytest.MonkeyPatch, trace: str
) -> None:
    monkeypatch.setattr(objects, "UNDER_WAY", 60.0)
    later, place = time.time() + 1, store.git_dir / trace
    place.parent.mkdir(exist_ok=True)
    place.touch()
    os.utime(place, (later, later))
    assert "you work with git here" in store.apply(add("a.md")).waiting
    assert len(store.save().commits) == 1
    os.utime(place, (later - 90.0, later - 90.0))
    assert store.apply(add("b.md")).commit


def test_a_single_write_waits_for_the_moment_after_a_command_and_a_crowd_does_not(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "SETTLE", 0.3)
    git(store.root, "commit", "-q", "--allow-empty", "-m", "user")
    assert store.apply(add("a.md")).commit
    assert store.apply(add("b.md")).commit  # where only we commit nothing waits
    monkeypatch.setattr(objects, "SETTLE", 60.0)
    git(store.root, "commit", "-q", "--allow-empty", "-m", "user")
    note_only(store, add("c.md"))
    assert "you work with git here" in store.apply(add("d.md")).waiting
    assert len(store.save().commits) == 2


def test_what_is_on_disk_is_what_is_committed(store: Store, git: Git) -> None:
    note_only(store, add("a.md"))
    (store.root / "a.md").write_text("edited since\n")
    store.save()
    assert git(store.root, "show", "HEAD:a.md") == "edited since"


def test_a_file_that_the_user_made_again_is_not_removed(store: Store, git: Git) -> None:
    note_only(store, Job("Delete", [Change("README.md", None)]))
    (store.root / "README.md").write_text("again\n")
    assert store.save().commits == ()
    assert git(store.root, "status", "--porcelain") == "M README.md"


def test_a_link_that_took_the_place_of_a_file_is_not_followed(
    store: Store, tmp_path: Path, git: Git
) -> None:
    note_only(store, add("p/a.md"))
    (tmp_path / "secret").write_text("secret")
    (store.root / "p/a.md").unlink()
    (store.root / "p/a.md").symlink_to(tmp_path / "secret")
    saved = store.save()
    assert (saved.commits, store.pending()) == ((), ())


def test_what_the_user_committed_meanwhile_needs_no_commit_of_ours(store: Store, git: Git) -> None:
    note_only(store, add("a.md"))
    git(store.root, "add", "a.md")
    git(store.root, "commit", "-qm", "user was faster")
    assert store.save().commits == ()
    assert store.pending() == ()


def test_a_damaged_note_is_put_aside_and_stops_nobody(store: Store) -> None:
    note_only(store, add("a.md"))
    note = next((store.state_dir / "journal").glob("*.json"))
    note.write_bytes(b"")
    assert store.apply(add("b.md")).commit
    assert store.journal.damaged() == [note.stem]
