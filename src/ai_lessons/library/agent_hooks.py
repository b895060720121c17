"""What the hooks of an agent host ask and tell: knowledge at the start and before an edit, a reminder at the end."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import library
from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge import commands
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.answers import Context, ContextQuery
from ai_lessons.repository import agent_sessions, outside

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.opened import Library
    from ai_lessons.library.warm import Asking

AT_THE_START = 12  # Rules and lessons told when a session begins
BEFORE_A_TOOL = 5  # Rules and lessons told before one call of a tool

_LOOKED_AT = 100
_OURS = "ai-lessons"
_SHELLS = frozenset({"Bash", "PowerShell"})


class Moment(StrEnum):
    """When in a session something is told."""

    BEGIN = "begin"
    BEFORE_TOOL = "before-tool"
    TOOL_DONE = "tool-done"
    TOOL_FAILED = "tool-failed"
    STOP = "stop"


class AgentEvent(NamedTuple):
    """One event. `agent` is empty for the main agent of a session, else names the subagent, which sees its own context.

    `forgotten`: the agent no longer has in mind what it was told. `again`: it goes on because of an earlier answer at
    a stop. `unfinished`: background work will wake it. `paths`: files that the tool is about to read or write.
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
    """What to tell the agent; `project` is the folder's, `pending` counts proposals, `attempts` names what failed."""

    rules: tuple[Light, ...] = ()
    lessons: tuple[Light, ...] = ()
    project: str | None = None
    pending: int = 0
    reminder: Reminder | None = None
    failures: int = 0
    attempts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


NOTHING = Told()


def hear(asking: Asking, event: AgentEvent, *, project: str | None = None) -> Told:
    """What to tell the agent at this event of its session. `project` overrules the name of its folder.

    Raises NoRepository and its like: see `Library`. StorageFailed: the state folder cannot be written.
    """
    state = asking.options.state_dir
    if event.moment is Moment.STOP:
        return _stop(state, event) if asking.root.is_dir() else NOTHING
    if event.moment is Moment.BEGIN:
        return _begin(asking, event, project)
    if event.moment is not Moment.BEFORE_TOOL:
        return _after_tool(state, event)
    with agent_sessions.opened(state, event.session) as session:
        # looked for once a session, found or not: an agent calls `ls` a hundred times
        marked = session.fresh(event.agent, (f"scope {one}" for one in scopes(event.tool, event.command)))
    wanted = tuple(mark.removeprefix("scope ") for mark in marked)
    return _before_tool(asking, event, wanted) if wanted or event.paths else NOTHING


class Start(NamedTuple):
    """For the start of a session: the project of the folder, what holds there, and how many proposals wait."""

    project: str | None
    found: Context
    pending: int
    notes: tuple[str, ...]


def at_the_start(opened: Library, cwd: Path, project: str | None) -> Start:
    """What to know in this folder. `project` overrules its name."""
    parts = opened.reading
    parts.current()
    if not project:
        name, known = outside.name_of(cwd), [tally.name for tally in parts.catalog.projects()]
        same = (one for one in known if outside.same_name(one, name))
        project = name if name in known else next(same, None)
    found = library.contexts.context_of(parts, ContextQuery(project=project, budget=AT_THE_START))
    notes = list(found.notes)
    try:
        pending = sum(map(library.pending_count.number_pending, parts.every))
    except AiLessonsError as error:
        pending = 0
        notes.append(f"the proposals cannot be counted: {error.message}")
    return Start(project, found, pending, tuple(notes))


def before_a_tool(opened: Library, paths: Sequence[str], scopes: Sequence[str]) -> list[Light]:
    """Rules, then lessons: those that name one of the files, then those of the projects called as a scope is."""
    parts = opened.reading
    catalog = parts.current()
    names = {one.name for one in catalog.projects()} if scopes else set()
    known = [scope for scope in scopes if scope in names]
    queries = [ContextQuery(paths=paths, budget=_LOOKED_AT)] if paths else []
    queries += [ContextQuery(project=scope, budget=_LOOKED_AT) for scope in known]
    answers = [library.contexts.context_of(parts, query) for query in queries]
    # global rules come with every project; here they would only repeat what the session began with
    told = [light for one in answers for light in one.rules if paths or light.project in known]
    return told + [light for one in answers for light in one.lessons]


