"""Promotion through the command: a code project with knowledge of its own, the user's, and a company's."""

from pathlib import Path

from interfaces.three_repositories import three
from interfaces.world import Outcome, Run

__all__ = ["three"]

LESSON = "L-8F3K2A"
TITLE = "PUT /workflows replaces the entire resource"


def promote(run: Run, *args: str, to: str = "user") -> Outcome:
    return run("contribute", "promote", LESSON, "--to", to, *args)


def test_a_copy_tells_where_it_is_and_what_it_is_worth(three: Path, run: Run) -> None:
    done = promote(run)
    assert done.code == 0, done.err
    first, path, source, evaluation = done.out.splitlines()
    assert first.endswith(f"] {TITLE}")
    assert path.startswith("  path: ~/.ai/reference/jira-api/lessons/2026-")
    assert source == f"  copied from project: {LESSON}"
    assert evaluation == "  evaluation: approve"
    again = promote(run)
    assert (again.code, again.out) == (0, f"[{LESSON}] {TITLE}\n  nothing to do\n")
    assert again.err.endswith("(user) says the same already\n")


def test_a_proposal_tells_its_branch(three: Path, run: Run) -> None:
    done = promote(run, "--reason", "three teams", to="enterprise:acme")
    assert done.code == 0, done.err
    assert "\n  branch: proposals/L-" in done.out
    assert (
        "until a person approves it: ai-lessons --tier enterprise:acme admin sync sends it to them\n"
        in done.out
    )
    assert done.out.count("ai-lessons --tier") == 1
    (waiting,) = run("--tier", "enterprise:acme", "admin", "pending-rules", "--json").json
    assert waiting["report"].startswith("Reason: three teams\n\nEvaluation: approve")


def test_a_wrong_tier_is_named_and_what_a_text_says_is_never_obeyed_by_the_terminal(
    three: Path, run: Run
) -> None:
    for to, code, told in (
        ("project", 2, "is in the project tier already"),
        ("enterprise:none", 3, "no tier 'enterprise:none'"),
    ):
        done = promote(run, to=to)
        assert (done.code, told in done.err) == (code, True)
    file = next((three / ".ai/reference").glob("jira-api/lessons/*/*.md"))
    file.write_text(file.read_text().replace("Seen on", "Seen in /home/bo/ji\x1b[2Jra on"))
    done = promote(run, to="enterprise:acme")
    assert "\x1b" not in done.out
    assert "path of one machine: /home/bo/ji (line" in done.out


def test_an_entry_is_no_surer_than_what_it_comes_from_over_tiers(three: Path, run: Run) -> None:
    assert (
        run("contribute", "update", LESSON, "--confidence", "low", "--source", "hearsay").code == 0
    )
    copy = promote(run, "--json").json["copy"]["handle"]
    changes = (
        "--confidence",
        "very-high",
        "--source",
        "tested",
        "--title",
        "Workflows are replaced as a whole",
    )
    assert run("contribute", "update", copy, *changes).code == 0
    words = f"no surer than its origin {LESSON} (low, hearsay)"
    for command in (("show", copy), ("recall", "why", copy), ("search", '"replaced as a whole"')):
        assert words in run(*command).out
    (hit,) = run("search", '"replaced as a whole"', "--json").json["lessons"]
    for shown in (hit, run("show", copy, "--json").json, run("recall", "why", copy, "--json").json):
        assert (shown["confidence"], shown["source"]) == ("very-high", "tested")
        weakest = shown["weakest"]
        assert (weakest["handle"], weakest["tier"]) == (LESSON, "project")
        assert (weakest["confidence"], weakest["source"]) == ("low", "hearsay")
    assert "weakest" not in run("show", LESSON, "--json").json
