"""Answers to the hooks of agent hosts: which entries an agent is told at which moment of its session."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import library
from ai_lessons.errors import NotFound
from ai_lessons.knowledge import failures
from ai_lessons.knowledge.command_patterns import blamed_call, called, fits, inside, named_forms, when_and_does
from ai_lessons.knowledge.command_patterns import forms as command_forms
from ai_lessons.knowledge.entries import Moment
from ai_lessons.learning.choose import LeftOut
from ai_lessons.learning.events import HELD, PASSED, RECURRED, Event
from ai_lessons.learning.outcomes import Earlier, carried_out, corrects, judged, same_job
from ai_lessons.library import secret_scan
from ai_lessons.library.answers import Context
from ai_lessons.repository import agent_sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from ai_lessons.library.opened import Library
    from ai_lessons.library.warm import Asking
    from ai_lessons.repository.agent_sessions import Session

    Fitting = Callable[[Context], Collection[str]]

_TEXT = 2_000  # characters of a prompt or an edit that are looked at
_SHORT = 3  # words of a prompt about which nothing is looked for
_MISSED = 50  # failures of a session for which nothing was known, as many as it remembers
_DOES = 1_000  # characters of what an entry says to do, and of a command, as a session remembers them
_OURS = "ai-lessons"
_SHELLS = frozenset(
    {"Bash", "Shell", "PowerShell", "shell", "bash", "local_shell", "exec_command", "run_shell_command"}
)


class AgentEvent(NamedTuple):
    """One event, which the `host` calls `name`.

    `agent` is empty for the main agent of a session, else names the subagent, which sees its own context.
    `forgotten`: the agent does not have in mind what it was told. `again`: it goes on because of an earlier answer at
    a stop. `unfinished`: background work will wake it. `paths`: files that the tool is about to read or write. `text`:
    the prompt, what an edit writes, or what a tool that failed, or seems to have, said. `by_turn`: Codex, which names
    turns, and at a stop takes a reason to go on and nothing else. `trial`: the memory to use, of which nothing is kept.
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
    name: str = ""
    host: str = ""
    trial: Session | None = None


class Told(NamedTuple):
    """What to tell the agent. At a stop `failed`, and `solved`, which did its job, and nothing stored says so."""

    moment: Moment | None = None
    offered: Context = Context()
    failed: str = ""
    solved: str = ""


NOTHING = Told()


def hear(asking: Asking, event: AgentEvent, fitting: Fitting, *, explain: bool = False) -> Told:
    """What to tell the agent at this event of its session; `fitting` has the ids of what can be told whole.

    `explain`: nothing is remembered or written down.
    Raises NoRepository and its like: see `Library`. StorageFailed: the state folder cannot be written.
    """
    state = asking.options.state_dir
    if explain:
        event = event._replace(trial=agent_sessions.peeked(state, event.session))
    match event.moment:
        case Moment.STOP:
            return _stop(state, event) if asking.root.is_dir() else NOTHING
        case Moment.PROMPT:
            return _prompt(asking, event, fitting)
        case Moment.BEGIN:
            return _begin(asking, event, fitting)
        case Moment.BEFORE_TOOL:
            return _before_tool(asking, event, fitting)
    return _after_tool(asking, event, fitting)


@contextmanager
def _memory(state_dir: Path, event: AgentEvent) -> Iterator[Session]:
    """The memory of the session, for this process alone."""
    if event.trial is not None:
        yield event.trial
        return
    with agent_sessions.opened(state_dir, event.session) as session:
        session.host, session.folder = session.host or event.host, session.folder or str(event.cwd)
        yield session


def _begin(asking: Asking, event: AgentEvent, fitting: Fitting) -> Told:
    if not event.forgotten:
        return NOTHING
    state = asking.options.state_dir
    if event.trial is None:
        agent_sessions.clean_up(state)
    offered = asking("at_the_start", event.cwd)
    with _memory(state, event) as session:
        session.shown.pop(event.agent, None)
    return _tell(asking, event, offered, fitting)


def _prompt(asking: Asking, event: AgentEvent, fitting: Fitting) -> Told:
    """What the prompt is about; a no to what was told since the last one speaks against that."""
    text = event.text
    with _memory(asking.options.state_dir, event) as session:
        earlier = _earlier(session)
        for n, entry in enumerate(earlier):
            if n >= session.turn and not entry.outcome and corrects(text, entry):
                earlier[n] = entry._replace(outcome=RECURRED)
        happened = _happened(session, earlier)
        session.turn = len(earlier)
        shown_ids = session.ids(event.agent)
    _record(asking, event, happened)
    offered = asking.if_warm("at_a_prompt", text[:_TEXT], shown_ids) if len(text.split()) > _SHORT else None
    return _tell(asking, event, offered, fitting) if offered else NOTHING


