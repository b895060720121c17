"""Rules through the commands, without a person at a terminal: from suggestion to audit, on real branches."""

import json
from pathlib import Path

import pytest

from interfaces.world import Run, run_inside
from real_world import Git, put_program

RULE_FILE = "jira-api/rules/get-before-put-5n1qtc.md"
EVIL = "\x1b[2J\x1b[1Aharmless"


@pytest.fixture
def in_force(run: Run, proposal: str) -> str:
    assert run("admin", "approve-rule", proposal, "--yes").code == 0
    return proposal


def test_a_suggested_rule_waits_on_a_branch_and_nothing_else_changes(
    run: Run, knowledge: Path, git: Git
) -> None:
    before = git(knowledge, "rev-parse", "HEAD")
    done = run(
        "contribute", "suggest-rule", "--title", "GET before PUT", "--rationale", "PUT replaces", "--tags", "jira-api",
        "--project", "jira-api", "--applies-to", "*.py", "--link-lesson", "L-8F3K2A", "--link-script", "S-9XW2RB",
        "--link-doc", "D-4T7QZM", "--file", "-", "--json", text="Send it back.\n",
    )  # fmt: skip
    assert done.code == 0, done.err
    made = done.json
    text = git(knowledge, "show", f"{made['commit']}:{made['path']}")
    assert git(knowledge, "rev-parse", made["branch"]) == made["commit"]
    for stated in (
        "related_to: 01JD",
        "has_script: 01JD",
        "has_doc: 01JD",
        "- '*.py'",
        "Send it back.",
    ):
        assert stated in text.replace('"', "'")
    assert git(knowledge, "status", "--porcelain") == ""
    assert git(knowledge, "rev-parse", "HEAD") == before
    assert made["handle"] not in run("recall", "list", "--type", "rule").out
    done = run("contribute", "suggest-rule", "--title", "x", "--rationale", " ")
    assert (done.code, "rationale" in done.err) == (2, True), "it needs a reason"
    assert run("contribute", "suggest-rule", "--title", "x").code == 2


def test_what_waits_is_listed_and_counted(
    run: Run, knowledge: Path, request: pytest.FixtureRequest
) -> None:
    assert run("admin", "pending-rules").out == "No proposal waits for review.\n"
    assert run("admin", "pending-rules", "--json").json == []
    assert run("admin", "pending-rules", "--count").out == "0\n"
    assert run("admin", "review-rules").out == "No proposal waits for review.\n"
    handle = request.getfixturevalue("proposal")
    assert handle in run("admin", "pending-rules").out
    assert run("admin", "pending-rules", "--count").out == "1\n"
    assert run("admin", "pending-rules", "--count", "--json").json == {"pending": 1}
    (one,) = run("admin", "pending-rules", "--json").json
    assert (one["handle"], one["branch"]) == (handle, "rules/R-5N1QTC-get-before-put")
    assert one["suggested_by"] == "Bo <bo@example.com>"
    assert [entry["handle"] for entry in one["evidence"]] == ["L-8F3K2A"]


def test_an_approved_rule_is_served_with_its_approval(
    run: Run, knowledge: Path, in_force: str
) -> None:
    assert run("admin", "pending-rules").out == "No proposal waits for review.\n"
    shown = run("recall", "show", in_force)
    for stated in (
        "In force since",
        "approved by Test Person",
        "suggested by: Bo <bo",
        "suggested by: ",
    ):
        assert stated in shown.out
    approval = run("recall", "show", in_force, "--json").json["approval"]
    assert approval.keys() >= {"approved_by", "approved_at", "suggested_by", "commit", "evidence"}
    assert (approval["in_force"], approval["unapproved_change"]) == (True, "")
    assert "approved by Test Person" in run("recall", "why", in_force).out
    assert run("recall", "why", in_force, "--json").json["approval"]["evidence"] == 2


