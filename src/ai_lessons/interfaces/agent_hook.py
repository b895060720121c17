"""`ai-lessons admin agent-hook`: one event of an agent host in, at most one answer out.

Never raises.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from ai_lessons import app, settings
from ai_lessons.app.agent_sessions import is_remembered
from ai_lessons.app.answers import Context
from ai_lessons.app.daemon_client import DaemonClient
from ai_lessons.errors import AiLessonsError, UsageError
from ai_lessons.interfaces import hook, library_options
from ai_lessons.model import expression
from ai_lessons.model.entries import Moment
from ai_lessons.model.failures import did_not_end, looks_failed
from ai_lessons.model.plain import is_ours, joined
from ai_lessons.model.rule_checks import ASK, ASK_OR_DENY, DENY, strongest
from ai_lessons.model.shell_writes import writes
from ai_lessons.model.tool_calls import call_of
from ai_lessons.telling import keeping, words
from ai_lessons.telling.pipeline import NOTHING, AgentEvent, Budget, handle_event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ai_lessons.app.open_repository import Options
    from ai_lessons.model.edits import Edit
    from ai_lessons.model.plain import AgentText
    from ai_lessons.model.tool_calls import ToolCall
    from ai_lessons.settings import Settings

ENVIRONMENT_FILE = "CLAUDE_ENV_FILE"
# seconds of CPU time after which a hook starts the helper and answers without it; a small base
# takes 0.2
WORK = 0.4
# of what a host waits, in which what is new is read and judged
PART = 0.5
AGENT, AGENT_VARIABLE = "claude-code", "AI_LESSONS_AGENT"


def run(
    repo: str | None = None,
    tier: str | None = None,
    data: bytes | None = None,
    *,
    explain: bool = False,
    began: float | None = None,
) -> str:
    """The answer to the event on standard input (or in `data`); empty for none. Never raises.

    `explain`: the entries given and left out, each with the reason, in place of the answer; nothing
    is changed. `began`: when the host began to wait, on the monotonic clock.
    """
    name = "?"
    if began is None:
        began = time.monotonic()
    watch = _deadline(hook.PATIENCE_TO_BEGIN, began)
    try:
        here = settings.current_folder()
        if data is None:
            data = sys.stdin.buffer.read(hook.MOST_INPUT)
        if data == hook.CHECK:
            return _checked(here, repo, tier)
        event = parse(data, here, os.environ.get(AGENT_VARIABLE, ""))
        if event is None:
            return ""
        name = event.moment.value
        with ExitStack() as stack:
            chosen = settings.load(os.environ, event.cwd, repo=repo, tier=tier)
            if not explain and (event.moment is not Moment.BEGIN or chosen.warm):
                watch.cancel()
                watch = _deadline(hook.PATIENCE, began)
            asking = partial(_client, chosen, stack, explain)
            if explain or not chosen.warm:
                return respond(event, chosen, os.environ, asking, explain=explain)
            return _soon(event, chosen, asking)
    except (Exception, _TooMuchWork) as error:  # noqa: BLE001  # whatever it is, the host goes on
        hook.log(f"{name}: {type(error).__name__}: {error}")
        return ""
    finally:
        watch.cancel()


def _client(chosen: Settings, stack: ExitStack, warm: bool, terms: Options) -> DaemonClient:
    """One that asks the helper, or else opens the repository, which `stack` closes."""
    opened = partial(app.workspace.Library, chosen.repo, terms)
    return DaemonClient(
        chosen.repo, terms, lambda: stack.enter_context(opened()), warm=warm, alone=True
    )


def _checked(here: Path, repo: str | None, tier: str | None) -> str:
    """Which repositories the hook reads, or why it cannot.

    The answer to the check of `admin doctor`.
    """
    try:
        chosen = settings.load(os.environ, here, repo=repo, tier=tier)
        with app.workspace.Library(chosen.repo, library_options(chosen)):
            return f"reads {chosen.whereabouts}"
    except AiLessonsError as error:
        return f"cannot read: {error.message}"


class _TooMuchWork(BaseException):
    """The hook used up its CPU time."""


def _soon(event: AgentEvent, chosen: Settings, asking: Callable[[Options], DaemonClient]) -> str:
    """The answer by words alone, within the CPU time `WORK`.

    The helper is started for later events.
    """
    client = asking(library_options(chosen)._replace(session=event.session or chosen.session))

    def stop(*_: object) -> None:
        raise _TooMuchWork

    text, missed = "", ""
    before = signal.signal(signal.SIGPROF, stop)
    try:
        # CPU time, so that the load of the machine does not matter
        signal.setitimer(signal.ITIMER_PROF, WORK)
        text = respond(event, chosen, os.environ, lambda _: client)
        if client.missed:
            missed = "nothing was compared by meaning"
        else:
            missed = ""
    except _TooMuchWork:
        missed = "there is more to read than a hook may take time for"
        if event.forgotten:
            text = answer(event, words.start(Context(), chosen.whereabouts, 0).text)
        else:
            text = ""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    # a question by meaning, which loads the model
    client.start_helper("at_a_prompt", "what is known", ())
    if missed:
        hook.log(f"{event.moment}: {missed}: no helper was there to ask; one is started")
    return text


def respond(
    event: AgentEvent,
    chosen: Settings,
    environ: Mapping[str, str],
    asking: Callable[[Options], DaemonClient],
    *,
    explain: bool = False,
) -> str:
    """The answer to an event with these settings and this environment. Raises as `handle_event`."""
    if event.moment is Moment.BEGIN and environ.get(ENVIRONMENT_FILE) and not explain:
        _name_to_commands(environ[ENVIRONMENT_FILE], event.session)
    event = event._replace(host=event.host or chosen.agent or "")
    # with what is known where there is much that is new: what was read until then is kept
    until = time.monotonic() + PART * (
        hook.PATIENCE_TO_BEGIN if event.moment is Moment.BEGIN else hook.PATIENCE
    )
    terms = library_options(chosen)._replace(session=event.session or chosen.session, until=until)
    client = asking(terms)
    if explain:
        checks = keeping.explained(client, event)
    else:
        checks = []
    if explain:
        kept = keeping.NOTHING
    else:
        kept = keeping.at_an_event(client, event)
    if kept.decision == DENY or kept.holds:
        if kept.holds:
            text = words.held(kept.holds)
        else:
            text = words.kept(kept.breaches)
        person = words.for_person(kept.for_person)
        return answer(event, text, kept.decision, holds=bool(kept.holds), person=person)
    if (event.host, event.moment) in {(VSCODE, Moment.PROMPT), (OPENCODE, Moment.STOP)}:
        if explain:
            return NOTHING.explained(checks)
        # they take no text there
        return answer(event, None, person=words.for_person(kept.for_person))
    if event.host == QWEN and event.moment is Moment.PROMPT:
        if not event.text.strip():
            # a turn of the model
            return ""
        if not is_remembered(terms.state_dir, event.session):
            # the host takes no text at a start
            event = event._replace(moment=Moment.BEGIN, forgotten=True)
    budget = Budget(chosen.hooks.start_characters, chosen.agents.max_chars, chosen.whereabouts)
    telling = handle_event(client, event, budget, _no_limit, explain=explain)
    if event.host in {OPENCODE, CODEBUDDY} and event.moment is Moment.TOOL_DONE and event.command:
        # without a terminal these hosts end whatever is answered then: ask when a command worked
        at_the_end = event._replace(moment=Moment.STOP)
        telling = handle_event(client, at_the_end, budget, _no_limit, explain=explain)
    if explain:
        return telling.explained(checks)
    if telling.offered.breaks:
        keeping.note_broken_by_edit(client, event, telling.offered.breaks)
    text = joined(words.kept(kept.breaches, kept.waiting), telling.text)
    decision = strongest((telling.decision, kept.decision))
    return answer(event, text, decision, person=words.for_person(kept.for_person))


def _no_limit() -> None:
    """What fits is noted as told: from here on nothing cuts the work short."""
    signal.setitimer(signal.ITIMER_PROF, 0)


def _name_to_commands(file: str, session: str) -> None:
    """Name agent and session to the commands of the session.

    Its host runs the lines of this file before each.
    """
    with open(file, "a", encoding="utf-8") as out:
        out.write(f'export AI_LESSONS_AGENT="${{AI_LESSONS_AGENT:-{AGENT}}}"\n')
        out.write(f"export AI_LESSONS_SESSION={shlex.quote(session)}\n")


def _deadline(seconds: float, began: float) -> Timer:
    """End the process with exit code 0 this many seconds after it began."""

    def end() -> None:
        hook.log(
            f"no answer within {seconds:.0f} s; a first look at a big repository: "
            "ai-lessons admin reindex"
        )
        os._exit(0)

    watch = Timer(max(began + seconds - time.monotonic(), 0.0), end)
    watch.daemon = True
    watch.start()
    return watch


MOMENTS = {
    "SessionStart": Moment.BEGIN, "UserPromptSubmit": Moment.PROMPT, "PreToolUse": Moment.BEFORE_TOOL,
    "PostToolUse": Moment.TOOL_DONE, "PostToolUseFailure": Moment.TOOL_FAILED, "Stop": Moment.STOP,
    "SubagentStart": Moment.BEGIN,
}  # fmt: skip
_OF_GEMINI = {
    "BeforeAgent": Moment.PROMPT, "BeforeTool": Moment.BEFORE_TOOL, "AfterTool": Moment.TOOL_DONE,
    "AfterAgent": Moment.STOP,
}  # fmt: skip
_ELSEWHERE = _OF_GEMINI | {
    "BeforeSubmitPrompt": Moment.PROMPT,  # Cursor, which begins the names of events with a small letter
}  # fmt: skip
# in the path of a transcript
_HOSTS = expression(r"[/\\]\.(claude|codex|gemini|cursor|qwen|copilot|codebuddy)[/\\]")
_NAMES = {"claude": "claude-code", "gemini": "gemini-cli", "qwen": "qwen-code"}
CODEBUDDY, COPILOT, GEMINI, OPENCODE, QWEN = (
    "codebuddy",
    "copilot",
    "gemini-cli",
    "opencode",
    "qwen-code",
)
VSCODE = "vscode"
# some hosts give back what a hook told as the beginning of the next prompt
_TOLD = expression(r"\A(?:\s*<hook_context>.*?</hook_context>\s*)+", re.DOTALL)
_COPILOT_ENDED = expression(r"(?<!\s)\s*<shellId: [^<>]* completed with exit code (-?\d+)>\s*\Z")
_OUTPUTS = ("stdout", "output", "stderr", "content", "error")
_GEMINI_FAILED = expression(  # behind the output, which may hold such a line itself
    r"\n(?:Exit Code: -?[1-9]\d*|Signal: (?!\(none\)|0\s)\S+)(?:\n(?:Signal|Background PIDs|Process Group PGID): .*)*"
    r"\s*(?:</untrusted_context>\s*)?\Z"
)
_EXITED = expression(r"\s*(?:Error: )?Exit code:? (\d)")
# of a transcript, in which the end of a command is looked for
LAST_BYTES = 1 << 20


def parse(data: bytes, here: Path, named: str = "") -> AgentEvent | None:
    """The event, or None for one without an answer; `here` replaces a missing folder.

    Raises UsageError: no event.

    `named`: the host, as the settings of the hook say, for one whose events do not show it.
    """
    raw = _event_of(data, named)
    name, by_turn = str(raw["hook_event_name"]), "turn_id" in raw
    moment = (MOMENTS | _ELSEWHERE).get(name[:1].upper() + name[1:])
    host = _host(raw, named, by_turn=by_turn)
    if moment is None or raw.get("is_interrupt") is True or _of_no_interest(host, moment, raw):
        return None
    stated = raw.get("tool_input")
    call = call_of(_tool(raw), stated if isinstance(stated, dict) else {"input": stated})
    if call.command and not call.edits and moment is Moment.BEFORE_TOOL:
        call = _with_writes(call)
    answered, folder = _answered(raw), Path(_folder(raw) or here)
    if name == _RESULTS.get(host) and (
        call.edits or (call.paths and not _tool(raw).startswith("mcp__"))
    ):
        # these take no text before a tool: what is known of a file comes with the tool's result
        moment = Moment.BEFORE_TOOL
    text = _about(moment, raw, answered)
    if moment is Moment.TOOL_DONE and (
        _failed(answered) or (by_turn and text and _failed(answered) is None)
    ):
        moment, text = Moment.TOOL_FAILED, _about(Moment.TOOL_FAILED, raw, answered)
    if _was_stopped(raw, moment, text) or (moment is Moment.PROMPT and is_ours(text)):
        return None
    return AgentEvent(
        moment,
        session=_text(raw, "session_id") or "unnamed",
        cwd=folder,
        agent=_text(raw, "agent_id"),
        tool=_tool(raw),
        paths=tuple(str(folder / path) for path in call.paths),
        # an event may hold megabytes, and a host waits two seconds
        command=call.command[:20_000],
        text=text[:200_000],
        # Gemini CLI does not keep what hooks told
        forgotten=moment is Moment.BEGIN and (_text(raw, "source") != "resume" or host == GEMINI),
        # Qwen Code says so at the first stop already; Cursor counts
        again=(raw.get("stop_hook_active") is True and host != QWEN) or bool(raw.get("loop_count")),
        unfinished=bool(raw.get("background_tasks"))
        or _text(raw, "status") in {"aborted", "error"},
        by_turn=by_turn,
        name=name,
        host=host,
        only=_ONLY.get((host, name), ()),
        edits=tuple(_at(folder, edit) for edit in call.edits if moment is Moment.BEFORE_TOOL),
    )


def _event_of(data: bytes, named: str) -> dict[str, Any]:
    """The event with the keys and names of Claude Code. Raises UsageError: it is none."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError("standard input holds no event of an agent host") from error
    if isinstance(raw, dict) and (
        named == COPILOT or "hookEventName" in raw or {"sessionId", "agentName"} <= raw.keys()
    ):
        raw = _of_copilot(raw)
    if not isinstance(raw, dict) or not isinstance(raw.get("hook_event_name"), str):
        raise UsageError(
            "standard input holds no event of an agent host: hook_event_name is missing"
        )
    return raw


