"""CodeBuddy Code: events of Claude Code, of which those before a tool take a decision alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model import expression
from ai_lessons.model.agent_hosts import EXIT_CODE, AgentHost, HostSettings, words_of
from ai_lessons.model.decisions import ASK, ASK_OR_DENY, DENY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.transcripts import Transcript


_DECISIONS = {"PreToolUse": (DENY, ASK_OR_DENY, ASK)}
_OUTPUT = expression(r"(?s)\ACommand: (?>.*?\nStdout: )(?>(.*)\nStderr: )(.*?)\nExit Code: -?\d+\n")
_ITEMS = frozenset({"message", "function_call", "function_call_result", "reasoning"})


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

    def wrote(self, record: Mapping[str, Any]) -> bool:
        """Items of a session."""
        return record.get("type") in _ITEMS and "sessionId" in record

    def read(self, session: Transcript, record: Mapping[str, Any]) -> bool:
        """Items as of Codex in the envelope of Claude Code."""
        session.begins(record["sessionId"], record.get("cwd"))
        if record["type"] == "message" and record["role"] == "user":
            session.add_remark(words_of(record["content"]))
        elif record["type"] == "function_call":
            session.add_call(record["callId"], record["name"], record["arguments"])
        elif record["type"] == "function_call_result":
            output = words_of([record["output"]])
            code, inner = EXIT_CODE.search(output), _OUTPUT.search(output)
            if inner:
                output = "\n".join(
                    part.rstrip() for part in inner.groups() if part.strip() not in {"", "(empty)"}
                )
            session.end_call(
                record["callId"],
                output,
                code[1] != "0" if code else record.get("status") != "completed",
            )
        return True


HOST = CodeBuddy()
