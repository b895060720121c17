"""The how-to page about MCP names what exists."""

import json
import re
from pathlib import Path

from ai_lessons.interfaces.mcp import mcp

HOW_TO = Path(__file__).parents[2] / "docs/how-to/use-with-agent-hosts.md"


def test_the_how_to_page_names_options_that_exist() -> None:
    text = HOW_TO.read_text(encoding="utf-8")
    known = {option for param in mcp.params for option in param.opts}
    called = re.findall(r"^ai-lessons-mcp (.*)$", text, re.MULTILINE)
    assert called
    assert {word for row in called for word in row.split() if word.startswith("--")} <= known
    assert {f"--{name}" for name in ("http", "token-file", "allow-host", "tools")} <= known


def test_the_snippet_for_hosts_is_valid() -> None:
    text = HOW_TO.read_text(encoding="utf-8")
    found = json.loads(text.partition("```json\n")[2].partition("```")[0])
    assert found["mcpServers"]["ai-lessons"]["command"] == "ai-lessons-mcp"
