"""Rules that check, through the commands and the hooks: told where an edit breaks them, asked or refused, as SARIF."""

import json
import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from ai_lessons.interfaces.cli import root
from interfaces.agent_host import Host
from interfaces.rules_with_checks import CHECK, HANDLE, enforced
from interfaces.world import RULE, Run, environment, run_inside
from real_world import Git, commit_all, instead, put_file

EXAMPLES = Path(__file__).parents[3] / "template-repo/examples"


def edit(host: Host, new: str, name: str = "before_edit", **more: Any) -> Any:
    """What the host is answered before an edit that writes this text."""
    given = {
        "file_path": str(host.code / "workflows/a.py"),
        "old_string": "x = 1",
        "new_string": new,
    }
    out = run_inside(
        ["admin", "agent-hook"], host.code, host.event(name, tool_input=given, **more)
    ).out
    return json.loads(out) if out else None


def test_an_edit_that_breaks_a_rule_is_told_so_each_time_and_no_other(
    checked: Host, run: Run, closing: ExitStack
) -> None:
    assert checked.hear("before_read") == "", "reading breaks nothing"
    put_file(checked.code / "workflows/a.py", "import requests\nx = 1\n")
    assert edit(checked, "x = 2") is None, "the name of the file alone says nothing any more"
    for _ in range(2):
        answer = edit(checked, "x = requests.put(1)")["hookSpecificOutput"]
        assert answer.keys() == {"hookEventName", "additionalContext"}
        assert (
            f"- this edit breaks {HANDLE} at line 2: GET a workflow before you PUT it"
            in answer["additionalContext"]
        )
    assert edit(checked, "x = requests.put(1, status=2)") is None
    proposed = ("--check", '{regex: "x = 2", bad: x = 2, good: y, enforce: deny}')
    assert run("contribute", "update", HANDLE, *proposed).code == 0
    assert edit(checked, "x = 2") is None, "a proposed check decides nothing"
    # without the engine of its pattern it is told by the name of the file
    closing.enter_context(instead("ai_lessons.features.checks.runner.runs", lambda _check: False))
    told = edit(checked, "x = 2", session_id="another")["hookSpecificOutput"]
    assert f"[{HANDLE}]" in told["additionalContext"]


def test_the_host_asks_or_refuses_where_the_rule_says_so_and_asks_about_what_could_not_be_looked_at(
    checked: Host, run: Run
) -> None:
    put_file(checked.code / "workflows/a.py", "import requests\nx = 1\n")
    enforced(checked, run, "ask")
    answer = edit(checked, "x = requests.put(1)")["hookSpecificOutput"]
    assert answer["permissionDecision"] == "ask"
    assert f"breaks {HANDLE} at line 2" in answer["permissionDecisionReason"]
    assert answer["additionalContext"] == answer["permissionDecisionReason"]
    codex = edit(checked, "x = requests.put(1)", turn_id="1")["hookSpecificOutput"]
    assert "permissionDecision" not in codex, "Codex cannot ask"
    enforced(checked, run, "deny")
    answer = edit(checked, "x = requests.put(1)")["hookSpecificOutput"]
    assert answer.keys() == {"hookEventName", "permissionDecision", "permissionDecisionReason"}
    assert answer["permissionDecision"] == "deny"
    assert (
        edit(checked, "x = requests.put(1)", turn_id="1")["hookSpecificOutput"][
            "permissionDecision"
        ]
        == "deny"
    )
    cursor = edit(checked, "x = requests.put(1)", hook_event_name="preToolUse", cursor_version="2")
    assert cursor["permission"] == "deny"
    assert HANDLE in cursor["agent_message"]
    after = edit(checked, "x = requests.put(1)", hook_event_name="AfterTool")["hookSpecificOutput"]
    assert "permissionDecision" not in after, "the edit is made already"
    assert edit(checked, "x = 3") is None
    for new, why in (
        (
            f"requests.put(1)  # ai-lessons: allow {HANDLE} because I say so",
            f"at line 2 to break {HANDLE}",
        ),
        ("requests.put(1)\n" + "#" * (1 << 20), "could not look at this edit: more than 1 MiB"),
    ):
        answer = edit(checked, new)["hookSpecificOutput"]
        assert answer["permissionDecision"] == "ask"
        assert why in answer["permissionDecisionReason"]
        cursor = edit(checked, new, hook_event_name="preToolUse", cursor_version="2")
        assert cursor["permission"] == "ask"
        codex = edit(checked, new, turn_id="1")["hookSpecificOutput"]
        assert codex["permissionDecision"] == "deny", "Codex cannot ask"


