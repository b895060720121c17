"""Policies of an enterprise met at the doors: exit code 8, and an error of a tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from interfaces.mcp_world import inside
from interfaces.world import Run
from real_world import Git, commit_all, put_file


@pytest.fixture
def company(hermetic: Path, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository of acme; we stand in a project of acme's, and write to our own repository."""
    acme, user, shop = tmp_path / "acme", hermetic / ".ai/reference", tmp_path / "shop"
    for root in (acme, user, shop):
        root.mkdir(parents=True)
        git(root, "init", "-q")
        (root / "README.md").write_text("# Knowledge\n")
    (acme / ".ai-lessons").mkdir()
    (acme / ".ai-lessons/config.yaml").write_text("governance:\n  personal_learning_during_enterprise: block\n")
    (shop / ".ai-lessons.toml").write_text('enterprise = "acme"\n')
    put_file(hermetic / ".config/ai-lessons/config.toml", f'[enterprise.acme]\npath = "{acme}"\n')
    for root in (acme, user, shop):
        commit_all(git, root, "first")
    monkeypatch.setenv("AI_LESSONS_OFFLINE", "1")
    monkeypatch.chdir(shop)
    return acme


def test_a_refusal_is_exit_code_8_with_the_policy_and_a_remedy(company: Path, run: Run) -> None:
    done = run("contribute", "add-lesson", "--title", "Mine", "--content", "Words.")
    assert done.code == 8
    assert "error: nothing is written to the user's repository while a project of enterprise:acme" in done.err
    assert "governance.personal_learning_during_enterprise is block (.ai-lessons/config.yaml on main at " in done.err
    assert "write it to the project: --tier project" in done.err
    assert run("--json", "recall", "list").json == []


def test_an_agent_over_mcp_is_refused_with_the_same_words(company: Path, tmp_path: Path) -> None:
    with inside(tmp_path / "mcp.log") as agent:
        said = agent.fails("add_lesson", title="Mine", content="Words.")
        assert "governance.personal_learning_during_enterprise is block" in said
        assert "write it to the project: --tier project" in said
        rule = agent.fails("suggest_rule", title="Do it", rationale="because")
        assert "nothing is written to the user's repository" in rule
        assert agent.call("search", query="words") is not None


def test_an_agent_cannot_change_a_policy(company: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    change = ("--tier", "enterprise:acme", "admin", "config", "set", "governance.outbound_policy", "allow_all")
    monkeypatch.setenv("AI_LESSONS_AGENT", "some agent")
    assert run(*change).code == 8
    monkeypatch.delenv("AI_LESSONS_AGENT")
    assert run(*change).code == 0
