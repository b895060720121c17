"""A person at a terminal who is shown a script, and asked."""

from __future__ import annotations

from pathlib import Path

from interfaces.a_terminal import Spawn, finish, interrupt, reply


def test_a_script_is_shown_and_asked_about_once_it_is_trusted_and_not_run_before(
    spawn: Spawn, knowledge: Path
) -> None:
    child = spawn("recall", "run-resource", "S-9XW2RB")
    reply(child, r"from now on\?", "")
    code, text = finish(child)
    assert (code, "workflow" in text.partition("hint")[0].partition("error")[0]) == (8, False)
    child = spawn("recall", "run-resource", "S-9XW2RB", "--", "hello")
    child.expect("has not been run on this machine")
    child.expect("keeps its statuses")
    reply(child, r"trust this text from now on\?", "y")
    code, text = finish(child)
    assert (code, "workflow hello" in text) == (0, True)
    code, text = finish(spawn("recall", "run-resource", "S-9XW2RB", "--", "again"))
    assert (code, text) == (0, "workflow again\n")


def test_a_script_cannot_hide_what_it_does(spawn: Spawn, knowledge: Path) -> None:
    (knowledge / "jira-api/scripts/v3/update-workflow.sh").write_text(
        "#!/bin/sh\nrm -rf x # \x1b[2K\x1b[1Aecho ok\n"
    )
    child = spawn("recall", "run-resource", "S-9XW2RB")
    child.expect_exact("rm -rf x # \\x1b[2K\\x1b[1Aecho ok")
    child.expect(r"from now on\?")
    code, text = interrupt(child)
    assert (code, "what was already written is kept" in text) == (130, True)
