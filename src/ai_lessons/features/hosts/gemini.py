"""Gemini CLI: it takes no text before a tool, and does not keep what hooks told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model import expression
from ai_lessons.model.agent_hosts import AgentHost, HostSettings, text_at
from ai_lessons.model.entries import Moment
from ai_lessons.model.rule_checks import ASK_OR_DENY, DENY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.agent_hosts import Json, ToTell

_FAILED = expression(  # behind the output, which may hold such a line itself
    r"\n(?:Exit Code: -?[1-9]\d*|Signal: (?!\(none\)|0\s)\S+)(?:\n(?:Signal|Background PIDs|Process Group PGID): .*)*"
    r"\s*(?:</untrusted_context>\s*)?\Z"
)

_MOMENTS = {
    "SessionStart": Moment.BEGIN,
    "BeforeAgent": Moment.PROMPT,
    "BeforeTool": Moment.BEFORE_TOOL,
    "AfterTool": Moment.TOOL_DONE,
    "AfterAgent": Moment.STOP,
}
_DECISIONS = {"BeforeTool": (DENY, ASK_OR_DENY)}


class Gemini(AgentHost):
    """Before a tool it takes a decision alone, and cannot ask."""

    id, name = "gemini", "Gemini CLI"
    settings = HostSettings(
        programs=("gemini",),
        folder=".gemini",
        variable="",
        projects=(".gemini",),
        events=("SessionStart", "AfterTool"),
        hooks=("~settings.json#hooks", "./.gemini/settings.json#hooks"),
        servers=("~settings.json#mcpServers", "./.gemini/settings.json#mcpServers"),
        instructions=("~GEMINI.md", "./GEMINI.md"),
        hears={
            "SessionStart": ("SessionStart", ""),
            "UserPromptSubmit": ("BeforeAgent", ""),
            "PreToolUse": ("BeforeTool", "^(run_shell_command|replace|write_file|mcp_.*)$"),
            "PostToolUse": (
                "AfterTool",
                "^(run_shell_command|read_file|replace|write_file|mcp_.*)$",
            ),
            "Stop": ("AfterAgent", ""),
        },
        second=1000,
    )
    transcripts = "tmp/*/chats/**/*.json*"
    instructions = ("GEMINI.md",)
    moments = _MOMENTS
    decisions = _DECISIONS
    told_with_result = "AfterTool"
    keeps_what_is_told = False
    asks = False
    blocks_at_stop = True

    def tool(self, raw: Mapping[str, Any]) -> str:
        """What is of a server has its names beside that of the tool."""
        server = raw.get("mcp_context")
        if isinstance(server, dict):
            return f"mcp__{text_at(server, 'server_name')}__{text_at(server, 'tool_name')}"
        return super().tool(raw)

    def result(self, raw: Mapping[str, Any]) -> object:
        """See `shown_result`."""
        return shown_result(super().result(raw))

    def adding(self, message: ToTell) -> Json:
        """A decision stands at the top level."""
        if message.event == "BeforeTool":
            return {"decision": message.decision, "reason": message.text}
        return super().adding(message)


def shown_result(response: object) -> object:
    """What the host shows its user of a result; whether it failed says what the model gets."""
    if not isinstance(response, dict) or "llmContent" not in response:
        return response
    content = response["llmContent"]
    failed = bool(response.get("error"))
    if isinstance(content, str) and _FAILED.search(content):
        failed = True
    return {"output": text_at(response, "returnDisplay"), "exit_code": int(failed)}


HOST = Gemini()
