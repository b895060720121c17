"""The format in which Claude Code, and those that follow it, talk to hooks: JSON in, JSON out. Knows no library job.

After the hooks reference of Claude Code (https://code.claude.com/docs/en/hooks), read in November 2026 and held against
the schema of its version 2.1.197. Fields that are missing or of another type are taken as absent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import UsageError
from ai_lessons.library.agents.agent_events import AgentEvent, Moment

if TYPE_CHECKING:
    from collections.abc import Mapping

MOMENTS = {
    "SessionStart": Moment.BEGIN,
    "PreToolUse": Moment.BEFORE_TOOL,
    "PostToolUse": Moment.TOOL_DONE,
    "PostToolUseFailure": Moment.TOOL_FAILED,
    "Stop": Moment.STOP,
}
"""The host's name of an event: when it is. Other events are of no interest."""

NAMES = {moment: name for name, moment in MOMENTS.items()}

FORGETFUL = frozenset({"startup", "clear", "compact"})
"""Ways in which a session starts with nothing in mind; after `resume` and `fork` the agent still has the transcript."""

LONGEST_COMMAND = 20_000
"""Characters of a command line that are looked at."""


def parse(data: bytes, here: Path) -> AgentEvent | None:
    """The event; None if it is one that we have nothing to say about. `here` stands in for a missing folder.

    Raises:
        UsageError: it is no event of a host.
    """
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
    return AgentEvent(
        moment,
        session=_text(raw, "session_id") or "unnamed",
        cwd=Path(_text(raw, "cwd") or here),
        agent=_text(raw, "agent_id"),
        tool=_text(raw, "tool_name"),
        paths=tuple(path for key in ("file_path", "notebook_path") if (path := _text(tool, key))),
        command=_text(tool, "command")[:LONGEST_COMMAND],
        forgotten=_text(raw, "source") in FORGETFUL,
        again=raw.get("stop_hook_active") is True,
        unfinished=bool(raw.get("background_tasks")),
    )


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def answer(moment: Moment, text: str) -> str:
    """The JSON that puts `text` into the context of the agent. At a stop it makes the agent go on, once."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": NAMES[moment], "additionalContext": text}})
