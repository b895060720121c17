"""Claude Code, whose form of events and answers is that of `AgentHost`."""

from __future__ import annotations

from ai_lessons.model.agent_hosts import MOMENTS, AgentHost, HostSettings


class ClaudeCode(AgentHost):
    """Its plugin brings our hooks and server; without it they go in its settings."""

    id, name = "claude-code", "Claude Code"
    settings = HostSettings(
        programs=("claude",),
        folder=".claude",
        variable="CLAUDE_CONFIG_DIR",
        projects=(".claude",),
        events=("SessionStart", "PreToolUse"),
        hooks=(
            "~settings.json#hooks",
            "./.claude/settings.json#hooks",
            "./.claude/settings.local.json#hooks",
        ),
        servers=("~../.claude.json#mcpServers", "./.mcp.json#mcpServers"),
        instructions=("~CLAUDE.md", "./CLAUDE.md", "./.claude/CLAUDE.md", "./CLAUDE.local.md"),
        hears={event: (event, "") for event in MOMENTS},
        plugins="enabledPlugins",
    )
    transcripts = "projects/**/*.jsonl"
    instructions = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules")


HOST = ClaudeCode()
