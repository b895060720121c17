"""Gemini CLI: it takes no text before a tool, and does not keep what hooks told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model import expression
from ai_lessons.model.agent_hosts import EXIT_CODE, AgentHost, HostSettings, text_at, words_of
from ai_lessons.model.decisions import ASK_OR_DENY, DENY
from ai_lessons.model.entries import Moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.agent_hosts import Json, ToTell
    from ai_lessons.model.transcripts import Transcript


_FAILED = expression(  # behind the output, which may hold such a line itself
    r"\n(?:Exit Code: -?[1-9]\d*|Signal: (?!\(none\)|0\s)\S+)(?:\n(?:Signal|Background PIDs|Process Group PGID): .*)*"
    r"\s*(?:</untrusted_context>\s*)?\Z"
)

_MOMENTS = {
    "SessionStart": Moment.BEGIN,
    "BeforeAgent": Moment.PROMPT,
    "BeforeTool": Moment.BEFORE_TOOL,
    "AfterTool": Moment.TOOL_DONE,
    "AfterAgent": Moment.STOP,
}
_DECISIONS = {"BeforeTool": (DENY, ASK_OR_DENY)}
_KEYS = frozenset({"projectHash", "$set"})
# in the result of a command, as the model gets it
OUTPUT = expression(
    r"(?s)(?:\A|\n)Output: (.*?)\n?(?:\nError: .*|\nExit Code: .*|\nProcess Group "
    r".*|</untrusted.*)?\Z"
)


class Gemini(AgentHost):
    """Before a tool it takes a decision alone, and cannot ask."""

    id, name = "gemini", "Gemini CLI"
    settings = HostSettings(
        programs=("gemini",),
        folder=".gemini",
        variable="",
        projects=(".gemini",),
        events=("SessionStart", "AfterTool"),
        hooks=("~settings.json#hooks", "./.gemini/settings.json#hooks"),
        servers=("~settings.json#mcpServers", "./.gemini/settings.json#mcpServers"),
        instructions=("~GEMINI.md", "./GEMINI.md"),
        hears={
            "SessionStart": ("SessionStart", ""),
            "UserPromptSubmit": ("BeforeAgent", ""),
            "PreToolUse": ("BeforeTool", "^(run_shell_command|replace|write_file|mcp_.*)$"),
            "PostToolUse": (
                "AfterTool",
                "^(run_shell_command|read_file|replace|write_file|mcp_.*)$",
            ),
            "Stop": ("AfterAgent", ""),
        },
        second=1000,
    )
    transcripts = "tmp/*/chats/**/*.json*"
    instructions = ("GEMINI.md",)
    moments = _MOMENTS
    decisions = _DECISIONS
    told_with_result = "AfterTool"
    keeps_what_is_told = False
    asks = False
    blocks_at_stop = True

    def tool(self, raw: Mapping[str, Any]) -> str:
        """What is of a server has its names beside that of the tool."""
        server = raw.get("mcp_context")
        if isinstance(server, dict):
            return f"mcp__{text_at(server, 'server_name')}__{text_at(server, 'tool_name')}"
        return super().tool(raw)

    def result(self, raw: Mapping[str, Any]) -> object:
        """See `shown_result`."""
        return shown_result(super().result(raw))

    def adding(self, message: ToTell) -> Json:
        """A decision stands at the top level."""
        if message.event == "BeforeTool":
            return {"decision": message.decision, "reason": message.text}
        return super().adding(message)

    def wrote(self, record: Mapping[str, Any]) -> bool:
        """A session, and its messages."""
        if "message" in record:
            return False
        return not _KEYS.isdisjoint(record) or record.get("type") in {"user", "gemini"}

    def read(self, session: Transcript, record: Mapping[str, Any]) -> bool:
        """A message is written again when its calls have ended."""
        session.begins(record.get("sessionId"), None)
        if record.get("type") == "user":
            session.add_remark(words_of(record.get("content")))
        for call in record.get("toolCalls") or ():
            if call.get("status") not in {"success", "error", "cancelled"}:
                continue
            session.add_call(call["id"], call.get("name"), call["args"])
            outputs = (
                str(result["functionResponse"]["response"].get("output", ""))
                for result in call.get("result") or ()
            )
            output = "\n".join(outputs)
            code, inner = EXIT_CODE.search(output), OUTPUT.search(output)
            failed = call["status"] == "error" or bool(code and code[1] != "0")
            session.end_call(
                call["id"],
                inner[1] if inner else output,
                failed,
                stopped=call["status"] == "cancelled",
            )
        return True


def shown_result(response: object) -> object:
    """What the host shows its user of a result; whether it failed says what the model gets."""
    if not isinstance(response, dict) or "llmContent" not in response:
        return response
    content = response["llmContent"]
    failed = bool(response.get("error"))
    if isinstance(content, str) and _FAILED.search(content):
        failed = True
    return {"output": text_at(response, "returnDisplay"), "exit_code": int(failed)}


HOST = Gemini()
