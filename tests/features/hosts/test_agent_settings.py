import json
import os
import re
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.connectors import agent_hosts, json_comments
from ai_lessons.connectors.agent_hosts import MARK, find_hosts
from ai_lessons.connectors.host_changes import HOOKS, carry_out, for_user, is_ours
from ai_lessons.errors import Conflict
from ai_lessons.git import processes
from ai_lessons.model import Where
from real_world import put_file

PLUGIN = Path(__file__).parents[3] / "hooks" / "claude-code"
SETTINGS, SERVERS = ".claude/settings.json", ".claude.json"
OURS = {
    key: json.loads((PLUGIN / name).read_bytes())[key]
    for key, name in {HOOKS: "hooks/hooks.json", "mcpServers": ".mcp.json"}.items()
}
THEIRS = {"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}

SETTINGS_FILES = [
    b"{}", b"", b'{"model": "opus"}',
    b'{\n    "model": "opus",\n    "z": {}\n}\n',
    b'{\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]},\n\t"z": "\xc3\xa9"\n}',
    b'{"permissions": {"allow": ["Bash(ls)"]}}\r\n',
    b'{\n  // my theme\n  "theme": "Dark", // a // b\n  /* "hooks": {} */\n}\n',
    b'{\n  "a": ["x", /* one, */ "y",],\n  "hooks": {\n    // mine\n    "Stop": [ // here\n    ],\n  },\n}\n',
    b"{ // all\n}\n",
    b'\xef\xbb\xbf{"url": "http://x/*y*/", "b": "\\"//",}\r\n',
    b' { "hooks" : { "Stop":[ ] , "PreToolUse" : [] }, "mcpServers":{},\n"n": 1e5, "big": 12345678901234567890.0 } ',
]  # fmt: skip


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / ".claude").mkdir(parents=True)
    return folder


def do(top: Path, job: str) -> tuple[str, ...]:
    changes = for_user(Where(top, top / "code"), PLUGIN, (), job)
    carry_out(changes)
    return tuple(one.done for one in changes)


def added(settings: Any, key: str, ours: Any) -> Any:
    return json.loads(json_comments.with_added(json.dumps(settings), {key: ours}))


def cut(text: str, key: str) -> str:
    return json_comments.without(text, lambda path, value: is_ours(key, path, value))


def taken_out(settings: Any, key: str) -> Any:
    return json.loads(cut(json.dumps(settings, indent=1), key) or "{}")


@pytest.mark.parametrize("there", SETTINGS_FILES)
def test_taking_them_out_leaves_every_byte_that_was_there(top: Path, there: bytes) -> None:
    for name in (SETTINGS, SERVERS):
        (top / name).write_bytes(there)
    assert do(top, "install") == ("added", "added")
    once = (top / SETTINGS).read_bytes()
    assert do(top, "install") == ("already there", "already there")
    assert (top / SETTINGS).read_bytes() == once
    assert do(top, "uninstall") == ("taken out", "taken out")
    assert [(top / name).read_bytes() for name in (SETTINGS, SERVERS)] == [there, there]
    assert do(top, "uninstall") == ("not there", "not there")


def test_files_that_we_made_are_removed_again(top: Path) -> None:
    assert do(top, "install") == ("written", "written")
    assert json.loads((top / SETTINGS).read_bytes())["hooks"].keys() == OURS[HOOKS].keys()
    assert do(top, "uninstall") == ("removed", "removed")
    assert not [one for one in top.rglob("*") if one.is_file()]


def test_what_others_changed_meanwhile_stays(top: Path) -> None:
    do(top, "install")
    settings = json.loads((top / SETTINGS).read_bytes())
    settings["hooks"]["PreToolUse"].append(THEIRS)
    settings["model"] = "opus"
    (top / SETTINGS).write_text(json.dumps(settings, indent=4))
    assert [do(top, "install")[0] for _ in range(2)] == ["brought up to date", "already there"]
    assert do(top, "uninstall")[0] == "taken out"
    assert (top / SETTINGS).read_text() == json.dumps(
        {"hooks": {"PreToolUse": [THEIRS]}, "model": "opus"}, indent=4
    )


