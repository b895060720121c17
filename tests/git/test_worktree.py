"""Finding a repository and its branch, and refusing what we cannot work with, without git and without dulwich."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.git import plumbing
from ai_lessons.git.worktree import locate, read_head, read_settings
from real_world import Git, instead


def test_a_repository_is_found_at_its_top(git_repo: Path) -> None:
    found = locate(git_repo)
    assert (found.root, found.top, found.git_dir, found.prefix) == (
        git_repo,
        git_repo,
        git_repo / ".git",
        "",
    )
    assert found.state_dir == git_repo / ".git/ai-lessons"


def test_a_folder_of_a_repository_has_a_prefix_and_a_state_folder_of_its_own(
    git_repo: Path,
) -> None:
    for name in ("a", "b"):
        (git_repo / name / "kb").mkdir(parents=True)
    one, other = locate(git_repo / "a/kb"), locate(git_repo / "b/kb")
    assert (one.prefix, other.prefix) == ("a/kb/", "b/kb/")
    assert one.state_dir != other.state_dir
    assert one.state_dir.parent == git_repo / ".git/ai-lessons"


def test_a_link_to_a_repository_is_the_repository(git_repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(git_repo)
    assert locate(tmp_path / "link").root == git_repo


def test_sudo_may_open_the_callers_own_repository(
    git_repo: Path, monkeypatch: pytest.MonkeyPatch, closing: ExitStack
) -> None:
    owner = git_repo.stat().st_uid
    closing.enter_context(instead("os.geteuid", lambda: 0))
    monkeypatch.setenv("SUDO_UID", str(owner))
    assert locate(git_repo).root == git_repo


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
    read = read_settings(config)
    assert read == {
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
    assert plumbing.run(locate(git_repo), "rev-parse", "--git-dir").text == str(git_repo / ".git")