def _with_writes(call: ToolCall) -> ToolCall:
    """A call of a shell with what its line shows that it writes."""
    edits = writes(call.command)
    names = (name for edit in edits for name in (edit.was, edit.path) if name)
    return call._replace(edits=edits, paths=tuple(dict.fromkeys((*call.paths, *names))))


def _at(folder: Path, edit: Edit) -> Edit:
    """An edit with whole paths."""
    path, was = (name and str(folder / os.path.expanduser(name)) for name in (edit.path, edit.was))
    return edit._replace(path=path, was=was)


_RESULTS = {GEMINI: "AfterTool", QWEN: "PostToolUse", CODEBUDDY: "PostToolUse"}
_ONLY = {
    (GEMINI, "BeforeTool"): (DENY, ASK_OR_DENY),
    **dict.fromkeys([(QWEN, "PreToolUse"), (CODEBUDDY, "PreToolUse")], (DENY, ASK_OR_DENY, ASK)),
}


def _of_no_interest(host: str, moment: Moment, raw: Mapping[str, Any]) -> bool:
    """Whether it is what Copilot asks a subagent, or the end of one."""
    return (
        host == COPILOT
        and moment in {Moment.PROMPT, Moment.STOP}
        and bool(_text(raw, "parent_agent_id"))
    )


