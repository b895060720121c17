"""Finding a repository and its branch, and refusing what we cannot work with, without git and without dulwich."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ai_lessons.errors import NoRepository, Refused, UnsupportedRepository
from ai_lessons.git import plumbing
from ai_lessons.git.worktree import format_fault, locate, read_head, read_settings
from real_world import Git


def test_a_repository_is_found_at_its_top(git_repo: Path) -> None:
    found = locate(git_repo)
    assert (found.root, found.top, found.git_dir, found.prefix) == (git_repo, git_repo, git_repo / ".git", "")
    assert found.state_dir == git_repo / ".git/ai-lessons"


def test_a_folder_of_a_repository_has_a_prefix_and_a_state_folder_of_its_own(git_repo: Path) -> None:
    for name in ("a", "b"):
        (git_repo / name / "kb").mkdir(parents=True)
    one, other = locate(git_repo / "a/kb"), locate(git_repo / "b/kb")
    assert (one.prefix, other.prefix) == ("a/kb/", "b/kb/")
    assert one.state_dir != other.state_dir
    assert one.state_dir.parent == git_repo / ".git/ai-lessons"


def test_a_link_to_a_repository_is_the_repository(git_repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(git_repo)
    assert locate(tmp_path / "link").root == git_repo


def test_where_there_is_none_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    for name in ("plain", "missing", "file", "broken"):
        with pytest.raises(NoRepository) as caught:
            locate(tmp_path / name)
        assert "admin init" in caught.value.hint


def test_bare_repositories_and_git_directories_are_refused(git_repo: Path, tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    for path in (tmp_path / "bare.git", git_repo / ".git"):
        with pytest.raises(UnsupportedRepository):
            locate(path)
    git(git_repo, "config", "core.bare", "true")
    with pytest.raises(UnsupportedRepository, match="bare"):
        locate(git_repo)


def test_a_worktree_of_a_bare_repository_is_fine(tmp_path: Path, git: Git, git_repo: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(git_repo), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "work"), "main")
    found = locate(tmp_path / "work")
    assert found.common_dir == tmp_path / "bare.git"
    assert found.git_dir == tmp_path / "bare.git/worktrees/work"
    assert read_head(found).commit == git(git_repo, "rev-parse", "HEAD")


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path, git: Git, git_repo: Path) -> None:
    git(tmp_path, "init", "-q", "outer")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(git_repo), "kb")
    found = locate(tmp_path / "outer/kb")
    assert (found.prefix, found.git_dir) == ("", tmp_path / "outer/.git/modules/kb")


def test_a_sha256_repository_is_refused(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "r")
    with pytest.raises(UnsupportedRepository, match="objectformat"):
        locate(tmp_path / "r")


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({}, ""),
        ({"core.repositoryformatversion": "1", "extensions.refstorage": "reftable"}, "refstorage"),
        ({"core.repositoryformatversion": "1", "extensions.refstorage": "files"}, ""),
        ({"core.repositoryformatversion": "1", "extensions.worktreeconfig": "true"}, ""),
        ({"core.repositoryformatversion": "1", "extensions.future": "true"}, "future"),
        ({"core.repositoryformatversion": "2"}, "format version 2"),
        ({"core.bare": "true"}, "bare"),
    ],
)
def test_formats_that_we_would_only_half_support_are_named(settings: dict[str, str], fault: str) -> None:
    found = format_fault(settings)
    assert fault in found
    assert bool(fault) == bool(found)


def test_files_that_lie_elsewhere_are_refused(git_repo: Path, git: Git, tmp_path: Path) -> None:
    git(git_repo, "config", "core.worktree", str(tmp_path / "elsewhere"))
    with pytest.raises(UnsupportedRepository, match="elsewhere"):
        locate(git_repo)


def test_a_repository_of_another_user_that_git_trusts_is_opened(
    git_repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert locate(git_repo).root == git_repo


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_git_itself_is_asked_about_safe_directory(git_repo: Path, hermetic: Path, git: Git) -> None:
    for path in (git_repo, git_repo / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(Refused, match="another user") as caught:
        locate(git_repo)
    assert "safe.directory" in caught.value.hint
    git(hermetic, "config", "--global", "--add", "safe.directory", str(git_repo))
    assert locate(git_repo).root == git_repo


def test_sudo_may_open_the_callers_own_repository(git_repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = git_repo.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", str(owner))
    assert locate(git_repo).root == git_repo


def test_head_is_read_loose_packed_detached_and_unborn(git_repo: Path, git: Git, tmp_path: Path) -> None:
    tip = git(git_repo, "rev-parse", "HEAD")
    found = locate(git_repo)
    assert (read_head(found).ref, read_head(found).commit) == ("refs/heads/main", tip)
    git(git_repo, "pack-refs", "--all")
    assert not (git_repo / ".git/refs/heads/main").exists()
    assert read_head(found).commit == tip
    git(git_repo, "checkout", "-q", "--detach")
    assert (read_head(found).ref, read_head(found).commit) == (None, tip)
    git(git_repo, "checkout", "-q", "--orphan", "feature/new")
    assert (read_head(found).ref, read_head(found).commit) == ("refs/heads/feature/new", None)


def test_a_damaged_head_is_named(git_repo: Path) -> None:
    (git_repo / ".git/HEAD").write_text("nonsense\n")
    with pytest.raises(UnsupportedRepository, match="HEAD"):
        read_head(locate(git_repo))


@pytest.mark.parametrize("content", ["", "ref: refs/heads/other\n", "zz"])
def test_a_branch_that_a_power_cut_left_empty_does_not_pass_for_one_without_commits(
    git_repo: Path, content: str
) -> None:
    (git_repo / ".git/refs/heads/main").write_text(content)
    with pytest.raises(UnsupportedRepository, match="is no commit"):
        read_head(locate(git_repo))


def test_settings_are_read_as_git_writes_them(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        '# c\n[core]\n\tbare = false ; no\n\tfileMode\n\tworktree = "../a b"\n'
        '[remote "origin"]\n\turl = x\n[Extensions] noop = 1\n'
    )
    assert read_settings(config) == {
        "core.bare": "false",
        "core.filemode": "true",
        "core.worktree": "../a b",
        "extensions.noop": "1",
    }
    assert read_settings(tmp_path / "missing") == {}


def test_variables_of_a_surrounding_git_command_do_not_mislead_us(
    git_repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, git: Git
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert locate(git_repo).git_dir == git_repo / ".git"
    done = plumbing.run(locate(git_repo), "rev-parse", "--git-dir")
    assert done is not None
    assert done.text == str(git_repo / ".git")