def _begin(asking: Asking, event: AgentEvent, project: str | None) -> Told:
    state = asking.options.state_dir
    agent_sessions.clean_up(state)
    start: Start = asking("at_the_start", event.cwd, project)
    with agent_sessions.opened(state, event.session) as session:
        if event.forgotten:
            session.shown.pop(event.agent, None)
        fresh = set(session.fresh(event.agent, (light.id for light in (*start.found.rules, *start.found.lessons))))
    rules, lessons = _only(start.found.rules, fresh), _only(start.found.lessons, fresh)
    library.contexts.record(asking.library.reading, start.found._replace(rules=rules, lessons=lessons))
    return Told(rules, lessons, start.project, start.pending, notes=start.notes)


def _before_tool(asking: Asking, event: AgentEvent, wanted: tuple[str, ...]) -> Told:
    told: list[Light] = asking("before_a_tool", event.paths, wanted)
    if not told:
        return NOTHING
    with agent_sessions.opened(asking.options.state_dir, event.session) as session:
        fresh = set(session.fresh(event.agent, (light.id for light in told), BEFORE_A_TOOL))
    chosen = _only({light.id: light for light in told}.values(), fresh)
    rules = tuple(light for light in chosen if light.kind is Kind.RULE)
    lessons = tuple(light for light in chosen if light.kind is Kind.LESSON)
    if chosen:
        library.contexts.record(asking.library.reading, Context(rules, lessons))
    return Told(rules, lessons)


def _only(lights: Iterable[Light], ids: set[str]) -> tuple[Light, ...]:
    return tuple(light for light in lights if light.id in ids)


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
    return tuple(dict.fromkeys((tool, tool.lower(), *commands.programs(command)))) if tool else ()


def _after_tool(state_dir: Path, event: AgentEvent) -> Told:
    """Note how it went. The second failure of a session gets a hint where to look."""
    attempts = commands.attempts(event.command) if event.tool in _SHELLS else (event.tool,)
    wrote = event.tool.endswith("__add_lesson") or commands.adds_a_lesson(event.command)
    failed = event.moment is Moment.TOOL_FAILED
    if not attempts or (not failed and not agent_sessions.known(state_dir, event.session)):
        return NOTHING
    with agent_sessions.opened(state_dir, event.session) as session:
        if wrote and not failed:
            session.settle()
        elif not failed and session.failures:
            session.note_success(attempts)
        if wrote or not failed:
            return NOTHING
        session.note_failure(attempts)
        if session.failures > 1 and Reminder.SEARCH not in session.said:
            session.said.append(Reminder.SEARCH)
            return Told(reminder=Reminder.SEARCH, failures=session.failures, attempts=tuple(session.failed))
    return NOTHING


def _stop(state_dir: Path, event: AgentEvent) -> Told:
    """Once a session after attempts that failed and then worked, once where they did not."""
    if event.again or event.unfinished or not agent_sessions.known(state_dir, event.session):
        return NOTHING
    with agent_sessions.opened(state_dir, event.session) as session:
        # a single failure that was never tried again, in a session that went on well, is no iteration
        unsolved = session.failed_last and not session.solved
        reminder = Reminder.UNSOLVED if unsolved else Reminder.ITERATION
        owed = session.solved or session.failed_last or session.failures > 1
        if not (session.failures and owed) or reminder in session.said:
            return NOTHING
        told = Told(reminder=reminder, failures=session.failures, attempts=tuple(session.failed))
        session.said.append(reminder)
        session.settle()
    return told
