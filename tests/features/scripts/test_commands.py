"""`recall run` and `admin trust-script` as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from interfaces.world import Run


def test_a_script_runs_with_its_arguments_and_exit_code_once_it_is_trusted_until_its_time_is_over(
    run: Run, knowledge: Path
) -> None:
    refused = run("recall", "run-resource", "S-9XW2RB", "--", "--json")
    assert refused.code == 8
    assert "trust-script S-9XW2RB" in refused.err
    assert run("admin", "trust-script", "S-9XW2RB").code == 0
    done = run("recall", "run-resource", "S-9XW2RB", "--", "--json", "a b")
    assert (done.code, done.out) == (0, "workflow --json a b\n")
    script = knowledge / "jira-api/scripts/v3/update-workflow.sh"
    script.write_text("#!/bin/sh\npwd\nexit 7\n")
    assert run("recall", "run-resource", "S-9XW2RB").code == 8
    run("admin", "trust-script", "S-9XW2RB")
    done = run("recall", "run-resource", "S-9XW2RB", "--cwd", knowledge)
    assert (done.code, done.out) == (7, f"{knowledge}\n")
    script.write_text("#!/bin/sh\nsleep 60\n")
    run("admin", "trust-script", "S-9XW2RB")
    assert run("recall", "run-resource", "S-9XW2RB", "--timeout", "0.2").code == 124


def test_a_script_is_trusted_in_words_and_as_data(run: Run, knowledge: Path) -> None:
    trusted = run("admin", "trust-script", "S-9XW2RB", "--json").json
    assert trusted["path"].endswith("update-workflow.sh")
    assert trusted["beside"] == []
    assert "#!/bin/sh" in trusted["shown"]
    assert "Trusted as it stands: " in run("admin", "trust-script", "S-9XW2RB").out


def test_an_agent_trusts_no_script_and_is_told_how_a_person_does_it(
    run: Run, knowledge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AI_LESSONS_AGENT", "some agent")
    refused = run("admin", "trust-script", "S-9XW2RB")
    assert refused.code == 8
    assert "a person" in refused.err
    assert run("run", "S-9XW2RB").code == 8


def test_the_help_of_every_day_has_it_and_its_short_form_runs(run: Run, knowledge: Path) -> None:
    assert "  run S-9XW2RB " in run().out
    assert run("admin", "trust-script", "S-9XW2RB", "--yes").code == 0
    assert run("run", "S-9XW2RB", "--", "x").out == "workflow x\n"


def test_a_file_that_begins_as_a_script_is_added_as_one(run: Run, knowledge: Path) -> None:
    Path("count.sh").write_text("#!/bin/sh\nls | wc -l\n")
    assert run("contribute", "add-resource", "count.sh").out.startswith("[S-")
    assert "run S-9XW2RB" in run().out.partition("Every day:\n")[2].partition("\n\n")[0]
