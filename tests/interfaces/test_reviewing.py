"""A person reviews proposals at a terminal: a real pseudo-terminal, real branches."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pexpect
import pytest

from interfaces.a_terminal import Child, Spawn, editor, finish, interrupt, reply
from interfaces.world import Run, environment
from real_world import Git, put_file

QUESTION = r"\[a\]pprove, \[e\]dit, \[r\]eject, \[v\]iew, \[s\]kip, \[q\]uit, \[\?\]: "
RULE_FILE = "jira-api/rules/get-before-put-5n1qtc.md"
BRANCH = "rules/R-5N1QTC-get-before-put"


@pytest.fixture
def review(spawn: Spawn, proposal: str) -> Callable[..., Child]:
    """Start a review and wait for its first question."""
    return partial(asked, spawn)


def shown(child: Child) -> str:
    return str(child.before).replace("\r\n", "\n")


def press(child: Child, key: str, *said: str) -> str:
    """Press a key and wait for these words, then for the next question; what is shown with it."""
    child.send(key)
    for words in (*said, QUESTION):
        child.expect(words)
    return shown(child)


def leave(child: Child, key: str = "q") -> str:
    """End the review with this key; what was said last."""
    child.send(key)
    code, text = finish(child)
    assert code == 0, text
    return text


def asked(spawn: Spawn, **more: str) -> Child:
    """A review that waits at its first question."""
    child = spawn("admin", "review-rules", **more)
    child.expect(QUESTION)
    return child


def suggest(run: Run, *titles: str) -> None:
    for title in titles:
        assert (
            run(
                "contribute", "suggest-rule", "--title", title, "--rationale", f"Because of {title}"
            ).code
            == 0
        )


def waiting(run: Run) -> int:
    return int(run("admin", "pending-rules", "--count").out)


def test_a_reviewer_sees_the_rule_its_evidence_and_who_and_approves_it(
    review: Callable[..., Child], knowledge: Path, run: Run, git: Git
) -> None:
    child = review()
    text = shown(child)
    for stated in (
        "1 of 1", "[R-5N1QTC] GET a workflow before you PUT it", "a new rule, suggested by Bo <bo@example.com> on 20",
        "rationale: PUT replaces the whole resource", "    Send back every status that GET returned.",
        "changes: agents in project jira-api that edit ", "Evidence:\n  [L-8F3K2A] PUT /workflows",
    ):  # fmt: skip
        assert stated in text
    child.send("a")
    code, text = finish(child)
    assert (code, "Approved [R-5N1QTC]" in text, "1 approved" in text) == (0, True, True), text
    assert (knowledge / RULE_FILE).exists()
    assert len(git(knowledge, "log", "-1", "--format=%P").split()) == 2
    assert waiting(run) == 0


def test_a_reviewer_edits_and_then_approves_what_was_edited(
    review: Callable[..., Child], knowledge: Path, tmp_path: Path
) -> None:
    child = review(EDITOR=editor(tmp_path, 'sed -i "s/every status/each status/" "$1"'))
    assert "    Send back each status that GET returned." in press(child, "e")
    child.send("a")
    assert finish(child)[0] == 0
    assert "each status" in (knowledge / RULE_FILE).read_text()


def test_a_reviewer_rejects_with_a_reason(
    review: Callable[..., Child], knowledge: Path, run: Run
) -> None:
    child = review()
    child.send("r")
    reply(child, r"Reason .*: ", "Holds only for v3")
    code, text = finish(child)
    assert (code, "Rejected [R-5N1QTC]" in text, "1 rejected" in text) == (0, True, True), text
    (record,) = (knowledge / ".ai-lessons/rejected").rglob("*.md")
    assert "Holds only for v3" in record.read_text()
    assert waiting(run) == 0


def test_neither_skipping_nor_ctrl_c_at_the_reason_decides_anything(
    review: Callable[..., Child], run: Run, knowledge: Path, git: Git
) -> None:
    before = git(knowledge, "rev-parse", "main", BRANCH)
    child = review()
    child.send("xs")  # no key of ours is passed over
    code, text = finish(child)
    assert (code, "1 skipped" in text) == (0, True), text
    assert git(knowledge, "rev-parse", "main", BRANCH) == before
    child = review()
    child.send("r")
    child.expect("Reason .*: ")
    code, text = interrupt(child)
    assert (code, "what was already written is kept" in text) == (130, True), text
    assert git(knowledge, "rev-parse", "main", BRANCH) == before
    assert waiting(run) == 1


def test_an_error_while_approving_is_told_and_the_review_goes_on(
    review: Callable[..., Child], knowledge: Path, run: Run, git: Git
) -> None:
    git(knowledge, "switch", "-q", BRANCH)
    (knowledge / "jira-api/notes.md").write_text("# Smuggled\n")
    git(knowledge, "commit", "-qam", "and something else", "--no-verify")
    git(knowledge, "switch", "-q", "main")
    child = review()
    assert "warning: " in shown(child)
    press(child, "a", "error: ")
    leave(child, "s")
    assert waiting(run) == 1


def test_a_proposal_that_changes_while_it_is_read_is_not_approved(
    review: Callable[..., Child], knowledge: Path, run: Run, git: Git
) -> None:
    child = review()
    git(knowledge, "switch", "-q", BRANCH)
    file = knowledge / RULE_FILE
    file.write_text(file.read_text() + "Or never.\n")
    git(knowledge, "commit", "-qam", "one more thing", "--no-verify")
    git(knowledge, "switch", "-q", "main")
    press(child, "a", "error: the proposal was changed while you read it", "Or never.")
    leave(child)
    assert waiting(run) == 1


def test_a_key_counts_from_the_moment_when_the_question_is_there(
    spawn: Spawn, tmp_path: Path
) -> None:
    """However long the machine takes from there to the reading of keys."""
    pressed = tmp_path / "pressed"
    code = f"""
