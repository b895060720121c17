"""opencode: a module of ours in its folder of plugins sends events in the form of Claude Code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.model.agent_hosts import AgentHost, HostSettings
from ai_lessons.model.entries import Moment

if TYPE_CHECKING:
    from ai_lessons.model.agent_hosts import Json


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


HOST = Opencode()
