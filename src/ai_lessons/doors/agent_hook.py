"""`ai-lessons admin agent-hook`: one event of an agent host in, at most one answer out, and never an error."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from ai_lessons import library, settings
from ai_lessons.doors import hook, render_agents
from ai_lessons.doors.from_settings import options, whereabouts
from ai_lessons.errors import AiLessonsError, UsageError
from ai_lessons.knowledge.entries import Moment
from ai_lessons.knowledge.failures import looks_failed
from ai_lessons.library.agent_hooks import AgentEvent, hear
from ai_lessons.library.warm import Asking

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ai_lessons.library.options import Options
    from ai_lessons.settings import Settings

ENVIRONMENT_FILE = "CLAUDE_ENV_FILE"
AGENT = "claude-code"


def run(repo: str | None = None, tier: str | None = None, data: bytes | None = None, *, explain: bool = False) -> str:
    """The answer to the event on standard input (or in `data`); empty for none. Never raises.

    `explain`: what is told and what is not, each with the reason, in place of the answer.
    """
    name = "?"
    watch = _deadline(hook.PATIENCE_TO_BEGIN)
    try:
        here = settings.current_folder()
        given = sys.stdin.buffer.read(hook.MOST_INPUT) if data is None else data
        if given == hook.CHECK:
            return _checked(here, repo, tier)
        event = parse(given, here)
        if event is None:
            return ""
        name = event.moment.value
        if event.moment is not Moment.BEGIN:
            watch.cancel()
            watch = _deadline(hook.PATIENCE)
        chosen = settings.load(os.environ, event.cwd, repo=repo, tier=tier)
        with ExitStack() as stack:

            def asking(given: Options) -> Asking:
                opened = partial(library.opened.Library, chosen.repo, given)
                return Asking(chosen.repo, given, lambda: stack.enter_context(opened()))

            return respond(event, chosen, os.environ, asking, explain=explain)
    except Exception as error:  # noqa: BLE001  # whatever it is, the host goes on
        hook.log(f"{name}: {type(error).__name__}: {error}")
        return ""
    finally:
        watch.cancel()


def _checked(here: Path, repo: str | None, tier: str | None) -> str:
    """What the hook would read, for who asks whether it runs; or why it cannot."""
    try:
        chosen = settings.load(os.environ, here, repo=repo, tier=tier)
        with library.opened.Library(chosen.repo, options(chosen)):
            return f"reads {whereabouts(chosen)}"
    except AiLessonsError as error:
        return f"cannot read: {error.message}"


def respond(
    event: AgentEvent,
    chosen: Settings,
    environ: Mapping[str, str],
    asking: Callable[[Options], Asking],
    *,
    explain: bool = False,
) -> str:
    """The answer to an event of a host with these settings and this environment. Raises as `hear`."""
    file = environ.get(ENVIRONMENT_FILE)
    if event.moment is Moment.BEGIN and file:
        with open(file, "a", encoding="utf-8") as out:  # the host runs these lines before each command of the session
            out.write(f'export AI_LESSONS_AGENT="${{AI_LESSONS_AGENT:-{AGENT}}}"\n')
            out.write(f"export AI_LESSONS_SESSION={shlex.quote(event.session)}\n")
    told = hear(asking(options(chosen)._replace(session=event.session or chosen.session)), event)
    if explain:
        return render_agents.explained(told)
    most = chosen.agents.max_chars_at_start if event.moment is Moment.BEGIN else chosen.agents.max_chars
    draw = render_agents.begin if event.moment is Moment.BEGIN else render_agents.told
    text = draw(told, whereabouts(chosen), most)
    return answer(event, text) if text else ""


def _deadline(seconds: float) -> Timer:
    """End the process then, as if there had been nothing to say, whatever it is waiting for."""

    def end() -> None:
        hook.log(f"no answer within {seconds:.0f} s; a first look at a big repository: ai-lessons admin reindex")
        os._exit(0)

    watch = Timer(seconds, end)
    watch.daemon = True
    watch.start()
    return watch


MOMENTS = {
    "SessionStart": Moment.BEGIN, "UserPromptSubmit": Moment.PROMPT, "PreToolUse": Moment.BEFORE_TOOL,
    "PostToolUse": Moment.TOOL_DONE, "PostToolUseFailure": Moment.TOOL_FAILED, "Stop": Moment.STOP,
}  # fmt: skip
NAMES = {moment: name for name, moment in MOMENTS.items()}

FORGETFUL = frozenset({"startup", "clear", "compact"})  # Ways in which a session starts with nothing in mind
_OUTPUTS = ("stdout", "output", "stderr", "content")
_EXITED = re.compile(r"\s*(?:Error: )?Exit code:? [1-9]")
LONGEST_TEXT = 200_000  # characters of a prompt, an edit or an output that are looked at
LONGEST_COMMAND = 20_000  # characters of a command line that are looked at


def parse(data: bytes, here: Path) -> AgentEvent | None:
    """The event, None where we have nothing to say; UsageError: no event. `here` stands in for a missing folder."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError("standard input holds no event of an agent host") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("hook_event_name"), str):
        raise UsageError("standard input holds no event of an agent host: hook_event_name is missing")
    moment = MOMENTS.get(raw["hook_event_name"])
    if moment is None or raw.get("is_interrupt") is True:
        return None
    given = raw.get("tool_input")
    tool: Mapping[str, Any] = given if isinstance(given, dict) else {}
    answered = raw.get("tool_response")
    if moment is Moment.TOOL_DONE and _failed(answered):
        moment = Moment.TOOL_FAILED
    return AgentEvent(
        moment,
        session=_text(raw, "session_id") or "unnamed",
        cwd=Path(_text(raw, "cwd") or here),
        agent=_text(raw, "agent_id"),
        tool=_text(raw, "tool_name"),
        paths=tuple(path for key in ("file_path", "notebook_path") if (path := _text(tool, key))),
        command=_text(tool, "command")[:LONGEST_COMMAND],
        text=_about(moment, raw, tool, answered)[:LONGEST_TEXT],
        forgotten=_text(raw, "source") in FORGETFUL,
        again=raw.get("stop_hook_active") is True,
        unfinished=bool(raw.get("background_tasks")),
        by_turn="turn_id" in raw,
    )


