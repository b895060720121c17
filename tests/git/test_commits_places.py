"""Where a repository lies, in which format git keeps its index, and who signs."""

import os
from pathlib import Path

import pytest

from ai_lessons.git.commit import Committer
from ai_lessons.git.store import Store
from git.conftest import Opened
from git.steps import add, clean, dirty_everything
from real_world import Git, put_program


def test_a_folder_of_a_bigger_repository_is_written_but_not_committed(git_repo: Path, git: Git, opened: Opened) -> None:
    (git_repo / ".ai/reference").mkdir(parents=True)
    store = opened(git_repo / ".ai/reference")
    assert store.is_folder_of_bigger_repo
    done = store.apply(add("a.md"))
    assert (done.commit, done.waiting) == (None, "")
    assert store.pending() == ()
    assert git(git_repo, "status", "--porcelain", "-uall") == "?? .ai/reference/a.md"


def test_a_folder_of_a_bigger_repository_commits_only_its_own_paths_if_asked(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    dirty_everything(git_repo, git)
    before = git(git_repo, "status", "--porcelain=v2")
    (git_repo / "kb").mkdir()
    store = opened(git_repo / "kb", autocommit=True)
    assert store.apply(add("p/lessons/a.md")).commit
    assert git(git_repo, "show", "--format=", "--name-only", "HEAD") == "kb/p/lessons/a.md"
    assert git(git_repo, "status", "--porcelain=v2") == before
    assert store.state_dir.parent == git_repo / ".git/ai-lessons"


def test_index_versions_and_options_of_gits_are_kept(git_repo: Path, git: Git, opened: Opened) -> None:
    git(git_repo, "config", "index.skipHash", "true")
    for version in ("2", "3", "4"):
        git(git_repo, "update-index", "--index-version", version)
        assert opened(git_repo).apply(add(f"v{version}.md")).commit
        assert git(git_repo, "status", "--porcelain") == ""
    clean(git, git_repo)


def with_signing(root: Path, git: Git, program: str, tmp_path: Path) -> None:
    script = put_program(tmp_path / "signer", program)
    git(root, "config", "commit.gpgsign", "true")
    git(root, "config", "gpg.program", str(script))


def test_commits_are_signed_where_the_user_asked_git_for_it(store: Store, git: Git, tmp_path: Path) -> None:
    with_signing(
        store.root, git, '#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED " >&2\necho "SIGNED"\n', tmp_path
    )
    done = store.apply(add("a.md"))
    assert done.notes == ()
    assert "gpgsig SIGNED" in git(store.root, "cat-file", "commit", "HEAD")
    assert git(store.root, "log", "-1", "--format=%an %s") == "Test Person Add a.md"
    clean(git, store.root)


def test_a_signer_that_asks_for_something_does_not_hang_us(
    store: Store, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ai_lessons.git.plumbing.SIGN_TIMEOUT", 0.3)
    with_signing(store.root, git, "#!/bin/sh\nexec sleep 30\n", tmp_path)
    done = store.apply(add("a.md"))
    assert done.commit
    assert "did not end within" in done.notes[0]
    # once a sitting: the next write does not ask, and one after a while does
    assert "waited for in vain" in Store(store.root, committing=Committer).apply(add("b.md")).notes[0]
    waited = store.worktree.state_dir / "not-signed"
    os.utime(waited, (0, 0))
    assert "did not end within" in Store(store.root, committing=Committer).apply(add("c.md")).notes[0]
