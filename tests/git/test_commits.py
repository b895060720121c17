"""What reaches git, and what does not: checked with the real git program against `git commit --only`."""

import shutil
import stat
from pathlib import Path

from ai_lessons.git.store import AS_IT_IS, Actor, Change, Job, Store
from git.conftest import Opened
from git.steps import add, clean, dirty_everything
from real_world import Git, put_file


def test_a_job_is_one_commit_with_its_message_and_trailers(store: Store, git: Git) -> None:
    actor = Actor(agent="claude", session="s1")
    done = store.apply(Job("Add lesson: T", [Change("p/lessons/a.md", b"x\n")], [("Id", "01")], actor))
    assert done.waiting == ""
    assert done.commit == git(store.root, "rev-parse", "HEAD")
    assert git(store.root, "log", "-1", "--format=%an|%cn|%B") == (
        "Test Person|Test Person|Add lesson: T\n\nId: 01\nAgent: claude\nSession: s1"
    )
    assert git(store.root, "show", "HEAD:p/lessons/a.md") == "x"
    assert git(store.root, "status", "--porcelain") == ""
    assert store.pending() == ()
    clean(git, store.root)


def test_the_first_commit_of_an_empty_repository_works(tmp_path: Path, git: Git, opened: Opened) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk", "r")
    (tmp_path / "r" / "staged").write_text("mine")
    git(tmp_path / "r", "add", "staged")
    store = opened(tmp_path / "r")
    assert store.apply(add("a.md")).commit
    assert git(store.root, "ls-tree", "-r", "--name-only", "trunk") == "a.md"
    assert git(store.root, "status", "--porcelain") == "A  staged"
    clean(git, store.root)


def test_what_the_user_staged_and_edited_stays_as_it_was_exactly_as_git_commit_only_leaves_it(
    git_repo: Path, git: Git, opened: Opened, tmp_path: Path
) -> None:
    dirty_everything(git_repo, git)
    twin = tmp_path / "twin"
    shutil.copytree(git_repo, twin, symlinks=True)
    before = git(git_repo, "status", "--porcelain=v2")
    store = opened(git_repo)
    job = Job("Mine", [Change("README.md", b"new readme\n"), Change("p/docs/new.md", b"doc\n")])
    assert store.apply(job).commit
    (twin / "README.md").write_text("new readme\n")
    put_file(twin / "p" / "docs" / "new.md", "doc\n")
    git(twin, "add", "-N", "p/docs/new.md")
    git(twin, "commit", "-q", "--only", "-m", "Mine", "--", "README.md", "p/docs/new.md")
    assert git(git_repo, "status", "--porcelain=v2") == before == git(twin, "status", "--porcelain=v2")
    assert git(git_repo, "rev-parse", "HEAD^{tree}") == git(twin, "rev-parse", "HEAD^{tree}")
    assert git(git_repo, "ls-files", "-s", "--debug").count("\n") == git(twin, "ls-files", "-s", "--debug").count("\n")
    assert git(git_repo, "ls-files", "-s", "-t") == git(twin, "ls-files", "-s", "-t")
    clean(git, git_repo)


def test_the_users_next_commit_keeps_our_file(store: Store, git: Git) -> None:
    (store.root / "mine.md").write_text("user\n")
    git(store.root, "add", "mine.md")
    store.apply(add("ours.md"))
    git(store.root, "commit", "-qm", "user")
    assert git(store.root, "ls-tree", "-r", "--name-only", "HEAD").split() == ["README.md", "mine.md", "ours.md"]


def test_a_path_of_ours_that_the_user_had_staged_otherwise_is_current_afterwards(store: Store, git: Git) -> None:
    (store.root / "README.md").write_text("staged by the user\n")
    git(store.root, "add", "README.md")
    store.apply(Job("Edit", [Change("README.md", b"edited by us\n")]))
    assert git(store.root, "status", "--porcelain") == ""
    assert git(store.root, "show", "HEAD:README.md") == "edited by us"


