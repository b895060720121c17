"""What the hooks of an agent host ask and tell: the right entry at the moment it is needed, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import library
from ai_lessons.errors import NotFound
from ai_lessons.knowledge import failures
from ai_lessons.knowledge.entries import Moment
from ai_lessons.learning.choose import Earlier, judged
from ai_lessons.learning.events import RECURRED, Event
from ai_lessons.library import secret_scan
from ai_lessons.library.answers import Context
from ai_lessons.repository import agent_sessions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.library.warm import Asking

_TEXT = 2_000  # characters of a prompt or an edit that are looked at
_SHORT = 3  # words of a prompt about which nothing is looked for
_MISSED = 50  # failures of a session for which nothing was known, as many as it remembers
_DOES = 300  # characters of what an entry says to do, as a session remembers it
_OURS = "ai-lessons"
_SHELLS = frozenset({"Bash", "PowerShell", "shell", "bash", "local_shell", "exec_command", "run_shell_command"})
_NO = re.compile(r"(?i)\s*(?:no|nope|wrong|stop|don't|do not|that(?:'s| is) (?:wrong|not))\b(?!\s+(?:problem|worries))")


class AgentEvent(NamedTuple):
    """One event. `agent` is empty for the main agent of a session, else names the subagent, which sees its own context.

    `forgotten`: the agent no longer has in mind what it was told. `again`: it goes on because of an earlier answer at
    a stop. `unfinished`: background work will wake it. `paths`: files that the tool is about to read or write. `text`:
    the prompt, what an edit writes, or what a tool that failed, or seems to have, said. `by_turn`: Codex, which names
    turns, and at a stop takes a reason to go on and nothing else.
    """

    moment: Moment
    session: str
    cwd: Path
    agent: str = ""
    tool: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""
    text: str = ""
    forgotten: bool = False
    again: bool = False
    unfinished: bool = False
    by_turn: bool = False


class Reminder(StrEnum):
    """What an agent is reminded of at the end, one of them and once a session."""

    ITERATION = "iteration"
    UNSOLVED = "unsolved"
    OUTCOME = "outcome"


class Told(NamedTuple):
    """What to tell the agent. `attempts` names what failed, `asked` entries whose outcome is not known."""

    moment: Moment | None = None
    offered: Context = Context()
    reminder: Reminder | None = None
    failures: int = 0
    attempts: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


NOTHING = Told()


def hear(asking: Asking, event: AgentEvent) -> Told:
    """What to tell the agent at this event of its session.

    Raises NoRepository and its like: see `Library`. StorageFailed: the state folder cannot be written.
    """
    if event.moment is Moment.STOP:
        return _stop(asking.options.state_dir, event) if asking.root.is_dir() else NOTHING
    if event.moment is Moment.BEGIN:
        return _begin(asking, event)
    if event.moment is Moment.PROMPT:
        return _prompt(asking, event)
    return _before_tool(asking, event) if event.moment is Moment.BEFORE_TOOL else _after_tool(asking, event)


def _begin(asking: Asking, event: AgentEvent) -> Told:
    state = asking.options.state_dir
    agent_sessions.clean_up(state)
    offered = asking("at_the_start", event.cwd)
    if event.forgotten:
        with agent_sessions.opened(state, event.session) as session:
            session.shown.pop(event.agent, None)
    return _tell(asking, event, offered)


def _prompt(asking: Asking, event: AgentEvent) -> Told:
    """What the prompt is about; a no at its beginning, or an edit taken back, speaks against what was told before."""
    state, text = asking.options.state_dir, event.text
    with agent_sessions.opened(state, event.session) as session:
        earlier, no, reverted = _earlier(session), bool(_NO.match(text)), session.reverted()
        for n, one in enumerate(earlier):
            against = (no and n >= session.turn) or not reverted.isdisjoint(one.attempts)
            if against and one.moment != Moment.BEGIN and not one.outcome:
                earlier[n] = one._replace(outcome=RECURRED)
        happened = _happened(session, earlier)
        session.turn = len(earlier)
        told = session.ids(event.agent)
    _record(asking, happened)
    offered = asking.if_warm("at_a_prompt", text[:_TEXT], told) if len(text.split()) > _SHORT else None
    return _tell(asking, event, offered) if offered else NOTHING


def _before_tool(asking: Asking, event: AgentEvent) -> Told:
    attempts, wanted = failures.attempts(event.command), scopes(event.tool, event.command)
    with agent_sessions.opened(asking.options.state_dir, event.session) as session:
        # looked for once a session, found or not: an agent calls `ls` a hundred times
        new = session.fresh(event.agent, (f"scope {one}" for one in (*wanted, *attempts)))
        told = session.ids(event.agent)
    if not new and not event.paths:
        return NOTHING
    asked = event.paths, wanted if new else (), attempts, told
    if event.paths and event.text:
        offered = asking.if_warm("before_a_tool", *asked, event.text[:_TEXT]) or asking.here("before_a_tool", *asked)
    else:
        offered = asking("before_a_tool", *asked)
    return _tell(asking, event, offered, [str(event.cwd / path) for path in event.paths])


def scopes(tool: str, command: str) -> tuple[str, ...]:
    """The projects that a call may be about: the tool, its MCP server, the programs of a command line.

    >>> scopes("Bash", "git push")
    ('Bash', 'bash', 'git')
    >>> scopes("mcp__jira__create_issue", "")
    ('jira',)
    """
    server = tool.split("__")[1] if tool.startswith("mcp__") and tool.count("__") > 1 else ""
    if server:
        return () if _OURS in server else (server,)
    return tuple(dict.fromkeys((tool, tool.lower(), *failures.programs(command)))) if tool else ()


def _after_tool(asking: Asking, event: AgentEvent) -> Told:
    """Note how it went, and what that says of what was told before; tell what helps with a failure."""
    state, failed = asking.options.state_dir, event.moment is Moment.TOOL_FAILED
    attempts = failures.attempts(event.command) if event.tool in _SHELLS else (event.tool,)
    tried = attempts or failures.programs(event.command)
    wrote = event.tool.endswith("__add_lesson") or failures.adds_a_lesson(event.command)
    if not (failed or event.text) and not agent_sessions.known(state, event.session):
        return NOTHING
    said = failures.said(failures.shape(event.text))
    with agent_sessions.opened(state, event.session) as session:
        earlier = _earlier(session)
        if failed or not event.text:
            earlier = [judged(one, tried, event.command, said if failed else None) for one in earlier]
        happened = _happened(session, earlier)
        if failed and attempts and not wrote:
            session.note_failure(attempts)
            if event.command and said:
                command, output = map(secret_scan.without_suspects, (event.command, failures.telling(event.text)))
                session.keep_failure(command, output, event.cwd, attempts)
        elif wrote and not failed:
            session.settle(written=True)
        elif not event.text and session.failures:
            session.note_success(attempts)
        told = session.ids(event.agent)
    _record(asking, happened)
    if wrote or not said:
        return NOTHING
    error = f"$ {event.command}\n{event.text}"
    offered = asking.if_warm("at_a_failure", error, told) or asking.here("at_a_failure", error, told, words=True)
    return _tell(asking, event, offered, tried, tuple(sorted(said)))


def _earlier(session: agent_sessions.Session) -> list[Earlier]:
    return [Earlier._make(row) for row in session.told]


def _happened(session: agent_sessions.Session, earlier: Sequence[Earlier]) -> list[Event]:
    """The outcomes that are new, once these are what the session remembers as told."""
    before, session.told = session.told, [list(one) for one in earlier]
    return [
        Event("", "", one.outcome, one.id) for one, row in zip(earlier, before, strict=True) if one.outcome != row[-1]
    ]


def _record(asking: Asking, happened: Sequence[Event]) -> None:
    if happened and asking.options.outcomes:
        asking.record(happened)


def _tell(
    asking: Asking, event: AgentEvent, offered: Context, attempts: Sequence[str] = (), shape: Sequence[str] = ()
) -> Told:
    """What of the offered no other process told meanwhile; it is remembered and written down."""
    with agent_sessions.opened(asking.options.state_dir, event.session) as session:
        fresh = set(session.fresh(event.agent, (light.id for light in offered.entries)))
        ran_next = "".join(session.fresh(event.agent, filter(None, [offered.ran_next])))
        at_stake = {left.entry.id for left in offered.left_out if left.reason == "told"} if shape else ()
        for n, known in enumerate(_earlier(session)):
            if known.id in at_stake and not known.shape:
                session.told[n] = list(known._replace(attempts=[*attempts], shape=[*shape]))
        if shape and not at_stake and not offered.entries:
            missed = f"{', '.join(attempts) or event.tool}: {failures.headline(event.text)}"
            session.missed = [*session.missed, missed][-_MISSED:]
        entries = tuple(light for light in offered.entries if light.id in fresh)
        for path in event.paths if entries else ():
            session.watch(event.cwd / path)
        for one in entries:
            does, why = str(one.details.get("pattern") or offered.texts.get(one.id, "")), offered.why[one.id]
            told = Earlier(one.id, one.handle, one.title, event.moment, why, [*attempts], [*shape], does[:_DOES])
            session.told.append(list(told))
    offered = offered._replace(entries=entries, ran_next=ran_next)
    if entries:
        asking.record(library.contexts.came(offered))
    return Told(event.moment, offered)


def _stop(state_dir: Path, event: AgentEvent) -> Told:
    """Once a session: after attempts that failed, or where it is not known how what was told did."""
    if event.again or event.unfinished or not agent_sessions.known(state_dir, event.session):
        return NOTHING
    with agent_sessions.opened(state_dir, event.session) as session:
        session.end_turn()
        earlier = _earlier(session)
        asked = dict.fromkeys(one.handle for one in earlier if one.moment != Moment.BEGIN and not one.outcome)
        # a single failure that was never tried again, in a session that went on well, is no iteration
        unsolved = session.failed_last and not session.solved
        owed = session.failures and (session.solved or session.failed_last or session.failures > 1)
        reminder = Reminder.OUTCOME if not owed else Reminder.UNSOLVED if unsolved else Reminder.ITERATION
        if session.said or not (owed or asked):
            return NOTHING
        told = Told(Moment.STOP, reminder=reminder, failures=session.failures, attempts=tuple(session.failed))
        session.said.append(reminder)
        session.settle()
    return told._replace(asked=tuple(asked))


class SessionTold(NamedTuple):
    """What hooks told in one session, which was last heard of at `at` (ISO 8601 in UTC)."""

    at: str
    told: tuple[Earlier, ...]
    failures: int


def lately(state_dir: Path) -> tuple[list[SessionTold], list[tuple[str, int]]]:
    """What agents were told in the last days, the latest session first, and the lessons that are missing.

    Those are what failed, with what it said, while nothing was known that helps, and how often it did: most first.
    """
    sessions, missing = [], Counter[str]()
    for at, known in agent_sessions.recent(state_dir):
        missing.update(map(secret_scan.masked, known.missed))
        when = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        sessions.append(SessionTold(when, tuple(_earlier(known)), known.failures))
    return sessions, missing.most_common()


def why_told(state_dir: Path, session: str) -> tuple[Earlier, ...]:
    """What the hooks told in a session of the last days, in that order, and why. Raises NotFound: no such session."""
    if not agent_sessions.known(state_dir, session):
        raise NotFound("session", session, hint="hooks remember a session for seven days; its id is in its transcript")
    with agent_sessions.opened(state_dir, session) as known:
        return tuple(_earlier(known))
