"""What hosts and registries read of us, from the Claude Code plugin and `hooks/agents.md`: `make reference` writes it.

The name, version and descriptions of `plugin.json` reach the manifests of all others, its hooks those of Codex, Cursor
and Gemini CLI, in the form of each. A test compares, and validates each by its published schema.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ai_lessons.connectors.agent_hosts import kinds
from ai_lessons.connectors.host_changes import hook_table

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = "hooks/claude-code"
SHELL = (
    'PATH="$PATH:$HOME/.local/bin:/usr/local/bin:/opt/homebrew/bin"; '
    "command -v ai-lessons >/dev/null && ai-lessons admin agent-hook || exit 0"
)
"""How hosts other than Claude Code call our hook. An exit code but 0 refuses what the agent does, in some hosts."""

SKILL = """\
---
name: ai-lessons
description: "{about} Use it before a task or an edit, after an error, and when something took more than one attempt."
---
# Search what is known, and write down what was learned

{agents}

## When to search

Before the first edit of a task, with its words and the names and versions of its tools in one query; after every error
that you did not expect; before you write a script; before you call the task done.

## A lesson that is found again

- One observation. The title says it in a sentence, with the words in which the next reader will ask.
- `when`: the situation, with the command in backticks and the version. `do`: one action. `because`: the cause.
- In the text a fenced block with `$ command` and its output, whole where the error is: the same failure finds it.
- `applies_to` with globs where it is about certain files: it is then shown before an edit of one.
- `source: tested` only if you ran it yourself. No secrets, no names of people.
- Search first: correct or confirm an entry that is there (`record_outcome`) in place of a second one.
"""


def skill() -> str:
    """The skill of every plugin."""
    agents = (ROOT / "hooks/agents.md").read_text("utf-8").partition("\n\n")[2].strip()
    return SKILL.format(about=_plugin()["description"], agents=agents)


def manifests() -> dict[str, str]:
    """The text of each file that is made, by its path."""
    plugin = _plugin()
    name, about, version, owner = (
        plugin["name"],
        plugin["description"],
        plugin["version"],
        plugin["author"],
    )
    title, shown = plugin["displayName"], {key: plugin[key] for key in ("license", "keywords")}

    def market(source: Any, **more: Any) -> dict[str, Any]:
        entry = {"name": name, "source": source, "description": about}
        return {"name": name, **more, "owner": owner, "plugins": [entry]}

    server: dict[str, Any] = {"command": "ai-lessons", "args": ["admin", "mcp"]}
    interface = {
        "displayName": title, "shortDescription": about, "longDescription": about, "developerName": owner["name"],
        "category": "Productivity", "capabilities": ["Read", "Write"],
        "defaultPrompt": "Search what is known about what I am about to do.",
    }  # fmt: skip
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    codex_market = {
        "name": name,
        "interface": {"displayName": title},
        "plugins": [
            {
                "name": name,
                "source": {"source": "local", "path": "./hooks/codex"},
                "policy": policy,
                "category": "Productivity",
            }
        ],
    }
    stated = {"name": name, "version": version, "description": about}
    data: dict[str, Any] = {
        ".claude-plugin/marketplace.json": market(f"./{PLUGIN}", description=about),
        f"{PLUGIN}/.claude-plugin/marketplace.json": market("./", description=about),
        ".cursor-plugin/marketplace.json": market("./hooks/cursor", metadata={"description": about}),
        ".agents/plugins/marketplace.json": codex_market,
        "hooks/codex/.codex-plugin/plugin.json": {
            **stated, "author": owner, **shown, "skills": "./skills/", "mcpServers": "./.mcp.json",
            "interface": interface,
        },
        "hooks/codex/.mcp.json": {"mcpServers": {name: server | {"env": {"AI_LESSONS_AGENT": "codex"}}}},
        "hooks/codex/hooks/hooks.json": {"hooks": _hooks("codex")},
        "hooks/cursor/.cursor-plugin/plugin.json": {
            **stated, "displayName": title, "author": owner, **shown, "skills": "./skills/",
            "hooks": "./hooks/hooks.json", "mcpServers": "./mcp.json",
        },
        "hooks/cursor/mcp.json": {"mcpServers": {name: server | {"env": {"AI_LESSONS_AGENT": "cursor"}}}},
        "hooks/cursor/hooks/hooks.json": {"version": 1, "hooks": _hooks("cursor")},
        "gemini-extension.json": {
            **stated, "contextFileName": "hooks/agents.md",
            "mcpServers": {name: server | {"env": {"AI_LESSONS_AGENT": "gemini"}}},
        },
        "hooks/hooks.json": {"hooks": _hooks("gemini")},
    }  # fmt: skip
    texts = {
        path: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for path, value in data.items()
    }
    return texts | {
        f"hooks/{host}/skills/{name}/SKILL.md": skill()
        for host in ("claude-code", "codex", "cursor")
    }


def _plugin() -> dict[str, Any]:
    plugin: dict[str, Any] = json.loads((ROOT / PLUGIN / ".claude-plugin/plugin.json").read_bytes())
    return plugin


def _hooks(host: str) -> dict[str, Any]:
    settings = next(settings for kind, settings in kinds() if kind.id == host)
    stated = json.loads((ROOT / PLUGIN / "hooks/hooks.json").read_bytes())["hooks"]
    return hook_table(settings, stated, {"command": SHELL})


def write() -> None:
    """Write them all."""
    for path, text in manifests().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
