"""Qwen Code, made of Gemini CLI: events of Claude Code, with results of Gemini CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.features.hosts.gemini import OUTPUT, shown_result
from ai_lessons.model.agent_hosts import EXIT_CODE, AgentHost, HostSettings, tables
from ai_lessons.model.decisions import ASK, ASK_OR_DENY, DENY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.transcripts import Transcript


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

    def wrote(self, record: Mapping[str, Any]) -> bool:
        """Messages in parts."""
        message = record.get("message")
        return isinstance(message, dict) and isinstance(message.get("parts"), list)

    def read(self, session: Transcript, record: Mapping[str, Any]) -> bool:
        """The envelope of Claude Code around the message parts of Gemini CLI."""
        session.begins(record.get("sessionId"), record.get("cwd"))
        for part in tables(record["message"]["parts"]):
            if call := part.get("functionCall"):
                session.add_call(call.get("id") or call["name"], call["name"], call["args"])
            elif result := part.get("functionResponse"):
                response = result["response"]
                output = str(response.get("output") or response.get("error") or "")
                code, inner = EXIT_CODE.search(output), OUTPUT.search(output)
                failed = "error" in response or bool(code and code[1] != "0")
                session.end_call(
                    result.get("id") or result["name"], inner[1] if inner else output, failed
                )
            elif record.get("type") == "user" and part.get("text") and not part.get("thought"):
                session.add_remark(str(part["text"]))
        return True


HOST = Qwen()
