"""`ai-lessons admin agent-hook`: one event of an agent host in, at most one answer out, and never an error.

A hook that fails must not stop the host, so everything that goes wrong ends with exit code 0 and nothing on stdout, and
with a line in `agent-hooks.log` in the user's state folder. That holds for too much time as well.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from contextlib import suppress
from threading import Timer
from typing import TYPE_CHECKING

from ai_lessons.doors import agent_host, render_agents
from ai_lessons.doors.cli.command_context import options, whereabouts
from ai_lessons.library.agents.agent_events import AgentEvent, Moment

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.settings import Settings

LOG = "agent-hooks.log"
LOG_LIMIT = 100_000
"""Bytes; a longer log begins anew."""

MOST_INPUT = 64 << 20
"""Bytes of an event: the whole text of a file that is written may be in it."""

ENVIRONMENT_FILE = "CLAUDE_ENV_FILE"
AGENT = "claude-code"

SECONDS = 2.0
SECONDS_TO_BEGIN = 10.0
"""The first look at a repository may have to read every file of it; a session begins once."""


def run(repo: str | None, tier: str | None, project: str | None, data: bytes | None = None) -> str:
    """The answer to the event on standard input (or in `data`); empty for none. Never raises."""
    from ai_lessons import settings

    name = "?"
    watch = _deadline(SECONDS_TO_BEGIN)
    try:
        here = settings.current_folder()
        event = agent_host.parse(sys.stdin.buffer.read(MOST_INPUT) if data is None else data, here)
        if event is None:
            return ""
        name = event.moment.value
        if event.moment is not Moment.BEGIN:
            watch.cancel()
            watch = _deadline(SECONDS)
        chosen = settings.load(os.environ, event.cwd, repo=repo, tier=tier)
        if event.moment is Moment.BEGIN:
            _sign_in(os.environ.get(ENVIRONMENT_FILE), event.session)
        return _answer(chosen, event, project)
    except Exception as error:  # noqa: BLE001  # whatever it is, the host goes on
        log(f"{name}: {type(error).__name__}: {error}")
        return ""
    finally:
        watch.cancel()


def _sign_in(file: str | None, session: str) -> None:
    """Let the commands of this session say who calls: what an agent writes is marked, and it decides about no rule.

    The host runs the lines of `file` before every command of the agent.
    """
    if not file:
        return
    with open(file, "a", encoding="utf-8") as out:
        out.write(f'export AI_LESSONS_AGENT="${{AI_LESSONS_AGENT:-{AGENT}}}"\n')
        out.write(f"export AI_LESSONS_SESSION={shlex.quote(session)}\n")


def _answer(chosen: Settings, event: AgentEvent, project: str | None) -> str:
    from ai_lessons.library.agents.agent_hooks import hear

    told = hear(chosen.repo, options(chosen), event, project=project)
    draw = render_agents.begin if event.moment is Moment.BEGIN else render_agents.told
    text = draw(told, whereabouts(chosen))
    return agent_host.answer(event.moment, text) if text else ""


def _deadline(seconds: float) -> Timer:
    """Ends the process, as if there had been nothing to say, whatever it is waiting for."""

    def end() -> None:
        log(f"no answer within {seconds:.0f} s; a first look at a big repository: ai-lessons admin reindex")
        os._exit(0)

    watch = Timer(seconds, end)
    watch.daemon = True
    watch.start()
    return watch


def log(text: str) -> None:
    """Add a line for people who wonder why a hook is silent. Where that is not possible, nothing happens."""
    from ai_lessons.errors import AiLessonsError
    from ai_lessons.settings import folders

    with suppress(OSError, AiLessonsError, ValueError):
        _append(folders(os.environ).state / LOG, f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text!r}\n")


def _append(file: Path, row: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    full = file.exists() and file.stat().st_size > LOG_LIMIT
    mode = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if full else os.O_APPEND)
    with open(os.open(file, mode, 0o600), "w", encoding="utf-8", errors="backslashreplace") as out:
        out.write(row[:1000].rstrip("\n") + "\n")
