"""Settings of hosts for everybody on a machine, in the forms that the hosts were seen to take (Claude Code 2.1.197,
Codex 0.171.0, Copilot CLI 1.0.102)."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from interfaces.world import Run, program_in
from real_world import put_file, put_program

CLAUDE = "etc/claude-code/managed-settings.d/ai-lessons.json"
CODEX = "etc/codex/hooks.json"
COPILOT = "etc/github-copilot/policy.d/ai-lessons.json"
BEGIN = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}


def stated(file: Path) -> Any:
    return json.loads(file.read_text())


def test_each_host_gets_its_hooks_and_its_server_where_it_looks_for_them(
    run: Run, tmp_path: Path
) -> None:
    done = run("admin", "hosts", "--managed", tmp_path / "root")
    assert done.code == 0
    assert "starts no other server: add yours to it, or leave it out" in done.out
    root = tmp_path / "root"
    servers = stated(root / "etc/claude-code/managed-mcp.json")["mcpServers"]
    assert servers["ai-lessons"]["command"] == "ai-lessons-mcp"
    codex = tomllib.loads((root / "etc/codex/config.toml").read_text())["mcp_servers"]
    assert codex["ai-lessons"]["env"] == {"AI_LESSONS_AGENT": "codex"}
    files = {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}
    assert files == {CLAUDE, CODEX, COPILOT,
                     "etc/claude-code/managed-mcp.json", "etc/codex/config.toml"}  # fmt: skip
    for name in (CLAUDE, CODEX):
        (group,) = stated(root / name)["hooks"]["SessionStart"]
        assert group["hooks"][0]["timeout"] == 120
    policy = stated(root / COPILOT)
    assert policy["version"] == 1
    for calls in policy["hooks"].values():
        for call in calls:
            assert call["type"] == "command"
            assert "AI_LESSONS_AGENT=copilot ai-lessons admin agent-hook" in call["bash"]
            assert not {"command", "hooks"} & call.keys()
    assert policy["hooks"]["PreToolUse"][0]["matcher"].startswith("^(Read|")


def test_a_host_is_named_and_what_is_there_is_left_alone(run: Run, tmp_path: Path) -> None:
    file = put_file(tmp_path / "etc/codex/config.toml", 'model = "x"\n')
    done = run("admin", "hosts", "codex", "--managed", tmp_path)
    assert done.code == 1
    assert "config.toml: left alone, it is there and says something else" in done.out
    assert file.read_text() == 'model = "x"\n'
    assert (tmp_path / CODEX).is_file()
    assert not (tmp_path / CLAUDE).exists()
    file.unlink()
    again = run("admin", "hosts", "codex", "--managed", tmp_path, "--json").json
    assert [row["done"] for row in again] == ["as it was", "written"]
    assert run("admin", "hosts", "cursor", "--managed", tmp_path).code == 3


def test_agents_write_none(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AI_LESSONS_AGENT", "claude-code")
    done = run("admin", "hosts", "--managed", tmp_path / "root")
    assert done.code == 8
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("name", [CLAUDE, CODEX, COPILOT])
def test_the_commands_answer_and_never_fail(
    run: Run, knowledge: Path, tmp_path: Path, name: str
) -> None:
    run("admin", "hosts", "--managed", tmp_path)
    (first,) = stated(tmp_path / name)["hooks"]["SessionStart"]
    call = first.get("hooks", [first])[0]
    command = call.get("command") or call["bash"]
    programs = program_in(tmp_path / "bin")
    environ = os.environ | {"PATH": f"{programs}:/usr/bin:/bin"}
    event = json.dumps({**BEGIN, "cwd": str(tmp_path)})

    def answer(path: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", command], input=event, text=True, capture_output=True,
            cwd=tmp_path, env=environ | {"PATH": path}, check=False,
        )  # fmt: skip

    assert "ai-lessons is the knowledge base here" in answer(environ["PATH"]).stdout
    # without the program, and with one that fails
    broken = put_program(tmp_path / "broken/ai-lessons", "#!/bin/sh\nexit 2\n").parent
    for path in ("/usr/bin:/bin", f"{broken}:/usr/bin:/bin"):
        done = answer(path)
        assert (done.returncode, done.stdout) == (0, "")


def test_what_administrators_placed_is_not_installed_beside_it(run: Run, tmp_path: Path) -> None:
    home = Path.home()
    for folder in (".claude", ".copilot"):
        (home / folder).mkdir()
    # the root of the machine is this home in tests
    run("admin", "hosts", "--managed", home)
    (home / "etc/claude-code/managed-mcp.json").unlink()
    places = {
        (host["id"], target["way"]): target["place"]
        for host in run("admin", "hosts", "--json").json
        for target in host["targets"]
    }
    assert places["claude-code", "session-start"] == f"managed /{CLAUDE}"
    assert places["copilot", "edit"] == f"managed /{COPILOT}"
    assert not places["claude-code", "mcp"].startswith("managed ")
    assert run("admin", "hosts", "--install", "--yes").code == 0
    assert "ai-lessons" in stated(home / ".claude.json")["mcpServers"]
    assert "ai-lessons" in stated(home / ".copilot/mcp-config.json")["mcpServers"]
    assert not (home / ".claude/settings.json").exists()
    assert not (home / ".copilot/hooks").exists()