def _was_stopped(raw: Mapping[str, Any], moment: Moment, text: str) -> bool:
    """Whether the user refused the call or interrupted it, so that the command itself has not failed."""
    response = raw.get("tool_response")
    if moment in {Moment.TOOL_DONE, Moment.TOOL_FAILED}:
        return did_not_end(text) or (
            isinstance(response, dict) and response.get("interrupted") is True
        )
    return False


def _of_copilot(raw: Mapping[str, Any]) -> dict[str, Any]:
    """An event of Copilot CLI, or of VS Code, which reads its hooks, with the keys and names of Claude Code."""
    name = _text(raw, "hookEventName") or "SubagentStart"
    event = {"hook_event_name": name, "session_id": raw.get("sessionId"), **raw}
    result, name = raw.get("tool_result"), _text(raw, "tool_name")
    if isinstance(result, dict):
        output = _text(result, "text_result_for_llm")
        ended = _COPILOT_ENDED.search(output)
        event["tool_response"] = {
            "output": _COPILOT_ENDED.sub("", output),
            "exit_code": int(ended[1]) if ended else 0,
        }
    if name.startswith("ai-lessons-"):
        event["tool_name"] = f"mcp__ai-lessons__{name.removeprefix('ai-lessons-')}"
    return event


def _host(raw: Mapping[str, Any], named: str, *, by_turn: bool) -> str:
    """The host, by its events or where it keeps the transcript.

    Empty for one that does not show.
    """
    if "hookEventName" in raw:
        return VSCODE
    if named == COPILOT or raw["hook_event_name"] in _OF_GEMINI:
        if named == COPILOT:
            return COPILOT
        return GEMINI
    place = _text(raw, "transcript_path") or _text(raw, "transcriptPath")
    kept = _HOSTS.search("/.cursor/" if "cursor_version" in raw else place)
    if not kept:
        if by_turn:
            return "codex"
        return ""
    return _NAMES.get(kept[1], kept[1])


