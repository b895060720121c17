"""The starter rules: approved by whoever makes a repository, by the judge's own lights, or left as proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ai_lessons.errors import StorageFailed
from ai_lessons.repository import starters
from ai_lessons.repository.approval.derivation import derive
from ai_lessons.repository.approval.rule_files import is_rule
from ai_lessons.repository.scaffold import init, read_template, template_dir
from ai_lessons.repository.worktree import locate

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.repository.approval.verdicts import View
    from conftest import Git

RULES = {name: one.data for name, one in read_template(template_dir()).items() if is_rule(name)}


def view(root: Path, branch: str = "main") -> View:
    return derive(locate(root), f"refs/heads/{branch}")


def in_force_everywhere(seen: View) -> None:
    assert {verdict.path for verdict in seen.verdicts.values() if verdict.in_force} == set(RULES)
    for verdict in seen.verdicts.values():
        assert (verdict.evidence.level, verdict.evidence.how) == (2, "merge")
        assert verdict.evidence.by is not None
        assert verdict.evidence.by.email == "person@example.com"
        assert [person.name for person in verdict.evidence.suggested_by] == ["ai-lessons starter set"]
        assert verdict.unapproved == ()


def test_all_are_in_force_by_the_merge_of_whoever_made_the_repository(tmp_path: Path, git: Git) -> None:
    made = init(tmp_path / "r")

    in_force_everywhere(view(made.root))
    assert set(RULES) <= set(made.added)
    assert "approved by you" in "".join(made.notes)
    assert git(made.root, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(made.root, "status", "--short") == ""
    assert git(made.root, "fsck", "--strict") == ""


def test_they_are_on_a_branch_of_another_name(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk", "r")

    in_force_everywhere(view(init(tmp_path / "r").root, "trunk"))


def test_they_are_in_a_clone(tmp_path: Path, git: Git) -> None:
    made = init(tmp_path / "r")
    git(tmp_path, "clone", "-q", "r", "clone")

    in_force_everywhere(view(tmp_path / "clone"))
    assert made.commit == git(tmp_path / "clone", "rev-parse", "HEAD")


@pytest.mark.parametrize("how", ["team", "agent"])
def test_where_two_are_asked_for_or_an_agent_is_at_work_they_are_left_as_proposals(
    tmp_path: Path, git: Git, how: str
) -> None:
    made = init(tmp_path / "r", team=how == "team", person=how != "agent")

    branches = git(made.root, "for-each-ref", "--format=%(refname:short)", "refs/heads/rules").split()
    assert len(branches) == len(RULES)
    assert view(made.root).verdicts == {}
    assert not set(RULES) & set(git(made.root, "ls-files").split("\n"))
    assert "review-rules" in "".join(made.notes)

    git(made.root, "merge", "-q", "--no-ff", "--no-edit", branches[0])
    assert [verdict.evidence.how for verdict in view(made.root).verdicts.values()] == ["merge"]


def test_they_do_not_come_back_once_somebody_has_deleted_them(tmp_path: Path, git: Git) -> None:
    root = init(tmp_path / "r").root
    git(root, "rm", "-q", *RULES)

    assert not init(root).created
    assert not [name for name in RULES if (root / name).exists()]


def test_they_do_not_come_into_a_folder_with_content_or_into_a_bigger_repository(
    tmp_path: Path, git_repo: Path, git: Git
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.md").write_text("# Notes\n")

    init(tmp_path / "full")
    init(git_repo / "kb")

    assert "rules" not in git(tmp_path / "full", "ls-files")
    assert "rules" not in git(tmp_path / "full", "for-each-ref")
    assert not list((git_repo / "kb").glob("*/rules"))
    assert "rules" not in git(git_repo, "for-each-ref")


def test_a_branch_that_has_moved_meanwhile_is_left_where_it_is(tmp_path: Path, git: Git) -> None:
    root = init(tmp_path / "r").root
    head, start = git(root, "rev-parse", "HEAD", "HEAD~1").split()

    with pytest.raises(StorageFailed, match="moved meanwhile"):
        starters.take(locate(root), start, RULES)
    assert git(root, "rev-parse", "HEAD") == head
