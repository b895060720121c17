"""Transcripts of agent hosts as steps: what a session ran, edited and was told, in one form for all hosts."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.edits import GONE
from ai_lessons.model.failures import OUTPUT_END, did_not_end, looks_failed
from ai_lessons.model.plain import is_ours
from ai_lessons.model.texts import printable
from ai_lessons.model.tool_calls import call_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Json = Mapping[str, Any]


_CODE = expression(r"(?m)^(?:Process exited with code|Exit [Cc]ode:?) (-?\d+)\s*$")
_CODEX = expression(r"\A(?:.*\n)*?Output:\n")
_GEMINI = expression(
    r"(?s)(?:\A|\n)Output: (.*?)\n?(?:\nError: .*|\nExit Code: .*|\nProcess Group "
    r".*|</untrusted.*)?\Z"
)
# as Claude Code writes it in the user's name
_INTERRUPTED = "[Request interrupted"
_NOT_SAID = (
    "<", _INTERRUPTED, "Caveat:", "# AGENTS.md", "Stop hook feedback",
    "This session is being continued from a previous", "Another language model started to solve this problem",
    "[Previous conversation summary]", "Operation stopped by hook",
)  # fmt: skip
_STAMP = expression(r"\d{4}-\d\d-\d\d(?:[T ][\d:.,Zz+-]{1,30})?", re.ASCII)
# Characters
_LONGEST_PATH = 4096
_OTHER_VALUES = (
    TypeError,
    ValueError,
    AttributeError,
    LookupError,
    ArithmeticError,
    OSError,
    RecursionError,
)
"""What reading a record of a known form raises where it holds values of another."""
_TAGS = expression(r"\A\s*<timestamp>.*?</timestamp>\s*|</?user_query>")


def _is_path(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_PATH and text.isprintable()


class Step(NamedTuple):
    """What happened in a session.

    `said` by the user, a `command` that ended, or an `edit` of a file.

    `text` is what was said, the command line, or the file; `output` that of the command, or what
    the edit wrote. `failed` is None where nothing more is known of a call; `at` is in ISO 8601,
    `line` that of the transcript, `cwd` the folder that it was called in. A call that the user
    refused or interrupted is `stopped`, and a turn (no text).
    """

    sort: str
    text: str
    output: str = ""
    failed: bool | None = None
    line: int = 0
    at: str = ""
    cwd: str = ""


class Transcript:
    """One session as it is read, begun in `first_cwd`.

    `known` and `unknown` count records: forms change.
    """

    def __init__(self, session: str = "", cwd: str = "", file: str = "") -> None:
        """As the name and the place of its file say, until a record says more."""
        self.host, self.session, self.cwd, self.file = "", session, cwd, file
        self.first_cwd = cwd
        self.steps: list[Step] = []
        self._calls: dict[str, list[Step]] = {}
        # Codex says of every tool that a script called what it did
        self.itemized = False
        self._line, self._at = 0, ""
        self.known = self.unknown = 0

    def take(self, line: int, record: object) -> None:
        """One record of the file, at this line; what is not known is counted and left."""
        self._line, is_known = line, False
        with suppress(*_OTHER_VALUES):
            is_known = isinstance(record, dict) and self._read(record)
        self.known += is_known
        self.unknown += not is_known

    def _read(self, record: Json) -> bool:
        host, read = next(((host, read) for host, fits, read in FORMS if fits(record)), ("", None))
        if read is not None:
            self.host = self.host or host
            stamp = record.get("timestamp") or record.get("at") or ""
            if isinstance(stamp, int) and 0 < stamp < 1e13:
                # Milliseconds since 1970 that a year of four digits has
                stamp = datetime.fromtimestamp(stamp / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            if isinstance(stamp, str) and _STAMP.fullmatch(stamp):
                self._at = stamp
            else:
                self._at = self._at
        return read is not None and read(self, record) is not False

    def begins(self, session: Any, cwd: Any) -> None:
        """What a record says of the session that it belongs to."""
        if isinstance(session, str) and session:
            self.session = session
        else:
            self.session = self.session
        if isinstance(cwd, str) and _is_path(cwd):
            self.cwd = cwd
        else:
            self.cwd = self.cwd
        self.first_cwd = self.first_cwd or self.cwd

    def add_remark(self, text: str) -> None:
        """The user said something.

        What the host wraps in a tag, or writes in the user's name, is not the user's.
        """
        words = _TAGS.sub("", printable(text[:OUTPUT_END])).strip()
        if words.startswith(_INTERRUPTED):
            self.steps.append(Step("stopped", "", line=self._line, at=self._at))
        if words and not words.startswith(_NOT_SAID) and not is_ours(words):
            self.closed()
            self.steps.append(Step("said", words, line=self._line, at=self._at))

    def add_call(self, call: Any, tool: Any, arguments: Any) -> None:
        """A tool was called; it is a step once it is known how it ended."""
        if isinstance(arguments, str):
            if arguments.lstrip().startswith("{"):
                arguments = json.loads(arguments)
            else:
                arguments = {"patch": arguments}
        called = call_of(str(tool), arguments)
        step = Step(
            "command",
            printable(called.command[:OUTPUT_END]),
            line=self._line,
            at=self._at,
            cwd=self.cwd,
        )
        if called.command:
            steps = [step]
        else:
            steps = []
        # of a patch that a command line makes the host says the files, too
        for edit in called.edits if not steps else ():
            steps += [
                step._replace(sort="edit", text=path, output=edit.new[:_KEPT])
                for path in dict.fromkeys((edit.was, edit.path))
                if _is_path(path) and edit.how != GONE
            ]
        if steps:
            self._calls[str(call)] = steps

    def end_call(
        self, call: Any, output: str, failed: bool | None, *, stopped: bool = False
    ) -> None:
        """A call ended so.

        An edit that failed changed nothing, and an output matters only where a command failed.

        `stopped`: its record says that the user refused or interrupted it; the output may say so,
        too.
        """
        stopped = stopped or (failed is not False and did_not_end(output))
        for step in self._calls.pop(str(call), ()):
            if stopped:
                self.steps.append(step._replace(sort="stopped", output=""))
                continue
            if step.sort == "edit" and failed:
                continue
            # the exit code of a pipe is that of its last command
            if failed is None or (not failed and "|" in step.text):
                failed = looks_failed(output)
            if step.sort == "edit" or failed is False:
                kept = ""
            else:
                kept = output[:_KEPT] + output[_KEPT:][-_KEPT:]
            self.steps.append(step._replace(output=step.output or kept, failed=failed))

    def closed(self) -> Transcript:
        """With the calls of which nothing more is said.

        They did happen, and how they ended is not known.
        """
        self.steps += [step for steps in self._calls.values() for step in steps]
        self._calls.clear()
        return self


# Characters from the beginning and from the end of an output
_KEPT = 4000


def _tables(value: Any) -> Iterator[Json]:
    if isinstance(value, str):
        yield {"type": "text", "text": value}
    elif isinstance(value, list):
        for part in value:
            yield from [part] if isinstance(part, dict) else _tables(part)


def _text(value: Any) -> str:
    results = []
    for part in _tables(value):
        if part.get("text"):
            results.append(str(part["text"]))
    return "\n".join(results)


def _messages(to: Transcript, record: Json) -> None:
    """Claude Code and Cursor: messages of the Anthropic API, one a line.

    Cursor writes no outcomes of calls.
    """
    message = record["message"]
    to.begins(record.get("sessionId"), record.get("cwd"))
    user = (message.get("role") or record.get("role")) == "user"
    user = user and not record.get("isMeta") and not record.get("isCompactSummary")
    for part in _tables(message.get("content")):
        if part.get("type") == "tool_use":
            to.add_call(part.get("id") or part, part.get("name"), part["input"])
        elif part.get("type") == "tool_result":
            result = record.get("toolUseResult")
            stopped = isinstance(result, dict) and result.get("interrupted") is True
            output = _text(part.get("content"))
            to.end_call(
                part.get("tool_use_id"), output, bool(part.get("is_error")), stopped=stopped
            )
        elif part.get("type") == "text" and user and not record.get("isSidechain"):
            to.add_remark(str(part["text"]))


def _codex(to: Transcript, record: Json) -> bool:
    """Codex: rollouts. A tool says its exit code in the text, or in a JSON object, by its age.

    Where the model writes scripts that call tools (code mode), only the items that are completed
    say which.
    """
    item, sort = record["payload"], record["payload"].get("type")
    if record["type"] in {"session_meta", "turn_context"}:
        to.begins(item.get("id"), item.get("cwd"))
    elif record["type"] == "event_msg":
        return sort != "item_completed" or _codex_item(to, item["item"])
    elif record["type"] != "response_item":
        return record["type"] in _CODEX_RECORDS
    elif sort == "message" and item.get("role") == "user":
        kinds = (item.get("internal_chat_message_metadata_passthrough") or {}).get(
            "content_item_kinds"
        )
        if not kinds or any(kind.startswith("user.") for kind in kinds):
            to.add_remark(_text(item.get("content")))
    elif sort == "local_shell_call":
        to.add_call(item.get("call_id"), sort, item["action"])
    elif sort in {"function_call", "custom_tool_call"}:
        to.add_call(
            item["call_id"], item.get("name"), item.get("arguments") or item.get("input") or "{}"
        )
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
    code = (
        int(match[1])
        if match
        else 1
        if output.startswith("apply_patch verification failed")
        else code
    )
    if not _RUNS_ON.search(output):
        to.end_call(call, _CODEX.sub("", output), None if code is None else code != 0)


def _codex_item(to: Transcript, item: Json) -> bool:
    """What a tool did.

    Of one that no script called, the call and its output have records of their own, too.
    """
    sort, to.itemized = item.get("type"), True
    declined = item.get("status") == "declined"
    if sort == "CommandExecution":
        to.begins(None, _folder(str(item.get("cwd") or "")))
        to.add_call(item["id"], sort, {"command": item["command"]})
        code, output = item.get("exit_code"), str(item.get("aggregated_output") or "")
        # a command that is interrupted has no code of its own
        stopped = declined or (code == -1 and not output.strip())
        to.end_call(item["id"], output, None if code is None else code != 0, stopped=stopped)
    elif sort == "FileChange":
        for file, change in item["changes"].items():
            if change.get("type") != "delete":
                text = change.get("content") or change.get("unified_diff") or ""
                to.add_call(
                    item["id"], "edit", {"path": change.get("move_path") or file, "content": text}
                )
                to.end_call(item["id"], "", item.get("status") != "completed", stopped=declined)
    return sort in _CODEX_ITEMS


def _folder(address: str) -> str:
    """The folder that an address names.

    >>> _folder("file:///home/ann/my%20shop")
    '/home/ann/my shop'
    """
    data = address.removeprefix("file://").encode()
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda code: bytes.fromhex(code[1].decode()), data).decode(
        "utf-8", "replace"
    )


_RUNS_ON = expression(r"(?m)^Process running with session ID")
_CODEX_RECORDS = frozenset(
    {"compacted", "world_state", "token_usage_record", "inter_agent_communication"}
)
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
        if call.get("status") not in {"success", "error", "cancelled"}:
            continue
        to.add_call(call["id"], call.get("name"), call["args"])
        outputs = (
            str(result["functionResponse"]["response"].get("output", ""))
            for result in call.get("result") or ()
        )
        output = "\n".join(outputs)
        code, inner = _CODE.search(output), _GEMINI.search(output)
        failed = call["status"] == "error" or bool(code and code[1] != "0")
        to.end_call(
            call["id"], inner[1] if inner else output, failed, stopped=call["status"] == "cancelled"
        )


def _qwen(to: Transcript, record: Json) -> None:
    """Qwen Code: the envelope of Claude Code around the message parts of Gemini."""
    to.begins(record.get("sessionId"), record.get("cwd"))
    for part in _tables(record["message"]["parts"]):
        if call := part.get("functionCall"):
            to.add_call(call.get("id") or call["name"], call["name"], call["args"])
        elif result := part.get("functionResponse"):
            response = result["response"]
            output = str(response.get("output") or response.get("error") or "")
            code, inner = _CODE.search(output), _GEMINI.search(output)
            failed = "error" in response or bool(code and code[1] != "0")
            to.end_call(result.get("id") or result["name"], inner[1] if inner else output, failed)
        elif record.get("type") == "user" and part.get("text") and not part.get("thought"):
            to.add_remark(str(part["text"]))


def _copilot(to: Transcript, record: Json) -> bool:
    """Copilot CLI: events.

    A command that failed has an exit code, an edit that failed no success.
    """
    data, sort = record["data"], record["type"]
    if sort == "session.start":
        to.begins(data.get("sessionId"), (data.get("context") or {}).get("cwd"))
    elif sort == "user.message":
        to.add_remark(_text(data.get("content")))
    elif sort == "tool.execution_start":
        arguments = data["arguments"]
        if isinstance(arguments, dict):
            text = arguments.get("new_str") or arguments.get("file_text")
            if isinstance(text, str):
                arguments = {**arguments, "content": text}
        to.add_call(data["toolCallId"], data.get("toolName"), arguments)
    elif sort == "tool.execution_complete":
        error = data.get("error") or {}
        output = _text((data.get("result") or {}).get("content")) or str(error.get("message") or "")
        ended = _COPILOT_ENDED.search(output)
        code = (data.get("shellExecution") or {}).get("exitCode", int(ended[1]) if ended else None)
        if code is None:
            failed = data.get("success") is False
        else:
            failed = code != 0
        stopped = error.get("code") in {"rejected", "denied"}
        to.end_call(data["toolCallId"], _COPILOT_ENDED.sub("", output), failed, stopped=stopped)
    return sort in _COPILOT_EVENTS


_COPILOT_ENDED = expression(
    r"(?<!\s)\s*<(?:shellId: [^<>]* completed|exited) with exit code (-?\d+)>\s*\Z"
)
_COPILOT_EVENTS = frozenset({
    "session.start", "session.resume", "session.shutdown", "session.info", "session.model_change",
    "session.permissions_changed", "session.task_complete", "user.message", "assistant.turn_start", "assistant.message",
    "assistant.turn_end", "tool.execution_start", "tool.execution_complete", "hook.start", "hook.end", "system.message",
    "system.notification", "subagent.started", "subagent.completed", "permission.requested", "permission.completed",
    "abort",
})  # fmt: skip
"""Events that are read, or say nothing of a command, a file or the user."""


def _codebuddy(to: Transcript, record: Json) -> None:
    """CodeBuddy Code: items as of Codex in the envelope of Claude Code."""
    to.begins(record["sessionId"], record.get("cwd"))
    if record["type"] == "message" and record["role"] == "user":
        to.add_remark(_text(record["content"]))
    elif record["type"] == "function_call":
        to.add_call(record["callId"], record["name"], record["arguments"])
    elif record["type"] == "function_call_result":
        output = _text([record["output"]])
        code, inner = _CODE.search(output), _CODEBUDDY.search(output)
        if inner:
            output = "\n".join(
                part.rstrip() for part in inner.groups() if part.strip() not in {"", "(empty)"}
            )
        to.end_call(
            record["callId"],
            output,
            code[1] != "0" if code else record.get("status") != "completed",
        )


_CODEBUDDY = expression(
    r"(?s)\ACommand: (?>.*?\nStdout: )(?>(.*)\nStderr: )(.*?)\nExit Code: -?\d+\n"
)
_CODEBUDDY_ITEMS = frozenset({"message", "function_call", "function_call_result", "reasoning"})


def _opencode(to: Transcript, record: Json) -> None:
    """opencode: parts of messages, as `git.transcript_files.records` reads them from its database."""
    part = record["part"]
    to.begins(record.get("session"), record.get("cwd"))
    if part.get("type") == "text" and record.get("role") == "user" and not part.get("synthetic"):
        text = str(part["text"]).strip()
        to.add_remark(text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text)
    elif part.get("type") == "tool":
        state = part["state"]
        done = state.get("metadata") or {}
        if state.get("status") == "completed":
            code, output = done.get("exit"), str(state.get("output") or "")
            to.add_call(part["callID"], part.get("tool"), state["input"])
            stopped = "User aborted the command\n</bash_metadata>" in output
            to.end_call(
                part["callID"], output, None if code is None else code != 0, stopped=stopped
            )
        elif state.get("status") == "error" and did_not_end(str(state.get("error") or "")):
            to.add_call(part["callID"], part.get("tool"), state["input"])
            to.end_call(part["callID"], "", None, stopped=True)


_GEMINI_KEYS = frozenset({"projectHash", "$set"})
_CLAUDE_SAYS_NOTHING = frozenset({
    "attachment", "queue-operation", "last-prompt", "system", "mode", "permission-mode", "summary", "progress",
    "file-history-snapshot", "ai-title", "custom-title", "agent-name", "pr-link",
})  # fmt: skip

FORMS: tuple[tuple[str, Callable[[Json], object], Callable[[Transcript, Json], object]], ...] = (
    ("opencode", lambda record: "part" in record, _opencode),
    (
        "codebuddy",
        lambda record: record.get("type") in _CODEBUDDY_ITEMS and "sessionId" in record,
        _codebuddy,
    ),
    ("codex", lambda record: isinstance(record.get("payload"), dict) and "type" in record, _codex),
    ("qwen", lambda record: isinstance((record.get("message") or {}).get("parts"), list), _qwen),
    (
        "cursor",
        lambda record: "role" in record and isinstance(record.get("message"), dict),
        _messages,
    ),
    ("claude-code", lambda record: isinstance(record.get("message"), dict), _messages),
    (
        "claude-code",
        lambda record: record.get("type") in _CLAUDE_SAYS_NOTHING,
        lambda _to, _record: True,
    ),
    ("copilot", lambda record: isinstance(record.get("data"), dict) and "type" in record, _copilot),
    (
        "gemini",
        lambda record: (
            not _GEMINI_KEYS.isdisjoint(record) or record.get("type") in {"user", "gemini"}
        ),
        _gemini,
    ),
)
"""Host, what tells its records from others, and what reads one (False.

It is of a form that is not known).
"""
