"""Copilot CLI: its events do not say which host they are from, so the command of the hook does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model import expression
from ai_lessons.model.agent_hosts import AgentHost, HostSettings, text_at, words_of
from ai_lessons.model.decisions import DENY
from ai_lessons.model.entries import Moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.agent_hosts import Json, ToTell
    from ai_lessons.model.transcripts import Transcript


_ENDED = expression(r"(?<!\s)\s*<shellId: [^<>]* completed with exit code (-?\d+)>\s*\Z")
_AFTER_A_TOOL = "^(Bash|ai-lessons-.*)$"
# as a transcript has it
_KEPT_ENDED = expression(
    r"(?<!\s)\s*<(?:shellId: [^<>]* completed|exited) with exit code (-?\d+)>\s*\Z"
)
# Events that are read, or say nothing of a command, a file or the user.
_EVENTS = frozenset({
    "session.start", "session.resume", "session.shutdown", "session.info", "session.model_change",
    "session.permissions_changed", "session.task_complete", "user.message", "assistant.turn_start", "assistant.message",
    "assistant.turn_end", "tool.execution_start", "tool.execution_complete", "hook.start", "hook.end", "system.message",
    "system.notification", "subagent.started", "subagent.completed", "permission.requested", "permission.completed",
    "abort",
})  # fmt: skip


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
        managed={
            "etc/github-copilot/policy.d/ai-lessons.json#hooks": (
                "it has no file of servers for everybody; agents search by the command"
            ),
        },
        managed_command="bash",
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

    def wrote(self, record: Mapping[str, Any]) -> bool:
        """Events with their data."""
        return isinstance(record.get("data"), dict) and "type" in record

    def read(self, session: Transcript, record: Mapping[str, Any]) -> bool:
        """A command that failed has an exit code, an edit that failed no success."""
        data, sort = record["data"], record["type"]
        if sort == "session.start":
            session.begins(data.get("sessionId"), (data.get("context") or {}).get("cwd"))
        elif sort == "user.message":
            session.add_remark(words_of(data.get("content")))
        elif sort == "tool.execution_start":
            arguments = data["arguments"]
            if isinstance(arguments, dict):
                text = arguments.get("new_str") or arguments.get("file_text")
                if isinstance(text, str):
                    arguments = {**arguments, "content": text}
            session.add_call(data["toolCallId"], data.get("toolName"), arguments)
        elif sort == "tool.execution_complete":
            error = data.get("error") or {}
            output = words_of((data.get("result") or {}).get("content")) or str(
                error.get("message") or ""
            )
            ended = _KEPT_ENDED.search(output)
            code = (data.get("shellExecution") or {}).get(
                "exitCode", int(ended[1]) if ended else None
            )
            if code is None:
                failed = data.get("success") is False
            else:
                failed = code != 0
            stopped = error.get("code") in {"rejected", "denied"}
            session.end_call(
                data["toolCallId"], _KEPT_ENDED.sub("", output), failed, stopped=stopped
            )
        return sort in _EVENTS


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
