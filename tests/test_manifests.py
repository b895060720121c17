"""What hosts and registries read of us: made of one source, valid by the schemas that they publish, and consistent."""

import base64
import json
import re
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from manifests import SHELL, manifests, skill

from ai_lessons.interfaces.cli import root

TOP = Path(__file__).parents[1]
LISTED = ".ci/listed/server.json"
SCHEMAS = {
    ".claude-plugin/marketplace.json": "claude-marketplace",
    "hooks/claude-code/.claude-plugin/marketplace.json": "claude-marketplace",
    "hooks/claude-code/.claude-plugin/plugin.json": "claude-plugin",
    "hooks/codex/.codex-plugin/plugin.json": "codex-plugin",
    "hooks/codex/hooks/hooks.json": "codex-hooks",
    ".cursor-plugin/marketplace.json": "cursor-marketplace",
    "hooks/cursor/.cursor-plugin/plugin.json": "cursor-plugin",
}


def data(path: str) -> Any:
    return json.loads((TOP / path).read_bytes())


def faults(manifest: object, schema: str) -> list[str]:
    """What is wrong with it by a published schema."""
    published = data(f"tests/schemas/{schema}.json")
    return [
        error.message
        for error in jsonschema.validators.validator_for(published)(published).iter_errors(manifest)
    ]


@pytest.mark.parametrize("path", sorted(manifests()))
def test_every_manifest_is_as_its_one_source_says(path: str) -> None:
    assert (TOP / path).read_text("utf-8") == manifests()[path], "run: make reference"


@pytest.mark.parametrize(("path", "schema"), SCHEMAS.items())
def test_a_manifest_is_valid_by_its_published_schema(path: str, schema: str) -> None:
    assert faults(data(path), schema) == []


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


def test_every_host_has_the_hooks_of_the_plugin_by_its_own_names() -> None:
    codex = data("hooks/codex/hooks/hooks.json")["hooks"]
    assert {
        call["command"] for groups in codex.values() for group in groups for call in group["hooks"]
    } == {SHELL}
    gemini = data("hooks/hooks.json")["hooks"]
    assert set(gemini) == {"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"}


def test_a_skill_and_a_command_have_a_name_and_say_when_they_are_for() -> None:
    matter = yaml.safe_load(skill().split("---\n")[1])
    assert matter["name"] == "ai-lessons"
    assert len(matter["description"]) <= 1024
    for file in (TOP / "hooks/claude-code/commands").glob("*.md"):
        assert yaml.safe_load(file.read_text("utf-8").split("---\n")[1])["description"]


def test_what_they_start_is_a_command_of_the_program() -> None:
    admin = root.get_command(None, "admin")  # type: ignore[arg-type]
    arguments = [argument["value"] for argument in data(LISTED)["packages"][0]["packageArguments"]]
    assert arguments == ["admin", "mcp"]
    assert {"mcp", "agent-hook"} <= set(admin.commands)  # type: ignore[union-attr]


def test_the_readme_names_the_server_and_links_that_install_it() -> None:
    readme = (TOP / "README.md").read_text("utf-8")
    assert f"mcp-name: {data(LISTED)['name']}" in readme
    cursor, code = (urlsplit(re.search(pattern, readme)[0]) for pattern in (  # type: ignore[index]
        r"https://cursor\.com/[^)\s]+", r"https://insiders\.vscode\.dev/[^)\s]+"))  # fmt: skip
    config = json.loads(base64.b64decode(parse_qs(cursor.query)["config"][0]))
    assert config == json.loads(unquote(parse_qs(code.query)["config"][0]))
    assert config == {"command": "ai-lessons-mcp"}


def test_nothing_that_a_shell_reads_needs_the_executable_bit() -> None:
    """Archives and package managers drop it."""
    script = TOP / "hooks/claude-code/hooks/ai-lessons"
    assert script.read_text("utf-8").startswith("#!/bin/sh\n")
    assert data("hooks/claude-code/.mcp.json")["mcpServers"]["ai-lessons"]["command"] == "sh"
    assert not script.stat().st_mode & stat.S_IWOTH


RUNNERS = r"(?:uvx|pipx|uv|pip3?|pip install|npx|bunx|conda|brew|(?:docker|podman) (?:run|pull))"
BY_NAME = re.compile(  # a path (`./ai-lessons`), a URL and `--from .` name no package of an index
    rf"\b{RUNNERS}\b[^\n|;]*?[\s\"'@,](?<!--repo )ai[-_]lessons(?:\[[^\]]*\])?(?=[\s\"'=@<>~,`]|$)",
    re.MULTILINE,
)
DECLARED = re.compile(
    r"(?:dependencies|additional_dependencies|identifier|AI_LESSONS)[\"']?\s*[:=]\s*\[?\s*[\"']?ai-lessons"
)

CURSOR = base64.b64encode(b'{"command":"uvx","args":["ai-lessons"]}').decode()


def fetches(text: str) -> list[str]:
    """What in a text fetches the package by its name from an index; links are read as a host reads them."""
    links = [
        parse_qs(urlsplit(link).query).get("config", [])
        for link in re.findall(r"https://[^)\s\"']+", text)
    ]
    configs = [config for values in links for config in values]
    for config in list(configs):
        with suppress(ValueError):
            configs.append(base64.b64decode(config, validate=True).decode())
    whole = "\n".join([text, *configs])
    return [match[0] for match in (*BY_NAME.finditer(whole), *DECLARED.finditer(whole))]


@pytest.mark.parametrize(
    "text",
    [
        "pipx install ai-lessons", "`pip install 'ai-lessons[checks]'`",
        '{"command": "uvx", "args": ["ai-lessons", "admin", "mcp"]}',
        f"https://cursor.com/en/install-mcp?name=x&config={CURSOR}",
        "https://x.dev/?config=%7B%22command%22%3A%22uvx%22%2C%22args%22%3A%5B%22ai-lessons%22%5D%7D",
        'dependencies = ["ai-lessons"]', '"identifier": "ai-lessons"', "AI_LESSONS: ai-lessons[checks]",
        "uv tool run --from ai-lessons ai-lessons-mcp",
    ],
)  # fmt: skip
def test_what_fetches_by_name_is_recognised(text: str) -> None:
    assert fetches(text)


def test_nothing_in_the_tree_fetches_a_package_by_our_name_which_anybody_may_take() -> None:
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True, check=True
    ).stdout
    ours = (
        ".ci/listed/",
        "tests/",
        "CHANGELOG.md",
        "changelog.d/",
    )  # filled at a release; examples; history
    texts = {
        name: (TOP / name).read_text("utf-8", errors="replace")
        for name in filter(None, names.split("\0"))
        if not name.startswith(ours) and (TOP / name).is_file()
    }
    assert len(texts) > 300
    assert {name: faults for name, text in texts.items() if (faults := fetches(text))} == {}