def _before_tool(asking: Asking, event: AgentEvent, fitting: Fitting) -> Told:
    calls = called(event.command, str(event.cwd))
    forms = [
        f"{folder} {form}" for words, folder in calls for form in (*command_forms(words), inside(words, folder)) if form
    ]
    servers = servers_of(event.tool)
    with _memory(asking.options.state_dir, event) as session:
        # looked for once a session, found or not: an agent calls `ls` a hundred times
        new = session.fresh(event.agent, (f"call {name}" for name in (*servers, *forms)))
        shown_ids, folders = session.ids(event.agent), (str(event.cwd), session.folder)
    if not new and not event.paths:
        return NOTHING
    asked = event.paths, servers, event.command if new else "", folders, shown_ids
    if event.paths and event.text:
        offered = asking.if_warm("before_a_tool", *asked, event.text[:_TEXT]) or asking.here("before_a_tool", *asked)
    else:
        offered = asking("before_a_tool", *asked)
    return _tell(asking, event, offered, fitting)


def servers_of(tool: str) -> tuple[str, ...]:
    """The MCP server that a tool is of, unless it is ours.

    >>> servers_of("mcp__jira__create_issue")
    ('jira',)
    """
    server = tool.split("__")[1] if tool.startswith("mcp__") and tool.count("__") > 1 else ""
    return (server,) if server and _OURS not in server else ()


def _after_tool(asking: Asking, event: AgentEvent, fitting: Fitting) -> Told:
    """Note how it went, and what that says of earlier hints; tell what helps with a failure."""
    state, failed = asking.options.state_dir, event.moment is Moment.TOOL_FAILED
    attempts = failures.attempts(event.command) if event.tool in _SHELLS else (event.tool,)
    if not failed and event.trial is None and not agent_sessions.is_remembered(state, event.session):
        return NOTHING
    wrote = event.tool.endswith("__add_lesson") or failures.adds_a_lesson(event.command)
    message = failures.words_of(failures.shape(event.text)) if failed and not wrote else None
    worked = not failed and not event.text  # a success that reads like a failure says nothing
    with _memory(state, event) as session:
        earlier = [judged(entry, event.command, None) if worked else entry for entry in _earlier(session)]
        happened = _happened(session, earlier)
        if failed and attempts and not wrote:
            session.failures += 1
            session.failed = [*session.failed, [(event.command or event.tool)[:_DOES], ""]][-_MISSED:]
            if event.command and message:
                command, output = map(secret_scan.without_suspects, (event.command, failures.telling(event.text)))
                session.keep_failure(command, output, event.cwd, attempts)
        elif wrote and not failed:
            session.failed = []
            session.note_lesson()
        elif worked:
            _solve(session, event.command or event.tool, earlier)
            session.note_success(attempts)
        happened += _seen_again(session, event, failed=failed)
        shown_ids = tuple(set(session.ids(event.agent)) - session.only_before())
        folders = str(event.cwd), session.folder
    _record(asking, event, happened)
    if not message:
        return NOTHING
    asked = f"$ {event.command}\n{event.text}", shown_ids, folders
    offered = asking.if_warm("at_a_failure", *asked) or asking.here("at_a_failure", *asked, words=True)
    kept = {left.entry.id for left in offered.left_out if left.reason == "told"} | {
        entry.id for entry in offered.entries
    }
    with _memory(state, event) as session:
        earlier = [judged(entry, event.command, message, kept=entry.id in kept) for entry in _earlier(session)]
        happened = _happened(session, earlier)
    _record(asking, event, happened)
    return _tell(asking, event, offered, fitting, attempts or failures.programs(event.command), sorted(message))


def _seen_again(session: Session, event: AgentEvent, *, failed: bool) -> list[Event]:
    """Once a session, whether the command that an entry was told before did fail, as the entry says."""
    cwd, events = str(event.cwd), list[Event]()
    calls = blamed_call(f"$ {event.command}\n{event.text}", cwd) if failed else called(event.command, cwd)
    for entry in _earlier(session) if calls else ():
        warned = entry.moment == Moment.BEFORE_TOOL and fits(named_forms(when_and_does(entry.does)[0]), calls)
        if warned and session.fresh(event.agent, [f"seen {entry.id}"]):
            events.append(Event("", "", HELD if failed else PASSED, entry.id))
    return events


def _solve(session: Session, command: str, earlier: Sequence[Earlier]) -> None:
    """Note which failures this command did the job of; those that a stored entry had the answer to are settled."""
    solved = [failure for failure in session.failed if not failure[1] and same_job(failure[0], command)]
    if any(carried_out(entry.does, command, entry.command) for entry in earlier):
        session.failed = [failure for failure in session.failed if failure not in solved]
    for failure in solved:
        failure[1] = command[:_DOES]


def _earlier(session: Session) -> list[Earlier]:
    return [Earlier._make(row) for row in session.told]


