"""What a commit of the user's left out of HEAD by accident comes back; what somebody took away stays away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ai_lessons.repository import journal
from ai_lessons.repository.store import Change, Job, Store
from repository.steps import add, clean

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Git

A, B = "p/lessons/a.md", "p/lessons/b.md"


def in_head(git: Git, root: Path) -> set[str]:
    return set(git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines())


def commit_with_stale_index(git: Git, root: Path, before: str, *paths: str) -> None:
    """What `git commit` does when it read its index before our commit: its tree lacks what we wrote."""
    for path in paths:
        blob = git(root, "rev-parse", "--verify", "-q", f"{before}:{path}", check=False)
        if blob:
            git(root, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
        else:
            git(root, "rm", "-q", "--cached", path)
    git(root, "commit", "-qm", "user", "--allow-empty")


def test_a_file_that_a_commit_left_out_comes_back_with_the_next_write(store: Store, git: Git) -> None:
    before = git(store.root, "rev-parse", "HEAD")
    store.apply(add(A))
    commit_with_stale_index(git, store.root, before, A)
    assert A not in in_head(git, store.root)
    store.apply(add(B))
    assert {A, B} <= in_head(git, store.root)
    assert git(store.root, "status", "--porcelain") == ""
    clean(git, store.root)


def test_a_slow_clock_of_somebody_else_hides_nothing(store: Store, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    before = git(store.root, "rev-parse", "HEAD")
    store.apply(add(A))
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2020-01-01T12:00:00Z")
    git(store.root, "commit", "-qm", "slow", "--allow-empty")
    commit_with_stale_index(git, store.root, before, A)
    assert A not in in_head(git, store.root)
    store.apply(add(B))
    assert {A, B} <= in_head(git, store.root)


def test_it_comes_back_with_save_where_nothing_else_waits(store: Store, git: Git) -> None:
    made = store.apply(add(A)).commit
    commit_with_stale_index(git, store.root, f"{made}^", A)
    saved = store.save()
    assert len(saved.commits) == 1
    assert A in in_head(git, store.root)
    message = git(store.root, "log", "-1", "--format=%B")
    assert message == f"Bring back {A} that a commit left out\n\nRestores: {made}"
    assert store.save().commits == ()


def test_an_edit_that_a_commit_turned_back_is_made_again(store: Store, git: Git) -> None:
    store.apply(add(A))
    before = git(store.root, "rev-parse", "HEAD")
    store.apply(Job("Edit", [Change(A, b"new\n")]))
    commit_with_stale_index(git, store.root, before, A)
    assert git(store.root, "show", f"HEAD:{A}") == "text"
    store.save()
    assert git(store.root, "show", f"HEAD:{A}") == "new"


def test_a_removal_that_a_commit_turned_back_is_made_again(store: Store, git: Git) -> None:
    store.apply(add(A))
    before = git(store.root, "rev-parse", "HEAD")
    store.apply(Job("Delete", [Change(A, None)]))
    commit_with_stale_index(git, store.root, before, A)
    assert A in in_head(git, store.root)
    store.save()
    assert A not in in_head(git, store.root)


def test_a_file_that_a_half_done_merge_dropped_comes_back_as_it_is_on_disk(
    git_repo: Path, git: Git, store: Store
) -> None:
    git(git_repo, "switch", "-qc", "other")
    (git_repo / "other.md").write_text("o\n")
    git(git_repo, "add", "-A")
    git(git_repo, "commit", "-qm", "other")
    git(git_repo, "switch", "-q", "main")
    before = git(git_repo, "rev-parse", "HEAD")
    store.apply(add(A))
    (git_repo / A).write_text("edited since\n")
    tree = git(git_repo, "merge-tree", "--write-tree", before, "other")
    merge = git(git_repo, "commit-tree", tree, "-p", "HEAD", "-p", "other", "-m", "Merge branch 'other'")
    git(git_repo, "update-ref", "refs/heads/main", merge)
    git(git_repo, "read-tree", merge)
    (git_repo / "other.md").write_text("o\n")
    assert A not in in_head(git, git_repo)
    store.save()
    assert git(git_repo, "show", f"HEAD:{A}") == "edited since"


def test_what_the_user_removed_or_changed_stays_so(git_repo: Path, git: Git, store: Store) -> None:
    store.apply(add(A))
    store.apply(add(B))
    git(git_repo, "rm", "-q", A)
    (git_repo / B).write_text("by hand\n")
    git(git_repo, "commit", "-qam", "user")
    head = git(git_repo, "rev-parse", "HEAD")
    assert store.save().commits == ()
    assert git(git_repo, "rev-parse", "HEAD") == head
    assert not (git_repo / A).exists()


@pytest.mark.parametrize(
    "way", [("reset", "-q", "--hard", "HEAD~1"), ("reset", "-q", "--soft", "HEAD~1"), ("reset", "-q", "HEAD~1")]
)
def test_what_a_reset_took_out_of_the_history_stays_out(
    git_repo: Path, git: Git, store: Store, way: tuple[str, ...]
) -> None:
    store.apply(add(A))
    git(git_repo, *way)
    assert store.save().commits == ()
    assert A not in in_head(git, git_repo)


def test_another_branch_gets_nothing_that_was_never_on_it(git_repo: Path, git: Git, store: Store) -> None:
    git(git_repo, "branch", "other")
    store.apply(add(A))
    git(git_repo, "switch", "-q", "other")
    assert store.save().commits == ()
    store.apply(add(B))
    assert in_head(git, git_repo) == {"README.md", B}


def test_a_file_that_is_ignored_since_is_left_alone(git_repo: Path, git: Git, store: Store) -> None:
    store.apply(add(A))
    git(git_repo, "rm", "-q", "--cached", A)
    (git_repo / ".gitignore").write_text("a.md\n")
    git(git_repo, "add", ".gitignore")
    git(git_repo, "commit", "-qm", "stop tracking it")
    assert store.save().commits == ()
    assert (git_repo / A).exists()


def test_what_a_later_commit_of_somebody_else_has_is_not_looked_at_again(
    git_repo: Path, git: Git, store: Store
) -> None:
    store.apply(add(A))
    assert len(store.journal.unseen()) == 1
    git(git_repo, "commit", "-qm", "user", "--allow-empty")
    store.save()
    assert store.journal.unseen() == []
    git(git_repo, "rm", "-q", "--cached", A)
    git(git_repo, "commit", "-qm", "stop tracking it, much later")
    assert store.save().commits == ()


def test_a_long_memory_of_what_nobody_has_confirmed_yet(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "KEEP_RECORDS", 2)
    before = git(store.root, "rev-parse", "HEAD")
    paths = [f"p/lessons/{n}.md" for n in range(5)]
    for path in paths:
        store.apply(add(path))
    commit_with_stale_index(git, store.root, before, *paths)
    store.save()
    assert set(paths) <= in_head(git, store.root)
    assert git(store.root, "log", "-1", "--format=%s") == "Bring back 5 files that a commit left out"


def test_nothing_is_brought_back_while_a_merge_is_under_way(
    git_repo: Path, git: Git, store: Store, opened: Callable[[Path], Store]
) -> None:
    before = git(git_repo, "rev-parse", "HEAD")
    store.apply(add(A))
    commit_with_stale_index(git, git_repo, before, A)
    (git_repo / ".git/MERGE_HEAD").write_text(before + "\n")
    assert store.save().commits == ()
    (git_repo / ".git/MERGE_HEAD").unlink()
    opened(git_repo).save()
    assert A in in_head(git, git_repo)


def stash_that_read_head_before(git: Git, root: Path, before: str) -> None:
    """What `git stash` does at its end when it read HEAD before our commit: the branch goes back, and so do files."""
    git(root, "update-ref", "-m", "reset: moving to HEAD", "HEAD", before)
    git(root, "reset", "-q", "--hard")


def test_what_a_stash_took_off_the_branch_comes_back_to_branch_and_disk(store: Store, git: Git) -> None:
    before = git(store.root, "rev-parse", "HEAD")
    store.apply(add(A))
    store.apply(Job("Edit", [Change("README.md", b"new\n"), Change(B, b"b\n")]))
    stash_that_read_head_before(git, store.root, before)
    assert in_head(git, store.root) == {"README.md"}
    assert len(store.save().commits) == 1
    assert in_head(git, store.root) == {"README.md", A, B}
    assert (store.root / "README.md").read_text() == "new\n"
    assert git(store.root, "status", "--porcelain") == ""
    clean(git, store.root)


def test_what_somebody_removed_after_it_came_back_stays_away(store: Store, git: Git) -> None:
    before = git(store.root, "rev-parse", "HEAD")
    store.apply(add(A))
    stash_that_read_head_before(git, store.root, before)
    assert len(store.save().commits) == 1
    git(store.root, "rm", "-q", A)
    git(store.root, "commit", "-qm", "no more of it")
    assert store.save().commits == ()
    store.apply(add(B))
    assert in_head(git, store.root) == {"README.md", B}


def test_an_edit_made_after_a_stash_took_a_write_off_the_branch_stays(store: Store, git: Git) -> None:
    before = git(store.root, "rev-parse", "HEAD")
    store.apply(Job("Edit", [Change("README.md", b"new\n")]))
    stash_that_read_head_before(git, store.root, before)
    (store.root / "README.md").write_text("mine\n")
    assert store.save().commits == ()
    assert (store.root / "README.md").read_text() == "mine\n"
