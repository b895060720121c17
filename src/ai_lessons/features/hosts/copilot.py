"""Copilot CLI: its events do not say which host they are from, so the command of the hook does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model import expression
from ai_lessons.model.agent_hosts import AgentHost, HostSettings, text_at
from ai_lessons.model.entries import Moment
from ai_lessons.model.rule_checks import DENY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.agent_hosts import Json, ToTell

_ENDED = expression(r"(?<!\s)\s*<shellId: [^<>]* completed with exit code (-?\d+)>\s*\Z")
_AFTER_A_TOOL = "^(Bash|ai-lessons-.*)$"


class Copilot(AgentHost):
    """Takes answers at the top level, and has results in a form of its own."""

    id, name = "copilot", "GitHub Copilot"
    settings = HostSettings(
        programs=("copilot",),
        folder=".copilot",
        variable="",
        projects=(".github/copilot-instructions.md", ".github/hooks"),
        events=("SessionStart", "PreToolUse"),
        hooks=(
            "~hooks/ai-lessons.json#hooks",
            "~settings.json#hooks",
            "./.github/hooks/*.json#hooks",
        ),
        servers=("~mcp-config.json#mcpServers",),
        instructions=("./AGENTS.md", "./.github/copilot-instructions.md"),
        hears={
            "SessionStart": ("SessionStart", ""),
            "SubagentStart": ("SubagentStart", ""),
            "UserPromptSubmit": ("UserPromptSubmit", ""),
            "PreToolUse": (
                "PreToolUse",
                "^(Read|Edit|Write|MultiEdit|NotebookEdit|ApplyPatch|apply_patch|Bash|.+-.+)$",
            ),
            "PostToolUse": ("PostToolUse", _AFTER_A_TOOL),
            "PostToolUseFailure": ("PostToolUseFailure", _AFTER_A_TOOL),
            "Stop": ("Stop", ""),
        },
        head={"version": 1},
        named=True,
    )
    transcripts = "session-state/*/events.jsonl"
    instructions = (
        ".github/copilot-instructions.md",
        ".github/instructions",
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
    )
    blocks_at_stop = True

    def event(self, raw: Json) -> Json:
        """See `as_of_claude_code`."""
        return as_of_claude_code(raw)

    def is_of_interest(self, moment: Moment, raw: Mapping[str, Any]) -> bool:
        """Not what the host asks a subagent, nor the end of one."""
        of_subagent = bool(text_at(raw, "parent_agent_id"))
        return not (of_subagent and moment in {Moment.PROMPT, Moment.STOP})

    def adding(self, message: ToTell) -> Json:
        """Everything at the top level; the agent reads why it was refused."""
        answer: Json = {}
        if message.decision != DENY:
            answer["additionalContext"] = message.text
        if message.decision:
            answer["permissionDecision"] = message.decision
            answer["permissionDecisionReason"] = message.text
        return answer

    def server(self, program: str, env: Json) -> Json:
        """All its tools are allowed to be called."""
        return {"type": "local", "args": [], "tools": ["*"], **super().server(program, env)}


def as_of_claude_code(raw: Json) -> Json:
    """An event with the keys and names of Claude Code. That of a subagent's start has no name."""
    name = text_at(raw, "hookEventName") or "SubagentStart"
    event = {"hook_event_name": name, "session_id": raw.get("sessionId"), **raw}
    result = raw.get("tool_result")
    if isinstance(result, dict):
        output = text_at(result, "text_result_for_llm")
        ended = _ENDED.search(output)
        event["tool_response"] = {
            "output": _ENDED.sub("", output),
            "exit_code": int(ended[1]) if ended else 0,
        }
    tool = text_at(raw, "tool_name")
    if tool.startswith("ai-lessons-"):
        event["tool_name"] = f"mcp__ai-lessons__{tool.removeprefix('ai-lessons-')}"
    return event


HOST = Copilot()