def _happened(session: Session, earlier: Sequence[Earlier]) -> list[Event]:
    """The outcomes that are new, once these are what the session remembers as told."""
    judged_before = {entry.id for entry in _earlier(session) if entry.outcome}
    session.told = [list(entry) for entry in earlier]
    # an entry that was told twice in a session is judged once
    new = {entry.id: entry.outcome for entry in earlier if entry.outcome and entry.id not in judged_before}
    return [Event("", "", outcome, entry_id) for entry_id, outcome in new.items()]


def _record(asking: Asking, event: AgentEvent, happened: Sequence[Event]) -> None:
    if happened and asking.options.outcomes and event.trial is None:
        asking.record(happened)


def _tell(
    asking: Asking, event: AgentEvent, offered: Context, fitting: Fitting,
    attempts: Sequence[str] = (), shape: Sequence[str] = (),
) -> Told:  # fmt: skip
    """What of the offered fits and no other process told meanwhile; it is remembered and written down."""
    with _memory(asking.options.state_dir, event) as session:
        shown = set(session.ids(event.agent))
        if event.moment is Moment.TOOL_FAILED:
            shown -= session.only_before()
        new = tuple(entry for entry in offered.entries if entry.id not in shown)
        fits = fitting(offered._replace(entries=new))
        # what has no room now may be told later
        cut = [LeftOut(entry, "room", "its text does not fit whole") for entry in new if entry.id not in fits]
        entries = tuple(entry for entry in new if entry.id in fits)
        offered = offered._replace(entries=entries, left_out=(*offered.left_out, *cut))
        session.fresh(event.agent, (entry.id for entry in entries))
        offered = offered._replace(ran_next="".join(session.fresh(event.agent, filter(None, [offered.ran_next]))))
        at_stake = {left.entry.id for left in offered.left_out if left.reason == "told"} if shape else ()
        for n, shown_entry in enumerate(_earlier(session)):
            if shown_entry.id in at_stake and not shown_entry.shape:
                session.told[n] = list(shown_entry._replace(command=event.command, shape=[*shape]))
        if shape and not at_stake and not entries:
            missed = f"{', '.join(attempts) or event.tool}: {failures.headline(event.text)}"
            session.missed = [*session.missed, missed][-_MISSED:]
        command = event.command[:_DOES]
        for entry in entries:
            does, why = str(entry.details.get("pattern") or offered.texts.get(entry.id, "")), offered.why[entry.id]
            row = Earlier(entry.id, entry.handle, entry.title, event.moment, why, command, [*shape], does[:_DOES])
            session.told.append(list(row))
    if entries and event.trial is None:
        asking.record(library.contexts.came(offered))
    return Told(event.moment, offered)


def _stop(state_dir: Path, event: AgentEvent) -> Told:
    """Once a session, where something failed and was solved, and nothing that is stored says how."""
    if event.again or event.unfinished or not (event.trial or agent_sessions.is_remembered(state_dir, event.session)):
        return NOTHING
    with _memory(state_dir, event) as session:
        solved = next((failure for failure in session.failed if failure[1]), None)
        if session.asked or not solved:
            return NOTHING
        session.asked = True
    return Told(Moment.STOP, failed=solved[0], solved=solved[1])


class SessionTold(NamedTuple):
    """What hooks told in one session of a host, which was last heard of at `at` (ISO 8601 in UTC)."""

    session: str
    host: str
    folder: str
    at: str
    failures: int
    told: tuple[Earlier, ...]


def lately(state_dir: Path) -> tuple[list[SessionTold], list[tuple[str, int]]]:
    """What agents were told in the last days, the latest session first, and the lessons that are missing.

    Those are what failed, with what it said, while nothing was known that helps, and how often it did: most first.
    """
    sessions, missing = [], Counter[str]()
    for at, session in agent_sessions.recent(state_dir):
        missing.update(map(secret_scan.masked, session.missed))
        when = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        shown = tuple(entry._replace(command=secret_scan.masked(entry.command)) for entry in _earlier(session))
        sessions.append(SessionTold(session.name, session.host, session.folder, when, session.failures, shown))
    return sessions, missing.most_common()


def why_told(opened: Library, session: str | None = None) -> tuple[Earlier, ...]:
    """What the hooks told in a session of the last days (None: the last one), in that order, why, and what came of it.

    Raises NotFound: no such session.
    """
    shown = next((each.told for each in lately(opened.options.state_dir)[0] if session in {None, each.session}), None)
    if shown is None:
        hint = "hooks remember a session for seven days: ai-lessons recall sessions"
        raise NotFound("session", session or "", hint=hint)
    lights = opened.reading.current().many(entry.id for entry in shown)
    silent = opened.reading.usages.silent(lights.values())
    return tuple(entry._replace(silent=silent.get(entry.id, "")) for entry in shown)
