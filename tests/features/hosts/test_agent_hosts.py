import json
from pathlib import Path

import pytest

from ai_lessons import extensions
from ai_lessons.connectors.agent_hosts import Host, find_hosts, kinds
from ai_lessons.model import Where
from ai_lessons.model.agent_hosts import HostSettings
from real_world import put_file

CALL = {"hooks": [{"type": "command", "command": "ai-lessons admin agent-hook"}]}


@pytest.fixture
def where(tmp_path: Path) -> Where:
    for name in ("home", "bin", "code"):
        (tmp_path / name).mkdir()
    path = f"{tmp_path / 'missing'}::{tmp_path / 'bin'}"
    return Where(tmp_path / "home", tmp_path / "code", {"PATH": path})


def write(file: Path, text: object = "") -> None:
    put_file(file, text if isinstance(text, str) else json.dumps(text))


def one(where: Where) -> Host:
    (host,) = find_hosts(where)
    return host


def ways(host: Host) -> dict[str, list[str]]:
    """The places of ours, by the way they go."""
    found: dict[str, list[str]] = {}
    for target in host.targets:
        if target.ours:
            found.setdefault(target.way, []).append(target.place)
    return found


@pytest.mark.parametrize(
    "settings", [pytest.param(settings, id=kind.id) for kind, settings in kinds()]
)
def test_a_host_is_found_by_its_program_its_folder_or_its_files(
    settings: HostSettings, where: Where
) -> None:
    program = where.environ["PATH"].rpartition(":")[2] + "/" + settings.programs[0]
    write(Path(program))
    assert find_hosts(where) == ()
    Path(program).chmod(0o755)
    assert one(where).found == (program,)
    (where.home / settings.folder).mkdir(parents=True)
    assert one(where).found == (program, f"~/{settings.folder}")
    project = where.cwd / settings.projects[-1]
    write(project if "." in settings.projects[-1][1:] else project / "x")
    assert one(where).found[2] == settings.projects[-1]


def test_our_plugin_counts_while_it_is_switched_on(where: Where) -> None:
    write(where.home / ".claude/settings.json", {"enabledPlugins": {"ai-lessons@ai-lessons": True}})
    plugin = ["plugin ai-lessons@ai-lessons"]
    assert ways(one(where)) == {"session-start": plugin, "edit": plugin, "mcp": plugin}
    write(
        where.cwd / ".claude/settings.local.json",
        {"enabledPlugins": {"ai-lessons@ai-lessons": False}},
    )
    assert ways(one(where)) == {}


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (".claude.json", {"mcpServers": {"notes": {"command": "ai-lessons-mcp"}}}),
        (".codex/config.toml", '[mcp_servers.notes]\ncommand = "/opt/bin/ai-lessons-mcp"\n'),
        (".cursor/mcp.json", {"mcpServers": {"ai-lessons": {"url": "http://x"}}}),
        (".gemini/settings.json", {"mcpServers": {"ai-lessons": {"command": "x"}}}),
        (
            ".config/opencode/opencode.json",
            {"mcp": {"k": {"type": "local", "command": ["ai-lessons-mcp"]}}},
        ),
        (".codeium/windsurf/mcp_config.json", {"mcpServers": {"k": {"command": "ai-lessons-mcp"}}}),
        (".copilot/mcp-config.json", {"mcpServers": {"k": {"command": "ai-lessons-mcp"}}}),
    ],
)
def test_our_server_is_found_where_each_host_keeps_it(
    place: str, text: object, where: Where
) -> None:
    (where.home / ".claude").mkdir() if place == ".claude.json" else None
    write(where.home / place, text)
    assert ways(one(where)) == {"mcp": [f"~/{place}"]}


def test_hooks_of_codex_may_stand_in_its_toml(where: Where) -> None:
    write(where.home / ".codex/config.toml", '[[hooks.PreToolUse]]\nmatcher = "Bash"\n')
    assert one(where).hooks == {"~/.codex/config.toml": ("PreToolUse",)}


def test_all_files_of_a_folder_of_hooks_are_read(where: Where) -> None:
    for name in ("b", "a"):
        write(
            where.cwd / f".github/hooks/{name}.json",
            {"version": 1, "hooks": {"sessionStart": [{"bash": name}]}},
        )
    assert list(one(where).hooks) == [".github/hooks/a.json", ".github/hooks/b.json"]


def test_a_folder_that_the_user_moved_is_followed(where: Where) -> None:
    moved = where._replace(environ={"CLAUDE_CONFIG_DIR": str(where.home / "cc")})
    write(where.home / "cc/.claude.json", {"mcpServers": {"ai-lessons": {}}})
    assert one(moved).found == ("~/cc",)
    assert ways(one(moved)) == {"mcp": ["~/cc/.claude.json"]}


@pytest.mark.parametrize(
    "text", ["{broken", "[1]", '{"hooks": 7, "mcpServers": [1], "enabledPlugins": "x"}', "[" * 9999]
)
def test_a_file_that_cannot_be_read_hides_nothing_else(where: Where, text: str) -> None:
    write(where.home / ".claude/settings.json", text)
    write(where.cwd / ".claude/settings.json", {"hooks": {"SessionStart": [CALL]}})
    host = one(where)
    assert ways(host) == {"session-start": [".claude/settings.json"]}
    assert host.unreadable == (
        ("~/.claude/settings.json",) if text[:2] in {"{b", "[[", "[1"} else ()
    )


@pytest.mark.parametrize("target", ["home/private.json", "../dev/zero", "code/docs/mcp.json"])
def test_settings_of_a_project_are_read_only_inside_it(
    where: Where, tmp_path: Path, target: str
) -> None:
    server = {"mcpServers": {"ai-lessons": {"command": "ai-lessons-mcp"}}}
    write(tmp_path / "home/private.json", server)
    write(tmp_path / "code/docs/mcp.json", server)
    write(where.cwd / ".claude/settings.json", {})
    (where.cwd / ".mcp.json").symlink_to("/dev/zero" if "dev" in target else tmp_path / target)
    inside = target.startswith("code")
    expected = ([".mcp.json"], ()) if inside else (None, (".mcp.json",))
    assert (ways(one(where)).get("mcp"), one(where).unreadable) == expected


def test_every_host_has_a_row_of_its_own() -> None:
    hosts = extensions.hosts()
    assert len(hosts) > 9
    assert len({row.agent for row in hosts}) == len({row.place for row in hosts}) == len(hosts)
