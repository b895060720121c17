"""Codex: a stop takes a reason to go on and nothing else, and its user cannot be asked."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.model import expression
from ai_lessons.model.agent_hosts import EXIT_CODE, AgentHost, HostSettings, text_at, words_of
from ai_lessons.model.decisions import ASK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.model.agent_hosts import Json, ToTell
    from ai_lessons.model.transcripts import Transcript


_HEARS = ("SessionStart", "SubagentStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
# of a transcript, in which the end of a command is looked for
LAST_BYTES = 1 << 20
_RUNS_ON = expression(r"(?m)^Process running with session ID")
_RECORDS = frozenset(
    {"compacted", "world_state", "token_usage_record", "inter_agent_communication"}
)
# What a rollout holds that is read, or says nothing of a command, a file or the user.
_ITEMS = frozenset({
    "message", "agent_message", "reasoning", "additional_tools", "function_call", "function_call_output",
    "custom_tool_call", "custom_tool_call_output", "local_shell_call", "tool_search_call", "tool_search_output",
    "web_search_call", "image_generation_call", "compaction", "context_compaction", "UserMessage", "AgentMessage",
    "Reasoning", "Plan", "CommandExecution", "FileChange", "McpToolCall", "DynamicToolCall", "CollabAgentToolCall",
    "SubAgentActivity", "WebSearch", "ImageView", "ImageGeneration", "ContextCompaction", "Sleep", "HookPrompt",
    "EnteredReviewMode", "ExitedReviewMode",
})  # fmt: skip
_BEFORE_OUTPUT = expression(r"\A(?:.*\n)*?Output:\n")


class Codex(AgentHost):
    """Gives its hooks no exit code: it is looked up in the transcript."""

    id, name = "codex", "Codex"
    settings = HostSettings(
        programs=("codex",),
        folder=".codex",
        variable="CODEX_HOME",
        projects=(".codex",),
        events=("SessionStart", "PreToolUse"),
        hooks=(
            "~hooks.json#hooks",
            "~config.toml#hooks",
            "./.codex/hooks.json#hooks",
            "./.codex/config.toml#hooks",
        ),
        servers=("~config.toml#mcp_servers", "./.codex/config.toml#mcp_servers"),
        instructions=("~AGENTS.md", "./AGENTS.md"),
        hears={event: (event, "") for event in _HEARS},
        advice=(
            "Codex runs hooks once you trusted them at its terminal: start it there; "
            "codex exec leaves others out silently"
        ),
        managed={
            "etc/codex/hooks.json#hooks": "",
            "etc/codex/config.toml#mcp_servers": "where one is there, add the table to it",
        },
    )
    transcripts = "sessions/**/rollout-*.jsonl*"
    instructions = ("AGENTS.md", "AGENTS.override.md")
    failed_unless_stated = True
    asks = False
    blocks_at_stop = True

    def result(self, raw: Mapping[str, Any]) -> object:
        """The output, with the exit code of the transcript where it has one."""
        response = raw.get("tool_response")
        if isinstance(response, str):
            code = _exit_code(raw)
            if code is not None:
                return {"output": response, "exit_code": code}
        return response

    def adding(self, message: ToTell) -> Json:
        """Where it would have to ask, the agent is told and nothing is decided."""
        if message.decision == ASK:
            message = message._replace(decision="")
        return super().adding(message)

    def wrote(self, record: Mapping[str, Any]) -> bool:
        """Lines of a rollout."""
        return isinstance(record.get("payload"), dict) and "type" in record

    def read(self, session: Transcript, record: Mapping[str, Any]) -> bool:
        """Read a rollout. A tool says its exit code in the text, or in a JSON object, by its age.

        Where the model writes scripts that call tools (code mode), only the items that are completed
        say which.
        """
        item, sort = record["payload"], record["payload"].get("type")
        if record["type"] in {"session_meta", "turn_context"}:
            session.begins(item.get("id"), item.get("cwd"))
        elif record["type"] == "event_msg":
            return sort != "item_completed" or _read_item(session, item["item"])
        elif record["type"] != "response_item":
            return record["type"] in _RECORDS
        elif sort == "message" and item.get("role") == "user":
            kinds = (item.get("internal_chat_message_metadata_passthrough") or {}).get(
                "content_item_kinds"
            )
            if not kinds or any(kind.startswith("user.") for kind in kinds):
                session.add_remark(words_of(item.get("content")))
        elif sort == "local_shell_call":
            session.add_call(item.get("call_id"), sort, item["action"])
        elif sort in {"function_call", "custom_tool_call"}:
            session.add_call(
                item["call_id"],
                item.get("name"),
                item.get("arguments") or item.get("input") or "{}",
            )
            return session.itemized or item.get("name") != "exec"
        elif sort in {"function_call_output", "custom_tool_call_output"}:
            _read_output(session, item["call_id"], item.get("output"))
        return sort is None or sort in _ITEMS


def _exit_code(raw: Mapping[str, Any]) -> int | None:
    """The exit code of a command by the transcript. None: not found."""
    call, file = text_at(raw, "tool_use_id"), Path(text_at(raw, "transcript_path"))
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
        # it has another form, or is torn
        if call and file.is_file():
            for line in _last_lines(file):
                if call.encode() not in line or b'"exit_code"' not in line:
                    continue
                item = json.loads(line)["payload"]["item"]
                if item["id"] == call:
                    return int(item["exit_code"])
    return None


def _last_lines(file: Path) -> Iterator[bytes]:
    """The last lines of a transcript, the last one first."""
    with file.open("rb") as rollout:
        rollout.seek(max(file.stat().st_size - LAST_BYTES, 0))
        lines = rollout.read(LAST_BYTES).splitlines()
    yield from reversed(lines)


def _read_output(session: Transcript, call: str, output: Any) -> None:
    code = None
    if isinstance(output, str) and output.startswith("{"):
        output = json.loads(output)
    if isinstance(output, dict):
        code = (output.get("metadata") or {}).get("exit_code")
        output = output.get("output") or output.get("content")
    output = words_of(output)
    match = EXIT_CODE.search(output)
    if match:
        code = int(match[1])
    elif output.startswith("apply_patch verification failed"):
        code = 1
    if not _RUNS_ON.search(output):
        session.end_call(call, _BEFORE_OUTPUT.sub("", output), None if code is None else code != 0)


def _read_item(session: Transcript, item: Mapping[str, Any]) -> bool:
    """What a tool did.

    Of one that no script called, the call and its output have records of their own, too.
    """
    sort, session.itemized = item.get("type"), True
    declined = item.get("status") == "declined"
    if sort == "CommandExecution":
        session.begins(None, _folder_of(str(item.get("cwd") or "")))
        session.add_call(item["id"], sort, {"command": item["command"]})
        code, output = item.get("exit_code"), str(item.get("aggregated_output") or "")
        # a command that is interrupted has no code of its own
        stopped = declined or (code == -1 and not output.strip())
        session.end_call(item["id"], output, None if code is None else code != 0, stopped=stopped)
    elif sort == "FileChange":
        for file, change in item["changes"].items():
            if change.get("type") != "delete":
                text = change.get("content") or change.get("unified_diff") or ""
                session.add_call(
                    item["id"], "edit", {"path": change.get("move_path") or file, "content": text}
                )
                session.end_call(
                    item["id"], "", item.get("status") != "completed", stopped=declined
                )
    return sort in _ITEMS


def _folder_of(address: str) -> str:
    """The folder that an address names.

    >>> _folder_of("file:///home/ann/my%20shop")
    '/home/ann/my shop'
    """
    data = address.removeprefix("file://").encode()
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda code: bytes.fromhex(code[1].decode()), data).decode(
        "utf-8", "replace"
    )


HOST = Codex()
