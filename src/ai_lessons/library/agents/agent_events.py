"""What an agent host tells its hooks, and what they answer, as values. The host's own format is the door's business."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.knowledge.entries import Light


class Moment(StrEnum):
    """When in a session something is told."""

    BEGIN = "begin"
    BEFORE_TOOL = "before-tool"
    TOOL_DONE = "tool-done"
    TOOL_FAILED = "tool-failed"
    STOP = "stop"


class AgentEvent(NamedTuple):
    """One event. `agent` is empty for the main agent of a session, else names the subagent, which sees its own context.

    `forgotten` says that the agent no longer has in mind what it was told (a new session, or its context was
    compacted); `again` that it goes on only because of an earlier answer at a stop; `unfinished` that background work
    will wake it again. `paths` are files that the tool is about to read or write, `command` a line for a shell.
    """

    moment: Moment
    session: str
    cwd: Path
    agent: str = ""
    tool: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""
    forgotten: bool = False
    again: bool = False
    unfinished: bool = False


class Reminder(StrEnum):
    """What an agent is reminded of, each once a session."""

    SEARCH = "search"
    ITERATION = "iteration"
    UNSOLVED = "unsolved"


class Told(NamedTuple):
    """What to tell the agent; nothing if it is empty.

    `project` is the one of the folder, None where the repository knows none of its name. `pending` counts proposals
    that wait for a person. `attempts` names what failed, for a reminder.
    """

    rules: tuple[Light, ...] = ()
    lessons: tuple[Light, ...] = ()
    project: str | None = None
    pending: int = 0
    reminder: Reminder | None = None
    failures: int = 0
    attempts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