def test_a_removal_is_committed_and_leaves_no_empty_folder(store: Store, git: Git) -> None:
    store.apply(add("p/lessons/2026-11/a.md"))
    done = store.apply(Job("Delete", [Change("p/lessons/2026-11/a.md", None)]))
    assert done.commit
    assert not (store.root / "p").exists()
    assert git(store.root, "status", "--porcelain") == ""
    assert git(store.root, "ls-tree", "-r", "--name-only", "HEAD") == "README.md"


def test_the_last_file_may_go(store: Store, git: Git) -> None:
    assert store.apply(Job("Delete", [Change("README.md", None)])).commit
    assert git(store.root, "ls-tree", "-r", "--name-only", "HEAD") == ""
    clean(git, store.root)


def test_a_move_is_one_commit_that_git_sees_as_a_rename(store: Store, git: Git) -> None:
    text = b"text\n" * 20
    store.apply(Job("Add", [Change("a.md", text)]))
    store.apply(Job("Move", [Change("a.md", None), Change("p/docs/1.0/b.md", text)]))
    assert git(store.root, "show", "--format=", "--name-status", "-M", "HEAD") == "R100\ta.md\tp/docs/1.0/b.md"


def test_a_file_may_become_a_folder_and_a_folder_a_file(store: Store, git: Git) -> None:
    store.apply(add("x"))
    store.apply(Job("Delete", [Change("x", None)]))
    assert store.apply(add("x/y.md")).commit
    assert store.apply(Job("Delete", [Change("x/y.md", None)])).commit
    assert store.apply(add("x")).commit
    assert git(store.root, "status", "--porcelain") == ""
    clean(git, store.root)


def test_the_executable_bit_is_committed_and_kept(store: Store, git: Git) -> None:
    store.apply(Job("Add", [Change("p/scripts/s.sh", b"#!/bin/sh\n", executable=True), Change("a.md", b"a")]))
    store.apply(Job("Edit", [Change("p/scripts/s.sh", b"#!/bin/sh\ntrue\n")]))
    assert git(store.root, "ls-tree", "-r", "HEAD", "p").startswith("100755")
    assert git(store.root, "ls-tree", "HEAD", "a.md").startswith("100644")
    assert (store.root / "p/scripts/s.sh").stat().st_mode & stat.S_IXUSR


def test_writing_what_is_there_makes_no_commit(store: Store, git: Git) -> None:
    store.apply(add("a.md"))
    tip = git(store.root, "rev-parse", "HEAD")
    done = store.apply(add("a.md"))
    assert (done.commit, done.waiting) == (None, "")
    assert git(store.root, "rev-parse", "HEAD") == tip


def test_files_that_are_there_already_can_be_committed_as_they_are(store: Store, git: Git) -> None:
    odd = "What? a:b.md"
    (store.root / odd).write_bytes(b"mine\r\n")
    assert store.apply(Job("Adopt", [Change(odd, AS_IT_IS)])).commit
    assert (store.root / odd).read_bytes() == b"mine\r\n"
    assert git(store.root, "status", "--porcelain") == ""


def test_two_thousand_files_are_one_commit_in_one_pack(store: Store, git: Git) -> None:
    changes = [Change(f"p/docs/unversioned/{n % 20}/{n}.md", b"text %d\n" % n) for n in range(2000)]
    done = store.apply(Job("Import", changes))
    assert done.commit
    assert git(store.root, "rev-list", "--count", "HEAD") == "2"
    assert len(git(store.root, "ls-tree", "-r", "--name-only", "HEAD").splitlines()) == 2001
    assert len(list((store.root / ".git/objects/pack").glob("*.pack"))) == 1
    assert git(store.root, "status", "--porcelain") == ""
    assert git(store.root, "diff-files") == ""
    clean(git, store.root)


def test_hooks_of_the_user_are_not_run_and_reflogs_are_written(store: Store, git: Git) -> None:
    hook = store.root / ".git/hooks/pre-commit"
    put_file(hook, "#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert store.apply(add("a.md")).commit
    assert "commit: Add a.md" in git(store.root, "reflog", "-1", "HEAD")
    assert "commit: Add a.md" in git(store.root, "reflog", "-1", "main")
