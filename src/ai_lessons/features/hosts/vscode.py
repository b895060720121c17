"""VS Code, which reads the hooks of Copilot CLI; it has no settings of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.features.hosts.copilot import as_of_claude_code
from ai_lessons.model.agent_hosts import AgentHost
from ai_lessons.model.entries import Moment

if TYPE_CHECKING:
    from ai_lessons.model.agent_hosts import Json


class VsCode(AgentHost):
    """Takes no text at a prompt."""

    id, name = "vscode", "VS Code"
    instructions = (".github/copilot-instructions.md", ".github/instructions", "AGENTS.md")
    takes_no_text_at = (Moment.PROMPT,)
    blocks_at_stop = True

    def event(self, raw: Json) -> Json:
        """As of Copilot CLI."""
        return as_of_claude_code(raw)

    def holding(self, reason: str) -> Json:
        """In the part of the answer that is for one event."""
        return {"hookSpecificOutput": {"hookEventName": "Stop", **super().holding(reason)}}


HOST = VsCode()
