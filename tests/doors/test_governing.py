"""Policies of an enterprise met at the doors: exit code 8, an error of a tool, and the log that tells of both."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ai_lessons.doors.render_rules import enforcement as told
from ai_lessons.doors.terminal import View
from ai_lessons.library.policies import Enforced, Enforcement
from doors.mcp_world import inside

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doors.world import Run

    Git = Callable[..., str]

CODE = "Do this:\n\n```sh\nrun --it\n```\n"
LATER = "2026-11-22T05:00:00Z"


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
    config = hermetic / ".config/ai-lessons/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[enterprise.acme]\npath = "{acme}"\n')
    for root in (acme, user, shop):
        git(root, "add", "-A")
        git(root, "commit", "-qm", "first")
    monkeypatch.setenv("AI_LESSONS_OFFLINE", "1")
    monkeypatch.chdir(shop)
    return acme


def test_a_refusal_is_exit_code_8_with_the_policy_and_a_remedy(company: Path, run: Run) -> None:
    done = run("contribute", "add-lesson", "--title", "Mine", "--content", "Words.")
    assert done.code == 8
    assert "error: nothing is written to the user's repository while a project of enterprise:acme" in done.err
    assert "governance.personal_learning_during_enterprise is block (.ai-lessons/config.yaml on main at " in done.err
    assert "ai-lessons admin init .ai/reference" in done.err
    assert run("--json", "recall", "list").json == []


def test_words_may_be_written_where_only_code_is_kept_back(company: Path, run: Run, git: Git) -> None:
    git(company, "rm", "-q", ".ai-lessons/config.yaml")
    git(company, "commit", "-qm", "State nothing")
    assert run("contribute", "add-lesson", "--title", "Mine", "--content", "Words.").code == 0
    assert run("contribute", "add-lesson", "--title", "Theirs", "--content", CODE).code == 8
    assert [one["title"] for one in run("--json", "recall", "list").json] == ["Mine"]


def test_the_log_tells_who_was_refused_what_and_when(company: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No policy of an enterprise" in run("admin", "audit", "--enforcement").out
    monkeypatch.setenv("AI_LESSONS_AGENT", "some agent")
    run("contribute", "add-lesson", "--title", "Mine", "--content", "Words.")
    done = run("admin", "audit", "--enforcement")
    assert done.code == 0
    assert "refused Mine" in done.out
    assert "enterprise:acme: governance.personal_learning_during_enterprise is block" in done.out
    assert "by Test Person <person@example.com> (agent some agent); stated: main at " in done.out
    (row,) = run("--json", "admin", "audit", "--enforcement", "--since", "2020-01-01").json
    assert (row["outcome"], row["agent"], row["stated_in"]) == ("refused", "some agent", str(company))
    assert run("--json", "admin", "audit", "--enforcement", "--since", "2999-01-01T00:00Z").json == []
    assert len(run("--tier", "enterprise:acme", "--json", "admin", "audit", "--enforcement").json) == 1


@pytest.mark.parametrize("wrong", [["--since", "2026-11-01"], ["--enforcement", "--since", "monday"],
                                   ["--enforcement", "--acknowledge"]])  # fmt: skip
def test_options_of_the_log_that_make_no_sense_are_refused(company: Path, run: Run, wrong: list[str]) -> None:
    assert run("admin", "audit", *wrong).code == 2


def test_a_promotion_that_is_forbidden_ends_with_8_and_copies_nothing(company: Path, run: Run, git: Git) -> None:
    (company / ".ai-lessons/config.yaml").write_text("governance:\n  promotion_from_enterprise_context: block_all\n")
    git(company, "commit", "-qam", "Keep what our projects learn")
    assert run("admin", "init", ".ai/reference").code == 0
    made = run("--json", "contribute", "add-lesson", "--title", "Ours", "--content", "Words.").json
    done = run("contribute", "promote", made["handle"], "--to", "user")
    assert done.code == 8
    assert "governance.promotion_from_enterprise_context is block_all" in done.err
    assert run("--tier", "user", "--json", "recall", "list").json == []
    assert "refused Ours (project to user)" in run("admin", "audit", "--enforcement").out
    assert run("contribute", "promote", made["handle"], "--to", "enterprise:acme").code == 0


def test_an_agent_over_mcp_is_refused_with_the_same_words(company: Path, tmp_path: Path) -> None:
    with inside(tmp_path / "mcp.log") as agent:
        said = agent.fails("add_lesson", title="Mine", content="Words.")
        assert "governance.personal_learning_during_enterprise is block" in said
        assert "ai-lessons admin init .ai/reference" in said
        rule = agent.fails("suggest_rule", title="Do it", rationale="because")
        assert "nothing is written to the user's repository" in rule
        assert agent.call("search", query="words") is not None


def test_an_agent_cannot_change_a_policy(company: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    change = ("--tier", "enterprise:acme", "admin", "config", "set", "governance.outbound_policy", "allow_all")
    monkeypatch.setenv("AI_LESSONS_AGENT", "some agent")
    assert run(*change).code == 8
    monkeypatch.delenv("AI_LESSONS_AGENT")
    assert run(*change).code == 0


def test_the_log_shows_what_each_decision_rests_on() -> None:
    key = "governance.outbound_policy"
    way = ("enterprise:acme", "user", "Ada <a@b>")
    one = Enforced(LATER, "allowed", "enterprise:acme", key, "allow_all", "E", "A title", *way)
    one = replace(one, stated_in="/acme", branch="main", commit="c" * 40)
    other = Enforced(LATER, "asked", "enterprise:x", "p", "v", "E", "B\x1b[2J", "project", "user")
    assert told(Enforcement((one, other)), View()).splitlines() == [
        "2026-11-22T05:00:00Z allowed A title (enterprise:acme to user)",
        "  enterprise:acme: governance.outbound_policy is allow_all",
        "  by Ada <a@b>; stated: main at cccccccccc in /acme",
        "2026-11-22T05:00:00Z asked B\\x1b[2J (project to user)",
        "  enterprise:x: p is v",
        "  by somebody; stated: nowhere on this machine",
        "2 decisions",
    ]
    assert "\x1b[" in told(Enforcement((one, other)), View(colour=True))
