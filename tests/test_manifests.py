"""What hosts and registries read of us: made of one source, valid by the schemas that they publish, and consistent."""

from __future__ import annotations

import base64
import json
import re
import stat
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from bench.manifests import REGISTRY_NAME, SHELL, manifests, skill

from ai_lessons.interfaces.cli import root

TOP = Path(__file__).parents[1]
SCHEMAS = {
    "server.json": "mcp-server",
    ".claude-plugin/marketplace.json": "claude-marketplace",
    "hooks/claude-code/.claude-plugin/marketplace.json": "claude-marketplace",
    "hooks/claude-code/.claude-plugin/plugin.json": "claude-plugin",
    "hooks/codex/.codex-plugin/plugin.json": "codex-plugin",
    "hooks/codex/hooks/hooks.json": "codex-hooks",
    ".cursor-plugin/marketplace.json": "cursor-marketplace",
    "hooks/cursor/.cursor-plugin/plugin.json": "cursor-plugin",
    "hooks/mcpb/manifest.json": "mcpb",
}


def data(path: str) -> Any:
    return json.loads((TOP / path).read_bytes())


@pytest.mark.parametrize("path", sorted(manifests()))
def test_every_manifest_is_as_its_one_source_says(path: str) -> None:
    assert (TOP / path).read_text("utf-8") == manifests()[path], "run: make reference"


@pytest.mark.parametrize(("path", "schema"), SCHEMAS.items())
def test_a_manifest_is_valid_by_its_published_schema(path: str, schema: str) -> None:
    published = json.loads((TOP / f"tests/schemas/{schema}.json").read_bytes())
    checker = jsonschema.validators.validator_for(published)
    assert [error.message for error in checker(published).iter_errors(data(path))] == []


def test_a_marketplace_leads_to_a_plugin_with_the_files_that_its_manifest_names() -> None:
    places = {
        ".claude-plugin": data(".claude-plugin/marketplace.json")["plugins"][0]["source"],
        ".cursor-plugin": data(".cursor-plugin/marketplace.json")["plugins"][0]["source"],
        ".codex-plugin": data(".agents/plugins/marketplace.json")["plugins"][0]["source"]["path"],
    }
    for folder, source in places.items():
        plugin = TOP / source
        manifest = json.loads((plugin / folder / "plugin.json").read_bytes())
        for key in {"skills", "hooks", "mcpServers"} & manifest.keys():
            assert (plugin / manifest[key]).exists(), (folder, key)
        assert (plugin / "hooks/hooks.json").is_file()
        assert (plugin / "skills/ai-lessons/SKILL.md").is_file()
    assert (TOP / data("gemini-extension.json")["contextFileName"]).is_file()
    assert (TOP / "hooks/mcpb" / data("hooks/mcpb/manifest.json")["server"]["entry_point"]).is_file()
    bundle = tomllib.loads((TOP / "hooks/mcpb/pyproject.toml").read_text("utf-8"))
    assert bundle["project"]["version"] == data("hooks/claude-code/.claude-plugin/plugin.json")["version"]


def test_every_host_has_the_hooks_of_the_plugin_by_its_own_names() -> None:
    codex = data("hooks/codex/hooks/hooks.json")["hooks"]
    assert {call["command"] for groups in codex.values() for group in groups for call in group["hooks"]} == {SHELL}
    gemini = data("hooks/hooks.json")["hooks"]
    assert set(gemini) == {"SessionStart", "BeforeAgent", "AfterTool", "AfterAgent"}


def test_a_skill_and_a_command_have_a_name_and_say_when_they_are_for() -> None:
    matter = yaml.safe_load(skill().split("---\n")[1])
    assert matter["name"] == "ai-lessons"
    assert len(matter["description"]) <= 1024
    for file in (TOP / "hooks/claude-code/commands").glob("*.md"):
        assert yaml.safe_load(file.read_text("utf-8").split("---\n")[1])["description"]


def test_what_they_start_is_a_command_of_the_program() -> None:
    admin = root.get_command(None, "admin")  # type: ignore[arg-type]
    arguments = [argument["value"] for argument in data("server.json")["packages"][0]["packageArguments"]]
    assert arguments == ["admin", "mcp"]
    assert {"mcp", "agent-hook"} <= set(admin.commands)  # type: ignore[union-attr]


def test_the_readme_names_the_server_and_links_that_install_it() -> None:
    readme = (TOP / "README.md").read_text("utf-8")
    assert f"mcp-name: {REGISTRY_NAME}" in readme
    cursor, code = (urlsplit(re.search(pattern, readme)[0]) for pattern in (  # type: ignore[index]
        r"https://cursor\.com/[^)\s]+", r"https://insiders\.vscode\.dev/[^)\s]+"))  # fmt: skip
    config = json.loads(base64.b64decode(parse_qs(cursor.query)["config"][0]))
    assert config == json.loads(unquote(parse_qs(code.query)["config"][0]))
    assert config == {"command": "uvx", "args": ["ai-lessons", "admin", "mcp"]}


def test_nothing_that_a_shell_reads_needs_the_executable_bit() -> None:
    """Archives and package managers drop it."""
    script = TOP / "hooks/claude-code/hooks/ai-lessons"
    assert script.read_text("utf-8").startswith("#!/bin/sh\n")
    assert data("hooks/claude-code/.mcp.json")["mcpServers"]["ai-lessons"]["command"] == "sh"
    assert not script.stat().st_mode & stat.S_IWOTH