def _folder(raw: Mapping[str, Any]) -> str:
    # Cursor runs our hook in its own folder
    roots = raw.get("workspace_roots")
    return _text(raw, "cwd") or (str(roots[0]) if isinstance(roots, list) and roots else "")


def _tool(raw: Mapping[str, Any]) -> str:
    """The tool; one of an MCP server as `mcp__SERVER__TOOL`, as Claude Code names it (Cursor.

    No server).
    """
    name, server = _text(raw, "tool_name"), raw.get("mcp_context")
    if isinstance(server, dict):
        return f"mcp__{_text(server, 'server_name')}__{_text(server, 'tool_name')}"
    if name.startswith("MCP:"):
        return name.replace("MCP:", "mcp____", 1)
    return name


def _answered(raw: Mapping[str, Any]) -> object:
    """The result of a tool, in the form of Claude Code and Codex."""
    response = raw.get("tool_response")
    if isinstance(response, dict) and "llmContent" in response:
        # Gemini CLI
        content, failed = response["llmContent"], bool(response.get("error"))
        failed = failed or bool(isinstance(content, str) and _GEMINI_FAILED.search(content))
        return {"output": _text(response, "returnDisplay"), "exit_code": int(failed)}
    if isinstance(response, str) and "turn_id" in raw and (code := _exit_code(raw)) is not None:
        # Codex
        return {"output": response, "exit_code": code}
    if "tool_output" in raw:
        # Cursor, as text
        with suppress(ValueError, RecursionError):
            response = json.loads(_text(raw, "tool_output"))
    return response


