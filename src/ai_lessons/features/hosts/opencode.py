"""opencode: a module of ours in its folder of plugins sends events in the form of Claude Code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model.agent_hosts import AgentHost, HostSettings
from ai_lessons.model.entries import Moment
from ai_lessons.model.failures import did_not_end

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.agent_hosts import Json
    from ai_lessons.model.transcripts import Transcript


class Opencode(AgentHost):
    """Takes no text at a stop, and without a terminal ends whatever is answered then."""

    id, name = "opencode", "opencode"
    settings = HostSettings(
        programs=("opencode",),
        folder=".config/opencode",
        variable="",
        projects=(".opencode", "opencode.json"),
        events=("", ""),
        hooks=(),
        servers=("~opencode.json#mcp", "./opencode.json#mcp"),
        instructions=("~AGENTS.md", "./AGENTS.md"),
        module=("~plugin/ai-lessons.js", "opencode/ai-lessons.js"),
    )
    transcripts = "../../.local/share/opencode/opencode.db"
    instructions = ("AGENTS.md", "CLAUDE.md")
    asks = False
    takes_no_text_at = (Moment.STOP,)
    ends_without_asking = True

    def server(self, program: str, env: Json) -> Json:
        """The program with its arguments is a list."""
        return {"type": "local", "command": [program], "environment": env, "enabled": True}

    def wrote(self, record: Mapping[str, Any]) -> bool:
        """Parts of messages."""
        return "part" in record

    def read(self, session: Transcript, record: Mapping[str, Any]) -> bool:
        """Parts of messages, as they are read from its database."""
        part = record["part"]
        session.begins(record.get("session"), record.get("cwd"))
        if (
            part.get("type") == "text"
            and record.get("role") == "user"
            and not part.get("synthetic")
        ):
            text = str(part["text"]).strip()
            session.add_remark(text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text)
        elif part.get("type") == "tool":
            state = part["state"]
            done = state.get("metadata") or {}
            if state.get("status") == "completed":
                code, output = done.get("exit"), str(state.get("output") or "")
                session.add_call(part["callID"], part.get("tool"), state["input"])
                stopped = "User aborted the command\n</bash_metadata>" in output
                session.end_call(
                    part["callID"], output, None if code is None else code != 0, stopped=stopped
                )
            elif state.get("status") == "error" and did_not_end(str(state.get("error") or "")):
                session.add_call(part["callID"], part.get("tool"), state["input"])
                session.end_call(part["callID"], "", None, stopped=True)
        return True


HOST = Opencode()