def test_an_older_version_is_brought_up_to_date_and_can_still_be_undone(top: Path) -> None:
    file = top / SETTINGS
    file.write_bytes(SETTINGS_FILES[4])
    old = {"Stop": [{"hooks": [{"type": "command", "command": MARK + " --old"}]}]}
    older = added(json.loads(file.read_bytes()), HOOKS, old)
    assert taken_out(older, HOOKS) == json.loads(file.read_bytes())
    file.write_text(json.dumps(older))
    assert do(top, "install")[0] == "brought up to date"
    assert do(top, "uninstall")[0] == "taken out"
    assert json.loads(file.read_bytes()) == json.loads(SETTINGS_FILES[4])


@pytest.mark.parametrize(
    "there", [b"{'a': 1}", b"// a\n", b"{ // }", b"[]", b"\xff", b"[" * 100_000]
)
def test_a_file_that_is_no_object_is_left_alone(top: Path, there: bytes) -> None:
    (top / SERVERS).write_bytes(there)
    for job in ("install", "uninstall"):
        assert do(top, job)[1] == "left alone, it is no JSON object: mend it first"
        assert (top / SERVERS).read_bytes() == there


def test_comments_that_the_user_wrote_around_ours_stay_when_it_goes(top: Path) -> None:
    file = top / SERVERS
    file.write_text('{\n  "a": 1\n}\n')
    do(top, "install")
    file.write_text(
        file.read_text().replace('  "mcpServers"', '  // what agents may ask\n  "mcpServers"')
    )
    assert do(top, "install")[1] == "already there"
    assert do(top, "uninstall")[1] == "taken out"
    assert file.read_text() == '{\n  "a": 1\n  // what agents may ask\n  \n}\n'
    file.write_text('{\n  "mcpServers": { // mine\n    "ai-lessons": {"command": "x"}\n  }\n}\n')
    assert do(top, "uninstall")[1] == "taken out"
    assert file.read_text() == '{\n  "mcpServers": { // mine\n    \n  }\n}\n'


def test_toml_with_a_mark_of_utf8_is_read_and_given_back(where: Where) -> None:
    file = where.home / ".codex/config.toml"
    there = b"\xef\xbb\xbf" + THERE[".codex/config.toml"]
    file.write_bytes(there)
    assert for_user(where, PLUGIN, ["codex"], "install")[1].done == "added"
    carry_out(for_user(where, PLUGIN, ["codex"], "install"))
    assert "ai-lessons" in str(find_hosts(where)[1].targets)
    carry_out(for_user(where, PLUGIN, ["codex"], "uninstall"))
    assert file.read_bytes() == there


def test_settings_that_are_kept_elsewhere_are_changed_there_and_the_link_stays(top: Path) -> None:
    there = put_file(top.parent / "dotfiles.json", "{}")
    there.chmod(0o600)
    (top / SERVERS).symlink_to(there)
    assert do(top, "install")[1] == "added"
    assert "ai-lessons" in json.loads(there.read_text())["mcpServers"]
    assert (there.stat().st_mode & 0o777, (top / SERVERS).is_symlink()) == (0o600, True)
    assert do(top, "uninstall")[1] == "taken out"
    assert (json.loads(there.read_text()), (top / SERVERS).is_symlink()) == ({}, True)