def _exit_code(raw: Mapping[str, Any]) -> int | None:
    """The exit code of a command by the transcript of Codex, which gives its hooks none.

    None: not found.
    """
    call, file = _text(raw, "tool_use_id"), Path(_text(raw, "transcript_path"))
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
        # it has another form, or is torn
        if call and file.is_file():
            with file.open("rb") as rollout:
                rollout.seek(max(file.stat().st_size - LAST_BYTES, 0))
                lines = rollout.read(LAST_BYTES).splitlines()
            ends = (
                line for line in reversed(lines) if call.encode() in line and b'"exit_code"' in line
            )
            items = (json.loads(line)["payload"]["item"] for line in ends)
            return next((int(item["exit_code"]) for item in items if item["id"] == call), None)
    return None


def _failed(answered: object) -> bool | None:
    """Whether a tool failed, by its result, on hosts that have no event for that.

    None: it does not show.
    """
    if not isinstance(answered, dict):
        exited = None
        if isinstance(answered, str):
            exited = _EXITED.match(answered)
        if exited:
            return exited[1] != "0"
        return None
    codes = [
        code for key in ("exit_code", "exitCode") if isinstance(code := answered.get(key), int)
    ]
    if answered.get("is_error") is True:
        return True
    if codes:
        return any(codes)
    return None


