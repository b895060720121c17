"""Transcripts of agent hosts as steps: what the user said, what a command gave, which file was edited. Pure.

A record is read by its own form, whatever file it stands in: formats change, and a folder may hold those of many hosts.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.knowledge.failures import looks_failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Json = Mapping[str, Any]

READER = 6
"""Counts up when what is read of a transcript changes, so that every transcript is read once more."""

EDITORS = frozenset({
    "edit", "multiedit", "write", "notebookedit", "strreplace", "replace", "write_file", "apply_patch",
})  # fmt: skip
"""The tools that change a file, in small letters."""

_COMMAND, _FILE = ("command", "cmd"), ("file_path", "filePath", "notebook_path", "path")
_NEW = ("new_string", "newString", "content", "contents")
_CODE = re.compile(r"(?m)^(?:Process exited with code|Exit [Cc]ode:?) (-?\d+)\s*$")
_CODEX = re.compile(r"\A(?:.*\n)*?Output:\n")
_GEMINI = re.compile(
    r"(?s)(?:\A|\n)Output: (.*?)\n?(?:\nError: .*|\nExit Code: .*|\nProcess Group .*|</untrusted.*)?\Z"
)
_PATCHED = re.compile(r"(?m)^\*\*\* (?:(?:Update|Add) File|Move to): (.+?)\s*$")
_NOT_SAID = (
    "<", "[Request interrupted", "Caveat:", "# AGENTS.md", "Stop hook feedback",
    "This session is being continued from a previous", "Another language model started to solve this problem",
    "[Previous conversation summary]",
)  # fmt: skip
_TAGS = re.compile(r"\A\s*<timestamp>.*?</timestamp>\s*|</?user_query>")
_SHELL = re.compile(r"(?:/\S*/)?(?:ba|z|da)?sh")


class Step(NamedTuple):
    """What happened in a session: `said` by the user, a `command` that ended, or an `edit` of a file.

    `text` is what was said, the command line, or the file; `output` that of the command, or what the edit wrote.
    `failed` is None where nothing more is known of a call; `at` is in ISO 8601, `line` that of the transcript, `cwd`
    the folder that it was called in.
    """

    sort: str
    text: str
    output: str = ""
    failed: bool | None = None
    line: int = 0
    at: str = ""
    cwd: str = ""


class Transcript:
    """One session as it is read, begun in `first_cwd`. `known` and `unknown` count records: forms change."""

    def __init__(self, session: str = "", cwd: str = "", file: str = "") -> None:
        """As the name and the place of its file say, until a record says more."""
        self.host, self.session, self.cwd, self.file = "", session, cwd, file
        self.first_cwd = cwd
        self.steps: list[Step] = []
        self._calls: dict[str, list[Step]] = {}
        self.itemized = False  # Codex says of every tool that a script called what it did
        self._line, self._at = 0, ""
        self.known = self.unknown = 0

    def take(self, line: int, record: object) -> None:
        """One record of the file, at this line; what is not known is counted and left."""
        self._line, is_known = line, False
        with suppress(TypeError, ValueError, AttributeError, RecursionError):  # of a known form, with other values
            is_known = isinstance(record, dict) and self._read(record)
        self.known += is_known
        self.unknown += not is_known

    def _read(self, record: Json) -> bool:
        host, read = next(((host, read) for host, fits, read in FORMS if fits(record)), ("", None))
        if read is not None:
            self.host = self.host or host
            stamp = record.get("timestamp") or record.get("at") or ""
            self._at = stamp if isinstance(stamp, str) and stamp else self._at
        return read is not None and read(self, record) is not False

    def begins(self, session: Any, cwd: Any) -> None:
        """What a record says of the session that it belongs to."""
        self.session = session if isinstance(session, str) and session else self.session
        self.cwd = cwd if isinstance(cwd, str) and cwd else self.cwd
        self.first_cwd = self.first_cwd or self.cwd

    def add_remark(self, text: str) -> None:
        """The user said something; what the host wraps in a tag, or writes in the user's name, is not the user's."""
        words = _TAGS.sub("", text).strip()
        if words and not words.startswith(_NOT_SAID):
            self.closed()
            self.steps.append(Step("said", words, line=self._line, at=self._at))

    def add_call(self, call: Any, tool: Any, arguments: Any) -> None:
        """A tool was called; it is a step once it is known how it ended."""
        if isinstance(arguments, str):
            arguments = json.loads(arguments) if arguments.lstrip().startswith("{") else {"patch": arguments}
        command = next((arguments[key] for key in _COMMAND if arguments.get(key)), None)
        if isinstance(command, list):
            inner = len(command) > 2 and _SHELL.fullmatch(str(command[0]))
            command = command[2] if inner else " ".join(map(str, command))
        if isinstance(command, str) and not command.startswith("apply_patch"):
            self._calls[str(call)] = [Step("command", command, line=self._line, at=self._at, cwd=self.cwd)]
        elif str(tool).lower() in EDITORS or command:
            patch = str(arguments.get("patch") or arguments.get("input") or command or "")
            files = [arguments[key] for key in _FILE if isinstance(arguments.get(key), str)][:1] or patched_files(patch)
            text = next((arguments[key] for key in _NEW if isinstance(arguments.get(key), str)), patch)
            step = Step("edit", "", text[:_KEPT], None, self._line, self._at, self.cwd)
            self._calls[str(call)] = [step._replace(text=file) for file in files]

    def end_call(self, call: Any, output: str, failed: bool | None) -> None:
        """A call ended so. An edit that failed changed nothing, and an output matters only where a command failed."""
        for step in self._calls.pop(str(call), ()):
            if step.sort == "edit" and failed:
                continue
            if failed is None or (not failed and "|" in step.text):  # of a pipe the code is that of its last command
                failed = looks_failed(output)
            kept = "" if step.sort == "edit" or failed is False else output[:_KEPT] + output[_KEPT:][-_KEPT:]
            self.steps.append(step._replace(output=step.output or kept, failed=failed))

    def closed(self) -> Transcript:
        """With the calls of which nothing more is said: they did happen, and how they ended is not known."""
        self.steps += [step for steps in self._calls.values() for step in steps]
        self._calls.clear()
        return self


def patched_files(patch: str) -> list[str]:
    r"""The files that a patch in the form of Codex's `apply_patch` writes.

    >>> patched_files("*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch")
    ['a.py', 'b.py']
    """
    return _PATCHED.findall(patch)


_KEPT = 4000  # Characters from the beginning and from the end of an output


def _tables(value: Any) -> Iterator[Json]:
    if isinstance(value, str):
        yield {"type": "text", "text": value}
    elif isinstance(value, list):
        for part in value:
            yield from [part] if isinstance(part, dict) else _tables(part)


def _text(value: Any) -> str:
    return "\n".join(str(part["text"]) for part in _tables(value) if part.get("text"))


def _messages(to: Transcript, record: Json) -> None:
    """Claude Code and Cursor: messages of the Anthropic API, one a line. Cursor writes no outcomes of calls."""
    message = record["message"]
    to.begins(record.get("sessionId"), record.get("cwd"))
    user = (message.get("role") or record.get("role")) == "user"
    user = user and not record.get("isMeta") and not record.get("isCompactSummary")
    for part in _tables(message.get("content")):
        if part.get("type") == "tool_use":
            to.add_call(part.get("id") or part, part.get("name"), part["input"])
        elif part.get("type") == "tool_result":
            output = _text(part.get("content"))
            to.end_call(part.get("tool_use_id"), output, bool(part.get("is_error")))
        elif part.get("type") == "text" and user and not record.get("isSidechain"):
            to.add_remark(str(part["text"]))


def _codex(to: Transcript, record: Json) -> bool:
    """Codex: rollouts. A tool says its exit code in the text, or in a JSON object, by its age.

    Where the model writes scripts that call tools (code mode), only the items that are completed say which.
    """
    item, sort = record["payload"], record["payload"].get("type")
    if record["type"] in {"session_meta", "turn_context"}:
        to.begins(item.get("id"), item.get("cwd"))
    elif record["type"] == "event_msg":
        return sort != "item_completed" or _codex_item(to, item["item"])
    elif record["type"] != "response_item":
        return record["type"] in _CODEX_RECORDS
    elif sort == "message" and item.get("role") == "user":
        kinds = (item.get("internal_chat_message_metadata_passthrough") or {}).get("content_item_kinds")
        if not kinds or any(kind.startswith("user.") for kind in kinds):
            to.add_remark(_text(item.get("content")))
    elif sort == "local_shell_call":
        to.add_call(item.get("call_id"), sort, item["action"])
    elif sort in {"function_call", "custom_tool_call"}:
        to.add_call(item["call_id"], item.get("name"), item.get("arguments") or item.get("input") or "{}")
        return to.itemized or item.get("name") != "exec"
    elif sort in {"function_call_output", "custom_tool_call_output"}:
        _codex_output(to, item["call_id"], item.get("output"))
    return sort is None or sort in _CODEX_ITEMS


def _codex_output(to: Transcript, call: str, output: Any) -> None:
    code = None
    if isinstance(output, str) and output.startswith("{"):
        output = json.loads(output)
    if isinstance(output, dict):
        code = (output.get("metadata") or {}).get("exit_code")
        output = output.get("output") or output.get("content")
    output = _text(output)
    match = _CODE.search(output)
    code = int(match[1]) if match else 1 if output.startswith("apply_patch verification failed") else code
    if not _RUNS_ON.search(output):
        to.end_call(call, _CODEX.sub("", output), None if code is None else code != 0)


def _codex_item(to: Transcript, item: Json) -> bool:
    """What a tool did. Of one that no script called, the call and its output have records of their own, too."""
    sort, to.itemized = item.get("type"), True
    if sort == "CommandExecution" and item.get("status") != "declined":
        to.begins(None, _folder(str(item.get("cwd") or "")))
        to.add_call(item["id"], sort, {"command": item["command"]})
        code = item.get("exit_code")
        to.end_call(item["id"], str(item.get("aggregated_output") or ""), None if code is None else code != 0)
    elif sort == "FileChange":
        for file, change in item["changes"].items():
            if change.get("type") != "delete":
                text = change.get("content") or change.get("unified_diff") or ""
                to.add_call(item["id"], "edit", {"path": change.get("move_path") or file, "content": text})
                to.end_call(item["id"], "", item.get("status") != "completed")
    return sort in _CODEX_ITEMS


def _folder(address: str) -> str:
    """The folder that an address names.

    >>> _folder("file:///home/ann/my%20shop")
    '/home/ann/my shop'
    """
    data = address.removeprefix("file://").encode()
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda code: bytes.fromhex(code[1].decode()), data).decode("utf-8", "replace")


_RUNS_ON = re.compile(r"(?m)^Process running with session ID")
_CODEX_RECORDS = frozenset({"compacted", "world_state", "token_usage_record", "inter_agent_communication"})
_CODEX_ITEMS = frozenset({
    "message", "agent_message", "reasoning", "additional_tools", "function_call", "function_call_output",
    "custom_tool_call", "custom_tool_call_output", "local_shell_call", "tool_search_call", "tool_search_output",
    "web_search_call", "image_generation_call", "compaction", "context_compaction", "UserMessage", "AgentMessage",
    "Reasoning", "Plan", "CommandExecution", "FileChange", "McpToolCall", "DynamicToolCall", "CollabAgentToolCall",
    "SubAgentActivity", "WebSearch", "ImageView", "ImageGeneration", "ContextCompaction", "Sleep", "HookPrompt",
    "EnteredReviewMode", "ExitedReviewMode",
})  # fmt: skip
"""What a rollout holds that is read, or says nothing of a command, a file or the user."""


def _gemini(to: Transcript, record: Json) -> None:
    """Gemini CLI: a message is written again when its calls have ended."""
    to.begins(record.get("sessionId"), None)
    if record.get("type") == "user":
        to.add_remark(_text(record.get("content")))
    for call in record.get("toolCalls") or ():
        if call.get("status") not in {"success", "error"}:
            continue
        to.add_call(call["id"], call.get("name"), call["args"])
        outputs = (str(result["functionResponse"]["response"].get("output", "")) for result in call.get("result") or ())
        output = "\n".join(outputs)
        code, inner = _CODE.search(output), _GEMINI.search(output)
        failed = call["status"] == "error" or bool(code and code[1] != "0")
        to.end_call(call["id"], inner[1] if inner else output, failed)


def _opencode(to: Transcript, record: Json) -> None:
    """opencode: parts of messages, as `repository.outside.records` reads them from its database."""
    part = record["part"]
    to.begins(record.get("session"), record.get("cwd"))
    if part.get("type") == "text" and record.get("role") == "user" and not part.get("synthetic"):
        text = str(part["text"]).strip()
        to.add_remark(text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text)
    elif part.get("type") == "tool":
        state = part["state"]
        done = state.get("metadata") or {}
        if state.get("status") == "completed":
            code = done.get("exit")
            to.add_call(part["callID"], part.get("tool"), state["input"])
            to.end_call(part["callID"], str(state.get("output") or ""), None if code is None else code != 0)


_GEMINI_KEYS = frozenset({"projectHash", "$set"})
_CLAUDE_SAYS_NOTHING = frozenset({
    "attachment", "queue-operation", "last-prompt", "system", "mode", "permission-mode", "summary", "progress",
    "file-history-snapshot", "ai-title", "custom-title", "agent-name",
})  # fmt: skip

FORMS: tuple[tuple[str, Callable[[Json], object], Callable[[Transcript, Json], object]], ...] = (
    ("opencode", lambda record: "part" in record, _opencode),
    ("codex", lambda record: isinstance(record.get("payload"), dict) and "type" in record, _codex),
    ("cursor", lambda record: "role" in record and isinstance(record.get("message"), dict), _messages),
    ("claude-code", lambda record: isinstance(record.get("message"), dict), _messages),
    ("claude-code", lambda record: record.get("type") in _CLAUDE_SAYS_NOTHING, lambda _to, _record: True),
    ("gemini", lambda record: not _GEMINI_KEYS.isdisjoint(record) or record.get("type") in {"user", "gemini"}, _gemini),
)
"""Host, what tells its records from others, and what reads one (False: it is of a form that is not known)."""