@pytest.mark.parametrize("what", ["device", "pipe", "folder"])
def test_settings_that_are_no_plain_file_are_left_alone_without_waiting(
    top: Path, what: str
) -> None:
    file = top / SERVERS
    if what == "device":
        file.symlink_to("/dev/zero")
    else:
        os.mkfifo(file) if what == "pipe" else file.mkdir()
    assert do(top, "install")[1] == "left alone, not a regular file"
    assert find_hosts(Where(top, top / "code"))[0].unreadable == ("~/.claude.json",)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["hooks", "Stop", "a"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_settings_are_too_strange(settings: Any) -> None:
    known = {"hooks": settings, "mcpServers": settings}
    for key, ours in OURS.items():
        assert taken_out(known, key) == known
        with suppress(ValueError):  # something else than a table or a list stands there
            added(known, key, ours)


def test_a_call_of_ours_in_a_group_of_theirs_goes_alone_and_what_stands_in_the_way_is_left_alone(
    top: Path,
) -> None:
    mixed = THEIRS | {"hooks": [{"type": "command", "command": MARK}, *THEIRS["hooks"]]}
    (top / SETTINGS).write_text(json.dumps({"hooks": {"Stop": [mixed]}}, indent=2))
    assert do(top, "uninstall")[0] == "taken out"
    assert json.loads((top / SETTINGS).read_bytes()) == {"hooks": {"Stop": [THEIRS]}}
    (top / SERVERS).write_text('{"mcpServers": 7}')
    assert do(top, "install")[1].startswith("left alone")
    assert (top / SERVERS).read_text() == '{"mcpServers": 7}'


# --- for all projects of a user ---

THERE = {
    ".claude.json": b'{"projects":{"/x":{"allowedTools":[]}},"numStartups":3}',
    ".codex/config.toml": b'model = "o5"  # mine\n[mcp_servers.docs]\ncommand = "docs"',
    ".cursor/mcp.json": b'{\n    "mcpServers": {\n        "a": {"command": "a"}\n    }\n}',
    ".gemini/settings.json": b"{}",
}


@pytest.fixture
def where(tmp_path: Path) -> Where:
    for _, settings in agent_hosts.kinds():
        (tmp_path / settings.folder).mkdir(parents=True)
    for name, data in THERE.items():
        (tmp_path / name).write_bytes(data)
    return Where(tmp_path, tmp_path / "code")


def files(where: Where) -> dict[str, bytes]:
    return {
        str(one.relative_to(where.home)): one.read_bytes()
        for one in where.home.rglob("*")
        if one.is_file()
    }


def test_every_host_gets_our_server_and_each_file_its_bytes_back(where: Where) -> None:
    changes = for_user(where, PLUGIN, (), "install")
    assert files(where) == THERE  # decided, not done
    carry_out(changes)
    now = files(where)
    assert set(now) == {
        *THERE, ".claude/settings.json", ".codex/hooks.json", ".cursor/hooks.json", ".config/opencode/opencode.json",
        ".codeium/windsurf/mcp_config.json", ".copilot/mcp-config.json", ".copilot/hooks/ai-lessons.json",
        ".qwen/settings.json", ".config/opencode/plugin/ai-lessons.js", ".codebuddy/settings.json",
        ".codebuddy/.mcp.json",
    }  # fmt: skip
    hosts = {
        host.id: {target.way for target in host.targets if target.ours}
        for host in find_hosts(where)
    }
    assert all("mcp" in ways for ways in hosts.values())
    hooked = [host.id for host, settings in agent_hosts.kinds() if settings.hears]
    assert len(hooked) == 7
    assert [hosts[name] for name in (*hooked, "opencode")] == [{"session-start", "edit", "mcp"}] * 8
    assert "PostToolUseFailure" not in json.loads(now[".codex/hooks.json"])["hooks"]
    codex = tomllib.loads(now[".codex/config.toml"].decode())["mcp_servers"]
    server = {
        "command": processes.program_path("ai-lessons-mcp"),
        "env": {"AI_LESSONS_AGENT": "codex"},
    }
    assert codex == {"docs": {"command": "docs"}, "ai-lessons": server}
    assert {one.done for one in for_user(where, PLUGIN, (), "install")} == {"already there"}
    carry_out(for_user(where, PLUGIN, (), "uninstall"))
    assert files(where) == THERE


def test_gemini_gets_hooks_by_its_names_of_events_and_tools_and_counts_milliseconds(
    where: Where,
) -> None:
    carry_out(for_user(where, PLUGIN, ["gemini"], "install"))
    settings = json.loads(files(where)[".gemini/settings.json"])
    assert set(settings) == {"hooks", "mcpServers"}
    assert set(settings["hooks"]) == {
        "SessionStart",
        "BeforeAgent",
        "BeforeTool",
        "AfterTool",
        "AfterAgent",
    }
    (group,) = settings["hooks"]["AfterTool"]
    assert re.fullmatch(group["matcher"], "run_shell_command")
    assert group["hooks"][0]["timeout"] == 5000


def test_cursor_gets_a_file_that_it_reads_and_one_of_the_user_keeps_what_it_has(
    where: Where,
) -> None:
    carry_out(for_user(where, PLUGIN, ["cursor"], "install"))
    settings = json.loads(files(where)[".cursor/hooks.json"])
    assert settings["version"] == 1
    (call,) = settings["hooks"]["preToolUse"]
    assert set(call) == {"matcher", "command", "timeout"}
    theirs = b'{\n  "version": 1,\n  "hooks": {"stop": [{"command": "bell"}]}\n}\n'
    (where.home / ".cursor/hooks.json").write_bytes(theirs)
    carry_out(for_user(where, PLUGIN, ["cursor"], "install"))
    assert json.loads(files(where)[".cursor/hooks.json"])["hooks"]["stop"][0] == {"command": "bell"}
    carry_out(for_user(where, PLUGIN, ["cursor"], "uninstall"))
    assert files(where)[".cursor/hooks.json"] == theirs


def test_copilot_gets_a_file_of_its_own_that_names_it_and_qwen_counts_milliseconds(
    where: Where,
) -> None:
    carry_out(for_user(where, PLUGIN, ["copilot", "qwen"], "install"))
    copilot = json.loads(files(where)[".copilot/hooks/ai-lessons.json"])
    assert copilot["version"] == 1
    (call,) = copilot["hooks"]["PreToolUse"][0]["hooks"]
    assert (call["command"].startswith("AI_LESSONS_AGENT=copilot /"), call["timeout"]) == (True, 5)
    assert re.fullmatch(copilot["hooks"]["PostToolUse"][0]["matcher"], "ai-lessons-search")
    qwen = json.loads(files(where)[".qwen/settings.json"])
    assert set(qwen["hooks"]) == {
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
    }
    assert qwen["hooks"]["Stop"][0]["hooks"][0]["timeout"] == 5000
    assert qwen["mcpServers"]["ai-lessons"]["env"] == {"AI_LESSONS_AGENT": "qwen"}


def test_the_module_of_opencode_is_renewed_and_another_file_of_its_name_left_alone(
    where: Where,
) -> None:
    file = where.home / ".config/opencode/plugin/ai-lessons.js"
    carry_out(for_user(where, PLUGIN, ["opencode"], "install"))
    text = file.read_text()
    assert f'const PROGRAM = "{processes.program_path("ai-lessons")}"' in text
    file.write_text(text + "// older")
    assert for_user(where, PLUGIN, ["opencode"], "install")[0].done == "brought up to date"
    file.write_text("export const theirs = 1\n")
    for job in ("install", "uninstall"):
        change = for_user(where, PLUGIN, ["opencode"], job)[0]
        assert (change.done, change.before == change.after) == (
            "left alone, it is another file",
            True,
        )


def test_only_the_hosts_that_are_named_change_and_not_those_with_the_plugin(where: Where) -> None:
    assert [one.host for one in for_user(where, PLUGIN, ["cursor"], "install")] == ["Cursor"] * 2
    (where.home / ".claude/settings.json").write_text(
        '{"enabledPlugins": {"ai-lessons@ai-lessons": true}}'
    )
    assert "Claude Code" not in {one.host for one in for_user(where, PLUGIN, (), "install")}


def test_a_server_that_the_user_named_like_ours_in_toml_is_left_alone(where: Where) -> None:
    (where.home / ".codex/config.toml").write_text("[mcp_servers.ai-lessons]\nurl = 'http://x'\n")
    _, server = for_user(where, PLUGIN, ["codex"], "install")
    assert (server.done, server.diff) == ("left alone, it names a server ai-lessons of its own", "")


def test_a_file_that_changed_since_it_was_shown_is_not_written(where: Where) -> None:
    changes = for_user(where, PLUGIN, ["cursor"], "install")
    (where.home / ".cursor/mcp.json").write_text("{}")
    with pytest.raises(Conflict, match="has changed meanwhile"):
        carry_out(changes)
    assert (where.home / ".cursor/mcp.json").read_text() == "{}"
