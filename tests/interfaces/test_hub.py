from pathlib import Path

import pytest

from interfaces.world import Run
from real_world import Git

ZERO = "0" * 40


@pytest.fixture
def hub(tmp_path: Path, git: Git) -> Path:
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    return tmp_path / "hub.git"


def test_the_server_hook_comes_and_goes(run: Run, hub: Path) -> None:
    assert run("admin", "hooks", "status", "--server", str(hub)).out == "pre-receive: not installed\n"
    assert run("admin", "hooks", "install", "--server", str(hub)).out == "pre-receive: installed\n"
    assert (hub / "hooks" / "pre-receive").exists()
    assert run("admin", "hooks", "status", "--server", str(hub), "--json").json == ["pre-receive: installed"]
    assert run("admin", "hooks", "uninstall", "--server", str(hub)).out == "pre-receive: removed\n"
    assert not (hub / "hooks" / "pre-receive").exists()


def test_a_place_that_is_no_hub_is_said(run: Run, tmp_path: Path) -> None:
    done = run("admin", "hooks", "install", "--server", str(tmp_path))
    assert done.code == 3
    assert str(tmp_path) in done.err


def test_a_push_is_refused_with_reasons_and_the_code_of_a_policy(
    run: Run, hub: Path, monkeypatch: pytest.MonkeyPatch, git: Git, git_repo: Path
) -> None:
    git(git_repo, "push", "-q", str(hub), "main")
    head = git(git_repo, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(hub))
    done = run("admin", "check-push", text=f"{head} {ZERO} refs/heads/main\n")
    assert (done.code, done.out) == (8, "refused: main is the approval branch and cannot be deleted\n")
    assert run("admin", "check-push", text=f"{ZERO} {head} refs/heads/topic\n").out == ""
    assert run("admin", "check-push", text="").code == 8
