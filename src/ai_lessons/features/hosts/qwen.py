"""Qwen Code, made of Gemini CLI: events of Claude Code, with results of Gemini CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.features.hosts.gemini import shown_result
from ai_lessons.model.agent_hosts import AgentHost, HostSettings
from ai_lessons.model.rule_checks import ASK, ASK_OR_DENY, DENY

if TYPE_CHECKING:
    from collections.abc import Mapping

_DECISIONS = {"PreToolUse": (DENY, ASK_OR_DENY, ASK)}


class Qwen(AgentHost):
    """Takes a text with a prompt and with the result of a tool; before one a decision alone."""

    id, name = "qwen", "Qwen Code"
    settings = HostSettings(
        programs=("qwen",),
        folder=".qwen",
        variable="",
        projects=(".qwen",),
        events=("UserPromptSubmit", "PostToolUse"),
        hooks=("~settings.json#hooks", "./.qwen/settings.json#hooks"),
        servers=("~settings.json#mcpServers", "./.qwen/settings.json#mcpServers"),
        instructions=("~QWEN.md", "./QWEN.md"),
        hears={
            "UserPromptSubmit": ("UserPromptSubmit", ""),
            "PreToolUse": ("PreToolUse", "^(run_shell_command|edit|write_file|mcp__.*)$"),
            "PostToolUse": (
                "PostToolUse",
                "^(run_shell_command|read_file|edit|write_file|mcp__.*)$",
            ),
            "PostToolUseFailure": ("PostToolUseFailure", "^(run_shell_command|mcp__.*)$"),
            "Stop": ("Stop", ""),
        },
        second=1000,
    )
    transcripts = "projects/*/chats/*.jsonl"
    instructions = ("QWEN.md",)
    decisions = _DECISIONS
    told_with_result = "PostToolUse"
    begins_at_prompt = True
    blocks_at_stop = True

    def result(self, raw: Mapping[str, Any]) -> object:
        """As of Gemini CLI."""
        return shown_result(super().result(raw))

    def goes_on_again(self, _raw: Mapping[str, Any]) -> bool:
        """It says so at the first stop already."""
        return False


HOST = Qwen()