def test_every_host_is_refused_in_its_own_form_and_told_where_it_cannot_ask(
    checked: Host, run: Run
) -> None:
    put_file(checked.code / "workflows/a.py", "import requests\nx = 1\n")
    gemini = {"hook_event_name": "BeforeTool", "transcript_path": "/h/.gemini/tmp/x/chats/s.jsonl"}
    qwen = {"transcript_path": "/h/.qwen/projects/x/chats/s.jsonl"}

    def copilot(new: str) -> Any:
        file = str(checked.code / "workflows/a.py")
        event = checked.event(
            "copilot_edit", tool_input={"path": file, "old_str": "x = 1", "new_str": new}
        )
        return json.loads(
            run_inside(["admin", "agent-hook"], checked.code, event, AI_LESSONS_AGENT="copilot").out
        )

    enforced(checked, run, "ask")
    assert edit(checked, "requests.put(1)", **gemini) is None, "it does not end"
    assert (
        edit(checked, "requests.put(1)", **qwen)["hookSpecificOutput"]["permissionDecision"]
        == "ask"
    )
    assert copilot("requests.put(1)")["permissionDecision"] == "ask"
    enforced(checked, run, "deny")
    refused = edit(checked, "requests.put(1)", **gemini)
    assert refused.keys() == {"decision", "reason"}
    assert (refused["decision"], f"breaks {HANDLE}" in refused["reason"]) == ("deny", True)
    assert edit(checked, "x = 2", **gemini) is None
    assert (
        edit(checked, "requests.put(1)", **qwen)["hookSpecificOutput"]["permissionDecision"]
        == "deny"
    )
    refused = copilot("requests.put(1)")
    assert refused.keys() == {"permissionDecision", "permissionDecisionReason"}
    assert refused["permissionDecision"] == "deny"


PATCH = """*** Begin Patch
*** Update File: workflows/a.py
@@
 import requests
-x = 1
+x = requests.put(1)
*** Add File: workflows/b.py
+import requests
*** End Patch
"""


def test_the_patch_of_codex_is_an_edit_and_many_edits_of_one_file_are_looked_at_together(
    checked: Host,
) -> None:
    put_file(checked.code / "workflows/a.py", "import requests\nx = 1\n")
    call = {"tool_name": "apply_patch", "tool_input": {"command": PATCH}, "turn_id": "1"}
    assert f"breaks {HANDLE} at line 2" in checked.hear("before_edit", **call)
    call["tool_input"] = {"command": PATCH.replace("requests.put(1)", "2")}
    assert checked.hear("before_edit", **call) == ""
    put_file(checked.code / "workflows/a.py", "x = 1\ny = 1\n")
    pairs = (("x = 1", "x = 0\nz = 0"), ("y = 1", "requests.put(1)"))
    edits = [{"old_string": old, "new_string": new} for old, new in pairs]
    many = {"file_path": str(checked.code / "workflows/a.py"), "edits": edits}
    assert f"breaks {HANDLE} at line 3" in checked.hear(
        "before_edit", tool_name="MultiEdit", tool_input=many
    )


def test_a_check_is_shown_and_its_proof_is_required(checked: Host, run: Run) -> None:
    shown = run("show", HANDLE).out
    assert "check: regex `requests\\.put\\(` unless `status`" in shown
    assert "breaks it: requests.put(1)" in shown
    silent = run("contribute", "update", HANDLE, "--check", "{regex: nothing, bad: x, good: y}")
    assert silent.code == 4
    assert "does not fire on check.bad" in silent.err
    lesson = run("contribute", "update", "L-8F3K2A", "--check", CHECK)
    assert "only a rule has a check" in lesson.err


def sarif_schema() -> dict[str, Any]:
    """The parts of SARIF 2.1.0 (OASIS, sections 3.13 to 3.49) that we write: names, types, and what is required."""
    text, uint = {"type": "string"}, {"type": "integer", "minimum": 0}

    def table(required: str, **properties: Any) -> dict[str, Any]:
        closed = {"type": "object", "additionalProperties": False, "required": required.split()}
        return closed | {"properties": properties}

    def array(items: Any) -> dict[str, Any]:
        return {"type": "array", "items": items}

    message = table("text", text=text)
    bag = {"type": "object"}
    rule = table(
        "id", id=text, shortDescription=message, fullDescription=message, help=message, properties=bag
    )  # fmt: skip
    place = table("uri", uri={"type": "string", "format": "uri-reference"}, uriBaseId=text)
    region = table("startLine", startLine={"type": "integer", "minimum": 1})
    location = table(
        "", physicalLocation=table("artifactLocation", artifactLocation=place, region=region)
    )
    result = table(
        "message", ruleId=text, ruleIndex=uint, level={"enum": ["none", "note", "warning", "error"]}, message=message,
        locations=array(location), partialFingerprints={"type": "object", "additionalProperties": text},
    )  # fmt: skip
    driver = table("name", name=text, rules=array(rule))
    tool, columns = table("driver", driver=driver), {"enum": ["unicodeCodePoints"]}
    ended = table("executionSuccessful", executionSuccessful={"type": "boolean"}, endTimeUtc=text)
    run = table(
        "tool", tool=tool, columnKind=columns, results=array(result), invocations=array(ended),
        properties=bag,
    )  # fmt: skip
    return table("version runs", **{"$schema": text}, version={"const": "2.1.0"}, runs=array(run))