def _failed(answered: object) -> bool:
    """Whether the answer of a tool says that it failed, on hosts that have no event for that."""
    if not isinstance(answered, dict):
        return isinstance(answered, str) and bool(_EXITED.match(answered))
    codes = (answered.get(key) for key in ("exit_code", "exitCode"))
    return answered.get("is_error") is True or any(isinstance(code, int) and code != 0 for code in codes)


def _about(moment: Moment, raw: Mapping[str, Any], tool: Mapping[str, Any], answered: object) -> str:
    """The prompt, what an edit writes, or what a tool said that failed, or seems to have."""
    if moment is Moment.PROMPT:
        return _text(raw, "prompt")
    if moment is Moment.BEFORE_TOOL:
        return _text(tool, "new_string") or _text(tool, "content")
    if moment not in {Moment.TOOL_DONE, Moment.TOOL_FAILED}:
        return ""
    parts: Mapping[str, Any] = answered if isinstance(answered, dict) else {}
    said = answered if isinstance(answered, str) else "\n".join(_text(parts, key) for key in _OUTPUTS)
    text = _text(raw, "error") or said.strip()
    return text if moment is Moment.TOOL_FAILED or looks_failed(text) else ""


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def answer(event: AgentEvent, text: str) -> str:
    """The JSON that puts `text` into the context of the agent. At a stop it makes the agent go on, once."""
    if event.moment is Moment.STOP and event.by_turn:
        return json.dumps({"decision": "block", "reason": text})
    return json.dumps({"hookSpecificOutput": {"hookEventName": NAMES[event.moment], "additionalContext": text}})
