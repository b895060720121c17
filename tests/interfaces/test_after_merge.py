"""What the hook of a merge says when the merge is made, and a sync: which evidence applied, or why none did."""

from pathlib import Path

import pytest

from approval.approval_world import (
    BRANCH,
    GITHUB,
    HUMAN,
    OTHER,
    OTHER_PATH,
    PATH,
    SECOND,
    Clone,
    text,
    world,
)
from interfaces.world import run_inside


@pytest.fixture
def mine(tmp_path: Path) -> Clone:
    return world(tmp_path)[1]


def said(clone: Clone) -> list[str]:
    done = run_inside(["--repo", str(clone.root), "-q", "admin", "after-merge"], clone.root)
    assert done.code == 0, done.err
    return done.out.splitlines()


def side(clone: Clone, files: dict[str, str | None], name: str = "topic") -> None:
    clone.run("switch", "-q", "-c", name)
    clone.commit("work", files, SECOND)
    clone.run("switch", "-q", "main")


def test_a_merge_of_one_rule_says_that_it_is_in_force_and_why(mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH, message="approve the blue ceilings", options=("--no-ff",))
    (line,) = said(mine)
    start = "ai-lessons: in force, by this merge: it brings this one rule and nothing else: approve the blue ceilings"
    assert line == f"{start}: R-8F3K2A Use X"


def test_a_merge_that_names_a_pull_request_says_so(mine: Clone) -> None:
    side(mine, {PATH: text("Use X"), OTHER_PATH: text("Other", OTHER)})
    mine.merge("topic", message="Merge pull request #7 from org/topic", options=("--no-ff",))
    assert [line.split(": ")[2] for line in said(mine)] == ["it names a pull request"] * 2


REFUSED = [
    (
        {PATH: text("Use X"), OTHER_PATH: text("Other", OTHER)},
        "take both",
        "this merge brings two rules",
    ),
    (
        {PATH: text("Use X"), "jira/lessons/a.md": "a\n"},
        "take it",
        "this merge brings more than this one rule",
    ),
    (
        {PATH: text("Use X")},
        "Merge branch 'topic' into trial",
        "this merge was made for the branch trial",
    ),
    ({PATH: text("Use X")}, "Take it\n\nAgent: claude", "an agent made this merge"),
    ({PATH: text("Use X")}, 'Revert "Merge it"', "this merge takes something back"),
    ({PATH: text("Use X")}, "Merge tag 'v1.0'", "this merges a tag or a commit"),
    (
        {PATH: text("Use X")},
        "Merge branch 'main' of hub",
        "this merge takes over what was approved on main",
    ),
]


@pytest.mark.parametrize(("files", "message", "why"), REFUSED, ids=[row[2] for row in REFUSED])
def test_a_merge_that_approves_nothing_says_why_and_what_to_do(
    mine: Clone, files: dict[str, str | None], message: str, why: str
) -> None:
    side(mine, files)
    mine.merge("topic", message=message, options=("--no-ff",))
    (line,) = said(mine)
    assert line.startswith(f"ai-lessons: {why}"), line
    assert "a person has to approve" in line
    assert all(handle in line for handle in ("R-8F3K2A", "R-ZZZZZZ")[: line.count("R-")])
    assert "ai-lessons admin review-rules" in line


def test_a_merge_without_rules_and_a_pull_of_the_followed_branch_say_nothing(
    mine: Clone, tmp_path: Path
) -> None:
    side(mine, {"jira/lessons/a.md": "a\n"})
    mine.merge("topic", options=("--no-ff",))
    assert said(mine) == []
    mine.propose()
    mine.merge(BRANCH, options=("--no-ff",))
    mine.run("push", "-q")
    mine.run("reset", "-q", "--hard", "HEAD~1")
    mine.run("pull", "-q", "--ff-only")
    assert said(mine) == []


def test_a_fast_forward_to_another_branch_names_what_it_took_over_hidden_rules_first(
    mine: Clone,
) -> None:
    mine.run("switch", "-q", "-c", "dev")
    for path, rule, words in (
        (PATH, "8F3K2A", text("Use X")),
        (OTHER_PATH, "ZZZZZZ", text("Other", OTHER)),
    ):
        side_name = f"rules/R-{rule}-x"
        mine.run("switch", "-q", "-c", side_name)
        mine.commit("Propose", {path: words}, SECOND)
        mine.run("switch", "-q", "dev")
        mine.run("merge", "-q", "--no-ff", "-m", "take it", side_name)
    mine.commit("tidy", {OTHER_PATH: None}, SECOND)
    mine.run("switch", "-q", "main")
    mine.merge("dev", options=("--ff-only",))
    hidden, plain, undo = said(mine)
    came = "came with this fast-forward, by merges that were made elsewhere"
    assert hidden == f"ai-lessons: rule R-ZZZZZZ Use X {came}, and its changes do not show that"
    assert plain == f"ai-lessons: rule R-8F3K2A Use X {came}"
    assert undo.startswith("ai-lessons: to take it back: git reset --keep ")


def test_a_commit_of_a_forge_that_is_not_known_is_named_once_with_the_line_to_add(
    mine: Clone,
) -> None:
    acme = ("Acme", "git@acme.example")
    for number, path, rule in ((7, PATH, "01JD3Z8QK5W7M2X9V4T68F3K2A"), (8, OTHER_PATH, OTHER)):
        mine.commit(f"Use X (#{number})", {path: text("Use X", rule)}, SECOND, committer=acme)
    assert mine.served() is None
    doctor = run_inside(["--repo", str(mine.root), "admin", "doctor", "--json"], mine.root).json
    (row,) = [row for row in doctor if "forge that is not known" in row["detail"]]
    assert row["detail"].count("git@acme.example") == 1
    line = row["remedy"].partition("ai-lessons ")[2]
    assert run_inside(["--repo", str(mine.root), *line.split()], mine.root).code == 0
    mine.run("add", "-A")
    mine.run("commit", "-q", "--allow-empty", "-m", "settings", by=HUMAN)
    assert mine.served() == "Use X"
    assert mine.served(OTHER) == "Use X"


def test_audit_and_why_say_which_evidence_applied(mine: Clone) -> None:
    mine.commit("Use X (#7)", {PATH: text("Use X")}, SECOND, committer=GITHUB)
    (row,) = run_inside(["--repo", str(mine.root), "admin", "audit", "--json"], mine.root).json[
        "rows"
    ]
    assert row["reason"] == "a forge squashed a pull request: Use X (#7)"
    why = run_inside(["--repo", str(mine.root), "recall", "why", "R-8F3K2A"], mine.root)
    assert "its evidence: a forge squashed a pull request: Use X (#7)" in why.out


def test_a_sync_with_another_branch_names_what_its_fast_forward_took_over(tmp_path: Path) -> None:
    made, mine = world(tmp_path)
    theirs = made.clone("theirs")
    theirs.propose()
    theirs.merge(BRANCH, options=("--no-ff",))
    theirs.commit("tidy", {PATH: None}, SECOND)
    other = tmp_path / "other.git"
    mine.run("clone", "-q", "--bare", str(tmp_path / "hub.git"), str(other))
    theirs.run("push", "-q", str(other), "main")
    mine.run("remote", "add", "other", str(other))
    done = run_inside(
        ["--repo", str(mine.root), "admin", "sync", "--json", "--remote", "other"], mine.root
    )
    (note,) = [note for note in done.json["notes"] if "fast-forward" in note and "R-8F3K2A" in note]
    assert note.endswith("its changes do not show that (from other/main)")
