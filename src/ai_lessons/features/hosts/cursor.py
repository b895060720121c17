"""Cursor: its events begin with a small letter, and answers have keys of its own."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ai_lessons.features.hosts.claude_code import read_messages
from ai_lessons.model.agent_hosts import AgentHost, HostSettings, text_at
from ai_lessons.model.entries import Moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.agent_hosts import Json, ToTell
    from ai_lessons.model.transcripts import Transcript


_MOMENTS = {
    "sessionStart": Moment.BEGIN,
    "beforeSubmitPrompt": Moment.PROMPT,
    "preToolUse": Moment.BEFORE_TOOL,
    "postToolUse": Moment.TOOL_DONE,
    "postToolUseFailure": Moment.TOOL_FAILED,
    "stop": Moment.STOP,
}


class Cursor(AgentHost):
    """Shows its user nothing at a stop, and runs our hook in its own folder."""

    id, name = "cursor", "Cursor"
    settings = HostSettings(
        programs=("cursor", "cursor-agent"),
        folder=".cursor",
        variable="",
        projects=(".cursor",),
        events=("sessionStart", "preToolUse"),
        hooks=("~hooks.json#hooks", "./.cursor/hooks.json#hooks"),
        servers=("~mcp.json#mcpServers", "./.cursor/mcp.json#mcpServers"),
        instructions=("./AGENTS.md", "./.cursorrules"),
        hears={
            "SessionStart": ("sessionStart", ""),
            "UserPromptSubmit": ("beforeSubmitPrompt", ""),
            "PreToolUse": (
                "preToolUse",
                "^(Shell|Read|Write|StrReplace|Edit|MultiEdit|EditNotebook|ApplyPatch|Delete|MCP:.*)$",
            ),
            "PostToolUse": ("postToolUse", "^(Shell|MCP:.*)$"),
            "PostToolUseFailure": ("postToolUseFailure", "^(Shell|MCP:.*)$"),
            "Stop": ("stop", ""),
        },
        grouped=False,
        head={"version": 1},
    )
    transcripts = "projects/*/agent-transcripts/**/*.jsonl"
    instructions = ("AGENTS.md", ".cursorrules", ".cursor/rules")
    moments = _MOMENTS
    blocks_at_stop = True
    hides_from_person_at = (Moment.STOP,)

    def tool(self, raw: Mapping[str, Any]) -> str:
        """It does not say of which MCP server a tool is."""
        return text_at(raw, "tool_name").replace("MCP:", "mcp____", 1)

    def folder(self, raw: Mapping[str, Any]) -> str:
        """The first folder that is open in the editor, where no other is stated."""
        folder = super().folder(raw)
        roots = raw.get("workspace_roots")
        if not folder and isinstance(roots, list) and roots:
            return str(roots[0])
        return folder

    def result(self, raw: Mapping[str, Any]) -> object:
        """It stands as JSON in a text."""
        with suppress(ValueError, RecursionError):
            return json.loads(text_at(raw, "tool_output"))
        return super().result(raw)

    def goes_on_again(self, raw: Mapping[str, Any]) -> bool:
        """It counts."""
        return bool(raw.get("loop_count"))

    def is_unfinished(self, raw: Mapping[str, Any]) -> bool:
        """The user ended the turn, or it broke."""
        return text_at(raw, "status") in {"aborted", "error"}

    def holding(self, reason: str) -> Json:
        """The next message of the user, as it were."""
        return {"followup_message": reason}

    def adding(self, message: ToTell) -> Json:
        """What both its user and the agent read, where something is decided."""
        answer: Json = {"additional_context": message.text}
        if message.decision:
            answer |= {
                "permission": message.decision,
                "user_message": message.text,
                "agent_message": message.text,
            }
        return answer

    def wrote(self, record: Mapping[str, Any]) -> bool:
        """Messages, each beside its role."""
        message = record.get("message")
        return "role" in record and isinstance(message, dict) and "content" in message

    def read(self, session: Transcript, record: Mapping[str, Any]) -> bool:
        """As of Claude Code, without how calls ended."""
        read_messages(session, record)
        return True


HOST = Cursor()
