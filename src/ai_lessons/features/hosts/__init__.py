"""Agent hosts, a module each: settings, events, answers, transcripts.

Begin with the rows: what shows that an event is from a host. A module says in a class below
`model.agent_hosts.AgentHost` what differs from Claude Code. `admin hosts` lists them in this order.
"""

from __future__ import annotations

from ai_lessons.extensions import HostRow

HOSTS: tuple[HostRow, ...] = (
    HostRow("claude-code", "claude_code:HOST", folder=".claude", variable="CLAUDE_ENV_FILE"),
    # a turn has a name
    HostRow("codex", "codex:HOST", folder=".codex", keys=("turn_id",)),
    HostRow(
        "cursor",
        "cursor:HOST",
        folder=".cursor",
        keys=("cursor_version",),
        events=(
            *("sessionStart", "beforeSubmitPrompt", "preToolUse", "postToolUse"),
            *("postToolUseFailure", "stop"),
        ),
    ),
    HostRow(
        "gemini-cli",
        "gemini:HOST",
        folder=".gemini",
        events=("BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"),
    ),
    HostRow("opencode", "opencode:HOST"),
    HostRow("windsurf", "windsurf:HOST"),
    # it reads the hooks of Copilot CLI, and writes a key in its own way
    HostRow("vscode", "vscode:HOST", keys=("hookEventName",)),
    HostRow(
        "copilot",
        "copilot:HOST",
        folder=".copilot",
        keys=("agentName",),
        client="copilot-cli",
    ),
    HostRow("qwen-code", "qwen:HOST", folder=".qwen"),
    HostRow("codebuddy", "codebuddy:HOST", folder=".codebuddy"),
)