def test_the_command_answers_as_text_json_and_sarif(
    checked: Host, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file(checked.code / "workflows/a b.py", "import requests\nrequests.put(1)\n")
    monkeypatch.chdir(checked.code)
    done = run("check")
    assert done.code == 1
    assert done.out.startswith(
        f"workflows/a b.py:2: {HANDLE} GET a workflow before you PUT it | requests.put(1)\n"
    )
    for words in (("check", "--format", "json"), ("check", "--json")):
        answer = run(*words).json
        assert (answer["findings"][0]["id"], answer["findings"][0]["line"]) == (RULE, 2)
        assert answer.keys() >= {"files", "rules", "allowed", "in_baseline", "notes"}
    done = run("check", "--format", "sarif")
    assert done.code == 1
    jsonschema.validate(done.json, sarif_schema())
    (result,) = done.json["runs"][0]["results"]
    assert (
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        == "workflows/a%20b.py"
    )
    assert done.json["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == HANDLE
    put_file(checked.code / "workflows/a b.py", b"\0\xff\xff" * 9)
    done = run("check")
    assert (done.code, done.out.splitlines()[0]) == (1, "workflows/a b.py:1: not looked at: binary")
    (result,) = run("check", "--format", "sarif").json["runs"][0]["results"]
    assert (result["ruleId"], "ruleIndex" in result) == ("not-looked-at", False)
    put_file(checked.code / "workflows/a b.py", "import requests\n")
    assert run("check").code == 0
    jsonschema.validate(run("check", "--format", "sarif").json, sarif_schema())
    assert root.get_command(None, "check") is not None  # type: ignore[arg-type]


def test_a_report_names_the_commit_that_approved_each_rule_and_who_merged_it_without_an_address(
    checked: Host, run: Run, monkeypatch: pytest.MonkeyPatch, knowledge: Path, git: Git
) -> None:
    put_file(checked.code / "workflows/a.py", "requests.put(1)\n")
    put_file(
        checked.code / "workflows/b.py",
        f"requests.put(1)  # ai-lessons: allow {HANDLE} because x\n",
    )
    commit_all(git, checked.code, "first")
    monkeypatch.chdir(checked.code)
    merge = git(knowledge, "rev-parse", "main")
    answer = run("check", "--format", "json").json
    (rule,) = answer["by_rule"]
    assert (rule["id"], rule["commit"], rule["approved_by"]) == (RULE, merge, "Test Person")
    assert [rule[key] for key in ("in_scope", "broken", "allowed")] == [2, 1, 1]
    assert answer["revision"] == git(checked.code, "rev-parse", "HEAD")
    assert (answer["project"], answer["at"][:2]) == ("Jira_API", "20")
    assert (answer["warn"], answer["would_stop"]) == (False, 0)
    (sarif,) = run("check", "--format", "sarif").json["runs"]
    stated = sarif["tool"]["driver"]["rules"][0]["properties"]
    assert (stated["approvingCommit"], stated["inScope"], stated["broken"]) == (merge, 2, 1)
    address = git(knowledge, "log", "-1", "--format=%ce", "main")
    assert "@" in address
    assert address not in json.dumps([answer, sarif])


def test_a_roll_out_warns_says_what_it_would_have_stopped_and_stops_nothing(
    checked: Host, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    enforced(checked, run, "deny")
    put_file(checked.code / "workflows/a.py", "requests.put(1)\n")
    monkeypatch.chdir(checked.code)
    stops = run("check")
    assert (stops.code, "would stop" in stops.out) == (1, False)
    warns = run("check", "--warn")
    assert (warns.code, warns.out.splitlines()[0]) == (0, stops.out.splitlines()[0])
    assert warns.out.endswith("1 finding that would stop without --warn\n")
    answer = run("check", "--warn", "--json").json
    assert (answer["warn"], answer["would_stop"]) == (True, 1)
    levels = []
    for words in ((), ("--warn",)):
        done = run("check", "--format", "sarif", *words).json["runs"][0]
        levels.append((done["results"][0]["level"], done["properties"]["wouldStop"]))
    assert levels == [("error", 0), ("warning", 1)]
    put_file(checked.code / "workflows/a.py", "x = 1\n")
    assert "would" not in run("check", "--warn").out


def steps(name: str) -> list[str]:
    """The shell commands of an example, without those that install."""
    stated = yaml.safe_load((EXAMPLES / name).read_text())
    if "jobs" in stated:
        lines = [step["run"] for step in stated["jobs"]["check-rules"]["steps"] if "run" in step]
    else:
        lines = stated["check-rules"]["script"]
    return [line for line in lines if not line.startswith("pip install")]


@pytest.mark.parametrize("name", ["check-rules.github.yml", "check-rules.gitlab.yml"])
def test_the_steps_of_an_example_workflow_name_what_a_pull_request_breaks(
    checked: Host, knowledge: Path, git: Git, tmp_path: Path, name: str
) -> None:
    put_file(checked.code / "old.py", "requests.put(0)\n")
    put_file(checked.code / "workflows/a.py", "x = 1\n")
    commit_all(git, checked.code, "first")
    git(checked.code, "branch", "-M", "main")
    clone = tmp_path / "runner/code"
    git(tmp_path, "clone", "-q", str(checked.code), str(clone))
    put_file(clone / "workflows/a.py", "requests.put(1)\n")
    commit_all(git, clone, "break a rule")
    env = environment(
        PATH=f"{checked.programs}:{os.environ['PATH']}", BASE="main", CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main",
        KNOWLEDGE=str(knowledge), RUNNER_TEMP=str(tmp_path / "runner"),
    )  # fmt: skip
    script = "set -e\n" + "\n".join(steps(name))
    done = subprocess.run(
        ["bash", "-c", script], cwd=clone, env=env, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")
    answer = json.loads((clone / "check-rules.sarif").read_text())
    jsonschema.validate(answer, sarif_schema())
    (result,) = answer["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "workflows/a.py"


def test_a_check_is_drafted_from_a_fix(
    checked: Host, run: Run, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put_file(checked.code / "load.py", "import yaml\ndata = yaml.load(stream)\n")
    commit_all(git, checked.code, "first")
    put_file(file, "import yaml\ndata = yaml.safe_load(stream)\n")
    commit_all(git, checked.code, "Fix it")
    put_file(checked.code / "new.py", "x = 1\n")
    commit_all(git, checked.code, "Add something")
    monkeypatch.chdir(checked.code)
    words = (
        "contribute",
        "suggest-rule",
        "--title",
        "Load safely",
        "--rationale",
        "It runs code else",
    )
    done = run(*words, "--from-fix", "HEAD^")
    assert done.code == 0, done.err
    assert "yaml\\.load\\(stream" in done.err
    none = run(*words, "--from-fix", "HEAD")
    assert (none.code, "it takes no line away" in none.err) == (3, True)
    assert run(*words, "--from-fix", "missing").code == 3
    assert run(*words, "--from-fix", "HEAD^", "--check", CHECK).code == 2


def test_where_ast_grep_is_missing_validate_says_what_it_did_not_prove(
    run: Run, knowledge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ast_grep_py", None)
    check = '{files: "*.py", pattern: f($A), bad: f(1), good: g(1)}'
    made = run(
        "contribute", "suggest-rule", "--title", "x", "--rationale", "y", "--check", check, "--json"
    )
    assert made.code == 0, made.err
    assert run("admin", "approve-rule", made.json["handle"], "--yes").code == 0
    done = run("admin", "validate")
    assert done.code == 0
    assert (
        "not proven, pattern needs ast-grep; in the sources of ai-lessons: pip install '.[checks]'"
        in done.err
    )


def test_a_finding_shows_no_secret_of_the_line_that_it_is_about(checked: Host, run: Run) -> None:
    token = "gl" + "pat-" + "q7Zk3Xw9Rt5Lm1Vb8Nc4"
    code = f"import requests\nrequests.put(1, '{token}')\n"
    put_file(checked.code / "workflows/a.py", code)
    for form in ("text", "json", "sarif"):
        done = run_inside(["check", "workflows/a.py", "--format", form], checked.code)
        assert HANDLE in done.out
        assert token not in done.out
    baseline = str(checked.code / "known.json")
    given = ["check", "workflows/a.py", "--baseline", baseline]
    assert run_inside([*given, "--write-baseline"], checked.code).code == 0
    assert "1 in the baseline" in run_inside(given, checked.code).out
    # another secret in its place is another line
    put_file(checked.code / "workflows/a.py", code.replace("q7Zk", "Q8Yj"))
    assert "in the baseline" not in run_inside(given, checked.code).out
