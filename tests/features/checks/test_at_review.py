"""What a reviewer sees of checks before they are in force: lines that break them, past sessions in which they speak."""

import json
from pathlib import Path
from typing import Any

import pytest

from interfaces.a_terminal import Spawn, finish, reply
from interfaces.agent_host import Host
from interfaces.world import Run, run_inside
from real_world import Git, commit_all, put_file

TIMEOUT = {"files": "src/**/*.py", "regex": r"requests\.get\(", "unless": "timeout="}
TIMEOUT |= {"bad": "requests.get(url)", "good": "requests.get(url, timeout=5)", "enforce": "deny"}
TAGS = {"command": "git tag", "unless_said": r"\brelease\b", "bad": "git tag x", "good": "git push"}
TESTS = {
    "changed": "src/**",
    "unless_changed": "tests/**",
    "bad": "src/a.py",
    "good": ["src/a.py", "tests/a.py"],
}
LINT = {"changed": "**/*.py", "ran": "make lint", "bad": "a.py", "enforce": "ask"}
RULE = (
    "contribute",
    "suggest-rule",
    "--project",
    "jira-api",
    "--rationale",
    "It hurt",
    "--json",
    "--title",
)


class Past:
    """Transcripts of Claude Code in one folder of code."""

    def __init__(self, code: Path) -> None:
        self._code = code

    def add(self, name: str, *steps: tuple[str, str]) -> None:
        """A session of these steps: what was said, run or edited."""
        rows = list[dict[str, Any]]()
        for second, (sort, text) in enumerate(steps):
            at = {
                "sessionId": name,
                "cwd": str(self._code),
                "timestamp": f"2026-11-20T10:00:{second:02}.000Z",
            }
            if sort == "said":
                rows.append({"type": "user", "message": {"role": "user", "content": text}, **at})
                continue
            given = (
                {"command": text}
                if sort == "ran"
                else {"file_path": str(self._code / text), "content": "x"}
            )
            call = {
                "type": "tool_use",
                "id": str(second),
                "name": "Bash" if sort == "ran" else "Write",
                "input": given,
            }
            rows.append(
                {"type": "assistant", "message": {"role": "assistant", "content": [call]}, **at}
            )
            done = {
                "type": "tool_result",
                "tool_use_id": str(second),
                "content": "ok",
                "is_error": False,
            }
            rows.append({"type": "user", "message": {"role": "user", "content": [done]}, **at})
        put_file(Path.home() / f".claude/projects/x/{name}.jsonl", "\n".join(map(json.dumps, rows)))


def shown_by(spawn: Spawn, text: str) -> None:
    child = spawn("admin", "review-rules")
    child.expect_exact(text)
    reply(child, r"\[q\]uit", "q")
    finish(child)


def test_a_reviewer_sees_how_many_lines_of_the_code_here_break_a_check_today(
    host: Host, run: Run, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file(
        host.code / "src/pay.py",
        "import requests\nrequests.get(url)\nrequests.get(url, timeout=1)\n",
    )
    put_file(host.code / "src/till.py", "requests.get(url)\n" * 3)
    put_file(host.code / "docs/pay.py", "requests.get(url)\n")
    commit_all(git, host.code, "first")
    made = run(*RULE, "Give requests a timeout", "--check", json.dumps(TIMEOUT)).json
    listed = ["admin", "review-rules", "--list"]
    said = "lines of the code here that break it today: 4 (src/pay.py:2, src/till.py:1, src/till.py:2, …)"
    assert f"{made['handle']} {said}" in run_inside(listed, host.code, "").out.splitlines()
    (one,) = json.loads(run_inside([*listed, "--json"], host.code, "").out)
    assert one["effects"][1:] == [said]
    shown = run_inside(["admin", "approve-rule", made["branch"], "--yes"], host.code, "").out
    assert f"checks: {said}" in shown

    put_file(
        host.code / "src/till.py",
        f"requests.get(url)  # ai-lessons: allow {made['handle']} because it is here\n",
    )
    put_file(host.code / "src/pay.py", "import requests\n")
    run(*RULE, "Give each request a timeout", "--check", json.dumps(TIMEOUT))
    (again,) = json.loads(run_inside([*listed, "--json"], host.code, "").out)
    assert again["effects"][1:] == ["lines of the code here that break it today: 1 (src/till.py:1)"]
    put_file(host.code / "src/till.py", "")
    (again,) = json.loads(run_inside([*listed, "--json"], host.code, "").out)
    assert again["effects"][1:] == ["no line of the code here breaks it today"]

    elsewhere = put_file(host.code.parent / "elsewhere/src/pay.py", "requests.get(url)\n").parents[
        1
    ]
    for folder in (elsewhere, Path.home()):
        (again,) = json.loads(run_inside([*listed, "--json"], folder, "").out)
        assert len(again["effects"]) == 1, "it is no rule of the code here"


def test_a_reviewer_sees_in_how_many_past_sessions_the_checks_would_have_spoken(
    host: Host, run: Run, spawn: Spawn
) -> None:
    past = Past(host.code)
    past.add("s1", ("said", "tidy up"), ("ran", "cd src && git tag v1"))
    past.add("s2", ("said", "make a release"), ("ran", "git tag v1"))
    past.add("s3", ("said", "look"), ("ran", "grep -rn 'git tag' docs"), ("ran", "git status"))
    made = run(*RULE, "No tags", "--check", json.dumps(TAGS)).json
    assert (made["past"]["checked"], made["past"]["commands"], made["past"]["told"]) == (3, 1, 1)
    shown_by(spawn, "Its checks would have spoken in 1 of 3 sessions.")

    past.add("s4", ("said", "mend it"), ("edited", "src/a.py"), ("ran", "make lint"))
    past.add(
        "s5",
        ("said", "mend it"),
        ("edited", "src/a.py"),
        ("said", "and the test"),
        ("edited", "tests/a.py"),
    )
    past.add(
        "s6",
        ("said", "mend it"),
        ("edited", "tests/a.py"),
        ("edited", "src/a.py"),
        ("ran", "make lint"),
    )
    made = run(*RULE, "A test comes with a change", "--check", json.dumps(TESTS)).json
    assert (made["past"]["checked"], made["past"]["commands"]) == (6, 2), (
        "s4, and s5 when its first turn ended"
    )
    made = run(*RULE, "Lint before you hand over", "--check", json.dumps(LINT)).json
    assert (made["past"]["checked"], made["past"]["commands"]) == (6, 1), "s5"
    force = json.dumps(TAGS | {"command": "git push -f", "bad": "git push -f"})
    made = run(*RULE, "Never force", "--check", force).json
    assert (made["past"]["checked"], made["past"]["commands"], made["past"]["told"]) == (6, 0, 0)
