"""Feedback, parameters and what was left out, as they are typed: as text and as data."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from interfaces.agent_host import Host
from interfaces.test_agent_moments import lesson
from interfaces.test_other_setups import program, shop, user
from interfaces.world import LESSON, Run
from real_world import Git

__all__ = ["lesson", "shop", "user"]


def test_feedback_says_how_the_lesson_stands_now(run: Run, knowledge: Path) -> None:
    done = run("contribute", "feedback", "L-8F3K2A", "helpful", "--note", "saved an hour")
    assert done.code == 0
    told = "[L-8F3K2A] PUT /workflows replaces the entire resource: helpful\n  learned confidence: 0.80\n"
    assert done.out.startswith(told)
    data = run("contribute", "feedback", "L-8F3K2A", "ignored", "--json").json
    assert (data["id"], data["outcome"]) == (LESSON, "ignored")
    assert data["usage"] == run("recall", "show", "L-8F3K2A", "--json").json["usage"]
    assert set(data["usage"]) == {
        "times_injected", "times_helpful", "times_ignored", "times_contradicted", "last_used", "alpha", "beta",
        "confidence", "seen_helpful", "seen_again",
    }  # fmt: skip
    assert "learned confidence: 0.77" in run("recall", "show", "L-8F3K2A").out


def test_context_explains_what_it_left_out(run: Run, knowledge: Path) -> None:
    run("contribute", "feedback", "L-8F3K2A", "contradicted")
    shown = run("recall", "context", "--project", "jira-api", "--explain").out
    assert (
        "Left out:\n  [L-8F3K2A] PUT /workflows replaces the entire resource: contradicted more often (1)"
        in shown
    )
    data = run("recall", "context", "--project", "jira-api", "--explain", "--json").json
    assert [(one["handle"], one["reason"]) for one in data["left_out"]] == [("L-8F3K2A", "harm")]
    assert "left_out" not in run("recall", "context", "--project", "jira-api", "--json").json


def test_parameters_are_shown_and_reset(run: Run, knowledge: Path) -> None:
    first = run("admin", "params", "--json").json
    assert [one["name"] for one in first] == [
        "injection_budget", "confidence_threshold", "semantic_similarity_threshold", "assessment_sample_rate",
        "ablation_frequency",
    ]  # fmt: skip
    assert "1 to 20" in run("admin", "params", "injection_budget", "--reset").out
    assert run("admin", "params", "--reset").code == 0
    assert "no parameter 'gravity'" in run("admin", "params", "gravity").err
    assert [one["value"] for one in run("admin", "params", "--json").json] == [
        one["value"] for one in first
    ]


def test_feedback_takes_many_at_once(host: Host, lesson: str, run: Run) -> None:
    done = json.loads(
        run("contribute", "feedback", f"{lesson}=helpful", "L-8F3K2A=ignored", "--json").out
    )
    assert [(one["handle"], one["outcome"]) for one in done] == [
        (lesson, "helpful"),
        ("L-8F3K2A", "ignored"),
    ]
    assert run("contribute", "feedback", f"{lesson}=helpful", "L-8F3K2A").code == 2
    assert run("contribute", "feedback", f"{lesson}=nice").code == 2


def test_feedback_and_edits_of_an_entry_outlive_the_worktree_that_they_were_made_in(
    shop: Path, git: Git
) -> None:
    assert program("add", "--title", "Carts expire", "--content", "Seen.", cwd=shop).code == 0
    git(shop, "add", ".ai")
    git(shop, "commit", "-q", "-m", "lesson")
    git(shop, "worktree", "add", "-q", "../agent", "-b", "agent")
    handle = json.loads(program("list", "--json", cwd=shop).out)[0]["handle"]
    agent = shop.parent / "agent"
    assert program("contribute", "feedback", handle, "helpful", cwd=agent).code == 0
    time.sleep(1.1)  # of the time of a commit git keeps whole seconds
    assert (
        program("contribute", "update", handle, "--content", "After an hour.", cwd=agent).code == 0
    )
    git(shop, "worktree", "remove", "--force", "../agent")
    assert "Carts expire" in program("admin", "recover", "--list", cwd=shop).out
    assert program("admin", "recover", cwd=shop).code == 0
    assert "After an hour." in program("show", handle, cwd=shop).out
    assert "Nothing to recover" in program("admin", "recover", "--list", cwd=shop).out
    assert (
        json.loads(program("show", handle, "--json", cwd=shop).out)["usage"]["times_helpful"] == 1
    )


def test_a_clone_that_was_copied_writes_events_under_a_name_of_its_own(
    hermetic: Path, user: Path
) -> None:
    copied = hermetic / "copy"
    assert program("add", "--title", "Carts expire", "--content", "Seen.", cwd=hermetic).code == 0
    handle = json.loads(program("list", "--json", cwd=hermetic).out)[0]["handle"]
    for number, repo in enumerate((user, user, copied, copied)):
        if number == 2:
            shutil.copytree(user, copied)
        said = program(
            "--repo", str(repo), "contribute", "feedback", handle, "helpful", cwd=hermetic
        )
        assert said.code == 0, said.err
        assert program("--repo", str(repo), "admin", "save", cwd=hermetic).code == 0
    clones = [
        {folder.name for folder in (repo / ".ai-lessons/events").iterdir()}
        for repo in (user, copied)
    ]
    assert [len(names) for names in clones] == [1, 2]
    assert clones[0] < clones[1]