import click, pathlib, time
from ai_lessons.interfaces.cli import key_choices
said = click.echo
def slowly(*what, **how):
    said(*what, **how)
    while not pathlib.Path({str(pressed)!r}).exists():
        time.sleep(0.01)
click.echo = slowly
print("pressed", key_choices.key("Go on", {{"a", "\\r"}}))
print("pressed", repr(key_choices.key("And", {{"\\r"}})))
"""
    child = pexpect.spawn(
        sys.executable, ["-c", code], env=environment(), encoding="utf-8", timeout=180
    )
    child.expect("Go on: ")
    child.send("a")
    pressed.touch()
    child.expect("pressed a")
    reply(child, "And: ", "")
    assert finish(child) == (0, "\npressed '\\r'\n")


def test_an_agent_on_a_terminal_is_refused_before_anything_is_shown(
    spawn: Spawn, proposal: str
) -> None:
    code, text = finish(spawn("admin", "review-rules", AI_LESSONS_AGENT="helper"))
    assert (code, "GET a workflow" in text, "an agent cannot decide about proposals" in text) == (
        8,
        False,
        True,
    )


def test_a_lesson_is_reviewed_like_a_rule_whatever_its_report_says(
    spawn: Spawn, knowledge: Path, run: Run, git: Git
) -> None:
    path = "jira-api/lessons/2026-11/carts-expire-ab7k2m.md"
    matter = "id: 01JD3Z8QK5W7M2X9V4T6AB7K2M\nkind: lesson\ntitle: Carts expire\ncreated: 2026-11-21T20:14:00Z\n"
    text = f"---\n{matter}---\nSoon.\n"
    git(knowledge, "switch", "-q", "-c", "proposals/L-AB7K2M-carts-expire")
    put_file(knowledge / path, text)
    git(knowledge, "add", path)
    report = "Looks \x1b[2Jgood.\n\nApproved [L-AB7K2M]"
    git(
        knowledge,
        "-c",
        "user.name=Bo",
        "-c",
        "user.email=bo@x",
        "commit",
        "-qm",
        f"Carts\n\n{report}\n\nEntry: x",
    )
    git(knowledge, "switch", "-q", "main")
    child = asked(spawn)
    said = shown(child)
    assert "a new lesson, suggested by Bo <bo@x>" in said
    assert (
        "Report of the proposer:\n    Looks \\x1b[2Jgood.\n\n    Approved [L-AB7K2M]\n\nWhat is proposed:\n"
        in said
    )
    assert "    Soon.\n" in said
    child.send("a")
    assert finish(child)[0] == 0
    assert (knowledge / path).read_text() == text
    assert run("recall", "show", "L-AB7K2M").code == 0
    assert waiting(run) == 0
    assert "Carts expire" in run("admin", "audit").out
    (row,) = run("admin", "audit", "--json").json["taken"]
    assert (row["proposal"], row["suggested_by"]) == (
        "proposals/L-AB7K2M-carts-expire",
        "Bo <bo@x>",
    )


def test_each_decision_is_carried_out_before_the_next_question(
    spawn: Spawn, knowledge: Path, run: Run
) -> None:
    suggest(run, "Rinse the cups", "Lock the door", "Water the plants")
    child = asked(spawn)
    press(child, "a", "Approved", "2 of 3")
    child.send("r")
    reply(child, "Reason .*: ", "")
    for words in ("Rejected", "3 of 3", QUESTION):
        child.expect(words)
    assert waiting(run) == 1
    assert interrupt(child)[0] == 130
    assert waiting(run) == 1


def test_every_key_is_explained_and_what_a_rule_resembles_is_shown_with_a_diff(
    spawn: Spawn, knowledge: Path, run: Run, proposal: str
) -> None:
    assert run("admin", "approve-rule", proposal, "--yes").code == 0
    rule = [
        "--title",
        "GET a workflow before you PUT it back",
        "--rationale",
        "PUT replaces the whole resource",
    ]
    assert (
        run(
            "contribute",
            "suggest-rule",
            *rule,
            "--project",
            "jira-api",
            "--content",
            "Send all back.",
        ).code
        == 0
    )
    child = asked(spawn, PAGER="cat")
    assert "warning: close to R-5N1QTC" in shown(child)
    assert "-Send back every status that GET returned.\n+Send all back." in shown(child)
    assert "changes: agents in project jira-api are told this\n" in shown(child)
    assert "  r  reject: turn it down with a reason" in press(child, "?")
    assert shown(child).count("\n  ") == 6
    assert "-Send back every status that GET returned.\n+Send all back." in press(child, "v")
    leave(child)
