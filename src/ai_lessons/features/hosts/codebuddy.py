"""CodeBuddy Code: events of Claude Code, of which those before a tool take a decision alone."""

from __future__ import annotations

from ai_lessons.model.agent_hosts import AgentHost, HostSettings
from ai_lessons.model.rule_checks import ASK, ASK_OR_DENY, DENY

_DECISIONS = {"PreToolUse": (DENY, ASK_OR_DENY, ASK)}


class CodeBuddy(AgentHost):
    """Without a terminal it ends whatever a stop is answered."""

    id, name = "codebuddy", "CodeBuddy Code"
    settings = HostSettings(
        programs=("codebuddy", "cbc"),
        folder=".codebuddy",
        variable="CODEBUDDY_CONFIG_DIR",
        projects=(".codebuddy",),
        events=("SessionStart", "PostToolUse"),
        hooks=(
            "~settings.json#hooks",
            "./.codebuddy/settings.json#hooks",
            "./.codebuddy/settings.local.json#hooks",
        ),
        servers=("~.mcp.json#mcpServers", "./.mcp.json#mcpServers"),
        instructions=("~CODEBUDDY.md", "./CODEBUDDY.md"),
        hears={
            "SessionStart": ("SessionStart", ""),
            "UserPromptSubmit": ("UserPromptSubmit", ""),
            "PreToolUse": ("PreToolUse", "^(Bash|Edit|MultiEdit|Write|NotebookEdit|mcp__.*)$"),
            "PostToolUse": (
                "PostToolUse",
                "^(Bash|Read|Edit|MultiEdit|Write|NotebookEdit|mcp__.*)$",
            ),
            "Stop": ("Stop", ""),
        },
    )
    transcripts = "projects/*/*.jsonl"
    instructions = ("CODEBUDDY.md",)
    decisions = _DECISIONS
    told_with_result = "PostToolUse"
    ends_without_asking = True
    blocks_at_stop = True


HOST = CodeBuddy()
