"""Windsurf, which takes our MCP server; its hooks take no text."""

from __future__ import annotations

from ai_lessons.model.agent_hosts import AgentHost, HostSettings


class Windsurf(AgentHost):
    """Sends us no events."""

    id, name = "windsurf", "Windsurf"
    settings = HostSettings(
        programs=("windsurf",),
        folder=".codeium/windsurf",
        variable="",
        projects=(".windsurf",),
        events=("", "pre_write_code"),
        hooks=("~hooks.json#hooks", "./.windsurf/hooks.json#hooks"),
        servers=("~mcp_config.json#mcpServers",),
        instructions=("./AGENTS.md", "./.windsurfrules"),
    )


HOST = Windsurf()