def test_a_clone_without_a_local_main_has_the_rules_of_the_remotes_and_says_where_there_is_none(
    run: Run, knowledge: Path, in_force: str, git: Git
) -> None:
    git(knowledge, "branch", "feature")
    git(knowledge.parent, "clone", "-q", "-b", "feature", str(knowledge), "co")
    clone = knowledge.parent / "co"

    def here(*words: str) -> str:
        done = run(*words, "--repo", clone)
        return done.out + done.err

    assert in_force in here("list", "--type", "rule")
    assert "in force by merge on origin/main" in here("admin", "doctor")
    here("contribute", "suggest-rule", "--title", "Another", "--rationale", "R")
    handle = run("admin", "pending-rules", "--json", "--repo", clone).json[0]["handle"]
    refused = run("admin", "approve-rule", handle, "--yes", "--repo", clone)
    assert (refused.code, "git branch main origin/main" in refused.err) == (5, True)
    git(clone, "update-ref", "-d", "refs/remotes/origin/main")
    for words in (
        ("list",),
        ("search", "put"),
        ("recall", "context", "--project", "jira-api"),
        ("admin", "doctor"),
    ):
        assert "there is no approval branch main here or of origin" in here(*words)
    assert in_force not in here("list", "--type", "rule")
    event = {
        "hook_event_name": "SessionStart",
        "session_id": "s",
        "cwd": str(clone),
        "source": "startup",
    }
    begun = run_inside(
        ("admin", "agent-hook", "--repo", str(clone)), clone, stdin=json.dumps(event)
    )
    assert "there is no approval branch main" in begun.out
    git(clone, "fetch", "-q", "origin", "main:main")
    assert in_force in here("list", "--type", "rule")


def test_an_edit_in_the_folder_is_shown_as_unapproved_and_can_be_proposed(
    run: Run, knowledge: Path, in_force: str, git: Git
) -> None:
    file = knowledge / RULE_FILE
    approved = file.read_text()
    file.write_text(approved + f"Or not. {EVIL}\n")
    shown = run("recall", "show", in_force)
    assert "An unapproved change exists" in shown.out
    assert "+Or not. \\x1b[2J\\x1b[1Aharmless" in shown.out
    assert "\x1b" not in shown.out
    done = run("contribute", "propose", RULE_FILE)
    assert (done.code, f"[{in_force}]" in done.out) == (0, True), done.err
    assert file.read_text() == approved
    assert git(knowledge, "status", "--porcelain") == ""
    assert run("contribute", "propose").out == "Nothing to propose.\n"
    (one,) = run("admin", "pending-rules", "--json").json
    assert (one["change"], one["added"]) == ("edit", 1)


