"""The starter set: brought only where it is asked for, and its rules wait until a person approves them."""

from pathlib import Path

import pytest

from ai_lessons.app.setup import init, read_template, template_dir
from ai_lessons.approval.state import derive
from ai_lessons.errors import Refused
from ai_lessons.git.worktree import locate
from ai_lessons.model.approval import BranchView, is_rule
from ai_lessons.model.layout import place
from real_world import Git

RULES = {name: data for name, data in read_template(template_dir()).items() if is_rule(name)}


def view(root: Path, branch: str = "main") -> BranchView:
    return derive(locate(root), f"refs/heads/{branch}")


def proposed(root: Path, git: Git) -> list[str]:
    return git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads/rules").split()


def test_unless_they_are_asked_for_no_entry_comes(tmp_path: Path, git: Git) -> None:
    made = init(tmp_path / "r")
    assert not [name for name in made.added if place(name)]
    assert {".ai-lessons/config.yaml", "README.md", "CODEOWNERS", ".github/workflows/validate.yml"} <= set(made.added)
    assert set(git(made.root, "ls-files").split("\n")) == set(made.added)
    assert git(made.root, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


@pytest.mark.parametrize("team", [False, True])
def test_all_wait_as_proposals_and_none_is_approved(tmp_path: Path, git: Git, *, team: bool) -> None:
    made = init(tmp_path / "r", team=team, with_starters=True)
    branches = proposed(made.root, git)
    assert len(branches) == len(RULES)
    assert view(made.root).verdicts == {}
    assert not set(RULES) & set(git(made.root, "ls-files").split("\n"))
    assert f"{len(RULES)} starter rules wait" in "".join(made.notes)
    assert git(made.root, "log", "-1", "--format=%an", branches[0]) == "ai-lessons starter set"
    assert git(made.root, "status", "--short") == ""
    assert git(made.root, "fsck", "--strict") == ""


def test_one_is_in_force_once_a_person_has_merged_it(tmp_path: Path, git: Git) -> None:
    made = init(tmp_path / "r", with_starters=True)
    git(made.root, "merge", "-q", "--no-ff", "--no-edit", proposed(made.root, git)[0])
    assert [verdict.evidence.how for verdict in view(made.root).verdicts.values()] == ["merge"]


def test_a_repository_with_content_gets_them_when_they_are_asked_for(tmp_path: Path, git: Git) -> None:
    root = init(tmp_path / "r").root
    (root / "shop" / "docs").mkdir(parents=True)
    (root / "shop" / "docs" / "a.md").write_text("# Mine\n")
    made = init(root, with_starters=True)
    entries = {name for name in read_template(template_dir()) if place(name)}
    assert set(made.added) == entries - set(RULES)
    assert git(root, "status", "--short") == "?? shop/"
    assert len(proposed(root, git)) == len(RULES)


def test_one_that_is_approved_or_deleted_does_not_come_back_unasked(tmp_path: Path, git: Git) -> None:
    root = init(tmp_path / "r", with_starters=True).root
    branch = proposed(root, git)[0]
    git(root, "merge", "-q", "--no-ff", "--no-edit", branch)
    git(root, "branch", "-qD", *proposed(root, git))
    init(root)
    assert proposed(root, git) == []
    init(root, with_starters=True)
    assert branch not in proposed(root, git)
    assert len(proposed(root, git)) == len(RULES) - 1


def test_a_folder_of_a_bigger_repository_gets_none(git_repo: Path, git: Git) -> None:
    with pytest.raises(Refused, match="no starter set") as caught:
        init(git_repo / "kb", with_starters=True)
    assert "--starters" in caught.value.hint
    assert "rules" not in git(git_repo, "for-each-ref")
