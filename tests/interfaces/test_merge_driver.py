"""What a plain `git pull` makes of notes that two clones edited: as we merge them, where git is told to ask us."""

import os
from pathlib import Path

import pytest

from interfaces.world import Run, program_in
from real_world import Git

NOTE = "git/lessons/pull.md"
BASE = "---\nkind: lesson\ntitle: Pull\ntags: [git]\nconfidence: low\n---\nOne.\n\nTwo.\n\nThree.\n"


@pytest.fixture
def clones(tmp_path: Path, run: Run, git: Git, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two clones of one repository that have set us up, each with an edit of the same note; ours is on the PATH."""
    monkeypatch.setenv("PATH", f"{program_in(tmp_path / 'programs')}{os.pathsep}{os.environ['PATH']}")
    ann, bob = tmp_path / "ann", tmp_path / "bob"
    assert run("--repo", ann, "admin", "init", "--no-hooks").code == 0
    (ann / NOTE).parent.mkdir(parents=True, exist_ok=True)
    (ann / NOTE).write_text(BASE)
    git(ann, "add", NOTE)
    git(ann, "commit", "-qm", "Note")
    git(tmp_path, "clone", "-q", str(ann), str(bob))
    assert "merge driver: installed" in run("--repo", bob, "admin", "hooks", "install").out
    return ann, bob


def edit(clone: Path, git: Git, *changes: tuple[str, str]) -> None:
    text = (clone / NOTE).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (clone / NOTE).write_text(text)
    git(clone, "commit", "-qam", "Edit", "--no-verify")


def test_a_pull_merges_tags_and_lines_that_two_people_added(clones: tuple[Path, Path], git: Git) -> None:
    ann, bob = clones
    edit(ann, git, ("[git]", "[git, pull]"), ("One.", "1."))
    edit(bob, git, ("[git]", "[git, remote]"), ("Three.", "3."))
    git(bob, "pull", "-q", "--no-rebase", "--no-edit")
    text = (bob / NOTE).read_text()
    assert all(tag in text.partition("confidence")[0] for tag in ("git", "pull", "remote"))
    assert text.endswith("---\n1.\n\nTwo.\n\n3.\n")


@pytest.mark.parametrize("installed", [True, False])
def test_what_has_no_merge_is_a_conflict_as_git_writes_it(
    clones: tuple[Path, Path], git: Git, installed: bool, tmp_path: Path
) -> None:
    ann, bob = clones
    edit(ann, git, ("low", "high"))
    edit(bob, git, ("low", "medium"))
    if not installed:
        (tmp_path / "programs/ai-lessons").unlink()
    told = git(bob, "pull", "-q", "--no-rebase", "--no-edit", check=False)
    assert "conflict" in told.casefold()
    lines = (bob / NOTE).read_text().splitlines()
    assert lines[4:9] == ["<<<<<<< ours", "confidence: medium", "=======", "confidence: high", ">>>>>>> theirs"]
    assert git(bob, "status", "--porcelain", NOTE) == f"UU {NOTE}"
