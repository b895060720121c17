"""What may have gone stale, listed, refused by CI, and decided with one key at a real terminal."""

from pathlib import Path

import pytest

from interfaces.a_terminal import Spawn, editor, finish, reply
from interfaces.world import DOC, LESSON, Run
from real_world import Git, at_rest

FILE = "jira-api/lessons/2026-11/put-replaces-8F3K2A.md"
ASKED = r"\[q\]uit, \[\?\]: "
WHY = "it was to be reviewed by 2020-01-01"


@pytest.fixture
def overdue(knowledge: Path, git: Git) -> Path:
    """The lesson's day of review is past; its file."""
    file = knowledge / FILE
    file.write_text(file.read_text().replace("from: ai\n", "from: ai\nreview_by: 2020-01-01\n"))
    git(knowledge, "commit", "-qam", "review by")
    at_rest(knowledge)
    return file


def test_without_a_terminal_it_is_a_list_and_no_failure_and_ci_fails_on_it_until_it_is_kept(
    run: Run, overdue: Path
) -> None:
    done = run("admin", "review")
    assert done.code == 0
    assert done.out.splitlines() == [
        "[L-8F3K2A] PUT /workflows replaces the entire resource",
        f"  {WHY}",
    ]
    (said,) = run("admin", "review", "--json").json
    assert (said["id"], said["reason"], said["detail"]) == (LESSON, "review_by", WHY)
    assert run("admin", "validate").code == 0
    done = run("admin", "validate", "--ci")
    assert done.code == 4
    assert f"{FILE}:1: to be reviewed: {WHY}" in done.out
    kept = run("admin", "review", "--keep", "L-8F3K2A")
    assert (kept.code, kept.out.splitlines()[0]) == (
        0,
        "[L-8F3K2A] PUT /workflows replaces the entire resource",
    )
    assert run("admin", "validate", "--ci").code == 0
    assert run("admin", "review").out == "Nothing is to be reviewed.\n"
    assert run("admin", "review", "--json").json == []


def test_a_person_keeps_it_with_one_key(spawn: Spawn, overdue: Path) -> None:
    child = spawn("admin", "review")
    child.expect(ASKED)
    shown = str(child.before)
    for stated in ("1 of 1", "PUT /workflows replaces the entire resource", f"! {WHY}"):
        assert stated in shown
    child.send("k")
    code, text = finish(child)
    assert (code, "1 kept" in text) == (0, True), text
    assert "\nreviewed: 20" in overdue.read_text()


def test_a_long_entry_is_cut_to_the_screen_below_what_is_wrong_with_it_and_shown_whole_on_demand_or_edited(
    spawn: Spawn, overdue: Path, tmp_path: Path
) -> None:
    overdue.write_text(
        overdue.read_text() + "".join(f"\nPoint {number}.\n" for number in range(40))
    )
    child = spawn(
        "admin",
        "review",
        PAGER="cat",
        EDITOR=editor(tmp_path, 'sed -i "s/2020-01-01/2090-01-01/" "$1"'),
    )
    child.expect(ASKED)
    card = str(child.before)
    assert (card.count("\n") <= 24, f"! {WHY}" in card, "more lines: v shows them" in card) == (
        True,
        True,
        True,
    ), card
    assert "Point 39." not in card
    child.send("v")
    child.expect(ASKED)
    assert "Point 39." in str(child.before)
    child.send("xe")  # no key of ours is passed over
    assert finish(child)[0] == 0
    assert "review_by: 2090-01-01" in overdue.read_text()


def test_a_person_says_that_it_is_wrong_and_why(spawn: Spawn, overdue: Path) -> None:
    child = spawn("admin", "review")
    child.expect(ASKED)
    child.send("w")
    reply(child, "Why is it wrong: ", "PATCH works since v4")
    code, text = finish(child)
    assert (code, "1 marked wrong" in text) == (0, True), text
    assert "status: wrong\nreason: PATCH works since v4\n" in overdue.read_text()


def test_a_person_names_what_takes_its_place(
    spawn: Spawn, overdue: Path, run: Run, knowledge: Path
) -> None:
    new = run("add", "--title", "PATCH changes one status", "--content", "Since v4.", "--json").json
    child = spawn("admin", "review")
    child.expect(ASKED)
    child.send("n")
    reply(child, "takes its place: ", "L-ZZZZZZ")  # a mistake costs nothing
    child.expect("error: ")
    child.expect(ASKED)
    child.send("n")
    reply(child, "takes its place: ", new["handle"])
    code, text = finish(child)
    assert (code, "1 superseded" in text) == (0, True), text
    assert f"- supersedes: {LESSON}" in (knowledge / new["path"]).read_text()


@pytest.mark.plays("intake")
def test_a_person_is_asked_where_a_doc_is_read_from_and_told_when_that_changes(
    spawn: Spawn, overdue: Path, knowledge: Path
) -> None:
    source = Path.home() / "source/workflows-api.md"
    now = source.read_text()
    source.write_text("As it stood yesterday.\n")
    child = spawn("contribute", "refresh-resource", DOC)
    child.expect(
        r"would be read from ~/source/workflows-api.md and was not added from there on this machine"
    )
    reply(child, r"Read it, also from now on\? \[y/N\]: ", "y")
    assert finish(child)[0] == 0
    source.write_text(now)
    child = spawn("admin", "review")
    child.expect(r"\[k\]eep, \[e\]dit, \[n\] supersede, \[v\]iew, \[s\]kip, \[q\]uit, \[\?\]: ")
    assert "! its source has changed: ~/source/workflows-api.md" in str(child.before)
    child.send("q")
    assert finish(child)[0] == 0


def test_an_agent_at_a_terminal_gets_the_list(spawn: Spawn, overdue: Path) -> None:
    code, text = finish(spawn("admin", "review", AI_LESSONS_AGENT="robot"))
    assert (code, "L-8F3K2A" in text, "[k]" in text) == (0, True, False), text


def test_a_project_may_be_named_by_a_scope(run: Run, knowledge: Path) -> None:
    for project in ("jira-api", "project:/home/you/code/jira-api"):
        listed = run("recall", "list", "--type", "lesson", "--project", project, "--json").json
        assert [one["id"] for one in listed] == [LESSON]
