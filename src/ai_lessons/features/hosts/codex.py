"""Codex: a stop takes a reason to go on and nothing else, and its user cannot be asked."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.model.agent_hosts import AgentHost, HostSettings, text_at
from ai_lessons.model.rule_checks import ASK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.model.agent_hosts import Json, ToTell

_HEARS = ("SessionStart", "SubagentStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
# of a transcript, in which the end of a command is looked for
LAST_BYTES = 1 << 20


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


HOST = Codex()
