"""Claude Code, whose form of events and answers is that of `AgentHost`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model.agent_hosts import MOMENTS, AgentHost, HostSettings, tables, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.transcripts import Transcript

_SAYS_NOTHING = frozenset({
    "attachment", "queue-operation", "last-prompt", "system", "mode", "permission-mode", "summary", "progress",
    "file-history-snapshot", "ai-title", "custom-title", "agent-name", "pr-link",
})  # fmt: skip


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
        managed={
            "etc/claude-code/managed-settings.d/ai-lessons.json#hooks": "",
            "etc/claude-code/managed-mcp.json#mcpServers": (
                "with it Claude Code starts no other server: add yours to it, or leave it out"
            ),
        },
    )
    transcripts = "projects/**/*.jsonl"
    instructions = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules")

    def wrote(self, record: Mapping[str, Any]) -> bool:
        """Messages, and records that say nothing of a command, a file or the user."""
        message = record.get("message")
        if isinstance(message, dict):
            return "content" in message and "role" not in record
        return record.get("type") in _SAYS_NOTHING

    def read(self, session: Transcript, record: Mapping[str, Any]) -> bool:
        """See `read_messages`."""
        if "message" in record:
            read_messages(session, record)
        return True


def read_messages(session: Transcript, record: Mapping[str, Any]) -> None:
    """Messages of the Anthropic API, one a line."""
    message = record["message"]
    session.begins(record.get("sessionId"), record.get("cwd"))
    user = (message.get("role") or record.get("role")) == "user"
    user = user and not record.get("isMeta") and not record.get("isCompactSummary")
    for part in tables(message.get("content")):
        if part.get("type") == "tool_use":
            session.add_call(part.get("id") or part, part.get("name"), part["input"])
        elif part.get("type") == "tool_result":
            result = record.get("toolUseResult")
            stopped = isinstance(result, dict) and result.get("interrupted") is True
            output = words_of(part.get("content"))
            session.end_call(
                part.get("tool_use_id"), output, bool(part.get("is_error")), stopped=stopped
            )
        elif part.get("type") == "text" and user and not record.get("isSidechain"):
            session.add_remark(str(part["text"]))


HOST = ClaudeCode()
