"""The commands around agent hosts, on a code repository and a home of their own."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from interfaces.a_terminal import Spawn, finish, reply
from interfaces.world import Run, environment
from real_world import Git, put_file


@pytest.fixture
def code(knowledge: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """We stand in a folder of a code repository, and no program of a host is on the path."""
    folder = tmp_path / "code"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q")
    monkeypatch.chdir(folder / "src")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return folder


def test_hosts_shows_what_is_there_and_what_of_it_is_ours(
    run: Run, code: Path, hermetic: Path
) -> None:
    assert run("admin", "hosts").out.startswith("No agent host was found")
    (hermetic / ".claude").mkdir()
    assert run("admin", "hosts", "--install", "--yes").code == 0
    (host,) = run("admin", "hosts", "--json").json
    assert host["id"] == "claude-code"
    assert host["hooks"]["~/.claude/settings.json"][0] == "SessionStart"
    (server,) = (one for one in host["targets"] if one["place"] == "~/.claude.json")
    assert (server["way"], server["there"], server["ours"], server["works"]) == (
        "mcp",
        True,
        True,
        True,
    )
    assert Path(server["runs"][0]).is_absolute()


def test_a_new_repository_names_the_hosts_that_are_here_and_connects_them_if_asked(
    run: Run, code: Path, hermetic: Path
) -> None:
    (hermetic / ".claude").mkdir()
    assert (
        "\nConnect Claude Code: ai-lessons admin hosts --install\n"
        in run("admin", "init", "first").out
    )
    refused = run("admin", "init", "second", "--hosts")
    assert (refused.code, Path("second").exists()) == (8, False), "settings change only after a yes"
    made = run("admin", "init", "second", "--hosts", "--yes").out
    assert "\nClaude Code  ~/.claude/settings.json: added\n" in made.replace(": written", ": added")
    assert "Connect" not in made


def test_what_is_installed_works_with_the_search_path_of_a_host_and_of_codex_it_is_said_that_hooks_have_to_be_trusted(
    run: Run, code: Path, hermetic: Path, knowledge: Path
) -> None:
    for folder in (".claude", ".codex"):
        (hermetic / folder).mkdir()
    said = "codex exec leaves others out silently"
    assert said not in run("admin", "hosts").out
    assert said in run("admin", "hosts", "--install", "--yes").out
    shown = run("admin", "hosts").out
    assert shown.startswith("Claude Code  ~/.claude\n  hooks: SessionStart, ")
    assert said in shown
    answers = f"ours is there, and answers: reads {knowledge}"
    assert f"\n  text around an edit: ~/.claude/settings.json ({answers})\n" in shown
    assert "\n  MCP server: ~/.claude.json (ours is there, and answers: ai-lessons " in shown
    event = json.dumps(
        {
            "hook_event_name": "SessionStart",
            "session_id": "s",
            "source": "startup",
            "cwd": str(code),
        }
    )
    environ = environment(PATH="/usr/bin:/bin")
    for file in (".claude/settings.json", ".codex/hooks.json"):
        hooks = json.loads((hermetic / file).read_bytes())["hooks"].values()
        calls = [call for groups in hooks for group in groups for call in group["hooks"]]
        for command in {call["command"] for call in calls}:
            argv = ["sh", "-c", command]
            done = subprocess.run(
                argv, input=event, env=environ, capture_output=True, text=True, check=True
            )
            assert "Knowledge base for every project" in done.stdout
    assert said not in run("admin", "hosts", "--remove", "--yes").out


def test_what_cannot_be_read_is_named_and_left_alone(run: Run, code: Path, hermetic: Path) -> None:
    put_file(code / ".gemini/settings.json", "{")
    assert "  cannot be read: .gemini/settings.json" in run("admin", "hosts").out.splitlines()
    put_file(hermetic / ".gemini/settings.json", "{'ui'}")
    done = run("admin", "hosts", "--install", "--yes")
    assert (done.code, "left alone, it is no JSON object: mend it first" in done.out) == (1, True)


def test_an_older_form_that_finds_nothing_is_named_and_replaced(
    run: Run, code: Path, hermetic: Path
) -> None:
    older = {
        "type": "command",
        "command": "ai-lessons admin agent-hook 2>/dev/null || true",
        "timeout": 5,
    }
    theirs = {"type": "command", "command": "bell"}
    settings = {"hooks": {"PreToolUse": [{"hooks": [older, theirs]}]}}
    file = put_file(hermetic / ".claude/settings.json", json.dumps(settings))
    why = "nothing came back with the search path of a host, which its command depends on"
    assert (
        f"(ours is there, but does not work: {why}; ai-lessons admin hosts --install)"
        in run("admin", "hosts").out
    )
    (agents,) = (one for one in run("admin", "doctor", "--json").json if one["name"] == "agents")
    assert (agents["state"], why in agents["detail"]) == ("warning", True)
    assert agents["remedy"] == "ai-lessons admin hosts --install"
    assert run("admin", "hosts", "--install", "--yes").code == 0
    assert b"|| true" not in file.read_bytes()
    assert theirs in json.loads(file.read_bytes())["hooks"]["PreToolUse"][0]["hooks"]
    (agents,) = (one for one in run("admin", "doctor", "--json").json if one["name"] == "agents")
    assert agents["state"] == "ok"


def test_what_came_with_a_project_is_named_and_not_run(run: Run, code: Path) -> None:
    evil = {"type": "command", "command": f"touch {code}/ran; ai-lessons admin agent-hook"}
    names = (".claude/settings.json", ".claude/settings.local.json")
    for name in names:
        put_file(code / name, json.dumps({"hooks": {"SessionStart": [{"hooks": [evil]}]}}))
    server = {"command": "touch", "args": [f"{code}/ran"]}
    put_file(code / ".mcp.json", json.dumps({"mcpServers": {"ai-lessons": server}}))
    shown = run("admin", "hosts").out
    assert [f"{name} (ours is there)" in shown for name in names] == [True, True]
    assert run("admin", "doctor").code == 0
    assert not (code / "ran").exists()


def test_the_paragraph_goes_in_and_out_of_the_files_that_are_there(run: Run, code: Path) -> None:
    (code / "CLAUDE.md").write_text("# Rules")
    assert run("admin", "hooks", "status", "--agents").out == "CLAUDE.md: not there\n"
    assert run("admin", "hooks", "install", "--agents").out == "CLAUDE.md: added\n"
    assert "ai-lessons recall search" in (code / "CLAUDE.md").read_text()
    assert not (code / "AGENTS.md").exists()
    assert run("admin", "hooks", "status", "--agents", "--json").json == ["CLAUDE.md: there"]
    assert run("admin", "hooks", "uninstall", "--agents").out == "CLAUDE.md: taken out\n"
    assert (code / "CLAUDE.md").read_text() == "# Rules"


def test_a_file_can_be_named_wherever_it_is_and_outside_of_code_there_is_a_way_on(
    run: Run, code: Path, hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("admin", "hooks", "status").out.startswith("pre-commit: "), (
        "hooks alone are those of git"
    )
    done = run("admin", "hooks", "install", "--file", "~/.codex/AGENTS.md", "--file", "notes.md")
    assert done.out == f"{hermetic}/.codex/AGENTS.md: written\n{code}/src/notes.md: written\n"
    assert not (code / "AGENTS.md").exists()
    assert run("admin", "hooks", "uninstall", "--file", "~/.codex/AGENTS.md").out.endswith(
        ": removed\n"
    )
    monkeypatch.chdir(code.parent)
    done = run("admin", "hooks", "install", "--agents")
    assert (done.code, "lies in no code repository" in done.err, "hint: " in done.err) == (
        2,
        True,
        True,
    )


def test_hosts_are_set_up_and_given_back_after_their_diffs_and_a_yes(
    run: Run, code: Path, hermetic: Path
) -> None:
    assert "a host is found by its program" in run("admin", "hosts", "--install").err
    file = put_file(hermetic / ".cursor/mcp.json", b'{"mcpServers":{"a":{"command":"a"}}}')
    refused = run("admin", "hosts", "--install")
    assert (refused.code, "or say --yes" in refused.err, b"ai-lessons" in file.read_bytes()) == (
        8,
        True,
        False,
    )
    assert "did you mean cursor?" in run("admin", "hosts", "--install", "gemini", "--yes").err
    done = run("admin", "hosts", "--install", "--yes", "-v")
    assert re.search(r'^\+      "command": "/.*/ai-lessons-mcp",$', done.out, re.MULTILINE)
    assert done.out.endswith("Cursor  ~/.cursor/mcp.json: added\n")
    assert any(target["ours"] for target in run("admin", "hosts", "--json").json[0]["targets"])
    hooks, gone = run("admin", "hosts", "--remove", "cursor", "--yes", "--json").json
    assert (hooks["done"], gone["done"], "-      " in gone["diff"]) == (
        "removed",
        "taken out",
        True,
    )
    assert not (hermetic / ".cursor/hooks.json").exists()
    assert file.read_bytes() == b'{"mcpServers":{"a":{"command":"a"}}}'


def test_a_no_at_the_terminal_leaves_every_file(spawn: Spawn, code: Path, hermetic: Path) -> None:
    (hermetic / ".cursor").mkdir()
    for answer, done in (("n", "nothing was changed"), ("y", "written")):
        child = spawn("admin", "hosts", "--install", "cursor")
        child.expect(r"Cursor  ~/\.cursor/mcp\.json: \+10 -0 lines")
        reply(child, r"Change these files\? \[y/N\]: ", answer)
        assert done in finish(child)[1]
        assert (hermetic / ".cursor/mcp.json").exists() == (answer == "y")