def _about(moment: Moment, raw: Mapping[str, Any], answered: object) -> str:
    """The prompt, or the output of a tool that failed or seems to have."""
    if moment is Moment.PROMPT:
        return _TOLD.sub("", _text(raw, "prompt"))
    if moment not in {Moment.TOOL_DONE, Moment.TOOL_FAILED}:
        return ""
    if isinstance(answered, dict):
        parts: Mapping[str, Any] = answered
    else:
        parts = {}
    if isinstance(answered, str):
        output = answered
    else:
        output = "\n".join(_text(parts, key) for key in _OUTPUTS)
    text = _text(raw, "error") or _text(raw, "error_message") or output.strip()
    if moment is Moment.TOOL_FAILED or looks_failed(text):
        return text
    return ""


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    if isinstance(value, str):
        return value
    return ""


def answer(
    event: AgentEvent,
    text: AgentText | None,
    decision: str = "",
    *,
    holds: bool = False,
    person: AgentText | None = None,
) -> str:
    """The JSON that adds `text` to the context of the agent.

    At a stop it makes the agent go on, once.

    `decision`: the host shall `ask` its user whether to do what it is about to do, or refuse it
    (`deny`). `holds`: it keeps the agent at work. `person`: what the user is shown. Empty where
    there is nothing to say.
    """
    fields: dict[str, Any] = {}
    if text and holds:
        fields = _holding(event, text)
    elif text:
        fields = _adding(event, text, decision)
    if person and event.name != "stop":
        # Cursor shows its user nothing
        fields["systemMessage"] = person
    if fields:
        return json.dumps(fields)
    return ""


def _holding(event: AgentEvent, text: AgentText) -> dict[str, Any]:
    """What keeps the agent of a host at work, for this reason."""
    if event.name == "stop":
        # Cursor
        return {"followup_message": text}
    held = {"decision": "block", "reason": text}
    if event.host == VSCODE:
        return {"hookSpecificOutput": {"hookEventName": "Stop", **held}}
    return held


def _adding(event: AgentEvent, text: AgentText, decision: str) -> dict[str, Any]:
    """What adds a text to the context of the agent, in the form of its host."""
    if decision == ASK_OR_DENY:
        # Codex cannot ask either
        if event.by_turn or event.host in {GEMINI, OPENCODE}:
            decision = DENY
        else:
            decision = ASK
    if event.moment is Moment.STOP and (
        event.by_turn or event.host in {GEMINI, COPILOT, QWEN, CODEBUDDY}
    ):
        return {"decision": "block", "reason": text}
    if event.moment is Moment.STOP and (event.host == VSCODE or event.name == "stop"):
        return _holding(event, text)
    if event.name == "BeforeTool":
        return {"decision": decision, "reason": text}
    if event.host == COPILOT:
        if decision:
            decided = {"permissionDecision": decision, "permissionDecisionReason": text}
        else:
            decided = {}
        if decision == DENY:
            return decided
        return {"additionalContext": text, **decided}
    if event.name[:1].islower():
        if decision:
            decided = {"permission": decision, "user_message": text, "agent_message": text}
        else:
            decided = {}
        return {"additional_context": text, **decided}
    output = {"hookEventName": event.name, "additionalContext": text}
    if decision and event.name == "PreToolUse" and not (event.by_turn and decision == ASK):
        output |= {"permissionDecision": decision, "permissionDecisionReason": text}
    if decision == DENY and "permissionDecision" in output:
        # the agent reads why it was refused
        del output["additionalContext"]
    return {"hookSpecificOutput": output}
