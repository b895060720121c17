"""What the hooks of an agent host ask and tell: knowledge at the start and before an edit, a reminder at the end.

The catalog answers, so that a hook may run before every edit; nothing slow is loaded. What was told once in a session
is not told again.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError
from ai_lessons.knowledge import commands
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.agents.agent_events import AgentEvent, Moment, Reminder, Told
from ai_lessons.library.answers import Context, ContextQuery
from ai_lessons.repository.agents import agent_sessions
from ai_lessons.repository.code import code_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.opened import Reading
    from ai_lessons.library.options import Options

AT_THE_START = 12
"""Rules and lessons told when a session begins."""

BEFORE_A_TOOL = 5
"""Rules and lessons told before one call of a tool."""

_LOOKED_AT = 100
_OURS = "ai-lessons"
_SHELLS = frozenset({"Bash", "PowerShell"})
NOTHING = Told()


def hear(root: Path, options: Options, event: AgentEvent, *, project: str | None = None) -> Told:
    """What to tell the agent at this event of its session. `project` overrules the name of the folder it works in.

    Where only the session is asked about, the repository at `root` is not even opened.

    Raises:
        NoRepository and its like: see `Library`. StorageFailed: the state folder cannot be written.
    """
    options = options._replace(session=event.session or options.session)
    if event.moment is Moment.BEGIN:
        return _begin(root, options, event, project)
    if event.moment is Moment.BEFORE_TOOL:
        return _before_tool(root, options, event)
    if event.moment is Moment.STOP:
        return _stop(options.state_dir, event) if root.is_dir() else NOTHING
    return _after_tool(options.state_dir, event)


def _begin(root: Path, options: Options, event: AgentEvent, project: str | None) -> Told:
    from ai_lessons.library.contexts import context_of
    from ai_lessons.library.opened import Library
    from ai_lessons.library.rules.rule_count import number_pending

    agent_sessions.clean_up(options.state_dir)
    with closing(Library(root, options)) as tiers:
        parts = tiers.reading
        parts.current()
        chosen = project or _project(parts, event.cwd)
        found = context_of(parts, ContextQuery(project=chosen, budget=AT_THE_START))
        notes = list(found.notes)
        try:
            pending = sum(map(number_pending, parts.every))
        except AiLessonsError as error:
            pending = 0
            notes.append(f"the proposals cannot be counted: {error.message}")
    with agent_sessions.opened(options.state_dir, event.session) as session:
        if event.forgotten:
            session.forget_shown(event.agent)
        fresh = set(session.fresh(event.agent, (light.id for light in (*found.rules, *found.lessons))))
    rules, lessons = _only(found.rules, fresh), _only(found.lessons, fresh)
    _record(root, options, found._replace(rules=rules, lessons=lessons))
    return Told(rules, lessons, chosen, pending, notes=tuple(notes))


def _project(parts: Reading, cwd: Path) -> str | None:
    """The project that is named as the code repository around `cwd` is; None if there is none."""
    name = code_folder.name_of(cwd)
    known = [tally.name for tally in parts.catalog.projects()]
    if name in known:
        return name
    return next((one for one in known if code_folder.same_name(one, name)), None)


def _before_tool(root: Path, options: Options, event: AgentEvent) -> Told:
    wanted = scopes(event.tool, event.command)
    with agent_sessions.opened(options.state_dir, event.session) as session:
        # looked for once a session, found or not: an agent calls `ls` a hundred times
        marked = session.fresh(event.agent, (f"scope {scope}" for scope in wanted))
    wanted = tuple(mark.removeprefix("scope ") for mark in marked)
    if not wanted and not event.paths:
        return NOTHING
    found = _applying(root, options, event.paths, wanted)
    if not found:
        return NOTHING
    with agent_sessions.opened(options.state_dir, event.session) as session:
        fresh = set(session.fresh(event.agent, (light.id for light in found), BEFORE_A_TOOL))
    chosen = _only(found, fresh)
    rules = tuple(light for light in chosen if light.kind is Kind.RULE)
    lessons = tuple(light for light in chosen if light.kind is Kind.LESSON)
    _record(root, options, Context(rules, lessons))
    return Told(rules, lessons)


def _record(root: Path, options: Options, shown: Context) -> None:
    """Write down what the agent was shown; that it could not be is nothing to trouble an agent with."""
    from ai_lessons.library.injecting import record
    from ai_lessons.library.opened import Library

    with closing(Library(root, options)) as tiers:
        record(tiers.reading, shown)


def _applying(root: Path, options: Options, paths: Sequence[str], wanted: Iterable[str]) -> list[Light]:
    """Rules, then lessons: those that name one of the files, then those of the projects called as a scope is."""
    from ai_lessons.index.catalog_reading import Filter
    from ai_lessons.library.contexts import context_of
    from ai_lessons.library.opened import Library

    with closing(Library(root, options)) as tiers:
        parts = tiers.reading
        queries = [ContextQuery(paths=paths, budget=_LOOKED_AT)] if paths else []
        catalog = parts.current()
        kinds = frozenset({Kind.RULE, Kind.LESSON})
        known = [scope for scope in wanted if catalog.count(Filter(kinds=kinds, project=scope))]
        queries += [ContextQuery(project=scope, budget=_LOOKED_AT) for scope in known]
        answers = [context_of(parts, query) for query in queries]
    # global rules come with every project; here they would only repeat what the session began with
    told = [light for one in answers for light in one.rules if paths or light.project in known]
    told += [light for one in answers for light in one.lessons]
    return list({light.id: light for light in told}.values())


def _only(lights: Iterable[Light], ids: set[str]) -> tuple[Light, ...]:
    return tuple(light for light in lights if light.id in ids)


def scopes(tool: str, command: str) -> tuple[str, ...]:
    """The projects that the call of a tool may be about: the tool, its MCP server, the programs of a command line.

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
        if wrote:
            if not failed:
                session.settle()
            return NOTHING
        if not failed:
            if session.failures:
                session.note_success(attempts)
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
        reminder = _owed(session)
        if reminder is None or reminder in session.said:
            return NOTHING
        told = Told(reminder=reminder, failures=session.failures, attempts=tuple(session.failed))
        session.said.append(reminder)
        session.settle()
    return told


def _owed(session: agent_sessions.Session) -> Reminder | None:
    """A single failure that was never tried again, in a session that went on well, is no iteration."""
    if not session.failures:
        return None
    if session.solved:
        return Reminder.ITERATION
    if session.failed_last:
        return Reminder.UNSOLVED
    return Reminder.ITERATION if session.failures > 1 else None