def test_editing_updating_and_deleting_a_rule_only_proposes(
    run: Run, knowledge: Path, in_force: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (knowledge / RULE_FILE).read_text()
    updated = run("contribute", "update", in_force, "--add-tags", "workflows")
    assert (updated.code, "  proposed on rules/" in updated.out, "path:" in updated.out) == (
        0,
        True,
        False,
    )
    editor = put_program(tmp_path / "editor.sh", '#!/bin/sh\necho "More." >> "$1"\n')
    monkeypatch.setenv("EDITOR", str(editor))
    assert "  proposed on rules/" in run("contribute", "edit", in_force).out
    gone = run("contribute", "delete", in_force, "--yes")
    assert gone.out.startswith(
        f"Removal of [{in_force}] GET a workflow before you PUT it\n  proposed on rules/"
    )
    assert (knowledge / RULE_FILE).read_text() == text
    kinds = sorted(one["change"] for one in run("admin", "pending-rules", "--json").json)
    assert kinds == ["edit", "edit", "removal"]
    assert run("recall", "show", in_force, "--json").json["tags"] == ["jira-api"]


def test_without_a_terminal_a_review_is_refused_and_an_approval_needs_yes_and_tells_what_was_made_before_it_failed(
    run: Run, proposal: str
) -> None:
    done = run("admin", "review-rules")
    assert (done.code, "needs a terminal" in done.err) == (2, True)
    done = run("admin", "approve-rule", proposal)
    assert done.code == 8
    assert (
        "\nhint: see review-rules --list, then approve-rule ID --yes or reject-rule ID\n"
        in done.err
    )
    assert run("admin", "pending-rules", "--count").out == "1\n"
    done = run("admin", "approve-rule", proposal, "R-000000", "--yes")
    assert (done.code, f"Approved [{proposal}]" in done.out, "R-000000" in done.err) == (
        3,
        True,
        True,
    )


def test_a_rule_is_suggested_and_approved_in_one_sitting_where_a_person_asks_for_it(
    run: Run, knowledge: Path
) -> None:
    words = (
        "contribute",
        "suggest-rule",
        "--title",
        "Stash by name",
        "--rationale",
        "One stash",
        "--approve",
    )
    assert run(*words).code == 8, "without a terminal it needs --yes, and nothing is written"
    assert run("admin", "pending-rules", "--count").out == "0\n"
    done = run(*words, "--yes")
    assert (done.code, "rationale: One stash" in done.out, "\nApproved [R-" in done.out) == (
        0,
        True,
        True,
    )
    assert "Stash by name" in run("list", "--type", "rule").out


FOR_PEOPLE = (
    ("admin", "approve-rule", "R-5N1QTC", "--yes"),
    ("admin", "approve-rule", "R-5N1QTC"),
    ("admin", "reject-rule", "R-5N1QTC"),
    ("admin", "review-rules"),
    ("admin", "config", "set", "approval.require", "forge"),
    ("admin", "config", "set", "approval.distinct", "false"),
    ("admin", "config", "set", "git.autocommit", "true"),
    ("admin", "signers", "team.signers", "--yes"),
    ("contribute", "suggest-rule", "--title", "T", "--rationale", "R", "--approve", "--yes"),
    (
        "contribute",
        "add-lesson",
        "--title",
        "T",
        "--content",
        "C",
        "--allow-secret",
        "0123456789ab=mine",
    ),
)
VARIABLES = ("AI_LESSONS_AGENT", "CODEX_SANDBOX", "CURSOR_AGENT", "GEMINI_CLI", "QWEN_CODE")


def test_what_is_for_people_is_refused_to_agents_of_every_host_and_they_are_told_how_a_person_does_it(
    run: Run, proposal: str, knowledge: Path, git: Git
) -> None:
    before = git(knowledge, "for-each-ref")
    refused = [("CLAUDECODE", command) for command in FOR_PEOPLE]
    refused += [(variable, FOR_PEOPLE[0]) for variable in VARIABLES]
    for variable, command in refused:
        with pytest.MonkeyPatch.context() as agent:
            agent.setenv(variable, "1")
            done = run(*command)
        assert (done.code, "an agent cannot" in done.err) == (8, True), command
        assert "hint: ask the user: " in done.err
        assert f"without {variable} in the environment" in done.err
        assert (git(knowledge, "for-each-ref"), git(knowledge, "status", "--porcelain")) == (
            before,
            "",
        ), command
    with pytest.MonkeyPatch.context() as agent:
        agent.setenv("CLAUDECODE", "1")
        assert run("admin", "config", "set", "search.chunking.target", "300").code == 0, (
            "how a search works"
        )
    for command in FOR_PEOPLE:
        assert "an agent cannot" not in run(*command).err


def test_an_approval_starts_few_programs_and_reads_the_settings_once(
    run: Run, proposal: str, started: Path
) -> None:
    assert run("admin", "approve-rule", proposal, "--yes").code == 0
    rows = started.read_text().splitlines()
    assert len(rows) <= 13, "\n".join(rows)
    assert [" config " in row for row in rows].count(True) == 1


def test_an_audit_tells_a_rule_that_nobody_approved_by_its_exit_code(
    run: Run, knowledge: Path, in_force: str, git: Git
) -> None:
    assert run("admin", "audit").code == 0
    assert run("admin", "audit", "--json").json["ok"] is True
    rule = (
        (knowledge / RULE_FILE)
        .read_text()
        .replace("5N1QTC", "6P2RXD")
        .replace("GET a", f"Never GET a{EVIL}")
    )
    (knowledge / "jira-api/rules/other.md").write_text(rule.replace(EVIL, ""))
    git(knowledge, "add", "-A")
    git(knowledge, "commit", "-qm", "straight to main", "--no-verify")
    done = run("admin", "audit")
    assert (done.code, "violation: R-6P2RXD" in done.out) == (8, True), done.out
    assert done.out.rstrip().endswith("the policy is violated")
    assert run("admin", "audit", "--json").code == 8


def test_rules_in_force_come_first_in_a_search_and_before_work(
    run: Run, knowledge: Path, in_force: str
) -> None:
    found = run("recall", "search", "put a workflow", "--context-tags", "jira-api")
    assert found.out.startswith(
        f"Rules (follow these):\n  [{in_force}] (0.85) GET a workflow before you PUT it\n"
    )
    assert '"PUT replaces the whole resource"' in found.out
    before = run("recall", "context", "--path", "app/workflows/put.py")
    assert before.out.startswith(f"Rules (follow these):\n  [{in_force}] GET")
    assert (
        run("recall", "context", "--path", "README.txt").out == "Nothing is known for this yet.\n"
    )
    data = run("recall", "context", "--project", "jira-api", "--budget", "2", "--json").json
    assert [one["handle"] for one in (*data["rules"], *data["lessons"])] == [in_force, "L-8F3K2A"]
